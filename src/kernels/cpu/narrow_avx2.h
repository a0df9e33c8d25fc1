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

/* ---- eight blocks of 32 elements at once, each with a scale ---- */

#define BLOCKS_ARE_STORED_TOGETHER 1
#define FOR_BLOCKS static inline __attribute__((always_inline))

enum { BLOCK_VECTORS = QUERN_SCALE_BLOCK / VECTOR_LANES, BLOCKS = VECTOR_LANES };

/* The largest lane of each of eight vectors, as unsigned integers. */
FOR_BLOCKS __m256i blocks_reduce_max(const __m256i x[BLOCKS]) {
    __m256i pairs[BLOCKS / 2], fours[2];
    for (int k = 0; k < BLOCKS / 2; k++)
        pairs[k] = _mm256_max_epu32(_mm256_unpacklo_epi32(x[2 * k], x[2 * k + 1]), _mm256_unpackhi_epi32(x[2 * k], x[2 * k + 1]));
    for (int k = 0; k < 2; k++)
        fours[k] = _mm256_max_epu32(_mm256_unpacklo_epi64(pairs[2 * k], pairs[2 * k + 1]),
                                    _mm256_unpackhi_epi64(pairs[2 * k], pairs[2 * k + 1]));
    return _mm256_max_epu32(_mm256_permute2x128_si256(fours[0], fours[1], 0x20),
                            _mm256_permute2x128_si256(fours[0], fours[1], 0x31));
}

struct block_scales {
    __m256i scales;            /* each brings the block's largest magnitude just below 2^(top + 1) */
    int are_usual;             /* all magnitudes are finite, and no scale is below the bias */
    unsigned normal;           /* a bit for each block: no product with the inverse scale is below 2^(1 - bias) */
};

/* With keep_positive hardly any x is negative: such ones count as not finite. */
FOR_BLOCKS struct block_scales blocks_find_scales(const float *x, int keep_positive, int top, int bias) {
    const __m256i magnitudes = _mm256_set1_epi32(keep_positive ? -1 : 0x7FFFFFFF), all = _mm256_set1_epi32(-1);
    __m256i largest[BLOCKS], most_below[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        __m256i least = magnitudes;
        largest[b] = _mm256_setzero_si256();
        for (int k = 0; k < BLOCK_VECTORS; k++) {
            const __m256i bits = _mm256_loadu_si256((const __m256i *)(x + b * QUERN_SCALE_BLOCK + k * VECTOR_LANES));
            const __m256i magnitude = _mm256_and_si256(bits, magnitudes);
            largest[b] = _mm256_max_epu32(largest[b], magnitude);
            least = _mm256_min_epu32(least, magnitude);
        }
        most_below[b] = _mm256_xor_si256(least, all);
    }
    const __m256i found = blocks_reduce_max(largest), least = _mm256_xor_si256(blocks_reduce_max(most_below), all);
    const __m256i scales = _mm256_max_epi32(_mm256_sub_epi32(_mm256_srli_epi32(found, 23), _mm256_set1_epi32(top)),
                                            _mm256_setzero_si256());
    const __m256i finite = _mm256_cmpeq_epi32(_mm256_min_epu32(found, _mm256_set1_epi32(F32_INFINITY - 1)), found);
    const __m256i usual = _mm256_and_si256(finite, _mm256_cmpgt_epi32(scales, _mm256_set1_epi32(bias - 1)));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(scales, _mm256_set1_epi32(bias - 1)), 23);
    const __m256i above = _mm256_cmpeq_epi32(_mm256_max_epu32(least, normal), least);
    return (struct block_scales){scales, _mm256_movemask_epi8(usual) == -1,
                                 (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(above))};
}

FOR_BLOCKS void blocks_store_scales(uint8_t *to, __m256i scales) {
    const __m256i halves = _mm256_packus_epi32(scales, scales), bytes = _mm256_packus_epi16(halves, halves);
    _mm_storel_epi64((__m128i *)to, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}

/* Codes of a vector: the sign is copied to all bits above a code. */
FOR_BLOCKS __m256i block_codes(__m256i bits, __m256i rebias, const uint16_t *random, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    __m256i added = _mm256_set1_epi32((1 << (cut - 1)) - 1);
    if (random)
        added = _mm256_slli_epi32(vector_load_u16(random), cut - 16);
    else
        added = _mm256_add_epi32(added, _mm256_and_si256(_mm256_srli_epi32(bits, cut), _mm256_set1_epi32(1)));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, rebias), added), cut);
}

/* The same where some products may be below the normal range, and then are rounded as numbers; the least keep above zero. */
FOR_BLOCKS __m256i block_small_codes(__m256i bits, __m256i normal, uint8_t scale, const uint16_t *random, int keep_positive,
                                     const struct narrow_format format) {
    const __m256i origin = _mm256_set1_epi32(narrow_power(narrow_step(format) + 23));
    const __m256i scaled = _mm256_castps_si256(_mm256_castsi256_ps(bits) * scale_inverse(scale));
    const __m256i magnitude = _mm256_and_si256(scaled, _mm256_set1_epi32(0x7FFFFFFF));
    const vector least_random = _mm256_castsi256_ps(_mm256_set1_epi32(narrow_power(narrow_step(format) - 16)));
    const vector steps = _mm256_castsi256_ps(_mm256_set1_epi32(narrow_power(-narrow_step(format))));
    const vector sum = _mm256_castsi256_ps(magnitude) + _mm256_castsi256_ps(origin);
    __m256i small = _mm256_sub_epi32(_mm256_castps_si256(sum), origin);
    if (random)
        small = _mm256_cvttps_epi32(
            vector_fma(_mm256_cvtepi32_ps(vector_load_u16(random)), least_random, _mm256_castsi256_ps(magnitude)) * steps);
    if (keep_positive)
        small = _mm256_max_epi32(small, one_where_positive(_mm256_castsi256_ps(bits)));
    else
        small = _mm256_or_si256(small, _mm256_and_si256(_mm256_srai_epi32(bits, 31), _mm256_set1_epi32(~0x7F)));
    return _mm256_blendv_epi8(normal, small, narrow_is_small(magnitude, format));
}

/* Signed saturation makes the sign that of a byte. */
FOR_BLOCKS void block_store_bytes(uint8_t *to, const __m256i codes[BLOCK_VECTORS]) {
    const __m256i first = _mm256_packs_epi32(codes[0], codes[1]), second = _mm256_packs_epi32(codes[2], codes[3]);
    const __m256i magnitudes = _mm256_set1_epi16(0x7F), order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i signs = _mm256_and_si256(_mm256_packs_epi16(first, second), _mm256_set1_epi8((char)NARROW_SIGN));
    const __m256i bytes = _mm256_packus_epi16(_mm256_and_si256(first, magnitudes), _mm256_and_si256(second, magnitudes));
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(_mm256_or_si256(bytes, signs), order));
}

FOR_BLOCKS void blocks_scale_narrow(uint8_t *to, const struct block_scales *found, const float *x, const uint16_t *random,
                                    int keep_positive, const struct narrow_format format) {
    int32_t rebias[BLOCKS];
    _mm256_storeu_si256((__m256i *)rebias,
                        _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(format.bias), found->scales), 23));
    for (int b = 0; b < BLOCKS; b++) {
        const __m256i rebias_lanes = _mm256_set1_epi32(rebias[b]);
        __m256i bits[BLOCK_VECTORS], codes[BLOCK_VECTORS];
        for (int k = 0; k < BLOCK_VECTORS; k++) {
            const int at = b * QUERN_SCALE_BLOCK + k * VECTOR_LANES;
            bits[k] = _mm256_loadu_si256((const __m256i *)(x + at));
            codes[k] = block_codes(bits[k], rebias_lanes, random ? random + at : NULL, format);
        }
        for (int k = 0; k < BLOCK_VECTORS && !(found->normal >> b & 1); k++) {
            const int at = b * QUERN_SCALE_BLOCK + k * VECTOR_LANES;
            const uint8_t scale = (uint8_t)(format.bias - (rebias[b] >> 23));
            codes[k] = block_small_codes(bits[k], codes[k], scale, random ? random + at : NULL, keep_positive, format);
        }
        block_store_bytes(to + b * QUERN_SCALE_BLOCK, codes);
    }
}

/* Returns 0 if a block needs more care. */
FOR_BLOCKS int blocks_store_narrow(uint8_t *to, uint8_t *scales, const float *x, const uint16_t *random, int keep_positive, int top,
                                   const struct narrow_format format) {
    const struct block_scales found = blocks_find_scales(x, keep_positive, top, format.bias);
    if (__builtin_expect(!found.are_usual, 0)) return 0;
    blocks_store_scales(scales, found.scales);
    if (random)
        blocks_scale_narrow(to, &found, x, random, keep_positive, format);
    else
        blocks_scale_narrow(to, &found, x, NULL, keep_positive, format);
    return 1;
}

FOR_BLOCKS int blocks_store_e4m3(uint8_t *to, uint8_t *scales, const float *x, const uint16_t *random, int keep_positive, int top) {
    return blocks_store_narrow(to, scales, x, random, keep_positive, top, narrow_e4m3);
}

FOR_BLOCKS int blocks_store_e5m2(uint8_t *to, uint8_t *scales, const float *x, const uint16_t *random, int keep_positive, int top) {
    return blocks_store_narrow(to, scales, x, random, keep_positive, top, narrow_e5m2);
}

/* Random bits carry no value beyond 2^(top + 1), which is finite. */
FOR_BLOCKS void blocks_scale_f16(uint16_t *to, __m256i scales, const float *x, const uint16_t *random) {
    float factors[BLOCKS];
    _mm256_storeu_si256((__m256i *)factors, _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(254), scales), 23));
    for (int at = 0; at < BLOCKS * QUERN_SCALE_BLOCK; at += VECTOR_LANES) {
        const vector scaled = vector_load_f32(x + at) * vector_broadcast(factors[at / QUERN_SCALE_BLOCK]);
        if (random) {
            const __m256i random13 = _mm256_srli_epi32(vector_load_u16(random + at), 3);
            const __m256i sum = _mm256_add_epi32(_mm256_castps_si256(scaled), random13);
            _mm_storeu_si128((__m128i *)(to + at),
                             _mm256_cvtps_ph(_mm256_castsi256_ps(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
        } else {
            _mm_storeu_si128((__m128i *)(to + at), _mm256_cvtps_ph(scaled, VECTOR_NEAREST));
        }
    }
}

FOR_BLOCKS int blocks_store_f16(uint16_t *to, uint8_t *scales, const float *x, const uint16_t *random, int keep_positive, int top) {
    enum { F16_BIAS = 15 };
    const struct block_scales found = blocks_find_scales(x, keep_positive, top, F16_BIAS);
    if (__builtin_expect(!found.are_usual || found.normal != (1u << BLOCKS) - 1, 0)) return 0;
    blocks_store_scales(scales, found.scales);
    if (random)
        blocks_scale_f16(to, found.scales, x, random);
    else
        blocks_scale_f16(to, found.scales, x, NULL);
    return 1;
}

#endif
