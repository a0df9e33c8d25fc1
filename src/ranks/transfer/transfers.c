/* How transfers fail and end: the wires forget them, and the ranks of their lists are told.  Called by all files of this folder. */
#include "ranks/transfer/transfers.h"

#include <sched.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "ranks/transfer/withdraw.h"

static const int64_t LINGER = 100000000;  /* nanoseconds for a connection or lane that is full */

static void release_pair(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    const struct quern_transfer_data *transfer = pair->transfer;
    struct quern_wire *wire = pair->wire;
    const bool is_in_nccl = wire && wire->link;
    const bool flew = pair->flies || (transfer->round && pair->in.is_complete && pair->out.is_complete);
    struct quern_transfer_frame end = {.word = QUERN_WORD_END, .key = transfer->key, .instance = transfer->instance,
                                       .other = pair->other, .round = transfer->round,
                                       .number = (uint64_t)status | (uint64_t)(is_in_nccl && flew) << 32};
    char text[QUERN_TRANSFER_REASON] = "";
    if (!wire && pair->release) pair->release(pair, status, reason);
    if (!wire || pair->is_told) return;
    pair->is_told = true;
    if (wire->sink == pair) wire->sink = NULL;
    if (wire->sending == pair) quern_wire_detach_data(wire);
    quern_copy_text(text, reason, sizeof text);
    quern_wire_say(wire, end, text, sizeof text);
    quern_withdraw(wire);
    if (pair->release) pair->release(pair, status, text);
    QUERN_POINT(TRANSFER_ENDING);
}

static bool have_flushed(const struct quern_transfer_data *transfer) {
    bool all = true;
    for (int i = 0; i < transfer->pair_count; i++) {
        struct quern_wire *wire = transfer->pairs[i].wire;
        if (!wire) continue;
        quern_wire_flush(wire);
        all &= !wire->count && wire->begin == wire->end;
    }
    return all;
}

/* Whoever ends a transfer may make no further call for long, so the end gets some time to go out. */
void quern_release_pairs(struct quern_transfer_data *transfer, quern_status status, const char *reason) {
    for (int i = 0; i < transfer->pair_count; i++) release_pair(&transfer->pairs[i], status, reason);
    const int64_t until = quern_now() + LINGER;
    while (!have_flushed(transfer) && quern_now() < until) sched_yield();
}

void quern_transfer_fail(struct quern_transfer_data *transfer, quern_status status, const char *format, ...) {
    if (transfer->state == QUERN_TRANSFER_OVER) return;
    struct quern_text text = quern_text_begin(transfer->reason, sizeof transfer->reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    transfer->state = QUERN_TRANSFER_OVER;
    transfer->status = status;
    quern_release_pairs(transfer, status, transfer->reason);
}

void quern_lose_rank(struct quern_transfer_pair *pair) {
    const struct quern_membership *member = pair->transfer->member;
    const int peer = pair->wire->peer;
    char place[200];
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, member->roster, peer);
    quern_text_add(&text, ") ");
    quern_describe_end(&text, member, peer, false);
    quern_transfer_fail(pair->transfer, QUERN_PEER_LOST, "rank %d (%s; rank %d waited for it", peer, place, member->rank);
}
