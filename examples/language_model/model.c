#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "matmul.h"
#include "memory.h"
#include "random.h"

enum { EMBEDDING, POSITIONS, FIRST_OF_BLOCKS };
enum { TENSORS_PER_BLOCK = 4 };

static struct tensor add_tensor(struct model *model, int64_t count, double deviation) {
    struct tensor tensor = {model->parameter_count, count, deviation};
    model->tensors[model->tensor_count++] = tensor;
    model->parameter_count += count;
    return tensor;
}

static float *rows_of(const struct model *model, int64_t width) {
    return allocate((size_t)(model->rows * width) * sizeof(float));
}

static void create_block(struct model *model, struct block *block) {
    int64_t width = model->shape.width;
    int64_t weights_per_row = (int64_t)model->shape.heads * model->shape.context;
    double deviation = 1 / sqrt((double)width);
    double residual_deviation = deviation / sqrt(2.0 * model->shape.layers);  /* the residual shall not grow with depth */
    *block = (struct block){
        .qkv = add_tensor(model, 3 * width * width, deviation),
        .output = add_tensor(model, width * width, residual_deviation),
        .up = add_tensor(model, 4 * width * width, deviation),
        .down = add_tensor(model, 4 * width * width, residual_deviation / 2),
        .in = rows_of(model, width),
        .in_norm = rows_of(model, width),
        .in_inverse_rms = rows_of(model, 1),
        .qkv_out = rows_of(model, 3 * width),
        .weights = rows_of(model, weights_per_row),
        .attended = rows_of(model, width),
        .middle = rows_of(model, width),
        .middle_norm = rows_of(model, width),
        .middle_inverse_rms = rows_of(model, 1),
        .up_out = rows_of(model, 4 * width),
        .activated = rows_of(model, 4 * width),
    };
}

static void initialise(struct model *model, uint64_t seed) {
    for (int t = 0; t < model->tensor_count; t++) {
        const struct tensor *tensor = &model->tensors[t];
        for (int64_t i = tensor->offset; i < tensor->offset + tensor->count; i++)
            model->parameters[i] = (float)(tensor->deviation * random_normal(seed, (uint64_t)i));
    }
}

void model_create(struct model *model, struct model_shape shape, struct thread_pool *pool, uint64_t seed) {
    *model = (struct model){.shape = shape, .pool = pool, .rows = (int64_t)shape.batch * shape.context};
    model->tensors = allocate((size_t)(FIRST_OF_BLOCKS + TENSORS_PER_BLOCK * shape.layers) * sizeof(struct tensor));
    model->blocks = allocate((size_t)shape.layers * sizeof(struct block));
    add_tensor(model, (int64_t)shape.vocab * shape.width, 0.06);
    add_tensor(model, (int64_t)shape.context * shape.width, 0.06);
    for (int b = 0; b < shape.layers; b++) create_block(model, &model->blocks[b]);
    model->parameters = allocate((size_t)model->parameter_count * sizeof(float));
    model->gradients = allocate((size_t)model->parameter_count * sizeof(float));
    model->last = rows_of(model, shape.width);
    model->hidden = rows_of(model, shape.width);
    model->last_inverse_rms = rows_of(model, 1);
    model->hidden_grad = rows_of(model, shape.width);
    model->residual_grad = rows_of(model, shape.width);
    model->row_grad = rows_of(model, shape.width);
    model->wide_grad = rows_of(model, 4 * (int64_t)shape.width);
    model->weights_grad = rows_of(model, (int64_t)shape.heads * shape.context);
    initialise(model, seed);
}

void model_free(struct model *model) {
    for (int b = 0; b < model->shape.layers; b++) {
        struct block *k = &model->blocks[b];
        float *owned[] = {k->in, k->in_norm, k->in_inverse_rms, k->qkv_out, k->weights, k->attended,
                          k->middle, k->middle_norm, k->middle_inverse_rms, k->up_out, k->activated};
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    }
    float *owned[] = {model->parameters, model->gradients, model->last, model->hidden, model->last_inverse_rms,
                      model->hidden_grad, model->residual_grad, model->row_grad, model->wide_grad, model->weights_grad};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(model->blocks);
    free(model->tensors);
    *model = (struct model){0};
}

static struct attention_shape attention_shape_of(const struct model *model) {
    const struct model_shape *shape = &model->shape;
    return (struct attention_shape){shape->batch, shape->context, shape->heads, shape->width / shape->heads};
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

static void block_forward(struct model *model, struct block *block, float *out) {
    int64_t rows = model->rows, width = model->shape.width;
    size_t row_bytes = (size_t)(rows * width) * sizeof(float);
    rms_norm(model->pool, rows, width, block->in, block->in_norm, block->in_inverse_rms);
    linear(model, &block->qkv, width, 3 * width, block->in_norm, 0, block->qkv_out);
    attention(model->pool, attention_shape_of(model), block->qkv_out, block->weights, block->attended);
    memcpy(block->middle, block->in, row_bytes);
    linear(model, &block->output, width, width, block->attended, 1, block->middle);

    rms_norm(model->pool, rows, width, block->middle, block->middle_norm, block->middle_inverse_rms);
    linear(model, &block->up, width, 4 * width, block->middle_norm, 0, block->up_out);
    squared_relu(model->pool, rows * 4 * width, block->up_out, block->activated);
    memcpy(out, block->middle, row_bytes);
    linear(model, &block->down, 4 * width, width, block->activated, 1, out);
}

/* residual_grad: of the block's output on entry, of its input on return. */
static void block_backward(struct model *model, struct block *block) {
    int64_t rows = model->rows, width = model->shape.width;
    float *residual = model->residual_grad, *row = model->row_grad, *wide = model->wide_grad;
    linear_backward(model, &block->down, 4 * width, width, block->activated, residual, wide);
    squared_relu_backward(model->pool, rows * 4 * width, block->up_out, wide);
    linear_backward(model, &block->up, width, 4 * width, block->middle_norm, wide, row);
    rms_norm_backward(model->pool, rows, width, block->middle_norm, block->middle_inverse_rms, row, residual);

    linear_backward(model, &block->output, width, width, block->attended, residual, row);
    attention_backward(model->pool, attention_shape_of(model), block->qkv_out, block->weights, row, wide,
                       model->weights_grad);
    linear_backward(model, &block->qkv, width, 3 * width, block->in_norm, wide, row);
    rms_norm_backward(model->pool, rows, width, block->in_norm, block->in_inverse_rms, row, residual);
}

void model_forward(struct model *model, const int32_t *tokens) {
    int layers = model->shape.layers;
    embed(model, tokens, model->blocks[0].in);
    for (int b = 0; b < layers; b++)
        block_forward(model, &model->blocks[b], b + 1 < layers ? model->blocks[b + 1].in : model->last);
    rms_norm(model->pool, model->rows, model->shape.width, model->last, model->hidden, model->last_inverse_rms);
}

void model_backward(struct model *model, const int32_t *tokens) {
    int64_t rows = model->rows, width = model->shape.width;
    memset(model->residual_grad, 0, (size_t)(rows * width) * sizeof(float));
    rms_norm_backward(model->pool, rows, width, model->hidden, model->last_inverse_rms, model->hidden_grad,
                      model->residual_grad);
    for (int b = model->shape.layers - 1; b >= 0; b--) block_backward(model, &model->blocks[b]);
    embed_backward(model, tokens, model->residual_grad);
}
