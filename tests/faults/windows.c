/*
 * Every pair of a point of windows (src/ranks/points.h) and a fault, between two emulated GPUs of two processes.
 *
 * Both ranks send each other items of memory that is not symmetric, of less than a piece and of several, three times.  However it
 * ends: every rank returns, with a status that the fault explains; what a rank has completed is what was sent; nothing is written
 * beside it; and what a rank sends is never changed.
 *
 *   windows             all
 *   windows TEXT        those whose names, as a failure prints them, contain the text
 *
 * The memory of an emulated GPU is memory of the host, so the checks read it there.  The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "harness/nccl_side.h"
#include "ranks/transfer/stage.h"

enum { RANKS = 2, SMALL = 70000, LARGE = 2 * QUERN_STAGE_BYTES + 1000 };

static const double RUN_LIMIT = 100;  /* seconds until a run counts as a hang */

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

static int passed, failed;
static unsigned struck[QUERN_POINT_COUNT][POINT_FAULTS];
static const char *wanted;  /* NULL: all */

static bool is_explained(const struct plan *plan, quern_status status) {
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_KILL] = QUERN_PEER_LOST, [POINT_ABORT] = QUERN_GROUP_ABORTED,
        [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    const enum point_fault fault = plan->points.stop[0].fault;
    const bool fails = fault > POINT_DELAY;  /* a rank whose one list has failed destroys the other, too */
    return status == QUERN_OK || status == by_fault[fault] || (fails && status == QUERN_PEER_LOST);
}

static const char *judge(const struct plan *plan, struct rank_run *run) {
    const struct points *points = ranks_shared(run);
    const struct point_stop *stop = &plan->points.stop[0];
    const int victim = points->victim[0] - 1;
    bool may_die[RANKS] = {false};
    if (victim >= 0 && stop->fault == POINT_KILL) may_die[victim] = true;
    const char *wrong = ranks_wait(run, may_die);
    if (victim >= 0) struck[stop->point][stop->fault]++;
    for (int rank = 0; rank < RANKS && !wrong; rank++)
        if (!(rank == victim && may_die[rank]) && !is_explained(plan, ranks_result(run, rank)->status))
            wrong = ranks_result(run, rank)->detail;
    return wrong;
}

static void run_plan(const struct plan *plan, const char *name) {
    if (wanted && !strstr(name, wanted)) return;
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = RANKS, .function = live, .user = plan,
                                                       .shared_bytes = sizeof(struct points), .limit = RUN_LIMIT});
    points_await_end(run, RUN_LIMIT, plan->points.stop[0].fault == POINT_KILL);
    const char *wrong = judge(plan, run);
    if (wrong) printf("%s: %s\n", name, wrong);
    failed += wrong != NULL;
    passed += wrong == NULL;
    ranks_close(run);
}

static void run_point(enum quern_point point, unsigned arrival) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        const struct plan plan = {.points = {.ranks = RANKS, .stop = {{fault, point, -1, 0, arrival}}}};
        char name[160];
        snprintf(name, sizeof name, "point %s, arrival %u, fault %s", point_name(point), arrival, point_fault_name(fault));
        run_plan(&plan, name);
    }
}

/* Every pair must have happened. */
static void check_struck(void) {
    for (enum quern_point point = QUERN_POINT_STAGE_LISTENING; point <= QUERN_POINT_STAGE_TAKEN; point++)
        for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
            if (struck[point][fault]) continue;
            printf("no rank met fault %s at point %s\n", point_fault_name(fault), point_name(point));
            failed++;
        }
}

int main(int count, char **words) {
    wanted = count > 1 ? words[1] : NULL;
    private_shm_enter(NULL);
    nccl_set_machine("");
    for (enum quern_point point = QUERN_POINT_STAGE_LISTENING; point <= QUERN_POINT_STAGE_TAKEN; point++)
        for (unsigned arrival = 1; arrival <= 2; arrival++) run_point(point, arrival);
    if (!wanted) check_struck();
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
