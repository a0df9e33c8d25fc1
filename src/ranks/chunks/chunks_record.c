/* Writes, reads and compares the records of quantised chunks on CPUs.  Called by chunks_host.c. */
#include "ranks/chunks/chunks.h"

#include <float.h>
#include <string.h>

#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* ---- the arguments that all members must share ---- */

enum term {
    INPUT_DTYPE, OUTPUT_DTYPE, ROWS, COLUMNS, CHUNK_ROWS, READY_VALUE, EPS, POWER_OF_TWO, ROUNDING,
    OUTPUT_MEMORY, OUTPUT_OFFSET, READY_MEMORY, READY_OFFSET, TERMS
};

static void add_dtype(struct quern_text *text, uint64_t value) { quern_text_add(text, "%s", quern_dtype_name((quern_dtype)value)); }
static void add_number(struct quern_text *text, uint64_t value) { quern_text_add(text, "%lld", (long long)value); }

static void add_real(struct quern_text *text, uint64_t value) {
    double number;
    memcpy(&number, &value, sizeof number);
    quern_text_add(text, "%g", number);
}

static void add_rounding(struct quern_text *text, uint64_t value) {
    quern_text_add(text, "%s", value == QUERN_ROUND_STOCHASTIC ? "QUERN_ROUND_STOCHASTIC" : "QUERN_ROUND_NEAREST");
}

/* How a difference is told.  add NULL: a place in memory, whose numbers say nothing to the caller. */
static const struct {
    const char *name;
    void (*add)(struct quern_text *text, uint64_t value);
} terms[TERMS] = {
    [INPUT_DTYPE] = {"input_dtype", add_dtype},   [OUTPUT_DTYPE] = {"output_dtype", add_dtype},
    [ROWS] = {"rows", add_number},                [COLUMNS] = {"columns", add_number},
    [CHUNK_ROWS] = {"chunk_rows", add_number},    [READY_VALUE] = {"ready_value", add_number},
    [EPS] = {"eps", add_real},                    [POWER_OF_TWO] = {"power_of_two", add_number},
    [ROUNDING] = {"rounding", add_rounding},      [OUTPUT_MEMORY] = {"output", NULL},
    [OUTPUT_OFFSET] = {"output", NULL},           [READY_MEMORY] = {"ready", NULL},
    [READY_OFFSET] = {"ready", NULL},
};

struct record {
    uint64_t digest;              /* of what follows, up to the reason */
    uint64_t members[2];          /* quern_set_describe */
    uint64_t terms[TERMS];
    uint32_t refused;             /* quern_status */
    uint32_t amax;                /* its bits */
    char reason[256];             /* why the rank refuses its arguments: only text */
};

_Static_assert(sizeof(struct record) <= QUERN_EAGER_BYTES, "a record must fit an eager message");

enum { CHECKED_BYTES = offsetof(struct record, reason) };

/* Ranks of one process find each other's records in its own memory. */
static struct record *record_at(const struct quern_membership *member, int rank, uint32_t half) {
    return (struct record *)(void *)(member->one_process ? quern_own_eager : quern_shared_eager)(member->roster, rank, half);
}

/* ---- writing ---- */

static void fill_terms(const struct quern_chunks_call *call, uint64_t of[TERMS]) {
    const quern_quantize_chunks_args *args = &call->args;
    const double eps = args->eps + 0;  /* -0 is 0 */
    of[INPUT_DTYPE] = args->input_dtype;
    of[OUTPUT_DTYPE] = args->output_dtype;
    of[ROWS] = (uint64_t)args->rows;
    of[COLUMNS] = (uint64_t)args->columns;
    of[CHUNK_ROWS] = (uint64_t)args->chunk_rows;
    of[READY_VALUE] = args->ready_value;
    memcpy(&of[EPS], &eps, sizeof eps);
    of[POWER_OF_TWO] = (uint64_t)args->power_of_two;
    of[ROUNDING] = args->rounding == QUERN_ROUND_STOCHASTIC ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
    of[OUTPUT_MEMORY] = call->output_place.id;
    of[OUTPUT_OFFSET] = (uint64_t)call->output_place.offset;
    of[READY_MEMORY] = call->ready_place.id;
    of[READY_OFFSET] = (uint64_t)call->ready_place.offset;
}

uint32_t quern_chunks_write_record(const struct quern_chunks_call *call, float amax) {
    const uint32_t half = call->member->all_count + 1;
    struct record *there = record_at(call->member, call->member->rank, half), record = {.refused = (uint32_t)call->refused};
    quern_set_describe(&call->set, call->member->ranks, record.members);
    if (call->refused == QUERN_OK) fill_terms(call, record.terms);
    else quern_error_detail(record.reason, sizeof record.reason);
    memcpy(&record.amax, &amax, sizeof amax);
    quern_write_digest(&record, CHECKED_BYTES);
    memcpy(there, &record, sizeof record);
    return half;
}

/* ---- comparing ---- */

static bool are_same(const struct record *one, const struct record *other) {
    return memcmp(one->members, other->members, sizeof one->members) == 0 &&
           memcmp(one->terms, other->terms, sizeof one->terms) == 0;
}

/* Names a difference between the lowest member and another one. */
static quern_status report_difference(const struct quern_chunks_call *call, const struct record *first, const struct record *other,
                                      int place) {
    const struct quern_membership *member = call->member;
    const int ranks[] = {call->rank_at[0], call->rank_at[place]};
    const struct record *records[] = {first, other};
    char values[2][40];
    int term = 0;
    while (term < TERMS && first->terms[term] == other->terms[term]) term++;
    if (term == TERMS)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: args.members differ on ranks %d and %d: expected the same on "
                          "all members", member->label, ranks[0], ranks[1]);
    if (!terms[term].add)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: args.%s of ranks %d and %d is not at the same place of the "
                          "same symmetric allocation", member->label, terms[term].name, ranks[0], ranks[1]);
    for (int i = 0; i < 2; i++) {
        struct quern_text text = quern_text_begin(values[i], sizeof values[i]);
        terms[term].add(&text, records[i]->terms[term]);
    }
    return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: args.%s is %s on rank %d and %s on rank %d: expected the same on "
                      "all members", member->label, terms[term].name, values[0], ranks[0], values[1], ranks[1]);
}

/* ---- reading ---- */

static quern_status report_refusal(const struct quern_chunks_call *call, uint32_t half, int place) {
    char reason[sizeof((struct record *)0)->reason];
    if (call->refused != QUERN_OK) return call->refused;  /* its own detail is set */
    quern_copy_text(reason, record_at(call->member, call->rank_at[place], half)->reason, sizeof reason);
    return quern_fail(call->member->device, QUERN_PEER_MISMATCH, "%s: rank %d refused its own arguments: %s", call->member->label,
                      call->rank_at[place], reason);
}

/* An amax is 0 to infinity; as bits these are in the same order. */
static bool is_damaged(const struct quern_membership *member, const struct record *record) {
    const uint32_t infinity = 0x7F800000;
    return !member->one_process && (!quern_has_digest(record, CHECKED_BYTES) || record->amax > infinity);
}

/* Compares each with that of the lowest member, so that all members find the same difference. */
quern_status quern_chunks_read_records(const struct quern_chunks_call *call, uint32_t half, float *amax, quern_status *result) {
    struct record first = {0}, other = {0}, record;
    int refuses = -1, differs = -1;
    uint32_t largest = 0;
    for (int place = 0; place < call->places; place++) {
        memcpy(&record, record_at(call->member, call->rank_at[place], half), offsetof(struct record, reason));
        if (is_damaged(call->member, &record))
            return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d read a damaged record of rank %d: " QUERN_BY_STRANGER,
                                call->member->rank, call->rank_at[place]);
        if (!place) first = record;
        if (record.refused && refuses < 0) refuses = place;
        if (differs < 0 && !are_same(&first, &record)) differs = place, other = record;
        if (record.amax > largest) largest = record.amax;
    }
    memcpy(amax, &largest, sizeof largest);
    *result = refuses >= 0   ? report_refusal(call, half, refuses)
              : differs >= 0 ? report_difference(call, &first, &other, differs)
                             : QUERN_OK;
    return QUERN_OK;
}
