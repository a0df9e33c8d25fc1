/*
 * What the Adam kernels need beside vector_avx2.h: arithmetic that is IEEE to the last bit, and stochastic rounding.
 * adam_avx512.h says what each function does; the names are the same.
 */
#ifndef QUERN_CPU_ADAM_H
#define QUERN_CPU_ADAM_H

#include "vector_avx2.h"

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

static inline vector vector_quiet(vector x) {
    return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* ---- f32 ---- */

static inline vector ordered_load_f32(const float *from) { return _mm256_loadu_ps(from); }

static inline void ordered_store_f32(float *to, vector x, const uint16_t *random) {
    (void)random;
    _mm256_storeu_ps(to, vector_quiet(x));
}

/* ---- rounding ---- */

static inline __m256i ordered_load_u16(const uint16_t *from) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
}

/* Stores what is in the lower halves of the lanes, 0x7FFF where x is NaN; the upper halves are zero. */
static inline void ordered_store_u16(uint16_t *to, __m256i rounded, vector x) {
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FFF), nan);
    __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storeu_si128((__m128i *)to, packed);
}

/* The sum may carry neither a finite value into infinity nor an infinity into NaN: it is held at the larger of FLT_MAX and x. */
static inline __m256i magnitude_add_random(__m256i magnitude, __m256i random) {
    __m256i limit = _mm256_max_epu32(magnitude, _mm256_set1_epi32(0x7F7FFFFF));
    return _mm256_min_epu32(_mm256_add_epi32(magnitude, random), limit);
}

/* ---- bf16 ---- */

static inline vector ordered_load_bf16(const uint16_t *from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(ordered_load_u16(from), 16));
}

static inline void ordered_store_bf16(uint16_t *to, vector x, const uint16_t *random) {
    __m256i rounded;
    if (random) {
        __m256i bits = _mm256_castps_si256(x);
        __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
        __m256i sum = magnitude_add_random(magnitude, ordered_load_u16(random));
        rounded = _mm256_or_si256(sum, _mm256_xor_si256(bits, magnitude));
    } else {
        rounded = vector_round_bf16(x);
    }
    ordered_store_u16(to, _mm256_srli_epi32(rounded, 16), x);
}

/* ---- f16 ---- */

static inline vector ordered_load_f16(const uint16_t *from) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

/*
 * Cuts 13 bits off the fp32; below f16's normal range, where the cut is at 2^-24 whatever the exponent, the random bits are
 * added as a number.  The conversion toward zero holds what overflows at 65504.
 */
static inline __m256i f16_round_stochastic(vector x, __m256i random) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i random13 = _mm256_srli_epi32(random, 3);
    vector small = _mm256_castsi256_ps(magnitude) + _mm256_cvtepi32_ps(random13) * _mm256_set1_ps(0x1p-37f);
    __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x38800000), magnitude);
    __m256i sum = _mm256_blendv_epi8(magnitude_add_random(magnitude, random13), _mm256_castps_si256(small), is_small);
    __m128i rounded = _mm256_cvtps_ph(_mm256_castsi256_ps(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return _mm256_or_si256(_mm256_cvtepu16_epi32(rounded), _mm256_srli_epi32(_mm256_xor_si256(bits, magnitude), 16));
}

static inline void ordered_store_f16(uint16_t *to, vector x, const uint16_t *random) {
    __m256i rounded = random ? f16_round_stochastic(x, ordered_load_u16(random))
                             : _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, VECTOR_NEAREST));
    ordered_store_u16(to, rounded, x);
}

#endif
