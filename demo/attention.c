/* Causal self-attention, forward and backward, one task per head and sequence.  Called by model.c. */
#include <math.h>

#include "blas.h"
#include "layers.h"
#include "threads.h"

/* The data of a task: one head of one sequence. */
struct attention_task {
    struct attention_shape shape;
    const float *qkv, *weights, *out_grad;
    float *weights_result, *out_result, *qkv_grad, *scratch;
};

struct head {
    int length, head_width, width;  /* width: of all heads together */
    int64_t qkv, out, weights;      /* offsets */
    float scale;
};

static struct head locate(const struct attention_shape *shape, int64_t task) {
    int64_t sequence = task / shape->heads, head = task % shape->heads;
    int64_t width = shape->heads * shape->head_width;
    return (struct head){
        .length = (int)shape->length,
        .head_width = (int)shape->head_width,
        .width = (int)width,
        .qkv = sequence * shape->length * 3 * width + head * shape->head_width,
        .out = sequence * shape->length * width + head * shape->head_width,
        .weights = task * shape->length * shape->length,
        .scale = 1 / sqrtf((float)shape->head_width),
    };
}

/* The softmax of each row over the positions up to its own; the later ones get weight 0. */
static void causal_softmax(int length, float *weights) {
    for (int row = 0; row < length; row++, weights += length) {
        float maximum = weights[0], sum = 0;
        for (int i = 1; i <= row; i++) maximum = fmaxf(maximum, weights[i]);
        for (int i = 0; i <= row; i++) sum += weights[i] = expf(weights[i] - maximum);
        for (int i = 0; i <= row; i++) weights[i] /= sum;
        for (int i = row + 1; i < length; i++) weights[i] = 0;
    }
}

static void attend(void *context, int64_t task) {
    const struct attention_task *t = context;
    struct head h = locate(&t->shape, task);
    const float *query = t->qkv + h.qkv, *key = query + h.width, *value = key + h.width;
    float *weights = t->weights_result + h.weights;
    blas_sgemm(BLAS_AS_IS, BLAS_TRANSPOSED, h.length, h.length, h.head_width, h.scale, query, 3 * h.width, key,
                3 * h.width, 0, weights, h.length);
    causal_softmax(h.length, weights);
    blas_sgemm(BLAS_AS_IS, BLAS_AS_IS, h.length, h.head_width, h.length, 1, weights, h.length, value,
                3 * h.width, 0, t->out_result + h.out, h.width);
}

void attention(struct thread_pool *pool, struct attention_shape shape, const float *qkv, float *weights, float *out) {
    struct attention_task t = {.shape = shape, .qkv = qkv, .weights_result = weights, .out_result = out};
    threads_for(pool, shape.sequences * shape.heads, attend, &t);
}

/* The gradient of the weights becomes that of the scores: w * (g - sum(w * g)), row by row. */
static void softmax_backward(int length, const float *weights, float *grad) {
    for (int row = 0; row < length; row++, weights += length, grad += length) {
        float sum = 0;
        for (int i = 0; i < length; i++) sum += weights[i] * grad[i];
        for (int i = 0; i < length; i++) grad[i] = weights[i] * (grad[i] - sum);
    }
}

static void attend_backward(void *context, int64_t task) {
    const struct attention_task *t = context;
    struct head h = locate(&t->shape, task);
    const float *query = t->qkv + h.qkv, *key = query + h.width, *value = key + h.width;
    const float *weights = t->weights + h.weights, *out_grad = t->out_grad + h.out;
    float *query_grad = t->qkv_grad + h.qkv, *key_grad = query_grad + h.width, *value_grad = key_grad + h.width;
    float *scores_grad = t->scratch + h.weights;
    blas_sgemm(BLAS_TRANSPOSED, BLAS_AS_IS, h.length, h.head_width, h.length, 1, weights, h.length, out_grad,
                h.width, 0, value_grad, 3 * h.width);
    blas_sgemm(BLAS_AS_IS, BLAS_TRANSPOSED, h.length, h.length, h.head_width, 1, out_grad, h.width, value,
                3 * h.width, 0, scores_grad, h.length);
    softmax_backward(h.length, weights, scores_grad);
    blas_sgemm(BLAS_AS_IS, BLAS_AS_IS, h.length, h.head_width, h.length, h.scale, scores_grad, h.length,
                key, 3 * h.width, 0, query_grad, 3 * h.width);
    blas_sgemm(BLAS_TRANSPOSED, BLAS_AS_IS, h.length, h.head_width, h.length, h.scale, scores_grad, h.length,
                query, 3 * h.width, 0, key_grad, 3 * h.width);
}

void attention_backward(struct thread_pool *pool, struct attention_shape shape, const float *qkv, const float *weights,
                        const float *out_grad, float *qkv_grad, float *scratch) {
    struct attention_task t = {.shape = shape, .qkv = qkv, .weights = weights, .out_grad = out_grad, .qkv_grad = qkv_grad,
                               .scratch = scratch};
    threads_for(pool, shape.sequences * shape.heads, attend_backward, &t);
}
