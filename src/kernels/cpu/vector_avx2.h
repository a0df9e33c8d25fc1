/*
 * fp32 vectors of 8 lanes with AVX2, FMA and F16C, and their conversions to and from f16 and bf16.  Included by squares_avx2.h,
 * adam_avx2.h and exponential_avx2.h.  vector_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_VECTOR_AVX2_H
#define QUERN_CPU_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdint.h>

typedef __m256 vector;

enum { VECTOR_LANES = 8 };

struct vector_pair {
    vector first, second;
};

typedef __m256d vector_wide;

static inline vector vector_broadcast(float x) { return _mm256_set1_ps(x); }

/* a * b + c, rounded once. */
static inline vector vector_fma(vector a, vector b, vector c) { return _mm256_fmadd_ps(a, b, c); }

static inline vector vector_multiply_add(vector a, vector b, vector c) { return vector_fma(a, b, c); }

/* The larger of each pair of lanes; b if either is NaN. */
static inline vector vector_max(vector a, vector b) { return _mm256_max_ps(a, b); }

static inline vector vector_min(vector a, vector b) { return _mm256_min_ps(a, b); }

static inline vector vector_abs(vector x) { return _mm256_andnot_ps(vector_broadcast(-0.0f), x); }

static inline int vector_all_at_most(vector a, vector b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ)) == 0; }

static inline vector vector_if_above(vector a, vector b, vector yes, vector no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
}

static inline float vector_reduce_max(vector x) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static inline vector vector_add_neighbours(vector a, vector b) {
    const vector sums = _mm256_shuffle_ps(a, b, 0x88) + _mm256_shuffle_ps(a, b, 0xDD);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(sums), 0xD8));
}

/* The sum of the halves of both vectors, within 256 and within 128 bits. */
static inline vector add_halves(vector a, vector b) {
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
}

static inline vector add_quarters(vector a, vector b) {
    return _mm256_shuffle_ps(a, b, 0x44) + _mm256_shuffle_ps(a, b, 0xEE);
}

/* The last sum takes the vectors in the order 0, 2, 4, 6, 1, 3, 5, 7 of its arguments. */
static inline vector vector_fold(const vector v[VECTOR_LANES]) {
    const vector a = add_quarters(add_halves(v[0], v[4]), add_halves(v[1], v[5]));
    const vector b = add_quarters(add_halves(v[2], v[6]), add_halves(v[3], v[7]));
    return _mm256_shuffle_ps(a, b, 0x88) + _mm256_shuffle_ps(a, b, 0xDD);
}

static inline __attribute__((always_inline)) vector_wide vector_widen(vector x) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x)) + _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

static inline double wide_reduce_add(vector_wide x) {
    const __m128d s = _mm256_castpd256_pd128(x) + _mm256_extractf128_pd(x, 1);
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

static inline double vector_reduce_add(vector x) { return wide_reduce_add(vector_widen(x)); }

/* ---- 16-bit integers ---- */

typedef __m256i halves;

static inline halves halves_load(const uint16_t *from) { return _mm256_loadu_si256((const __m256i *)from); }

static inline void halves_store(uint16_t *to, halves x) { _mm256_storeu_si256((__m256i *)to, x); }

static inline halves halves_broadcast(uint16_t x) { return _mm256_set1_epi16((short)x); }

static inline halves halves_magnitude(halves x) { return _mm256_and_si256(x, _mm256_set1_epi16(0x7FFF)); }

static inline halves halves_max(halves a, halves b) { return _mm256_max_epu16(a, b); }

static inline halves halves_min(halves a, halves b) { return _mm256_min_epu16(a, b); }

static inline halves halves_max_signed(halves a, halves b) { return _mm256_max_epi16(a, b); }

static inline int halves_are_equal(halves a, halves b) { return _mm256_movemask_epi8(_mm256_cmpeq_epi16(a, b)) == -1; }

static inline uint16_t halves_reduce_min(halves x) {
    const __m128i m = _mm_min_epu16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16(m));
}

/* ---- f32 ---- */

static inline vector vector_load_f32(const float *from) { return _mm256_loadu_ps(from); }

static inline void vector_store_f32(float *to, vector x) { _mm256_storeu_ps(to, x); }

static inline struct vector_pair pair_load_f32(const float *from) {
    return (struct vector_pair){_mm256_loadu_ps(from), _mm256_loadu_ps(from + VECTOR_LANES)};
}

static inline void pair_store_f32(float *to, struct vector_pair x) {
    _mm256_storeu_ps(to, x.first);
    _mm256_storeu_ps(to + VECTOR_LANES, x.second);
}

static inline struct vector_pair pair_load_beside_f32(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f32(float *to, struct vector_pair x) { pair_store_f32(to, x); }

/* ---- f16 ---- */

enum { VECTOR_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

static inline vector vector_load_f16(const uint16_t *from) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

static inline struct vector_pair pair_load_f16(const uint16_t *from) {
    return (struct vector_pair){vector_load_f16(from), vector_load_f16(from + VECTOR_LANES)};
}

static inline void pair_store_f16(uint16_t *to, struct vector_pair x) {
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x.first, VECTOR_NEAREST));
    _mm_storeu_si128((__m128i *)(to + VECTOR_LANES), _mm256_cvtps_ph(x.second, VECTOR_NEAREST));
}

static inline struct vector_pair pair_load_beside_f16(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f16(float *to, struct vector_pair x) { pair_store_f32(to, x); }

static inline vector pair_neighbours_f16(struct vector_pair x) { return vector_add_neighbours(x.first, x.second); }

/* ---- bf16 ---- */

/* Adds the increment that makes the upper half the nearest bf16, ties to even. */
static inline __m256i vector_round_bf16(vector x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7FFF));
}

/* The even elements first, then the odd ones: one shift and one mask for 16 elements. */
static inline struct vector_pair pair_load_bf16(const uint16_t *from) {
    __m256i bits = _mm256_loadu_si256((const __m256i *)from);
    return (struct vector_pair){_mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)),
                                _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32((int)0xFFFF0000)))};
}

/* Shuffles within 128 bits first, then the quarters. */
static inline struct vector_pair pair_load_beside_bf16(const float *from) {
    const struct vector_pair x = pair_load_f32(from);
    const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(x.first, x.second, 0x88));
    const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(x.first, x.second, 0xDD));
    return (struct vector_pair){_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xD8)),
                                _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xD8))};
}

static inline void pair_store_beside_bf16(float *to, struct vector_pair x) {
    const vector lower = _mm256_unpacklo_ps(x.first, x.second), upper = _mm256_unpackhi_ps(x.first, x.second);
    pair_store_f32(to, (struct vector_pair){_mm256_permute2f128_ps(lower, upper, 0x20),
                                            _mm256_permute2f128_ps(lower, upper, 0x31)});
}

static inline vector pair_neighbours_bf16(struct vector_pair x) { return x.first + x.second; }

static inline void pair_store_bf16(uint16_t *to, struct vector_pair x) {
    __m256i even = _mm256_srli_epi32(vector_round_bf16(x.first), 16);
    _mm256_storeu_si256((__m256i *)to, _mm256_blend_epi16(even, vector_round_bf16(x.second), 0xAA));
}

/* ---- others ---- */

#include "kernels/cpu/format.h"

#endif
