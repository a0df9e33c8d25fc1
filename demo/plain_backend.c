/* The backend of plain loops: loss and AdamW in fp32.  Created by run.c, called by training.c. */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "model.h"
#include "plain_loops.h"

struct plain {
    struct backend backend;
    struct model *model;
    struct thread_pool *pool;
    struct optimizer optimizer;
    float *row_loss;
    float *m, *v;
};

static bool cross_entropy(struct backend *backend, const int32_t *labels, bool gradient, float *loss) {
    struct plain *plain = (struct plain *)backend;
    double start = seconds_now();
    *loss = plain_cross_entropy(plain->pool, plain->model->rows, plain->model->shape.vocab, backend->logits.data, labels,
                                gradient, plain->row_loss);
    backend->times.cross_entropy = seconds_now() - start;
    return true;
}

static bool adam(struct backend *backend, int64_t step, double lr) {
    struct plain *plain = (struct plain *)backend;
    double start = seconds_now();
    struct plain_adam_constants constants = {lr, ADAM_BETA1, plain->optimizer.beta2, ADAM_EPSILON, ADAM_WEIGHT_DECAY};
    plain_adam(plain->pool, plain->model->parameter_count, plain->model->parameters, plain->model->gradients, plain->m,
               plain->v, step, constants);
    backend->times.adam = seconds_now() - start;
    return true;
}

static void destroy(struct backend *backend) {
    struct plain *plain = (struct plain *)backend;
    free(backend->logits.data);
    free(plain->row_loss);
    free(plain->m);
    free(plain->v);
    free(plain);
}

struct backend *plain_backend(struct model *model, struct thread_pool *pool, struct optimizer optimizer) {
    struct plain *plain = allocate(sizeof *plain);
    size_t parameter_bytes = (size_t)model->parameter_count * sizeof(float);
    *plain = (struct plain){
        .backend = {
            .logits = {false, allocate((size_t)logits_bytes(model->rows, model->shape.vocab, false))},
            .moment_bytes = (int64_t)(2 * parameter_bytes),
            .parameter_bytes = (int64_t)parameter_bytes,
            .cross_entropy = cross_entropy,
            .adam = adam,
            .destroy = destroy,
        },
        .model = model,
        .pool = pool,
        .optimizer = optimizer,
        .row_loss = allocate((size_t)model->rows * sizeof(float)),
        .m = allocate(parameter_bytes),
        .v = allocate(parameter_bytes),
    };
    snprintf(plain->backend.name, sizeof plain->backend.name, "loss and optimizer in fp32 on the CPU, compiled with %s",
             plain_loops_flags);
    return &plain->backend;
}
