/*
 * The router of a mixture of experts (Shazeer et al. 2017): a linear layer and a softmax give the CHOICES most probable experts of
 * a token, and the weight (the gate) of each one's output.
 */
#ifndef ROUTER_H
#define ROUTER_H

#include <stdbool.h>
#include <stdint.h>

struct thread_pool;

enum { CHOICES = 2 };

struct router {
    int experts;
    int64_t width;
    const float *weight;    /* [experts, width] */
    float *weight_grad;
    float *probabilities;   /* [rows, experts]; in the backward pass, the gradient of the logits */
    int32_t *chosen;        /* [rows, CHOICES] */
    float *gates;           /* [rows, CHOICES]: the softmax over the chosen experts alone */
};

/* For up to `rows` rows.  The weights are set by the caller. */
void router_create(struct router *router, int64_t rows, int experts, int64_t width);
void router_free(struct router *router);

/* in [rows, width] to chosen and gates. */
void router_forward(struct thread_pool *pool, struct router *router, int64_t rows, const float *in);

/*
 * From the gradient of the gates [rows, CHOICES] to that of the weights, and of `in`, which is overwritten.
 * probability_grad [experts], the same for all rows, is the gradient of the load-balancing loss.
 */
void router_backward(struct thread_pool *pool, struct router *router, int64_t rows, const float *in, const float *gate_grad,
                     const float *probability_grad, float *in_grad);

/*
 * The gradient of the load-balancing loss (Fedus, Zoph and Shazeer 2021), weight * experts * sum_e share_e * mean probability_e,
 * with respect to each probability.  loads [experts]: tokens that went to each expert, of all ranks.
 */
void router_balance(const int64_t *loads, int experts, float *probability_grad);

#endif
