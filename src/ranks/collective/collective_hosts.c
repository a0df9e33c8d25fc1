/*
 * Collectives of CPU ranks of several hosts.  The table at the end is a row of the transport of several hosts.
 *
 * At the entry the members of a host meet in its memory, and each sends its record (collective_record.c) to each member of another
 * host.  So every rank reads the records of all, as on one host, and all come to the same result.  A small input is in the record:
 * then the entry is the only message, and each rank combines all inputs itself.  Otherwise the data follows in the steps of a
 * schedule: collective_steps.c.
 *
 * No meeting of all ranks is counted, so a call ends with a meeting of each host: then nobody reads its records any more.
 */
#include "ranks/collective/collective.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* ---- the entry ---- */

struct entry {
    struct quern_collective_call *call;
    int stray;                   /* a rank whose record has other bytes than this rank's arguments let expect; -1: none */
};

/* The bytes of a member's record, if its arguments are as those of this rank. */
static uint64_t record_bytes_of(const struct quern_collective_call *call, int rank) {
    const int64_t pieces = call->form->has_root && rank != call->root ? 0 : call->form->scatters ? call->places : 1;
    const uint64_t payload =
        quern_collective_is_small(call) ? (uint64_t)(pieces * call->piece_bytes) : sizeof(struct quern_collective_places);
    return sizeof(struct quern_collective_head) + payload;
}

static bool place_record(void *user, struct quern_channel *channel) {
    struct entry *entry = user;
    const struct quern_collective_call *call = entry->call;
    const uint64_t bytes = channel->in_head.last;
    if (channel->in_head.first || channel->in_head.second || bytes < sizeof(struct quern_collective_head) ||
        bytes > QUERN_EAGER_BYTES)
        return false;
    if (call->refused == QUERN_OK && bytes != record_bytes_of(call, channel->rank)) entry->stray = channel->rank;
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){quern_net_eager(call->member, channel->rank), bytes};
    return true;
}

static quern_status enter(struct entry *entry, const struct quern_meeting *meeting, uint32_t half) {
    const struct quern_membership *member = entry->call->member;
    struct quern_channel *channels = member->net->channels;
    struct quern_sendrecv sendrecv;
    quern_sendrecv_open(&sendrecv, entry->call->member, meeting, meeting->set, channels, member->net->order);
    sendrecv.place = place_record;
    sendrecv.user = entry;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.last = member->eager_bytes;
        quern_channel_add(&channels[i], quern_collective_own_record(member, half), member->eager_bytes);
    }
    return quern_net_sendrecv(&sendrecv, meeting);
}

/* Compares the records of all: *result, the same on all members.  Fails if one is damaged. */
static quern_status compare(const struct entry *entry, uint32_t half, quern_status *result) {
    struct quern_collective_summary summary;
    struct quern_membership *member = entry->call->member;
    quern_status status = quern_collective_read_heads(entry->call, half, &summary, result);
    if (status != QUERN_OK || *result != QUERN_OK || entry->stray < 0) return status;
    return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d got a record of rank %d with other bytes than its arguments have",
                        member->rank, entry->stray);
}

/* ---- the large way ---- */

/* The buffers of this host's members.  All have their digests: what is out of reach has been freed by one of the two ranks. */
static quern_status find_buffers(const struct quern_host_exchange *x, uint32_t half) {
    const struct quern_collective_call *call = x->call;
    for (int index = 0; index < x->here; index++) {
        const int place = quern_member_at(x, x->host, index), rank = call->rank_at[place];
        struct quern_collective_places places;
        const bool sound = quern_collective_read_places(call, half, place, &places);
        x->buffer[index] = sound ? quern_symmetric_resolve(call->member, places.workspace.id, places.workspace.offset,
                                                           (int64_t)call->workspace_bytes, rank)
                                 : NULL;
        if (!x->buffer[index])
            return quern_poison(call->member, QUERN_PEER_MISMATCH,
                                "the workspace of rank %d is not in symmetric memory that rank %d "
                                "has mapped of it", rank, call->member->rank);
    }
    return QUERN_OK;
}

/* ---- a call ---- */

/* Memory for the lists of a call, kept for the next one. */
static void *reserve_lists(struct quern_collective_call *call) {
    struct quern_membership *member = call->member;
    const size_t bytes = quern_host_exchange_storage(call);
    if (bytes <= member->lists_bytes) return member->lists;
    free(member->lists);
    member->lists = malloc(bytes);
    member->lists_bytes = member->lists ? bytes : 0;
    if (!member->lists && call->refused == QUERN_OK)
        call->refused = quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a collective of %d ranks", call->places);
    return member->lists;
}

static quern_status run_large(const struct quern_collective_call *call, void *lists, uint32_t half) {
    struct quern_host_exchange x;
    quern_open_host_exchange(&x, call, lists);
    quern_take_schedule(&x, quern_choose_schedule(&x));
    quern_status status = find_buffers(&x, half);
    return status == QUERN_OK ? quern_run_steps(&x) : status;
}

static quern_status run(struct quern_collective_call *call, void *stream) {
    struct entry entry = {.call = call, .stray = -1};
    const struct quern_meeting meeting = {.operation = call->form->operation, .phase = QUERN_PHASE_ENTRY, .set = &call->set,
                                          .timeout = call->timeout};
    const uint32_t half = quern_collective_half(call->member);
    void *lists = reserve_lists(call);
    quern_status result = QUERN_OK;
    (void)stream;
    struct quern_collective_told told;   /* to nobody: there is no meeting of all ranks */
    quern_collective_write_record(call, half, 0, &told);
    QUERN_POINT(COLLECTIVE_RECORDED);
    quern_status status = enter(&entry, &meeting, half);
    if (status == QUERN_OK) status = compare(&entry, half, &result);
    if (status != QUERN_OK) return status;
    QUERN_POINT(COLLECTIVE_READ);
    if (result == QUERN_OK && quern_collective_is_small(call)) quern_collective_receive(call, half, lists);
    else if (result == QUERN_OK) status = run_large(call, lists, half);
    QUERN_POINT(COLLECTIVE_RECEIVED);
    if (status == QUERN_OK) status = quern_meet_members_here(call->member, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(COLLECTIVE_LEAVING);
    return status == QUERN_OK ? result : status;
}

const struct quern_collective_transport quern_hosts_collective = {.workspace_bytes = quern_host_exchange_workspace, .run = run};
