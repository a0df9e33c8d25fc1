/* The short protocol of a ragged all-to-all: writes, reads and checks eager messages, and copies.  Called by ragged_host.c. */
#include "ranks/ragged/ragged.h"

#include <string.h>

#include "os/futex.h"
#include "os/integers.h"
#include "ranks/hosts/hosts.h"
#include "ranks/poison.h"
#include "ranks/terms.h"
#include "runtime/status.h"

typedef struct quern_ragged_eager eager_t;
typedef struct quern_ragged_eager_entry entry_t;

typedef struct quern_ragged_eager_output output_t;

enum { LINE = 64, HEAD = offsetof(eager_t, entry), WORD = sizeof(uint64_t) };
enum { END = QUERN_EAGER_BYTES - sizeof(output_t) };  /* the output's place at the end */

_Static_assert(sizeof(eager_t) % WORD == 0 && sizeof(eager_t) + QUERN_EAGER_PAYLOAD <= END, "an eager message must have room");

/* ---- places ---- */

/*
 * Ranks of one process find each other's eager messages in its own memory.  A process with several of several ranks would need
 * both.
 */
bool quern_ragged_is_eager(const struct quern_ragged_call *call) {
    const struct quern_membership *member = call->member;
    return call->places == member->ranks && call->places <= QUERN_EAGER_ENTRIES && member->has_eager;
}

/* The eager messages of a meeting: `meeting` is its epoch. */
static char *eager_at(const struct quern_membership *member, int rank, uint32_t meeting) {
    if (member->roster->peer[rank].is_elsewhere) return (char *)quern_net_eager(member, rank);
    return (char *)(member->one_process ? quern_own_eager : quern_shared_eager)(member->roster, rank, meeting);
}

static size_t entries_bytes(const struct quern_ragged_call *call) { return (size_t)quern_ragged_entries(call) * sizeof(entry_t); }

static size_t payload_at(const struct quern_ragged_call *call) { return quern_round_up(HEAD + entries_bytes(call), WORD); }

static size_t output_place(const struct quern_ragged_call *call, int32_t offer) {
    return offer == QUERN_RAGGED_DIRECT ? payload_at(call) : END;
}

/* ---- writing ---- */

void quern_ragged_expect_eager(const struct quern_membership *member) {
    if (member->one_process || !member->eager_bytes) return;
    const char *eager = eager_at(member, member->rank, member->all_count + 1);
    for (size_t at = 0; at < member->eager_bytes; at += LINE) quern_expect_write(eager + at);
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
static int64_t bytes_for(const struct quern_ragged_call *call, const eager_t *eager, int place) {
    int64_t rows = 0;
    for (int64_t i = place * call->updates; i < (place + 1) * call->updates; i++) rows += eager->entry[i].size;
    return rows * call->row_bytes;
}

/* The protocols that this rank's own arguments allow.  A fault is left to the long one. */
static int32_t find_offer(const struct quern_ragged_call *call, eager_t *eager) {
    struct quern_slice_report fault;
    int64_t bytes = 0;
    if (call->refused != QUERN_OK || call->in_place || call->check_overlap ||
        call->updates > QUERN_EAGER_ENTRIES / call->places || !quern_ragged_check_sends(call, &fault) ||
        !fill_entries(call, eager->entry))
        return QUERN_RAGGED_LONG;
    for (int place = 0; place < call->places && bytes <= QUERN_EAGER_PAYLOAD; place++)
        if (place != call->place) bytes += bytes_for(call, eager, place);
    const bool reachable = !call->member->control && (call->member->one_process || call->output_state == QUERN_MEMORY_SYMMETRIC);
    return (bytes <= QUERN_EAGER_PAYLOAD ? QUERN_RAGGED_SMALL : 0) | (reachable ? QUERN_RAGGED_DIRECT : 0);
}

static const char *input_at(const struct quern_ragged_call *call, int64_t entry) {
    return call->input + quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes;
}

/* Returns their end. */
static char *write_slices(const struct quern_ragged_call *call, const eager_t *eager, char *to) {
    for (int64_t i = 0; i < quern_ragged_entries(call); i++) {
        const int64_t bytes = eager->entry[i].size * call->row_bytes;
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

int32_t quern_ragged_write_eager(const struct quern_ragged_call *call, eager_t *eager) {
    struct quern_membership *member = call->member;
    char *there = eager_at(member, member->rank, member->all_count + 1);
    eager->offer = find_offer(call, eager);
    eager->updates = (int32_t)call->updates;
    eager->row_bytes = call->row_bytes;
    eager->output_rows = call->output_rows;
    eager->live = quern_symmetric_live(member);
    member->eager_bytes = HEAD + (eager->offer == QUERN_RAGGED_LONG ? 0 : entries_bytes(call));
    quern_write_digest(eager, member->eager_bytes);
    memcpy(there, eager, member->eager_bytes);
    if (eager->offer & QUERN_RAGGED_SMALL)
        member->eager_bytes = (size_t)(write_slices(call, eager, there + payload_at(call)) - there);
    if (eager->offer & QUERN_RAGGED_DIRECT) write_output(call, there + output_place(call, eager->offer));
    return eager->offer;
}

const void *quern_ragged_own_eager(const struct quern_ragged_call *call) {
    return eager_at(call->member, call->member->rank, call->member->all_count);
}

/* ---- reading ---- */

/* Copies once, and checks the copy. */
static bool read_eager(const struct quern_ragged_call *call, int place, eager_t *eager) {
    const char *there = eager_at(call->member, call->rank_at[place], call->member->all_count);
    memcpy(eager, there, HEAD);
    const bool is_long = eager->offer == QUERN_RAGGED_LONG;
    if (!is_long && (uint32_t)eager->updates > (uint32_t)(QUERN_EAGER_ENTRIES / call->places)) return false;
    const size_t entries = is_long ? 0 : (size_t)(call->places * eager->updates) * sizeof(entry_t);
    memcpy(eager->entry, there + HEAD, entries);
    return (call->member->one_process && !call->member->control) || quern_has_digest(eager, HEAD + entries);
}

static bool agree(const struct quern_ragged_call *call, const eager_t *eager) {
    for (int place = 0; place < call->places; place++)
        if (eager[place].updates != call->updates || eager[place].row_bytes != call->row_bytes ||
            eager[place].live != eager[0].live)
            return false;
    return true;
}

/* Whether the slices of an eager message are inside it and the bytes of its output fit 64 bits, which a digest does not say. */
static bool is_bounded(const struct quern_ragged_call *call, const eager_t *eager, int place) {
    const int64_t most = call->row_bytes ? INT64_MAX / call->row_bytes : INT64_MAX;
    const int64_t most_sent = call->row_bytes && eager->offer & QUERN_RAGGED_SMALL ? QUERN_EAGER_PAYLOAD / call->row_bytes : most;
    int64_t sent = 0;
    for (int64_t i = 0; i < quern_ragged_entries(call); i++) {
        if (eager->entry[i].size < 0) return false;
        if (i / call->updates != place) sent += eager->entry[i].size;
    }
    return sent <= most_sent && eager->output_rows <= most;
}

/* Whether a rank may receive what the others send to it. */
static bool can_receive(const struct quern_ragged_call *call, const eager_t *eager, int place) {
    const eager_t *mine = &eager[place];
    for (int sender = 0; sender < call->places; sender++)
        for (int64_t update = 0; update < call->updates; update++) {
            const entry_t *sent = &eager[sender].entry[place * call->updates + update];
            if (sent->size != mine->entry[sender * call->updates + update].expected || sent->output_offset < 0 ||
                sent->output_offset > mine->output_rows - sent->size)
                return false;
        }
    return true;
}

static bool is_sound(const struct quern_ragged_call *call, const eager_t *eager) {
    bool sound = agree(call, eager);
    for (int place = 0; place < call->places && sound; place++) sound = is_bounded(call, &eager[place], place);
    for (int place = 0; place < call->places && sound; place++) sound = can_receive(call, eager, place);
    return sound;
}

/* Fetches the lines of all eager messages at once, since each comes from another core. */
static void expect_eager(const struct quern_ragged_call *call) {
    for (int place = 0; place < call->places; place++) {
        if (place == call->place) continue;
        const char *there = eager_at(call->member, call->rank_at[place], call->member->all_count);
        __builtin_prefetch(there);
        __builtin_prefetch(there + payload_at(call));
    }
}

quern_status quern_ragged_read_eager(const struct quern_ragged_call *call, eager_t eager[QUERN_EAGER_ENTRIES],
                                      enum quern_ragged_protocol *protocol) {
    int32_t all = QUERN_RAGGED_SMALL | QUERN_RAGGED_DIRECT, any = 0;
    expect_eager(call);
    for (int place = 0; place < call->places; place++) {
        if (place != call->place && !read_eager(call, place, &eager[place]))
            return quern_poison_damaged(call->member, "eager message", call->rank_at[place]);
        all &= eager[place].offer;
        any |= eager[place].offer;
    }
    *protocol = !any                           ? QUERN_RAGGED_LONG
           : !all || !is_sound(call, eager) ? QUERN_RAGGED_MIXED
           : all & QUERN_RAGGED_SMALL     ? QUERN_RAGGED_SMALL
                                          : QUERN_RAGGED_DIRECT;
    return QUERN_OK;
}

/* ---- copying ---- */

static char *output_at(const struct quern_ragged_call *call, char *output, const entry_t *entry) {
    return output + entry->output_offset * call->row_bytes;
}

static void receive_from(const struct quern_ragged_call *call, const eager_t *eager, int sender) {
    const char *from = eager_at(call->member, call->rank_at[sender], call->member->all_count) + payload_at(call);
    for (int place = 0; place < call->place; place++)
        if (place != sender) from += bytes_for(call, &eager[sender], place);
    for (int64_t i = call->place * call->updates; i < (call->place + 1) * call->updates; i++) {
        const entry_t *entry = &eager[sender].entry[i];
        const int64_t bytes = entry->size * call->row_bytes;
        const bool own = sender == call->place;
        if (bytes) memcpy(output_at(call, call->output, entry), own ? input_at(call, i) : from, (size_t)bytes);
        from += own ? 0 : bytes;
    }
}

void quern_ragged_receive(const struct quern_ragged_call *call, const eager_t *eager) {
    for (int step = 0; step < call->places; step++) receive_from(call, eager, (call->place + step) % call->places);
}

/* The output of a member; NULL: it is not mapped as far as the eager message says. */
static char *reach(const struct quern_ragged_call *call, const eager_t *eager, int place) {
    const int rank = call->rank_at[place];
    output_t output;
    if (place == call->place) return call->output;
    memcpy(&output, eager_at(call->member, rank, call->member->all_count) + output_place(call, eager->offer), sizeof output);
    if (call->member->one_process) return output.pointer;
    if (!quern_has_digest(&output, sizeof output)) return NULL;
    return quern_symmetric_resolve(call->member, output.id, output.offset, eager->output_rows * call->row_bytes, rank);
}

quern_status quern_ragged_deliver(const struct quern_ragged_call *call, const eager_t *eager) {
    struct quern_copy copies[QUERN_EAGER_ENTRIES];
    struct quern_copy_list list = {.copies = copies};
    for (int step = 1; step <= call->places; step++) {
        const int place = (call->place + step) % call->places;
        char *output = bytes_for(call, &eager[call->place], place) ? reach(call, &eager[place], place) : NULL;
        for (int64_t i = place * call->updates; i < (place + 1) * call->updates; i++) {
            const entry_t *entry = &eager[call->place].entry[i];
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
