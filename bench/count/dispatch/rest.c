/*
 * The functions of the CUDA driver that driver.c does not define: they do nothing and succeed.  The list is the library's own, so
 * that a function which it begins to use is here too.
 */
#include "runtime/cuda_driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NAMED(field, symbol, parameters) __attribute__((weak)) CUresult rest_##field parameters __asm__(symbol);
QUERN_CUDA_FUNCTIONS(NAMED)

#define DEFINED(field, symbol, parameters) \
    CUresult rest_##field parameters { return CUDA_SUCCESS; }
QUERN_CUDA_FUNCTIONS(DEFINED)
