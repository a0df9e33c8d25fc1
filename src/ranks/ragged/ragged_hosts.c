/* Messages of a ragged all-to-all over the connections of its ranks.  Called by ragged_host.c. */
#include "ranks/ragged/ragged.h"

#include <string.h>

#include "os/integers.h"
#include "ranks/hosts/hosts.h"

/* ---- entry ---- */

struct entry {
    const struct quern_ragged_call *call;
    const struct quern_ragged_exchange *exchange;
};

static const struct quern_ragged_record *own_record(const struct quern_membership *member) {
    return (const struct quern_ragged_record *)quern_own_mailbox(member->roster, member->rank, member->exchanges);
}

static int place_of(const struct quern_ragged_call *call, int rank) {
    int low = 0, high = call->places;  /* the ranks ascend */
    while (low < high) {
        const int middle = (low + high) / 2;
        if (call->rank_at[middle] < rank) low = middle + 1;
        else high = middle;
    }
    return low < call->places && call->rank_at[low] == rank ? low : call->places;
}

/*
 * Notices of a rank that sees the call as this one does go into the inbox.  Others come from a rank with other members or updates,
 * which both find, and are dropped.
 */
static bool place_entry(void *user, struct quern_channel *channel) {
    const struct entry *entry = user;
    const struct quern_ragged_call *call = entry->call;
    const uint64_t expected = (uint64_t)call->updates * sizeof(struct quern_ragged_notice);
    struct quern_ragged_record *record = (struct quern_ragged_record *)quern_net_mailbox(call->member, channel->rank);
    const int place = call->refused == QUERN_OK ? place_of(call, channel->rank) : call->places;
    const bool fits = entry->exchange && channel->in_head.last == expected && place < call->places;
    const uint64_t most = (uint64_t)INT32_MAX * sizeof(struct quern_ragged_notice);
    if (channel->in_head.first > QUERN_EAGER_BYTES || channel->in_head.last > most) return false;
    if (channel->in_head.second != 0 && channel->in_head.second != sizeof record->terms) return false;
    quern_ragged_clear_record(record);
    channel->in = channel->few_in;
    if (channel->in_head.first)
        channel->few_in[channel->ins++] = (struct iovec){quern_net_eager(call->member, channel->rank), channel->in_head.first};
    if (channel->in_head.second) channel->few_in[channel->ins++] = (struct iovec){&record->terms, sizeof record->terms};
    if (fits && expected)
        channel->few_in[channel->ins++] = (struct iovec){entry->exchange->inbox + place * call->updates, expected};
    channel->skipped = fits ? 0 : channel->in_head.last;
    return true;
}

static void fill_entry(const struct entry *entry, struct quern_channel *channel, const struct quern_ragged_eager *eager) {
    const struct quern_ragged_call *call = entry->call;
    const struct quern_ragged_record *record = own_record(call->member);
    const bool has_record = !eager || eager->offer == QUERN_RAGGED_LONG;
    const int place = call->refused == QUERN_OK ? place_of(call, channel->rank) : call->places;
    const bool has_notices = has_record && record->terms.record.flags && place < call->places;
    if (eager) channel->out_head.first = (uint32_t)call->member->eager_bytes;
    if (has_record) channel->out_head.second = sizeof record->terms;
    if (has_notices) channel->out_head.last = (uint64_t)call->updates * sizeof(struct quern_ragged_notice);
    if (eager) quern_channel_add(channel, quern_ragged_own_eager(call), call->member->eager_bytes);
    if (has_record) quern_channel_add(channel, &record->terms, sizeof record->terms);
    if (has_notices) quern_channel_add(channel, entry->exchange->outbox + place * call->updates, channel->out_head.last);
}

quern_status quern_ragged_enter(struct quern_ragged_call *call, const struct quern_ragged_exchange *exchange,
                                const struct quern_meeting *meeting, const struct quern_ragged_eager *eager) {
    struct quern_membership *member = call->member;
    if (!member->control) return quern_meet(member, meeting);
    struct quern_channel *channels = member->net->channels;
    struct quern_sendrecv sendrecv;
    const bool has_exchange = call->refused == QUERN_OK && (!eager || eager->offer == QUERN_RAGGED_LONG);
    struct entry entry = {call, has_exchange ? exchange : NULL};
    if (eager) member->all_count++;  /* which says in which half the eager messages of this meeting are */
    quern_sendrecv_open(&sendrecv, member, meeting, meeting->set, channels, member->net->order);
    sendrecv.place = place_entry;
    sendrecv.user = &entry;
    for (int i = 0; i < sendrecv.count; i++) fill_entry(&entry, &channels[i], eager);
    return quern_net_sendrecv(&sendrecv, meeting);
}

/* ---- vote ---- */

static bool place_outcome(void *user, struct quern_channel *channel) {
    const struct quern_ragged_call *call = user;
    struct quern_ragged_record *record = (struct quern_ragged_record *)quern_net_mailbox(call->member, channel->rank);
    if (channel->in_head.first != sizeof record->outcome || channel->in_head.second > sizeof record->reason ||
        channel->in_head.last)
        return false;
    record->reason[0] = 0;
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){&record->outcome, sizeof record->outcome};
    if (channel->in_head.second) channel->few_in[channel->ins++] = (struct iovec){record->reason, channel->in_head.second};
    return true;
}

quern_status quern_ragged_vote(const struct quern_ragged_call *call, const struct quern_meeting *meeting) {
    struct quern_membership *member = call->member;
    if (!member->control) return quern_meet(member, meeting);
    struct quern_ragged_record *record = (struct quern_ragged_record *)own_record(member);
    const bool has_reason = record->outcome.report.fault == QUERN_SLICE_ARGUMENTS;
    struct quern_channel *channels = member->net->channels;
    struct quern_sendrecv sendrecv;
    quern_write_digest(&record->outcome, sizeof record->outcome);
    quern_sendrecv_open(&sendrecv, member, meeting, meeting->set, channels, member->net->order);
    sendrecv.place = place_outcome;
    sendrecv.user = (void *)call;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.first = sizeof record->outcome;
        channels[i].out_head.second = has_reason ? (uint32_t)strlen(record->reason) + 1 : 0;
        quern_channel_add(&channels[i], &record->outcome, channels[i].out_head.first);
        quern_channel_add(&channels[i], record->reason, channels[i].out_head.second);
    }
    return quern_net_sendrecv(&sendrecv, meeting);
}

quern_status quern_ragged_meet_here(const struct quern_ragged_call *call, struct quern_meeting meeting, enum quern_phase phase) {
    meeting.phase = phase;
    if (!call->member->control) return quern_meet(call->member, &meeting);
    const struct quern_rank_set here = quern_local_part(call->member, meeting.set);
    meeting.called = meeting.set;
    meeting.set = &here;
    return here.count > 1 ? quern_meet(call->member, &meeting) : QUERN_OK;
}

/* ---- slices ---- */

/* Adds a slice to a list of parts, in which it continues the last one if it can and the way of data allows that. */
static int add_part(const struct quern_membership *member, struct iovec *parts, int count, void *at, int64_t bytes) {
    if (!bytes) return count;
    if (count && member->net->row->merges && (char *)parts[count - 1].iov_base + parts[count - 1].iov_len == (char *)at) {
        parts[count - 1].iov_len += (size_t)bytes;
        return count;
    }
    parts[count] = (struct iovec){at, (size_t)bytes};
    return count + 1;
}

/* In unsigned numbers, since an empty buffer may be NULL. */
static void *at_row(const void *buffer, int64_t row, int64_t row_bytes) {
    return (void *)((uintptr_t)buffer + (uint64_t)row * (uint64_t)row_bytes);
}

/* Returns the bytes.  All numbers are in the notices, which a plan keeps; they were checked on both sides. */
static uint64_t list_sends(const struct quern_ragged_exchange *x, int place, struct quern_channel *channel) {
    const struct quern_ragged_call *call = x->call;
    const char *input = call->in_place ? x->staging : call->input;
    struct iovec *parts = x->shipped_out + place * (call->updates + 1);
    uint64_t bytes = 0;
    int count = 1;
    parts[0] = (struct iovec){&channel->out_head, sizeof channel->out_head};
    for (int64_t entry = place * call->updates; entry < (place + 1) * call->updates; entry++) {
        const int64_t size = x->outbox[entry].size * call->row_bytes;
        bytes += (uint64_t)size;
        count = add_part(call->member, parts, count, at_row(input, x->outbox[entry].source, 1), size);
    }
    channel->out = parts;
    channel->outs = count;
    return bytes;
}

static uint64_t received_bytes(const struct quern_ragged_exchange *x, int place) {
    uint64_t rows = 0;
    for (int64_t i = place * x->call->updates; i < (place + 1) * x->call->updates; i++) rows += (uint64_t)x->inbox[i].size;
    return rows * (uint64_t)x->call->row_bytes;
}

static bool place_slices(void *user, struct quern_channel *channel) {
    const struct quern_ragged_exchange *x = ((struct quern_ragged_shipment *)user)->exchange;
    const struct quern_ragged_call *call = x->call;
    const int place = place_of(call, channel->rank);
    struct iovec *parts = x->shipped_in + place * (call->updates + 1);
    int count = 0;
    for (int64_t entry = place * call->updates; entry < (place + 1) * call->updates; entry++) {
        const int64_t size = x->inbox[entry].size * call->row_bytes;
        count = add_part(call->member, parts, count, at_row(call->output, x->inbox[entry].output_offset, call->row_bytes), size);
    }
    channel->in = parts;
    channel->ins = count;
    return channel->in_head.first == 0 && channel->in_head.second == 0 && channel->in_head.last == received_bytes(x, place);
}

/* Both ends know the sizes, so empty slices need no message. */
quern_status quern_ragged_ship(struct quern_ragged_shipment *shipment, const struct quern_ragged_exchange *x,
                               const struct quern_meeting *meeting) {
    struct quern_meeting copying = *meeting;
    shipment->is_needed = quern_spans_hosts(x->call->member, &x->call->set);
    if (!shipment->is_needed) return QUERN_OK;
    shipment->exchange = x;
    copying.phase = QUERN_PHASE_COPY;
    copying.set = &x->call->set;
    quern_sendrecv_open(&shipment->sendrecv, x->call->member, &copying, copying.set,
                        x->call->member->net->channels, x->call->member->net->order);
    shipment->sendrecv.place = place_slices;
    shipment->sendrecv.user = shipment;
    for (int i = 0; i < shipment->sendrecv.count; i++) {
        struct quern_channel *channel = &shipment->sendrecv.channel[i];
        const int place = place_of(x->call, channel->rank);
        channel->out_head.last = list_sends(x, place, channel);
        if (!channel->out_head.last) quern_channel_only_receives(&shipment->sendrecv, channel);
        if (!received_bytes(x, place)) quern_channel_only_sends(channel);
    }
    return quern_sendrecv_begin(&shipment->sendrecv);
}

void quern_ragged_abandon(struct quern_ragged_shipment *shipment) {
    if (shipment->is_needed) quern_sendrecv_abandon(&shipment->sendrecv);
}

quern_status quern_ragged_ship_rest(struct quern_ragged_shipment *shipment) {
    return shipment->is_needed ? quern_sendrecv_end(&shipment->sendrecv) : QUERN_OK;
}
