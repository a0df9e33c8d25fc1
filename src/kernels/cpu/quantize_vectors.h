/*
 * Operations on pairs that the kernels of quantisations share, and their casts to nearest: ordered_cast_e4m3 and _e5m2 have the
 * bits of ordered_saturate_*, of narrow_vectors.h.  Included by the kernels' sources in generated/quantize/.
 *
 * With AVX-512 the casts work on the upper halves of 32 fp32 values at once, which have all bits of a code and four more.  Of the
 * lower halves only whether they are zero matters, for ties.  Values that become normal codes, and zeros, take this way: nearly
 * all.
 */
#ifndef QUERN_CPU_QUANTIZE_VECTORS_H
#define QUERN_CPU_QUANTIZE_VECTORS_H

#include "kernels/cpu/narrow_vectors.h"

enum { PAIR = 2 * VECTOR_LANES };

/* The scale of blocks that stands for 1: what is rounded stochastically has been scaled. */
enum { ONE = 127 };

static inline struct vector_pair pair_multiply(struct vector_pair x, vector scale) {
    return (struct vector_pair){x.first * scale, x.second * scale};
}

/* Keeps NaN. */
static inline vector vector_hold(vector x, vector largest) { return vector_max(-largest, vector_min(largest, x)); }

static inline struct vector_pair pair_hold(struct vector_pair x, vector largest) {
    return (struct vector_pair){vector_hold(x.first, largest), vector_hold(x.second, largest)};
}

/* The larger magnitudes; skips NaN. */
static inline struct vector_pair pair_raise(struct vector_pair largest, struct vector_pair x) {
    return (struct vector_pair){vector_max(vector_abs(x.first), largest.first), vector_max(vector_abs(x.second), largest.second)};
}

#if QUERN_SIMD512

/* Rounds magnitudes to nearest, ties to even; where `rest` is set the value is larger than its upper half. */
static inline __m512i halves_nearest(__m512i magnitude, __mmask32 rest, const struct narrow_format format) {
    const int cut = narrow_cut(format) - 16;
    const __m512i one = _mm512_set1_epi16(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(magnitude, cut), one);
    const int below_half = (1 << (cut - 1)) - 1 - (narrow_rebias(format) >> 16);
    const __m512i sum = _mm512_add_epi16(magnitude, _mm512_set1_epi16((int16_t)below_half));
    return _mm512_srli_epi16(_mm512_add_epi16(sum, _mm512_mask_mov_epi16(odd, rest, one)), cut);
}

static inline void ordered_cast_narrow(uint8_t *to, struct vector_pair x, const struct narrow_format format) {
    const int16_t least = (int16_t)(narrow_power(narrow_smallest(format)) >> 16);
    const int16_t range = (int16_t)((narrow_largest(format) >> 16) - least);
    const __m512i upper = pair_halves(x, 1), lower = pair_halves(x, 0);
    const __m512i magnitude = _mm512_and_si512(upper, _mm512_set1_epi16(0x7FFF));
    const __mmask32 above_zero = _mm512_test_epi16_mask(magnitude, magnitude);
    const __m512i above_least = _mm512_sub_epi16(magnitude, _mm512_set1_epi16(least));
    if (__builtin_expect(_mm512_mask_cmpgt_epu16_mask(above_zero, above_least, _mm512_set1_epi16(range)) != 0, 0)) {
        store_bytes(to, narrow_saturate(x.first, format), narrow_saturate(x.second, format));
        return;
    }
    __m512i codes = halves_nearest(magnitude, _mm512_test_epi16_mask(lower, lower), format);
    codes = _mm512_maskz_mov_epi16(above_zero, codes);
    codes = _mm512_or_si512(codes, _mm512_and_si512(_mm512_srli_epi16(upper, 8), _mm512_set1_epi16(NARROW_SIGN)));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi16_epi8(codes));
}

static inline void ordered_cast_e4m3(uint8_t *to, struct vector_pair x) { ordered_cast_narrow(to, x, narrow_e4m3); }
static inline void ordered_cast_e5m2(uint8_t *to, struct vector_pair x) { ordered_cast_narrow(to, x, narrow_e5m2); }

#else

static inline void ordered_cast_e4m3(uint8_t *to, struct vector_pair x) { ordered_saturate_e4m3(to, x); }
static inline void ordered_cast_e5m2(uint8_t *to, struct vector_pair x) { ordered_saturate_e5m2(to, x); }

#endif

#endif
