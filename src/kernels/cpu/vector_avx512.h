/*
 * fp32 vectors of 16 lanes with AVX-512 (F, BW, DQ, VL), and their conversions to and from f16 and bf16.  Included by
 * squares_avx512.h, adam_avx512.h and exponential_avx512.h.
 *
 * vector_avx512.h, vector_avx2.h and vector_portable.h define the same names, so that one template serves all three; they differ in
 * VECTOR_LANES.  Besides these functions, the operators + - * / of GNU C work on `vector`.
 *
 *   vector_load_f32, vector_store_f32    VECTOR_LANES consecutive elements at any address.
 *   pair_load_*, pair_store_*            2 * VECTOR_LANES consecutive elements at any address, in an order that is the
 *                                        same in loads and stores but differs between types and targets: for work that
 *                                        does not depend on which lane holds which element.
 *   pair_load_beside_*, pair_store_beside_*    2 * VECTOR_LANES consecutive fp32 values in the order of a type's pairs.
 *   pair_neighbours_*                    of a pair of 16-bit elements: the sums of elements 0 and 1, 2 and 3, ..., in order.
 *
 * A store rounds to nearest, ties to even; subnormals are kept, overflow gives infinity.  It assumes that a NaN comes from
 * arithmetic on numbers (no low payload bits), so that rounding cannot carry it into a number.
 */
#ifndef QUERN_CPU_VECTOR_AVX512_H
#define QUERN_CPU_VECTOR_AVX512_H

#include <immintrin.h>
#include <stdint.h>

typedef __m512 vector;

enum { VECTOR_LANES = 16 };

struct vector_pair {
    vector first, second;
};

/* Doubles, half as many lanes. */
typedef __m512d vector_wide;

static inline vector vector_broadcast(float x) { return _mm512_set1_ps(x); }

/* a * b + c, rounded once. */
static inline vector vector_fma(vector a, vector b, vector c) { return _mm512_fmadd_ps(a, b, c); }

/* The same, rounded once or twice, whichever is faster. */
static inline vector vector_multiply_add(vector a, vector b, vector c) { return vector_fma(a, b, c); }

/* The larger of each pair of lanes; b if either is NaN. */
static inline vector vector_max(vector a, vector b) { return _mm512_max_ps(a, b); }

static inline vector vector_min(vector a, vector b) { return _mm512_min_ps(a, b); }

static inline vector vector_abs(vector x) { return _mm512_abs_ps(x); }

/* Whether every a is at most b; false if any is NaN. */
static inline int vector_all_at_most(vector a, vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ) == 0; }

/* yes where a > b, else no. */
static inline vector vector_if_above(vector a, vector b, vector yes, vector no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), no, yes);
}

static inline float vector_reduce_max(vector x) { return _mm512_reduce_max_ps(x); }

/* The sums of neighbours of 2 * VECTOR_LANES lanes, in their order. */
static inline vector vector_add_neighbours(vector a, vector b) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm512_castpd_ps(_mm512_permutexvar_pd(
        order, _mm512_castps_pd(_mm512_shuffle_ps(a, b, 0x88) + _mm512_shuffle_ps(a, b, 0xDD))));
}

/* The sum of the halves of both vectors, of halves of their halves, and so on down to neighbours. */
static inline vector add_halves(vector a, vector b) {
    return _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xEE);
}

static inline vector add_quarters(vector a, vector b) {
    return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xDD);
}

static inline vector add_eighths(vector a, vector b) { return _mm512_shuffle_ps(a, b, 0x44) + _mm512_shuffle_ps(a, b, 0xEE); }

static inline vector fold_four(const vector *v) { return add_quarters(add_halves(v[0], v[4]), add_halves(v[8], v[12])); }

/*
 * The sum of the lanes of each vector: vector k's is in lane k.  A sum is a tree: first each lane of the lower half with its
 * counterpart in the upper half, in the end two neighbours.  The vectors are taken in the order that their sums have in the end.
 */
static inline vector vector_fold(const vector v[VECTOR_LANES]) {
    const vector a = add_eighths(fold_four(v), fold_four(v + 1)), b = add_eighths(fold_four(v + 2), fold_four(v + 3));
    return _mm512_shuffle_ps(a, b, 0x88) + _mm512_shuffle_ps(a, b, 0xDD);
}

/* The sum of both halves. */
static inline __attribute__((always_inline)) vector_wide vector_widen(vector x) {
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x)) + _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}

/* The sum of the lanes, in double. */
static inline double wide_reduce_add(vector_wide x) { return _mm512_reduce_add_pd(x); }

static inline double vector_reduce_add(vector x) { return wide_reduce_add(vector_widen(x)); }

/* ---- 16-bit integers: the maximum and the minimum are of unsigned ones, if not said otherwise ---- */

typedef __m512i halves;

static inline halves halves_load(const uint16_t *from) { return _mm512_loadu_si512(from); }

static inline void halves_store(uint16_t *to, halves x) { _mm512_storeu_si512(to, x); }

static inline halves halves_broadcast(uint16_t x) { return _mm512_set1_epi16((short)x); }

static inline halves halves_magnitude(halves x) { return _mm512_and_si512(x, _mm512_set1_epi16(0x7FFF)); }

static inline halves halves_max(halves a, halves b) { return _mm512_max_epu16(a, b); }

static inline halves halves_min(halves a, halves b) { return _mm512_min_epu16(a, b); }

static inline halves halves_max_signed(halves a, halves b) { return _mm512_max_epi16(a, b); }

static inline int halves_are_equal(halves a, halves b) { return _mm512_cmpneq_epi16_mask(a, b) == 0; }

static inline uint16_t halves_reduce_min(halves x) {
    const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    const __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16(quarter));
}

/* ---- f32 ---- */

static inline vector vector_load_f32(const float *from) { return _mm512_loadu_ps(from); }

static inline void vector_store_f32(float *to, vector x) { _mm512_storeu_ps(to, x); }

static inline struct vector_pair pair_load_f32(const float *from) {
    return (struct vector_pair){_mm512_loadu_ps(from), _mm512_loadu_ps(from + VECTOR_LANES)};
}

static inline void pair_store_f32(float *to, struct vector_pair x) {
    _mm512_storeu_ps(to, x.first);
    _mm512_storeu_ps(to + VECTOR_LANES, x.second);
}

static inline struct vector_pair pair_load_beside_f32(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f32(float *to, struct vector_pair x) { pair_store_f32(to, x); }

/* ---- f16 ---- */

enum { VECTOR_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

static inline vector vector_load_f16(const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

static inline struct vector_pair pair_load_f16(const uint16_t *from) {
    return (struct vector_pair){vector_load_f16(from), vector_load_f16(from + VECTOR_LANES)};
}

static inline void pair_store_f16(uint16_t *to, struct vector_pair x) {
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x.first, VECTOR_NEAREST));
    _mm256_storeu_si256((__m256i *)(to + VECTOR_LANES), _mm512_cvtps_ph(x.second, VECTOR_NEAREST));
}

static inline struct vector_pair pair_load_beside_f16(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f16(float *to, struct vector_pair x) { pair_store_f32(to, x); }

static inline vector pair_neighbours_f16(struct vector_pair x) { return vector_add_neighbours(x.first, x.second); }

/* ---- bf16 ---- */

/* The even elements first, then the odd ones: one shift and one mask for 32 elements. */
static inline struct vector_pair pair_load_bf16(const uint16_t *from) {
    __m512i bits = _mm512_loadu_si512(from);
    return (struct vector_pair){_mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)),
                                _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32((int)0xFFFF0000)))};
}

static inline vector pair_neighbours_bf16(struct vector_pair x) { return x.first + x.second; }

static inline struct vector_pair pair_load_beside_bf16(const float *from) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const struct vector_pair x = pair_load_f32(from);
    return (struct vector_pair){_mm512_permutex2var_ps(x.first, even, x.second),
                                _mm512_permutex2var_ps(x.first, _mm512_or_si512(even, _mm512_set1_epi32(1)), x.second)};
}

static inline void pair_store_beside_bf16(float *to, struct vector_pair x) {
    const __m512i lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
    pair_store_f32(to, (struct vector_pair){_mm512_permutex2var_ps(x.first, lower, x.second),
                                            _mm512_permutex2var_ps(x.first, upper, x.second)});
}

/*
 * Rounds 32 elements at once, from the upper halves (what is kept) and the lower halves (what is cut off): up if the cut-off part
 * is more than a half, or a half and the kept part is odd.
 */
static inline __m512i halves_round(__m512i kept, __m512i cut) {
    const __m512i biased = _mm512_adds_epu16(cut, _mm512_and_si512(kept, _mm512_set1_epi16(1)));
    const __mmask32 up = _mm512_cmpgt_epu16_mask(biased, _mm512_set1_epi16((short)0x8000));
    return _mm512_mask_add_epi16(kept, up, kept, _mm512_set1_epi16(1));
}

/* The first vector's halves are the even ones. */
static inline void pair_store_bf16(uint16_t *to, struct vector_pair x) {
    const __mmask32 odd = 0xAAAAAAAA;
    const __m512i first = _mm512_castps_si512(x.first), second = _mm512_castps_si512(x.second);
    _mm512_storeu_si512(to, halves_round(_mm512_mask_mov_epi16(_mm512_srli_epi32(first, 16), odd, second),
                                         _mm512_mask_mov_epi16(_mm512_slli_epi32(second, 16), (__mmask32)~odd, first)));
}

/* ---- others ---- */

#include "kernels/cpu/format.h"

#endif
