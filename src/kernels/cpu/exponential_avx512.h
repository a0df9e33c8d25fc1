/*
 * exp(t) with AVX-512; exponential.h describes the algorithm.  F = 5: a table of 32 values in two registers, q of degree 2, error
 * 5.4e-8.  Included by exponential_vectors.h.
 */
#ifndef QUERN_CPU_EXPONENTIAL_AVX512_H
#define QUERN_CPU_EXPONENTIAL_AVX512_H

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/vector_avx512.h"

/* The bits of 2^(96 + k/32), minus k * 2^18. */
static const uint32_t quern_power_table[32] = {
    0x6F800000, 0x6F7ECD87, 0x6F7DAAC3, 0x6F7C980F, 0x6F7B95C2, 0x6F7AA43A, 0x6F79C3D3, 0x6F78F4F0,
    0x6F7837F0, 0x6F778D3A, 0x6F76F532, 0x6F767043, 0x6F75FED7, 0x6F75A15B, 0x6F75583F, 0x6F7523F6,
    0x6F7504F3, 0x6F74FBAF, 0x6F7508A4, 0x6F752C4D, 0x6F75672A, 0x6F75B9BE, 0x6F76248C, 0x6F76A81E,
    0x6F7744FD, 0x6F77FBB8, 0x6F78CCDF, 0x6F79B907, 0x6F7AC0C7, 0x6F7BE4BA, 0x6F7D257D, 0x6F7E83B3,
};

/* 2^(96 + k/32). */
static const float quern_root_table[32] = {
    0x1p96f, 0x1.059b0ep96f, 0x1.0b5586p96f, 0x1.11301ep96f,
    0x1.172b84p96f, 0x1.1d4874p96f, 0x1.2387a6p96f, 0x1.29e9ep96f,
    0x1.306fep96f, 0x1.371a74p96f, 0x1.3dea64p96f, 0x1.44e086p96f,
    0x1.4bfdaep96f, 0x1.5342b6p96f, 0x1.5ab07ep96f, 0x1.6247ecp96f,
    0x1.6a09e6p96f, 0x1.71f75ep96f, 0x1.7a1148p96f, 0x1.82589ap96f,
    0x1.8ace54p96f, 0x1.93737cp96f, 0x1.9c4918p96f, 0x1.a5503cp96f,
    0x1.ae89fap96f, 0x1.b7f77p96f, 0x1.c199bep96f, 0x1.cb720ep96f,
    0x1.d5818ep96f, 0x1.dfc974p96f, 0x1.ea4afap96f, 0x1.f50766p96f,
};

/* Keeps the rounding sum between 2^18 and 2^19. */
#define EXPONENTIAL_REACH 65536.0f

#define EXPONENTIAL_LN_2 ((double)LN_2)

#define EXPONENTIAL_ROUND 0x1.8p18f

/* round = EXPONENTIAL_ROUND - k.  Valid only if no x is below the `lowest` of exponential(). */
static inline __attribute__((always_inline)) vector exponential_in_reach(vector x, vector round) {
    vector sum = vector_fma(x, vector_broadcast(LOG2_E), round);
    vector r = vector_fma(sum - round, vector_broadcast(-LN_2), x);
    __m512i place = _mm512_castps_si512(sum);
    __m512i mantissa = _mm512_permutex2var_epi32(_mm512_loadu_si512(quern_power_table), place,
                                                 _mm512_loadu_si512(quern_power_table + 16));
    vector power = _mm512_castsi512_ps(_mm512_add_epi32(mantissa, _mm512_slli_epi32(place, 18)));
    vector q = r * vector_fma(r, vector_broadcast(0x1.fffffep-2f), vector_broadcast(0x1.0000f6p+0f));
    return vector_fma(power, q, power);
}

/* The table over 2^power, for a power of at least EXPONENTIAL_LEAST_POWER. */
struct exponential_roots {
    vector round, first, second;
};

static inline struct exponential_roots exponential_roots_over(float power) {
    const vector exponent = vector_broadcast(-power);
    return (struct exponential_roots){vector_broadcast(EXPONENTIAL_ROUND),
                                      _mm512_scalef_ps(_mm512_loadu_ps(quern_root_table), exponent),
                                      _mm512_scalef_ps(_mm512_loadu_ps(quern_root_table + 16), exponent)};
}

/*
 * 2^(x * factor - power + EXPONENTIAL_BIAS) or, with rest, 2^((1 + LOG2_E_REST) * x * factor - ...).  Valid only if no exponent is
 * below EXPONENTIAL_LOWEST / ln 2.
 */
static inline __attribute__((always_inline)) vector exponential_of_product(vector x, vector factor,
                                                                           const struct exponential_roots *roots, int rest) {
    vector sum = vector_fma(x, factor, roots->round), y = sum - roots->round, r = vector_fma(x, factor, -y);
    if (rest) r = vector_fma(y, vector_broadcast(LOG2_E_REST), r);
    vector root = _mm512_permutex2var_ps(roots->first, _mm512_castps_si512(sum), roots->second);
    vector q = r * vector_fma(r, vector_broadcast(0x1.ebfea8p-3f), vector_broadcast(0x1.62e586p-1f));
    return _mm512_scalef_ps(vector_fma(root, q, root), y);
}

/* 0 where x is below lowest, else e. */
static inline __attribute__((always_inline)) vector unless_below(vector x, vector lowest, vector e) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ), e);
}

/* The result is 0 below lowest. */
static inline __attribute__((always_inline)) vector exponential(vector x, vector round, vector lowest) {
    return unless_below(x, lowest, exponential_in_reach(x, round));
}

/* Whether the power of the origin is in the terms of the portable exponential: the instruction takes the logit's own power then. */
static inline int power_is_in_terms(float power) { return power >= -30 && power <= 200; }

/* p * 2^k of a sum that rounds to k - power. */
static inline __attribute__((always_inline)) vector times_power(vector p, vector sum, vector round, int in_terms) {
    return _mm512_scalef_ps(p, in_terms ? sum - round : sum - vector_broadcast(PORTABLE_ROUND));
}

#endif
