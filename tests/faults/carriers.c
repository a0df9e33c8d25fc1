/*
 * Every pair of a point of messages over a carrier (src/ranks/points.h) and a fault, between two ranks of two hosts, in threads and
 * in processes, over a carrier that borrows memory and one that gets copies.
 *
 * The ranks exchange small and large slices, three times; or they send each other as much in a transfer.  However it ends: every
 * rank returns, with a status that the fault explains;
 * what a rank has completed is what was sent; nothing is written beside it; and what a rank sends is never changed.
 *
 *   carriers [--deep]    all
 *   carriers TEXT        those whose names, as a failure prints them, contain the text
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

enum { RANKS = 2, SIZES = 2, LARGE = 90000, GUARD = 64, ROUNDS = 3, SPACE = 1 << 20 };

static const struct carrier_choice carriers[] = {{.borrows = true}, {.longest = 9000}};

struct plan {
    struct point_plan points;
    enum rank_kind kind;
    const struct carrier_choice *carrier;
    bool transfers;   /* not exchanges */
};

static const int32_t sizes[SIZES] = {300, LARGE};

/* ---- a rank ---- */

struct side {
    struct rank *rank;
    unsigned char out[RANKS * LARGE], in[RANKS * LARGE + GUARD];
    void *workspace;
};

/* Each rank sends as much to itself and to the other one. */
static quern_status exchange(struct side *side, quern_group *group, int round, int32_t size) {
    const int rank = side->rank->rank;
    const int32_t from[] = {0, size}, counts[] = {size, size}, to[] = {rank * size, rank * size};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = side->out, args.output = side->in, args.input_rows = args.output_rows = RANKS * LARGE, args.row_bytes = 1;
    args.input_offsets = from, args.send_sizes = args.recv_sizes = counts, args.output_offsets = to;
    memset(side->out, mutual_value(rank, round), sizeof side->out);
    quern_status status = quern_ragged_all_to_all(group, &args, side->workspace, SPACE, NULL);
    for (int sender = 0; sender < RANKS && status == QUERN_OK; sender++)
        rank_check(side->rank, mutual_is_filled(side->in + sender * size, size, mutual_value(sender, round)),
                   "round %d is complete, and not what was sent", round);
    return status;
}

/* Both ways, as large as a slice. */
static quern_status transfer(struct side *side, quern_group *group, int *round) {
    const int rank = side->rank->rank;
    const quern_transfer_item items[] = {{.receive = 0, .peer = !rank, .tag = 1, .memory = side->out, .bytes = LARGE},
                                         {.receive = 1, .peer = !rank, .tag = 1, .memory = side->in, .bytes = LARGE}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    quern_transfer *prepared = NULL;
    args.items = items, args.item_count = 2;
    quern_status status = quern_transfer_prepare(group, &args, &prepared);
    for (; *round < ROUNDS && status == QUERN_OK; ++*round) {
        memset(side->out, mutual_value(rank, *round), sizeof side->out);
        status = quern_transfer_start(prepared, NULL);
        if (status == QUERN_OK) status = quern_transfer_wait(prepared, 0);
        rank_check(side->rank, status != QUERN_OK || mutual_is_filled(side->in, LARGE, mutual_value(!rank, *round)),
                   "round %d is complete, and not what was sent", *round);
    }
    if (prepared) rank_ok(side->rank, quern_transfer_destroy(prepared));
    memset(side->in, 0x77, LARGE);  /* nobody writes there any more */
    return status;
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct side *side = calloc(1, sizeof *side);
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    quern_group *group;
    rank_check(rank, side, "no memory");
    side->rank = rank;
    memset(side->in, 0xee, sizeof side->in);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){SPACE}, &side->workspace));
    rank_line_up(rank);
    points_begin(rank->shared, &plan->points, rank->rank);
    points_enter_step(0);
    points_offer(group);
    struct points_aborter *aborter = points_start_aborter();
    quern_status status = QUERN_OK;
    int round = 0;
    if (plan->transfers) status = transfer(side, group, &round);
    for (; !plan->transfers && round < ROUNDS * SIZES && status == QUERN_OK; round++)
        status = exchange(side, group, round, sizes[round % SIZES]);
    char detail[256] = "";
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    const quern_status end = quern_group_destroy(group);
    rank_check(rank, end == QUERN_OK || (end == QUERN_PEER_LOST && status != QUERN_OK), "destroying gave %s",
               quern_status_string(end));
    rank_check(rank, mutual_is_filled(side->in + RANKS * LARGE, GUARD, 0xee), "something was written beside the output");
    rank_check(rank, mutual_is_filled(side->out, sizeof side->out, mutual_value(rank->rank, round - 1)),
               "what was sent has changed");
    if (end == QUERN_OK) free(side);
    return status;
}

/* ---- the expected ends ---- */

/* A rank whose limit has ended, or that is held, may be found by the other one as lost. */
static bool is_explained(const void *user, quern_status status) {
    const struct plan *plan = user;
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_KILL] = QUERN_PEER_LOST, [POINT_ABORT] = QUERN_GROUP_ABORTED,
        [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    const enum point_fault fault = plan->points.stop[0].fault;
    const bool is_left = plan->transfers && fault > POINT_DELAY && status == QUERN_PEER_LOST;  /* the other one destroys its own */
    return status == QUERN_OK || status == by_fault[fault] || is_left;
}

static void run_point(enum rank_kind kind, const struct carrier_choice *carrier, enum quern_point point, unsigned arrival,
                      bool transfers) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        const struct plan plan = {.points = {.ranks = RANKS, .stop = {{fault, point, -1, 0, arrival}}}, .kind = kind,
                                  .carrier = carrier, .transfers = transfers};
        char name[160];
        if (fault == POINT_KILL && kind == RANK_THREADS) continue;
        snprintf(name, sizeof name, "%s%s, a carrier that %s, point %s, arrival %u, fault %s", rank_kind_name(kind),
                 transfers ? ", transfers" : "", carrier->borrows ? "borrows" : "copies", point_name(point), arrival,
                 point_fault_name(fault));
        visit_run((struct ranks){.kind = kind, .count = RANKS, .hosts = RANKS, .function = live, .user = &plan, .carrier = carrier},
                  &plan.points.stop[0], transfers, name, is_explained);
    }
}

static void visit_all(void) {
    for (size_t kind = 0; kind < sizeof rank_kinds / sizeof *rank_kinds; kind++)
        for (size_t carrier = 0; carrier < sizeof carriers / sizeof *carriers; carrier++)
            for (enum quern_point point = QUERN_POINT_MESSAGE_POSTING; point <= QUERN_POINT_MESSAGE_OVER; point++) {
                for (unsigned arrival = 1; arrival <= 13; arrival += 4)
                    run_point(rank_kinds[kind], &carriers[carrier], point, arrival, false);
                for (unsigned arrival = 1; arrival <= 3; arrival += 2)
                    run_point(rank_kinds[kind], &carriers[carrier], point, arrival, true);
            }
}

static bool is_pair(enum quern_point point, enum point_fault fault) {
    (void)fault;
    return point >= QUERN_POINT_MESSAGE_POSTING && point <= QUERN_POINT_MESSAGE_OVER;
}

int main(int count, char **words) {
    private_shm_enter(NULL);
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){" of exchanges", " of transfers"});
}
