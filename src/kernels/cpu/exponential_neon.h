/*
 * exp(t) with Advanced SIMD of aarch64; exponential.h describes the algorithm.  F = 0: no table, whose lookup by bytes would cost
 * more than the terms it saves; q of degree 6, error 2e-9.  Included by exponential_vectors.h.
 */
#ifndef QUERN_CPU_EXPONENTIAL_NEON_H
#define QUERN_CPU_EXPONENTIAL_NEON_H

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/vector_neon.h"

/* Keeps the rounding sum between 2^23 and 2^24, and far from the ends. */
#define EXPONENTIAL_REACH 65536.0f

#define EXPONENTIAL_LN_2 ((double)LN_2)

#define EXPONENTIAL_ROUND 0x1.8p23f

/* 2^(y + EXPONENTIAL_BIAS) of a rounding sum. */
static inline vector power_of_sum(vector sum) {
    const uint32_t bias = (127u + EXPONENTIAL_BIAS) << 23;
    return vreinterpretq_f32_u32(vaddq_u32(vshlq_n_u32(vreinterpretq_u32_f32(sum), 23), vdupq_n_u32(bias)));
}

static inline vector next_term(vector r, vector q, float coefficient) { return vector_fma(r, q, vector_broadcast(coefficient)); }

/* round = EXPONENTIAL_ROUND - k.  Valid only if no x is below the `lowest` of exponential(). */
static inline __attribute__((always_inline)) vector exponential_in_reach(vector x, vector round) {
    const vector sum = vector_fma(x, vector_broadcast(LOG2_E), round);
    const vector r = vfmsq_f32(x, sum - round, vector_broadcast(LN_2)), power = power_of_sum(sum);
    vector q = next_term(r, vector_broadcast(0x1.6ae68ep-10f), 0x1.12682ep-7f);
    q = next_term(r, q, 0x1.555826p-5f);
    q = next_term(r, q, 0x1.555418p-3f);
    q = next_term(r, q, 0x1.fffffcp-2f);
    q = vector_fma(r, r * q, r);
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
 * below EXPONENTIAL_LOWEST / ln 2.  The instruction subtracts a product: r has the other sign, and so have the odd terms.
 */
static inline __attribute__((always_inline)) vector exponential_of_product(vector x, vector factor,
                                                                           const struct exponential_roots *roots, int rest) {
    const vector sum = vector_fma(x, factor, roots->round), y = sum - roots->round, power = power_of_sum(sum);
    vector r = vfmsq_f32(y, x, factor);
    if (rest) r = vfmsq_f32(r, y, vector_broadcast(LOG2_E_REST));
    vector q = next_term(r, vector_broadcast(0x1.41fb2cp-13f), -0x1.5f3f3p-10f);
    q = next_term(r, q, 0x1.3b2d5p-7f);
    q = next_term(r, q, -0x1.c6aee6p-5f);
    q = next_term(r, q, 0x1.ebfbdcp-3f);
    q = r * next_term(r, q, -0x1.62e43p-1f);
    return vector_fma(power, q, power);
}

static inline __attribute__((always_inline)) vector unless_below(vector x, vector lowest, vector e) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(e), vcltq_f32(x, lowest)));
}

/* The result is 0 below lowest. */
static inline __attribute__((always_inline)) vector exponential(vector x, vector round, vector lowest) {
    return unless_below(x, lowest, exponential_in_reach(x, round));
}

static inline int power_is_in_terms(float power) { return (void)power, 0; }

static inline __attribute__((always_inline)) vector times_power(vector p, vector sum, vector round, int in_terms) {
    (void)round, (void)in_terms;
    return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(p), vshlq_n_u32(vreinterpretq_u32_f32(sum), 23)));
}

#endif
