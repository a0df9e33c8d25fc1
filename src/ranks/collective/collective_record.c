/* Writes, reads and compares the records of a collective on CPUs.  Called by collective_host.c. */
#include "ranks/collective/collective.h"

#include <string.h>

#include "os/futex.h"
#include "os/integers.h"
#include "os/thread_id.h"
#include "ranks/describe.h"
#include "ranks/hosts/hosts.h"
#include "ranks/poison.h"
#include "runtime/status.h"

typedef struct quern_collective_head head_t;
typedef struct quern_collective_places places_t;
typedef struct quern_collective_verdict verdict_t;

typedef struct quern_collective_told told_t;

enum { LINE = 64, TINY = sizeof(((told_t *)0)->input), REASON_BYTES = 256, VERDICT_AT = QUERN_EAGER_BYTES - sizeof(verdict_t) };

static const char *const buffer_names[] = {"input", "output", "workspace"};

/* ---- places ---- */

/*
 * Ranks of one process find each other's records in its own memory.  A process with several of several ranks shares all.  Those of
 * other hosts have come with the entry.
 */
static char *record_at(const struct quern_membership *member, int rank, uint32_t half) {
    if (member->roster->peer[rank].is_elsewhere) return (char *)quern_span_eager(member, rank);
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
    quern_set_describe(&call->set, call->member->ranks, head->members);
    head->count = call->count;
    head->live = quern_symmetric_live(call->member);
    head->root = call->root;
    head->dtype = (uint8_t)call->dtype;
    head->combination = (uint8_t)call->combination;
    head->refused = (uint16_t)call->refused;
    head->traits = traits;
    memset(head->unused, 0, sizeof head->unused);
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
        quern_error_detail(to, REASON_BYTES);
        return to + REASON_BYTES;
    }
    if (!quern_collective_is_small(call)) return write_places(call, to);
    if (is_tiny(call)) return to;
    if (call->input && call->input_bytes) memcpy(to, call->input, (size_t)call->input_bytes);
    return to + call->input_bytes;
}

void quern_collective_write_record(struct quern_collective_call *call, uint32_t half, uint32_t traits, told_t *told) {
    struct quern_membership *member = call->member;
    char *record = record_at(member, member->rank, half);
    if (!call->head.digest || call->head.traits != traits) {
        quern_collective_fill_head(call, traits, &call->head);
        quern_write_digest(&call->head, sizeof call->head);
    }
    memcpy(record, &call->head, sizeof call->head);
    member->eager_bytes = (size_t)(write_payload(call, record + sizeof call->head) - record);
    told->digest = call->head.digest;
    if (call->refused == QUERN_OK && is_tiny(call) && call->input) memcpy(told->input, call->input, (size_t)call->input_bytes);
}

/* ---- comparing ---- */

static quern_status differ(const struct quern_collective_call *call, const char *name, const char *first, const char *other,
                           int place) {
    return quern_fail(call->member->device, QUERN_PEER_MISMATCH,
                      "%s: args.%s is %s on rank %d and %s on rank %d: expected the same on all members", call->member->label, name,
                      first, call->rank_at[0], other, call->rank_at[place]);
}

static quern_status differ_in_number(const struct quern_collective_call *call, const char *name, int64_t first, int64_t other,
                                     int place) {
    char texts[2][24];
    const int64_t numbers[] = {first, other};
    for (int i = 0; i < 2; i++) {
        struct quern_text text = quern_text_begin(texts[i], sizeof texts[i]);
        quern_text_add(&text, "%lld", (long long)numbers[i]);
    }
    return differ(call, name, texts[0], texts[1], place);
}

static const char *combination_name(int combination) {
    return combination == QUERN_COMBINE_SUM ? "QUERN_COMBINE_SUM" : "QUERN_COMBINE_MAX";
}

static bool are_same(const head_t *first, const head_t *other) {
    return memcmp(first->members, other->members, sizeof first->members) == 0 && first->dtype == other->dtype &&
           first->combination == other->combination && first->count == other->count && first->root == other->root;
}

/* Names a difference between the lowest member and another one. */
static quern_status report_difference(const struct quern_collective_call *call, const head_t *first, const head_t *other,
                                      int place) {
    if (memcmp(first->members, other->members, sizeof first->members) != 0)
        return quern_fail(call->member->device, QUERN_PEER_MISMATCH, "%s: args.members differ on ranks %d and %d: expected the "
                          "same on all members", call->member->label, call->rank_at[0], call->rank_at[place]);
    if (first->dtype != other->dtype)
        return differ(call, "dtype", quern_dtype_name(first->dtype), quern_dtype_name(other->dtype), place);
    if (first->combination != other->combination)
        return differ(call, "combination", combination_name(first->combination), combination_name(other->combination), place);
    const bool counts = first->count != other->count;
    return counts ? differ_in_number(call, "count", first->count, other->count, place)
                  : differ_in_number(call, "root", first->root, other->root, place);
}

quern_status quern_collective_compare_heads(const struct quern_collective_call *call, const head_t *first, const head_t *other,
                                            int place) {
    return are_same(first, other) ? QUERN_OK : report_difference(call, first, other, place);
}

/* ---- reading ---- */

static quern_status report_refusal(const struct quern_collective_call *call, uint32_t half, int place) {
    char reason[REASON_BYTES];
    if (call->refused != QUERN_OK) return call->refused;  /* its own detail is set */
    quern_copy_text(reason, quern_collective_payload(call, half, place), sizeof reason);
    return quern_fail(call->member->device, QUERN_PEER_MISMATCH, "%s: rank %d refused its own arguments: %s", call->member->label,
                      call->rank_at[place], reason);
}

static quern_status fail_damaged(const struct quern_collective_call *call, const char *what, int place) {
    return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d read a damaged %s of rank %d: " QUERN_BY_STRANGER,
                        call->member->rank, what, call->rank_at[place]);
}

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
        if (place != call->place) differs |= told_of(call, half, place)->digest ^ call->head.digest;
    return !differs;
}

/* Whether another process may have written into a head. */
static bool is_damaged(const struct quern_collective_call *call, uint32_t half, int place, const head_t *head) {
    if (call->member->one_process) return false;
    const bool told = quern_collective_is_told(call) && place != call->place;
    return !quern_has_digest(head, sizeof *head) || (told && told_of(call, half, place)->digest != head->digest);
}

/* Compares each with that of the lowest member, so that all members find the same difference. */
quern_status quern_collective_read_heads(const struct quern_collective_call *call, uint32_t half,
                                         struct quern_collective_summary *summary, quern_status *result) {
    head_t first = {0}, other = {0}, head;
    int refuses = -1, differs = -1;
    expect_records(call, half);
    summary->all = ~0u;
    summary->any = 0;
    summary->same_live = true;
    for (int place = 0; place < call->places; place++) {
        memcpy(&head, record_at(call->member, call->rank_at[place], half), sizeof head);
        if (is_damaged(call, half, place, &head)) return fail_damaged(call, "record", place);
        if (!place) first = head;
        if (head.refused && refuses < 0) refuses = place;
        if (differs < 0 && !are_same(&first, &head)) differs = place, other = head;
        if (place < QUERN_RANK_LIMIT) summary->traits[place] = (uint8_t)head.traits;
        summary->all &= head.traits;
        summary->any |= head.traits;
        summary->same_live &= head.live == first.live;
    }
    *result = refuses >= 0  ? report_refusal(call, half, refuses)
              : differs >= 0 ? report_difference(call, &first, &other, differs)
                             : QUERN_OK;
    return QUERN_OK;
}

bool quern_collective_read_places(const struct quern_collective_call *call, uint32_t half, int place, places_t *places) {
    memcpy(places, quern_collective_payload(call, half, place), sizeof *places);
    return call->member->one_process || quern_has_digest(places, sizeof *places);
}

/* ---- small ---- */

static const char *input_of(const struct quern_collective_call *call, uint32_t half, int place, bool tiny) {
    if (place == call->place) return call->input;
    return tiny ? told_of(call, half, place)->input : quern_collective_payload(call, half, place);
}

static void combine_payloads(const struct quern_collective_call *call, uint32_t half, const char **inputs) {
    char *const outputs[] = {call->output};
    const int64_t offset = call->form->scatters ? call->place * call->piece_bytes : 0;
    const bool tiny = is_tiny(call);
    for (int place = 0; place < call->places; place++) inputs[place] = input_of(call, half, place, tiny) + offset;
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

void quern_collective_write_verdict(const struct quern_collective_call *call, uint32_t half, int buffer, int rank) {
    verdict_t verdict = {.buffer = buffer, .rank = rank};
    quern_write_digest(&verdict, sizeof verdict);
    memcpy(record_at(call->member, call->member->rank, half) + VERDICT_AT, &verdict, sizeof verdict);
}

quern_status quern_collective_read_verdicts(const struct quern_collective_call *call, uint32_t half, quern_status *result) {
    *result = QUERN_OK;
    for (int place = 0; place < call->places; place++) {
        verdict_t verdict;
        memcpy(&verdict, record_at(call->member, call->rank_at[place], half) + VERDICT_AT, sizeof verdict);
        if (!quern_has_digest(&verdict, sizeof verdict)) return fail_damaged(call, "verdict", place);
        const int names = sizeof buffer_names / sizeof *buffer_names;
        if (verdict.buffer < 0 || verdict.buffer >= names || *result != QUERN_OK) continue;
        *result = quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                             "%s: the %s of rank %d is in symmetric memory that rank %d has freed", call->member->label,
                             buffer_names[verdict.buffer], verdict.rank, call->rank_at[place]);
    }
    return QUERN_OK;
}
