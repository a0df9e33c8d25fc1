/*
 * The Adam kernels' operations beyond vector_avx2.h: exact IEEE arithmetic and stochastic rounding.  Included by adam_vectors.h and
 * narrow_avx2.h.  adam_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_ADAM_AVX2_H
#define QUERN_CPU_ADAM_AVX2_H

#include "kernels/cpu/vector_avx2.h"

static inline vector vector_fms(vector a, vector b, vector c) { return _mm256_fmsub_ps(a, b, c); }

static inline vector vector_sqrt(vector a) { return _mm256_sqrt_ps(a); }

static inline vector vector_divide_or_zero(vector a, vector b) {
    return _mm256_and_ps(_mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_UQ), _mm256_div_ps(a, b));
}

static inline vector vector_keep_infinite(vector a, vector b) {
    vector magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
    vector infinity = _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000));
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(magnitude, infinity, _CMP_EQ_OQ));
}

static inline vector vector_raise(vector a, vector b) {
    vector above = _mm256_or_ps(_mm256_cmp_ps(b, a, _CMP_GT_OQ), _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
    return _mm256_blendv_ps(a, b, above);
}

/* The NaN of each type as fp32.  The roundings below do not change it. */
enum { NAN_f32 = 0x7FFFFFFF, NAN_f16 = 0x7FFFE000, NAN_bf16 = 0x7FFF0000 };

static inline int pair_has_nan(struct vector_pair x) {
    return _mm256_movemask_ps(_mm256_cmp_ps(x.first, x.second, _CMP_UNORD_Q));
}

static inline struct vector_pair pair_replace_nan(struct vector_pair x, int32_t nan_bits) {
    const vector nan = _mm256_castsi256_ps(_mm256_set1_epi32(nan_bits));
    x.first = _mm256_blendv_ps(x.first, nan, _mm256_cmp_ps(x.first, x.first, _CMP_UNORD_Q));
    x.second = _mm256_blendv_ps(x.second, nan, _mm256_cmp_ps(x.second, x.second, _CMP_UNORD_Q));
    return x;
}

static inline struct vector_pair pair_settle(struct vector_pair x, int32_t nan_bits) {
    return __builtin_expect(pair_has_nan(x), 0) ? pair_replace_nan(x, nan_bits) : x;
}

/* ---- f32 ---- */

static inline struct vector_pair ordered_load_f32(const float *from) { return pair_load_f32(from); }

static inline void ordered_round_f32(float *to, struct vector_pair x, const uint16_t *random) {
    (void)random;
    pair_store_f32(to, x);
}

/* ---- rounding ---- */

static inline __m256i vector_load_u16(const uint16_t *from) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
}

/* The lower halves of the lanes, zero-extended. */
static inline void ordered_store_u16(uint16_t *to, __m256i first, __m256i second) {
    __m256i crossed = _mm256_packus_epi32(first, second);
    _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(crossed, 0xD8));
}

/* The sum must not carry a finite value into infinity or an infinity into NaN: it is limited to the larger of FLT_MAX and x. */
static inline __m256i magnitude_add_random(__m256i magnitude, __m256i random) {
    __m256i limit = _mm256_max_epu32(magnitude, _mm256_set1_epi32(0x7F7FFFFF));
    return _mm256_min_epu32(_mm256_add_epi32(magnitude, random), limit);
}

/* ---- bf16 ---- */

static inline struct vector_pair ordered_load_bf16(const uint16_t *from) {
    return (struct vector_pair){
        _mm256_castsi256_ps(_mm256_slli_epi32(vector_load_u16(from), 16)),
        _mm256_castsi256_ps(_mm256_slli_epi32(vector_load_u16(from + VECTOR_LANES), 16)),
    };
}

/* In the rare case that a sum carries a finite value into infinity, the carry is undone. */
static inline __m256i bf16_without_carry(__m256i rounded, __m256i cut) {
    const __m256i infinite = _mm256_cmpeq_epi16(_mm256_add_epi16(rounded, rounded), _mm256_set1_epi16((int16_t)(0x7F80 << 1)));
    if (__builtin_expect(_mm256_movemask_epi8(infinite) != 0, 0))
        rounded = _mm256_blendv_epi8(rounded, cut, infinite);
    return rounded;
}

/* The upper halves, in order within 128 bits each. */
static inline __m256i upper_of_both(__m256i first, __m256i second) {
    return _mm256_packus_epi32(_mm256_srli_epi32(first, 16), _mm256_srli_epi32(second, 16));
}

static inline __attribute__((always_inline)) void ordered_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    const __m256i first = _mm256_castps_si256(x.first), second = _mm256_castps_si256(x.second);
    __m256i rounded = upper_of_both(vector_round_bf16(x.first), vector_round_bf16(x.second));
    if (random) {
        rounded = upper_of_both(_mm256_add_epi32(first, vector_load_u16(random)),
                                _mm256_add_epi32(second, vector_load_u16(random + VECTOR_LANES)));
        rounded = bf16_without_carry(rounded, upper_of_both(first, second));
    }
    _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(rounded, 0xD8));
}

/* The random bits of the even elements, which are in the first vector, are the lower halves of the random words. */
static inline __m256i pair_round_stochastic(struct vector_pair x, __m256i random) {
    __m256i even = _mm256_castps_si256(x.first), odd = _mm256_castps_si256(x.second);
    __m256i even_sum = _mm256_add_epi32(even, _mm256_and_si256(random, _mm256_set1_epi32(0xFFFF)));
    __m256i odd_sum = _mm256_add_epi32(odd, _mm256_srli_epi32(random, 16));
    __m256i rounded = _mm256_blend_epi16(_mm256_srli_epi32(even_sum, 16), odd_sum, 0xAA);
    return bf16_without_carry(rounded, _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xAA));
}

static inline void pair_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    if (random)
        _mm256_storeu_si256((__m256i *)to, pair_round_stochastic(x, _mm256_loadu_si256((const __m256i *)random)));
    else
        pair_store_bf16(to, x);
}

/* ---- bf16 with a remainder: the parameter is one above the master's upper half if the remainder is more than a half ---- */

/* -1 in such a lane, else 0. */
static inline __m256i remainder_is_above_half(__m256i remainder) {
    __m256i moved = _mm256_xor_si256(remainder, _mm256_set1_epi16((int16_t)0x8000));
    return _mm256_cmpgt_epi16(moved, _mm256_setzero_si256());
}

static inline struct vector_pair ordered_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    __m256i lower = _mm256_loadu_si256((const __m256i *)remainder), upper = _mm256_loadu_si256((const __m256i *)param);
    upper = _mm256_permute4x64_epi64(_mm256_add_epi16(upper, remainder_is_above_half(lower)), 0xD8);
    lower = _mm256_permute4x64_epi64(lower, 0xD8);
    return (struct vector_pair){_mm256_castsi256_ps(_mm256_unpacklo_epi16(lower, upper)),
                                _mm256_castsi256_ps(_mm256_unpackhi_epi16(lower, upper))};
}

static inline void store_remainder_halves(uint16_t *param, uint16_t *remainder, __m256i upper, __m256i lower) {
    _mm256_storeu_si256((__m256i *)remainder, lower);
    _mm256_storeu_si256((__m256i *)param, _mm256_sub_epi16(upper, remainder_is_above_half(lower)));
}

static inline void ordered_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    __m256i first = _mm256_castps_si256(x.first), second = _mm256_castps_si256(x.second);
    __m256i upper = _mm256_packus_epi32(_mm256_srli_epi32(first, 16), _mm256_srli_epi32(second, 16));
    __m256i lower = _mm256_packus_epi32(_mm256_blend_epi16(first, _mm256_setzero_si256(), 0xAA),
                                        _mm256_blend_epi16(second, _mm256_setzero_si256(), 0xAA));
    store_remainder_halves(param, remainder, _mm256_permute4x64_epi64(upper, 0xD8), _mm256_permute4x64_epi64(lower, 0xD8));
}

static inline struct vector_pair pair_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    __m256i lower = _mm256_loadu_si256((const __m256i *)remainder), upper = _mm256_loadu_si256((const __m256i *)param);
    upper = _mm256_add_epi16(upper, remainder_is_above_half(lower));
    return (struct vector_pair){_mm256_castsi256_ps(_mm256_blend_epi16(lower, _mm256_slli_epi32(upper, 16), 0xAA)),
                                _mm256_castsi256_ps(_mm256_blend_epi16(_mm256_srli_epi32(lower, 16), upper, 0xAA))};
}

static inline void pair_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    __m256i even = _mm256_castps_si256(x.first), odd = _mm256_castps_si256(x.second);
    __m256i upper = _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xAA);
    store_remainder_halves(param, remainder, upper, _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xAA));
}

/* ---- the order of unpacking: in each 128 bits, four elements in the first vector and the next four in the second ---- */

static inline __m256i halves_first(halves x) { return _mm256_unpacklo_epi16(x, _mm256_setzero_si256()); }

static inline __m256i halves_second(halves x) { return _mm256_unpackhi_epi16(x, _mm256_setzero_si256()); }

static inline struct vector_pair pair_from_bits(__m256i first, __m256i second) {
    return (struct vector_pair){_mm256_castsi256_ps(first), _mm256_castsi256_ps(second)};
}

static inline struct vector_pair unpacked_load_bf16(const uint16_t *from) {
    const __m256i x = halves_load(from), zero = _mm256_setzero_si256();
    return pair_from_bits(_mm256_unpacklo_epi16(zero, x), _mm256_unpackhi_epi16(zero, x));
}

static inline struct vector_pair unpacked_load_f32(const float *from) {
    return (struct vector_pair){_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + 8), 1),
                                _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + 4)), _mm_loadu_ps(from + 12), 1)};
}

static inline void unpacked_nearest_f32(float *to, struct vector_pair x) {
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(x.first, x.second, 0x20));
    _mm256_storeu_ps(to + VECTOR_LANES, _mm256_permute2f128_ps(x.first, x.second, 0x31));
}

static inline halves unpacked_nearest(struct vector_pair x) {
    return upper_of_both(vector_round_bf16(x.first), vector_round_bf16(x.second));
}

static inline void unpacked_nearest_bf16(uint16_t *to, struct vector_pair x) { halves_store(to, unpacked_nearest(x)); }

static inline halves unpacked_stochastic(struct vector_pair x, __m256i first, __m256i second) {
    return upper_of_both(_mm256_add_epi32(_mm256_castps_si256(x.first), first),
                          _mm256_add_epi32(_mm256_castps_si256(x.second), second));
}

static inline struct vector_pair unpacked_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    const __m256i lower = halves_load(remainder), upper = _mm256_add_epi16(halves_load(param), remainder_is_above_half(lower));
    return pair_from_bits(_mm256_unpacklo_epi16(lower, upper), _mm256_unpackhi_epi16(lower, upper));
}

static inline void unpacked_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    const __m256i first = _mm256_castps_si256(x.first), second = _mm256_castps_si256(x.second), zero = _mm256_setzero_si256();
    const __m256i lower = _mm256_packus_epi32(_mm256_blend_epi16(first, zero, 0xAA), _mm256_blend_epi16(second, zero, 0xAA));
    store_remainder_halves(param, remainder, upper_of_both(first, second), lower);
}

/* ---- rare values ---- */

typedef __m256i rare_values;

static inline rare_values rare_none(void) { return _mm256_setzero_si256(); }

static inline rare_values rare_or_nan(rare_values rare, struct vector_pair x) {
    return _mm256_or_si256(rare, _mm256_castps_si256(_mm256_cmp_ps(x.first, x.second, _CMP_UNORD_Q)));
}

static inline rare_values rare_or_infinite(rare_values rare, halves a, halves b) {
    const __m256i twice = _mm256_max_epu16(_mm256_add_epi16(a, a), _mm256_add_epi16(b, b));
    return _mm256_or_si256(rare, _mm256_subs_epu16(twice, _mm256_set1_epi16((int16_t)0xFEFF)));
}

static inline rare_values rare_or_infinite_square(rare_values rare, halves a, halves b) {
    return _mm256_or_si256(rare, _mm256_subs_epu16(_mm256_max_epu16(a, b), _mm256_set1_epi16(0x7F7F)));
}

static inline int rare_any(rare_values rare) { return !_mm256_testz_si256(rare, rare); }

/* ---- f16 ---- */

static inline struct vector_pair ordered_load_f16(const uint16_t *from) { return pair_load_f16(from); }

static inline __m256i f16_round_nearest(vector x) {
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, VECTOR_NEAREST));
}

/*
 * Cuts 13 bits off the fp32.  Below f16's normal range the cut is at 2^-24 for every exponent, so the random bits are added as a
 * number.  The conversion toward zero limits overflow to 65504.
 */
static inline __m256i f16_round_stochastic(vector x, const uint16_t *random) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i random13 = _mm256_srli_epi32(vector_load_u16(random), 3);
    vector small = _mm256_castsi256_ps(magnitude) + _mm256_cvtepi32_ps(random13) * _mm256_set1_ps(0x1p-37f);
    __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x38800000), magnitude);
    __m256i sum = _mm256_blendv_epi8(magnitude_add_random(magnitude, random13), _mm256_castps_si256(small), is_small);
    sum = _mm256_or_si256(sum, _mm256_xor_si256(bits, magnitude));
    __m128i rounded = _mm256_cvtps_ph(_mm256_castsi256_ps(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return _mm256_cvtepu16_epi32(rounded);
}

static inline __m256i f16_round(vector x, const uint16_t *random) {
    return random ? f16_round_stochastic(x, random) : f16_round_nearest(x);
}

static inline void ordered_round_f16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    ordered_store_u16(to, f16_round(x.first, random), f16_round(x.second, random ? random + VECTOR_LANES : NULL));
}

#endif
