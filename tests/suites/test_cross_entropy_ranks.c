/*
 * A vocab over the ranks of a group, with portable bits: each rank has its columns, the sums go through quern_all_gather, and every
 * rank gets the loss, the log-probabilities and the gradient of one call, bit for bit.  The last layer does the same by itself.
 *
 * Runs on: cpu; kernels of cross_entropy.
 */
#include <math.h>

#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"

enum { ROWS = 5, VOCAB = 3001, MOST_SHARDS = 4 };

/* Columns of each rank, of which no boundary is one of the 32 columns of a unit. */
static const int64_t cuts[][MOST_SHARDS + 1] = {{0}, {0, VOCAB}, {0, 1777, VOCAB}, {0}, {0, 5, 1003, 1009, VOCAB}};

struct results {
    float loss[ROWS], log_prob[ROWS], lse[ROWS], entropy[ROWS], grad[ROWS][VOCAB];
};

static void set_inputs(float logits[ROWS][VOCAB], int64_t labels[ROWS]) {
    for (int row = 0; row < ROWS; row++) {
        labels[row] = row == 3 ? -100 : (row * 1013 + 2) % VOCAB;
        for (int i = 0; i < VOCAB; i++) logits[row][i] = (float)(40 * random_uniform(5, (uint64_t)(row * VOCAB + i)) - 20);
    }
}

static quern_cross_entropy_args args_of(float logits[ROWS][VOCAB], const int64_t *labels, struct results *results) {
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT64, .rows = ROWS,
                                                       .vocab = VOCAB, .logits = logits, .labels = labels);
    args.bits = QUERN_BITS_PORTABLE, args.z_loss = 0.01f;
    args.loss = results->loss, args.log_prob = results->log_prob, args.lse = results->lse, args.entropy = results->entropy;
    args.grad = results->grad, args.logits_stride = args.grad_stride = VOCAB;
    return args;
}

static void *workspace_of(struct rank *rank, const quern_cross_entropy_args *args, size_t *bytes) {
    rank_ok(rank, quern_cross_entropy_workspace(rank->device, args, bytes));
    return aligned_alloc(64, (*bytes + 64) / 64 * 64);
}

static void gather(struct rank *rank, quern_group *group, const void *mine, size_t mine_bytes, void *all) {
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .input = mine, .output = all,
                                                 .count = (int64_t)mine_bytes / 4);
    size_t bytes;
    void *workspace = NULL;
    rank_ok(rank, quern_collective_workspace(group, &args, &bytes));
    if (bytes) rank_ok(rank, quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    rank_ok(rank, quern_all_gather(group, &args, workspace, bytes, NULL));
}

static void check_equal(struct rank *rank, const void *found, const void *expected, size_t bytes, const char *what) {
    rank_check(rank, !memcmp(found, expected, bytes), "the %s of rank %d of %d is not that of one call", what, rank->rank,
               rank->ranks);
}

static void check_results(struct rank *rank, const struct results *found, const struct results *expected, int64_t first,
                          int64_t end) {
    check_equal(rank, found->loss, expected->loss, sizeof found->loss, "loss");
    check_equal(rank, found->log_prob, expected->log_prob, sizeof found->log_prob, "log_prob");
    check_equal(rank, found->lse, expected->lse, sizeof found->lse, "lse");
    check_equal(rank, found->entropy, expected->entropy, sizeof found->entropy, "entropy");
    for (int row = 0; row < ROWS; row++)
        check_equal(rank, &found->grad[row][first], &expected->grad[row][first], (size_t)(end - first) * sizeof(float), "gradient");
}

/* The steps of one rank, whose gradient lies where that of the whole would. */
static void run_steps(struct rank *rank, quern_group *group, quern_cross_entropy_args args, int64_t first, int64_t end) {
    quern_row_stats stats[ROWS], all_stats[MOST_SHARDS * ROWS];
    quern_row_nodes nodes[ROWS][2], all_nodes[MOST_SHARDS * ROWS][2];
    args.logits = (const float *)args.logits + first, args.grad = (float *)args.grad + first;
    args.first_column = first, args.vocab = end - first, args.global_vocab = VOCAB;
    args.stats = stats, args.nodes = nodes[0];
    size_t bytes;
    void *workspace = workspace_of(rank, &args, &bytes);
    rank_ok(rank, quern_cross_entropy_stats(rank->device, &args, workspace, bytes, NULL));
    gather(rank, group, stats, sizeof stats, all_stats);
    gather(rank, group, nodes, sizeof nodes, all_nodes);
    args.nodes = all_nodes[0];
    rank_ok(rank, quern_cross_entropy_combine(rank->device, &args, all_stats, rank->ranks, workspace, bytes, NULL));
    rank_ok(rank, quern_cross_entropy_gradient(rank->device, &args, workspace, bytes, NULL));
    free(workspace);
}

/* Too large for a stack. */
struct memory {
    float logits[ROWS][VOCAB];
    struct results whole, shared;
};

static void compare_with_one_call(struct rank *rank, quern_group *group) {
    struct memory *m = malloc(sizeof *m);
    int64_t labels[ROWS];
    rank_check(rank, m, "no memory");
    const int64_t first = cuts[rank->ranks][rank->rank], end = cuts[rank->ranks][rank->rank + 1];
    set_inputs(m->logits, labels);
    rank_ok(rank, quern_prepare(rank->device, QUERN_CROSS_ENTROPY | QUERN_COLLECTIVE));
    const quern_cross_entropy_args args = args_of(m->logits, labels, &m->whole);
    size_t bytes;
    void *workspace = workspace_of(rank, &args, &bytes);
    rank_ok(rank, quern_cross_entropy(rank->device, &args, workspace, bytes, NULL));
    free(workspace);
    run_steps(rank, group, args_of(m->logits, labels, &m->shared), first, end);
    check_results(rank, &m->shared, &m->whole, first, end);
    free(m);
}

Test(cross_entropy_ranks, have_the_bits_of_one_call) {
    for (int ranks = 1; ranks <= MOST_SHARDS; ranks *= 2)
        check_ranks(.kind = RANK_PROCESSES, .count = ranks, .in_group = compare_with_one_call);
}

/* ---- the last layer ---- */

enum { WIDTH = 7, CHUNK = 2 };

/* Each logit has the same bits whatever columns are beside it. */
static quern_status multiply(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)stream;
    const float *a = args->a, *b = args->b;
    for (int64_t i = 0; i < args->m; i++)
        for (int64_t j = 0; j < args->n; j++) {
            float *c = (float *)args->c + i * args->c_stride + j, sum = args->accumulate ? *c : 0;
            for (int64_t k = 0; k < args->k; k++)
                sum += a[args->a_transposed ? k * args->a_stride + i : i * args->a_stride + k] *
                       b[args->b_transposed ? j * args->b_stride + k : k * args->b_stride + j];
            *c = sum;
        }
    return QUERN_OK;
}

struct layer {
    float hidden[ROWS][WIDTH], weight[VOCAB][WIDTH], bias[VOCAB];
    struct layer_results {
        float loss, log_prob[ROWS], lse[ROWS], entropy[ROWS], d_hidden[ROWS][WIDTH], d_weight[VOCAB][WIDTH], d_bias[VOCAB];
    } whole, shared;
};

static quern_linear_cross_entropy_args layer_args_of(const struct layer *layer, const int64_t *labels,
                                                     struct layer_results *results) {
    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args.hidden_dtype = args.weight_dtype = args.bias_dtype = args.loss.logits_dtype = QUERN_F32;
    args.loss.labels_dtype = QUERN_INT64, args.loss.labels = labels, args.loss.rows = ROWS, args.loss.vocab = VOCAB;
    args.loss.reduction = QUERN_REDUCTION_MEAN, args.loss.bits = QUERN_BITS_PORTABLE;
    args.loss.loss = &results->loss, args.loss.log_prob = results->log_prob, args.loss.lse = results->lse;
    args.loss.entropy = results->entropy;
    args.hidden = layer->hidden, args.weight = layer->weight, args.bias = layer->bias, args.width = WIDTH;
    args.d_hidden = results->d_hidden, args.d_weight = results->d_weight, args.d_bias = results->d_bias;
    args.chunk_rows = CHUNK, args.gemm = multiply;
    return args;
}

/* The workspace is symmetric memory, which the exchanges do not need on CPUs but on GPUs. */
static void run_layer(struct rank *rank, quern_group *group, const quern_linear_cross_entropy_args *args) {
    size_t bytes;
    void *workspace;
    rank_ok(rank, quern_linear_cross_entropy_workspace(rank->device, args, &bytes));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    rank_ok(rank, quern_linear_cross_entropy(rank->device, args, workspace, bytes, NULL));
    rank_ok(rank, quern_symmetric_free(group, workspace, NULL));
}

static void open_gather(struct rank *rank, quern_group *group, quern_group_gather_args *gather) {
    const quern_collective_args largest = COLLECTIVE_ARGS(.dtype = QUERN_F32,
                                                          .count = 2 * CHUNK * (int64_t)sizeof(quern_row_nodes) / 4);
    *gather = (quern_group_gather_args)QUERN_GROUP_GATHER_ARGS_INIT;
    gather->group = group;
    rank_ok(rank, quern_collective_workspace(group, &largest, &gather->workspace_bytes));
    if (gather->workspace_bytes)
        rank_ok(rank, quern_symmetric_alloc(&group, 1, &gather->workspace_bytes, &gather->workspace));
}

/* The share of this rank's columns: over all ranks they sum to the gradient of the whole. */
static void check_d_hidden(struct rank *rank, quern_group *group, const struct layer *layer) {
    float sums[ROWS][WIDTH];
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .input = layer->shared.d_hidden, .output = sums,
                                                       .count = ROWS * WIDTH);
    rank_ok(rank, quern_all_reduce(group, &args, NULL, 0, NULL));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        const float found = sums[i / WIDTH][i % WIDTH], expected = layer->whole.d_hidden[i / WIDTH][i % WIDTH];
        rank_check(rank, fabsf(found - expected) <= 1e-6f * (1 + fabsf(expected)), "d_hidden[%d] is %.9g instead of %.9g", i,
                   (double)found, (double)expected);
    }
}

static void compare_layers(struct rank *rank, quern_group *group) {
    struct layer *layer = calloc(1, sizeof *layer);
    int64_t labels[ROWS] = {17, VOCAB - 1, -100, 1500, 2};
    quern_group_gather_args gather;
    rank_check(rank, layer, "no memory");
    for (int i = 0; i < ROWS * WIDTH; i++) layer->hidden[i / WIDTH][i % WIDTH] = (float)random_normal(1, (uint64_t)i);
    for (int i = 0; i < VOCAB * WIDTH; i++) layer->weight[i / WIDTH][i % WIDTH] = (float)random_normal(2, (uint64_t)i);
    for (int i = 0; i < VOCAB; i++) layer->bias[i] = (float)random_normal(3, (uint64_t)i);
    rank_ok(rank, quern_prepare(rank->device, QUERN_CROSS_ENTROPY | QUERN_COLLECTIVE));
    const quern_linear_cross_entropy_args whole = layer_args_of(layer, labels, &layer->whole);
    run_layer(rank, group, &whole);
    const int64_t first = cuts[rank->ranks][rank->rank], columns = cuts[rank->ranks][rank->rank + 1] - first;
    quern_linear_cross_entropy_args args = layer_args_of(layer, labels, &layer->shared);
    args.weight = layer->weight[first], args.bias = &layer->bias[first];
    args.d_weight = layer->shared.d_weight[first], args.d_bias = &layer->shared.d_bias[first];
    args.loss.first_column = first, args.loss.vocab = columns, args.loss.global_vocab = VOCAB;
    args.shard_count = rank->ranks, args.gather = quern_group_gather, args.gather_user = &gather;
    open_gather(rank, group, &gather);
    run_layer(rank, group, &args);
    check_equal(rank, &layer->shared.loss, &layer->whole.loss, sizeof(float), "loss");
    check_equal(rank, layer->shared.log_prob, layer->whole.log_prob, sizeof layer->whole.log_prob, "log_prob");
    check_equal(rank, layer->shared.lse, layer->whole.lse, sizeof layer->whole.lse, "lse");
    check_equal(rank, layer->shared.entropy, layer->whole.entropy, sizeof layer->whole.entropy, "entropy");
    check_equal(rank, layer->shared.d_weight[first], layer->whole.d_weight[first], (size_t)columns * sizeof layer->weight[0],
                "d_weight");
    check_equal(rank, &layer->shared.d_bias[first], &layer->whole.d_bias[first], (size_t)columns * sizeof(float), "d_bias");
    check_d_hidden(rank, group, layer);
    free(layer);
}

Test(cross_entropy_ranks, have_the_bits_of_one_layer) {
    for (int ranks = 1; ranks <= MOST_SHARDS; ranks *= 2)
        for (int i = 0; i < 2; i++)
            check_ranks(.kind = i ? RANK_UNREADABLE : RANK_PROCESSES, .count = ranks, .in_group = compare_layers);
}

static void refuse_gathers(struct rank *rank, quern_group *group) {
    float mine = 1, all = 0;
    quern_group_gather_args args = QUERN_GROUP_GATHER_ARGS_INIT;
    args.group = group;
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_refused(rank, quern_group_gather(NULL, &mine, &all, 4, NULL), QUERN_NULL_POINTER, "args is NULL");
    rank_refused(rank, quern_group_gather(&args, &mine, &all, 6, NULL), QUERN_INVALID_ARGUMENT,
                 "bytes is 6: expected a multiple of 4, up to 2^47");
    rank_refused(rank, quern_group_gather(&args, NULL, &all, 4, NULL), QUERN_NULL_POINTER, "args.input is NULL");
    args.collective.timeout = -1;
    rank_refused(rank, quern_group_gather(&args, &mine, &all, 4, NULL), QUERN_INVALID_ARGUMENT, "timeout is -1");
    args.size = 4;
    rank_refused(rank, quern_group_gather(&args, &mine, &all, 4, NULL), QUERN_INVALID_STRUCT_SIZE, "args.size is 4");
    rank_check(rank, all == 0, "a refused gather has written");
}

Test(cross_entropy_ranks, gathers_are_refused) { check_ranks(.kind = RANK_THREADS, .count = 1, .in_group = refuse_gathers); }
