/*
 * Every pair of a point of windows (src/ranks/points.h) and a fault, between two emulated GPUs of two processes.
 *
 * Both ranks send each other items of memory that is not symmetric, of less than a piece and of several, three times.  However it
 * ends: every rank returns, with a status that the fault explains; what a rank has completed is what was sent; nothing is written
 * beside it; and what a rank sends is never changed.
 *
 *   windows [--deep]    all
 *   windows TEXT        those whose names, as a failure prints them, contain the text
 *
 * The memory of an emulated GPU is memory of the host, so the checks read it there.  The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/nccl_side.h"
#include "ranks/transfer/stage.h"

enum { RANKS = 2, SMALL = 70000, LARGE = 2 * QUERN_STAGE_BYTES + 1000 };

struct plan {
    struct point_plan points;
};

/* ---- a rank ---- */

static unsigned char *allocate(struct nccl_side *gpu) {
    CUdeviceptr memory;
    cuda_ok(gpu, memory_allocate(&memory, LARGE + MUTUAL_GUARD));
    memset((void *)(uintptr_t)memory, 0xee, LARGE + MUTUAL_GUARD);
    return (unsigned char *)(uintptr_t)memory;
}

static void open_side(struct mutual *side, struct rank *rank, struct nccl_side *gpu) {
    nccl_open_gpu(gpu, rank, rank->rank);
    const quern_group_args args = nccl_args(gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &gpu->group));
    *side = (struct mutual){.rank = rank, .stream = gpu->stream, .bytes = {SMALL, LARGE}};
    for (int list = 0; list < MUTUAL_LISTS; list++) {
        side->out[list] = allocate(gpu);
        side->in[list] = allocate(gpu);
    }
}

static quern_status run_transfers(struct mutual *side, quern_group *group) {
    const quern_status status = mutual_prepare(side, group);
    return status == QUERN_OK ? mutual_run(side) : status;
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct nccl_side gpu = {0};
    struct mutual side;
    open_side(&side, rank, &gpu);
    rank_line_up(rank);
    points_begin(rank->shared, &plan->points, rank->rank);
    points_enter_step(0);
    points_offer(gpu.group);
    struct points_aborter *aborter = points_start_aborter();
    quern_status status = run_transfers(&side, gpu.group);
    char detail[256] = "";
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    mutual_end(&side);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    rank_ok(rank, nccl_close(&gpu));
    return status;
}

/* ---- the expected ends ---- */

static bool is_explained(const void *user, quern_status status) {
    const struct plan *plan = user;
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_KILL] = QUERN_PEER_LOST, [POINT_ABORT] = QUERN_GROUP_ABORTED,
        [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    const enum point_fault fault = plan->points.stop[0].fault;
    const bool fails = fault > POINT_DELAY;  /* a rank whose one list has failed destroys the other, too */
    return status == QUERN_OK || status == by_fault[fault] || (fails && status == QUERN_PEER_LOST);
}

static void run_point(enum quern_point point, unsigned arrival) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        const struct plan plan = {.points = {.ranks = RANKS, .stop = {{fault, point, -1, 0, arrival}}}};
        char name[160];
        snprintf(name, sizeof name, "point %s, arrival %u, fault %s", point_name(point), arrival, point_fault_name(fault));
        visit_run((struct ranks){.kind = RANK_PROCESSES, .count = RANKS, .function = live, .user = &plan}, &plan.points.stop[0], 0,
                  name, is_explained);
    }
}

static void visit_all(void) {
    for (enum quern_point point = QUERN_POINT_STAGE_LISTENING; point <= QUERN_POINT_STAGE_TAKEN; point++)
        for (unsigned arrival = 1; arrival <= 2; arrival++) run_point(point, arrival);
}

static bool is_pair(enum quern_point point, enum point_fault fault) {
    (void)fault;
    return point >= QUERN_POINT_STAGE_LISTENING && point <= QUERN_POINT_STAGE_TAKEN;
}

int main(int count, char **words) {
    private_shm_enter(NULL);
    nccl_set_machine("");
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){""});
}
