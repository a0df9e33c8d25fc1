/*
 * exp(t) with AVX2 and FMA; exponential.h describes the algorithm.  F = 3: a table of 8 values in one register, q of degree 3,
 * error 2.6e-8.  Included by exponential_vectors.h.
 */
#ifndef QUERN_CPU_EXPONENTIAL_AVX2_H
#define QUERN_CPU_EXPONENTIAL_AVX2_H

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/vector_avx2.h"

/* The bits of 2^(96 + k/8), minus k * 2^20. */
static const uint32_t quern_power_table[8] = {
    0x6F800000, 0x6F7B95C2, 0x6F7837F0, 0x6F75FED7, 0x6F7504F3, 0x6F75672A, 0x6F7744FD, 0x6F7AC0C7,
};

/* Keeps the rounding sum between 2^20 and 2^21, and far from the ends. */
#define EXPONENTIAL_REACH 65536.0f

#define EXPONENTIAL_LN_2 ((double)LN_2)

#define EXPONENTIAL_ROUND 0x1.8p20f

/* round = EXPONENTIAL_ROUND - k.  Valid only if no x is below the `lowest` of exponential(). */
static inline __attribute__((always_inline)) vector exponential_in_reach(vector x, vector round) {
    vector sum = vector_fma(x, vector_broadcast(LOG2_E), round);
    vector r = vector_fma(sum - round, vector_broadcast(-LN_2), x);
    __m256i place = _mm256_castps_si256(sum);
    __m256i mantissa = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)quern_power_table), place);
    vector power = _mm256_castsi256_ps(_mm256_add_epi32(mantissa, _mm256_slli_epi32(place, 20)));
    vector q = vector_fma(r, vector_broadcast(0x1.5548e4p-3f), vector_broadcast(0x1.000882p-1f));
    q = r * vector_fma(r, q, vector_broadcast(0x1p+0f));
    return vector_fma(power, q, power);
}

struct exponential_roots {
    vector round;
};

static inline struct exponential_roots exponential_roots_over(float power) {
    return (struct exponential_roots){vector_broadcast(EXPONENTIAL_ROUND - power)};
}

/*
 * 2^(x * factor - power + EXPONENTIAL_BIAS) or, with rest, 2^((1 + LOG2_E_REST) * x * factor - ...).  Valid only if no exponent is
 * below EXPONENTIAL_LOWEST / ln 2.
 */
static inline __attribute__((always_inline)) vector exponential_of_product(vector x, vector factor,
                                                                           const struct exponential_roots *roots, int rest) {
    vector sum = vector_fma(x, factor, roots->round), y = sum - roots->round, r = vector_fma(x, factor, -y);
    if (rest) r = vector_fma(y, vector_broadcast(LOG2_E_REST), r);
    __m256i place = _mm256_castps_si256(sum);
    __m256i mantissa = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)quern_power_table), place);
    vector power = _mm256_castsi256_ps(_mm256_add_epi32(mantissa, _mm256_slli_epi32(place, 20)));
    vector q = vector_fma(r, vector_broadcast(0x1.c69ffap-5f), vector_broadcast(0x1.ec0c3ap-3f));
    q = r * vector_fma(r, q, vector_broadcast(0x1.62e43p-1f));
    return vector_fma(power, q, power);
}

static inline __attribute__((always_inline)) vector unless_below(vector x, vector lowest, vector e) {
    return _mm256_and_ps(_mm256_cmp_ps(x, lowest, _CMP_NLT_UQ), e);
}

/* The result is 0 below lowest. */
static inline __attribute__((always_inline)) vector exponential(vector x, vector round, vector lowest) {
    return unless_below(x, lowest, exponential_in_reach(x, round));
}

static inline int power_is_in_terms(float power) { return (void)power, 0; }

static inline __attribute__((always_inline)) vector times_power(vector p, vector sum, vector round, int in_terms) {
    (void)round, (void)in_terms;
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_castps_si256(sum), 23)));
}

#endif
