/*
 * The kernels of adam, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#define QUERN_TABLE quern_adam_kernels
#define QUERN_TABLE_OPERATION QUERN_ADAM
#define QUERN_TABLE_PACKED quern_packed_adam
#define QUERN_ROWS_GPU "../generated/adam/rows_gpu.h"
#define QUERN_ROWS_CPU "../generated/adam/rows_cpu.h"
#include "kernels/table.h"

_Static_assert(QUERN_ADAM_STEP == 0, "as gen/pack.py stores it");
_Static_assert(QUERN_GRADIENT_NORM == 1, "as gen/pack.py stores it");
_Static_assert(QUERN_GRADIENT_NORM_COMBINE == 2, "as gen/pack.py stores it");
_Static_assert(QUERN_GRADIENT_ACCUMULATE == 3, "as gen/pack.py stores it");
_Static_assert(QUERN_ADAM_TENSOR_STEPS == 4, "as gen/pack.py stores it");
