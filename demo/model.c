/* The transformer's forward and backward pass.  Called by training.c and generate.c. */
#include "model.h"

#include <stdio.h>
#include <string.h>

#include "layers.h"
#include "matmul.h"
#include "mixture.h"

static struct attention_shape attention_shape_of(const struct model *model) {
    const struct model_shape *shape = &model->shape;
    return (struct attention_shape){model->sequences, shape->context, shape->heads, shape->width / shape->heads};
}

/* out[rows, to] = beta * out + in[rows, from] transpose(weight[to, from]) */
static void linear(const struct model *model, const struct tensor *weight, int64_t from, int64_t to, const float *in,
                   float beta, float *out) {
    struct matrix a = {in, from}, b = {model->parameters + weight->offset, from};
    matmul_transposed_right(model->pool, model->rows, to, from, a, b, beta, out, to);
}

/* The weight's gradient, and in_grad = out_grad weight. */
static void linear_backward(const struct model *model, const struct tensor *weight, int64_t from, int64_t to,
                            const float *in, const float *out_grad, float *in_grad) {
    struct matrix w = {model->parameters + weight->offset, from}, x = {in, from}, g = {out_grad, to};
    matmul_transposed_left(model->pool, to, from, model->rows, g, x, 0, model->gradients + weight->offset, from);
    matmul(model->pool, model->rows, from, to, g, w, 0, in_grad, from);
}

static void embed(const struct model *model, const int32_t *tokens, float *out) {
    int64_t width = model->shape.width;
    const float *embedding = model->parameters + model->tensors[EMBEDDING].offset;
    const float *positions = model->parameters + model->tensors[POSITIONS].offset;
    for (int64_t r = 0; r < model->rows; r++) {
        const float *token = embedding + tokens[r] * width, *position = positions + r % model->shape.context * width;
        for (int64_t i = 0; i < width; i++) out[r * width + i] = token[i] + position[i];
    }
}

static void embed_backward(struct model *model, const int32_t *tokens, const float *out_grad) {
    int64_t width = model->shape.width;
    float *embedding = model->gradients + model->tensors[EMBEDDING].offset;
    float *positions = model->gradients + model->tensors[POSITIONS].offset;
    memset(positions, 0, (size_t)model->tensors[POSITIONS].count * sizeof(float));
    for (int64_t r = 0; r < model->rows; r++) {
        float *token = embedding + tokens[r] * width, *position = positions + r % model->shape.context * width;
        for (int64_t i = 0; i < width; i++) {
            token[i] += out_grad[r * width + i];
            position[i] += out_grad[r * width + i];
        }
    }
}

static void mlp_forward(struct model *model, struct block *block, float *out) {
    int64_t width = model->shape.width;
    linear(model, &block->up, width, 4 * width, block->middle_norm, 0, block->up_out);
    squared_relu(model->pool, model->rows * 4 * width, block->up_out, block->activated);
    linear(model, &block->down, 4 * width, width, block->activated, 1, out);
}

static void mlp_backward(struct model *model, struct block *block, const float *out_grad, float *in_grad) {
    int64_t width = model->shape.width;
    linear_backward(model, &block->down, 4 * width, width, block->activated, out_grad, model->wide_grad);
    squared_relu_backward(model->pool, model->rows * 4 * width, block->up_out, model->wide_grad);
    linear_backward(model, &block->up, width, 4 * width, block->middle_norm, model->wide_grad, in_grad);
}

static bool block_forward(struct model *model, struct block *block, float *out) {
    int64_t rows = model->rows, width = model->shape.width;
    size_t row_bytes = (size_t)(rows * width) * sizeof(float);
    rms_norm(model->pool, rows, width, block->in, block->in_norm, block->in_inverse_rms);
    linear(model, &block->qkv, width, 3 * width, block->in_norm, 0, block->qkv_out);
    attention(model->pool, attention_shape_of(model), block->qkv_out, block->weights, block->attended);
    memcpy(block->middle, block->in, row_bytes);
    linear(model, &block->output, width, width, block->attended, 1, block->middle);

    rms_norm(model->pool, rows, width, block->middle, block->middle_norm, block->middle_inverse_rms);
    memcpy(out, block->middle, row_bytes);
    if (block->mixture != NULL) return mixture_forward(block->mixture, rows, block->middle_norm, out);
    if (model->parallel.rank != NULL) return tensor_parallel_forward(model, block, out);
    mlp_forward(model, block, out);
    return true;
}

/* Of the MLP, whole or in parts, or of the mixture of experts. */
static bool inner_backward(struct model *model, struct block *block, const float *out_grad, float *in_grad) {
    if (block->mixture != NULL) return mixture_backward(block->mixture, model->rows, block->middle_norm, out_grad, in_grad);
    if (model->parallel.rank != NULL) return tensor_parallel_backward(model, block, out_grad, in_grad);
    mlp_backward(model, block, out_grad, in_grad);
    return true;
}

/* residual_grad: of the block's output on entry, of its input on return. */
static bool block_backward(struct model *model, struct block *block) {
    int64_t rows = model->rows, width = model->shape.width;
    float *residual = model->residual_grad, *row = model->row_grad, *wide = model->wide_grad;
    if (!inner_backward(model, block, residual, row)) return false;
    rms_norm_backward(model->pool, rows, width, block->middle_norm, block->middle_inverse_rms, row, residual);

    linear_backward(model, &block->output, width, width, block->attended, residual, row);
    attention_backward(model->pool, attention_shape_of(model), block->qkv_out, block->weights, row, wide,
                       model->weights_grad);
    linear_backward(model, &block->qkv, width, 3 * width, block->in_norm, wide, row);
    rms_norm_backward(model->pool, rows, width, block->in_norm, block->in_inverse_rms, row, residual);
    return true;
}

bool model_forward(struct model *model, const int32_t *tokens) {
    struct pipeline *pipeline = &model->pipeline;
    int layers = model->shape.layers;
    if (pipeline_is_first(pipeline)) embed(model, tokens, model->blocks[0].in);
    if (!pipeline_take(pipeline, &pipeline->residual_in)) return false;
    for (int b = pipeline->first_block; b < pipeline->end_block; b++)
        if (!block_forward(model, &model->blocks[b], b + 1 < layers ? model->blocks[b + 1].in : model->last)) return false;
    if (!pipeline_is_last(pipeline)) return pipeline_start(pipeline, &pipeline->residual_out);
    rms_norm(model->pool, model->rows, model->shape.width, model->last, model->hidden, model->last_inverse_rms);
    return true;
}

/* In a pipeline the last rank has the classifier's part of the embedding's gradient, and then both ends have the sum. */
static bool finish_embedding(struct model *model, const int32_t *tokens) {
    struct pipeline *pipeline = &model->pipeline;
    if (pipeline_is_first(pipeline)) {
        if (!pipeline_take(pipeline, &pipeline->embedding_up)) return false;
        embed_backward(model, tokens, model->residual_grad);
        return pipeline_start(pipeline, &pipeline->embedding_down);
    }
    return !pipeline_is_last(pipeline) || pipeline_take(pipeline, &pipeline->embedding_down);
}

bool model_backward(struct model *model, const int32_t *tokens) {
    struct pipeline *pipeline = &model->pipeline;
    int64_t rows = model->rows, width = model->shape.width;
    if (pipeline_is_last(pipeline)) {
        if (!pipeline_is_first(pipeline) && !pipeline_start(pipeline, &pipeline->embedding_up)) return false;
        memset(model->residual_grad, 0, (size_t)(rows * width) * sizeof(float));
        rms_norm_backward(model->pool, rows, width, model->hidden, model->last_inverse_rms, model->hidden_grad,
                          model->residual_grad);
    }
    if (!pipeline_take(pipeline, &pipeline->gradient_in)) return false;
    for (int b = pipeline->end_block - 1; b >= pipeline->first_block; b--)
        if (!block_backward(model, &model->blocks[b])) return false;
    if (!pipeline_start(pipeline, &pipeline->gradient_out) || !finish_embedding(model, tokens)) return false;
    return !model->has_replicas || all_reduce(&model->gradient_sum, &model->gradients_memory, model->shared_count);
}

bool model_sum(struct model *model, double values[MODEL_SUMS]) {
    return pipeline_settle(&model->pipeline) && (model->rank == NULL || gather_sum(&model->sums, values, MODEL_SUMS));
}

/* A checksum of the bits (FNV-1a, a parameter at a time) in two halves that a double holds exactly. */
bool model_is_consistent(struct model *model) {
    if (model->rank == NULL) return true;
    uint64_t hash = 0xCBF29CE484222325;
    for (int64_t i = 0; i < model->shared_count; i++) {
        uint32_t bits;
        memcpy(&bits, &model->parameters[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001B3;
    }
    bool shares = model->shared_count > 0;
    double own[2] = {(double)(hash >> 32), (double)(hash & 0xFFFFFFFF)};
    double sums[MODEL_SUMS] = {shares ? own[0] : 0, shares ? own[1] : 0, shares};  /* the third: how many ranks share */
    if (!model_sum(model, sums)) return false;
    if (!shares || (sums[0] == own[0] * sums[2] && sums[1] == own[1] * sums[2])) return true;
    fprintf(stderr, "language_model: the shared parameters of rank %d are not those of the other ranks\n", model->rank->rank);
    return false;
}
