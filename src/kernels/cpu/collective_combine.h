/*
 * The arithmetic of the collectives on a CPU: sums and maxima of fp32 values in vectors, and NaN results without payload.  Included
 * by the kernels' source in generated/collective/.
 */
#ifndef QUERN_CPU_COLLECTIVE_COMBINE_H
#define QUERN_CPU_COLLECTIVE_COMBINE_H

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/vector_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/vector_avx2.h"
#elif QUERN_NEON
#include "kernels/cpu/vector_neon.h"
#else
#include "kernels/cpu/vector_portable.h"
#endif

typedef int32_t combine_bits __attribute__((vector_size(sizeof(vector))));

enum { COMBINE_NAN = 0x7FC00000, PAIR = 2 * VECTOR_LANES };

/*
 * Copies to the beginning of zeros.  By whole vectors where the processor can: a vector is loaded at once if one store has written
 * it, and else waits until all earlier stores have left the core.
 */
static inline void load_part(void *zeros, const void *from, size_t bytes) {
#if QUERN_SIMD512
    for (size_t at = 0; at < bytes; at += 64) {
        const __mmask64 mask = bytes - at >= 64 ? ~0ull : (1ull << (bytes - at)) - 1;
        _mm512_storeu_si512((char *)zeros + at, _mm512_maskz_loadu_epi8(mask, (const char *)from + at));
    }
#else
    memcpy(zeros, from, bytes);
#endif
}

/* All bits where x is NaN. */
static inline combine_bits where_nan(vector x) { return (combine_bits)(x != x); }

/* The one NaN that results have; 16-bit stores keep its sign and its first payload bit. */
static inline vector without_payload(vector x, combine_bits nan) {
    return (vector)(((combine_bits)x & ~nan) | (nan & COMBINE_NAN));
}

/*
 * The larger of two values, neither of them NaN, +0 above -0.  vector_max returns its second operand if both are equal: the two
 * results differ only for zeros of different signs, and then have the sign bit not in common.
 */
static inline vector larger_of(vector a, vector b) {
    return (vector)((combine_bits)vector_max(a, b) & (combine_bits)vector_max(b, a));
}

#endif
