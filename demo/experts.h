/*
 * The experts of this rank: one MLP each (down squared_relu(up x)), over rows that are grouped by expert.  A token's two experts
 * together cost as much as the dense MLP.
 */
#ifndef EXPERTS_H
#define EXPERTS_H

#include <stdint.h>

struct thread_pool;

struct expert {
    const float *up, *down;      /* [hidden, width], [width, hidden] */
    float *up_grad, *down_grad;
};

struct experts {
    int count;
    int64_t width, hidden;
    struct expert *expert;       /* [count]; set by the caller */
    float *up_out, *activated;   /* [rows, hidden]: kept for the backward pass */
};

/* For up to `rows` rows of all experts together. */
void experts_create(struct experts *experts, int count, int64_t rows, int64_t width, int64_t hidden);
void experts_free(struct experts *experts);

/* Expert e has rows [first[e], first[e + 1]) of in and out, both [rows, width]. */
void experts_forward(struct thread_pool *pool, struct experts *experts, const int64_t *first, const float *in, float *out);

/* From out_grad to in_grad and the gradients of the weights; all are overwritten. */
void experts_backward(struct thread_pool *pool, struct experts *experts, const int64_t *first, const float *in,
                      const float *out_grad, float *in_grad);

#endif
