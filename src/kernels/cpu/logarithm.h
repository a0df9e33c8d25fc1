/*
 * The logarithm of a vector, in GNU C for all instruction sets.  Included by cross_entropy_soft.h.
 *
 * x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2 / 2 + f^3 * p(f) with a minimax polynomial, whose
 * error is 6e-9 of the result.  log(0) is -infinity; that of infinity and of NaN is NaN.  No x is negative.
 */
#ifndef QUERN_CPU_LOGARITHM_H
#define QUERN_CPU_LOGARITHM_H

#include <math.h>
#include <stdint.h>

typedef uint32_t logarithm_bits __attribute__((vector_size(sizeof(vector))));
typedef int32_t logarithm_power __attribute__((vector_size(sizeof(vector))));
typedef float logarithm_float __attribute__((vector_size(sizeof(vector))));

static inline __attribute__((always_inline)) vector vector_log(vector x) {
    static const float terms[] = {0x1.5555540p-2f, -0x1.0002260p-2f, 0x1.99a0080p-3f, -0x1.5472440p-3f,
                                  0x1.22da1e0p-3f, -0x1.0d85440p-3f, 0x1.055b680p-3f, -0x1.38b56a0p-4f};
    const uint32_t root_of_half = 0x3F3504F3;
    const vector least_normal = vector_broadcast(0x1p-126f), zero = vector_broadcast(0.0f);
    const vector scaled = vector_if_above(least_normal, x, x * 0x1p32f, x);
    const vector unscaled = vector_if_above(least_normal, x, vector_broadcast(-32.0f), zero);
    const logarithm_bits bits = (logarithm_bits)scaled - root_of_half;
    const logarithm_power exponent = (logarithm_power)bits >> 23;
    const vector k = (vector)__builtin_convertvector(exponent, logarithm_float) + unscaled;
    const vector f = (vector)((bits & 0x7FFFFF) + root_of_half) - vector_broadcast(1.0f), square = f * f;
    vector p = vector_broadcast(terms[7]);
    for (int i = 6; i >= 0; i--)
        p = vector_multiply_add(f, p, vector_broadcast(terms[i]));
    /* ln 2 in two parts: the product with the first one is exact. */
    const vector rest = vector_multiply_add(k, vector_broadcast(0x1.7f7d1cp-20f), f * square * p) - 0.5f * square;
    const vector log = vector_multiply_add(k, vector_broadcast(0x1.62e4p-1f), f + rest);
    return vector_if_above(x, zero, log, vector_broadcast(-INFINITY)) + (x - x);
}

#endif
