/*
 * The exponential with portable bits: the same on every target, for every origin.  Included by cross_entropy_units.h.
 *
 *   k = quern_row_power(x), an integer
 *   r = x - k * LN_2, rounded once; 0 if |x| > QUERN_FAR_Y
 *   e = 2^k * p(r), where p is Horner's rule of fused multiply-adds over QUERN_PORTABLE_TERMS
 *
 * It is exp(x) but for 9.2e-8 of p, a rounding, and 2.7e-9 for each unit of distance between two x whose exponentials are compared.
 * The vectors have 2^(EXPONENTIAL_BIAS - power) * e for a power that the caller chooses, a product that changes no bit of it.
 */
#ifndef QUERN_CPU_EXPONENTIAL_BITS_H
#define QUERN_CPU_EXPONENTIAL_BITS_H

#include <math.h>

#include "kernels/cpu/exponential_vectors.h"
#include "kernels/cross_entropy_tree.h"

_Static_assert((int)EXPONENTIAL_BIAS == (int)QUERN_EXPONENTIAL_BIAS, "kept exponentials have one scale");

struct portable_terms {
    vector round, terms[QUERN_PORTABLE_DEGREE + 1];
    int in_terms;                       /* the power is in the terms */
};

static inline struct portable_terms portable_terms_over(float power, int may_be_in_terms) {
    static const float terms[] = QUERN_PORTABLE_TERMS;
    struct portable_terms over = {.round = vector_broadcast(PORTABLE_ROUND - power),
                                  .in_terms = may_be_in_terms && power_is_in_terms(power)};
    const float scale = ldexpf(1.0f, over.in_terms ? EXPONENTIAL_BIAS - (int)power : EXPONENTIAL_BIAS);
    for (int i = 0; i <= QUERN_PORTABLE_DEGREE; i++)
        over.terms[i] = vector_broadcast(terms[i] * scale);
    return over;
}

static inline __attribute__((always_inline)) vector portable_polynomial(vector r, const vector *terms) {
    vector p = terms[QUERN_PORTABLE_DEGREE];
    for (int i = QUERN_PORTABLE_DEGREE - 1; i >= 0; i--)
        p = vector_fma(r, p, terms[i]);
    return p;
}

/*
 * Valid if no x is beyond QUERN_POWERS_REACH or below the lowest one: then the first sum rounds to k - power, since x * LOG2_E is
 * never halfway between two integers.  in_terms: that of the terms, a constant.
 */
static inline __attribute__((always_inline)) vector portable_exponential(vector x, const struct portable_terms *of, int in_terms) {
    const vector sum = vector_fma(x, vector_broadcast(LOG2_E), of->round);
    const vector r = vector_fma(sum - of->round, vector_broadcast(-LN_2), x);
    return times_power(portable_polynomial(r, of->terms), sum, of->round, in_terms);
}

/* The same of any x, with a power that is an integer of any size. */
static __attribute__((noinline)) float portable_exponential_of(float x, double power) {
    static const float terms[] = QUERN_PORTABLE_TERMS;
    vector broadcast[QUERN_PORTABLE_DEGREE + 1];
    if (!(x < INFINITY)) return NAN;
    if (x == -INFINITY) return 0;
    const double k = quern_row_power((double)x);
    const float r = fabsf(x) > QUERN_FAR_Y ? 0 : (float)((double)x - k * QUERN_LN_2_FLOAT);
    for (int i = 0; i <= QUERN_PORTABLE_DEGREE; i++)
        broadcast[i] = vector_broadcast(terms[i]);
    float lanes[VECTOR_LANES];
    vector_store_f32(lanes, portable_polynomial(vector_broadcast(r), broadcast));
    return (float)quern_times_power((double)lanes[0], k - power + EXPONENTIAL_BIAS);
}

#endif
