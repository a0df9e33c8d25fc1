/* Transfers between hosts by messages of a carrier.  Called by talk.c and bytes.c, and by transfer.c at the end of the group. */
#define _GNU_SOURCE
#include "ranks/transfer/carry.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/connections.h"
#include "ranks/points.h"
#include "ranks/transfer/stream.h"
#include "runtime/status.h"

static const int64_t GRACE = 60000000;    /* nanoseconds for the word that a rank has ended, which explains a failure better */
static const int64_t LIMIT = 1000000000;  /* for the end of what is cancelled */

/* ---- opening ---- */

static const quern_carrier *carrier_of(const struct quern_carry *carry) { return quern_messages_carrier(carry->messages); }

quern_status quern_open_carry(struct quern_wire *wire) {
    struct quern_carry *carry = wire->carry = calloc(1, sizeof *carry);
    if (!carry) return quern_fail(wire->member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    carry->messages = wire->member->span->messages;
    const uint64_t longest = carrier_of(carry)->longest;
    carry->piece = longest < QUERN_CARRY_PIECE ? (size_t)longest : QUERN_CARRY_PIECE;
    return QUERN_OK;
}

/* Memory that the carrier still has is left to it. */
static void free_line(struct quern_carry *carry, struct quern_carry_line *line) {
    for (int i = 0; i < QUERN_CARRY_SLOTS; i++) {
        if (line->slot[i].is_busy) quern_leave_messages(carry->messages);
        else free(line->slot[i].buffer);
    }
}

void quern_free_carry(struct quern_wire *wire) {
    struct quern_carry *carry = wire->carry;
    if (!carry) return;
    free_line(carry, &carry->in);
    free_line(carry, &carry->out);
    free(carry);
    wire->carry = NULL;
}

/* ---- failures ---- */

static void fail(struct quern_carry *carry, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct quern_carry *carry, const char *format, ...) {
    struct quern_text why = quern_text_begin(carry->reason, sizeof carry->reason);
    va_list list;
    quern_text_add(&why, "%s: ", carrier_of(carry)->name);
    va_start(list, format);
    quern_text_add_list(&why, format, list);
    va_end(list);
    carry->failed_at = quern_now();
    carry->is_over = true;
}

static bool needs_it(const struct quern_transfer_pair *pair, const struct quern_course *course) {
    return quern_is_carried(pair, course) && !course->is_complete;
}

void quern_check_carry(struct quern_transfer_pair *pair) {
    const struct quern_wire *wire = pair->wire;
    const struct quern_carry *carry = wire ? wire->carry : NULL;
    const struct quern_membership *member = pair->transfer->member;
    if (!carry || !*carry->reason || wire->status != QUERN_OK || quern_rank_has_gone(member->roster, wire->peer)) return;
    if (quern_now() - carry->failed_at < GRACE || !(needs_it(pair, &pair->in) || needs_it(pair, &pair->out))) return;
    quern_transfer_fail(pair->transfer, QUERN_SYSTEM_ERROR, "rank %d exchanges messages with rank %d: %s", member->rank, wire->peer,
                        carry->reason);
}

/* ---- messages ---- */

static bool has_room(const struct quern_carry_line *line) { return line->next - line->oldest < QUERN_CARRY_SLOTS; }

static struct quern_carry_slot *slot_of(struct quern_carry_line *line, uint32_t number) {
    return &line->slot[number % QUERN_CARRY_SLOTS];
}

/* The slot of the next message, with a buffer; NULL: no memory, with which the transfer fails. */
static struct quern_carry_slot *next_slot(struct quern_carry_line *line, struct quern_transfer_pair *pair) {
    struct quern_carry_slot *slot = slot_of(line, line->next);
    if (!slot->buffer) slot->buffer = malloc(pair->wire->carry->piece);
    if (slot->buffer) return slot;
    quern_transfer_fail(pair->transfer, QUERN_OUT_OF_MEMORY, "no memory for a message of a transfer");
    return NULL;
}

/* Gives the next message to the carrier.  False: it has failed. */
static bool post(struct quern_wire *wire, struct quern_carry_line *line, size_t bytes) {
    struct quern_carry *carry = wire->carry;
    struct quern_carry_slot *slot = slot_of(line, line->next);
    const quern_carrier *carrier = carrier_of(carry);
    const uint64_t tag = quern_tag_of_transfer(carrier, line->next);
    const bool receives = line == &carry->in;
    QUERN_POINT(MESSAGE_POSTING);
    const int error = receives ? carrier->receive(carrier->user, wire->peer, slot->buffer, bytes, tag, &slot->request)
                               : carrier->send(carrier->user, wire->peer, slot->buffer, bytes, tag, &slot->request);
    if (error) {
        fail(carry, "%s returned %d", receives ? "receive" : "send", error);
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
static bool reap(struct quern_carry *carry, struct quern_carry_line *line, size_t *bytes, int *result) {
    struct quern_carry_slot *slot = slot_of(line, line->oldest);
    const quern_carrier *carrier = carrier_of(carry);
    *bytes = 0;
    if (carry->is_over || line->oldest == line->next) return false;
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
    quern_wire_say(pair->wire, (struct quern_transfer_frame){.word = QUERN_WORD_READY, .key = transfer->key,
                                                             .instance = transfer->instance, .other = pair->other,
                                                             .round = transfer->round}, &piece, sizeof piece);
}

bool quern_ask_for_bytes(struct quern_transfer_pair *pair) {
    struct quern_carry *carry = pair->wire->carry;
    struct quern_carry_line *line = &carry->in;
    bool moved = false;
    while (pair->in.asked < pair->in.all && has_room(line) && !carry->is_over) {
        const size_t left = (size_t)(pair->in.all - pair->in.asked), bytes = left < carry->piece ? left : carry->piece;
        struct quern_carry_slot *slot = next_slot(line, pair);
        if (!slot || !post(pair->wire, line, bytes)) return moved;
        slot->pair = pair;
        say_ready(pair, line->next - 1, bytes);
        pair->in.asked += (int64_t)bytes;
        moved = true;
    }
    return moved;
}

/* What was cancelled may have come before; nobody wants it. */
static bool take_messages(struct quern_carry *carry) {
    bool moved = false;
    size_t bytes;
    for (int result; reap(carry, &carry->in, &bytes, &result); moved = true) {
        const struct quern_carry_slot *slot = slot_of(&carry->in, carry->in.oldest - 1);
        if (slot->is_none) continue;
        if (result < 0) fail(carry, "test of a message of it returned %d", result);
        else if (bytes != slot->bytes) fail(carry, "a message of it has %zu bytes: expected %zu", bytes, slot->bytes);
        else if (slot->pair) quern_put_bytes(slot->pair, slot->buffer, slot->bytes);
    }
    return moved;
}

static void hear_none(struct quern_wire *wire, uint64_t number) {
    struct quern_carry *carry = wire->carry;
    const quern_carrier *carrier = carrier_of(carry);
    struct quern_carry_slot *slot = slot_of(&carry->in, (uint32_t)number);
    if (number > UINT32_MAX || (uint32_t)number - carry->in.oldest >= carry->in.next - carry->in.oldest || slot->is_none) {
        quern_wire_damaged(wire);
        return;
    }
    slot->is_none = true;
    slot->pair = NULL;
    if (!carry->is_over) carrier->cancel(carrier->user, slot->request);
}

/* ---- sending ---- */

static void say_none(struct quern_wire *wire, uint32_t number) {
    quern_wire_say(wire, (struct quern_transfer_frame){.word = QUERN_WORD_NONE, .number = number}, NULL, 0);
}

static bool send_piece(struct quern_wire *wire, const struct quern_carry_order *order) {
    struct quern_carry_line *line = &wire->carry->out;
    const struct quern_carry_slot *slot = order->pair && !wire->carry->is_over ? next_slot(line, order->pair) : NULL;
    if (!slot) return false;
    quern_get_bytes(order->pair, slot->buffer, order->bytes);
    return post(wire, line, order->bytes);
}

/* Each READY with its message, or with NONE, which takes a number as well. */
static bool answer(struct quern_wire *wire) {
    struct quern_carry *carry = wire->carry;
    bool moved = false;
    for (; carry->out.next != carry->ordered && (has_room(&carry->out) || carry->is_over); moved = true) {
        if (send_piece(wire, &carry->order[carry->out.next % QUERN_CARRY_SLOTS])) continue;
        say_none(wire, carry->out.next++);
    }
    return moved;
}

static bool end_sends(struct quern_carry *carry) {
    bool moved = false;
    size_t bytes;
    for (int result; reap(carry, &carry->out, &bytes, &result); moved = true)
        if (result < 0) fail(carry, "test of a message to it returned %d", result);
    return moved;
}

/* The bytes must be the next ones of a round that is under way here, or the transfer is over. */
static void hear_ready(struct quern_wire *wire, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    struct quern_carry *carry = wire->carry;
    const struct quern_transfer_piece *piece = (const void *)wire->payload;
    struct quern_transfer_data *transfer = pair ? pair->transfer : NULL;
    const bool is_meant = transfer && transfer->state == QUERN_TRANSFER_STARTED && head->round == transfer->round;
    if (head->bytes != sizeof *piece || piece->message != carry->ordered || carry->ordered - carry->out.next >= QUERN_CARRY_SLOTS ||
        !piece->bytes || piece->bytes > carry->piece ||
        (is_meant && (!quern_is_carried(pair, &pair->out) || piece->offset != (uint64_t)pair->out.asked ||
                      piece->bytes > (uint64_t)(pair->out.all - pair->out.asked)))) {
        quern_wire_damaged(wire);
        return;
    }
    if (is_meant) pair->out.asked += (int64_t)piece->bytes;
    carry->order[carry->ordered++ % QUERN_CARRY_SLOTS] =
        (struct quern_carry_order){is_meant ? pair : NULL, (size_t)piece->bytes};
}

/* ---- both ---- */

void quern_carry_hears(struct quern_wire *wire, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    if (!wire->carry) quern_wire_damaged(wire);
    else if (head->word == QUERN_WORD_READY) hear_ready(wire, pair, head);
    else hear_none(wire, head->number);
}

bool quern_advance_carry(struct quern_wire *wire) {
    struct quern_carry *carry = wire->carry;
    carry->is_over |= wire->status != QUERN_OK || quern_messages_are_over(carry->messages);
    const bool sent = end_sends(carry), received = take_messages(carry);
    return answer(wire) || sent || received;
}

static bool is_line_busy(const struct quern_carry_line *line) {
    for (int i = 0; i < QUERN_CARRY_SLOTS; i++)
        if (line->slot[i].is_busy) return true;
    return false;
}

static bool has_messages(const struct quern_carry *carry) { return is_line_busy(&carry->in) || is_line_busy(&carry->out); }

bool quern_carry_is_busy(const struct quern_carry *carry) { return !carry->is_over && has_messages(carry); }

void quern_take_from_carry(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_carry *carry = pair->wire->carry;
    (void)status, (void)reason;
    for (int i = 0; i < QUERN_CARRY_SLOTS; i++) {
        if (carry->in.slot[i].pair == pair) carry->in.slot[i].pair = NULL;
        if (carry->order[i].pair == pair) carry->order[i].pair = NULL;
    }
}

/* ---- the end of the group ---- */

/* Calls the carrier for all that it has: cancels it, or tests it. */
static bool visit_line(const quern_carrier *carrier, struct quern_carry_line *line, bool cancels) {
    for (int i = 0; i < QUERN_CARRY_SLOTS; i++) {
        struct quern_carry_slot *slot = &line->slot[i];
        size_t bytes;
        if (!slot->is_busy) continue;
        if (cancels) carrier->cancel(carrier->user, slot->request);
        else slot->is_busy = carrier->test(carrier->user, slot->request, &bytes) == 0;
    }
    return is_line_busy(line);
}

static bool visit(struct quern_carry *carry, bool cancels) {
    const quern_carrier *carrier = carrier_of(carry);
    const bool receives = visit_line(carrier, &carry->in, cancels), sends = visit_line(carrier, &carry->out, cancels);
    return receives || sends;
}

/* Touching what it has of a rank that is dead may be the end of this one. */
static bool is_left_alone(const struct quern_wire *wire, bool is_poisoned) {
    const struct quern_roster *roster = wire->member->roster;
    const struct quern_carry *carry = wire->carry;
    return !carrier_of(carry)->borrows && (is_poisoned || *carry->reason || !quern_rank_lives(roster, wire->peer));
}

quern_status quern_settle_carry(struct quern_transfers *all, bool is_poisoned) {
    const int64_t until = quern_now() + LIMIT;
    quern_status status = QUERN_OK;
    for (int i = 0; i < all->wires; i++)
        if (all->open[i]->carry && !is_left_alone(all->open[i], is_poisoned)) visit(all->open[i]->carry, true);
    for (int i = 0; i < all->wires; i++) {
        const struct quern_wire *wire = all->open[i];
        if (!wire->carry || is_left_alone(wire, is_poisoned)) continue;
        while (visit(wire->carry, false) && quern_now() < until) sched_yield();
        if (!has_messages(wire->carry)) continue;
        status = quern_fail(wire->member->device, QUERN_PEER_LOST, "%s: %s does not give back a message of a transfer with rank "
                            "%d, which is in memory of the library", wire->member->label, carrier_of(wire->carry)->name,
                            wire->peer);
    }
    return status;
}
