/*
 * How transfers fail and end: the connection forget them, and the ranks of their lists are told.  Called by all files of this
 * folder.
 */
#include "ranks/transfer/transfer.h"

#include <sched.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/points.h"

static const int64_t LINGER = 100000000;  /* nanoseconds for a connection or ring that is full */

static void release_pair(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    const struct quern_transfer_data *transfer = pair->transfer;
    struct quern_conn *conn = pair->conn;
    const bool is_in_nccl = conn && conn->nccl;
    const bool flew = pair->flies || (transfer->round && pair->in.is_complete && pair->out.is_complete);
    struct quern_transfer_frame end = {.word = QUERN_WORD_END, .key = transfer->key, .instance = transfer->instance,
                                       .other = pair->other, .round = transfer->round,
                                       .number = (uint64_t)status | (uint64_t)(is_in_nccl && flew) << 32};
    char text[QUERN_TRANSFER_REASON] = "";
    if (!conn && pair->release) pair->release(pair, status, reason);
    if (!conn || pair->is_told) return;
    pair->is_told = true;
    if (conn->sink == pair) conn->sink = NULL;
    if (conn->sending == pair) quern_conn_detach_data(conn);
    quern_copy_text(text, reason, sizeof text);
    quern_conn_say(conn, end, text, sizeof text);
    quern_withdraw(conn);
    if (pair->release) pair->release(pair, status, text);
    QUERN_POINT(TRANSFER_ENDING);
}

static bool have_flushed(const struct quern_transfer_data *transfer) {
    bool all = true;
    for (int i = 0; i < transfer->pair_count; i++) {
        struct quern_conn *conn = transfer->pairs[i].conn;
        if (!conn) continue;
        quern_conn_flush(conn);
        all &= !conn->count && conn->begin == conn->end;
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
    quern_end_stream_waits(transfer, status);
}

void quern_lose_rank(struct quern_transfer_pair *pair) {
    const struct quern_membership *member = pair->transfer->member;
    const int peer = pair->conn->peer;
    char place[200];
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, member->roster, peer);
    quern_text_add(&text, ") ");
    quern_describe_end(&text, member, peer, false);
    quern_transfer_fail(pair->transfer, QUERN_PEER_LOST, "rank %d (%s; rank %d waited for it", peer, place, member->rank);
}
