/*
 * exp(t) in GNU C; exponential.h describes the algorithm.  F = 0: no table, q of degree 6, error 2e-9.  Without a fused
 * multiply-add, y * ln 2 takes two terms, the first of which has few enough bits to be exact.  Included by exponential_vectors.h.
 */
#ifndef QUERN_CPU_EXPONENTIAL_PORTABLE_H
#define QUERN_CPU_EXPONENTIAL_PORTABLE_H

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/vector_portable.h"

/* Up to this magnitude y has 11 bits, and its product with the 13 bits of ln_2_high is exact. */
#define EXPONENTIAL_REACH 1024.0f

#define EXPONENTIAL_LN_2 0x1.62e42fefa39efp-1

#define EXPONENTIAL_ROUND 0x1.8p23f

/* round = EXPONENTIAL_ROUND - k.  Valid only if no x is below the `lowest` of exponential(). */
static inline __attribute__((always_inline)) vector exponential_in_reach(vector x, vector round) {
    const float ln_2_high = 0x1.62ep-1f, ln_2_low = 0x1.0bfbe8p-15f;
    vector sum = x * LOG2_E + round;
    vector y = sum - round;
    vector r = (x - y * ln_2_high) - y * ln_2_low;
    vector_bits power = ((vector_bits)sum << 23) + ((127u + EXPONENTIAL_BIAS) << 23);
    vector q = 0x1.12682ep-7f + r * 0x1.6ae68ep-10f;
    q = 0x1.555826p-5f + r * q;
    q = 0x1.555418p-3f + r * q;
    q = 0x1.fffffcp-2f + r * q;
    q = r + r * (r * q);
    return (vector)power + (vector)power * q;
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
    vector y = x * factor, sum = y + roots->round, r = y - (sum - roots->round);
    if (rest) r += y * LOG2_E_REST;
    vector_bits power = ((vector_bits)sum << 23) + ((127u + EXPONENTIAL_BIAS) << 23);
    vector q = 0x1.5f3f3p-10f + r * 0x1.41fb2cp-13f;
    q = 0x1.3b2d5p-7f + r * q;
    q = 0x1.c6aee6p-5f + r * q;
    q = 0x1.ebfbdcp-3f + r * q;
    q = 0x1.62e43p-1f + r * q;
    return (vector)power + (vector)power * (r * q);
}

static inline __attribute__((always_inline)) vector unless_below(vector x, vector lowest, vector e) {
    return (vector)((vector_bits)e & ~(vector_bits)(x < lowest));
}

/* The result is 0 below lowest. */
static inline __attribute__((always_inline)) vector exponential(vector x, vector round, vector lowest) {
    return unless_below(x, lowest, exponential_in_reach(x, round));
}

static inline int power_is_in_terms(float power) { return (void)power, 0; }

static inline __attribute__((always_inline)) vector times_power(vector p, vector sum, vector round, int in_terms) {
    (void)round, (void)in_terms;
    return (vector)((vector_bits)p + ((vector_bits)sum << 23));
}

#endif
