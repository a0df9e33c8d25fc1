/*
 * Every pair of a point of transfers (src/ranks/points.h) and a fault, between two ranks in threads and in processes.
 *
 * Both ranks send each other a small and a large item, three times.  In the late scene rank 1 does not start, so that the limit of
 * rank 0 ends.  However it ends: every rank returns, with a status that the fault explains; what a rank has completed
 * is what was sent; nothing is written beside it; and what a rank sends is never changed.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"

enum { RANKS = 2, SMALL = 700, LARGE = 90000 };

struct memory {
    unsigned char out[MUTUAL_LISTS][LARGE], in[MUTUAL_LISTS][LARGE + MUTUAL_GUARD];
};

static quern_status run_transfers(void *user) {
    struct mutual *side = user;
    const quern_status status = mutual_prepare(side);
    const bool is_late = visit_scene_of(side->rank)->is_late;
    if (is_late && side->rank->rank) points_be_late();
    else if (side->rank->rank && status == QUERN_OK) points_wait_for(QUERN_POINT_TRANSFER_SLEEPING, 2);
    return status == QUERN_OK ? mutual_run(side) : status;
}

static quern_status live(struct rank *rank) {
    struct memory *memory = calloc(1, sizeof *memory);
    struct mutual side = {.rank = rank, .bytes = {SMALL, LARGE}};
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    rank_check(rank, memory, "no memory");
    memset(memory->in, 0xee, sizeof memory->in);
    for (int list = 0; list < MUTUAL_LISTS; list++) side.out[list] = memory->out[list], side.in[list] = memory->in[list];
    rank_ok(rank, quern_group_create(&args, 1, &side.group));
    const quern_status status = visit_strike(rank, side.group, run_transfers, mutual_end, &side);
    rank_ok(rank, quern_group_destroy(side.group));
    free(memory);
    return status;
}

#define BOTH .ranks = {.kind = RANK_BOTH, .count = RANKS, .function = live}, .spreads = true

static const struct visit_scene scenes[] = {
    {"in time", BOTH, .first = QUERN_POINT_TRANSFER_PREPARED, .last = QUERN_POINT_TRANSFER_EXPIRING - 1, .arrivals = {1, 2}},
    {"late", BOTH, .first = QUERN_POINT_TRANSFER_EXPIRING, .last = QUERN_POINT_TRANSFER_EXPIRING, .arrivals = {1}, .is_late = true},
    {"in time", BOTH, .first = QUERN_POINT_TRANSFER_EXPIRING + 1, .last = QUERN_POINT_TRANSFER_ENDING, .arrivals = {1, 2}},
};

int main(int count, char **words) {
    private_shm_enter(NULL);
    return VISIT_SCENES(count, words, scenes, "");
}
