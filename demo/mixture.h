/*
 * A mixture of experts in place of a block's MLP: out = sum over the chosen experts of gate * expert(in).
 * Forward: router, dispatch, experts, combine; backward: the reverse.
 */
#ifndef MIXTURE_H
#define MIXTURE_H

#include "dispatch.h"
#include "experts.h"
#include "router.h"

struct mixture {
    struct thread_pool *pool;
    int64_t width;
    struct router router;
    struct dispatch dispatch;
    struct experts experts;
    struct mirrored sorted, returned;                     /* [rows * CHOICES, width]: this rank's tokens, by expert */
    struct mirrored received, received_grad, processed;   /* [capacity, width]: input and output of this rank's experts */
    float *gate_grad;                                     /* [rows, CHOICES] */
    float *probability_grad;                              /* [experts] */
    int64_t *loads;                                       /* [experts]: rows that each has had in training, of all ranks */
};

/* For up to `rows` tokens on this rank and `all_rows` on all.  The caller sets the weights of router and experts. */
bool mixture_create(struct mixture *mixture, struct rank *rank, struct thread_pool *pool, int experts, int64_t width,
                    int64_t rows, int64_t all_rows);
void mixture_free(struct mixture *mixture);

/* Adds to out [rows, width].  Forward and backward are collective; on failure false, after a message on stderr. */
bool mixture_forward(struct mixture *mixture, int64_t rows, const float *in, float *out);

/* After mixture_forward of the same rows: writes in_grad and the gradients of the weights. */
bool mixture_backward(struct mixture *mixture, int64_t rows, const float *in, const float *out_grad, float *in_grad);

#endif
