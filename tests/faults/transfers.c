/*
 * Every pair of a point of transfers, or of messages over a carrier (src/ranks/points.h), and a fault, between two ranks in threads
 * and in processes: of one host, and of two over a carrier that borrows memory and one that gets copies.
 *
 * Both ranks send each other a small and a large item, three times, or exchange slices as large.  In the late scene rank 1 does not
 * start, so that the limit of rank 0 ends.  However it ends: every rank returns, with a status that the fault explains; what a rank
 * has completed is what was sent; nothing is written beside it; and what a rank sends is never changed.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"

enum { RANKS = 2, SMALL = 700, LARGE = 90000 };

struct memory {
    unsigned char out[MUTUAL_LISTS][RANKS * LARGE], in[MUTUAL_LISTS][RANKS * LARGE + MUTUAL_GUARD];
};

/* After a failure a carrier may keep messages, and the memory with them. */
static void leave(struct rank *rank, quern_group *group, struct memory *memory, quern_status status) {
    const quern_status end = quern_group_destroy(group);
    const bool may_fail = status != QUERN_OK && visit_scene_of(rank)->ranks.carrier;
    if (!may_fail || end != QUERN_PEER_LOST) rank_status(rank, end, QUERN_OK);
    if (end == QUERN_OK) free(memory);
}

static struct memory *take_memory(struct rank *rank) {
    struct memory *memory = calloc(1, sizeof *memory);
    rank_check(rank, memory, "no memory");
    memset(memory->in, 0xee, sizeof memory->in);
    return memory;
}

/* ---- transfers ---- */

static quern_status run_transfers(void *user) {
    struct mutual *side = user;
    const quern_status status = mutual_prepare(side);
    const struct visit_scene *scene = visit_scene_of(side->rank);
    if (scene->is_late && side->rank->rank) points_be_late();
    else if (!scene->ranks.carrier && side->rank->rank && status == QUERN_OK) points_wait_for(QUERN_POINT_TRANSFER_SLEEPING, 2);
    return status == QUERN_OK ? mutual_run(side) : status;
}

static quern_status live_by_transfers(struct rank *rank) {
    struct memory *memory = take_memory(rank);
    struct mutual side = {.rank = rank, .group = rank_group(rank, POINT_LIMIT), .bytes = {SMALL, LARGE}};
    for (int list = 0; list < MUTUAL_LISTS; list++) side.out[list] = memory->out[list], side.in[list] = memory->in[list];
    const quern_status status = visit_strike(rank, side.group, run_transfers, mutual_end, &side);
    leave(rank, side.group, memory, status);
    return status;
}

/* ---- exchanges ---- */

struct exchanges {
    struct rank *rank;
    quern_group *group;
    struct rank_exchange exchange;
    struct memory *memory;
    int round;
};

/* Of small and of large slices in turns. */
static quern_status run_exchanges(void *user) {
    struct exchanges *side = user;
    unsigned char *out = side->memory->out[0], *in = side->memory->in[0];
    quern_status status = QUERN_OK;
    for (; side->round < MUTUAL_LISTS * MUTUAL_ROUNDS && status == QUERN_OK; side->round++) {
        const int size = side->round % 2 ? LARGE : SMALL;
        rank_exchange_set(side->rank, &side->exchange, size);
        memset(out, mutual_value(side->rank->rank, side->round), RANKS * LARGE);
        status = rank_exchange_run(side->group, &side->exchange);
        for (int sender = 0; sender < RANKS && status == QUERN_OK; sender++)
            rank_check(side->rank, mutual_is_filled(in + sender * size, size, mutual_value(sender, side->round)),
                       "round %d is complete, and not what was sent", side->round);
    }
    rank_check(side->rank, mutual_is_filled(in + RANKS * LARGE, MUTUAL_GUARD, 0xee), "something was written beside the output");
    rank_check(side->rank, mutual_is_filled(out, RANKS * LARGE, out[0]), "what was sent has changed");
    return status;
}

static quern_status live_by_exchanges(struct rank *rank) {
    struct exchanges side = {.rank = rank, .group = rank_group(rank, POINT_LIMIT), .memory = take_memory(rank)};
    rank_ok(rank, rank_exchange_open(rank, side.group, &side.exchange, side.memory->out[0], side.memory->in[0], LARGE, 1));
    const quern_status status = visit_strike(rank, side.group, run_exchanges, NULL, &side);
    leave(rank, side.group, side.memory, status);
    return status;
}

/* ---- the scenes ---- */

static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};

#define BOTH .ranks = {.kind = RANK_BOTH, .count = RANKS, .function = live_by_transfers}, .spreads = true
#define CARRIED(lives, choice) \
    .ranks = {.kind = RANK_BOTH, .count = RANKS, .hosts = RANKS, .function = lives, .carrier = &choice}, \
    .first = QUERN_POINT_MESSAGE_POSTING, .last = QUERN_POINT_MESSAGE_OVER

static const struct visit_scene scenes[] = {
    {"in time", BOTH, .first = QUERN_POINT_TRANSFER_PREPARED, .last = QUERN_POINT_TRANSFER_EXPIRING - 1, .arrivals = {1, 2}},
    {"late", BOTH, .first = QUERN_POINT_TRANSFER_EXPIRING, .last = QUERN_POINT_TRANSFER_EXPIRING, .arrivals = {1}, .is_late = true},
    {"in time", BOTH, .first = QUERN_POINT_TRANSFER_EXPIRING + 1, .last = QUERN_POINT_TRANSFER_ENDING, .arrivals = {1, 2}},
    {"a carrier that borrows", CARRIED(live_by_transfers, borrows), .arrivals = {1, 3}, .spreads = true},
    {"a carrier that copies", CARRIED(live_by_transfers, copies), .arrivals = {1, 3}, .spreads = true},
    {"exchanges, a carrier that borrows", CARRIED(live_by_exchanges, borrows), .arrivals = {1, 5, 9, 13}, .kind = 1},
    {"exchanges, a carrier that copies", CARRIED(live_by_exchanges, copies), .arrivals = {1, 5, 9, 13}, .kind = 1},
};

int main(int count, char **words) {
    private_shm_enter(NULL);
    return VISIT_SCENES(count, words, scenes, "", " of exchanges");
}
