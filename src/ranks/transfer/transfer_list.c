/*
 * Checks and sorts the list of a transfer.  Overlaps are found among the sorted addresses, so that 10,000 items take milliseconds.
 * Called by transfer.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/arguments.h"
#include "runtime/status.h"

static const int64_t MOST_BYTES = (int64_t)1 << 47;

/* ---- one item ---- */

static quern_status check_item(const struct quern_membership *member, const quern_transfer_item *item, int64_t place) {
    const quern_device *device = member->device;
    if (item->receive != 0 && item->receive != 1)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.items[%lld].receive is %d: expected 0 or 1", (long long)place,
                          item->receive);
    if (item->peer < 0 || item->peer >= member->ranks)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.items[%lld].peer is %d: expected a rank from 0 to %d",
                          (long long)place,
                          item->peer, member->ranks - 1);
    if (item->bytes < 0 || item->bytes > MOST_BYTES)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.items[%lld].bytes is %lld: expected 0 to 2^47", (long long)place,
                          (long long)item->bytes);
    if (item->bytes && !item->memory)
        return quern_fail(device, QUERN_NULL_POINTER, "args.items[%lld].memory is NULL", (long long)place);
    if ((uintptr_t)item->memory > UINTPTR_MAX - (uintptr_t)item->bytes)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.items[%lld].memory and bytes reach beyond all memory",
                          (long long)place);
    return QUERN_OK;
}

quern_status quern_check_transfer_list(const struct quern_membership *member, const quern_transfer_args *args) {
    const quern_device *device = member->device;
    if (args->item_size != sizeof(quern_transfer_item))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.item_size is %u: expected %zu (as QUERN_TRANSFER_ARGS_INIT "
                          "sets)",
                          args->item_size, sizeof(quern_transfer_item));
    quern_status status = quern_check_count(device, "args.item_count", args->item_count, QUERN_TRANSFER_MOST_ITEMS);
    if (status != QUERN_OK || !args->item_count) return status;
    return quern_check_pointer(device, "args.items", args->items, sizeof(void *));
}

static quern_status copy_items(const struct quern_membership *member, const quern_transfer_args *args,
                               struct quern_transfer_part *parts) {
    int64_t all = 0;
    for (int64_t i = 0; i < args->item_count; i++) {
        const quern_transfer_item *item = &args->items[i];
        quern_status status = check_item(member, item, i);
        if (status != QUERN_OK) return status;
        if ((all += item->bytes) > MOST_BYTES)
            return quern_fail(member->device, QUERN_INVALID_SHAPE, "the items up to %lld have more than 2^47 bytes", (long long)i);
        parts[i] = (struct quern_transfer_part){
            .peer = item->peer, .receive = item->receive, .tag = item->tag, .memory = item->memory, .bytes = item->bytes,
            .place = i};
    }
    return QUERN_OK;
}

/* ---- overlaps ---- */

static int by_address(const void *a, const void *b) {
    const struct quern_transfer_part *x = a, *y = b;
    return x->memory < y->memory ? -1 : x->memory > y->memory;
}

/*
 * Among sorted parts a part overlaps an earlier one if one of the earlier ones ends behind its beginning: all, or those received.
 */
static quern_status check_overlaps(const struct quern_membership *member, struct quern_transfer_part *parts, int64_t count) {
    const struct quern_transfer_part *longest[2] = {NULL, NULL};  /* of all; of those that are received */
    qsort(parts, (size_t)count, sizeof *parts, by_address);
    for (int64_t i = 0; i < count; i++) {
        const struct quern_transfer_part *part = &parts[i], *other = longest[!part->receive];
        if (!part->bytes) continue;
        if (other && other->memory + other->bytes > part->memory) {
            const bool ordered = other->place < part->place;
            return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.items[%lld].memory and args.items[%lld].memory "
                              "overlap: expected "
                              "that what is received overlaps nothing", (long long)(ordered ? other : part)->place,
                              (long long)(ordered ? part : other)->place);
        }
        for (int kind = 0; kind <= part->receive; kind++)
            if (!longest[kind] || longest[kind]->memory + longest[kind]->bytes < part->memory + part->bytes) longest[kind] = part;
    }
    return QUERN_OK;
}

/* ---- the order of both ends ---- */

/* By peer and tag; then the items that the lower rank of the pair sends.  Within one rank the send. */
static int by_pair(const void *a, const void *b, void *rank) {
    const struct quern_transfer_part *x = a, *y = b;
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    const int order = x->receive - y->receive;
    return *(const int *)rank <= x->peer ? order : -order;
}

static quern_status check_self(const struct quern_membership *member, const struct quern_transfer_part *part, bool has_next) {
    const struct quern_transfer_part *next = part + 1;
    if (has_next && next->peer == part->peer && next->tag == part->tag) {
        if (next->bytes == part->bytes) return QUERN_OK;
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.items[%lld] and args.items[%lld] copy within rank %d "
                          "with tag %llu: they "
                          "have %lld and %lld bytes", (long long)part->place, (long long)next->place, part->peer,
                          (unsigned long long)part->tag, (long long)part->bytes, (long long)next->bytes);
    }
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.items[%lld] %s this rank, %d, with tag %llu: the list has no "
                      "item that %s "
                      "it", (long long)part->place, part->receive ? "receives from" : "sends to", part->peer,
                      (unsigned long long)part->tag, part->receive ? "sends" : "receives");
}

static quern_status check_order(const struct quern_membership *member, const struct quern_transfer_part *parts, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        const struct quern_transfer_part *one = &parts[i - 1], *other = &parts[i];
        if (one->peer != other->peer || one->tag != other->tag || one->receive != other->receive) continue;
        const bool ordered = one->place < other->place;
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.items[%lld] and args.items[%lld] both %s rank %d with "
                          "tag %llu",
                          (long long)(ordered ? one : other)->place, (long long)(ordered ? other : one)->place,
                          one->receive ? "receive from" : "send to", one->peer, (unsigned long long)one->tag);
    }
    for (int64_t i = 0; i < count; i++) {
        if (parts[i].peer != member->rank) continue;
        quern_status status = check_self(member, &parts[i], i + 1 < count);
        if (status != QUERN_OK) return status;
        i++;  /* its other half */
    }
    return QUERN_OK;
}

quern_status quern_read_transfer_list(const struct quern_membership *member, const quern_transfer_args *args,
                                      struct quern_transfer_part *parts) {
    int rank = member->rank;
    quern_status status = copy_items(member, args, parts);
    if (status == QUERN_OK) status = check_overlaps(member, parts, args->item_count);
    if (status != QUERN_OK) return status;
    qsort_r(parts, (size_t)args->item_count, sizeof *parts, by_pair, &rank);
    return check_order(member, parts, args->item_count);
}
