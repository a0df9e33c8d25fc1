/*
 * Every pair of a point of messages over a carrier (src/ranks/points.h) and a fault, between two ranks of two hosts, in threads and
 * in processes, over a carrier that borrows memory and one that gets copies.
 *
 * The ranks exchange small and large slices, three times; or they send each other as much in a transfer.  However it ends: every
 * rank returns, with a status that the fault explains; what a rank has completed is what was sent; nothing is written beside it;
 * and what a rank sends is never changed.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/ranks.h"

enum { RANKS = 2, SIZES = 2, LARGE = 90000, GUARD = 64, ROUNDS = 3, SPACE = 1 << 20 };

static const int32_t sizes[SIZES] = {300, LARGE};

struct side {
    struct rank *rank;
    quern_group *group;
    int round;
    unsigned char out[RANKS * LARGE], in[RANKS * LARGE + GUARD];
    void *workspace;
};

/* Each rank sends as much to itself and to the other one. */
static quern_status exchange(struct side *side, int32_t size) {
    const int rank = side->rank->rank, round = side->round;
    const int32_t from[] = {0, size}, counts[] = {size, size}, to[] = {rank * size, rank * size};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = side->out, args.output = side->in, args.input_rows = args.output_rows = RANKS * LARGE, args.row_bytes = 1;
    args.input_offsets = from, args.send_sizes = args.recv_sizes = counts, args.output_offsets = to;
    memset(side->out, mutual_value(rank, round), sizeof side->out);
    quern_status status = quern_ragged_all_to_all(side->group, &args, side->workspace, SPACE, NULL);
    for (int sender = 0; sender < RANKS && status == QUERN_OK; sender++)
        rank_check(side->rank, mutual_is_filled(side->in + sender * size, size, mutual_value(sender, round)),
                   "round %d is complete, and not what was sent", round);
    return status;
}

/* Both ways, as large as a slice. */
static quern_status transfer(void *user) {
    struct side *side = user;
    const int rank = side->rank->rank;
    const quern_transfer_item items[] = {{.receive = 0, .peer = !rank, .tag = 1, .memory = side->out, .bytes = LARGE},
                                         {.receive = 1, .peer = !rank, .tag = 1, .memory = side->in, .bytes = LARGE}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    quern_transfer *prepared = NULL;
    args.items = items, args.item_count = 2;
    quern_status status = quern_transfer_prepare(side->group, &args, &prepared);
    for (; side->round < ROUNDS && status == QUERN_OK; side->round++) {
        memset(side->out, mutual_value(rank, side->round), sizeof side->out);
        status = quern_transfer_start(prepared, NULL);
        if (status == QUERN_OK) status = quern_transfer_wait(prepared, 0);
        rank_check(side->rank, status != QUERN_OK || mutual_is_filled(side->in, LARGE, mutual_value(!rank, side->round)),
                   "round %d is complete, and not what was sent", side->round);
    }
    if (prepared) rank_ok(side->rank, quern_transfer_destroy(prepared));
    memset(side->in, 0x77, LARGE);  /* nobody writes there any more */
    return status;
}

static quern_status exchange_often(void *user) {
    struct side *side = user;
    quern_status status = QUERN_OK;
    for (; side->round < ROUNDS * SIZES && status == QUERN_OK; side->round++) status = exchange(side, sizes[side->round % SIZES]);
    return status;
}

static quern_status live(struct rank *rank, quern_status (*run)(void *side)) {
    struct side *side = calloc(1, sizeof *side);
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    rank_check(rank, side, "no memory");
    side->rank = rank;
    memset(side->in, 0xee, sizeof side->in);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_group_create(&args, 1, &side->group));
    rank_ok(rank, quern_symmetric_alloc(&side->group, 1, &(size_t){SPACE}, &side->workspace));
    const quern_status status = visit_strike(rank, side->group, run, NULL, side);
    const quern_status end = quern_group_destroy(side->group);
    rank_check(rank, end == QUERN_OK || (end == QUERN_PEER_LOST && status != QUERN_OK), "destroying gave %s",
               quern_status_string(end));
    rank_check(rank, mutual_is_filled(side->in + RANKS * LARGE, GUARD, 0xee), "something was written beside the output");
    rank_check(rank, mutual_is_filled(side->out, sizeof side->out, mutual_value(rank->rank, side->round - 1)),
               "what was sent has changed");
    if (end == QUERN_OK) free(side);
    return status;
}

static quern_status live_by_exchanges(struct rank *rank) { return live(rank, exchange_often); }
static quern_status live_by_transfers(struct rank *rank) { return live(rank, transfer); }

static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};

#define SCENE(name, lives, choice, ...) \
    {name, {.kind = RANK_BOTH, .count = RANKS, .hosts = RANKS, .function = lives, .carrier = &choice}, \
     .first = QUERN_POINT_MESSAGE_POSTING, .last = QUERN_POINT_MESSAGE_OVER, __VA_ARGS__}

static const struct visit_scene scenes[] = {
    SCENE("exchanges, a carrier that borrows", live_by_exchanges, borrows, .arrivals = {1, 5, 9, 13}),
    SCENE("transfers, a carrier that borrows", live_by_transfers, borrows, .arrivals = {1, 3}, .kind = 1, .spreads = true),
    SCENE("exchanges, a carrier that copies", live_by_exchanges, copies, .arrivals = {1, 5, 9, 13}),
    SCENE("transfers, a carrier that copies", live_by_transfers, copies, .arrivals = {1, 3}, .kind = 1, .spreads = true),
};

int main(int count, char **words) {
    private_shm_enter(NULL);
    return VISIT_SCENES(count, words, scenes, " of exchanges", " of transfers");
}
