/*
 * The kernels of quantize, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#define QUERN_TABLE quern_quantize_kernels
#define QUERN_TABLE_OPERATION QUERN_QUANTIZE
#define QUERN_TABLE_PACKED quern_packed_quantize
#define QUERN_ROWS_GPU "../generated/quantize/rows_gpu.h"
#define QUERN_ROWS_CPU "../generated/quantize/rows_cpu.h"
#include "kernels/table.h"

_Static_assert(QUERN_QUANTIZE_CAST == 0, "as gen/pack.py stores it");
_Static_assert(QUERN_QUANTIZE_AMAX == 1, "as gen/pack.py stores it");
_Static_assert(QUERN_QUANTIZE_MATRIX == 2, "as gen/pack.py stores it");
