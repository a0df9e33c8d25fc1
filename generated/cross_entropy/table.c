/*
 * The kernels of cross_entropy, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#define QUERN_TABLE quern_cross_entropy_kernels
#define QUERN_TABLE_OPERATION QUERN_CROSS_ENTROPY
#define QUERN_TABLE_PACKED quern_packed_cross_entropy
#define QUERN_ROWS_GPU "../generated/cross_entropy/rows_gpu.h"
#define QUERN_ROWS_CPU "../generated/cross_entropy/rows_cpu.h"
#include "kernels/table.h"

_Static_assert(QUERN_STAGE_ROWS == 0, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_STATS == 1, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_GRADIENT == 2, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_UPSTREAM == 3, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_PORTABLE == 4, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_PORTABLE_COMBINE == 5, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_COMBINE == 6, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_LABELS == 7, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_REDUCE == 8, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_COLUMNS == 9, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_LOG_PROBS == 10, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_LISTED == 11, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_SOFT == 12, "as gen/pack.py stores it");
_Static_assert(QUERN_STAGE_WIDE == 13, "as gen/pack.py stores it");
