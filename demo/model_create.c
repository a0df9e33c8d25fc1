/* Lays out a model's tensors and draws its initial weights.  Called by run.c. */
#include "model.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "mixture.h"
#include "random.h"

enum { QKV, OUTPUT, UP, DOWN, TENSORS_PER_BLOCK, TENSORS_PER_EXPERT = 2 };

static struct tensor add_tensor(struct model *model, int64_t count, double deviation) {
    struct tensor tensor = {model->parameter_count, count, model->random_count, count, count, deviation};
    model->tensors[model->tensor_count++] = tensor;
    model->parameter_count += count;
    model->random_count += count;
    return tensor;
}

/* Of the tensor just added, this rank has columns [first, end) of each row, which place_parts places. */
static void keep_columns(struct model *model, int64_t row, int64_t first, int64_t end) {
    struct tensor *tensor = &model->tensors[model->tensor_count - 1];
    model->parameter_count -= tensor->count;
    tensor->count = tensor->count / row * (end - first);
    tensor->row = end - first;
    tensor->random_row = row;
    tensor->first_random += first;
}

static float *rows_of(const struct model *model, int64_t width) {
    return allocate((size_t)(model->rows * width) * sizeof(float));
}

/* The whole, or a part for the rows of all ranks, which takes as much. */
static void create_mlp(struct model *model, struct block *block, double up_deviation, double down_deviation) {
    const struct tensor_parallel *parallel = &model->parallel;
    const int64_t width = model->shape.width, hidden = 4 * width;
    const bool is_part = parallel->rank != NULL;
    const int64_t first = is_part ? parallel->rank->rank * parallel->hidden : 0, end = first + parallel->hidden;
    block->up = add_tensor(model, hidden * width, up_deviation);
    if (is_part) keep_columns(model, hidden * width, first * width, end * width);
    block->down = add_tensor(model, hidden * width, down_deviation);
    if (is_part) keep_columns(model, hidden, first, end);
    block->up_out = rows_of(model, hidden);
    block->activated = rows_of(model, hidden);
}

static void create_block(struct model *model, struct block *block) {
    int64_t width = model->shape.width;
    int64_t weights_per_row = (int64_t)model->shape.heads * model->shape.context;
    double deviation = 1 / sqrt((double)width);
    double residual_deviation = deviation / sqrt(2.0 * model->shape.layers);  /* the residual must not grow with depth */
    *block = (struct block){
        .in = rows_of(model, width),
        .in_norm = rows_of(model, width),
        .in_inverse_rms = rows_of(model, 1),
        .qkv_out = rows_of(model, 3 * width),
        .weights = rows_of(model, weights_per_row),
        .attended = rows_of(model, width),
        .middle = rows_of(model, width),
        .middle_norm = rows_of(model, width),
        .middle_inverse_rms = rows_of(model, 1),
    };
    block->qkv = add_tensor(model, 3 * width * width, deviation);
    block->output = add_tensor(model, width * width, residual_deviation);
    if (model->shape.experts > 0) {
        block->router = add_tensor(model, model->shape.experts * width, 1);
        return;
    }
    create_mlp(model, block, deviation, residual_deviation / 2);
}

/*
 * All experts have their positions in the list, so that a tensor's position and random numbers do not depend on the number of
 * ranks.
 */
static bool create_mixture(struct model *model, struct block *block) {
    int64_t width = model->shape.width, rows = model->rows, all_rows = model->all_rows;
    block->mixture = allocate(sizeof *block->mixture);
    if (!mixture_create(block->mixture, model->rank, model->pool, model->shape.experts, width, rows, all_rows)) return false;
    const struct dispatch *dispatch = &block->mixture->dispatch;
    int64_t count = width * block->mixture->experts.hidden;
    double deviation = 1 / sqrt((double)width);
    double down_deviation = 1 / sqrt((double)block->mixture->experts.hidden * 2 * model->shape.layers);
    for (int e = 0; e < model->shape.experts; e++) {
        bool is_here = e >= dispatch->first_expert && e < dispatch->first_expert + dispatch->own_experts;
        int64_t parameter_count = model->parameter_count;
        struct tensor *pair = model->tensors + model->tensor_count;
        add_tensor(model, count, deviation);
        add_tensor(model, count, down_deviation);
        if (is_here) continue;
        for (int i = 0; i < TENSORS_PER_EXPERT; i++) pair[i].offset = pair[i].count = 0;
        model->parameter_count = parameter_count;
    }
    return true;
}

/* The tensors from `first` on are on other ranks of a pipeline: they keep their positions in the list and their random numbers. */
static void leave_out(struct model *model, int first) {
    for (int t = first; t < model->tensor_count; t++) {
        model->parameter_count -= model->tensors[t].count;
        model->tensors[t].offset = model->tensors[t].count = 0;
    }
}

/* The parts of the MLPs come after the parameters that all ranks have. */
static void place_parts(struct model *model) {
    for (int b = 0; b < model->shape.layers; b++) {
        struct tensor *tensors = model->tensors + FIRST_OF_BLOCKS + TENSORS_PER_BLOCK * b;
        for (int t = UP; t <= DOWN; t++) {
            tensors[t].offset = model->parameter_count;
            model->parameter_count += tensors[t].count;
        }
        model->blocks[b].up = tensors[UP];
        model->blocks[b].down = tensors[DOWN];
    }
}

/* Points a block's mixture to its weights. */
static void bind_mixture(struct model *model, struct mixture *mixture, const struct tensor *router, const struct tensor *experts) {
    mixture->router.weight = model->parameters + router->offset;
    mixture->router.weight_grad = model->gradients + router->offset;
    experts += TENSORS_PER_EXPERT * mixture->dispatch.first_expert;
    for (int e = 0; e < mixture->experts.count; e++, experts += TENSORS_PER_EXPERT)
        mixture->experts.expert[e] = (struct expert){
            .up = model->parameters + experts[0].offset,
            .down = model->parameters + experts[1].offset,
            .up_grad = model->gradients + experts[0].offset,
            .down_grad = model->gradients + experts[1].offset,
        };
}

static int64_t random_number_of(const struct tensor *tensor, int64_t i) {
    return tensor->first_random + i / tensor->row * tensor->random_row + i % tensor->row;
}

static void initialise(struct model *model, uint64_t seed) {
    for (int t = 0; t < model->tensor_count; t++) {
        const struct tensor *tensor = &model->tensors[t];
        for (int64_t i = 0; i < tensor->count; i++)
            model->parameters[tensor->offset + i] =
                (float)(tensor->deviation * random_normal(seed, (uint64_t)random_number_of(tensor, i)));
    }
}

static void create_scratch(struct model *model) {
    model->last = rows_of(model, model->shape.width);
    model->hidden = rows_of(model, model->shape.width);
    model->last_inverse_rms = rows_of(model, 1);
    model->hidden_grad = rows_of(model, model->shape.width);
    model->residual_grad = rows_of(model, model->shape.width);
    model->row_grad = rows_of(model, model->shape.width);
    model->wide_grad = rows_of(model, 4 * (int64_t)model->shape.width);
    model->weights_grad = rows_of(model, (int64_t)model->shape.heads * model->shape.context);
}

static bool create_mixtures(struct model *model) {
    for (int b = 0; b < model->shape.layers && model->shape.experts > 0; b++)
        if (!create_mixture(model, &model->blocks[b])) return false;
    return true;
}

/* What the ranks sum: the gradients of the shared parameters, and a few numbers. */
static bool create_sums(struct model *model) {
    if (!rank_memory_create(model->rank, &model->gradients_memory, (size_t)model->parameter_count * sizeof(float)) ||
        !collective_create(&model->gradient_sum, model->rank, GRADIENTS, QUERN_F32, model->shared_count) ||
        !gather_create(&model->sums, model->rank, NUMBERS, MODEL_SUMS * sizeof(double)))
        return false;
    model->gradients = model->gradients_memory.host;
    return true;
}

static bool create_pipeline(struct model *model) {
    return pipeline_open(&model->pipeline, model) &&
           gather_create(&model->sums, model->rank, NUMBERS, MODEL_SUMS * sizeof(double));
}

/* The first rank of a pipeline has both, the last one the embedding. */
static void create_embedding(struct model *model) {
    const struct model_shape *shape = &model->shape;
    const bool is_first = pipeline_is_first(&model->pipeline), is_last = pipeline_is_last(&model->pipeline);
    add_tensor(model, (int64_t)shape->vocab * shape->width, 0.06);
    if (!is_first && !is_last) leave_out(model, EMBEDDING);
    add_tensor(model, (int64_t)shape->context * shape->width, 0.06);
    if (!is_first) leave_out(model, POSITIONS);
}

/* This rank's part of a step's sequences, and of the model. */
static void divide(struct model *model) {
    const struct model_shape *shape = &model->shape;
    struct rank *rank = model->rank;
    model->has_replicas = rank != NULL && (shape->experts > 0 || shape->tensor_parallel);
    const int number = model->has_replicas ? rank->rank : 0, ranks = model->has_replicas ? rank->ranks : 1;
    model->first_sequence = (int)share_first(shape->batch, number, ranks);
    model->sequences = (int)share_first(shape->batch, number + 1, ranks) - model->first_sequence;
    model->rows = (int64_t)model->sequences * shape->context;
    model->parallel.rank = shape->tensor_parallel ? rank : NULL;
    model->parallel.hidden = 4 * (int64_t)shape->width / (model->parallel.rank != NULL ? ranks : 1);
    pipeline_divide(&model->pipeline, model->has_replicas ? NULL : rank, shape->layers);
}

/* The tensors that are laid out one after the other; those of experts and parts of MLPs come behind. */
static void create_tensors(struct model *model) {
    const struct model_shape *shape = &model->shape;
    int tensors_per_block = TENSORS_PER_BLOCK + TENSORS_PER_EXPERT * shape->experts;
    model->tensors = allocate((size_t)(FIRST_OF_BLOCKS + tensors_per_block * shape->layers) * sizeof(struct tensor));
    model->blocks = allocate((size_t)shape->layers * sizeof(struct block));
    create_embedding(model);
    for (int b = 0; b < shape->layers; b++) {
        int first = model->tensor_count;
        create_block(model, &model->blocks[b]);
        if (b < model->pipeline.first_block || b >= model->pipeline.end_block) leave_out(model, first);
    }
    model->shared_count = model->has_replicas ? model->parameter_count : model->tensors[EMBEDDING].count;
    if (model->parallel.rank != NULL) place_parts(model);
}

bool model_create(struct model *model, struct model_shape shape, struct thread_pool *pool, struct rank *rank, uint64_t seed) {
    *model = (struct model){.shape = shape, .pool = pool, .rank = rank, .all_rows = (int64_t)shape.batch * shape.context};
    divide(model);
    create_tensors(model);
    int first_expert = model->tensor_count;
    create_scratch(model);
    if (!create_mixtures(model) || (model->parallel.rank != NULL && !tensor_parallel_open(&model->parallel, model))) return false;
    if (model->has_replicas && !create_sums(model)) return false;
    model->parameters = allocate((size_t)model->parameter_count * sizeof(float));
    if (!model->has_replicas) model->gradients = allocate((size_t)model->parameter_count * sizeof(float));
    if (model->pipeline.rank != NULL && !create_pipeline(model)) return false;
    for (int b = 0; b < shape.layers && shape.experts > 0; b++)
        bind_mixture(model, model->blocks[b].mixture, &model->blocks[b].router,
                     model->tensors + first_expert + b * TENSORS_PER_EXPERT * shape.experts);
    initialise(model, seed);
    return true;
}

static void block_free(struct block *k) {
    float *owned[] = {k->in, k->in_norm, k->in_inverse_rms, k->qkv_out, k->weights, k->attended,
                      k->middle, k->middle_norm, k->middle_inverse_rms, k->up_out, k->activated};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    if (k->mixture != NULL) mixture_free(k->mixture);
    free(k->mixture);
}

void model_free(struct model *model) {
    for (int b = 0; b < model->shape.layers; b++) block_free(&model->blocks[b]);
    collective_free(&model->gradient_sum);
    gather_free(&model->sums);
    tensor_parallel_close(&model->parallel, model->shape.layers);
    pipeline_close(&model->pipeline);
    if (model->gradients_memory.host != NULL) rank_memory_free(&model->gradients_memory);
    else free(model->gradients);
    float *owned[] = {model->parameters, model->last, model->hidden, model->last_inverse_rms, model->hidden_grad,
                      model->residual_grad, model->row_grad, model->wide_grad, model->weights_grad};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(model->blocks);
    free(model->tensors);
    *model = (struct model){0};
}
