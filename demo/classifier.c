/*
 * The products of the classifier.  BLAS has no bf16, so bf16 logits pass through fp32 tiles that stay in the cache, and memory
 * traffic is two bytes per logit.  Called by training.c and generate.c.
 */
#include "classifier.h"

#include "bf16.h"
#include "blas.h"
#include "matmul.h"
#include "model.h"
#include "threads.h"

enum { TILE_ROWS = 128, TILE_COLUMNS = 256 };  /* 128 KiB, on the stack of the worker thread */

struct classifier_task {
    struct model *model;
    uint16_t *logits;
};

/* The part of the logits that a tile covers. */
struct tile {
    int64_t row, column;
    int rows, columns;
};

static int64_t tiles(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

static struct tile tile_at(const struct model *model, int64_t row_tile, int64_t column_tile) {
    struct tile tile = {.row = row_tile * TILE_ROWS, .column = column_tile * TILE_COLUMNS};
    int64_t rows = model->rows - tile.row, columns = model->shape.vocab - tile.column;
    tile.rows = (int)(rows < TILE_ROWS ? rows : TILE_ROWS);
    tile.columns = (int)(columns < TILE_COLUMNS ? columns : TILE_COLUMNS);
    return tile;
}

static void expand_tile(const struct classifier_task *t, struct tile tile, float *out) {
    int64_t vocab = t->model->shape.vocab;
    for (int r = 0; r < tile.rows; r++)
        bf16_expand(out + r * TILE_COLUMNS, t->logits + (tile.row + r) * vocab + tile.column, tile.columns);
}

static void forward_rows(void *context, int64_t row_tile) {
    const struct classifier_task *t = context;
    const struct model *model = t->model;
    int width = model->shape.width;
    int64_t vocab = model->shape.vocab;
    float buffer[TILE_ROWS * TILE_COLUMNS];
    for (int64_t column_tile = 0; column_tile < tiles(vocab, TILE_COLUMNS); column_tile++) {
        struct tile tile = tile_at(model, row_tile, column_tile);
        blas_sgemm(BLAS_AS_IS, BLAS_TRANSPOSED, tile.rows, tile.columns, width, 1,
                    model->hidden + tile.row * width, width, model->parameters + tile.column * width, width, 0, buffer,
                    TILE_COLUMNS);
        for (int r = 0; r < tile.rows; r++)
            bf16_round(t->logits + (tile.row + r) * vocab + tile.column, buffer + r * TILE_COLUMNS, tile.columns);
    }
}

static void backward_rows(void *context, int64_t row_tile) {
    const struct classifier_task *t = context;
    const struct model *model = t->model;
    int width = model->shape.width;
    float buffer[TILE_ROWS * TILE_COLUMNS];
    for (int64_t column_tile = 0; column_tile < tiles(model->shape.vocab, TILE_COLUMNS); column_tile++) {
        struct tile tile = tile_at(model, row_tile, column_tile);
        expand_tile(t, tile, buffer);
        blas_sgemm(BLAS_AS_IS, BLAS_AS_IS, tile.rows, width, tile.columns, 1, buffer, TILE_COLUMNS,
                    model->parameters + tile.column * width, width, column_tile > 0, model->hidden_grad + tile.row * width,
                    width);
    }
}

static void backward_columns(void *context, int64_t column_tile) {
    const struct classifier_task *t = context;
    const struct model *model = t->model;
    int width = model->shape.width;
    float buffer[TILE_ROWS * TILE_COLUMNS];
    for (int64_t row_tile = 0; row_tile < tiles(model->rows, TILE_ROWS); row_tile++) {
        struct tile tile = tile_at(model, row_tile, column_tile);
        expand_tile(t, tile, buffer);
        blas_sgemm(BLAS_TRANSPOSED, BLAS_AS_IS, tile.columns, width, tile.rows, 1, buffer, TILE_COLUMNS,
                    model->hidden + tile.row * width, width, row_tile > 0, model->gradients + tile.column * width, width);
    }
}

/* The embedding is the first tensor, so its values and gradients begin at the start of the model's arrays. */
void classifier_forward(struct model *model, struct logits logits) {
    int64_t vocab = model->shape.vocab, width = model->shape.width;
    if (logits.is_bf16) {
        threads_for(model->pool, tiles(model->rows, TILE_ROWS), forward_rows,
                    &(struct classifier_task){model, logits.data});
        return;
    }
    struct matrix hidden = {model->hidden, width}, embedding = {model->parameters, width};
    matmul_transposed_right(model->pool, model->rows, vocab, width, hidden, embedding, 0, logits.data, vocab);
}

void classifier_backward(struct model *model, struct logits gradient) {
    int64_t vocab = model->shape.vocab, width = model->shape.width;
    if (gradient.is_bf16) {
        struct classifier_task task = {model, gradient.data};
        threads_for(model->pool, tiles(model->rows, TILE_ROWS), backward_rows, &task);
        threads_for(model->pool, tiles(vocab, TILE_COLUMNS), backward_columns, &task);
        return;
    }
    struct matrix grad = {gradient.data, vocab}, hidden = {model->hidden, width}, embedding = {model->parameters, width};
    matmul(model->pool, model->rows, width, vocab, grad, embedding, 0, model->hidden_grad, width);
    matmul_transposed_left(model->pool, vocab, width, model->rows, grad, hidden, 0, model->gradients, width);
}

void classifier_row(struct model *model, int64_t row, float *logits) {
    int width = model->shape.width;
    blas_sgemm(BLAS_AS_IS, BLAS_AS_IS, model->shape.vocab, 1, width, 1, model->parameters, width, model->hidden + row * width, 1, 0,
               logits, 1);
}
