/* Selects the conversions of 8-bit types for the present target; narrow_avx512.h describes them.  Included by adam.h. */
#ifndef QUERN_CPU_NARROW_VECTORS_H
#define QUERN_CPU_NARROW_VECTORS_H

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/narrow_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/narrow_avx2.h"
#elif QUERN_NEON
#include "kernels/cpu/narrow_neon.h"
#else
#include "kernels/cpu/narrow_portable.h"
#endif

#endif
