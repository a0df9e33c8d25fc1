/* Selects the sums of squares for the present target; squares_avx512.h describes them.  Included by the gradient norm kernels. */
#ifndef QUERN_CPU_SQUARES_VECTORS_H
#define QUERN_CPU_SQUARES_VECTORS_H

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/squares_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/squares_avx2.h"
#elif QUERN_NEON
#include "kernels/cpu/squares_neon.h"
#else
#include "kernels/cpu/squares_portable.h"
#endif

#endif
