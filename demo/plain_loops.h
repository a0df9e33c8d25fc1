/*
 * The loss and AdamW as straightforward loops over fp32, like those of an engine without kernels.  The build compiles them with
 * the flags that make such loops fastest, and they run on as many threads as Quern.
 */
#ifndef PLAIN_LOOPS_H
#define PLAIN_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

struct thread_pool;

/* The optimisation flags that they were compiled with. */
extern const char *const plain_loops_flags;

/* The mean loss; with `gradient` the logits [rows, vocab] become its gradient.  row_loss [rows] is scratch. */
float plain_cross_entropy(struct thread_pool *pool, int64_t rows, int64_t vocab, float *logits, const int32_t *labels,
                          bool gradient, float *row_loss);

struct plain_adam_constants {
    double lr, beta1, beta2, epsilon, weight_decay;
};

void plain_adam(struct thread_pool *pool, int64_t count, float *parameters, const float *gradients, float *m, float *v,
                int64_t step, struct plain_adam_constants constants);

#endif
