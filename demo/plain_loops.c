/* Loss and AdamW as loops that the compiler vectorises.  Called by plain_backend.c. */
#include "plain_loops.h"

#include <math.h>

#include "threads.h"

#ifndef PLAIN_LOOPS_FLAGS
#define PLAIN_LOOPS_FLAGS "unknown flags"
#endif

const char *const plain_loops_flags = PLAIN_LOOPS_FLAGS;

enum { ROWS_PER_TASK = 16, ELEMENTS_PER_TASK = 65536 };

struct cross_entropy_task {
    int64_t rows, vocab;
    float *logits;
    const int32_t *labels;
    bool gradient;
    float *row_loss;
};

static float cross_entropy_row(int64_t vocab, float *logits, int32_t label, bool gradient, float grad_scale) {
    float maximum = logits[0];
    for (int64_t i = 1; i < vocab; i++) maximum = logits[i] > maximum ? logits[i] : maximum;
    float sum = 0;
    for (int64_t i = 0; i < vocab; i++) sum += expf(logits[i] - maximum);
    float loss = logf(sum) + maximum - logits[label];
    if (gradient) {
        float scale = grad_scale / sum;
        for (int64_t i = 0; i < vocab; i++) logits[i] = expf(logits[i] - maximum) * scale;
        logits[label] -= grad_scale;
    }
    return loss;
}

static void cross_entropy_rows(void *context, int64_t task) {
    const struct cross_entropy_task *t = context;
    int64_t end = (task + 1) * ROWS_PER_TASK < t->rows ? (task + 1) * ROWS_PER_TASK : t->rows;
    for (int64_t r = task * ROWS_PER_TASK; r < end; r++)
        t->row_loss[r] =
            cross_entropy_row(t->vocab, t->logits + r * t->vocab, t->labels[r], t->gradient, 1 / (float)t->rows);
}

float plain_cross_entropy(struct thread_pool *pool, int64_t rows, int64_t vocab, float *logits, const int32_t *labels,
                          bool gradient, float *row_loss) {
    struct cross_entropy_task task = {rows, vocab, logits, labels, gradient, row_loss};
    threads_for(pool, (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, cross_entropy_rows, &task);
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) sum += row_loss[r];
    return (float)(sum / (double)rows);
}

struct adam_task {
    int64_t count;
    float *restrict parameters, *restrict m, *restrict v;
    const float *restrict gradients;
    float lr, beta1, beta2, epsilon, weight_decay, bias1, bias2;
};

static void adam_elements(void *context, int64_t task) {
    const struct adam_task t = *(const struct adam_task *)context;
    int64_t end = (task + 1) * ELEMENTS_PER_TASK < t.count ? (task + 1) * ELEMENTS_PER_TASK : t.count;
    for (int64_t i = task * ELEMENTS_PER_TASK; i < end; i++) {
        float g = t.gradients[i];
        t.m[i] = t.beta1 * t.m[i] + (1 - t.beta1) * g;
        t.v[i] = t.beta2 * t.v[i] + (1 - t.beta2) * g * g;
        float update = t.m[i] / t.bias1 / (sqrtf(t.v[i] / t.bias2) + t.epsilon);
        t.parameters[i] -= t.lr * (update + t.weight_decay * t.parameters[i]);
    }
}

void plain_adam(struct thread_pool *pool, int64_t count, float *parameters, const float *gradients, float *m, float *v,
                int64_t step, struct plain_adam_constants constants) {
    struct adam_task task = {
        .count = count, .parameters = parameters, .m = m, .v = v, .gradients = gradients,
        .lr = (float)constants.lr,
        .beta1 = (float)constants.beta1,
        .beta2 = (float)constants.beta2,
        .epsilon = (float)constants.epsilon,
        .weight_decay = (float)constants.weight_decay,
        .bias1 = (float)(1 - pow(constants.beta1, (double)step)),
        .bias2 = (float)(1 - pow(constants.beta2, (double)step)),
    };
    threads_for(pool, (count + ELEMENTS_PER_TASK - 1) / ELEMENTS_PER_TASK, adam_elements, &task);
}
