/* The MLPs of this rank's experts, forward and backward.  Called by mixture.c. */
#include "experts.h"

#include <stdlib.h>

#include "layers.h"
#include "matmul.h"
#include "memory.h"

void experts_create(struct experts *experts, int count, int64_t rows, int64_t width, int64_t hidden) {
    *experts = (struct experts){
        .count = count,
        .width = width,
        .hidden = hidden,
        .expert = allocate((size_t)count * sizeof(struct expert)),
        .up_out = allocate((size_t)(rows * hidden) * sizeof(float)),
        .activated = allocate((size_t)(rows * hidden) * sizeof(float)),
    };
}

void experts_free(struct experts *experts) {
    free(experts->expert);
    free(experts->up_out);
    free(experts->activated);
    *experts = (struct experts){0};
}

void experts_forward(struct thread_pool *pool, struct experts *experts, const int64_t *first, const float *in, float *out) {
    int64_t width = experts->width, hidden = experts->hidden;
    for (int e = 0; e < experts->count; e++) {
        const struct expert *expert = &experts->expert[e];
        int64_t rows = first[e + 1] - first[e];
        struct matrix x = {in + first[e] * width, width}, up = {expert->up, width};
        matmul_transposed_right(pool, rows, hidden, width, x, up, 0, experts->up_out + first[e] * hidden, hidden);
    }
    squared_relu(pool, first[experts->count] * hidden, experts->up_out, experts->activated);
    for (int e = 0; e < experts->count; e++) {
        const struct expert *expert = &experts->expert[e];
        int64_t rows = first[e + 1] - first[e];
        struct matrix a = {experts->activated + first[e] * hidden, hidden}, down = {expert->down, hidden};
        matmul_transposed_right(pool, rows, width, hidden, a, down, 0, out + first[e] * width, width);
    }
}

void experts_backward(struct thread_pool *pool, struct experts *experts, const int64_t *first, const float *in,
                      const float *out_grad, float *in_grad) {
    int64_t width = experts->width, hidden = experts->hidden;
    float *hidden_grad = experts->activated;  /* once the weights' gradient is known, the activations are no longer needed */
    for (int e = 0; e < experts->count; e++) {
        const struct expert *expert = &experts->expert[e];
        int64_t rows = first[e + 1] - first[e];
        struct matrix g = {out_grad + first[e] * width, width}, a = {experts->activated + first[e] * hidden, hidden};
        struct matrix down = {expert->down, hidden};
        matmul_transposed_left(pool, width, hidden, rows, g, a, 0, expert->down_grad, hidden);
        matmul(pool, rows, hidden, width, g, down, 0, hidden_grad + first[e] * hidden, hidden);
    }
    squared_relu_backward(pool, first[experts->count] * hidden, experts->up_out, hidden_grad);
    for (int e = 0; e < experts->count; e++) {
        const struct expert *expert = &experts->expert[e];
        int64_t rows = first[e + 1] - first[e];
        struct matrix g = {hidden_grad + first[e] * hidden, hidden}, x = {in + first[e] * width, width};
        struct matrix up = {expert->up, width};
        matmul_transposed_left(pool, hidden, width, rows, g, x, 0, expert->up_grad, width);
        matmul(pool, rows, width, hidden, g, up, 0, in_grad + first[e] * width, width);
    }
}
