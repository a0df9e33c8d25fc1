/*
 * The kernels of ragged_all_to_all, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#define QUERN_TABLE quern_ragged_all_to_all_kernels
#define QUERN_TABLE_OPERATION QUERN_RAGGED_ALL_TO_ALL
#define QUERN_TABLE_PACKED quern_packed_ragged_all_to_all
#define QUERN_ROWS_GPU "../generated/ragged_all_to_all/rows_gpu.h"
#define QUERN_ROWS_CPU "../generated/ragged_all_to_all/rows_cpu.h"
#include "kernels/table.h"

_Static_assert(0 == 0, "as gen/pack.py stores it");
