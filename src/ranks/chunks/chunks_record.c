/* Writes, reads and compares the records of quantised chunks.  Called by chunks_host.c and chunks_nccl_agree.c. */
#include "ranks/chunks/chunks.h"

#include <string.h>

struct record {
    struct quern_record record;
    int64_t rows, columns, chunk_rows;
    struct location {
        uint64_t id;
        int64_t offset;
    } output, ready, scales;
    double eps;
    uint32_t input_dtype, output_dtype, ready_value, power_of_two, rounding, scaling;
    uint32_t amax;                /* its bits */
    uint32_t is_captured;
};

_Static_assert(sizeof(struct record) + QUERN_REASON_BYTES <= QUERN_EAGER_BYTES, "a record must fit an eager message");
_Static_assert(sizeof(struct record) <= QUERN_RECORD_BYTES, "a record must fit a reading");

#define TERM(fault, field) QUERN_TERM(QUERN_TERMS_##fault, struct record, field)

static const struct quern_term terms[] = {
    TERM(INPUT_DTYPE, input_dtype), TERM(OUTPUT_DTYPE, output_dtype), TERM(ROWS, rows), TERM(COLUMNS, columns),
    TERM(CHUNK_ROWS, chunk_rows), TERM(READY_VALUE, ready_value), TERM(EPS, eps), TERM(POWER_OF_TWO, power_of_two),
    TERM(ROUNDING, rounding), TERM(SCALING, scaling), TERM(OUTPUT_PLACE, output), TERM(READY_PLACE, ready),
    TERM(SCALES_PLACE, scales), TERM(CAPTURED, is_captured)};
const struct quern_terms quern_chunks_terms = {terms, sizeof terms / sizeof *terms, sizeof(struct record)};

/* Ranks of one process find each other's records in its own memory. */
static char *record_at(const struct quern_membership *member, int rank, uint32_t half) {
    return (char *)(member->one_process ? quern_own_eager : quern_shared_eager)(member->roster, rank, half);
}

/* ---- writing ---- */

static void fill_terms(const struct quern_chunks_call *call, struct record *record) {
    const quern_quantize_chunks_args *args = &call->args;
    record->input_dtype = args->input_dtype, record->output_dtype = args->output_dtype;
    record->rows = args->rows, record->columns = args->columns, record->chunk_rows = args->chunk_rows;
    record->ready_value = args->ready_value;
    record->scaling = call->in_blocks ? QUERN_SCALING_MX : QUERN_SCALING_TENSOR;
    record->eps = call->in_blocks ? 0 : args->eps + 0;  /* -0 is 0 */
    record->power_of_two = call->in_blocks ? 0 : (uint32_t)args->power_of_two;
    record->rounding = args->rounding == QUERN_ROUND_STOCHASTIC ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
    record->output = (struct location){call->output_place.id, call->output_place.offset};
    record->ready = (struct location){call->ready_place.id, call->ready_place.offset};
    record->is_captured = call->is_captured;
    record->scales = (struct location){call->scales_place.id, call->scales_place.offset};
}

void quern_chunks_write_record_at(const struct quern_chunks_call *call, float amax, void *there) {
    struct record record = {.record.refused = (uint32_t)call->refused};
    quern_set_describe(&call->set, call->member->ranks, record.record.members);
    if (call->refused == QUERN_OK) fill_terms(call, &record);
    memcpy(&record.amax, &amax, sizeof amax);
    quern_write_record(&quern_chunks_terms, &record, there);
}

uint32_t quern_chunks_write_record(const struct quern_chunks_call *call, float amax) {
    const uint32_t half = call->member->all_count + 1;
    quern_chunks_write_record_at(call, amax, record_at(call->member, call->member->rank, half));
    return half;
}

/* An amax is 0 to infinity; as bits these are in the same order. */
quern_status quern_chunks_read_records(const struct quern_chunks_call *call, uint32_t half, float *amax, quern_status *result) {
    const uint32_t infinity = 0x7F800000;
    struct quern_reading reading = {.terms = &quern_chunks_terms, .member = call->member, .rank_at = call->rank_at};
    uint32_t largest = 0;
    for (int place = 0; place < call->places; place++) {
        const int rank = call->rank_at[place];
        struct record record;
        quern_status status = quern_read_record(&reading, place, record_at(call->member, rank, half), &record);
        if (status == QUERN_OK && record.amax > infinity) status = quern_poison_damaged(call->member, "record", rank);
        if (status != QUERN_OK) return status;
        if (record.amax > largest) largest = record.amax;
    }
    memcpy(amax, &largest, sizeof largest);
    *result = quern_judge_records(&reading, call->refused, false);
    return QUERN_OK;
}
