/*
 * Poison: how a group ends.  Whoever finds that a rank does not come writes down why, in a place of its own, and swaps status and
 * place into the word `poison_by`, unless there is something in it already; then it says that there is poison, and wakes everybody.
 * From then on every call on every rank returns that.  Since all is complete before the swap, nobody waits for anybody who writes,
 * and it does not matter where on the way a rank dies or stops.
 *
 * A kernel can neither write text nor swap words of the host's memory: it leaves an incident and says that there is poison.  The
 * first host call that sees this makes the incident what the group is poisoned with, if there is nothing else.
 *
 * Proved on tests/model/expiry.pml.
 */
#include <string.h>

#include "os/futex.h"
#include "ranks/group.h"
#include "runtime/log.h"
#include "runtime/status.h"

static const char *const collective_names[QUERN_COLLECTIVES] = {
    [QUERN_IDLE] = "no call",
    [QUERN_IN_CREATE] = "quern_group_create",
    [QUERN_IN_SPLIT] = "quern_group_split",
    [QUERN_IN_BARRIER] = "quern_barrier",
    [QUERN_IN_SYMMETRIC_ALLOC] = "quern_symmetric_alloc",
    [QUERN_IN_SYMMETRIC_REGISTER] = "quern_symmetric_register",
    [QUERN_IN_RAGGED_ALL_TO_ALL] = "quern_ragged_all_to_all",
    [QUERN_IN_PLAN_CREATE] = "quern_ragged_plan_create",
    [QUERN_IN_PLAN_RUN] = "quern_ragged_plan_run",
};

static const char *const phase_names[QUERN_PHASES] = {
    [QUERN_PHASE_EXCHANGE] = "exchange", [QUERN_PHASE_ENTRY] = "entry", [QUERN_PHASE_VERDICT] = "verdict",
    [QUERN_PHASE_COPY] = "copy",         [QUERN_PHASE_EXIT] = "exit",
};

void quern_describe_tag(struct quern_text *text, uint32_t tag) {
    uint32_t operation = tag >> 24, phase = tag >> 16 & 0xff;
    quern_text_add(text, "%s", operation < QUERN_COLLECTIVES ? collective_names[operation] : "a call of another version");
    if (phase < QUERN_PHASES && phase_names[phase]) quern_text_add(text, " (%s)", phase_names[phase]);
}

/* ---- incidents ---- */

static void describe_missing(struct quern_text *text, const struct quern_segment *segment, const struct quern_incident *incident) {
    int listed = 0, more = 0;
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        if (!(incident->missing[rank / 32] >> rank % 32 & 1)) continue;
        if (listed == 8) {
            more++;
            continue;
        }
        quern_text_add(text, "%srank %u (process %d, last epoch %u, expected %u, last in ", listed++ ? ", " : "", rank,
                       segment->rank[rank].process.pid, quern_signal_epoch(incident->seen[rank]), incident->expected[rank]);
        quern_describe_tag(text, quern_signal_tag(incident->seen[rank]));
        quern_text_add(text, ")");
    }
    if (more) quern_text_add(text, " and %d more", more);
}

static void describe_incident(struct quern_text *text, const struct quern_segment *segment, int rank) {
    const struct quern_incident *incident = &segment->rank[rank].incident;
    quern_describe_tag(text, incident->tag);
    switch (__atomic_load_n(&incident->kind, __ATOMIC_ACQUIRE)) {
    case QUERN_INCIDENT_TIMEOUT:
        quern_text_add(text, ": rank %d waited %g s on its GPU for ", rank, (double)incident->waited * 1e-9);
        describe_missing(text, segment, incident);
        break;
    case QUERN_INCIDENT_MISMATCH:
        quern_text_add(text, " on the GPU of rank %d met another call of ", rank);
        describe_missing(text, segment, incident);
        quern_text_add(text, ": the ranks must make the same calls in the same order, with the same members");
        break;
    case QUERN_INCIDENT_SLICE:
        quern_text_add(text, ": ");
        quern_describe_slice(text, &incident->slice);
        break;
    }
}

/* The first rank whose kernel has left an incident; there is one. */
static int find_incident(const struct quern_segment *segment) {
    uint32_t rank = 0;
    while (rank + 1 < segment->ranks && __atomic_load_n(&segment->rank[rank].incident.kind, __ATOMIC_ACQUIRE) == QUERN_NO_INCIDENT)
        rank++;
    return (int)rank;
}

static quern_status incident_status(const struct quern_incident *incident) {
    uint32_t kind = __atomic_load_n(&incident->kind, __ATOMIC_ACQUIRE);
    return kind == QUERN_INCIDENT_SLICE      ? quern_slice_status(&incident->slice)
           : kind == QUERN_INCIDENT_MISMATCH ? QUERN_PEER_MISMATCH
                                             : QUERN_PEER_TIMEOUT;
}

/* ---- slices ---- */

/* What each fault says after its slice: of the value, and what was expected (with the limit where that is a number). */
static const struct {
    const char *what, *expected;
    bool has_limit;
} slice_faults[] = {
    [QUERN_SLICE_INPUT_OFFSET] = {"input_offsets is", "expected 0 or more", false},
    [QUERN_SLICE_SEND_SIZE] = {"send_sizes is", "expected 0 or more", false},
    [QUERN_SLICE_OUTPUT_OFFSET] = {"output_offsets is", "expected 0 or more", false},
    [QUERN_SLICE_RECV_SIZE] = {"recv_sizes is", "expected 0 or more", false},
    [QUERN_SLICE_BEYOND_INPUT] = {"the slice ends at input row", "expected at most input_rows,", true},
    [QUERN_SLICE_BEYOND_OUTPUT] = {"the slice ends at output row", "expected at most the receiver's output_rows,", true},
    [QUERN_SLICE_DISAGREEMENT] = {"the sender's send_sizes is", "the receiver's recv_sizes is", true},
};

static void describe_disagreement(struct quern_text *text, const struct quern_slice_report *report) {
    switch (report->fault) {
    case QUERN_SLICE_OVERLAP:
        quern_text_add(text, "rank %d, peer %d, update %d: output row %lld is also written by peer %d, update %d", report->rank,
                       report->peer, report->update, (long long)report->value, report->other_peer, report->other_update);
        return;
    case QUERN_SLICE_UPDATES:
        quern_text_add(text, "rank %d has %lld updates and rank %d has %lld: expected the same", report->rank,
                       (long long)report->value, report->peer, (long long)report->limit);
        return;
    case QUERN_SLICE_ROW_BYTES:
        quern_text_add(text, "rank %d has rows of %lld bytes and rank %d of %lld: expected the same", report->rank,
                       (long long)report->value, report->peer, (long long)report->limit);
        return;
    case QUERN_SLICE_OUTPUT_PLACE:
        quern_text_add(text, "the outputs of ranks %d and %d are not at the same place of the same symmetric allocation",
                       report->rank, report->peer);
        return;
    case QUERN_SLICE_WORKSPACE_PLACE:
        quern_text_add(text, "the workspaces of ranks %d and %d are not at the same place of the same symmetric allocation",
                       report->rank, report->peer);
        return;
    default:
        quern_text_add(text, "rank %d refused its own arguments (its detail says why)", report->rank);
    }
}

void quern_describe_slice(struct quern_text *text, const struct quern_slice_report *report) {
    size_t fault = (size_t)report->fault;
    if (fault >= sizeof slice_faults / sizeof *slice_faults || !slice_faults[fault].what) {
        describe_disagreement(text, report);
        return;
    }
    quern_text_add(text, "rank %d, peer %d, update %d: %s %lld, %s", report->rank, report->peer, report->update,
                   slice_faults[fault].what, (long long)report->value, slice_faults[fault].expected);
    if (slice_faults[fault].has_limit) quern_text_add(text, " %lld", (long long)report->limit);
}

quern_status quern_slice_status(const struct quern_slice_report *report) {
    static const int mismatches[] = {QUERN_SLICE_DISAGREEMENT, QUERN_SLICE_UPDATES, QUERN_SLICE_ROW_BYTES, QUERN_SLICE_OUTPUT_PLACE,
                                     QUERN_SLICE_WORKSPACE_PLACE, QUERN_SLICE_ARGUMENTS};
    for (size_t i = 0; i < sizeof mismatches / sizeof *mismatches; i++)
        if (report->fault == mismatches[i]) return QUERN_PEER_MISMATCH;
    return QUERN_INVALID_SHAPE;
}

/* ---- the poison itself ---- */

/* Wakes every rank that sleeps, to look around. */
static void wake_all(struct quern_segment *segment) {
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        __atomic_add_fetch(&segment->rank[rank].arrivals, 1, __ATOMIC_SEQ_CST);
        quern_futex_wake(&segment->rank[rank].arrivals);
    }
    quern_futex_wake(&segment->state);
}

static void log_report(const struct quern_membership *member) {
    if (!quern_log_wanted(QUERN_LOG_ERROR)) return;
    const struct quern_segment *segment = member->segment;
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        char line[512];
        struct quern_text text = quern_text_begin(line, sizeof line);
        quern_describe_rank(&text, segment, (int)rank);
        quern_log(member->device, QUERN_LOG_ERROR, "%s: %s", member->label, line);
    }
}

/* Where the words for a poison are. */
enum source { REASON = 1, INCIDENT, ABORT };

static uint32_t make_poison(enum source source, quern_status status, int rank) {
    return (uint32_t)source << 24 | (uint32_t)rank << 16 | (uint32_t)status;
}

static quern_status status_of(uint32_t poison) { return (quern_status)(poison & 0xffff); }

static void describe_poison(struct quern_text *text, const struct quern_segment *segment, uint32_t poison) {
    const int rank = poison >> 16 & 0xff;
    switch (poison >> 24) {
    case REASON: quern_text_add(text, "%s", segment->rank[rank].reason); break;
    case INCIDENT: describe_incident(text, segment, rank); break;
    case ABORT: quern_text_add(text, "rank %d has aborted the group", rank); break;
    }
}

/* Makes it the poison, unless there is one. */
static void swap_in(const struct quern_membership *member, uint32_t poison) {
    struct quern_segment *segment = member->segment;
    uint32_t none = 0;
    bool first = __atomic_compare_exchange_n(&segment->poison_by, &none, poison, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    __atomic_store_n(&segment->poison, (uint32_t)status_of(poison), __ATOMIC_SEQ_CST);
    if (!first) return;
    wake_all(segment);
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, segment, poison);
    quern_log(member->device, QUERN_LOG_ERROR, "%s: poisoned with %s: %s", member->label, quern_status_string(status_of(poison)),
              words);
    log_report(member);
}

/* What the group is poisoned with; if only a kernel has said so yet, with the incident of that. */
static uint32_t find_poison(const struct quern_membership *member) {
    const struct quern_segment *segment = member->segment;
    uint32_t poison = __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
    if (poison) return poison;
    int rank = find_incident(segment);
    swap_in(member, make_poison(INCIDENT, incident_status(&segment->rank[rank].incident), rank));
    return __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
}

static quern_status fail_poisoned(const struct quern_membership *member) {
    uint32_t poison = find_poison(member);
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, member->segment, poison);
    return quern_fail(member->device, status_of(poison), "%s: %s", member->label, words);
}

quern_status quern_check_poison(const struct quern_membership *member) {
    bool poisoned = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) != 0;
    return poisoned ? fail_poisoned(member) : QUERN_OK;
}

void quern_report_poison(struct quern_text *text, const struct quern_membership *member) {
    if (__atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0) return;
    uint32_t poison = find_poison(member);
    quern_text_add(text, "poisoned with %s: ", quern_status_string(status_of(poison)));
    describe_poison(text, member->segment, poison);
    quern_text_add(text, "\n");
}

quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...) {
    /* If there is poison already it may be for this rank's reason, which many read by now. */
    if (__atomic_load_n(&member->segment->poison_by, __ATOMIC_ACQUIRE) == 0) {
        char *reason = member->segment->rank[member->rank].reason;
        struct quern_text text = quern_text_begin(reason, QUERN_POISON_TEXT_BYTES);
        va_list list;
        va_start(list, format);
        quern_text_add_list(&text, format, list);
        va_end(list);
    }
    swap_in(member, make_poison(REASON, status, member->rank));
    return fail_poisoned(member);
}

void quern_poison_by_abort(const struct quern_membership *member) {
    swap_in(member, make_poison(ABORT, QUERN_GROUP_ABORTED, member->rank));
}
