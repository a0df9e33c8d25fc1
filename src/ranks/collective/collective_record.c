/* Writes, reads and compares the records of a collective on CPUs.  Called by collective_host.c. */
#include "ranks/collective/collective.h"

#include <string.h>

#include "os/futex.h"
#include "os/integers.h"
#include "os/thread_id.h"
#include "ranks/hosts/hosts.h"
#include "runtime/status.h"

typedef struct quern_collective_head head_t;
typedef struct quern_collective_places places_t;
typedef struct quern_collective_outcome outcome_t;

typedef struct quern_collective_told told_t;

enum { LINE = 64, TINY = sizeof(((told_t *)0)->input), OUTCOME_AT = QUERN_EAGER_BYTES - sizeof(outcome_t) };

static const char *const buffer_names[] = {"input", "output", "workspace"};

/* ---- places ---- */

/*
 * Ranks of one process find each other's records in its own memory.  A process with several of several ranks shares all.  Those of
 * other hosts have come with the entry.
 */
static char *record_at(const struct quern_membership *member, int rank, uint32_t half) {
    if (member->roster->peer[rank].is_elsewhere) return (char *)quern_net_eager(member, rank);
    return (char *)(member->one_process ? quern_own_eager : quern_shared_eager)(member->roster, rank, half);
}

const char *quern_collective_own_record(const struct quern_membership *member, uint32_t half) {
    return record_at(member, member->rank, half);
}

const char *quern_collective_payload(const struct quern_collective_call *call, uint32_t half, int place) {
    return record_at(call->member, call->rank_at[place], half) + sizeof(head_t);
}

static const told_t *told_of(const struct quern_collective_call *call, uint32_t half, int place) {
    const struct quern_membership *member = call->member;
    return (const told_t *)(const void *)member->line_of[member->roster->peer[call->rank_at[place]].slot]->half[half % 2].told;
}

/* ---- writing ---- */

bool quern_collective_is_small(const struct quern_collective_call *call) {
    return call->piece_bytes * (call->form->scatters ? call->places : 1) <= QUERN_COLLECTIVE_PAYLOAD;
}

bool quern_collective_is_told(const struct quern_collective_call *call) {
    return call->places == call->member->ranks && !call->member->control;
}

static bool is_tiny(const struct quern_collective_call *call) {
    return call->piece_bytes * (call->form->scatters ? call->places : 1) <= TINY && quern_collective_is_told(call);
}

void quern_collective_expect_record(const struct quern_membership *member) {
    if (member->one_process) return;
    const char *record = record_at(member, member->rank, quern_collective_half(member));
    for (size_t at = 0; at < member->eager_bytes; at += LINE) quern_expect_write(record + at);
}

static struct quern_collective_location locate(const void *pointer, enum quern_symmetric_state state,
                                               const struct quern_symmetric_location *place) {
    const bool symmetric = state == QUERN_MEMORY_SYMMETRIC;
    return (struct quern_collective_location){symmetric ? place->id : 0, symmetric ? place->offset : 0, pointer};
}

void quern_collective_fill_head(const struct quern_collective_call *call, uint32_t traits, head_t *head) {
    *head = (head_t){.record = {.refused = (uint32_t)call->refused, .flags = traits}, .count = call->count, .root = call->root,
                     .live = quern_symmetric_live(call->member), .input_stride = call->form->scatters ? call->input_stride : 0,
                     .dtype = (uint8_t)call->dtype, .combination = (uint8_t)call->combination,
                     .order = (uint8_t)call->order, .is_captured = call->is_captured};
    quern_set_describe(&call->set, call->member->ranks, head->record.members);
}

/* The parts of this rank's input, one behind the other.  Returns the end. */
static char *write_input(const struct quern_collective_call *call, char *to) {
    const int parts = call->form->scatters ? call->places : 1;
    for (int place = 0; place < parts && call->input && call->piece_bytes; place++, to += call->piece_bytes)
        memcpy(to, call->input + quern_collective_part(call, place), (size_t)call->piece_bytes);
    return to;
}

/* Returns the end. */
static char *write_places(const struct quern_collective_call *call, char *to) {
    places_t places = {.input = locate(call->input, call->input_state, &call->input_place),
                       .output = locate(call->output, call->output_state, &call->output_place),
                       .workspace = locate(call->workspace, call->workspace_state, &call->workspace_place),
                       .sight = {.pid = quern_thread_id(), .id = (uintptr_t)call->member->roster->self.id}};
    quern_write_digest(&places, sizeof places);
    memcpy(to, &places, sizeof places);
    return to + sizeof places;
}

static char *write_payload(const struct quern_collective_call *call, char *to) {
    if (call->refused != QUERN_OK) {
        quern_error_detail(to, QUERN_REASON_BYTES);
        return to + QUERN_REASON_BYTES;
    }
    if (!quern_collective_is_small(call)) return write_places(call, to);
    return is_tiny(call) ? to : write_input(call, to);
}

void quern_collective_write_record(struct quern_collective_call *call, uint32_t half, uint32_t traits, told_t *told) {
    struct quern_membership *member = call->member;
    char *record = record_at(member, member->rank, half);
    if (!call->head.record.digest || call->head.record.flags != traits) {
        quern_collective_fill_head(call, traits, &call->head);
        quern_write_digest(&call->head, sizeof call->head);
    }
    memcpy(record, &call->head, sizeof call->head);
    member->eager_bytes = (size_t)(write_payload(call, record + sizeof call->head) - record);
    told->digest = call->head.record.digest;
    if (call->refused == QUERN_OK && is_tiny(call)) write_input(call, told->input);
}

/* ---- reading ---- */

static const struct quern_term terms[] = {
    QUERN_TERM(QUERN_TERMS_DTYPE, head_t, dtype), QUERN_TERM(QUERN_TERMS_COMBINATION, head_t, combination),
    QUERN_TERM(QUERN_TERMS_ORDER, head_t, order), QUERN_TERM(QUERN_TERMS_COUNT, head_t, count),
    QUERN_TERM(QUERN_TERMS_INPUT_STRIDE, head_t, input_stride), QUERN_TERM(QUERN_TERMS_ROOT, head_t, root),
    QUERN_TERM(QUERN_TERMS_CAPTURED, head_t, is_captured)};
const struct quern_terms quern_collective_terms = {terms, sizeof terms / sizeof *terms, sizeof(head_t)};

/* Fetches the first lines of all records at once, since each comes from another core. */
static void expect_records(const struct quern_collective_call *call, uint32_t half) {
    for (int place = 0; place < call->places; place++) {
        const char *record = record_at(call->member, call->rank_at[place], half);
        __builtin_prefetch(record);
        __builtin_prefetch(record + sizeof(head_t));
    }
}

bool quern_collective_is_agreed(const struct quern_collective_call *call, uint32_t half) {
    if (call->refused != QUERN_OK || !quern_collective_is_told(call)) return false;
    uint64_t differs = 0;
    for (int place = 0; place < call->places; place++)
        if (place != call->place) differs |= told_of(call, half, place)->digest ^ call->head.record.digest;
    return !differs;
}

/* Whether a member has told the digest of its head, if it has told one. */
static bool is_as_told(const struct quern_collective_call *call, uint32_t half, int place, const head_t *head) {
    return place == call->place || !quern_collective_is_told(call) || told_of(call, half, place)->digest == head->record.digest;
}

quern_status quern_collective_read_heads(const struct quern_collective_call *call, uint32_t half,
                                         struct quern_collective_summary *summary, quern_status *result) {
    struct quern_reading reading = {.terms = &quern_collective_terms, .member = call->member, .rank_at = call->rank_at};
    uint64_t live = 0;
    expect_records(call, half);
    *summary = (struct quern_collective_summary){.all = ~0u, .same_live = true};
    for (int place = 0; place < call->places; place++) {
        const int rank = call->rank_at[place];
        head_t head;
        quern_status status = quern_read_record(&reading, place, record_at(call->member, rank, half), &head);
        if (status != QUERN_OK) return status;
        if (!is_as_told(call, half, place, &head)) return quern_poison_damaged(call->member, "record", rank);
        if (place < QUERN_RANK_LIMIT) summary->traits[place] = (uint8_t)head.record.flags;
        summary->all &= head.record.flags;
        summary->any |= head.record.flags;
        if (!place) live = head.live;
        summary->same_live &= head.live == live;
    }
    *result = quern_judge_records(&reading, call->refused, false);
    return QUERN_OK;
}

bool quern_collective_read_places(const struct quern_collective_call *call, uint32_t half, int place, places_t *places) {
    memcpy(places, quern_collective_payload(call, half, place), sizeof *places);
    return quern_has_digest(places, sizeof *places);
}

/* ---- small ---- */

/* What a place gives to this rank. */
static const char *input_of(const struct quern_collective_call *call, uint32_t half, int place, bool tiny) {
    const int64_t offset = call->form->scatters ? call->place * call->piece_bytes : 0;
    if (place == call->place) return call->input + quern_collective_part(call, place);
    return (tiny ? told_of(call, half, place)->input : quern_collective_payload(call, half, place)) + offset;
}

static void combine_payloads(const struct quern_collective_call *call, uint32_t half, const char **inputs) {
    char *const outputs[] = {call->output};
    const bool tiny = is_tiny(call);
    for (int place = 0; place < call->places; place++) inputs[place] = input_of(call, half, place, tiny);
    const struct quern_collective_combination pieces = {.inputs = inputs, .outputs = outputs, .input_count = call->places,
                                                        .output_count = 1, .is_max = call->combination == QUERN_COMBINE_MAX};
    quern_collective_combine(call, &pieces, call->count);
}

static void copy_payload(const struct quern_collective_call *call, uint32_t half, int place, char *to) {
    const char *from = input_of(call, half, place, is_tiny(call));
    if (to != from && call->piece_bytes) memcpy(to, from, (size_t)call->piece_bytes);
}

void quern_collective_receive(const struct quern_collective_call *call, uint32_t half, const char **inputs) {
    if (!call->count) return;
    if (call->form->reduces) combine_payloads(call, half, inputs);
    else if (call->form->has_root) copy_payload(call, half, call->root_place, call->output);
    else
        for (int place = 0; place < call->places; place++)
            copy_payload(call, half, place, call->output + place * call->piece_bytes);
}

/* ---- the vote ---- */

void quern_collective_write_outcome(const struct quern_collective_call *call, uint32_t half, int buffer, int rank) {
    outcome_t outcome = {.buffer = buffer, .rank = rank};
    quern_write_digest(&outcome, sizeof outcome);
    memcpy(record_at(call->member, call->member->rank, half) + OUTCOME_AT, &outcome, sizeof outcome);
}

quern_status quern_collective_read_outcomes(const struct quern_collective_call *call, uint32_t half, quern_status *result) {
    *result = QUERN_OK;
    for (int place = 0; place < call->places; place++) {
        outcome_t outcome;
        memcpy(&outcome, record_at(call->member, call->rank_at[place], half) + OUTCOME_AT, sizeof outcome);
        if (!quern_has_digest(&outcome, sizeof outcome)) return quern_poison_damaged(call->member, "outcome", call->rank_at[place]);
        const int names = sizeof buffer_names / sizeof *buffer_names;
        if (outcome.buffer < 0 || outcome.buffer >= names || *result != QUERN_OK) continue;
        *result = quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                             "%s: the %s of rank %d is in symmetric memory that rank %d has freed", call->member->label,
                             buffer_names[outcome.buffer], outcome.rank, call->rank_at[place]);
    }
    return QUERN_OK;
}
