/*
 * The kernels of collective, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#define QUERN_TABLE quern_collective_kernels
#define QUERN_TABLE_OPERATION QUERN_COLLECTIVE
#define QUERN_TABLE_PACKED quern_packed_collective
#define QUERN_ROWS_GPU "../generated/collective/rows_gpu.h"
#define QUERN_ROWS_CPU "../generated/collective/rows_cpu.h"
#include "kernels/table.h"

_Static_assert(QUERN_COLLECTIVE_COMBINE == 0, "as gen/pack.py stores it");
_Static_assert(QUERN_COLLECTIVE_MOVE == 1, "as gen/pack.py stores it");
_Static_assert(QUERN_COLLECTIVE_CHUNKS == 2, "as gen/pack.py stores it");
_Static_assert(QUERN_COLLECTIVE_CHUNK_MEETING == 3, "as gen/pack.py stores it");
_Static_assert(QUERN_COLLECTIVE_BLOCK_CHUNKS == 4, "as gen/pack.py stores it");
