/*
 * Conversions between fp32 and 8-bit floating point, in addition to adam_avx2.h.  Included by narrow_vectors.h.  narrow_avx512.h
 * describes each function; the names are the same.
 */
#ifndef QUERN_CPU_NARROW_AVX2_H
#define QUERN_CPU_NARROW_AVX2_H

#include "kernels/cpu/adam_avx2.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/scale.h"

/* ---- loads ---- */

static inline struct vector_pair pair_from_halves(__m256i halves) {
    return (struct vector_pair){_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
                                _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}

static inline __m256i load_bytes(const uint8_t *from) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from)); }

/* The bits of an e5m2 are the upper ones of an f16. */
static inline struct vector_pair ordered_load_e5m2(const uint8_t *from) {
    return pair_from_halves(_mm256_slli_epi16(load_bytes(from), 8));
}

/* The f16 with the same fields is 2^-8 of the value. */
static inline struct vector_pair ordered_load_e4m3(const uint8_t *from) {
    const __m256i fields = _mm256_set1_epi16(0x3F80), sign = _mm256_set1_epi16((int16_t)0x8000);
    __m256i bytes = load_bytes(from);
    __m256i magnitude = _mm256_and_si256(_mm256_slli_epi16(bytes, 7), fields);
    __m256i halves = _mm256_or_si256(magnitude, _mm256_and_si256(bytes, sign));
    halves = _mm256_blendv_epi8(halves, _mm256_set1_epi16(0x7E00), _mm256_cmpeq_epi16(magnitude, fields));
    struct vector_pair x = pair_from_halves(halves);
    return (struct vector_pair){x.first * 256, x.second * 256};
}

/* ---- roundings: codes of 8 lanes, without their signs ---- */

/* For normal values; rebias is added to their bits. */
static inline __m256i normal_nearest(__m256i magnitude, int32_t rebias, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(magnitude, cut), _mm256_set1_epi32(1));
    __m256i sum = _mm256_add_epi32(magnitude, _mm256_set1_epi32((1 << (cut - 1)) - 1 + rebias));
    return _mm256_srli_epi32(_mm256_add_epi32(sum, odd), cut);
}

static inline __m256i normal_stochastic(__m256i magnitude, int32_t rebias, __m256i random, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    __m256i sum = _mm256_add_epi32(magnitude, _mm256_set1_epi32(rebias));
    return _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_slli_epi32(random, cut - 16)), cut);
}

static inline __m256i narrow_is_small(__m256i magnitude, const struct narrow_format format) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(narrow_power(narrow_smallest(format))), magnitude);
}

static inline __m256i narrow_nearest(__m256i magnitude, const struct narrow_format format) {
    const __m256i origin = _mm256_set1_epi32(narrow_power(narrow_step(format) + 23));
    __m256i normal = normal_nearest(magnitude, -narrow_rebias(format), format);
    vector sum = _mm256_castsi256_ps(magnitude) + _mm256_castsi256_ps(origin);
    __m256i small = _mm256_sub_epi32(_mm256_castps_si256(sum), origin);
    return _mm256_blendv_epi8(normal, small, narrow_is_small(magnitude, format));
}

static inline __m256i narrow_stochastic(__m256i magnitude, __m256i random, const struct narrow_format format) {
    const vector random_step = _mm256_castsi256_ps(_mm256_set1_epi32(narrow_power(narrow_step(format) - 16)));
    const vector steps = _mm256_castsi256_ps(_mm256_set1_epi32(narrow_power(-narrow_step(format))));
    __m256i normal = normal_stochastic(magnitude, -narrow_rebias(format), random, format);
    vector small = _mm256_castsi256_ps(magnitude) + _mm256_cvtepi32_ps(random) * random_step;
    return _mm256_blendv_epi8(normal, _mm256_cvttps_epi32(small * steps), narrow_is_small(magnitude, format));
}

static inline __m256i narrow_sign(__m256i bits) {
    return _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(NARROW_SIGN));
}

/* ---- stores ---- */

static inline void store_bytes(uint8_t *to, __m256i first, __m256i second) {
    __m256i halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xD8);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}

static inline __m256i narrow_not_finite(__m256i codes, __m256i bits, __m256i not_finite, const struct narrow_format format) {
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i sign = _mm256_and_si256(narrow_sign(bits), _mm256_set1_epi32((int)narrow_infinity_sign(format)));
    __m256i infinity = _mm256_or_si256(sign, _mm256_set1_epi32((int)format.infinity));
    __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(F32_INFINITY));
    codes = _mm256_blendv_epi8(codes, infinity, not_finite);
    return _mm256_blendv_epi8(codes, _mm256_set1_epi32(NARROW_NAN), is_nan);
}

static inline __m256i one_where_positive(vector x) {
    return _mm256_srli_epi32(_mm256_cmpgt_epi32(_mm256_castps_si256(x), _mm256_setzero_si256()), 31);
}

/* For any x; slow. */
static inline __m256i narrow_scale(vector x, uint8_t scale, const __m256i *random, int keep_positive,
                                   const struct narrow_format format) {
    __m256i bits = _mm256_castps_si256(x * scale_inverse(scale));
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i codes = random ? narrow_stochastic(magnitude, *random, format) : narrow_nearest(magnitude, format);
    codes = _mm256_or_si256(codes, narrow_sign(bits));
    if (keep_positive)
        codes = _mm256_max_epi32(codes, one_where_positive(x));
    __m256i not_finite = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(F32_INFINITY - 1));
    return narrow_not_finite(codes, bits, not_finite, format);
}

/* All bits where the product is not both normal and finite, of the lesser and the larger of two magnitudes; one may be negative. */
static inline __m256i needs_care(__m256i lesser, __m256i larger, uint8_t scale, const struct narrow_format format) {
    __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(narrow_least(format, scale)), lesser);
    return _mm256_or_si256(is_small, _mm256_cmpgt_epi32(larger, _mm256_set1_epi32(F32_INFINITY - 1)));
}

/* With keep_positive hardly any x is negative: such ones are among those that need care. */
static inline void ordered_scale_narrow(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random,
                                        int keep_positive, const struct narrow_format format) {
    const __m256i magnitudes = _mm256_set1_epi32(keep_positive ? -1 : 0x7FFFFFFF);
    const int32_t rebias = narrow_rescale(format, scale);
    __m256i first_bits = _mm256_castps_si256(x.first), first_magnitude = _mm256_and_si256(first_bits, magnitudes);
    __m256i second_bits = _mm256_castps_si256(x.second), second_magnitude = _mm256_and_si256(second_bits, magnitudes);
    __m256i first_random = magnitudes, second_random = magnitudes, first, second;
    if (random) {
        first_random = vector_load_u16(random);
        second_random = vector_load_u16(random + VECTOR_LANES);
        first = normal_stochastic(first_magnitude, rebias, first_random, format);
        second = normal_stochastic(second_magnitude, rebias, second_random, format);
    } else {
        first = normal_nearest(first_magnitude, rebias, format);
        second = normal_nearest(second_magnitude, rebias, format);
    }
    if (!keep_positive) {
        first = _mm256_or_si256(first, narrow_sign(first_bits));
        second = _mm256_or_si256(second, narrow_sign(second_bits));
    }
    __m256i care = needs_care(_mm256_min_epi32(first_magnitude, second_magnitude),
                              _mm256_max_epi32(first_magnitude, second_magnitude), scale, format);
    if (__builtin_expect(_mm256_movemask_epi8(care) != 0, 0)) {
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

static inline void ordered_scale_f16(uint16_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    const vector factor = scale_inverse(scale);
    __m256i first = f16_round(x.first * factor, random);
    __m256i second = f16_round(x.second * factor, random ? random + VECTOR_LANES : NULL);
    if (keep_positive) {
        first = _mm256_max_epi32(first, one_where_positive(x.first));
        second = _mm256_max_epi32(second, one_where_positive(x.second));
    }
    ordered_store_u16(to, first, second);
}

static inline __m256i narrow_saturate(vector x, const struct narrow_format format) {
    __m256i bits = _mm256_castps_si256(x), magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i held = _mm256_min_epu32(magnitude, _mm256_set1_epi32(narrow_largest(format)));
    __m256i codes = _mm256_or_si256(narrow_nearest(held, format), narrow_sign(bits));
    __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(F32_INFINITY));
    return _mm256_blendv_epi8(codes, _mm256_set1_epi32(NARROW_NAN), is_nan);
}

static inline void ordered_saturate_e4m3(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e4m3), narrow_saturate(x.second, narrow_e4m3));
}

static inline void ordered_saturate_e5m2(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e5m2), narrow_saturate(x.second, narrow_e5m2));
}

/* ---- magnitudes ---- */

typedef __m256i vector_magnitude;

static inline vector_magnitude magnitude_zero(void) { return _mm256_setzero_si256(); }

static inline vector_magnitude magnitude_of(vector x) {
    return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7FFFFFFF));
}

static inline vector_magnitude finite_magnitude(vector x) {
    __m256i magnitude = magnitude_of(x);
    return _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(F32_INFINITY), magnitude), magnitude);
}

static inline vector_magnitude magnitude_max(vector_magnitude largest, struct vector_pair x) {
    return _mm256_max_epu32(largest, _mm256_max_epu32(magnitude_of(x.first), magnitude_of(x.second)));
}

static inline vector_magnitude magnitude_max_finite(vector_magnitude largest, struct vector_pair x) {
    return _mm256_max_epu32(largest, _mm256_max_epu32(finite_magnitude(x.first), finite_magnitude(x.second)));
}

static inline uint32_t magnitude_reduce(vector_magnitude largest) {
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1)));
}

#endif
