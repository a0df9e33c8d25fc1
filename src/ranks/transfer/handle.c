/*
 * From the handle of a transfer to what is behind it, and to its failure: ranks that are lost, and limits that end.  Called by
 * transfer.c, wait.c and progress_threads.c.
 */
#include "ranks/transfer/transfer.h"

#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* Nanoseconds for the last words of a rank of another host, which come by another connection. */
static const int64_t GRACE = 60000000;

quern_status quern_transfer_of(quern_transfer *handle, struct quern_transfer_data **data) {
    struct quern_membership *member;
    *data = NULL;
    if (!handle) return quern_fail(NULL, QUERN_NULL_POINTER, "transfer is NULL");
    quern_status status = quern_member_of(handle->group, &member);
    if (status != QUERN_OK) return status;
    *data = __atomic_load_n(&handle->data, __ATOMIC_ACQUIRE);
    return *data ? QUERN_OK : quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the transfer was destroyed before");
}

quern_status quern_transfer_status(struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    if (transfer->state != QUERN_TRANSFER_OVER) return QUERN_OK;
    return quern_fail(member->device, transfer->status, "%s: transfer %llu: %s", member->label, (unsigned long long)transfer->key,
                      transfer->reason);
}

quern_status quern_transfer_poisoned(struct quern_transfer_data *transfer) {
    quern_status status = quern_check_poison(transfer->member);
    if (status == QUERN_OK) return QUERN_OK;
    char reason[QUERN_TRANSFER_REASON];
    quern_error_detail(reason, sizeof reason);
    quern_transfer_fail(transfer, status, "%s", reason);
    return quern_check_poison(transfer->member);
}

bool quern_is_awaited(const struct quern_transfer_pair *pair) {
    return pair->conn && !(pair->in.is_complete && pair->out.is_complete);
}

/* A rank that has gone says no more: what it has said before is heard first. */
static void find_lost(struct quern_transfer_data *transfer, int64_t now) {
    const struct quern_roster *roster = transfer->member->roster;
    for (int i = 0; i < transfer->pair_count && transfer->state == QUERN_TRANSFER_STARTED; i++) {
        struct quern_transfer_pair *pair = &transfer->pairs[i];
        if (!quern_is_awaited(pair) || !quern_rank_has_gone(roster, pair->conn->peer)) continue;
        if (!pair->gone_since) pair->gone_since = now;
        quern_pass_transfers(transfer->member->transfers);
        const bool is_late = !pair->conn->is_elsewhere || now - pair->gone_since > GRACE;
        if (is_late && transfer->state == QUERN_TRANSFER_STARTED && quern_is_awaited(pair)) quern_lose_rank(pair);
    }
}

void quern_look_after(struct quern_transfer_data *transfer, int64_t now) {
    transfer->looked = now;
    if (quern_transfer_poisoned(transfer) == QUERN_OK) find_lost(transfer, now);
}

void quern_expire_transfer(struct quern_transfer_data *transfer, double waited) {
    const struct quern_membership *member = transfer->member;
    char missing[140];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    int listed = 0;
    for (int i = 0; i < transfer->pair_count; i++) {
        const struct quern_transfer_pair *pair = &transfer->pairs[i];
        if (!quern_is_awaited(pair) || ++listed > 2) continue;
        quern_text_add(&text, "%srank %d (", listed > 1 ? ", " : "", pair->conn->peer);
        quern_describe_place(&text, member->roster, pair->conn->peer);
        quern_text_add(&text, ", which has %s)", !pair->other                          ? "not prepared it"
                                                : pair->other_round < transfer->round ? "not started it"
                                                                                      : "started it");
    }
    if (listed > 2) quern_text_add(&text, " and %d more", listed - 2);
    QUERN_POINT(TRANSFER_EXPIRING);
    quern_transfer_fail(transfer, QUERN_PEER_TIMEOUT, "rank %d waited %g s for %s", member->rank, waited, missing);
}

void quern_show_transfer(const struct quern_transfer_data *transfer, int32_t receive, struct quern_tensor_taker *taker) {
    for (int64_t i = 0; i < transfer->count; i++) {
        const struct quern_transfer_part *part = &transfer->parts[i];
        if (part->receive == receive)
            quern_show_item(taker, receive ? "received" : "sent", part->place, part->memory, quern_byte_element, part->bytes,
                            receive ? QUERN_TENSOR_OUT : QUERN_TENSOR_IN);
    }
}
