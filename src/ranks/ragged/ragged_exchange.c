/* One rank's part in the exchange: lists the copies and runs them.  Called by ragged_host.c. */
#include "ranks/ragged/ragged.h"

#include <string.h>

#include "os/integers.h"
#include "runtime/status.h"

enum {
    ALIGNMENT = 64,
    WINDOW_BYTES = 1 << 19,  /* for each thread: large compared with the cost of a meeting */
    WINDOW_THREADS = 8
};

static const int64_t MOST_PIPED = (int64_t)1 << 62;  /* bytes of a pipe, so that the end of its last buffer can be computed */

static int64_t padded(int64_t bytes) { return (int64_t)quern_round_up((size_t)bytes, ALIGNMENT); }

/*
 * A row of a buffer.  Computed in unsigned numbers, since an empty buffer may be NULL.  A sender also computes the address of a
 * slice before it knows whether the slice lies within the receiver's output.
 */
static char *row_at(const void *buffer, int64_t row, int64_t row_bytes) {
    return (char *)((uintptr_t)buffer + (uint64_t)row * (uint64_t)row_bytes);
}

static const struct quern_peer *peer_at(const struct quern_ragged_exchange *x, int place) {
    return &x->call->member->roster->peer[x->call->rank_at[place]];
}

/* Whether a member is of this process; of another host, to which ragged_hosts.c moves the slices. */
static bool is_here(const struct quern_ragged_exchange *x, int place) { return peer_at(x, place)->is_here; }
static bool is_elsewhere(const struct quern_ragged_exchange *x, int place) { return peer_at(x, place)->is_elsewhere; }

/* The pipe that comes from a member of this host. */
static struct quern_ragged_pipe *incoming_from(struct quern_ragged_exchange *x, int place) {
    return &x->incoming[peer_at(x, place)->slot];
}

/* ---- the workspace: outbox, staging ---- */

static int64_t input_bytes(const struct quern_ragged_call *call) { return call->input_rows * call->row_bytes; }

static int64_t notices_bytes(const struct quern_ragged_call *call) {
    return padded(quern_ragged_entries(call) * (int64_t)sizeof(struct quern_ragged_notice));
}

/* A private input passes through a ring, unless the whole input is staged or all ranks are in one process. */
static int64_t buffer_bytes(const struct quern_ragged_call *call) {
    if (call->in_place || call->member->one_process || call->input_state == QUERN_MEMORY_SYMMETRIC) return 0;
    const int64_t most = WINDOW_BYTES * quern_smaller(call->threads, WINDOW_THREADS);
    return quern_smaller(most, padded(input_bytes(call) * (call->places - 1)));
}

static size_t staging_bytes(const struct quern_ragged_call *call) {
    return call->in_place ? (size_t)input_bytes(call) : 2 * (size_t)buffer_bytes(call);
}

size_t quern_ragged_exchange_workspace(const struct quern_ragged_call *call) {
    return (size_t)notices_bytes(call) + staging_bytes(call);
}

/* ---- the storage: terms, outbox, inbox, copies ---- */

/* For each entry: two direct copies, two slices of pipes, and a piece. */
static int64_t copies_bytes(const struct quern_ragged_call *call) {
    return 5 * quern_ragged_entries(call) * (int64_t)sizeof(struct quern_copy);
}

static int64_t terms_bytes(const struct quern_ragged_call *call) {
    return padded(call->places * (int64_t)sizeof(struct quern_ragged_terms));
}

/* For each member the head of a message and its slices. */
static int64_t shipped_bytes(const struct quern_ragged_call *call) {
    return call->member->control ? padded(call->places * (call->updates + 1) * (int64_t)sizeof(struct iovec)) : 0;
}

size_t quern_ragged_exchange_storage(const struct quern_ragged_call *call) {
    return (size_t)(terms_bytes(call) + 2 * notices_bytes(call) + padded(copies_bytes(call)) + 2 * shipped_bytes(call));
}

static struct quern_copy *list_at(void *copies, int64_t entries) {
    return (struct quern_copy *)row_at(copies, entries, (int64_t)sizeof(struct quern_copy));
}

void quern_ragged_exchange_open(struct quern_ragged_exchange *x, struct quern_ragged_call *call, void *storage) {
    const int64_t entries = quern_ragged_entries(call);
    void *outbox = row_at(storage, 1, terms_bytes(call)), *inbox = row_at(outbox, 1, notices_bytes(call));
    void *copies = row_at(inbox, 1, notices_bytes(call));
    *x = (struct quern_ragged_exchange){.call = call, .kernel = call->ready->kernel->cpu.ragged_all_to_all, .astray = -1};
    x->terms = storage;
    x->outbox = outbox;
    x->inbox = inbox;
    x->staging = row_at(call->workspace, 1, notices_bytes(call));
    x->direct.copies = copies;
    x->outgoing = (struct quern_ragged_pipe){list_at(copies, 2 * entries), 0, x->staging, buffer_bytes(call), 0};
    x->incoming_slices = list_at(copies, 3 * entries);
    x->pieces.copies = list_at(copies, 4 * entries);
    x->shipped_out = (struct iovec *)row_at(copies, 1, padded(copies_bytes(call)));
    x->shipped_in = (struct iovec *)row_at(x->shipped_out, 1, shipped_bytes(call));
}

void quern_ragged_clear_record(struct quern_ragged_record *record) {
    record->terms = (struct quern_ragged_terms){.updates = 0};
    record->outcome = (struct quern_ragged_outcome){.rounds = 0};
    record->reason[0] = 0;
}

/* ---- the record ---- */

static const struct quern_term terms[] = {QUERN_TERM(QUERN_SLICE_UPDATES, struct quern_ragged_terms, updates),
                                          QUERN_TERM(QUERN_SLICE_ROW_BYTES, struct quern_ragged_terms, row_bytes)};
const struct quern_terms quern_ragged_terms = {terms, sizeof terms / sizeof *terms, sizeof(struct quern_ragged_terms)};

static struct quern_ragged_location locate(const void *pointer, enum quern_symmetric_state state,
                                           const struct quern_symmetric_location *place, int64_t offset) {
    struct quern_ragged_location location = {.pointer = row_at(pointer, 1, offset), .state = state};
    if (state == QUERN_MEMORY_SYMMETRIC) {
        location.id = place->id;
        location.offset = place->offset + offset;
    }
    return location;
}

/* The sums of bytes have 64 bits. */
static quern_status check_total(const struct quern_ragged_call *call) {
    const int64_t entries = quern_ragged_entries(call);
    __int128 rows = 0;
    for (int64_t entry = 0; entry < entries; entry++) {
        rows += quern_ragged_metadata(call, call->send_sizes, entry);
        rows += quern_ragged_metadata(call, call->recv_sizes, entry);
    }
    if (!call->row_bytes || rows <= INT64_MAX / call->row_bytes) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                      "the rows of send_sizes and recv_sizes have more than 2^63 bytes together");
}

/* The pipe holds the slices in the order of the visits, so that each buffer has slices for many receivers. */
static void write_notices(struct quern_ragged_exchange *x, bool has_pipe) {
    const struct quern_ragged_call *call = x->call;
    int64_t piped = 0;
    for (int step = 1; step <= call->places; step++) {
        int peer = (call->place + step) % call->places;
        for (int64_t entry = peer * call->updates; entry < (peer + 1) * call->updates; entry++) {
            int64_t size = quern_ragged_metadata(call, call->send_sizes, entry);
            bool pipes = has_pipe && !is_here(x, peer) && !is_elsewhere(x, peer);
            x->outbox[entry] = (struct quern_ragged_notice){
                .output_offset = quern_ragged_metadata(call, call->output_offsets, entry),
                .size = size,
                .source = pipes ? piped : quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes,
            };
            if (pipes) piped += size * call->row_bytes;
        }
    }
}

static void write_terms(const struct quern_ragged_exchange *x, struct quern_ragged_terms *terms) {
    const struct quern_ragged_call *call = x->call;
    quern_set_describe(&call->set, call->member->ranks, terms->record.members);
    terms->updates = call->updates;
    terms->row_bytes = call->row_bytes;
    terms->buffer = x->outgoing.buffer;
    terms->output = locate(call->output, call->output_state, &call->output_place, 0);
    terms->outbox = locate(call->workspace, call->workspace_state, &call->workspace_place, 0);
    if (call->in_place || terms->buffer) {
        terms->source = locate(call->workspace, call->workspace_state, &call->workspace_place, notices_bytes(call));
        terms->source_bytes = (int64_t)staging_bytes(call);
    } else {
        terms->source = locate(call->input, call->input_state, &call->input_place, 0);
        terms->source_bytes = input_bytes(call);
    }
    terms->record.flags = QUERN_RAGGED_READY;
    quern_write_digest(terms, sizeof *terms);
}

quern_status quern_ragged_exchange_announce(struct quern_ragged_exchange *x, struct quern_ragged_record *record) {
    const struct quern_ragged_call *call = x->call;
    if (!quern_ragged_check_sends(call, &record->outcome.report)) return QUERN_OK;
    quern_status status = check_total(call);
    if (status != QUERN_OK) return status;
    write_terms(x, &record->terms);
    write_notices(x, record->terms.buffer != 0);
    if (call->updates) memcpy(call->workspace, x->outbox, (size_t)quern_ragged_entries(call) * sizeof *x->outbox);
    return QUERN_OK;
}

/* ---- reaching peers ---- */

static quern_status reach(const struct quern_ragged_exchange *x, int peer, const char *what,
                          const struct quern_ragged_location *location, int64_t bytes, const char **pointer) {
    const struct quern_ragged_call *call = x->call;
    const int rank = call->rank_at[peer];
    *pointer = location->pointer;
    if (is_here(x, peer)) return QUERN_OK;
    *pointer = quern_symmetric_resolve(call->member, location->id, location->offset, bytes, rank);
    if (*pointer) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                      "the %s of rank %d is in symmetric memory that rank %d has freed", what, rank, call->member->rank);
}

static quern_status gather_notices(struct quern_ragged_exchange *x) {
    const struct quern_ragged_call *call = x->call;
    const size_t bytes = (size_t)call->updates * sizeof *x->inbox;
    for (int peer = 0; peer < call->places && bytes; peer++) {
        const char *outbox;
        if (is_elsewhere(x, peer)) continue;  /* they came with its record */
        quern_status status = reach(x, peer, "workspace", &x->terms[peer].outbox, notices_bytes(call), &outbox);
        if (status != QUERN_OK) return status;
        memcpy(x->inbox + peer * call->updates, outbox + (size_t)call->place * bytes, bytes);
    }
    return QUERN_OK;
}

/* ---- listing the copies ---- */

/* Whether the sender copies into the receiver's output. */
static bool is_delivered(const struct quern_ragged_exchange *x, int peer, int receiver) {
    return is_here(x, peer) || x->terms[receiver].output.state == QUERN_MEMORY_SYMMETRIC;
}

static void add_slice(struct quern_ragged_pipe *pipe, char *to, const char *from, int64_t bytes, int64_t begin) {
    pipe->slices[pipe->count++] = (struct quern_copy){to, from, bytes, begin};
}

static int64_t count_rounds(const struct quern_ragged_pipe *pipe) {
    if (!pipe->count) return 0;
    const struct quern_copy *last = &pipe->slices[pipe->count - 1];
    return (last->begin + last->bytes - 1) / pipe->buffer + 1;
}

/* Whether [begin, begin + bytes) lies in [0, limit). */
static bool lies_within(int64_t begin, int64_t bytes, int64_t limit) {
    return begin >= 0 && bytes >= 0 && bytes <= limit && begin <= limit - bytes;
}

/* The end of all slices for a member, in bytes of its output; INT64_MAX: too far. */
static int64_t end_of_sends(const struct quern_ragged_exchange *x, int peer) {
    const struct quern_ragged_call *call = x->call;
    const struct quern_ragged_notice *notices = x->outbox + peer * call->updates;
    int64_t most = 0;
    for (int64_t update = 0; update < call->updates; update++) {
        int64_t end;
        if (!notices[update].size) continue;
        if (__builtin_add_overflow(notices[update].output_offset, notices[update].size, &end) ||
            __builtin_mul_overflow(end, call->row_bytes, &end))
            return INT64_MAX;
        most = quern_larger(most, end);
    }
    return most;
}

/*
 * The output of a member; NULL: the slices do not lie within what this process has mapped of it.  That is no fault of this rank's:
 * the receiver knows its output better, and reports it.
 */
static quern_status reach_output(struct quern_ragged_exchange *x, int peer, const char **output) {
    const struct quern_ragged_call *call = x->call;
    const struct quern_ragged_location *location = &x->terms[peer].output;
    quern_status status = reach(x, peer, "output", location, 0, output);
    if (status != QUERN_OK || is_here(x, peer)) return status;
    *output = quern_symmetric_resolve(call->member, location->id, location->offset, end_of_sends(x, peer), call->rank_at[peer]);
    if (!*output) x->astray = call->rank_at[peer];
    return QUERN_OK;
}

static quern_status prepare_deliveries(struct quern_ragged_exchange *x, int peer, const char *input) {
    const struct quern_ragged_call *call = x->call;
    const char *output = NULL;
    for (int64_t update = 0, entry = peer * call->updates; update < call->updates; update++, entry++) {
        const int64_t bytes = x->outbox[entry].size * call->row_bytes;
        if (!bytes) continue;
        quern_status status = output ? QUERN_OK : reach_output(x, peer, &output);
        if (status != QUERN_OK || !output) return status;
        quern_copies_add(&x->direct, row_at(output, x->outbox[entry].output_offset, call->row_bytes),
                         row_at(input, quern_ragged_metadata(call, call->input_offsets, entry), call->row_bytes), bytes);
    }
    return QUERN_OK;
}

static quern_status prepare_sends(struct quern_ragged_exchange *x, int peer) {
    const struct quern_ragged_call *call = x->call;
    const char *input = call->in_place ? x->staging : call->input;
    if (is_delivered(x, peer, peer)) return prepare_deliveries(x, peer, input);
    for (int64_t update = 0, entry = peer * call->updates; update < call->updates && x->outgoing.buffer; update++, entry++) {
        const int64_t bytes = x->outbox[entry].size * call->row_bytes;
        const char *from = row_at(input, quern_ragged_metadata(call, call->input_offsets, entry), call->row_bytes);
        if (bytes) add_slice(&x->outgoing, NULL, from, bytes, x->outbox[entry].source);
    }
    return QUERN_OK;
}

static bool is_sound(const struct quern_ragged_terms *terms, const struct quern_ragged_notice *notice, int64_t bytes) {
    if (!terms->buffer) return lies_within(notice->source, bytes, terms->source_bytes);
    return terms->buffer > 0 && terms->buffer <= terms->source_bytes / 2 && lies_within(notice->source, bytes, MOST_PIPED);
}

static quern_status prepare_receives(struct quern_ragged_exchange *x, int peer) {
    const struct quern_ragged_call *call = x->call;
    const struct quern_ragged_notice *notices = x->inbox + peer * call->updates;
    const struct quern_ragged_terms *terms = &x->terms[peer];
    struct quern_ragged_pipe *pipe = incoming_from(x, peer);
    const char *source = NULL;
    for (int64_t update = 0; update < call->updates && !is_delivered(x, peer, call->place); update++) {
        const int64_t bytes = notices[update].size * call->row_bytes;
        char *to = row_at(call->output, notices[update].output_offset, call->row_bytes);
        if (!bytes) continue;
        if (!is_sound(terms, &notices[update], bytes))
            return quern_fail_damaged(call->member->device, "a notice", call->rank_at[peer]);
        if (!source) {
            quern_status status = reach(x, peer, "input or workspace", &terms->source, terms->source_bytes, &source);
            if (status != QUERN_OK) return status;
            *pipe = (struct quern_ragged_pipe){x->incoming_slices + peer * call->updates, 0, (char *)source, terms->buffer, 0};
        }
        if (terms->buffer) add_slice(pipe, to, NULL, bytes, notices[update].source);
        else quern_copies_add(&x->direct, to, source + notices[update].source, bytes);
        x->piped_in += terms->buffer ? bytes : 0;
    }
    pipe->rounds = count_rounds(pipe);
    return QUERN_OK;
}

/*
 * In place: each slice is copied to the same offset in the staging.  Slices that are not in order may overlap, and two threads must
 * not write the same bytes.  Then the whole range from the first to the last byte is copied.
 */
static void prepare_image(struct quern_ragged_exchange *x) {
    const struct quern_ragged_call *call = x->call;
    const int64_t entries = quern_ragged_entries(call);
    int64_t first = INT64_MAX, end = 0;
    bool in_order = true;
    for (int64_t entry = 0; entry < entries; entry++) {
        int64_t begin = quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes;
        int64_t bytes = x->outbox[entry].size * call->row_bytes;
        if (!bytes) continue;
        in_order = in_order && begin >= end;
        first = quern_smaller(first, begin);
        end = quern_larger(end, begin + bytes);
        add_slice(&x->outgoing, NULL, row_at(call->input, 1, begin), bytes, begin);
    }
    if (!in_order) {
        x->outgoing.count = 0;
        add_slice(&x->outgoing, NULL, row_at(call->input, 1, first), end - first, first);
    }
    x->outgoing.buffer = end;
    x->outgoing.rounds = 1;
}

static quern_status prepare_copies(struct quern_ragged_exchange *x, struct quern_ragged_record *record) {
    const int places = x->call->places, place = x->call->place;
    quern_status status = QUERN_OK;
    for (int step = 1; step <= places && x->call->updates && status == QUERN_OK; step++) {
        const int to = (place + step) % places, from = (place - step + places) % places;
        if (!is_elsewhere(x, to)) status = prepare_sends(x, to);
        if (status == QUERN_OK && !is_elsewhere(x, from)) status = prepare_receives(x, from);
    }
    record->outcome.rounds = x->outgoing.rounds = count_rounds(&x->outgoing);
    if (x->call->in_place) prepare_image(x);
    x->is_streaming = quern_copies_are_large(x->call->member->device, places, x->direct.bytes + x->piped_in);
    return status;
}

quern_status quern_ragged_exchange_prepare(struct quern_ragged_exchange *x, struct quern_ragged_record *record) {
    int64_t *order = (int64_t *)x->direct.copies;  /* not in use yet */
    quern_status status = gather_notices(x);
    if (status != QUERN_OK || !quern_ragged_check_receives(x->call, x->inbox, order, &record->outcome.report)) return status;
    return prepare_copies(x, record);
}

/* ---- copying ---- */

/* Adds the pieces of a pipe's slices that lie in a buffer. */
static void cut_buffer(const struct quern_ragged_pipe *pipe, int64_t round, struct quern_copy_list *pieces) {
    if (round >= pipe->rounds) return;
    const int64_t first = round * pipe->buffer, end = first + pipe->buffer;
    for (int64_t i = quern_copies_find(pipe->slices, pipe->count, first); i < pipe->count; i++) {
        const struct quern_copy *slice = &pipe->slices[i];
        if (slice->begin >= end) break;
        int64_t from = quern_larger(slice->begin, first), to = quern_smaller(slice->begin + slice->bytes, end),
                skipped = from - slice->begin;
        char *in_ring = pipe->ring + from % (2 * pipe->buffer);
        if (from >= to) continue;
        quern_copies_add(pieces, slice->to ? slice->to + skipped : in_ring, slice->from ? slice->from + skipped : in_ring,
                         to - from);
    }
}

static void run(const struct quern_ragged_exchange *x, const struct quern_copy_list *list) {
    quern_copies_run(x->call->member->device, x->kernel, list, x->is_streaming);
}

void quern_ragged_exchange_stage(struct quern_ragged_exchange *x, int64_t round) {
    x->pieces.count = x->pieces.bytes = 0;
    cut_buffer(&x->outgoing, round, &x->pieces);
    run(x, &x->pieces);
}

void quern_ragged_exchange_copy(const struct quern_ragged_exchange *x) { run(x, &x->direct); }

void quern_ragged_exchange_fetch(struct quern_ragged_exchange *x, int64_t round) {
    const int places = x->call->places, place = x->call->place;
    x->pieces.count = x->pieces.bytes = 0;
    for (int step = 1; step < places; step++) {
        const int from = (place - step + places) % places;
        if (!is_elsewhere(x, from)) cut_buffer(incoming_from(x, from), round, &x->pieces);
    }
    run(x, &x->pieces);
}
