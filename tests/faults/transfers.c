/*
 * Every pair of a point of transfers (src/ranks/points.h) and a fault, between two ranks in threads and in processes.
 *
 * Both ranks send each other a small and a large item, three times.  In the late scene rank 1 does not start, so that the limit of
 * rank 0 ends.  However it ends: every rank returns, with a status that the fault explains; what a rank has completed
 * is what was sent; nothing is written beside it; and what a rank sends is never changed.
 *
 *   transfers [--deep]    all
 *   transfers TEXT        those whose names, as a failure prints them, contain the text
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/ranks.h"

enum { RANKS = 2, SMALL = 700, LARGE = 90000 };

struct plan {
    struct point_plan points;
    enum rank_kind kind;
    bool is_late;
};

/* ---- a rank ---- */

struct memory {
    unsigned char out[MUTUAL_LISTS][LARGE], in[MUTUAL_LISTS][LARGE + MUTUAL_GUARD];
};

static quern_status run_transfers(struct mutual *side, quern_group *group, bool is_late) {
    quern_status status = mutual_prepare(side, group);
    if (is_late) points_be_late();
    else if (side->rank->rank && status == QUERN_OK) points_wait_for(QUERN_POINT_TRANSFER_SLEEPING, 2);
    return status == QUERN_OK ? mutual_run(side) : status;
}

static void open_side(struct mutual *side, struct rank *rank, struct memory *memory) {
    rank_check(rank, memory, "no memory");
    memset(memory->in, 0xee, sizeof memory->in);
    *side = (struct mutual){.rank = rank, .bytes = {SMALL, LARGE}};
    for (int list = 0; list < MUTUAL_LISTS; list++) side->out[list] = memory->out[list], side->in[list] = memory->in[list];
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct memory *memory = calloc(1, sizeof *memory);
    struct mutual side;
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    quern_group *group;
    open_side(&side, rank, memory);
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_line_up(rank);
    points_begin(rank->shared, &plan->points, rank->rank);
    points_enter_step(0);
    points_offer(group);
    struct points_aborter *aborter = points_start_aborter();
    quern_status status = run_transfers(&side, group, plan->is_late && rank->rank);
    char detail[256] = "";
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    mutual_end(&side);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    rank_ok(rank, quern_group_destroy(group));
    free(memory);
    return status;
}

/* ---- the expected ends ---- */

static bool is_explained(const void *user, quern_status status) {
    const struct plan *plan = user;
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_KILL] = QUERN_PEER_LOST, [POINT_ABORT] = QUERN_GROUP_ABORTED,
        [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    const enum point_fault fault = plan->points.stop[0].fault;
    const bool fails = fault > POINT_DELAY || plan->is_late;  /* a rank whose one list has failed destroys the other, too */
    return status == QUERN_OK || status == by_fault[fault] || (fails && status == QUERN_PEER_LOST) ||
           (plan->is_late && status == QUERN_PEER_TIMEOUT);
}

static void run_point(enum rank_kind kind, enum quern_point point, unsigned arrival) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        const bool is_late = point == QUERN_POINT_TRANSFER_EXPIRING;
        const struct plan plan = {.points = {.ranks = RANKS, .stop = {{fault, point, -1, 0, arrival}}}, .kind = kind,
                                  .is_late = is_late};
        char name[160];
        if (fault == POINT_KILL && kind == RANK_THREADS) continue;
        snprintf(name, sizeof name, "%s, point %s, arrival %u, fault %s", rank_kind_name(kind), point_name(point), arrival,
                 point_fault_name(fault));
        visit_run((struct ranks){.kind = kind, .count = RANKS, .function = live, .user = &plan}, &plan.points.stop[0], 0, name,
                  is_explained);
    }
}

static void visit_all(void) {
    for (size_t kind = 0; kind < sizeof rank_kinds / sizeof *rank_kinds; kind++)
        for (enum quern_point point = QUERN_POINT_TRANSFER_PREPARED; point <= QUERN_POINT_TRANSFER_ENDING; point++)
            for (unsigned arrival = 1; arrival <= 2; arrival++)
                if (point != QUERN_POINT_TRANSFER_EXPIRING || arrival == 1) run_point(rank_kinds[kind], point, arrival);
}

static bool is_pair(enum quern_point point, enum point_fault fault) {
    (void)fault;
    return point >= QUERN_POINT_TRANSFER_PREPARED && point <= QUERN_POINT_TRANSFER_ENDING;
}

int main(int count, char **words) {
    private_shm_enter(NULL);
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){""});
}
