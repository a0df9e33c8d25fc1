/*
 * The softcap of a vector, y = cap * tanh(x / cap), and its slope, dy/dx = 1 - tanh^2.  Included by cross_entropy_elements.h and
 * cross_entropy_pieces.h, after the exponential of the target.
 *
 * With u = x / cap:
 *
 *   near   |u| <= 1/2: y = x * (1 + u^2 P(u^2)) with a minimax polynomial P, error 1.6e-8 of y; the slope is at least 0.78 and
 *          1 - tanh^2 does not cancel
 *   far    with q = exp(-2 |u|): tanh |u| = (1 - q) / (1 + q), and the slope 4 q / (1 + q)^2 keeps its relative precision where
 *          tanh itself has become 1; the rounding error of u is compensated, because its effect grows with u
 *
 * Near logits need no u: the coefficients of x^2 contain the powers of 1 / cap, so that a logit costs six multiplications and its
 * slope two.  The coefficients are normal fp32 values if cap is neither huge nor tiny.  For other caps x and cap are first scaled
 * by a power of two, and every logit takes the far path.
 *
 * Logits are nearly always near, so a caller tests first and computes the far path only if it is needed.  A vector gets the same
 * bits either way.
 */
#ifndef QUERN_CPU_SOFTCAP_H
#define QUERN_CPU_SOFTCAP_H

#include <float.h>
#include <math.h>

struct softcap {
    vector cap, inverse;        /* of the scaled cap */
    vector near;                /* the largest |x| that is near, scaled */
    vector coefficients[4];     /* of (x^2)^1 ... (x^2)^4 */
    vector curvature;           /* -1 / cap^2 */
    vector scale, unscale;
    float near_limit;           /* the largest |x| that is near, not scaled; -1: none is */
};

struct softcapped {
    vector value, slope;
};

/*
 * 2^100 is the largest scale.  For caps that are still tiny no logit but 0 is near, and the lost precision of y is negligible
 * beside 1.  Their coefficients would be infinite, and 0 times that is NaN.
 * 2^-127 is the smallest one, since its inverse must be finite: caps of 2^127 and more become 1 to 2.
 */
static inline struct softcap softcap_at(float cap) {
    static const double minimax[4] = {-0x1.5554d6p-2, 0x1.10e9fcp-3, -0x1.b28c78p-5, 0x1.1a7c1p-6};
    int exponent = 0;
    if (cap < 0x1p-12f || cap > 0x1p12f) frexpf(cap, &exponent);
    if (exponent < -100) exponent = -100;
    if (exponent > 127) exponent = 127;
    const float scaled = ldexpf(cap, -exponent), inverse = 1.0f / scaled;
    const int has_near = scaled >= 0x1p-12f;
    struct softcap softcap = {
        .cap = vector_broadcast(scaled),
        .inverse = vector_broadcast(inverse),
        .near = vector_broadcast(has_near ? 0.5f * scaled : -1.0f),
        .curvature = vector_broadcast(-inverse * inverse),
        .scale = vector_broadcast(ldexpf(1.0f, -exponent)),
        .unscale = vector_broadcast(ldexpf(1.0f, exponent)),
        .near_limit = exponent == 0 ? 0.5f * cap : -1.0f,
    };
    double power = 1;
    for (int i = 0; i < 4; i++) {
        power /= (double)scaled * (double)scaled;
        softcap.coefficients[i] = vector_broadcast(has_near ? (float)(minimax[i] * power) : 0.0f);
    }
    return softcap;
}

/* For near logits only, and only without a scale.  Always inlined, because it is in the innermost loops. */
static inline __attribute__((always_inline)) struct softcapped softcap_near(vector x, const struct softcap *of) {
    const vector one = vector_broadcast(1.0f), z = x * x;
    vector r = vector_multiply_add(z, of->coefficients[3], of->coefficients[2]);
    r = vector_multiply_add(z, r, of->coefficients[1]);
    r = vector_multiply_add(z, r, of->coefficients[0]);
    const vector y = x * vector_multiply_add(z, r, one);
    return (struct softcapped){y, vector_multiply_add(y * y, of->curvature, one)};
}

static inline struct softcapped softcap_any(vector x, const struct softcap *of) {
    const vector zero = vector_broadcast(0.0f), one = vector_broadcast(1.0f);
    x *= of->scale;
    const vector magnitude = vector_abs(x), u = magnitude * of->inverse;
    const vector rest = vector_remainder(magnitude, u, of->cap) * of->inverse;
    const vector power = exponential(u * -2.0f, vector_broadcast(EXPONENTIAL_ROUND), vector_broadcast(EXPONENTIAL_LOWEST));
    const vector q = power * (float)EXPONENTIAL_UNBIAS * (one - vector_if_above(power, zero, rest + rest, zero));
    const vector r = one / (one + q), y = of->cap * ((one - q) / (one + q));
    const struct softcapped close = softcap_near(x, of);
    return (struct softcapped){
        vector_if_above(magnitude, of->near, vector_if_above(x, zero, y, -y), close.value) * of->unscale,
        vector_if_above(magnitude, of->near, 4.0f * q * r * r, close.slope),
    };
}

#endif
