/*
 * Both lists are in the same order, so the first difference is where both differ first.  Each end finds it by itself, in the same
 * words.  Called by progress.c.
 */
#include "ranks/transfer/transfer.h"

#include <stdlib.h>

#include "ranks/describe.h"

/* A transport of one rank to another: as one of the two has it. */
struct item {
    int from, to;
    uint64_t tag;
    int64_t bytes;
};

static struct item item_of(int rank, int peer, uint64_t tag, int64_t bytes, bool receive) {
    return (struct item){receive ? peer : rank, receive ? rank : peer, tag, bytes};
}

static struct item our_item(const struct quern_transfer_pair *pair, int64_t at) {
    const struct quern_transfer_part *part = &pair->parts[at];
    return item_of(pair->transfer->member->rank, part->peer, part->tag, part->bytes, part->receive);
}

static struct item their_item(const struct quern_membership *member, int peer, const struct quern_transfer_entry *entry) {
    return item_of(peer, member->rank, entry->tag, entry->bytes, entry->receive != 0);
}

static int order_of(const struct item *a, const struct item *b) {
    if (a->tag != b->tag) return a->tag < b->tag ? -1 : 1;
    return a->from - b->from;
}

/* One rank, `has`, has the item, and the other one does not. */
static void fail_alone(struct quern_transfer_data *transfer, const struct item *item, int has) {
    const bool sends = item->from == has;
    const int other = sends ? item->to : item->from;
    char place[100];
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, transfer->member->roster, has == transfer->member->rank ? other : has);
    quern_transfer_fail(transfer, QUERN_PEER_MISMATCH, "rank %d %s rank %d %lld bytes with tag %llu, which rank %d does not %s "
                        "(the other "
                        "rank is %s)", has, sends ? "sends" : "expects from", other, (long long)item->bytes,
                        (unsigned long long)item->tag, other, sends ? "receive" : "send", place);
}

static void fail_sizes(struct quern_transfer_data *transfer, const struct item *ours, const struct item *theirs) {
    const int rank = transfer->member->rank, peer = ours->from == rank ? ours->to : ours->from;
    const bool sends = ours->from == rank;
    char place[100];
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, transfer->member->roster, peer);
    quern_transfer_fail(transfer, QUERN_PEER_MISMATCH, "rank %d sends %lld bytes with tag %llu, and rank %d expects %lld (the "
                        "other rank "
                        "is %s)", ours->from, (long long)(sends ? ours : theirs)->bytes, (unsigned long long)ours->tag, ours->to,
                        (long long)(sends ? theirs : ours)->bytes, place);
}

/* Compares what both have at a place.  False: the transfer has failed. */
static bool compare(struct quern_transfer_pair *pair, const struct item *ours, const struct item *theirs) {
    struct quern_transfer_data *transfer = pair->transfer;
    const int peer = pair->conn->peer, order = !ours ? 1 : !theirs ? -1 : order_of(ours, theirs);
    if (order < 0) fail_alone(transfer, ours, transfer->member->rank);
    else if (order > 0) fail_alone(transfer, theirs, peer);
    else if (ours->bytes != theirs->bytes) fail_sizes(transfer, ours, theirs);
    else return true;
    return false;
}

bool quern_agree_on_lists(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs, int64_t count) {
    const struct quern_membership *member = pair->transfer->member;
    for (int64_t i = 0; i < pair->count || i < count; i++) {
        const struct item mine = i < pair->count ? our_item(pair, i) : (struct item){0};
        const struct item other = i < count ? their_item(member, pair->conn->peer, &theirs[i]) : (struct item){0};
        if (!compare(pair, i < pair->count ? &mine : NULL, i < count ? &other : NULL)) return false;
        pair->addresses[i] = theirs[i].address;
    }
    if (pair->transfer->gpu && !quern_find_memory(pair, theirs)) return false;
    return true;
}

void quern_refuse_list(struct quern_transfer_data *transfer, int peer, const struct quern_transfer_entry *theirs, int64_t count) {
    if (!count || transfer->state == QUERN_TRANSFER_OVER) return;
    const struct item item = their_item(transfer->member, peer, theirs);
    fail_alone(transfer, &item, peer);
}
