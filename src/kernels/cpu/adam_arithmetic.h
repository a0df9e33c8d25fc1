/*
 * The arithmetic of one Adam step on vectors of fp32.  Each operation is rounded once, in the same order on every target and in the
 * GPU kernels.  Included by adam.h and adam_usual.h, after adam_vectors.h.
 */
#ifndef QUERN_CPU_ADAM_ARITHMETIC_H
#define QUERN_CPU_ADAM_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#include "kernels/problem.h"

/* The scalars of the step for one tensor, broadcast to all lanes. */
struct constants {
    vector grad_factor, one_minus_beta1, one_minus_beta2, step_size, inverse_bias2, eps, decoupled_decay, l2_decay;
    int has_decoupled_decay, has_l2_decay, eps_inside;
};

/* Compares the bits, so that a compiler keeps the answer instead of comparing again in every iteration of a loop. */
static inline int is_nonzero(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFF) != 0;
}

static inline struct constants broadcast(const struct quern_adam_step *step, const struct quern_adam_slice *tensor) {
    const float decoupled_decay = step->decoupled_decay * tensor->lr_multiplier * tensor->weight_decay_multiplier;
    const float l2_decay = step->l2_decay * tensor->weight_decay_multiplier;
    return (struct constants){
        .grad_factor = vector_broadcast(step->grad_factor),
        .one_minus_beta1 = vector_broadcast(step->one_minus_beta1),
        .one_minus_beta2 = vector_broadcast(step->one_minus_beta2),
        .step_size = vector_broadcast(step->step_size * tensor->lr_multiplier),
        .inverse_bias2 = vector_broadcast(step->eps_inside ? step->inverse_bias2 : step->inverse_sqrt_bias2),
        .eps = vector_broadcast(step->eps),
        .decoupled_decay = vector_broadcast(decoupled_decay),
        .l2_decay = vector_broadcast(l2_decay),
        .has_decoupled_decay = is_nonzero(decoupled_decay),
        .has_l2_decay = is_nonzero(l2_decay),
        .eps_inside = step->eps_inside,
    };
}

static inline struct vector_pair pair_multiply(struct vector_pair x, vector factor) {
    return (struct vector_pair){x.first * factor, x.second * factor};
}

static inline struct vector_pair pair_fma(vector factor, struct vector_pair x, struct vector_pair addend) {
    return (struct vector_pair){vector_fma(factor, x.first, addend.first), vector_fma(factor, x.second, addend.second)};
}

/*
 * A moment moves by a fraction of its distance to the gradient: in fp32 that is far more accurate than beta * m + (1 - beta) * g.
 * The distance of an infinite v is NaN; if there is a NaN, settle_moments examines its cause.
 */
static inline struct vector_pair next_m(const struct constants *c, struct vector_pair m, struct vector_pair g) {
    const struct vector_pair distance = {g.first - m.first, g.second - m.second};
    return pair_fma(c->one_minus_beta1, distance, m);
}

static inline struct vector_pair next_v(const struct constants *c, struct vector_pair v, struct vector_pair g) {
    const struct vector_pair distance = {vector_fms(g.first, g.first, v.first), vector_fms(g.second, g.second, v.second)};
    return pair_fma(c->one_minus_beta2, distance, v);
}

/* An infinite v stays infinite, and NaN becomes the NaN that is stored. */
static inline void settle_moments(struct vector_pair *m, int32_t m_nan, struct vector_pair *v, int32_t v_nan,
                                  struct vector_pair old_v) {
    v->first = vector_keep_infinite(old_v.first, v->first);
    v->second = vector_keep_infinite(old_v.second, v->second);
    *m = pair_replace_nan(*m, m_nan);
    *v = pair_replace_nan(*v, v_nan);
}

/* AMSGrad's new v_max: v if it is larger or NaN, otherwise the old v_max. */
static inline struct vector_pair next_v_max(struct vector_pair v_max, struct vector_pair v, int32_t v_nan) {
    const struct vector_pair raised = {vector_raise(v_max.first, v.first), vector_raise(v_max.second, v.second)};
    return pair_settle(raised, v_nan);
}

static inline vector denominator(const struct constants *c, vector v) {
    if (c->eps_inside)
        return vector_sqrt(vector_fma(v, c->inverse_bias2, c->eps));
    return vector_fma(vector_sqrt(v), c->inverse_bias2, c->eps);
}

static inline struct vector_pair denominators(const struct constants *c, struct vector_pair v) {
    return (struct vector_pair){denominator(c, v.first), denominator(c, v.second)};
}

/* If m is zero there is no update, even if v and eps are zero. */
static inline vector next_p(const struct constants *c, vector p, vector m, vector denominator) {
    vector delta = c->step_size * vector_divide_or_zero(m, denominator);
    if (c->has_decoupled_decay)
        delta = vector_fma(c->decoupled_decay, p, delta);
    return p - delta;
}

static inline struct vector_pair next_param(const struct constants *c, struct vector_pair p, struct vector_pair m,
                                            struct vector_pair denominators) {
    return (struct vector_pair){
        next_p(c, p.first, m.first, denominators.first),
        next_p(c, p.second, m.second, denominators.second),
    };
}

#endif
