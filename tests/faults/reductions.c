/*
 * Every pair of a point of collectives over NCCL (src/ranks/points.h) and a fault, between three emulated GPUs of two hosts.
 *
 * The ranks reduce nothing and then something, twice, the latter in two groups of NCCL.  However it ends: every rank returns, with
 * a status that the fault explains; a result of a group that is sound is right; nothing is written beside it; and no input is
 * changed.  Waits in NCCL end by a clock that no point moves, so test_nccl_reduce.c has the limits.
 *
 *   reductions [--deep]    all
 *   reductions TEXT        those whose names, as a failure prints them, contain the text
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/nccl_side.h"

enum { RANKS = 3, HOSTS = 2, ELEMENTS = 140000, GUARD = 64, ROUNDS = 2, WORKSPACE = 2 << 20 };

static const enum point_fault faults[] = {POINT_DELAY, POINT_KILL, POINT_ABORT};
enum { FAULTS = sizeof faults / sizeof *faults };

struct plan {
    struct point_plan points;
};

/* ---- a rank ---- */

struct side {
    struct rank *rank;
    struct nccl_side gpu;
    float *input, *output;    /* [ELEMENTS + GUARD] */
    void *workspace;
};

static void *allocate(struct side *side, size_t bytes) {
    CUdeviceptr memory;
    cuda_ok(&side->gpu, memory_allocate(&memory, bytes));
    return (void *)(uintptr_t)memory;
}

static void open_side(struct side *side, struct rank *rank) {
    side->rank = rank;
    nccl_open_gpu(&side->gpu, rank, rank->rank);
    rank_ok(rank, quern_prepare(side->gpu.device, QUERN_COLLECTIVE));
    const quern_group_args args = nccl_args(&side->gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &side->gpu.group));
    side->input = allocate(side, (ELEMENTS + GUARD) * sizeof(float));
    side->output = allocate(side, (ELEMENTS + GUARD) * sizeof(float));
    side->workspace = allocate(side, WORKSPACE);
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

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct side side;
    char detail[256] = "";
    quern_status status = QUERN_OK;
    open_side(&side, rank);
    rank_line_up(rank);
    points_begin(rank->shared, &plan->points, rank->rank);
    points_enter_step(0);
    points_offer(side.gpu.group);
    struct points_aborter *aborter = points_start_aborter();
    for (int round = 0; round < ROUNDS && status == QUERN_OK; round++) status = run_round(&side, round);
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    rank_ok(rank, nccl_close(&side.gpu));
    return status;
}

/* ---- the expected ends ---- */

static bool is_explained(const void *user, quern_status status) {
    const enum point_fault fault = ((const struct plan *)user)->points.stop[0].fault;
    if (status == QUERN_OK) return true;
    return fault == POINT_KILL ? status == QUERN_PEER_LOST
                               : fault == POINT_ABORT && (status == QUERN_GROUP_ABORTED || status == QUERN_PEER_LOST);
}

/* The first two ranks that come to it, and the first one that comes again. */
static void run_point(enum quern_point point) {
    static const unsigned arrivals[] = {1, 2, RANKS + 1};
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++)
        for (int fault = 0; fault < FAULTS; fault++) {
            const struct plan plan = {.points = {.ranks = RANKS, .stop = {{faults[fault], point, -1, 0, arrivals[i]}}}};
            char name[160];
            snprintf(name, sizeof name, "point %s, arrival %u, fault %s", point_name(point), arrivals[i],
                     point_fault_name(faults[fault]));
            visit_run((struct ranks){.kind = RANK_PROCESSES, .count = RANKS, .hosts = HOSTS, .function = live, .user = &plan},
                      &plan.points.stop[0], 0, name, is_explained);
        }
}

static void visit_all(void) {
    for (enum quern_point point = QUERN_POINT_NCCL_NOTICED; point <= QUERN_POINT_NCCL_COMBINED; point++) run_point(point);
}

static bool is_pair(enum quern_point point, enum point_fault fault) {
    return point >= QUERN_POINT_NCCL_NOTICED && point <= QUERN_POINT_NCCL_COMBINED &&
           (fault == POINT_DELAY || fault == POINT_KILL || fault == POINT_ABORT);
}

int main(int count, char **words) {
    private_shm_enter(NULL);
    nccl_set_machine("");
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){""});
}
