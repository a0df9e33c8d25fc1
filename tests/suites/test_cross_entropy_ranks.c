/*
 * A vocab over the ranks of a group, with portable bits: each rank has its columns, the sums go through quern_all_gather, and every
 * rank gets the loss, the log-probabilities and the gradient of one call, bit for bit.
 *
 * Runs on: cpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"

enum { ROWS = 5, VOCAB = 3001, MOST_SHARDS = 4 };

/* Columns of each rank, of which no boundary is one of the 32 columns of a unit. */
static const int64_t cuts[][MOST_SHARDS + 1] = {{0}, {0, VOCAB}, {0, 1777, VOCAB}, {0}, {0, 5, 1003, 1009, VOCAB}};

struct results {
    float loss[ROWS], log_prob[ROWS], lse[ROWS], grad[ROWS][VOCAB];
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
    args.loss = results->loss, args.log_prob = results->log_prob, args.lse = results->lse;
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
    for (int row = 0; row < ROWS; row++)
        check_equal(rank, &found->grad[row][first], &expected->grad[row][first], (size_t)(end - first) * sizeof(float), "gradient");
}

/* The steps of one rank, whose gradient lies where that of the whole would. */
static void run_steps(struct rank *rank, quern_group *group, quern_cross_entropy_args args, int64_t first, int64_t end) {
    quern_row_stats stats[ROWS], all_stats[MOST_SHARDS * ROWS];
    quern_row_nodes nodes[ROWS], all_nodes[MOST_SHARDS * ROWS];
    args.logits = (const float *)args.logits + first, args.grad = (float *)args.grad + first;
    args.first_column = first, args.vocab = end - first, args.global_vocab = VOCAB;
    args.stats = stats, args.nodes = nodes;
    size_t bytes;
    void *workspace = workspace_of(rank, &args, &bytes);
    rank_ok(rank, quern_cross_entropy_stats(rank->device, &args, workspace, bytes, NULL));
    gather(rank, group, stats, sizeof stats, all_stats);
    gather(rank, group, nodes, sizeof nodes, all_nodes);
    args.nodes = all_nodes;
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
