/*
 * The softcap of a vector, y = cap * tanh(x / cap), and its slope, dy/dx = 1 - tanh^2; included after the exponential of a target.
 *
 * With u = x / cap:
 *
 *   near   |u| <= 1/2: y = x + x u^2 P(u^2) with a minimax polynomial P, error 1.6e-8 of y; the slope is at least 0.78 and
 *          1 - tanh^2 does not cancel
 *   far    with q = exp(-2 |u|): tanh |u| = (1 - q) / (1 + q), and the slope 4 q / (1 + q)^2 keeps its relative precision where
 *          tanh itself has become 1; what rounding leaves of u is made up for, since it counts more the larger u is
 *
 * Logits are nearly always near, so a caller looks first and computes the far half only where it is needed.  A vector gets the same
 * bits either way.
 */
#ifndef QUERN_CPU_SOFTCAP_H
#define QUERN_CPU_SOFTCAP_H

#include <float.h>

struct softcap {
    vector cap, inverse;
    vector near;           /* the largest |x| that is near */
};

struct softcapped {
    vector value, slope;
};

static inline struct softcap softcap_at(float cap) {
    const float inverse = 1.0f / cap;
    return (struct softcap){vector_broadcast(cap), vector_broadcast(inverse < FLT_MAX ? inverse : FLT_MAX),
                            vector_broadcast(0.5f * cap)};
}

/* Right for near logits only. */
static inline struct softcapped softcap_near(vector x, const struct softcap *of) {
    const vector u = x * of->inverse, z = u * u;
    vector p = vector_multiply_add(z, vector_broadcast(0x1.1a7c1p-6f), vector_broadcast(-0x1.b28c78p-5f));
    p = vector_multiply_add(z, p, vector_broadcast(0x1.10e9fcp-3f));
    p = vector_multiply_add(z, p, vector_broadcast(-0x1.5554d6p-2f));
    const vector y = vector_multiply_add(x * z, p, x), t = y * of->inverse;
    return (struct softcapped){y, vector_multiply_add(-t, t, vector_broadcast(1.0f))};
}

static inline struct softcapped softcap_any(vector x, const struct softcap *of) {
    const vector magnitude = vector_abs(x), zero = vector_broadcast(0.0f), one = vector_broadcast(1.0f);
    const vector u = magnitude * of->inverse, rest = vector_remainder(magnitude, u, of->cap) * of->inverse;
    const vector power = exponential(u * -2.0f, vector_broadcast(EXPONENTIAL_ROUND), vector_broadcast(EXPONENTIAL_LOWEST));
    const vector q = power * (float)EXPONENTIAL_UNBIAS * (one - vector_if_above(power, zero, rest + rest, zero));
    const vector r = one / (one + q), y = of->cap * ((one - q) / (one + q));
    const struct softcapped close = softcap_near(x, of);
    return (struct softcapped){
        vector_if_above(magnitude, of->near, vector_if_above(x, zero, y, -y), close.value),
        vector_if_above(magnitude, of->near, 4.0f * q * r * r, close.slope),
    };
}

#endif
