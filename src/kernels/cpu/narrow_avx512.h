/*
 * Conversions between fp32 and 8-bit floating point, in addition to adam_avx512.h.  Included by narrow_vectors.h.
 *
 * narrow_avx512.h, narrow_avx2.h and narrow_portable.h define the same names and give the same bits:
 *
 *   ordered_load_e4m3, _e5m2      2 * VECTOR_LANES consecutive elements in their order
 *   ordered_scale_e4m3, _e5m2,    stores x * 2^(127 - scale), which must be in the format's range if it is finite, rounded like
 *   ordered_scale_f16             ordered_round_*: to nearest, or stochastically with 16 random bits for each element.  With
 *                                 keep_positive, values above zero are stored as at least the smallest positive value.
 *   ordered_saturate_e4m3, _e5m2  stores x to nearest; too large values become the largest finite value, NaN stays NaN
 *   magnitude_max, _reduce        the largest magnitude, as bits: NaN is above infinity
 *   magnitude_max_finite          the same, ignoring values that are not finite
 *
 * A normal value is rounded at a fixed bit of the fp32.  A subnormal one is rounded by an addition, because its last place has a
 * fixed value.  In a block that is scaled by its largest value few values are subnormal, so a slower path handles them.
 */
#ifndef QUERN_CPU_NARROW_AVX512_H
#define QUERN_CPU_NARROW_AVX512_H

#include "kernels/cpu/adam_avx512.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/scale.h"

/* ---- loads ---- */

static inline struct vector_pair pair_from_halves(__m512i halves) {
    return (struct vector_pair){_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
                                _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1))};
}

static inline __m512i load_bytes(const uint8_t *from) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)from)); }

/* The bits of an e5m2 are the upper ones of an f16. */
static inline struct vector_pair ordered_load_e5m2(const uint8_t *from) {
    return pair_from_halves(_mm512_slli_epi16(load_bytes(from), 8));
}

/* The f16 with the same fields is 2^-8 of the value. */
static inline struct vector_pair ordered_load_e4m3(const uint8_t *from) {
    const __m512i fields = _mm512_set1_epi16(0x3F80), sign = _mm512_set1_epi16((int16_t)0x8000);
    __m512i bytes = load_bytes(from);
    __m512i magnitude = _mm512_and_si512(_mm512_slli_epi16(bytes, 7), fields);
    __m512i halves = _mm512_or_si512(magnitude, _mm512_and_si512(bytes, sign));
    halves = _mm512_mask_mov_epi16(halves, _mm512_cmpeq_epi16_mask(magnitude, fields), _mm512_set1_epi16(0x7E00));
    struct vector_pair x = pair_from_halves(halves);
    return (struct vector_pair){x.first * 256, x.second * 256};
}

/* ---- roundings: codes of 16 lanes, without their signs ---- */

/* For normal values; rebias is added to their bits. */
static inline __m512i normal_nearest(__m512i magnitude, int32_t rebias, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(magnitude, cut), _mm512_set1_epi32(1));
    __m512i sum = _mm512_add_epi32(magnitude, _mm512_set1_epi32((1 << (cut - 1)) - 1 + rebias));
    return _mm512_srli_epi32(_mm512_add_epi32(sum, odd), cut);
}

static inline __m512i normal_stochastic(__m512i magnitude, int32_t rebias, __m512i random, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    __m512i sum = _mm512_add_epi32(magnitude, _mm512_set1_epi32(rebias));
    return _mm512_srli_epi32(_mm512_add_epi32(sum, _mm512_slli_epi32(random, cut - 16)), cut);
}

static inline __mmask16 narrow_is_small(__m512i magnitude, const struct narrow_format format) {
    return _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(narrow_power(narrow_smallest(format))));
}

static inline __m512i narrow_nearest(__m512i magnitude, const struct narrow_format format) {
    const __m512i origin = _mm512_set1_epi32(narrow_power(narrow_step(format) + 23));
    __m512i normal = normal_nearest(magnitude, -narrow_rebias(format), format);
    vector sum = _mm512_castsi512_ps(magnitude) + _mm512_castsi512_ps(origin);
    return _mm512_mask_sub_epi32(normal, narrow_is_small(magnitude, format), _mm512_castps_si512(sum), origin);
}

static inline __m512i narrow_stochastic(__m512i magnitude, __m512i random, const struct narrow_format format) {
    const vector random_step = _mm512_castsi512_ps(_mm512_set1_epi32(narrow_power(narrow_step(format) - 16)));
    const vector steps = _mm512_castsi512_ps(_mm512_set1_epi32(narrow_power(-narrow_step(format))));
    __m512i normal = normal_stochastic(magnitude, -narrow_rebias(format), random, format);
    vector small = _mm512_castsi512_ps(magnitude) + _mm512_cvtepi32_ps(random) * random_step;
    return _mm512_mask_cvttps_epi32(normal, narrow_is_small(magnitude, format), small * steps);
}

static inline __m512i narrow_sign(__m512i bits) {
    return _mm512_and_si512(_mm512_srli_epi32(bits, 24), _mm512_set1_epi32(NARROW_SIGN));
}

/* ---- stores ---- */

static inline void store_bytes(uint8_t *to, __m512i first, __m512i second) {
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(first));
    _mm_storeu_si128((__m128i *)(to + VECTOR_LANES), _mm512_cvtepi32_epi8(second));
}

static inline __m512i narrow_not_finite(__m512i codes, __m512i bits, __mmask16 not_finite, const struct narrow_format format) {
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    __m512i sign = _mm512_and_si512(narrow_sign(bits), _mm512_set1_epi32((int)narrow_infinity_sign(format)));
    codes = _mm512_mask_or_epi32(codes, not_finite, sign, _mm512_set1_epi32((int)format.infinity));
    __mmask16 is_nan = _mm512_cmpgt_epu32_mask(magnitude, _mm512_set1_epi32(F32_INFINITY));
    return _mm512_mask_mov_epi32(codes, is_nan, _mm512_set1_epi32(NARROW_NAN));
}

/* For any x; slow. */
static inline __m512i narrow_scale(vector x, uint8_t scale, const __m512i *random, int keep_positive,
                                   const struct narrow_format format) {
    __m512i bits = _mm512_castps_si512(x * scale_inverse(scale));
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    __m512i codes = random ? narrow_stochastic(magnitude, *random, format) : narrow_nearest(magnitude, format);
    codes = _mm512_or_si512(codes, narrow_sign(bits));
    if (keep_positive) {
        __mmask16 is_positive = _mm512_cmpgt_epi32_mask(_mm512_castps_si512(x), _mm512_setzero_si512());
        codes = _mm512_mask_max_epu32(codes, is_positive, codes, _mm512_set1_epi32(1));
    }
    __mmask16 not_finite = _mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(F32_INFINITY));
    return narrow_not_finite(codes, bits, not_finite, format);
}

/* Set in lanes whose product is not both normal and finite. */
static inline __mmask16 needs_care(__m512i magnitude, uint8_t scale, const struct narrow_format format) {
    const int32_t least = narrow_least(format, scale);
    __m512i above = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(least));
    return _mm512_cmpge_epu32_mask(above, _mm512_set1_epi32(F32_INFINITY - least));
}

static inline __m512i load_random(const uint16_t *from) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
}

static inline void ordered_scale_narrow(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random,
                                        int keep_positive, const struct narrow_format format) {
    const __m512i magnitudes = _mm512_set1_epi32(0x7FFFFFFF);
    const int32_t rebias = narrow_rescale(format, scale);
    __m512i first_bits = _mm512_castps_si512(x.first), first_magnitude = _mm512_and_si512(first_bits, magnitudes);
    __m512i second_bits = _mm512_castps_si512(x.second), second_magnitude = _mm512_and_si512(second_bits, magnitudes);
    __m512i first_random = magnitudes, second_random = magnitudes, first, second;
    if (random) {
        first_random = load_random(random);
        second_random = load_random(random + VECTOR_LANES);
        first = normal_stochastic(first_magnitude, rebias, first_random, format);
        second = normal_stochastic(second_magnitude, rebias, second_random, format);
    } else {
        first = normal_nearest(first_magnitude, rebias, format);
        second = normal_nearest(second_magnitude, rebias, format);
    }
    first = _mm512_or_si512(first, narrow_sign(first_bits));
    second = _mm512_or_si512(second, narrow_sign(second_bits));
    __mmask16 care = needs_care(first_magnitude, scale, format) | needs_care(second_magnitude, scale, format);
    if (__builtin_expect(care != 0, 0)) {
        first = narrow_scale(x.first, scale, random ? &first_random : NULL, keep_positive, format);
        second = narrow_scale(x.second, scale, random ? &second_random : NULL, keep_positive, format);
    }
    store_bytes(to, first, second);
}

static inline void ordered_scale_e4m3(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    ordered_scale_narrow(to, x, scale, random, keep_positive, narrow_e4m3);
}

static inline void ordered_scale_e5m2(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    ordered_scale_narrow(to, x, scale, random, keep_positive, narrow_e5m2);
}

static inline __m256i f16_keep_positive(__m256i halves, vector x) {
    __mmask16 is_positive = _mm512_cmpgt_epi32_mask(_mm512_castps_si512(x), _mm512_setzero_si512());
    return _mm256_mask_max_epu16(halves, is_positive, halves, _mm256_set1_epi16(1));
}

static inline void ordered_scale_f16(uint16_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    const vector factor = scale_inverse(scale);
    __m256i first = f16_round(x.first * factor, random);
    __m256i second = f16_round(x.second * factor, random ? random + VECTOR_LANES : NULL);
    if (keep_positive) {
        first = f16_keep_positive(first, x.first);
        second = f16_keep_positive(second, x.second);
    }
    _mm256_storeu_si256((__m256i *)to, first);
    _mm256_storeu_si256((__m256i *)(to + VECTOR_LANES), second);
}

static inline __m512i narrow_saturate(vector x, const struct narrow_format format) {
    __m512i bits = _mm512_castps_si512(x), magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    __m512i held = _mm512_min_epu32(magnitude, _mm512_set1_epi32(narrow_largest(format)));
    __m512i codes = _mm512_or_si512(narrow_nearest(held, format), narrow_sign(bits));
    return _mm512_mask_mov_epi32(codes, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(NARROW_NAN));
}

static inline void ordered_saturate_e4m3(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e4m3), narrow_saturate(x.second, narrow_e4m3));
}

static inline void ordered_saturate_e5m2(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e5m2), narrow_saturate(x.second, narrow_e5m2));
}

/* ---- magnitudes ---- */

typedef __m512i vector_magnitude;

static inline vector_magnitude magnitude_zero(void) { return _mm512_setzero_si512(); }

static inline vector_magnitude magnitude_of(vector x) {
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF));
}

static inline vector_magnitude finite_magnitude(vector x) {
    __m512i magnitude = magnitude_of(x);
    return _mm512_maskz_mov_epi32(_mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(F32_INFINITY)), magnitude);
}

static inline vector_magnitude magnitude_max(vector_magnitude largest, struct vector_pair x) {
    return _mm512_max_epu32(largest, _mm512_max_epu32(magnitude_of(x.first), magnitude_of(x.second)));
}

static inline vector_magnitude magnitude_max_finite(vector_magnitude largest, struct vector_pair x) {
    return _mm512_max_epu32(largest, _mm512_max_epu32(finite_magnitude(x.first), finite_magnitude(x.second)));
}

static inline uint32_t magnitude_reduce(vector_magnitude largest) { return _mm512_reduce_max_epu32(largest); }

#endif
