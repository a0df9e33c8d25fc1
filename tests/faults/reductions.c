/*
 * Every pair of a point of collectives over NCCL (src/ranks/points.h) and a fault, between three emulated GPUs of two hosts.
 *
 * The ranks reduce nothing and then something, twice, the latter in two groups of NCCL.  However it ends: every rank returns, with
 * a status that the fault explains; a result of a group that is sound is right; nothing is written beside it; and no input is
 * changed.  Waits in NCCL end by a clock that no point moves, so test_nccl_collective.c has the limits.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <string.h>

#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/nccl_side.h"

enum { RANKS = 3, HOSTS = 2, ELEMENTS = 140000, GUARD = 64, ROUNDS = 2, WORKSPACE = 2 << 20 };

struct side {
    struct rank *rank;
    struct nccl_side gpu;
    float *input, *output;    /* [ELEMENTS + GUARD] */
    void *workspace;
};

static void open_side(struct side *side, struct rank *rank) {
    side->rank = rank;
    nccl_open_gpu(&side->gpu, rank, rank->rank);
    rank_ok(rank, quern_prepare(side->gpu.device, QUERN_COLLECTIVE));
    const quern_group_args args = nccl_args(&side->gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &side->gpu.group));
    side->input = nccl_allocate(&side->gpu, (ELEMENTS + GUARD) * sizeof(float));
    side->output = nccl_allocate(&side->gpu, (ELEMENTS + GUARD) * sizeof(float));
    side->workspace = nccl_allocate(&side->gpu, WORKSPACE);
}

static float value_of(int rank, int round, int i) { return (float)(i + 7 * rank + round); }

static void check_round(const struct side *side, int round, bool is_sound) {
    for (int i = 0; i < ELEMENTS; i++) {
        const float sum = value_of(0, round, i) + value_of(1, round, i) + value_of(2, round, i);
        rank_check(side->rank, !is_sound || side->output[i] == sum, "round %d: element %d is %g", round, i,
                   (double)side->output[i]);
        rank_check(side->rank, side->input[i] == value_of(side->rank->rank, round, i), "round %d: an input has changed", round);
    }
    for (int i = ELEMENTS; i < ELEMENTS + GUARD; i++)
        rank_check(side->rank, side->output[i] == -1, "round %d: something was written behind the output", round);
}

/* A call that waits for no stream: the notices of the next one follow at once. */
static quern_status agree_on_nothing(const struct side *side) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32;
    return quern_all_reduce(side->gpu.group, &args, NULL, 0, side->gpu.stream);
}

static quern_status run_round(struct side *side, int round) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.count = ELEMENTS, args.input = side->input, args.output = side->output;
    for (int i = 0; i < ELEMENTS + GUARD; i++) side->input[i] = value_of(side->rank->rank, round, i), side->output[i] = -1;
    quern_status status = agree_on_nothing(side);
    if (status == QUERN_OK) status = quern_all_reduce(side->gpu.group, &args, side->workspace, WORKSPACE, side->gpu.stream);
    cuda_ok(&side->gpu, stream_synchronize(side->gpu.stream));
    if (status == QUERN_OK) status = quern_group_status(side->gpu.group);
    check_round(side, round, status == QUERN_OK);
    return status;
}

static quern_status run_rounds(void *side) {
    quern_status status = QUERN_OK;
    for (int round = 0; round < ROUNDS && status == QUERN_OK; round++) status = run_round(side, round);
    return status;
}

static quern_status live(struct rank *rank) {
    struct side side;
    open_side(&side, rank);
    const quern_status status = visit_strike(rank, side.gpu.group, run_rounds, NULL, &side);
    rank_ok(rank, nccl_close(&side.gpu));
    return status;
}

/* The first two ranks that come to it, and the first one that comes again. */
static const struct visit_scene scenes[] = {
    {"reductions", {.kind = RANK_PROCESSES, .count = RANKS, .hosts = HOSTS, .function = live, .nccl = ""}, .spreads = true,
     .first = QUERN_POINT_NCCL_NOTICED, .last = QUERN_POINT_NCCL_COMBINED, .arrivals = {1, 2, RANKS + 1},
     .faults = 1 << POINT_DELAY | 1 << POINT_KILL | 1 << POINT_ABORT},
};

int main(int count, char **words) {
    private_shm_enter(NULL);
    return VISIT_SCENES(count, words, scenes, "");
}
