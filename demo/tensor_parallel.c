/* A part of each MLP: gathers rows in 8 bits, multiplies, and adds up over the ranks.  Called by model.c and model_create.c. */
#include "tensor_parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "clock.h"
#include "layers.h"
#include "matmul.h"
#include "memory.h"
#include "model.h"

static bool create_chunks(struct tensor_parallel *parallel, const struct model *model, struct chunks *chunks, quern_dtype dtype) {
    return chunks_create(chunks, parallel->rank, model->pool, parallel->caller, dtype, model->rows, model->shape.width);
}

static bool start_caller(struct tensor_parallel *parallel) {
    parallel->caller = caller_start();
    if (parallel->caller == NULL) fprintf(stderr, "language_model: cannot start a thread that gathers chunks\n");
    return parallel->caller != NULL;
}

bool tensor_parallel_open(struct tensor_parallel *parallel, struct model *model) {
    struct rank *rank = model->rank;
    const int64_t width = model->shape.width, rows = model->rows;
    const size_t row_bytes = (size_t)width * sizeof(float);
    if (!start_caller(parallel)) return false;
    parallel->in = allocate((size_t)model->shape.layers * sizeof *parallel->in);
    parallel->wide = allocate((size_t)model->all_rows * row_bytes);
    for (int b = 0; b < model->shape.layers; b++)
        if (!create_chunks(parallel, model, &parallel->in[b], QUERN_E4M3)) return false;
    return create_chunks(parallel, model, &parallel->out_grad, QUERN_E5M2) &&
           rank_memory_create(rank, &parallel->parts, (size_t)model->all_rows * row_bytes) &&
           device_memory_create(&rank->device->memory, &parallel->sum, NULL, (size_t)rows * row_bytes) &&
           collective_create(&parallel->scatter, rank, TOKENS, QUERN_F32, rows * width);
}

void tensor_parallel_close(struct tensor_parallel *parallel, int layers) {
    if (parallel->rank == NULL) return;
    caller_stop(parallel->caller);
    for (int b = 0; parallel->in != NULL && b < layers; b++) chunks_free(&parallel->in[b]);
    chunks_free(&parallel->out_grad);
    rank_memory_free(&parallel->parts);
    device_memory_free(&parallel->rank->device->memory, &parallel->sum);
    collective_free(&parallel->scatter);
    free(parallel->in);
    free(parallel->wide);
    *parallel = (struct tensor_parallel){0};
}

/* A product of some of the rows of all ranks with a part of a matrix. */
typedef void product(const struct model *model, const struct block *block, struct row_range rows);

static void multiply_up(const struct model *model, const struct block *block, struct row_range rows) {
    const int64_t width = model->shape.width, hidden = model->parallel.hidden;
    struct matrix in = {model->parallel.wide + rows.first * width, width}, up = {model->parameters + block->up.offset, width};
    matmul_transposed_right(model->pool, rows.count, hidden, width, in, up, 0, block->up_out + rows.first * hidden, hidden);
}

static void multiply_down_backward(const struct model *model, const struct block *block, struct row_range rows) {
    const int64_t width = model->shape.width, hidden = model->parallel.hidden;
    struct matrix out_grad = {model->parallel.wide + rows.first * width, width};
    struct matrix down = {model->parameters + block->down.offset, hidden};
    matmul(model->pool, rows.count, hidden, width, out_grad, down, 0, model->wide_grad + rows.first * hidden, hidden);
}

/* Each chunk of a rank comes at about the time of the same chunk of the others.  A rank's own comes first. */
static bool multiply_as_they_come(const struct model *model, const struct block *block, struct chunks *chunks, product *multiply) {
    const int own = model->rank->rank, ranks = model->rank->ranks;
    for (int64_t chunk = 0; chunk < chunks_count(chunks); chunk++) {
        for (int i = 0; i < ranks; i++) {
            struct row_range rows;
            if (!chunks_take(chunks, (own + i) % ranks, chunk, &rows)) return false;
            chunks_widen(chunks, rows, model->parallel.wide + rows.first * model->shape.width);
            multiply(model, block, rows);
        }
    }
    return true;
}

/* From a rank's rows to the product of all ranks' rows, which are in `wide` then. */
static bool gather_and_multiply(const struct model *model, const struct block *block, struct chunks *chunks, const float *values,
                                product *multiply) {
    chunks_begin(chunks, values, model->rows);
    const bool multiplied = multiply_as_they_come(model, block, chunks, multiply);
    return chunks_end(chunks) && multiplied;
}

static int64_t gathered_rows(const struct model *model) { return model->rows * model->rank->ranks; }

/* ---- the sums of the parts: while rows are added up, the product of the next ones is computed ---- */

enum { SUMS = 2 };

static void add_up(void *context) {
    struct model *model = context;
    struct tensor_parallel *parallel = &model->parallel;
    const int64_t width = model->shape.width;
    const struct slice slice = {parallel->scattered.first * width, parallel->scattered.count * width, model->rows * width};
    parallel->added_up = device_memory_enter(&parallel->rank->device->memory) &&
                         reduce_scatter(&parallel->scatter, &parallel->parts, &parallel->sum, slice) && parallel->added_up;
}

static void wait_for_sums(struct tensor_parallel *parallel) {
    const double start = seconds_now();
    if (parallel->scattered.count > 0) caller_wait(parallel->caller);
    parallel->scattered.count = 0;
    parallel->rank->totals.seconds[WAITS] += seconds_now() - start;
}

/* The product for some rows of each rank into the parts. */
static void multiply_parts(const struct model *model, const struct block *block, struct row_range rows, product *multiply) {
    for (int rank = 0; rank < model->rank->ranks; rank++)
        multiply(model, block, (struct row_range){rank * model->rows + rows.first, rows.count});
}

static bool multiply_and_add_up(struct model *model, const struct block *block, product *multiply) {
    struct tensor_parallel *parallel = &model->parallel;
    parallel->added_up = true;
    for (int i = 0; i < SUMS; i++) {
        const int64_t first = share_first(model->rows, i, SUMS), end = share_first(model->rows, i + 1, SUMS);
        const struct row_range rows = {first, end - first};
        multiply_parts(model, block, rows, multiply);
        wait_for_sums(parallel);
        parallel->scattered = rows;
        if (rows.count > 0) caller_begin(parallel->caller, add_up, model);
    }
    wait_for_sums(parallel);
    return parallel->added_up;
}

static void multiply_down(const struct model *model, const struct block *block, struct row_range rows) {
    const int64_t width = model->shape.width, hidden = model->parallel.hidden;
    struct matrix activated = {block->activated + rows.first * hidden, hidden};
    struct matrix down = {model->parameters + block->down.offset, hidden};
    float *parts = (float *)model->parallel.parts.host + rows.first * width;
    matmul_transposed_right(model->pool, rows.count, width, hidden, activated, down, 0, parts, width);
}

static void multiply_up_backward(const struct model *model, const struct block *block, struct row_range rows) {
    const int64_t width = model->shape.width, hidden = model->parallel.hidden;
    struct matrix hidden_grad = {model->wide_grad + rows.first * hidden, hidden};
    struct matrix up = {model->parameters + block->up.offset, width};
    float *parts = (float *)model->parallel.parts.host + rows.first * width;
    matmul(model->pool, rows.count, width, hidden, hidden_grad, up, 0, parts, width);
}

bool tensor_parallel_forward(struct model *model, struct block *block, float *out) {
    struct tensor_parallel *parallel = &model->parallel;
    struct chunks *in = &parallel->in[block - model->blocks];
    const int64_t rows = gathered_rows(model), width = model->shape.width, hidden = parallel->hidden;
    if (!gather_and_multiply(model, block, in, block->middle_norm, multiply_up)) return false;
    squared_relu(model->pool, rows * hidden, block->up_out, block->activated);
    if (!multiply_and_add_up(model, block, multiply_down)) return false;
    const float *sum = parallel->sum.host;
    for (int64_t i = 0; i < model->rows * width; i++) out[i] += sum[i];
    return true;
}

bool tensor_parallel_backward(struct model *model, struct block *block, const float *out_grad, float *in_grad) {
    struct tensor_parallel *parallel = &model->parallel;
    const struct chunks *in = &parallel->in[block - model->blocks];
    const int64_t rows = gathered_rows(model), width = model->shape.width, hidden = parallel->hidden;
    struct matrix wide = {parallel->wide, width}, activated = {block->activated, hidden}, hidden_grad = {model->wide_grad, hidden};
    if (!gather_and_multiply(model, block, &parallel->out_grad, out_grad, multiply_down_backward)) return false;
    matmul_transposed_left(model->pool, width, hidden, rows, wide, activated, 0, model->gradients + block->down.offset, hidden);
    squared_relu_backward(model->pool, rows * hidden, block->up_out, model->wide_grad);

    chunks_widen(in, (struct row_range){0, rows}, parallel->wide);
    matmul_transposed_left(model->pool, hidden, width, rows, hidden_grad, wide, 0, model->gradients + block->up.offset, width);
    if (!multiply_and_add_up(model, block, multiply_up_backward)) return false;
    memcpy(in_grad, parallel->sum.host, (size_t)(model->rows * width) * sizeof *in_grad);
    return true;
}
