/*
 * Transfers between hosts by messages of a carrier.  Called by progress.c and bytes.c, and by transfer.c at the end of the group.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/hosts.h"
#include "ranks/points.h"
#include "runtime/status.h"

static const int64_t GRACE = 60000000;    /* nanoseconds for the word that a rank has ended, which explains a failure better */
static const int64_t LIMIT = 1000000000;  /* for the end of what is cancelled */

/* ---- opening ---- */

static const quern_carrier *carrier_of(const struct quern_carrier_path *path) { return quern_messages_carrier(path->messages); }

static bool serves(const struct quern_conn *conn) {
    return conn->is_elsewhere && conn->member->net->messages;
}

static quern_status open_path(struct quern_conn *conn) {
    struct quern_carrier_path *path = conn->carrier = calloc(1, sizeof *path);
    if (!path) return quern_fail(conn->member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    path->messages = conn->member->net->messages;
    const uint64_t longest = carrier_of(path)->longest;
    path->piece = longest < QUERN_CARRIER_PIECE ? (size_t)longest : QUERN_CARRIER_PIECE;
    return QUERN_OK;
}

/* Memory that the carrier still has is left to it. */
static void free_line(struct quern_carrier_path *path, struct quern_carrier_line *line) {
    for (int i = 0; i < QUERN_CARRIER_SLOTS; i++) {
        if (line->slot[i].is_busy) quern_leave_messages(path->messages);
        else free(line->slot[i].buffer);
    }
}

static void close_path(struct quern_conn *conn) {
    struct quern_carrier_path *path = conn->carrier;
    if (!path) return;
    free_line(path, &path->in);
    free_line(path, &path->out);
    free(path);
}

/* ---- failures ---- */

static void fail(struct quern_carrier_path *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct quern_carrier_path *path, const char *format, ...) {
    struct quern_text why = quern_text_begin(path->reason, sizeof path->reason);
    va_list list;
    quern_text_add(&why, "%s: ", carrier_of(path)->name);
    va_start(list, format);
    quern_text_add_list(&why, format, list);
    va_end(list);
    path->failed_at = quern_now();
    path->is_over = true;
}

/* A few bytes travel with the control messages. */
static bool is_carried(const struct quern_cursor *cursor) { return cursor->all > QUERN_TRANSFER_SMALL; }

static bool needs_it(const struct quern_cursor *cursor) { return is_carried(cursor) && !cursor->is_complete; }

static void check(struct quern_transfer_pair *pair) {
    const struct quern_conn *conn = pair->conn;
    const struct quern_carrier_path *path = conn->carrier;
    const struct quern_membership *member = pair->transfer->member;
    if (!*path->reason || conn->status != QUERN_OK || quern_rank_has_gone(member->roster, conn->peer)) return;
    if (quern_now() - path->failed_at < GRACE || !(needs_it(&pair->in) || needs_it(&pair->out))) return;
    quern_transfer_fail(pair->transfer, QUERN_SYSTEM_ERROR, "rank %d exchanges messages with rank %d: %s", member->rank, conn->peer,
                        path->reason);
}

/* ---- messages ---- */

static bool has_room(const struct quern_carrier_line *line) { return line->next - line->oldest < QUERN_CARRIER_SLOTS; }

static struct quern_carrier_slot *slot_of(struct quern_carrier_line *line, uint32_t number) {
    return &line->slot[number % QUERN_CARRIER_SLOTS];
}

/* The slot of the next message, with a buffer; NULL: no memory, with which the transfer fails. */
static struct quern_carrier_slot *next_slot(struct quern_carrier_line *line, struct quern_transfer_pair *pair) {
    struct quern_carrier_slot *slot = slot_of(line, line->next);
    if (!slot->buffer) slot->buffer = malloc(pair->conn->carrier->piece);
    if (slot->buffer) return slot;
    quern_transfer_fail(pair->transfer, QUERN_OUT_OF_MEMORY, "no memory for a message of a transfer");
    return NULL;
}

/* Gives the next message to the carrier.  False: it has failed. */
static bool post(struct quern_conn *conn, struct quern_carrier_line *line, size_t bytes) {
    struct quern_carrier_path *path = conn->carrier;
    struct quern_carrier_slot *slot = slot_of(line, line->next);
    const quern_carrier *carrier = carrier_of(path);
    const uint64_t tag = quern_tag_of_transfer(carrier, line->next);
    const bool receives = line == &path->in;
    QUERN_POINT(MESSAGE_POSTING);
    const int error = receives ? carrier->receive(carrier->user, conn->peer, slot->buffer, bytes, tag, &slot->request)
                               : carrier->send(carrier->user, conn->peer, slot->buffer, bytes, tag, &slot->request);
    if (error) {
        fail(path, "%s returned %d", receives ? "receive" : "send", error);
        return false;
    }
    slot->is_busy = true;
    slot->is_none = false;
    slot->bytes = bytes;
    line->next++;
    QUERN_POINT(MESSAGE_POSTED);
    return true;
}

/* Tests the oldest message of a direction.  False: it is still under way, or there is none. */
static bool reap(struct quern_carrier_path *path, struct quern_carrier_line *line, size_t *bytes, int *result) {
    struct quern_carrier_slot *slot = slot_of(line, line->oldest);
    const quern_carrier *carrier = carrier_of(path);
    *bytes = 0;
    if (path->is_over || line->oldest == line->next) return false;
    *result = slot->is_busy ? carrier->test(carrier->user, slot->request, bytes) : 1;
    if (*result == 0) return false;
    slot->is_busy = false;
    line->oldest++;
    QUERN_POINT(MESSAGE_OVER);
    return true;
}

/* ---- receiving ---- */

static void say_ready(struct quern_transfer_pair *pair, uint32_t number, size_t bytes) {
    const struct quern_transfer_data *transfer = pair->transfer;
    const struct quern_transfer_piece piece = {number, (uint64_t)pair->in.asked, bytes};
    quern_conn_say(pair->conn, (struct quern_transfer_frame){.word = QUERN_WORD_READY, .key = transfer->key,
                                                             .instance = transfer->instance, .other = pair->other,
                                                             .round = transfer->round}, &piece, sizeof piece);
}

/* Begins as many messages as there is room for. */
static bool ask_for_bytes(struct quern_transfer_pair *pair) {
    struct quern_carrier_path *path = pair->conn->carrier;
    struct quern_carrier_line *line = &path->in;
    bool moved = false;
    if (!is_carried(&pair->in)) return false;
    while (pair->in.asked < pair->in.all && has_room(line) && !path->is_over) {
        const size_t left = (size_t)(pair->in.all - pair->in.asked), bytes = left < path->piece ? left : path->piece;
        struct quern_carrier_slot *slot = next_slot(line, pair);
        if (!slot || !post(pair->conn, line, bytes)) return moved;
        slot->pair = pair;
        say_ready(pair, line->next - 1, bytes);
        pair->in.asked += (int64_t)bytes;
        moved = true;
    }
    return moved;
}

/* A cancelled message may have arrived before; it is dropped. */
static bool take_messages(struct quern_carrier_path *path) {
    bool moved = false;
    size_t bytes;
    for (int result; reap(path, &path->in, &bytes, &result); moved = true) {
        const struct quern_carrier_slot *slot = slot_of(&path->in, path->in.oldest - 1);
        if (slot->is_none) continue;
        if (result < 0) fail(path, "test of a message of it returned %d", result);
        else if (bytes != slot->bytes) fail(path, "a message of it has %zu bytes: expected %zu", bytes, slot->bytes);
        else if (slot->pair) quern_put_bytes(slot->pair, slot->buffer, slot->bytes);
    }
    return moved;
}

static void hear_none(struct quern_conn *conn, uint64_t number) {
    struct quern_carrier_path *path = conn->carrier;
    const quern_carrier *carrier = carrier_of(path);
    struct quern_carrier_slot *slot = slot_of(&path->in, (uint32_t)number);
    if (number > UINT32_MAX || (uint32_t)number - path->in.oldest >= path->in.next - path->in.oldest || slot->is_none) {
        quern_conn_damaged(conn);
        return;
    }
    slot->is_none = true;
    slot->pair = NULL;
    if (!path->is_over) carrier->cancel(carrier->user, slot->request);
}

/* ---- sending ---- */

static void say_none(struct quern_conn *conn, uint32_t number) {
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_NONE, .number = number}, NULL, 0);
}

static bool send_piece(struct quern_conn *conn, const struct quern_carrier_order *order) {
    struct quern_carrier_line *line = &conn->carrier->out;
    const struct quern_carrier_slot *slot = order->pair && !conn->carrier->is_over ? next_slot(line, order->pair) : NULL;
    if (!slot) return false;
    quern_get_bytes(order->pair, slot->buffer, order->bytes);
    return post(conn, line, order->bytes);
}

/* Each READY with its message, or with NONE, which takes a number as well. */
static bool answer(struct quern_conn *conn) {
    struct quern_carrier_path *path = conn->carrier;
    bool moved = false;
    for (; path->out.next != path->ordered && (has_room(&path->out) || path->is_over); moved = true) {
        if (send_piece(conn, &path->order[path->out.next % QUERN_CARRIER_SLOTS])) continue;
        say_none(conn, path->out.next++);
    }
    return moved;
}

static bool end_sends(struct quern_carrier_path *path) {
    bool moved = false;
    size_t bytes;
    for (int result; reap(path, &path->out, &bytes, &result); moved = true)
        if (result < 0) fail(path, "test of a message to it returned %d", result);
    return moved;
}

/* The bytes must be the next ones of a round that is under way here, or the transfer is over. */
static void hear_ready(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    struct quern_carrier_path *path = conn->carrier;
    const struct quern_transfer_piece *piece = (const void *)conn->payload;
    struct quern_transfer_data *transfer = pair ? pair->transfer : NULL;
    const bool is_meant = transfer && transfer->state == QUERN_TRANSFER_STARTED && head->round == transfer->round;
    if (head->bytes != sizeof *piece || piece->message != path->ordered || path->ordered - path->out.next >= QUERN_CARRIER_SLOTS ||
        !piece->bytes || piece->bytes > path->piece ||
        (is_meant && (!is_carried(&pair->out) || piece->offset != (uint64_t)pair->out.asked ||
                      piece->bytes > (uint64_t)(pair->out.all - pair->out.asked)))) {
        quern_conn_damaged(conn);
        return;
    }
    if (is_meant) pair->out.asked += (int64_t)piece->bytes;
    path->order[path->ordered++ % QUERN_CARRIER_SLOTS] =
        (struct quern_carrier_order){is_meant ? pair : NULL, (size_t)piece->bytes};
}

/* ---- both ---- */

static void hears(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    if (head->word == QUERN_WORD_READY) hear_ready(conn, pair, head);
    else hear_none(conn, head->number);
}

static bool advance_pair(struct quern_transfer_pair *pair) {
    bool moved = quern_receive(pair, ask_for_bytes);
    while (!is_carried(&pair->out) && quern_send_data(pair)) moved = true;
    return moved;
}

static bool has_sent(struct quern_transfer_pair *pair) { return pair->out.done == pair->out.all; }

static bool advance(struct quern_conn *conn) {
    struct quern_carrier_path *path = conn->carrier;
    path->is_over |= conn->status != QUERN_OK || quern_messages_are_over(path->messages);
    const bool sent = end_sends(path), received = take_messages(path);
    return answer(conn) || sent || received;
}

static bool is_line_busy(const struct quern_carrier_line *line) {
    for (int i = 0; i < QUERN_CARRIER_SLOTS; i++)
        if (line->slot[i].is_busy) return true;
    return false;
}

static bool has_messages(const struct quern_carrier_path *path) { return is_line_busy(&path->in) || is_line_busy(&path->out); }

static bool is_busy(const struct quern_conn *conn) { return !conn->carrier->is_over && has_messages(conn->carrier); }

static void release(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_carrier_path *path = pair->conn->carrier;
    (void)status, (void)reason;
    for (int i = 0; i < QUERN_CARRIER_SLOTS; i++) {
        if (path->in.slot[i].pair == pair) path->in.slot[i].pair = NULL;
        if (path->order[i].pair == pair) path->order[i].pair = NULL;
    }
}

/* ---- the end of the group ---- */

/* Calls the carrier for all that it has: cancels it, or tests it. */
static bool visit_line(const quern_carrier *carrier, struct quern_carrier_line *line, bool cancels) {
    for (int i = 0; i < QUERN_CARRIER_SLOTS; i++) {
        struct quern_carrier_slot *slot = &line->slot[i];
        size_t bytes;
        if (!slot->is_busy) continue;
        if (cancels) carrier->cancel(carrier->user, slot->request);
        else slot->is_busy = carrier->test(carrier->user, slot->request, &bytes) == 0;
    }
    return is_line_busy(line);
}

static bool visit(struct quern_carrier_path *path, bool cancels) {
    const quern_carrier *carrier = carrier_of(path);
    const bool receives = visit_line(carrier, &path->in, cancels), sends = visit_line(carrier, &path->out, cancels);
    return receives || sends;
}

/* Touching what it has of a rank that is dead may be the end of this one. */
static bool is_left_alone(const struct quern_conn *conn, bool is_poisoned) {
    const struct quern_roster *roster = conn->member->roster;
    const struct quern_carrier_path *path = conn->carrier;
    return !carrier_of(path)->borrows && (is_poisoned || *path->reason || !quern_rank_lives(roster, conn->peer));
}

quern_status quern_settle_carrier_path(struct quern_transfers *all, bool is_poisoned) {
    const int64_t until = quern_now() + LIMIT;
    quern_status status = QUERN_OK;
    for (int i = 0; i < all->conns; i++)
        if (all->open[i]->carrier && !is_left_alone(all->open[i], is_poisoned)) visit(all->open[i]->carrier, true);
    for (int i = 0; i < all->conns; i++) {
        const struct quern_conn *conn = all->open[i];
        if (!conn->carrier || is_left_alone(conn, is_poisoned)) continue;
        while (visit(conn->carrier, false) && quern_now() < until) sched_yield();
        if (!has_messages(conn->carrier)) continue;
        status = quern_fail(conn->member->device, QUERN_PEER_LOST, "%s: %s does not give back a message of a transfer with rank "
                            "%d, which is in memory of the library", conn->member->label, carrier_of(conn->carrier)->name,
                            conn->peer);
    }
    return status;
}

const struct quern_path quern_carrier_path = {
    .serves = serves, .open = open_path, .close = close_path, .hears = hears, .advance = advance, .advance_pair = advance_pair,
    .is_busy = is_busy, .has_sent = has_sent, .check = check, .release = release};
