/*
 * The softcap of a vector, y = cap * tanh(x / cap), and its slope, dy/dx = 1 - tanh^2; y is then multiplied by an inverse
 * temperature, the slope is not.  Included by cross_entropy_elements.h and
 * cross_entropy_pieces.h, after the exponential of the target.
 *
 * With u = x / cap:
 *
 *   near   |u| <= 1/2: y = x * (1 + u^2 P(u^2)) and dy/dx = 1 + u^2 S(u^2) with minimax polynomials; the relative errors are
 *          1.6e-8 and, of fp32 and 16-bit gradients, 5e-9 and 1.7e-7
 *   far    with q = exp(-2 |u|): tanh |u| = (1 - q) / (1 + q), and the slope 4 q / (1 + q)^2 keeps its relative precision where
 *          tanh itself has become 1, but for the rounding of 2 |u|
 *
 * Near logits need no u: the coefficients of x^2 contain the powers of 1 / cap.  They are normal fp32 values if cap is neither huge
 * nor tiny.  For other caps x and cap are first scaled by a power of two, and every logit takes the far path.
 *
 * An exponential needs y * log2(e), and that only as an operand of a sum.  So the loops take it as a product that a fused
 * multiply-add evaluates without a rounding: x times a factor if x is near, y times LOG2_E if not.
 *
 * Logits are nearly always near, so a caller tests first and computes the far path only if it is needed.  A vector gets the same
 * bits either way.
 */
#ifndef QUERN_CPU_SOFTCAP_H
#define QUERN_CPU_SOFTCAP_H

#include <float.h>
#include <math.h>

/* A 16-bit gradient shows less of its slope's error than an fp32 one. */
enum { SOFTCAP_TERMS = 4, SOFTCAP_SLOPE_TERMS = LOGITS_BITS == 32 ? 5 : 4 };

struct softcap {
    float cap, inverse;         /* of the scaled cap */
    float near;                 /* the largest |x| that is near, scaled */
    float near_limit;           /* the same, not scaled; -1: none is */
    float scale, unscale;       /* unscale: with the inverse temperature, as the factors */
    float inverse_temperature;
    float factors[SOFTCAP_TERMS + 1];    /* of (x^2)^0 ... in the factor */
    float slopes[SOFTCAP_SLOPE_TERMS];   /* of (x^2)^1 ... in the slope */
};

struct softcapped {
    vector value, slope;
};

/* y * log2(e) as a product. */
struct softcap_product {
    vector x, factor;
};

/*
 * 2^100 is the largest scale.  For caps that are still tiny no logit but 0 is near, and the lost precision of y is negligible
 * beside 1.  Their coefficients would be infinite, and 0 times that is NaN.
 * 2^-127 is the smallest one, since its inverse must be finite: caps of 2^127 and more become 1 to 2.
 */
static inline struct softcap softcap_at(float cap, float inverse_temperature) {
    static const double minimax[] = {-0x1.5554d6p-2, 0x1.10e9fcp-3, -0x1.b28c78p-5, 0x1.1a7c1p-6};
    static const double all_slopes[][5] = {{-0x1.fffd44p-1, 0x1.54eb64p-1, -0x1.78acd0p-2, 0x1.2cffacp-3},
                                           {-0x1.ffffe4p-1, 0x1.554f1cp-1, -0x1.81f152p-2, 0x1.843d6ap-3, -0x1.1bd462p-4}};
    const double *slopes = all_slopes[SOFTCAP_SLOPE_TERMS - 4];
    int exponent = 0;
    if (cap < 0x1p-12f || cap > 0x1p12f) frexpf(cap, &exponent);
    if (exponent < -100) exponent = -100;
    if (exponent > 127) exponent = 127;
    const float scaled = ldexpf(cap, -exponent);
    const int has_near = scaled >= 0x1p-12f;
    struct softcap softcap = {
        .cap = scaled,
        .inverse = 1.0f / scaled,
        .near = has_near ? 0.5f * scaled : -1.0f,
        .factors = {LOG2_E * inverse_temperature},
        .scale = ldexpf(1.0f, -exponent),
        .unscale = ldexpf(inverse_temperature, exponent),
        .inverse_temperature = inverse_temperature,
        .near_limit = exponent == 0 ? 0.5f * cap : -1.0f,
    };
    if (softcap.unscale > FLT_MAX) softcap.unscale = FLT_MAX;  /* NaN stays */
    double power = has_near ? 1 : 0;
    for (int i = 0; i < SOFTCAP_SLOPE_TERMS; i++) {
        power /= (double)scaled * (double)scaled;
        softcap.slopes[i] = (float)(slopes[i] * power);
        if (i < SOFTCAP_TERMS)
            softcap.factors[i + 1] = (float)(minimax[i] * power * (double)LOG2_E * (double)inverse_temperature);
    }
    return softcap;
}

/* ---- near logits, without a scale; always inlined, because they are in the innermost loops ---- */

static inline __attribute__((always_inline)) vector softcap_factor(vector x, const struct softcap *of) {
    const vector z = x * x;
    vector factor = vector_broadcast(of->factors[SOFTCAP_TERMS]);
    for (int i = SOFTCAP_TERMS - 1; i >= 0; i--)
        factor = vector_multiply_add(z, factor, vector_broadcast(of->factors[i]));
    return factor;
}

static inline __attribute__((always_inline)) vector softcap_slope(vector x, const struct softcap *of) {
    const vector z = x * x;
    vector slope = vector_broadcast(of->slopes[SOFTCAP_SLOPE_TERMS - 1]);
    for (int i = SOFTCAP_SLOPE_TERMS - 2; i >= 0; i--)
        slope = vector_multiply_add(z, slope, vector_broadcast(of->slopes[i]));
    return vector_multiply_add(z, slope, vector_broadcast(1.0f));
}

/* ---- any logits ---- */

/* exp(-2 |u|) of scaled logits. */
static inline __attribute__((always_inline)) vector softcap_power(vector magnitude, const struct softcap *of) {
    const vector round = vector_broadcast(EXPONENTIAL_ROUND), lowest = vector_broadcast(EXPONENTIAL_LOWEST);
    return exponential(magnitude * (of->inverse * -2.0f), round, lowest) * (float)EXPONENTIAL_UNBIAS;
}

static inline __attribute__((always_inline)) vector softcap_far(vector x, vector q, const struct softcap *of) {
    const vector zero = vector_broadcast(0.0f), one = vector_broadcast(1.0f), y = (of->cap * (one - q)) / (one + q);
    return vector_if_above(x, zero, y, -y) * of->unscale;
}

static inline __attribute__((always_inline)) vector softcap_far_slope(vector q) {
    const vector sum = vector_broadcast(1.0f) + q;
    return (4.0f * q) / (sum * sum);
}

static inline __attribute__((always_inline)) struct softcap_product softcap_any(vector x, const struct softcap *of) {
    const vector scaled = x * of->scale, magnitude = vector_abs(scaled), near = vector_broadcast(of->near);
    const vector y = softcap_far(x, softcap_power(magnitude, of), of);
    return (struct softcap_product){
        vector_if_above(magnitude, near, y, x),
        vector_if_above(magnitude, near, vector_broadcast(LOG2_E), softcap_factor(scaled, of)),
    };
}

static inline __attribute__((always_inline)) vector softcap_any_slope(vector x, const struct softcap *of) {
    const vector scaled = x * of->scale, magnitude = vector_abs(scaled), near = vector_broadcast(of->near);
    return vector_if_above(magnitude, near, softcap_far_slope(softcap_power(magnitude, of)), softcap_slope(scaled, of));
}

/* y itself, and the slope; not for inner loops. */
static struct softcapped softcap_both(vector x, const struct softcap *of) {
    if (vector_all_at_most(vector_abs(x), vector_broadcast(of->near_limit)))
        return (struct softcapped){x * (softcap_factor(x, of) * LN_2), softcap_slope(x, of)};
    const vector scaled = x * of->scale, magnitude = vector_abs(scaled), near = vector_broadcast(of->near);
    const vector q = softcap_power(magnitude, of);
    return (struct softcapped){
        vector_if_above(magnitude, near, softcap_far(x, q, of), x * (softcap_factor(scaled, of) * LN_2)),
        vector_if_above(magnitude, near, softcap_far_slope(q), softcap_slope(scaled, of)),
    };
}

#endif
