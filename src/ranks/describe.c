/* Text about calls, ranks, faulty slices and terms.  Called by poison, meetings, reports and the ragged all-to-all. */
#include "ranks/describe.h"

#include <string.h>

#include "os/clock.h"
#include "runtime/dtype.h"
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
    [QUERN_IN_ALL_GATHER] = "quern_all_gather",
    [QUERN_IN_REDUCE_SCATTER] = "quern_reduce_scatter",
    [QUERN_IN_ALL_REDUCE] = "quern_all_reduce",
    [QUERN_IN_BROADCAST] = "quern_broadcast",
    [QUERN_IN_RAGGED_SIZES] = "quern_ragged_sizes",
    [QUERN_IN_QUANTIZE_CHUNKS] = "quern_quantize_chunks",
    [QUERN_IN_CHUNK_WAIT] = "quern_chunk_wait",
    [QUERN_IN_TRANSFER] = "quern_transfer_start",
};

static const char *const phase_names[QUERN_PHASES] = {
    [QUERN_PHASE_EXCHANGE] = "exchange", [QUERN_PHASE_ENTRY] = "entry", [QUERN_PHASE_VOTE] = "vote",
    [QUERN_PHASE_COPY] = "copy",         [QUERN_PHASE_EXIT] = "exit",
};

void quern_describe_tag(struct quern_text *text, uint32_t tag) {
    uint32_t operation = tag >> 24, phase = tag >> 16 & 0xff;
    quern_text_add(text, "%s", operation < QUERN_COLLECTIVES ? collective_names[operation] : "a call of another version");
    if (phase < QUERN_PHASES && phase_names[phase]) quern_text_add(text, " (%s)", phase_names[phase]);
}

/* ---- ranks ---- */

void quern_describe_place(struct quern_text *text, const struct quern_roster *roster, int rank) {
    const struct quern_peer *peer = &roster->peer[rank];
    char address[QUERN_ADDRESS_TEXT];
    quern_text_add(text, "process %d", peer->process.pid);
    if (!peer->is_elsewhere) return;
    quern_address_write(&peer->address, false, address);
    quern_text_add(text, " on host %s", address);
}

static bool has_left(const struct quern_membership *member, int rank) {
    return __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
}

/* Of a rank of another host only that host knows for certain whether its process has ended. */
void quern_describe_end(struct quern_text *text, const struct quern_membership *member, int rank, bool left) {
    const struct quern_roster *roster = member->roster;
    const struct quern_segment_rank *place = &member->segment->rank[rank];
    const bool elsewhere = roster->peer[rank].is_elsewhere;
    const bool told = __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == QUERN_RANK_ENDED;
    const uint32_t loss = __atomic_load_n(&place->loss, __ATOMIC_RELAXED);
    if (left || has_left(member, rank)) quern_text_add(text, "has destroyed its group");
    else if (!elsewhere || (told && loss == QUERN_LOSS_TOLD)) quern_text_add(text, "has ended");
    else if (loss == QUERN_LOSS_TIMEOUT)
        quern_text_add(text, "is lost: its host is silent, for more than %g s", member->failure_timeout * 1e-6);
    else quern_text_add(text, "is lost: its connection has ended");
}

void quern_describe_rank(struct quern_text *text, const struct quern_membership *member, int rank) {
    static const char *const states[] = {"absent", "joining", "joined", "left", "on another host", "has ended"};
    const struct quern_segment_rank *place = &member->segment->rank[rank];
    uint32_t state = __atomic_load_n(&place->state, __ATOMIC_ACQUIRE);
    quern_text_add(text, "rank %d: ", rank);
    const bool elsewhere = member->roster->peer[rank].is_elsewhere, known = elsewhere && state > QUERN_RANK_LEFT;
    if (state != QUERN_RANK_JOINED && !known) {
        quern_text_add(text, "%s", state <= QUERN_RANK_ENDED ? states[state] : "unknown");
        return;
    }
    if (elsewhere) quern_describe_place(text, member->roster, rank);
    else quern_text_add(text, "process %d", place->process.pid);
    quern_text_add(text, ", %s:%d, ", place->device_kind == QUERN_CPU ? "cpu" : "cuda",
                   place->device_ordinal);
    bool ended = !quern_rank_lives(member->roster, rank);
    bool waits = !ended && __atomic_load_n(&place->asleep_in_meeting, __ATOMIC_RELAXED);
    if (ended) quern_describe_end(text, member, rank, false);
    quern_text_add(text, "%s", ended ? "; was last in " : waits ? "waits in " : "last in ");
    quern_describe_tag(text, __atomic_load_n(&place->tag, __ATOMIC_RELAXED));
    quern_text_add(text, ", epoch %u", member->first_epoch + __atomic_load_n(&place->meetings, __ATOMIC_RELAXED));
    if (waits)
        quern_text_add(text, ", for %g s", ((double)quern_now() - (double)__atomic_load_n(&place->since, __ATOMIC_RELAXED)) * 1e-9);
    if (!elsewhere && __atomic_load_n(&quern_place(member->roster, rank)->error.kind, __ATOMIC_ACQUIRE) != QUERN_NO_KERNEL_ERROR)
        quern_text_add(text, "; its GPU gave up");
}

/* A detail has 255 characters: the first rank in full, the next ones by their epochs.  quern_group_report has them all. */
enum { LISTED = 3 };

void quern_list_missing(struct quern_missing_list *list, int rank, uint32_t last_epoch, uint32_t expected_epoch,
                        uint32_t last_tag) {
    if (list->count++ >= LISTED) return;
    if (list->count > 1) {
        quern_text_add(list->text, ", rank %d (last epoch %u)", quern_told_rank(list->member, rank), last_epoch);
        return;
    }
    quern_text_add(list->text, "rank %d (process %d, last epoch %u, expected %u, last in ", quern_told_rank(list->member, rank),
                   list->member->roster->peer[rank].process.pid, last_epoch, expected_epoch);
    quern_describe_tag(list->text, last_tag);
    quern_text_add(list->text, ")");
}

void quern_end_missing(const struct quern_missing_list *list) {
    if (list->count > LISTED) quern_text_add(list->text, " and %d more", list->count - LISTED);
}

/* ---- what other ranks have written ---- */

void quern_copy_text(char *to, const char *from, size_t bytes) {
    size_t length = 0;
    for (char next; length + 1 < bytes && (next = __atomic_load_n(&from[length], __ATOMIC_RELAXED)); length++)
        to[length] = (unsigned char)next < ' ' || next == 127 ? '?' : next;
    to[length] = 0;
}

quern_status quern_told_status(uint32_t number) {
    const quern_status status = (quern_status)number;
    return status != QUERN_OK && quern_is_status(status) ? status : QUERN_PEER_MISMATCH;
}

/* ---- slices ---- */

/* The text of each fault: the value, and the expected one (followed by the limit if that is a number). */
static const struct {
    const char *what, *expected;
    bool has_limit, by_receiver;  /* the rank of the report is the receiver */
} slice_faults[] = {
    [QUERN_SLICE_INPUT_OFFSET] = {"input_offsets is", "expected 0 or more", false, false},
    [QUERN_SLICE_SEND_SIZE] = {"send_sizes is", "expected 0 or more", false, false},
    [QUERN_SLICE_OUTPUT_OFFSET] = {"output_offsets is", "expected 0 or more", false, false},
    [QUERN_SLICE_RECV_SIZE] = {"recv_sizes is", "expected 0 or more", false, true},
    [QUERN_SLICE_BEYOND_INPUT] = {"the slice ends at input row", "expected at most input_rows,", true, false},
    [QUERN_SLICE_BEYOND_OUTPUT] = {"the slice ends at output row", "expected at most the receiver's output_rows,", true, true},
    [QUERN_SLICE_DISAGREEMENT] = {"the sender's send_sizes is", "the receiver's recv_sizes is", true, true},
};

static void describe_disagreement(struct quern_text *text, const struct quern_slice_report *report) {
    switch (report->fault) {
    case QUERN_SLICE_OVERLAP:
        quern_text_add(text, "sender %d, receiver %d, update %d: output row %lld is also written by sender %d, update %d",
                       report->peer, report->rank, report->update, (long long)report->value, report->other_peer,
                       report->other_update);
        return;
    case QUERN_CHUNK_TOLD:
        quern_text_add(text,
                       "ready[%lld] of rank %d is args.ready_value, %lld, or its complement before the call: "
                       "expected another value for each call, or words that are 0",
                       (long long)report->value, report->rank, (long long)report->limit);
        return;
    case QUERN_CHUNK_FAILED:
        quern_text_add(text, "ready[%lld] says that its call has failed on rank %d", (long long)report->value, report->rank);
        return;
    case QUERN_CHUNK_LATE:
        quern_text_add(text, "rank %d waited %g s on its GPU for ready[%lld]", report->rank, (double)report->limit * 1e-9,
                       (long long)report->value);
        return;
    default:
        quern_text_add(text, "rank %d refused its own arguments (its detail says why)", report->rank);
    }
}

/* ---- terms, which all members of a call have in common ---- */

static void add_number(struct quern_text *text, int64_t value) { quern_text_add(text, "%lld", (long long)value); }
static void add_dtype(struct quern_text *text, int64_t value) { quern_text_add(text, "%s", quern_dtype_name((quern_dtype)value)); }

static void add_combination(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value == QUERN_COMBINE_SUM ? "QUERN_COMBINE_SUM" : "QUERN_COMBINE_MAX");
}

static void add_order(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value == QUERN_ORDER_ANY ? "QUERN_ORDER_ANY" : "QUERN_ORDER_RANKS");
}

static void add_rounding(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value == QUERN_ROUND_STOCHASTIC ? "QUERN_ROUND_STOCHASTIC" : "QUERN_ROUND_NEAREST");
}

static void add_captured(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value ? "captured" : "not captured");
}

static void add_scaling(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value == QUERN_SCALING_MX ? "QUERN_SCALING_MX" : "QUERN_SCALING_TENSOR");
}

/* A kernel tells the bits of a float, a host those of a double, which are more than 32 unless it is 0. */
static void add_real(struct quern_text *text, int64_t value) {
    const uint32_t bits = (uint32_t)value;
    float single;
    double real;
    memcpy(&single, &bits, sizeof single);
    memcpy(&real, &value, sizeof real);
    quern_text_add(text, "%g", value == bits ? (double)single : real);
}

static const char other_place[] = " of ranks %d and %d is not at the same place of the same symmetric allocation",
    other_members[] = " differ on ranks %d and %d: expected the same on all members";

/* How a difference is told: by the values, which other processes can write, or by another text. */
static const struct {
    const char *name;
    void (*add)(struct quern_text *text, int64_t value);
    const char *text;
} terms[QUERN_FAULTS] = {
    [QUERN_SLICE_UPDATES] = {"args.updates", add_number, NULL},
    [QUERN_SLICE_ROW_BYTES] = {"args.row_bytes", add_number, NULL},
    [QUERN_SLICE_OUTPUT_PLACE] = {"args.output", NULL, other_place},
    [QUERN_SLICE_WORKSPACE_PLACE] = {"workspace", NULL, other_place},
    [QUERN_TERMS_DTYPE] = {"args.dtype", add_dtype, NULL},
    [QUERN_TERMS_COMBINATION] = {"args.combination", add_combination, NULL},
    [QUERN_TERMS_ORDER] = {"args.order", add_order, NULL},
    [QUERN_TERMS_COUNT] = {"args.count", add_number, NULL},
    [QUERN_TERMS_INPUT_STRIDE] = {"args.input_stride", add_number, NULL},
    [QUERN_TERMS_ROOT] = {"args.root", add_number, NULL},
    [QUERN_TERMS_MEMBERS] = {"args.members", NULL, other_members},
    [QUERN_TERMS_INPUT_PLACE] = {"args.input", NULL, other_place},
    [QUERN_TERMS_OUTPUT_PLACE] = {"args.output", NULL, other_place},
    [QUERN_TERMS_INPUT_DTYPE] = {"args.input_dtype", add_dtype, NULL},
    [QUERN_TERMS_OUTPUT_DTYPE] = {"args.output_dtype", add_dtype, NULL},
    [QUERN_TERMS_ROWS] = {"args.rows", add_number, NULL},
    [QUERN_TERMS_COLUMNS] = {"args.columns", add_number, NULL},
    [QUERN_TERMS_CHUNK_ROWS] = {"args.chunk_rows", add_number, NULL},
    [QUERN_TERMS_READY_VALUE] = {"args.ready_value", add_number, NULL},
    [QUERN_TERMS_EPS] = {"args.eps", add_real, NULL},
    [QUERN_TERMS_POWER_OF_TWO] = {"args.power_of_two", add_number, NULL},
    [QUERN_TERMS_ROUNDING] = {"args.rounding", add_rounding, NULL},
    [QUERN_TERMS_READY_PLACE] = {"args.ready", NULL, other_place},
    [QUERN_TERMS_CAPTURED] = {"the stream", add_captured, NULL},
    [QUERN_TERMS_SCALING] = {"args.scaling", add_scaling, NULL},
    [QUERN_TERMS_SCALES_PLACE] = {"args.block_scales", NULL, other_place},
};

static void describe_term(struct quern_text *text, const struct quern_slice_report *report) {
    quern_text_add(text, "%s", terms[report->fault].name);
    if (terms[report->fault].text) {
        quern_text_add(text, terms[report->fault].text, report->rank, report->peer);
        return;
    }
    quern_text_add(text, " is ");
    terms[report->fault].add(text, report->value);
    quern_text_add(text, " on rank %d and ", report->rank);
    terms[report->fault].add(text, report->limit);
    quern_text_add(text, " on rank %d: expected the same on all members", report->peer);
}

void quern_describe_slice(struct quern_text *text, const struct quern_slice_report *report) {
    size_t fault = (size_t)report->fault;
    if (fault < QUERN_FAULTS && terms[fault].name) {
        describe_term(text, report);
        return;
    }
    if (fault >= sizeof slice_faults / sizeof *slice_faults || !slice_faults[fault].what) {
        describe_disagreement(text, report);
        return;
    }
    const int ranks[] = {report->rank, report->peer}, by_receiver = slice_faults[fault].by_receiver;
    quern_text_add(text, "sender %d, receiver %d, update %d: %s %lld, %s", ranks[by_receiver], ranks[!by_receiver],
                   report->update, slice_faults[fault].what, (long long)report->value, slice_faults[fault].expected);
    if (slice_faults[fault].has_limit) quern_text_add(text, " %lld", (long long)report->limit);
}

quern_status quern_slice_status(const struct quern_slice_report *report) {
    const bool is_of_two = report->fault >= QUERN_SLICE_UPDATES && report->fault < QUERN_FAULTS;
    if (report->fault == QUERN_CHUNK_LATE) return QUERN_PEER_TIMEOUT;
    return is_of_two || report->fault == QUERN_SLICE_DISAGREEMENT ? QUERN_PEER_MISMATCH : QUERN_INVALID_SHAPE;
}
