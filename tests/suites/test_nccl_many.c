/*
 * Groups of more than 128 GPUs of several hosts, over the stand-in for NCCL, since a fabric serves no more: every call, and the
 * sums that are refused.
 *
 * Runs on: one emulated.
 */
#include "harness/device.h"
#include "harness/nccl_side.h"
#include "ranks/membership.h"

enum { RANKS = 130, HOSTS = 2 };

#define MANY .kind = RANK_THREADS, .count = RANKS, .hosts = HOSTS, .nccl = "", .fabric = "one", \
             .operations = QUERN_BARRIER | QUERN_COLLECTIVE | QUERN_RAGGED_ALL_TO_ALL

static uint32_t value_of(int rank) { return 1000 + 7 * (uint32_t)rank; }

static void barrier_of(struct nccl_side *side, const int *members, int count) {
    const quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    rank_ok(side->rank, quern_barrier(side->group, &args, side->stream));
}

/* By all, and by some of which the last ones are beyond 128. */
static void meet(struct nccl_side *side) {
    static const int last[] = {1, 127, 128, 129};
    rank_ok(side->rank, quern_barrier(side->group, NULL, side->stream));
    for (size_t i = 0; i < COUNT(last); i++)
        if (side->rank->rank == last[i]) barrier_of(side, last, COUNT(last));
    cuda_ok(side, stream_synchronize(side->stream));
}

static void gather(struct nccl_side *side) {
    struct rank *rank = side->rank;
    const uint32_t mine = value_of(rank->rank);
    uint32_t *all = nccl_allocate(side, sizeof *all * RANKS), seen[RANKS];
    void *input = (void *)(uintptr_t)side->word;
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1, .input = input, .output = all);
    nccl_put(side, input, &mine, sizeof mine);
    rank_ok(rank, quern_all_gather(side->group, &args, NULL, 0, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_get(side, seen, all, sizeof seen);
    for (int from = 0; from < RANKS; from++)
        rank_check(rank, seen[from] == value_of(from), "%u of rank %d", seen[from], from);
    nccl_release(side, all);
}

/* From rank 129. */
static void broadcast(struct nccl_side *side) {
    const uint32_t mine = value_of(side->rank->rank);
    void *word = (void *)(uintptr_t)side->word;
    uint32_t seen;
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1, .input = word, .output = word, .root = 129);
    nccl_put(side, word, &mine, sizeof mine);
    rank_ok(side->rank, quern_broadcast(side->group, &args, NULL, 0, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_get(side, &seen, word, sizeof seen);
    rank_check(side->rank, seen == value_of(129), "%u was broadcast", seen);
}

/* Each sends a word to each. */
static void exchange(struct nccl_side *side) {
    struct rank *rank = side->rank;
    int32_t ones[RANKS], to[RANKS], from[RANKS];
    uint32_t sent[RANKS], seen[RANKS];
    uint32_t *input = nccl_allocate(side, sizeof sent), *output = nccl_allocate(side, sizeof seen);
    for (int peer = 0; peer < RANKS; peer++) {
        ones[peer] = 1, from[peer] = peer, to[peer] = rank->rank;
        sent[peer] = value_of(rank->rank) * 1000 + (uint32_t)peer;
    }
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = input, args.output = output, args.row_bytes = 4, args.input_rows = args.output_rows = RANKS;
    args.input_offsets = from, args.output_offsets = to, args.send_sizes = args.recv_sizes = ones;
    nccl_put(side, input, sent, sizeof sent);
    rank_ok(rank, quern_ragged_all_to_all(side->group, &args, NULL, 0, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_get(side, seen, output, sizeof seen);
    for (int peer = 0; peer < RANKS; peer++)
        rank_check(rank, seen[peer] == value_of(peer) * 1000 + (uint32_t)rank->rank, "%u from rank %d", seen[peer], peer);
    nccl_release(side, input);
    nccl_release(side, output);
}

/* Large and small in turns, so that the order of a sum shows. */
static float input_of(int rank, int element) {
    return (rank % 3 ? 1.0f : 1e8f) * (rank % 2 ? 1.0f : -1.0f) + (float)(rank * element);
}

enum { ELEMENTS = 67 };

/* In place the ranks beyond 128 have their own inputs in the output. */
static void sum_of_all(struct nccl_side *side, bool in_place) {
    struct rank *rank = side->rank;
    float mine[ELEMENTS], seen[ELEMENTS];
    float *input = nccl_allocate(side, sizeof mine), *output = in_place ? input : nccl_allocate(side, sizeof mine);
    size_t bytes;
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = ELEMENTS, .input = input, .output = output);
    rank_ok(rank, quern_collective_workspace(side->group, &args, &bytes));
    void *workspace = nccl_allocate(side, (int64_t)bytes);
    for (int i = 0; i < ELEMENTS; i++) mine[i] = input_of(rank->rank, i);
    nccl_put(side, input, mine, sizeof mine);
    rank_ok(rank, quern_all_reduce(side->group, &args, workspace, bytes, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_get(side, seen, output, sizeof seen);
    for (int i = 0; i < ELEMENTS; i++) {
        float sum = input_of(0, i);
        for (int from = 1; from < RANKS; from++) sum += input_of(from, i);
        rank_check(rank, seen[i] == sum, "element %d is %.9g instead of %.9g", i, (double)seen[i], (double)sum);
    }
    nccl_release(side, workspace);
    nccl_release(side, input);
    if (!in_place) nccl_release(side, output);
}

/* In 16 bits a sum of all is refused everywhere, and the group stays; a maximum is not rounded. */
static void reduce_16_bits(struct nccl_side *side) {
    const uint16_t mine = (uint16_t)(0x3f80 + side->rank->rank);
    uint16_t seen;
    void *word = (void *)(uintptr_t)side->word;
    size_t bytes;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_BF16, .count = 1, .input = word, .output = word);
    rank_ok(side->rank, quern_collective_workspace(side->group, &args, &bytes));
    void *workspace = nccl_allocate(side, (int64_t)bytes);
    nccl_put(side, word, &mine, sizeof mine);
    rank_refused(side->rank, quern_all_reduce(side->group, &args, workspace, bytes, side->stream), QUERN_NOT_SUPPORTED,
                 "the sum of 130 members in 16 bits, over NCCL: expected at most 128 members, or F32");
    args.combination = QUERN_COMBINE_MAX;
    rank_ok(side->rank, quern_all_reduce(side->group, &args, workspace, bytes, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_get(side, &seen, word, sizeof seen);
    rank_check(side->rank, seen == 0x3f80 + RANKS - 1, "the maximum is %x", seen);
    nccl_release(side, workspace);
}

TEST_SIDE(nccl_many, every_call, MANY) {
    rank_check(rank, !strcmp(rank_member_of(rank, side->group)->transport->name, "NCCL"), "another transport");
    meet(side);
    gather(side);
    broadcast(side);
    exchange(side);
    sum_of_all(side, false);
    sum_of_all(side, true);
    reduce_16_bits(side);
    rank_ok(rank, quern_group_status(side->group));
    rank_line_up(rank);
}
