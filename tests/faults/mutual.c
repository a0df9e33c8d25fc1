/* Lists that two ranks send each other.  mutual.h documents the functions. */
#define _GNU_SOURCE
#include "faults/mutual.h"

#include <string.h>

bool mutual_is_filled(const unsigned char *bytes, int64_t count, unsigned char value) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, (size_t)count - 1) == 0;
}

static int64_t largest(const struct mutual *side) { return side->bytes[MUTUAL_LISTS - 1]; }

static quern_status prepare(struct mutual *side, int list) {
    const int peer = !side->rank->rank;
    const quern_transfer_item items[] = {
        {.receive = 0, .peer = peer, .tag = 1, .memory = side->out[list], .bytes = side->bytes[list]},
        {.receive = 1, .peer = peer, .tag = 1, .memory = side->in[list], .bytes = side->bytes[list]}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = items, args.item_count = 2, args.key = (uint64_t)list;
    return quern_transfer_prepare(side->group, &args, &side->transfer[list]);
}

quern_status mutual_prepare(struct mutual *side) {
    quern_status status = QUERN_OK;
    for (int list = 0; list < MUTUAL_LISTS && status == QUERN_OK; list++) status = prepare(side, list);
    return status;
}

static quern_status run_round(struct mutual *side, int round) {
    const int rank = side->rank->rank;
    quern_status status = QUERN_OK;
    for (int list = 0; list < MUTUAL_LISTS && status == QUERN_OK; list++) {
        memset(side->out[list], mutual_value(rank, round), (size_t)largest(side));
        status = quern_transfer_start(side->transfer[list], side->stream);
    }
    for (int list = MUTUAL_LISTS - 1; list >= 0 && status == QUERN_OK; list--) {
        status = quern_transfer_wait(side->transfer[list], 0);
        const bool is_right = mutual_is_filled(side->in[list], side->bytes[list], mutual_value(!rank, round));
        rank_check(side->rank, status != QUERN_OK || is_right, "round %d: list %d is complete, and not what was sent", round,
                   list);
    }
    return status;
}

quern_status mutual_run(void *user) {
    struct mutual *side = user;
    quern_status status = side->transfer[0] ? QUERN_OK : mutual_prepare(side);
    for (int round = 0; round < MUTUAL_ROUNDS && status == QUERN_OK; round++) status = run_round(side, round);
    return status;
}

void mutual_end(void *user) {
    struct mutual *side = user;
    for (int list = 0; list < MUTUAL_LISTS; list++)
        if (side->transfer[list]) rank_ok(side->rank, quern_transfer_destroy(side->transfer[list]));
    for (int list = 0; list < MUTUAL_LISTS; list++) {
        const unsigned char *end = side->in[list] + side->bytes[list], *out = side->out[list];
        rank_check(side->rank, mutual_is_filled(end, MUTUAL_GUARD, 0xee), "something was written beside list %d", list);
        rank_check(side->rank, mutual_is_filled(out, largest(side), out[0]), "what was sent has changed");
    }
}
