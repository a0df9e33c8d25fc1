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

#include "faults/private_shm.h"
#include "harness/nccl_side.h"
#include "ranks/transfer/stage.h"

enum { RANKS = 2, LISTS = 2, LARGE = 2 * QUERN_STAGE_BYTES + 1000, GUARD = 64, ROUNDS = 3 };

static const double RUN_LIMIT = 100;  /* seconds until a run counts as a hang */

struct plan {
    struct point_plan points;
};

static const int64_t sizes[LISTS] = {70000, LARGE};

/* ---- a rank ---- */

struct side {
    struct rank *rank;
    struct nccl_side gpu;
    unsigned char *out[LISTS], *in[LISTS];
    quern_transfer *transfer[LISTS];
};

static unsigned char *allocate(struct side *side) {
    CUdeviceptr memory;
    cuda_ok(&side->gpu, memory_allocate(&memory, LARGE + GUARD));
    memset((void *)(uintptr_t)memory, 0xee, LARGE + GUARD);
    return (unsigned char *)(uintptr_t)memory;
}

static unsigned char value_of(int rank, int round) { return (unsigned char)(1 + rank * 16 + round); }

static bool is_filled(const unsigned char *bytes, int64_t count, unsigned char value) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, (size_t)count - 1) == 0;
}

static quern_status prepare(struct side *side, quern_group *group, int list) {
    const int peer = !side->rank->rank;
    const quern_transfer_item items[] = {{.receive = 0, .peer = peer, .tag = 1, .memory = side->out[list], .bytes = sizes[list]},
                                         {.receive = 1, .peer = peer, .tag = 1, .memory = side->in[list], .bytes = sizes[list]}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = items, args.item_count = 2, args.key = (uint64_t)list;
    return quern_transfer_prepare(group, &args, &side->transfer[list]);
}

static quern_status run_round(struct side *side, int round) {
    const int rank = side->rank->rank;
    quern_status status = QUERN_OK;
    for (int list = 0; list < LISTS && status == QUERN_OK; list++) {
        memset(side->out[list], value_of(rank, round), LARGE);
        status = quern_transfer_start(side->transfer[list], side->gpu.stream);
    }
    for (int list = LISTS - 1; list >= 0 && status == QUERN_OK; list--) {
        status = quern_transfer_wait(side->transfer[list], 0);
        rank_check(side->rank, status != QUERN_OK || is_filled(side->in[list], sizes[list], value_of(!rank, round)),
                   "round %d: list %d is complete, and not what was sent", round, list);
    }
    return status;
}

static void check_memory(struct side *side) {
    for (int list = 0; list < LISTS; list++) {
        rank_check(side->rank, is_filled(side->in[list] + sizes[list], GUARD, 0xee), "something was written beside list %d", list);
        rank_check(side->rank, is_filled(side->out[list], LARGE, side->out[list][0]), "what was sent has changed");
    }
}

static quern_status run_transfers(struct side *side, quern_group *group) {
    quern_status status = QUERN_OK;
    for (int list = 0; list < LISTS && status == QUERN_OK; list++) status = prepare(side, group, list);
    for (int round = 0; round < ROUNDS && status == QUERN_OK; round++) status = run_round(side, round);
    return status;
}

static void open_side(struct side *side, struct rank *rank) {
    side->rank = rank;
    nccl_open_gpu(&side->gpu, rank, rank->rank);
    const quern_group_args args = nccl_args(&side->gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &side->gpu.group));
    for (int list = 0; list < LISTS; list++) {
        side->out[list] = allocate(side);
        side->in[list] = allocate(side);
    }
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct side *side = calloc(1, sizeof *side);
    rank_check(rank, side, "no memory");
    open_side(side, rank);
    rank_line_up(rank);
    points_begin(rank->shared, &plan->points, rank->rank);
    points_enter_step(0);
    points_offer(side->gpu.group);
    struct points_aborter *aborter = points_start_aborter();
    quern_status status = run_transfers(side, side->gpu.group);
    char detail[256] = "";
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    for (int list = 0; list < LISTS; list++)
        if (side->transfer[list]) rank_ok(rank, quern_transfer_destroy(side->transfer[list]));
    check_memory(side);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    rank_ok(rank, nccl_close(&side->gpu));
    free(side);
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
