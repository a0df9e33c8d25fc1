/* From the handle of a transfer to what is behind it, and to its failure.  Called by transfer.c and wait.c. */
#include "ranks/transfer/transfer.h"

#include "ranks/handles.h"
#include "ranks/poison.h"
#include "runtime/status.h"

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

void quern_show_transfer(const struct quern_transfer_data *transfer, int32_t receive, struct quern_tensor_taker *taker) {
    for (int64_t i = 0; i < transfer->count; i++) {
        const struct quern_transfer_part *part = &transfer->parts[i];
        if (part->receive == receive)
            quern_show_item(taker, receive ? "received" : "sent", part->place, part->memory, quern_byte_element, part->bytes,
                            receive ? QUERN_TENSOR_OUT : QUERN_TENSOR_IN);
    }
}
