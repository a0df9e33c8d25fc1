/*
 * Every time limit is taken: that of the call, of the group and of the group before its first call.  The one named ends the wait of
 * rank 0 for rank 1, while the others are long; and a long one of the call lets rank 1 come when that of the group has ended.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/ranks.h"
#include "ranks/handles.h"
#include "ranks/membership.h"

static const double SHORT = 0.02, LONGER = 1;  /* seconds */

enum { MOST = 3, BYTES = 4096, WORKSPACE = 1 << 20, SYMMETRIC = 4 * BYTES + WORKSPACE };

/* What a rank has.  The plan has the limit of the call, and is made by both. */
struct post {
    struct rank *rank;
    quern_group *group;
    double limit;            /* of the call; 0: none */
    char *memory, *workspace;
    char own[2][BYTES];
    uint32_t word;           /* of the next chunk */
    quern_ragged_plan *plan;
    quern_transfer *transfer;
};

/* ---- waits ---- */

static quern_status barrier(struct post *post) {
    quern_barrier_args args = BARRIER_ARGS(.timeout = post->limit);
    return quern_barrier(post->group, &args, NULL);
}

static quern_status barrier_of_all(struct post *post) { return quern_barrier(post->group, NULL, NULL); }

static quern_status reduce(struct post *post) {
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 8, .timeout = post->limit, .input = post->memory,
                                                 .output = post->memory + BYTES);
    return quern_all_reduce(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status broadcast(struct post *post) {
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = BYTES / 4, .timeout = post->limit, .root = 1,
                                                 .input = post->own[0], .output = post->own[1]);
    return quern_broadcast(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_ragged_all_to_all_args exchange_of(struct post *post) {
    static const int32_t zeros[MOST] = {0};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.row_bytes = 4, args.timeout = post->limit, args.input = post->own[0], args.output = post->own[1];
    args.input_offsets = args.send_sizes = args.recv_sizes = args.output_offsets = zeros;
    return args;
}

static quern_status exchange(struct post *post) {
    const quern_ragged_all_to_all_args args = exchange_of(post);
    return quern_ragged_all_to_all(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status make_plan(struct post *post) {
    const quern_ragged_all_to_all_args args = exchange_of(post);
    rank_ok(post->rank, quern_ragged_plan_destroy(post->plan));
    post->plan = NULL;
    return quern_ragged_plan_create(&post->group, 1, &args, &(void *){post->workspace}, &(size_t){WORKSPACE}, &post->plan);
}

static quern_status run_plan(struct post *post) { return quern_ragged_plan_run(post->plan, NULL); }

static quern_status ask_sizes(struct post *post) {
    const int32_t sizes[MOST] = {0};
    quern_ragged_sizes_args args = RAGGED_SIZES_ARGS(.send_sizes = sizes);
    return quern_ragged_sizes(&post->group, 1, &args);
}

static quern_status send_chunks(struct post *post) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.rows = 1, args.columns = 16, args.timeout = post->limit;
    args.input = post->memory, args.output = post->memory + BYTES, args.ready = (uint32_t *)(void *)(post->memory + 2 * BYTES);
    args.ready_value = ++post->word, args.amax = (float *)(void *)(post->memory + 3 * BYTES);
    return quern_quantize_chunks(post->group, &args, NULL, 0, NULL);
}

/* What rank 1 stores in the memory of rank 0. */
static quern_status await_chunk(struct post *post) {
    uint32_t *word = (uint32_t *)(void *)(post->memory + 2 * BYTES);
    void *peer;
    post->word++;
    if (!post->rank->rank) return quern_chunk_wait(post->group, word, 1, post->word, post->limit, NULL);
    const quern_status status = quern_symmetric_peer(post->group, word, 0, &peer);
    if (status == QUERN_OK) __atomic_store_n((uint32_t *)peer, post->word, __ATOMIC_RELEASE);
    return status;
}

static quern_status begin_transfer(struct post *post, double limit) {
    const int peer = !post->rank->rank;
    const quern_transfer_item items[] = {{0, peer, 1, post->own[0], BYTES}, {1, peer, 1, post->own[1], BYTES}};
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = COUNT(items), .timeout = limit);
    rank_ok(post->rank, quern_transfer_destroy(post->transfer));
    post->transfer = NULL;
    const quern_status status = quern_transfer_prepare(post->group, &args, &post->transfer);
    return status == QUERN_OK ? quern_transfer_start(post->transfer, NULL) : status;
}

/* Between ranks 0 and 1, as the next. */
static quern_status transfer(struct post *post) {
    if (post->rank->rank > 1) return QUERN_OK;
    const quern_status status = begin_transfer(post, post->limit);
    return status == QUERN_OK ? quern_transfer_wait(post->transfer, 0) : status;
}

/* Before the limit of the transfer, which is that of the group's. */
static quern_status wait_for_transfer(struct post *post) {
    if (post->rank->rank > 1) return QUERN_OK;
    const quern_status status = begin_transfer(post, post->limit > SHORT ? SHORT : RANK_LIMIT);
    return status == QUERN_OK ? quern_transfer_wait(post->transfer, post->limit) : status;
}

static quern_status allocate(struct post *post) {
    void *pointer;
    return quern_symmetric_alloc(&post->group, 1, &(size_t){BYTES}, &pointer);
}

static quern_status enrol(struct post *post) {
    return quern_symmetric_register(&post->group, 1, &(void *){post->own}, &(size_t){sizeof post->own});
}

static quern_status split(struct post *post) {
    quern_group *part = NULL;
    const quern_status status = quern_group_split(&post->group, 1, &(int){0}, &(int){0}, &part);
    return status == QUERN_OK ? quern_group_destroy(part) : status;
}

/* Who has not come when the limit ends is left out. */
static quern_status shrink(struct post *post) {
    quern_group *rest;
    rank_ok(post->rank, quern_group_shrink(&post->group, 1, &rest));
    rank_check(post->rank, quern_group_size(rest) == 1, "%d ranks are left", quern_group_size(rest));
    rank_ok(post->rank, quern_group_destroy(rest));
    return quern_group_status(post->group) == QUERN_GROUP_ABORTED ? QUERN_PEER_TIMEOUT : QUERN_OK;
}

/* Which limits a wait can have, and if the ranks of one host only have it.  LATE: the group's has ended when rank 1 comes. */
enum { OF_CALL = 1, OF_GROUP = 2, OF_FIRST = 4, LATE = 8, LIMITS = 16, EVERY = LIMITS - 1 };
static const struct wait {
    const char *name;
    quern_status (*make)(struct post *post);
    int limits;
    bool one_host;
} waits[] = {
    {"barrier", barrier, EVERY, false}, {"barrier of all", barrier_of_all, OF_GROUP | OF_FIRST, false},
    {"all-reduce", reduce, EVERY, false}, {"broadcast", broadcast, EVERY, false}, {"exchange", exchange, EVERY, false},
    {"plan", make_plan, OF_GROUP | OF_FIRST, false}, {"run of a plan", run_plan, OF_CALL | OF_GROUP | LATE, false},
    {"sizes", ask_sizes, OF_GROUP | OF_FIRST, false}, {"chunks", send_chunks, EVERY, true},
    {"wait for chunks", await_chunk, EVERY, true}, {"transfer", transfer, EVERY, false},
    {"wait for a transfer", wait_for_transfer, OF_CALL | LATE, false}, {"allocation", allocate, OF_GROUP | OF_FIRST, false},
    {"registration", enrol, OF_GROUP | OF_FIRST, false}, {"split", split, OF_GROUP | OF_FIRST, false},
    {"shrink", shrink, OF_FIRST, true},
};

/* ---- a wait with one limit ---- */

/* A shrink must end within twice its limit, so that must be longer than a rank waits for a core. */
static double limit_of(const struct wait *wait) { return wait->make == shrink ? LONGER : SHORT; }

/* The limit of a kind is that of rank 0 alone. */
static void set_limits(struct post *post, int kind, double limit) {
    struct quern_membership *member = rank_member_of(post->rank, post->group);
    if (post->rank->rank) return;
    if (kind == OF_GROUP || kind == LATE) member->steady_timeout = limit;
    if (kind == OF_FIRST) member->timeout = member->first_timeout = limit;
}

/* Both make the call once before, with long limits, unless processes cannot; then the group has its own. */
static void open_post(struct post *post, const struct wait *wait, int kind) {
    quern_barrier_args together = BARRIER_ARGS(.timeout = RANK_LIMIT);
    post->limit = kind == LATE ? (double)INFINITY : 0;
    post->group = rank_group(post->rank, RANK_LIMIT);
    rank_ok(post->rank, quern_prepare(post->rank->device, QUERN_COLLECTIVE | QUERN_QUANTIZE | QUERN_RAGGED_ALL_TO_ALL));
    void *memory = rank_allocate(post->rank, post->group, SYMMETRIC);
    post->memory = memory, post->workspace = post->memory + 4 * BYTES;
    if (kind != OF_FIRST && wait->make != run_plan && wait->make != enrol) rank_ok(post->rank, wait->make(post));
    set_limits(post, kind, limit_of(wait));
    if (kind == OF_CALL && !post->rank->rank) post->limit = SHORT;
    if (wait->make == run_plan) rank_ok(post->rank, make_plan(post));
    if (kind != OF_FIRST) rank_ok(post->rank, quern_barrier(post->group, &together, NULL));
}

static void close_post(struct post *post) {
    rank_ok(post->rank, quern_ragged_plan_destroy(post->plan));
    rank_ok(post->rank, quern_transfer_destroy(post->transfer));
    rank_ok(post->rank, quern_group_destroy(post->group));
}

/* Rank 1 makes the call when the limit has ended, or not at all. */
static void wait_with(struct rank *rank, const struct wait *wait, int kind) {
    static struct post posts[MOST];
    struct post *post = &posts[rank->rank];
    double *began = rank->shared;
    *post = (struct post){.rank = rank};
    open_post(post, wait, kind);
    if (!rank->rank) __atomic_store(began, &(double){rank_now()}, __ATOMIC_RELEASE);
    rank_line_up(rank);
    while (rank->rank && kind == LATE && rank_now() < *began + 4 * SHORT) rank_sleep(SHORT / 10);
    if (!rank->rank || kind == LATE) {
        const quern_status status = wait->make(post);
        rank_check_status(rank, status, kind == LATE ? QUERN_OK : QUERN_PEER_TIMEOUT, wait->name, kind);
        rank_check(rank, rank->rank || rank_now() - *began >= limit_of(wait), "%s: limit %d ended before", wait->name, kind);
        rank_check(rank, rank_now() - *began < RANK_SOON, "%s: limit %d did not end the wait", wait->name, kind);
    }
    rank_line_up(rank);
    close_post(post);
}

static void wait_with_each(struct rank *rank) {
    for (size_t i = 0; i < COUNT(waits); i++)
        for (int kind = 1; kind < LIMITS; kind *= 2)
            if (waits[i].limits & kind && !(waits[i].one_host && rank->hosts)) wait_with(rank, &waits[i], kind);
}

Test(limits, each_ends_the_wait_that_has_it) {
    check_ranks(.kind = RANK_BOTH, .count = 2, .body = wait_with_each, .shared_bytes = sizeof(double));
    for (int ranks = 2; ranks <= MOST; ranks++)  /* of two hosts, on each of which one rank is, or beside rank 0 another one */
        check_ranks(.kind = RANK_PROCESSES, .count = ranks, .hosts = 2, .body = wait_with_each, .shared_bytes = sizeof(double));
}

/* ---- the creation ---- */

/* By first_timeout, or without it by timeout. */
TEST_BODY_FOR(limits, either_ends_the_creation,
              for (int hosts = 0; hosts <= 2; hosts += 2) for (int has_first = 0; has_first < 2; has_first++),
              .kind = RANK_PROCESSES, .count = 2, .hosts = hosts, .user = &(bool){has_first}) {
    const bool has_first = *(const bool *)rank->user;
    const double began = rank_now();
    quern_group_args args = rank_group_args(rank, has_first ? RANK_LIMIT : SHORT);
    args.first_timeout = has_first ? SHORT : 0;
    if (rank->rank) return;
    rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, "");
    rank_check(rank, rank_now() - began >= SHORT && rank_now() - began < RANK_SOON, "it took %g s", rank_now() - began);
}
