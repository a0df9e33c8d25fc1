/* RMS normalisation and squared ReLU, forward and backward.  Called by model.c and experts.c. */
#include "layers.h"

#include <math.h>

#include "threads.h"

enum { ROWS_PER_TASK = 64, ELEMENTS_PER_TASK = 65536 };

static const float NORM_EPSILON = 1e-6f;

/* The data of a task; each layer uses some of the fields. */
struct layer_task {
    int64_t rows, width, count;
    const float *in, *out, *inverse_rms, *out_grad;
    float *result, *inverse_rms_result;
};

static int64_t tasks_for(int64_t count, int64_t per_task) {
    return (count + per_task - 1) / per_task;
}

static int64_t end_of_task(int64_t task, int64_t per_task, int64_t count) {
    return (task + 1) * per_task < count ? (task + 1) * per_task : count;
}

static void rms_norm_rows(void *context, int64_t task) {
    const struct layer_task *t = context;
    for (int64_t r = task * ROWS_PER_TASK; r < end_of_task(task, ROWS_PER_TASK, t->rows); r++) {
        const float *in = t->in + r * t->width;
        float *out = t->result + r * t->width;
        float squares = 0;
        for (int64_t i = 0; i < t->width; i++) squares += in[i] * in[i];
        float inverse = 1 / sqrtf(squares / (float)t->width + NORM_EPSILON);
        for (int64_t i = 0; i < t->width; i++) out[i] = in[i] * inverse;
        t->inverse_rms_result[r] = inverse;
    }
}

void rms_norm(struct thread_pool *pool, int64_t rows, int64_t width, const float *in, float *out, float *inverse_rms) {
    struct layer_task t = {.rows = rows, .width = width, .in = in, .result = out, .inverse_rms_result = inverse_rms};
    threads_for(pool, tasks_for(rows, ROWS_PER_TASK), rms_norm_rows, &t);
}

static void rms_norm_backward_rows(void *context, int64_t task) {
    const struct layer_task *t = context;
    for (int64_t r = task * ROWS_PER_TASK; r < end_of_task(task, ROWS_PER_TASK, t->rows); r++) {
        const float *out = t->out + r * t->width, *out_grad = t->out_grad + r * t->width;
        float *in_grad = t->result + r * t->width;
        float along = 0;  /* the component of the gradient along `out`, which the normalisation removes */
        for (int64_t i = 0; i < t->width; i++) along += out_grad[i] * out[i];
        along /= (float)t->width;
        for (int64_t i = 0; i < t->width; i++) in_grad[i] += t->inverse_rms[r] * (out_grad[i] - along * out[i]);
    }
}

void rms_norm_backward(struct thread_pool *pool, int64_t rows, int64_t width, const float *out, const float *inverse_rms,
                       const float *out_grad, float *in_grad) {
    struct layer_task t = {.rows = rows, .width = width, .out = out, .inverse_rms = inverse_rms, .out_grad = out_grad,
                           .result = in_grad};
    threads_for(pool, tasks_for(rows, ROWS_PER_TASK), rms_norm_backward_rows, &t);
}

static void squared_relu_elements(void *context, int64_t task) {
    const struct layer_task *t = context;
    for (int64_t i = task * ELEMENTS_PER_TASK; i < end_of_task(task, ELEMENTS_PER_TASK, t->count); i++) {
        float positive = t->in[i] > 0 ? t->in[i] : 0;
        t->result[i] = positive * positive;
    }
}

void squared_relu(struct thread_pool *pool, int64_t count, const float *in, float *out) {
    struct layer_task t = {.count = count, .in = in, .result = out};
    threads_for(pool, tasks_for(count, ELEMENTS_PER_TASK), squared_relu_elements, &t);
}

static void squared_relu_backward_elements(void *context, int64_t task) {
    const struct layer_task *t = context;
    for (int64_t i = task * ELEMENTS_PER_TASK; i < end_of_task(task, ELEMENTS_PER_TASK, t->count); i++)
        t->result[i] *= t->in[i] > 0 ? 2 * t->in[i] : 0;
}

void squared_relu_backward(struct thread_pool *pool, int64_t count, const float *in, float *grad) {
    struct layer_task t = {.count = count, .in = in, .result = grad};
    threads_for(pool, tasks_for(count, ELEMENTS_PER_TASK), squared_relu_backward_elements, &t);
}
