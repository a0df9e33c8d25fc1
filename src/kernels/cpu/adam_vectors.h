/*
 * Selects the vector operations of Adam for the present target; adam_avx512.h describes them.  Included by adam.h and by the
 * gradient accumulation kernels.
 */
#ifndef QUERN_CPU_ADAM_VECTORS_H
#define QUERN_CPU_ADAM_VECTORS_H

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/adam_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/adam_avx2.h"
#elif QUERN_NEON
#include "kernels/cpu/adam_neon.h"
#else
#include "kernels/cpu/adam_portable.h"
#endif

#endif
