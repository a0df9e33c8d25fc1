/* Selects the exponentials for the present target; exponential.h describes them.  Included by cross_entropy_elements.h. */
#ifndef QUERN_CPU_EXPONENTIAL_VECTORS_H
#define QUERN_CPU_EXPONENTIAL_VECTORS_H

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/exponential_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/exponential_avx2.h"
#elif QUERN_NEON
#include "kernels/cpu/exponential_neon.h"
#else
#include "kernels/cpu/exponential_portable.h"
#endif

#endif
