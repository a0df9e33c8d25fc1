/*
 * Writes the numbers of numbers.h, one a line.  Compiled twice by tests/checks/foreign.py: with the library's own declarations, and
 * with a real nccl.h (THEIRS), whose functions must then have the types of the library's table.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef THEIRS
#include <nccl.h>
#define QUERN_NCCL_TYPES_H
#define QUERN_CUDA_DRIVER_H  /* NCCL includes the real declarations, which have the same names */
#include "quern.h"
typedef struct CUstream_st *CUstream;
#endif
#include "numbers.h"
#include "ranks/nccl/nccl_functions.h"

#ifdef THEIRS
#define SAME(result, field, symbol, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), __typeof__(((struct quern_nccl *)0)->field)), #symbol);
QUERN_NCCL_FUNCTIONS(SAME)
#endif

int main(void) {
    const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
#define WRITE(expression) printf("%s %lld\n", #expression, (long long)(expression));
    NCCL_NUMBERS(WRITE)
    printf("the whole size is initial %d, the version is initial %d\n", initial.size == sizeof initial, initial.version > 0);
    return 0;
}
