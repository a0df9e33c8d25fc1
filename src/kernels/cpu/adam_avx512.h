/*
 * The Adam kernels' operations beyond vector_avx512.h: exact IEEE arithmetic and stochastic rounding.  Included by adam_vectors.h
 * and narrow_avx512.h.
 *
 * adam_avx512.h, adam_avx2.h and adam_portable.h define the same names and give the same bits; those from unpacked_load_* on only
 * the first two:
 *
 *   vector_fms                  a * b - c, rounded once
 *   vector_sqrt
 *   vector_divide_or_zero       a / b, but +0 if a is zero
 *   vector_keep_infinite        a if a is infinite, else b
 *   vector_raise                b if b is above a or NaN, else a
 *   ordered_load_*              2 * VECTOR_LANES consecutive elements at any address, in their order
 *   ordered_round_*             stores the same elements.  `random` has 16 random bits for each element: an element is rounded up
 *                               with the probability of its cut-off part, and a finite value stays finite.  NULL rounds to
 *                               nearest, ties to even.  Infinity stays infinity; a NaN must be the type's own.
 *   pair_round_bf16             the same in the order of pair_load_bf16
 *   *_load_remainder            fp32 values from bf16 and remainders (see quern_adam in quern.h)
 *   *_store_remainder           the reverse; a NaN must be that of bf16
 *   pair_has_nan                whether any value is NaN, which is rare: its handling stays out of the fast path
 *   pair_replace_nan            replaces every NaN by that of the type in which the value will be stored
 *   pair_settle                 both
 *   unpacked_load_*             2 * VECTOR_LANES elements in the order of unpacking: in each 128 bits, which are the elements of
 *                               one random counter if they have 16 bits, four in the first vector and the next four in the second
 *   unpacked_nearest_*          stores them, rounded to nearest
 *   unpacked_nearest            the same elements as bf16, to nearest, packed
 *   unpacked_stochastic         ... with 16 random bits for each lane, which may carry a finite value into infinity
 *   halves_first, _second       packed halves, zero-extended, in the order of unpacking
 *   rare_or_nan                 adds to a set of lanes whether any value is NaN,
 *   rare_or_infinite            ... whether any bf16 is infinite or NaN,
 *   rare_or_infinite_square     ... the same for values that are negative only if they are NaN
 */
#ifndef QUERN_CPU_ADAM_AVX512_H
#define QUERN_CPU_ADAM_AVX512_H

#include "kernels/cpu/vector_avx512.h"

static inline vector vector_fms(vector a, vector b, vector c) { return _mm512_fmsub_ps(a, b, c); }

static inline vector vector_sqrt(vector a) { return _mm512_sqrt_ps(a); }

static inline vector vector_divide_or_zero(vector a, vector b) {
    return _mm512_maskz_div_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ), a, b);
}

static inline vector vector_keep_infinite(vector a, vector b) {
    enum { POSITIVE_INFINITY = 0x08, NEGATIVE_INFINITY = 0x10 };
    return _mm512_mask_mov_ps(b, _mm512_fpclass_ps_mask(a, POSITIVE_INFINITY | NEGATIVE_INFINITY), a);
}

static inline vector vector_raise(vector a, vector b) {
    __mmask16 above = _mm512_cmp_ps_mask(b, a, _CMP_GT_OQ) | _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(a, above, b);
}

/*
 * The NaN of each type as fp32.  A 16-bit type stores it as 0x7FFF; its fp32 form has no bits below those, so rounding cannot
 * carry.  The NaN of f32 is the one that a GPU's arithmetic gives.
 */
enum { NAN_f32 = 0x7FFFFFFF, NAN_f16 = 0x7FFFE000, NAN_bf16 = 0x7FFF0000 };

static inline int pair_has_nan(struct vector_pair x) {
    return _mm512_cmp_ps_mask(x.first, x.second, _CMP_UNORD_Q);
}

static inline struct vector_pair pair_replace_nan(struct vector_pair x, int32_t nan_bits) {
    const vector nan = _mm512_castsi512_ps(_mm512_set1_epi32(nan_bits));
    x.first = _mm512_mask_mov_ps(x.first, _mm512_cmp_ps_mask(x.first, x.first, _CMP_UNORD_Q), nan);
    x.second = _mm512_mask_mov_ps(x.second, _mm512_cmp_ps_mask(x.second, x.second, _CMP_UNORD_Q), nan);
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

/* ---- bf16 ---- */

static inline vector vector_load_bf16(const uint16_t *from) {
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

static inline struct vector_pair ordered_load_bf16(const uint16_t *from) {
    return (struct vector_pair){vector_load_bf16(from), vector_load_bf16(from + VECTOR_LANES)};
}

/* The lower or, with offset 1, the upper halves of 32 lanes. */
static inline __m512i pair_halves(struct vector_pair x, int16_t offset) {
    const __m512i places = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
                                            30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(_mm512_castps_si512(x.first), _mm512_or_si512(places, _mm512_set1_epi16(offset)),
                                     _mm512_castps_si512(x.second));
}

/*
 * Rounds 32 elements at once: up if the cut-off part is above a threshold.  For rounding to nearest the threshold is a half, or
 * just below a half if the kept part is odd.  For random bits r it is ~r, which is exceeded if cut + r would carry.  A carry from
 * the largest finite value to infinity is dropped.
 */
static inline void ordered_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    const __m512i largest = _mm512_set1_epi16((int16_t)(0x7F7F << 1)), one = _mm512_set1_epi16(1);
    __m512i kept = pair_halves(x, 1), cut = pair_halves(x, 0);
    __mmask32 up;
    if (random) {
        __m512i threshold = _mm512_andnot_si512(_mm512_loadu_si512(random), _mm512_set1_epi16(-1));
        up = _mm512_cmpgt_epu16_mask(cut, threshold);
        up = _mm512_mask_cmpneq_epi16_mask(up, _mm512_slli_epi16(kept, 1), largest);
    } else {
        __m512i threshold = _mm512_sub_epi16(_mm512_set1_epi16((int16_t)0x8000), _mm512_and_si512(kept, one));
        up = _mm512_cmpgt_epu16_mask(cut, threshold);
    }
    _mm512_storeu_si512(to, _mm512_mask_add_epi16(kept, up, kept, one));
}

/*
 * The random bits of the even elements, which are in the first vector, are the lower halves of the random words.  In the rare case
 * that a sum carries a finite value into infinity, the carry is undone.
 */
static inline __m512i pair_round_stochastic(struct vector_pair x, __m512i random) {
    const __mmask32 odd_elements = 0xAAAAAAAA;
    __m512i even = _mm512_castps_si512(x.first), odd = _mm512_castps_si512(x.second);
    __m512i even_sum = _mm512_add_epi32(even, _mm512_and_si512(random, _mm512_set1_epi32(0xFFFF)));
    __m512i odd_sum = _mm512_add_epi32(odd, _mm512_srli_epi32(random, 16));
    __m512i rounded = _mm512_mask_mov_epi16(_mm512_srli_epi32(even_sum, 16), odd_elements, odd_sum);
    __mmask32 infinite =
        _mm512_cmpeq_epi16_mask(_mm512_add_epi16(rounded, rounded), _mm512_set1_epi16((int16_t)(0x7F80 << 1)));
    if (__builtin_expect(infinite != 0, 0)) {
        __m512i kept = _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), odd_elements, odd);
        rounded = _mm512_mask_mov_epi16(rounded, infinite, kept);
    }
    return rounded;
}

static inline void pair_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    if (random)
        _mm512_storeu_si512(to, pair_round_stochastic(x, _mm512_loadu_si512(random)));
    else
        pair_store_bf16(to, x);
}

/* ---- bf16 with a remainder: the parameter is one above the master's upper half if the remainder is more than a half ---- */

static inline __mmask32 remainder_is_above_half(__m512i remainder) {
    return _mm512_cmpgt_epu16_mask(remainder, _mm512_set1_epi16((int16_t)0x8000));
}

static inline struct vector_pair ordered_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    __m512i lower = _mm512_loadu_si512(remainder), upper = _mm512_loadu_si512(param);
    upper = _mm512_mask_sub_epi16(upper, remainder_is_above_half(lower), upper, _mm512_set1_epi16(1));
    __m512i first = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(upper)), 16);
    __m512i second = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(upper, 1)), 16);
    first = _mm512_or_si512(first, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(lower)));
    second = _mm512_or_si512(second, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(lower, 1)));
    return (struct vector_pair){_mm512_castsi512_ps(first), _mm512_castsi512_ps(second)};
}

static inline void store_remainder_halves(uint16_t *param, uint16_t *remainder, __m512i upper, __m512i lower) {
    _mm512_storeu_si512(remainder, lower);
    _mm512_storeu_si512(param, _mm512_mask_add_epi16(upper, remainder_is_above_half(lower), upper, _mm512_set1_epi16(1)));
}

static inline void ordered_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    store_remainder_halves(param, remainder, pair_halves(x, 1), pair_halves(x, 0));
}

static inline struct vector_pair pair_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    const __mmask32 odd_elements = 0xAAAAAAAA;
    __m512i lower = _mm512_loadu_si512(remainder), upper = _mm512_loadu_si512(param);
    upper = _mm512_mask_sub_epi16(upper, remainder_is_above_half(lower), upper, _mm512_set1_epi16(1));
    __m512i even = _mm512_mask_mov_epi16(lower, odd_elements, _mm512_slli_epi32(upper, 16));
    __m512i odd = _mm512_mask_mov_epi16(_mm512_srli_epi32(lower, 16), odd_elements, upper);
    return (struct vector_pair){_mm512_castsi512_ps(even), _mm512_castsi512_ps(odd)};
}

static inline void pair_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    const __mmask32 odd_elements = 0xAAAAAAAA;
    __m512i even = _mm512_castps_si512(x.first), odd = _mm512_castps_si512(x.second);
    __m512i upper = _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), odd_elements, odd);
    store_remainder_halves(param, remainder, upper, _mm512_mask_mov_epi16(even, odd_elements, _mm512_slli_epi32(odd, 16)));
}

/* ---- the order of unpacking ---- */

static inline __m512i halves_first(halves x) { return _mm512_unpacklo_epi16(x, _mm512_setzero_si512()); }

static inline __m512i halves_second(halves x) { return _mm512_unpackhi_epi16(x, _mm512_setzero_si512()); }

static inline struct vector_pair pair_from_bits(__m512i first, __m512i second) {
    return (struct vector_pair){_mm512_castsi512_ps(first), _mm512_castsi512_ps(second)};
}

static inline struct vector_pair unpacked_load_bf16(const uint16_t *from) {
    const __m512i x = halves_load(from), zero = _mm512_setzero_si512();
    return pair_from_bits(_mm512_unpacklo_epi16(zero, x), _mm512_unpackhi_epi16(zero, x));
}

static inline struct vector_pair unpacked_load_f32(const float *from) {
    const struct vector_pair x = pair_load_f32(from);
    return (struct vector_pair){_mm512_shuffle_f32x4(x.first, x.second, 0x88), _mm512_shuffle_f32x4(x.first, x.second, 0xDD)};
}

static inline void unpacked_nearest_f32(float *to, struct vector_pair x) {
    const __m512i lower = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i upper = _mm512_or_si512(lower, _mm512_set1_epi32(8));
    _mm512_storeu_ps(to, _mm512_permutex2var_ps(x.first, lower, x.second));
    _mm512_storeu_ps(to + VECTOR_LANES, _mm512_permutex2var_ps(x.first, upper, x.second));
}

/* The lower halves of both vectors' lanes or, with offset 1, the upper ones, in the order that unpacking undoes. */
static inline halves unpacked_halves(__m512i first, __m512i second, int16_t offset) {
    const __m512i places = _mm512_set_epi16(62, 60, 58, 56, 30, 28, 26, 24, 54, 52, 50, 48, 22, 20, 18, 16,
                                            46, 44, 42, 40, 14, 12, 10, 8, 38, 36, 34, 32, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(first, _mm512_or_si512(places, _mm512_set1_epi16(offset)), second);
}

static inline halves unpacked_nearest(struct vector_pair x) {
    const __m512i first = _mm512_castps_si512(x.first), second = _mm512_castps_si512(x.second);
    return halves_round(unpacked_halves(first, second, 1), unpacked_halves(first, second, 0));
}

static inline void unpacked_nearest_bf16(uint16_t *to, struct vector_pair x) { halves_store(to, unpacked_nearest(x)); }

static inline halves unpacked_stochastic(struct vector_pair x, __m512i first, __m512i second) {
    return unpacked_halves(_mm512_add_epi32(_mm512_castps_si512(x.first), first),
                           _mm512_add_epi32(_mm512_castps_si512(x.second), second), 1);
}

static inline struct vector_pair unpacked_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    const __m512i lower = halves_load(remainder);
    __m512i upper = halves_load(param);
    upper = _mm512_mask_sub_epi16(upper, remainder_is_above_half(lower), upper, _mm512_set1_epi16(1));
    return pair_from_bits(_mm512_unpacklo_epi16(lower, upper), _mm512_unpackhi_epi16(lower, upper));
}

static inline void unpacked_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    const __m512i first = _mm512_castps_si512(x.first), second = _mm512_castps_si512(x.second);
    store_remainder_halves(param, remainder, unpacked_halves(first, second, 1), unpacked_halves(first, second, 0));
}

/* ---- rare values ---- */

typedef __mmask32 rare_values;

static inline rare_values rare_none(void) { return 0; }

static inline rare_values rare_or_nan(rare_values rare, struct vector_pair x) {
    return rare | _mm512_cmp_ps_mask(x.first, x.second, _CMP_UNORD_Q);
}

static inline rare_values rare_or_infinite(rare_values rare, halves a, halves b) {
    const __m512i twice = _mm512_max_epu16(_mm512_add_epi16(a, a), _mm512_add_epi16(b, b));
    return rare | _mm512_cmpge_epu16_mask(twice, _mm512_set1_epi16((int16_t)0xFF00));
}

static inline rare_values rare_or_infinite_square(rare_values rare, halves a, halves b) {
    return rare | _mm512_cmpge_epu16_mask(_mm512_max_epu16(a, b), _mm512_set1_epi16(0x7F80));
}

static inline int rare_any(rare_values rare) { return rare != 0; }

/* ---- f16 ---- */

static inline struct vector_pair ordered_load_f16(const uint16_t *from) { return pair_load_f16(from); }

/* The sum must not carry a finite value into infinity or an infinity into NaN: it is limited to the larger of FLT_MAX and x. */
static inline __m512i magnitude_add_random(__m512i magnitude, __m512i random) {
    __m512i limit = _mm512_max_epu32(magnitude, _mm512_set1_epi32(0x7F7FFFFF));
    return _mm512_min_epu32(_mm512_add_epi32(magnitude, random), limit);
}

/*
 * Cuts 13 bits off the fp32.  Below f16's normal range the cut is at 2^-24 for every exponent, so the random bits are added as a
 * number.  The conversion toward zero limits overflow to 65504.
 */
static inline __m256i f16_round_stochastic(vector x, const uint16_t *random) {
    __m512i bits = _mm512_castps_si512(x);
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    __m512i random13 = _mm512_srli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)random)), 3);
    vector small = _mm512_castsi512_ps(magnitude) + _mm512_cvtepi32_ps(random13) * _mm512_set1_ps(0x1p-37f);
    __mmask16 is_small = _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(0x38800000));
    __m512i sum = _mm512_mask_mov_epi32(magnitude_add_random(magnitude, random13), is_small, _mm512_castps_si512(small));
    sum = _mm512_or_si512(sum, _mm512_xor_si512(bits, magnitude));
    return _mm512_cvtps_ph(_mm512_castsi512_ps(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

static inline __m256i f16_round(vector x, const uint16_t *random) {
    return random ? f16_round_stochastic(x, random) : _mm512_cvtps_ph(x, VECTOR_NEAREST);
}

static inline void ordered_round_f16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    _mm256_storeu_si256((__m256i *)to, f16_round(x.first, random));
    _mm256_storeu_si256((__m256i *)(to + VECTOR_LANES), f16_round(x.second, random ? random + VECTOR_LANES : NULL));
}

#endif
