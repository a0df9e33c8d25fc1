/* Hands residuals and gradients from rank to rank by transfers.  Called by model.c and model_create.c. */
#include "pipeline.h"

#include "check.h"
#include "clock.h"
#include "model.h"
#include "ranks.h"

/* The keys of a rank's hand-overs to the next one and back; those of the embedding come behind those of all ranks. */
enum { RESIDUAL, GRADIENT, EDGE_KEYS };

void pipeline_divide(struct pipeline *pipeline, struct rank *rank, int layers) {
    *pipeline = (struct pipeline){.rank = rank, .end_block = layers};
    if (rank == NULL) return;
    pipeline->first_block = (int)share_first(layers, rank->rank, rank->ranks);
    pipeline->end_block = (int)share_first(layers, rank->rank + 1, rank->ranks);
}

bool pipeline_is_first(const struct pipeline *pipeline) { return pipeline->rank == NULL || pipeline->rank->rank == 0; }

bool pipeline_is_last(const struct pipeline *pipeline) {
    return pipeline->rank == NULL || pipeline->rank->rank + 1 == pipeline->rank->ranks;
}

static bool prepare(struct pipeline *pipeline, struct hand_over *hand_over, int key, bool receive, int peer, float *values,
                    int64_t count) {
    quern_transfer_item item = {.receive = receive, .peer = peer, .memory = values, .bytes = count * (int64_t)sizeof *values};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = &item;
    args.item_count = 1;
    args.key = (uint64_t)key;
    hand_over->bytes = receive ? 0 : item.bytes;
    return succeeded("quern_transfer_prepare", quern_transfer_prepare(pipeline->rank->group, &args, &hand_over->transfer));
}

static bool open_before(struct pipeline *pipeline, struct model *model, int64_t count) {
    const int before = pipeline->rank->rank - 1, keys = EDGE_KEYS * before;
    float *residual = model->blocks[pipeline->first_block].in;
    return prepare(pipeline, &pipeline->residual_in, keys + RESIDUAL, true, before, residual, count) &&
           prepare(pipeline, &pipeline->gradient_out, keys + GRADIENT, false, before, model->residual_grad, count);
}

static bool open_behind(struct pipeline *pipeline, struct model *model, int64_t count) {
    const int next = pipeline->rank->rank + 1, keys = EDGE_KEYS * pipeline->rank->rank;
    float *residual = model->blocks[pipeline->end_block].in;
    return prepare(pipeline, &pipeline->residual_out, keys + RESIDUAL, false, next, residual, count) &&
           prepare(pipeline, &pipeline->gradient_in, keys + GRADIENT, true, next, model->residual_grad, count);
}

static bool open_embedding(struct pipeline *pipeline, struct model *model) {
    const bool is_first = pipeline->rank->rank == 0;
    const int last = pipeline->rank->ranks - 1, keys = EDGE_KEYS * last, peer = is_first ? last : 0;
    const struct tensor *embedding = &model->tensors[EMBEDDING];
    float *gradient = model->gradients + embedding->offset;
    return prepare(pipeline, &pipeline->embedding_up, keys, is_first, peer, gradient, embedding->count) &&
           prepare(pipeline, &pipeline->embedding_down, keys + 1, !is_first, peer, gradient, embedding->count);
}

bool pipeline_open(struct pipeline *pipeline, struct model *model) {
    const int64_t count = model->rows * model->shape.width;
    const bool is_first = pipeline_is_first(pipeline), is_last = pipeline_is_last(pipeline);
    return (is_first || open_before(pipeline, model, count)) && (is_last || open_behind(pipeline, model, count)) &&
           (!(is_first || is_last) || open_embedding(pipeline, model));
}

enum { HAND_OVERS = 6 };

static struct hand_over *hand_over_at(struct pipeline *pipeline, int place) {
    struct hand_over *all[HAND_OVERS] = {&pipeline->residual_in, &pipeline->residual_out, &pipeline->gradient_in,
                                         &pipeline->gradient_out, &pipeline->embedding_up, &pipeline->embedding_down};
    return all[place];
}

void pipeline_close(struct pipeline *pipeline) {
    for (int i = 0; i < HAND_OVERS; i++)
        succeeded("quern_transfer_destroy", quern_transfer_destroy(hand_over_at(pipeline, i)->transfer));
    *pipeline = (struct pipeline){0};
}

/* The gradient of the embedding counts as such; all else is of tokens. */
static void account(struct pipeline *pipeline, const struct hand_over *hand_over, double seconds, int64_t bytes) {
    const bool is_embedding = hand_over == &pipeline->embedding_up || hand_over == &pipeline->embedding_down;
    pipeline->rank->totals.seconds[is_embedding ? GRADIENTS : TOKENS] += seconds;
    pipeline->rank->totals.bytes[is_embedding ? GRADIENTS : TOKENS] += bytes;
}

bool pipeline_start(struct pipeline *pipeline, struct hand_over *hand_over) {
    if (hand_over->transfer == NULL) return true;
    if (!succeeded("quern_transfer_start", quern_transfer_start(hand_over->transfer, NULL))) return false;
    account(pipeline, hand_over, 0, hand_over->bytes);
    return hand_over->under_way = true;
}

static bool finish(struct pipeline *pipeline, struct hand_over *hand_over) {
    if (!hand_over->under_way) return true;
    const double start = seconds_now();
    if (!succeeded("quern_transfer_wait", quern_transfer_wait(hand_over->transfer, 0))) return false;
    account(pipeline, hand_over, seconds_now() - start, 0);
    hand_over->under_way = false;
    return true;
}

bool pipeline_take(struct pipeline *pipeline, struct hand_over *hand_over) {
    return pipeline_start(pipeline, hand_over) && finish(pipeline, hand_over);
}

bool pipeline_settle(struct pipeline *pipeline) {
    for (int i = 0; i < HAND_OVERS; i++)
        if (!finish(pipeline, hand_over_at(pipeline, i))) return false;
    return true;
}
