/*
 * Collectives of CPU ranks of several hosts.  The table at the end is a row of the transport of several hosts.
 *
 * The entry is a message from each member to each one of another host, while those of a host meet in its memory.  It has the terms of
 * the call, which each rank compares with those of all others, so all come to the same result.  A small input travels with it: then
 * the entry is the only message, and each rank combines all inputs itself.  Otherwise the data follows in the steps of a schedule:
 * collective_steps.h.
 *
 * What a rank tells the members of its host lies in the half of the mailbox that the next exchange will use, and in the half of the
 * brief of the next meeting of all ranks: all have read the former content of both.  The meeting at the end lets it be written again.
 */
#include "ranks/collective/collective_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/collective/collective_steps.h"
#include "ranks/collective/collective_terms.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* In the mailbox. */
struct record {
    struct quern_collective_terms terms;
    char reason[600];   /* of a refusal */
};

_Static_assert(sizeof(struct record) <= QUERN_MAILBOX_BYTES, "a record must fit a mailbox");

/* ---- where members find each other's records and small inputs ---- */

static struct record *record_of(const struct quern_membership *member, int rank) {
    if (member->roster->peer[rank].is_elsewhere) return (struct record *)quern_span_mailbox(member, rank);
    return (struct record *)quern_shared_mailbox(member->roster, rank, member->exchanges);
}

static char *small_input_of(const struct quern_membership *member, int rank) {
    if (member->roster->peer[rank].is_elsewhere) return (char *)quern_span_brief(member, rank);
    return (char *)quern_shared_brief(member->roster, rank, member->all_count + 1);
}

static bool is_root(const struct quern_collective_call *call, int rank) { return !call->form->has_root || rank == call->root; }

/* The bytes of a member's input, as this rank's arguments have it; and whether all inputs travel with the entry. */
static int64_t input_bytes_of(const struct quern_collective_call *call, int rank) {
    const int64_t pieces = call->form->scatters ? call->places : 1;
    return is_root(call, rank) ? pieces * call->piece_bytes : 0;
}

static bool is_small(const struct quern_collective_call *call) {
    return input_bytes_of(call, call->form->has_root ? call->root : call->member->rank) <= QUERN_BRIEF_BYTES;
}

/* ---- the entry ---- */

struct entry {
    struct quern_collective_call *call;
    struct record own;
    int64_t bytes;               /* of the small input that goes with it */
    int stray;                   /* a rank whose input has other bytes than its terms; -1: none */
};

/* Bytes of a rank that sees the call otherwise are dropped: the terms tell that. */
static bool place_entry(void *user, struct quern_channel *channel) {
    struct entry *entry = user;
    const struct quern_collective_call *call = entry->call;
    struct record *record = record_of(call->member, channel->rank);
    const uint64_t expected = call->refused == QUERN_OK && is_small(call) ? (uint64_t)input_bytes_of(call, channel->rank) : 0;
    const bool fits = channel->in_head.last == expected;
    if (channel->in_head.first != sizeof record->terms || channel->in_head.second > sizeof record->reason ||
        channel->in_head.last > QUERN_BRIEF_BYTES)
        return false;
    if (!fits && call->refused == QUERN_OK) entry->stray = channel->rank;
    record->reason[0] = 0;
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){&record->terms, sizeof record->terms};
    if (channel->in_head.second) channel->few_in[channel->ins++] = (struct iovec){record->reason, channel->in_head.second};
    if (fits && expected) channel->few_in[channel->ins++] = (struct iovec){small_input_of(call->member, channel->rank), expected};
    channel->skipped = fits ? 0 : channel->in_head.last;
    return true;
}

static void announce(struct entry *entry) {
    const struct quern_collective_call *call = entry->call;
    struct quern_membership *member = call->member;
    quern_write_collective_terms(call, &entry->own.terms);
    entry->own.reason[0] = 0;
    if (call->refused != QUERN_OK) quern_error_detail(entry->own.reason, sizeof entry->own.reason);
    else if (is_small(call)) entry->bytes = input_bytes_of(call, member->rank);
    memcpy(record_of(member, member->rank), &entry->own, sizeof entry->own);
    if (entry->bytes) memcpy(small_input_of(member, member->rank), call->input, (size_t)entry->bytes);
}

static quern_status enter(struct entry *entry, const struct quern_meeting *meeting) {
    const struct quern_collective_call *call = entry->call;
    struct quern_channel *channels = call->member->span->channels;
    struct quern_sendrecv sendrecv;
    announce(entry);
    quern_sendrecv_open(&sendrecv, call->member, meeting, meeting->set, channels, call->member->span->order);
    sendrecv.place = place_entry;
    sendrecv.user = entry;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.first = sizeof entry->own.terms;
        channels[i].out_head.second = entry->own.reason[0] ? (uint32_t)strlen(entry->own.reason) + 1 : 0;
        channels[i].out_head.last = (uint64_t)entry->bytes;
        quern_channel_add(&channels[i], &entry->own.terms, channels[i].out_head.first);
        quern_channel_add(&channels[i], entry->own.reason, channels[i].out_head.second);
        quern_channel_add(&channels[i], call->input, (size_t)entry->bytes);
    }
    return quern_span_sendrecv(&sendrecv, meeting);
}

/* ---- agreeing ---- */

struct reader {
    const struct quern_collective_call *call;
    char reason[sizeof ((struct record *)NULL)->reason];
};

static const char *read_reason(void *user, int place) {
    struct reader *reader = user;
    quern_copy_text(reader->reason, record_of(reader->call->member, reader->call->rank_at[place])->reason, sizeof reader->reason);
    return reader->reason;
}

/* Copies the terms of all once; *agreed is the outcome, the same on all members.  Fails if some are damaged. */
static quern_status compare(const struct entry *entry, struct quern_collective_terms *terms, quern_status *agreed) {
    const struct quern_collective_call *call = entry->call;
    struct quern_membership *member = call->member;
    struct reader reader = {.call = call};
    for (int place = 0; place < call->places; place++) {
        const bool own = place == call->place;
        terms[place] = own ? entry->own.terms : record_of(member, call->rank_at[place])->terms;
        if (own || (quern_collective_terms_are_sealed(&terms[place]) && terms[place].operation == (int32_t)call->form->operation)) continue;
        return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d read damaged terms of rank %d: a process that is no rank writes into "
                            "the group's shared memory", member->rank, call->rank_at[place]);
    }
    *agreed = quern_compare_collective_terms(call, terms, read_reason, &reader);
    if (*agreed != QUERN_OK || entry->stray < 0) return QUERN_OK;
    return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d got an input of rank %d with other bytes than its terms say",
                        member->rank, entry->stray);
}

static quern_status leave(const struct quern_collective_call *call, struct quern_meeting meeting) {
    const struct quern_rank_set here = quern_local_part(call->member, meeting.set);
    meeting.phase = QUERN_PHASE_EXIT;
    meeting.called = meeting.set;
    meeting.set = &here;
    return here.count > 1 ? quern_meet(call->member, &meeting) : QUERN_OK;
}

/* ---- the small way ---- */

static const char *small_input_at(const struct quern_collective_call *call, int place) {
    return place == call->place ? call->input : small_input_of(call->member, call->rank_at[place]);
}

static quern_status gather_small(struct quern_host_exchange *x) {
    const struct quern_collective_call *call = x->call;
    const bool casts = call->form->has_root;
    for (int place = casts ? call->root_place : 0; place < (casts ? call->root_place + 1 : call->places); place++) {
        char *to = call->output + (casts ? 0 : place * call->piece_bytes);
        if (call->piece_bytes && to != small_input_at(call, place)) memcpy(to, small_input_at(call, place), (size_t)call->piece_bytes);
    }
    return QUERN_OK;
}

static quern_status run_small(struct quern_host_exchange *x) {
    const struct quern_collective_call *call = x->call;
    if (!call->form->reduces) return gather_small(x);
    for (int place = 0; place < call->places && call->count; place++)
        x->inputs[place] = small_input_at(call, place) + (call->form->scatters ? call->place * call->piece_bytes : 0);
    return quern_combine_inputs(x, call->places, call->output, call->count);
}

/* ---- the large way ---- */

/* A member of this host that has given up memory which the others still use has broken the rules of symmetric memory. */
static quern_status find_windows(const struct quern_host_exchange *x, const struct quern_collective_terms *terms) {
    const struct quern_collective_call *call = x->call;
    for (int index = 0; index < x->here; index++) {
        const int place = quern_member_at(x, x->host, index), rank = call->rank_at[place];
        x->window[index] = quern_symmetric_resolve(call->member, terms[place].workspace_id, terms[place].workspace_offset,
                                                   (int64_t)call->workspace_bytes, rank);
        if (!x->window[index])
            return quern_poison(call->member, QUERN_PEER_MISMATCH, "the workspace of rank %d is not in symmetric memory that rank %d "
                                "has mapped of it", rank, call->member->rank);
    }
    return QUERN_OK;
}

/* ---- a call ---- */

static size_t terms_bytes(const struct quern_collective_call *call) {
    return (size_t)call->places * sizeof(struct quern_collective_terms);
}

/* Memory for the lists of a call, kept for the next one. */
static void *reserve_lists(struct quern_collective_call *call) {
    struct quern_membership *member = call->member;
    const size_t bytes = terms_bytes(call) + quern_host_exchange_storage(call);
    if (bytes <= member->lists_bytes) return member->lists;
    free(member->lists);
    member->lists = malloc(bytes);
    member->lists_bytes = member->lists ? bytes : 0;
    return member->lists;
}

static quern_status run_agreed(const struct quern_collective_call *call, const struct quern_collective_terms *terms,
                               const struct quern_meeting *meeting) {
    struct quern_host_exchange x;
    quern_open_host_exchange(&x, call, (char *)terms + terms_bytes(call));
    if (is_small(call)) {
        quern_status status = run_small(&x);
        return status == QUERN_OK ? leave(call, *meeting) : status;
    }
    quern_status status = find_windows(&x, terms);
    return status == QUERN_OK ? quern_run_steps(&x) : status;
}

static quern_status run(struct quern_collective_call *call, void *stream) {
    struct entry entry = {.call = call, .stray = -1};
    const struct quern_meeting meeting = {.operation = call->form->operation, .phase = QUERN_PHASE_ENTRY, .set = &call->set,
                                          .timeout = call->timeout};
    struct quern_collective_terms *terms = reserve_lists(call);
    quern_status agreed = QUERN_OK;
    (void)stream;
    if (!terms)
        return quern_poison(call->member, QUERN_OUT_OF_MEMORY, "rank %d has no memory for a collective of %d ranks", call->member->rank,
                            call->places);
    quern_status status = enter(&entry, &meeting);
    if (status == QUERN_OK) status = compare(&entry, terms, &agreed);
    if (status != QUERN_OK) return status;
    if (agreed == QUERN_OK) return run_agreed(call, terms, &meeting);
    status = leave(call, meeting);
    return status == QUERN_OK ? agreed : status;
}

const struct quern_collective_transport quern_hosts_collective = {.workspace_bytes = quern_host_exchange_workspace, .run = run};
