/* The short way of a ragged all-to-all: writes, reads and checks briefs, and copies.  Called by ragged_host.c. */
#include "ranks/ragged/ragged_brief.h"

#include <string.h>

#include "os/futex.h"
#include "os/integers.h"
#include "ranks/hosts/connections.h"
#include "ranks/poison.h"
#include "ranks/ragged/ragged_check.h"
#include "ranks/ragged/ragged_copies.h"
#include "runtime/status.h"

typedef struct quern_ragged_brief brief_t;
typedef struct quern_ragged_brief_entry entry_t;

typedef struct quern_ragged_brief_output output_t;

enum { LINE = 64, HEAD = offsetof(brief_t, entry), WORD = sizeof(uint64_t) };
enum { END = QUERN_BRIEF_BYTES - sizeof(output_t) };  /* the output's place at the end */

_Static_assert(sizeof(brief_t) % WORD == 0 && sizeof(brief_t) + QUERN_BRIEF_PAYLOAD <= END, "a brief must have room");

/* ---- places ---- */

/* Ranks of one process find each other's briefs in its own memory.  A process with several of several ranks would need both. */
bool quern_ragged_is_brief(const struct quern_ragged_call *call) {
    const struct quern_membership *member = call->member;
    return call->places == member->ranks && call->places <= QUERN_BRIEF_ENTRIES && member->has_briefs;
}

/* The briefs of a meeting: `meeting` is its epoch. */
static char *brief_at(const struct quern_membership *member, int rank, uint32_t meeting) {
    if (member->roster->peer[rank].is_elsewhere) return (char *)quern_span_brief(member, rank);
    return (char *)(member->one_process ? quern_own_brief : quern_shared_brief)(member->roster, rank, meeting);
}

static size_t entries_bytes(const struct quern_ragged_call *call) { return (size_t)quern_ragged_entries(call) * sizeof(entry_t); }

static size_t payload_at(const struct quern_ragged_call *call) { return quern_round_up(HEAD + entries_bytes(call), WORD); }

static size_t output_place(const struct quern_ragged_call *call, int32_t offer) {
    return offer == QUERN_RAGGED_DIRECT ? payload_at(call) : END;
}

/* ---- writing ---- */

void quern_ragged_expect_brief(const struct quern_membership *member) {
    if (member->one_process || !member->brief_bytes) return;
    const char *brief = brief_at(member, member->rank, member->all_count + 1);
    for (size_t at = 0; at < member->brief_bytes; at += LINE) quern_expect_write(brief + at);
}

/* False: a number has more than 31 bits. */
static bool fill_entries(const struct quern_ragged_call *call, entry_t *entry) {
    int64_t all = 0;
    for (int64_t i = 0; i < quern_ragged_entries(call); i++) {
        const int64_t offset = quern_ragged_metadata(call, call->output_offsets, i);
        const int64_t size = quern_ragged_metadata(call, call->send_sizes, i);
        const int64_t expected = quern_ragged_metadata(call, call->recv_sizes, i);
        all |= offset | size | expected;
        entry[i] = (entry_t){(int32_t)offset, (int32_t)size, (int32_t)expected};
    }
    return all <= INT32_MAX;
}

/* The bytes that a rank sends to another one. */
static int64_t bytes_for(const struct quern_ragged_call *call, const brief_t *brief, int place) {
    int64_t rows = 0;
    for (int64_t i = place * call->updates; i < (place + 1) * call->updates; i++) rows += brief->entry[i].size;
    return rows * call->row_bytes;
}

/* What this rank can offer by its own arguments alone.  A fault is left to the long way. */
static int32_t find_offer(const struct quern_ragged_call *call, brief_t *brief) {
    struct quern_slice_report fault;
    int64_t bytes = 0;
    if (call->refused != QUERN_OK || call->in_place || call->check_overlap ||
        call->updates > QUERN_BRIEF_ENTRIES / call->places || !quern_ragged_check_sends(call, &fault) ||
        !fill_entries(call, brief->entry))
        return QUERN_RAGGED_LONG;
    for (int place = 0; place < call->places && bytes <= QUERN_BRIEF_PAYLOAD; place++)
        if (place != call->place) bytes += bytes_for(call, brief, place);
    const bool reachable = !call->member->control && (call->member->one_process || call->output_state == QUERN_MEMORY_SYMMETRIC);
    return (bytes <= QUERN_BRIEF_PAYLOAD ? QUERN_RAGGED_SMALL : 0) | (reachable ? QUERN_RAGGED_DIRECT : 0);
}

static const char *input_at(const struct quern_ragged_call *call, int64_t entry) {
    return call->input + quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes;
}

/* Returns their end. */
static char *write_slices(const struct quern_ragged_call *call, const brief_t *brief, char *to) {
    for (int64_t i = 0; i < quern_ragged_entries(call); i++) {
        const int64_t bytes = brief->entry[i].size * call->row_bytes;
        if (i / call->updates == call->place || !bytes) continue;
        memcpy(to, input_at(call, i), (size_t)bytes);
        to += bytes;
    }
    return to;
}

static void write_output(const struct quern_ragged_call *call, char *to) {
    const bool symmetric = call->output_state == QUERN_MEMORY_SYMMETRIC;
    output_t output = {.id = symmetric ? call->output_place.id : 0, .offset = symmetric ? call->output_place.offset : 0,
                       .pointer = call->output};
    quern_write_digest(&output, sizeof output);
    memcpy(to, &output, sizeof output);
}

int32_t quern_ragged_write_brief(const struct quern_ragged_call *call, brief_t *brief) {
    struct quern_membership *member = call->member;
    char *there = brief_at(member, member->rank, member->all_count + 1);
    brief->offer = find_offer(call, brief);
    brief->updates = (int32_t)call->updates;
    brief->row_bytes = call->row_bytes;
    brief->output_rows = call->output_rows;
    brief->live = quern_symmetric_live(member);
    member->brief_bytes = HEAD + (brief->offer == QUERN_RAGGED_LONG ? 0 : entries_bytes(call));
    quern_write_digest(brief, member->brief_bytes);
    memcpy(there, brief, member->brief_bytes);
    if (brief->offer & QUERN_RAGGED_SMALL)
        member->brief_bytes = (size_t)(write_slices(call, brief, there + payload_at(call)) - there);
    if (brief->offer & QUERN_RAGGED_DIRECT) write_output(call, there + output_place(call, brief->offer));
    return brief->offer;
}

const void *quern_ragged_own_brief(const struct quern_ragged_call *call) {
    return brief_at(call->member, call->member->rank, call->member->all_count);
}

/* ---- reading ---- */

/* Copies once, and checks the copy. */
static bool read_brief(const struct quern_ragged_call *call, int place, brief_t *brief) {
    const char *there = brief_at(call->member, call->rank_at[place], call->member->all_count);
    memcpy(brief, there, HEAD);
    const bool is_long = brief->offer == QUERN_RAGGED_LONG;
    if (!is_long && (uint32_t)brief->updates > (uint32_t)(QUERN_BRIEF_ENTRIES / call->places)) return false;
    const size_t entries = is_long ? 0 : (size_t)(call->places * brief->updates) * sizeof(entry_t);
    memcpy(brief->entry, there + HEAD, entries);
    return (call->member->one_process && !call->member->control) || quern_has_digest(brief, HEAD + entries);
}

static bool agree(const struct quern_ragged_call *call, const brief_t *briefs) {
    for (int place = 0; place < call->places; place++)
        if (briefs[place].updates != call->updates || briefs[place].row_bytes != call->row_bytes ||
            briefs[place].live != briefs[0].live)
            return false;
    return true;
}

/* Whether the slices of a brief are inside it and the bytes of its output fit 64 bits, which a digest does not say. */
static bool is_bounded(const struct quern_ragged_call *call, const brief_t *brief, int place) {
    const int64_t most = call->row_bytes ? INT64_MAX / call->row_bytes : INT64_MAX;
    const int64_t most_sent = call->row_bytes && brief->offer & QUERN_RAGGED_SMALL ? QUERN_BRIEF_PAYLOAD / call->row_bytes : most;
    int64_t sent = 0;
    for (int64_t i = 0; i < quern_ragged_entries(call); i++) {
        if (brief->entry[i].size < 0) return false;
        if (i / call->updates != place) sent += brief->entry[i].size;
    }
    return sent <= most_sent && brief->output_rows <= most;
}

/* Whether a rank may receive what the others send to it. */
static bool can_receive(const struct quern_ragged_call *call, const brief_t *briefs, int place) {
    const brief_t *mine = &briefs[place];
    for (int sender = 0; sender < call->places; sender++)
        for (int64_t update = 0; update < call->updates; update++) {
            const entry_t *sent = &briefs[sender].entry[place * call->updates + update];
            if (sent->size != mine->entry[sender * call->updates + update].expected || sent->output_offset < 0 ||
                sent->output_offset > mine->output_rows - sent->size)
                return false;
        }
    return true;
}

static bool is_sound(const struct quern_ragged_call *call, const brief_t *briefs) {
    bool sound = agree(call, briefs);
    for (int place = 0; place < call->places && sound; place++) sound = is_bounded(call, &briefs[place], place);
    for (int place = 0; place < call->places && sound; place++) sound = can_receive(call, briefs, place);
    return sound;
}

/* Fetches the lines of all briefs at once, since each comes from another core. */
static void expect_briefs(const struct quern_ragged_call *call) {
    for (int place = 0; place < call->places; place++) {
        if (place == call->place) continue;
        const char *there = brief_at(call->member, call->rank_at[place], call->member->all_count);
        __builtin_prefetch(there);
        __builtin_prefetch(there + payload_at(call));
    }
}

quern_status quern_ragged_read_briefs(const struct quern_ragged_call *call, brief_t briefs[QUERN_BRIEF_ENTRIES],
                                      enum quern_ragged_way *way) {
    int32_t all = QUERN_RAGGED_SMALL | QUERN_RAGGED_DIRECT, any = 0;
    expect_briefs(call);
    for (int place = 0; place < call->places; place++) {
        if (place != call->place && !read_brief(call, place, &briefs[place]))
            return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d read a damaged brief of rank %d: a process that is no "
                                "rank writes into the group's shared memory", call->member->rank, call->rank_at[place]);
        all &= briefs[place].offer;
        any |= briefs[place].offer;
    }
    *way = !any                           ? QUERN_RAGGED_LONG
           : !all || !is_sound(call, briefs) ? QUERN_RAGGED_MIXED
           : all & QUERN_RAGGED_SMALL     ? QUERN_RAGGED_SMALL
                                          : QUERN_RAGGED_DIRECT;
    return QUERN_OK;
}

/* ---- copying ---- */

static char *output_at(const struct quern_ragged_call *call, char *output, const entry_t *entry) {
    return output + entry->output_offset * call->row_bytes;
}

static void receive_from(const struct quern_ragged_call *call, const brief_t *briefs, int sender) {
    const char *from = brief_at(call->member, call->rank_at[sender], call->member->all_count) + payload_at(call);
    for (int place = 0; place < call->place; place++)
        if (place != sender) from += bytes_for(call, &briefs[sender], place);
    for (int64_t i = call->place * call->updates; i < (call->place + 1) * call->updates; i++) {
        const entry_t *entry = &briefs[sender].entry[i];
        const int64_t bytes = entry->size * call->row_bytes;
        const bool own = sender == call->place;
        if (bytes) memcpy(output_at(call, call->output, entry), own ? input_at(call, i) : from, (size_t)bytes);
        from += own ? 0 : bytes;
    }
}

void quern_ragged_receive(const struct quern_ragged_call *call, const brief_t *briefs) {
    for (int step = 0; step < call->places; step++) receive_from(call, briefs, (call->place + step) % call->places);
}

/* The output of a member; NULL: it is not mapped as far as the brief says. */
static char *reach(const struct quern_ragged_call *call, const brief_t *brief, int place) {
    const int rank = call->rank_at[place];
    output_t output;
    if (place == call->place) return call->output;
    memcpy(&output, brief_at(call->member, rank, call->member->all_count) + output_place(call, brief->offer), sizeof output);
    if (call->member->one_process) return output.pointer;
    if (!quern_has_digest(&output, sizeof output)) return NULL;
    return quern_symmetric_resolve(call->member, output.id, output.offset, brief->output_rows * call->row_bytes, rank);
}

quern_status quern_ragged_deliver(const struct quern_ragged_call *call, const brief_t *briefs) {
    struct quern_copy copies[QUERN_BRIEF_ENTRIES];
    struct quern_copy_list list = {.copies = copies};
    for (int step = 1; step <= call->places; step++) {
        const int place = (call->place + step) % call->places;
        char *output = bytes_for(call, &briefs[call->place], place) ? reach(call, &briefs[place], place) : NULL;
        for (int64_t i = place * call->updates; i < (place + 1) * call->updates; i++) {
            const entry_t *entry = &briefs[call->place].entry[i];
            if (!entry->size || !call->row_bytes) continue;
            if (!output)
                return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d sends slices to rank %d beyond the memory that it "
                                    "has mapped of it", call->member->rank, call->rank_at[place]);
            quern_copies_add(&list, output_at(call, output, entry), input_at(call, i), entry->size * call->row_bytes);
        }
    }
    quern_copies_run(call->member->device, call->ready->kernel->cpu.ragged_all_to_all, &list,
                     quern_copies_are_large(call->member->device, call->places, list.bytes));
    return QUERN_OK;
}
