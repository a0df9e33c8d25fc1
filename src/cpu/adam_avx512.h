/*
 * What the Adam kernels need beside vector_avx512.h: arithmetic that is IEEE to the last bit, and stochastic rounding.
 *
 * adam_avx512.h, adam_avx2.h and adam_portable.h define the same names and give the same bits:
 *
 *   vector_fms                  a * b - c, rounded once
 *   vector_sqrt
 *   vector_divide_or_zero       a / b, but +0 where a is zero
 *   vector_keep_infinite        a where a is infinite, else b
 *   vector_quiet                x, every NaN as 0x7FFFFFFF: what a GPU's arithmetic gives
 *   ordered_load_*              VECTOR_LANES consecutive elements at any address, in their order
 *   ordered_store_*             the same; `random` has 16 random bits for each element and asks for stochastic rounding (up with
 *                               the probability of what is cut off; a finite value stays finite), NULL for rounding to nearest,
 *                               ties to even.  Infinity stays infinity, every NaN becomes 0x7FFF.  f32 is not rounded.
 */
#ifndef QUERN_CPU_ADAM_H
#define QUERN_CPU_ADAM_H

#include "vector_avx512.h"

static inline vector vector_fms(vector a, vector b, vector c) { return _mm512_fmsub_ps(a, b, c); }

static inline vector vector_sqrt(vector a) { return _mm512_sqrt_ps(a); }

static inline vector vector_divide_or_zero(vector a, vector b) {
    return _mm512_maskz_div_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ), a, b);
}

static inline vector vector_keep_infinite(vector a, vector b) {
    enum { POSITIVE_INFINITY = 0x08, NEGATIVE_INFINITY = 0x10 };
    return _mm512_mask_mov_ps(b, _mm512_fpclass_ps_mask(a, POSITIVE_INFINITY | NEGATIVE_INFINITY), a);
}

static inline vector vector_quiet(vector x) {
    const vector nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7FFFFFFF));
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}

/* ---- f32 ---- */

static inline vector ordered_load_f32(const float *from) { return _mm512_loadu_ps(from); }

static inline void ordered_store_f32(float *to, vector x, const uint16_t *random) {
    (void)random;
    _mm512_storeu_ps(to, vector_quiet(x));
}

/* ---- rounding ---- */

static inline __m512i ordered_load_u16(const uint16_t *from) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
}

/* The sum may carry neither a finite value into infinity nor an infinity into NaN: it is held at the larger of FLT_MAX and x. */
static inline __m512i magnitude_add_random(__m512i magnitude, __m512i random) {
    __m512i limit = _mm512_max_epu32(magnitude, _mm512_set1_epi32(0x7F7FFFFF));
    return _mm512_min_epu32(_mm512_add_epi32(magnitude, random), limit);
}

/* ---- bf16 ---- */

static inline vector ordered_load_bf16(const uint16_t *from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(ordered_load_u16(from), 16));
}

static inline void ordered_store_bf16(uint16_t *to, vector x, const uint16_t *random) {
    __m512i bits = _mm512_castps_si512(x), rounded;
    if (random) {
        const __m512i magnitude_bits = _mm512_set1_epi32(0x7FFFFFFF);
        enum { FIRST_SELECTS = 0xCA };
        __m512i sum = magnitude_add_random(_mm512_and_si512(bits, magnitude_bits), ordered_load_u16(random));
        rounded = _mm512_ternarylogic_epi32(magnitude_bits, sum, bits, FIRST_SELECTS);
    } else {
        __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        rounded = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7FFF));
    }
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    rounded = _mm512_mask_mov_epi32(rounded, nan, _mm512_set1_epi32(0x7FFF0000));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

/* ---- f16 ---- */

static inline vector ordered_load_f16(const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

/*
 * Cuts 13 bits off the fp32; below f16's normal range, where the cut is at 2^-24 whatever the exponent, the random bits are
 * added as a number.  The conversion toward zero holds what overflows at 65504.
 */
static inline __m256i f16_round_stochastic(vector x, __m512i random) {
    __m512i bits = _mm512_castps_si512(x);
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    __m512i random13 = _mm512_srli_epi32(random, 3);
    vector small = _mm512_castsi512_ps(magnitude) + _mm512_cvtepi32_ps(random13) * _mm512_set1_ps(0x1p-37f);
    __mmask16 is_small = _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(0x38800000));
    __m512i sum = _mm512_mask_mov_epi32(magnitude_add_random(magnitude, random13), is_small, _mm512_castps_si512(small));
    __m256i rounded = _mm512_cvtps_ph(_mm512_castsi512_ps(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __m256i sign = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_xor_si512(bits, magnitude), 16));
    return _mm256_or_si256(rounded, sign);
}

static inline void ordered_store_f16(uint16_t *to, vector x, const uint16_t *random) {
    __m256i rounded = random ? f16_round_stochastic(x, ordered_load_u16(random)) : _mm512_cvtps_ph(x, VECTOR_NEAREST);
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    _mm256_storeu_si256((__m256i *)to, _mm256_mask_mov_epi16(rounded, nan, _mm256_set1_epi16(0x7FFF)));
}

#endif
