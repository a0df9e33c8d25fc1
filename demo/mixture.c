/* A mixture of experts: router, dispatch, experts, combine, and backward.  Called by model.c. */
#include "mixture.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "threads.h"

enum { ROWS_PER_TASK = 64, WIDENING = 2 };

bool mixture_create(struct mixture *mixture, struct rank *rank, struct thread_pool *pool, int experts, int64_t width,
                    int64_t rows, int64_t all_rows) {
    const struct device_memory *memory = &rank->device->memory;
    int64_t capacity = all_rows * CHOICES;  /* every token of every rank may choose this rank's experts */
    size_t row_bytes = (size_t)width * sizeof(float), sent = (size_t)rows * CHOICES, received = (size_t)capacity;
    *mixture = (struct mixture){
        .pool = pool,
        .width = width,
        .gate_grad = allocate(sent * sizeof(float)),
        .probability_grad = allocate((size_t)experts * sizeof(float)),
        .loads = allocate((size_t)experts * sizeof(int64_t)),
    };
    router_create(&mixture->router, rows, experts, width);
    if (!dispatch_create(&mixture->dispatch, rank, experts, width, rows, capacity)) return false;
    experts_create(&mixture->experts, mixture->dispatch.own_experts, capacity, width, WIDENING * width);
    return device_memory_create(memory, &mixture->sorted, NULL, sent * row_bytes) &&
           device_memory_create(memory, &mixture->processed, NULL, received * row_bytes) &&
           rank_memory_create(rank, &mixture->returned, sent * row_bytes) &&
           rank_memory_create(rank, &mixture->received, received * row_bytes) &&
           rank_memory_create(rank, &mixture->received_grad, received * row_bytes);
}

void mixture_free(struct mixture *mixture) {
    if (mixture->dispatch.rank != NULL) {
        const struct device_memory *memory = &mixture->dispatch.rank->device->memory;
        device_memory_free(memory, &mixture->sorted);
        device_memory_free(memory, &mixture->processed);
    }
    rank_memory_free(&mixture->returned);
    rank_memory_free(&mixture->received);
    rank_memory_free(&mixture->received_grad);
    router_free(&mixture->router);
    dispatch_free(&mixture->dispatch);
    experts_free(&mixture->experts);
    free(mixture->gate_grad);
    free(mixture->probability_grad);
    free(mixture->loads);
    *mixture = (struct mixture){0};
}

/* The data of a task over some of this rank's rows; each task uses some of the fields. */
struct mixture_task {
    struct mixture *mixture;
    int64_t rows;
    const float *in;
    float *out;
};

static void for_rows(struct mixture *mixture, int64_t rows, const float *in, float *out, void (*task)(void *, int64_t)) {
    struct mixture_task t = {mixture, rows, in, out};
    threads_for(mixture->pool, (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, task, &t);
}

static int64_t end_of_task(const struct mixture_task *t, int64_t task) {
    return (task + 1) * ROWS_PER_TASK < t->rows ? (task + 1) * ROWS_PER_TASK : t->rows;
}

/* The position of entry i of [rows, CHOICES] in a buffer that is sorted by expert. */
static float *sorted_row(const struct mixture *mixture, const struct mirrored *buffer, int64_t i) {
    return (float *)buffer->host + mixture->dispatch.place[i] * mixture->width;
}

static void sort_rows(void *context, int64_t task) {
    const struct mixture_task *t = context;
    const struct mixture *mixture = t->mixture;
    for (int64_t i = task * ROWS_PER_TASK * CHOICES; i < end_of_task(t, task) * CHOICES; i++)
        memcpy(sorted_row(mixture, &mixture->sorted, i), t->in + i / CHOICES * mixture->width,
               (size_t)mixture->width * sizeof(float));
}

static void add_gated_rows(void *context, int64_t task) {
    const struct mixture_task *t = context;
    const struct mixture *mixture = t->mixture;
    for (int64_t i = task * ROWS_PER_TASK * CHOICES; i < end_of_task(t, task) * CHOICES; i++) {
        const float *row = sorted_row(mixture, &mixture->returned, i);
        float *out = t->out + i / CHOICES * mixture->width, gate = mixture->router.gates[i];
        for (int64_t j = 0; j < mixture->width; j++) out[j] += gate * row[j];
    }
}

/* The gradient of a gate: out_grad . expert's output.  The gradient of the expert's output: gate * out_grad. */
static void gate_rows_backward(void *context, int64_t task) {
    const struct mixture_task *t = context;
    struct mixture *mixture = t->mixture;
    for (int64_t i = task * ROWS_PER_TASK * CHOICES; i < end_of_task(t, task) * CHOICES; i++) {
        const float *row = sorted_row(mixture, &mixture->returned, i), *out_grad = t->in + i / CHOICES * mixture->width;
        float *row_grad = sorted_row(mixture, &mixture->sorted, i), gate = mixture->router.gates[i], along = 0;
        for (int64_t j = 0; j < mixture->width; j++) {
            along += row[j] * out_grad[j];
            row_grad[j] = gate * out_grad[j];
        }
        mixture->gate_grad[i] = along;
    }
}

static void add_rows(void *context, int64_t task) {
    const struct mixture_task *t = context;
    const struct mixture *mixture = t->mixture;
    for (int64_t i = task * ROWS_PER_TASK * CHOICES; i < end_of_task(t, task) * CHOICES; i++) {
        const float *row = sorted_row(mixture, &mixture->returned, i);
        float *out = t->out + i / CHOICES * mixture->width;
        for (int64_t j = 0; j < mixture->width; j++) out[j] += row[j];
    }
}

bool mixture_forward(struct mixture *mixture, int64_t rows, const float *in, float *out) {
    struct dispatch *dispatch = &mixture->dispatch;
    router_forward(mixture->pool, &mixture->router, rows, in);
    if (!dispatch_plan(dispatch, rows, mixture->router.chosen)) return false;
    for_rows(mixture, rows, in, NULL, sort_rows);
    if (!dispatch_run(dispatch, &mixture->sorted, &mixture->received)) return false;
    experts_forward(mixture->pool, &mixture->experts, dispatch->first, mixture->received.host, mixture->processed.host);
    if (!combine_run(dispatch, &mixture->processed, &mixture->returned)) return false;
    for_rows(mixture, rows, NULL, out, add_gated_rows);
    return true;
}

bool mixture_backward(struct mixture *mixture, int64_t rows, const float *in, const float *out_grad, float *in_grad) {
    struct dispatch *dispatch = &mixture->dispatch;
    for_rows(mixture, rows, out_grad, NULL, gate_rows_backward);
    if (!dispatch_run(dispatch, &mixture->sorted, &mixture->received_grad)) return false;
    experts_backward(mixture->pool, &mixture->experts, dispatch->first, mixture->received.host, mixture->received_grad.host,
                     mixture->processed.host);
    if (!combine_run(dispatch, &mixture->processed, &mixture->returned)) return false;
    for (int e = 0; e < dispatch->experts; e++) mixture->loads[e] += dispatch->loads[e];
    router_balance(dispatch->loads, mixture->router.experts, mixture->probability_grad);
    router_backward(mixture->pool, &mixture->router, rows, in, mixture->gate_grad, mixture->probability_grad, in_grad);
    for_rows(mixture, rows, NULL, in_grad, add_rows);
    return true;
}
