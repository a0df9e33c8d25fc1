/*
 * Compares the arguments of the members of quantised chunks over NCCL, and tells the orders of their chunks: the receiver of a
 * message must know which chunk it is.  Called by chunks_nccl.c.
 *
 * A notice has the rank's record, the reason if it refuses its arguments, and the order.  It goes the way of the notices of
 * collectives: src/ranks/collective/collective_nccl_agree.c.
 */
#include "ranks/chunks/chunks.h"

#include <string.h>

#include "ranks/collective/collective.h"
#include "ranks/points.h"

/* Three chunks of the order are in a word. */
enum { CHUNK_BITS = 10, PACKED = 3, ORDER_WORDS = (QUERN_MOST_CHUNKS + PACKED - 1) / PACKED,
       ORDER_AT = QUERN_RECORD_BYTES + QUERN_REASON_BYTES, NOTICE_BYTES = ORDER_AT + 4 * ORDER_WORDS };

_Static_assert((int)NOTICE_BYTES <= (int)QUERN_EAGER_BYTES, "a notice fits an eager message");
_Static_assert(QUERN_MOST_CHUNKS <= 1 << CHUNK_BITS, "a chunk fits its bits");

static void write_notice(const struct quern_chunks_call *call) {
    char *notice = quern_nccl_notice_at(call->member, call->member->rank);
    uint32_t words[ORDER_WORDS] = {0};
    quern_chunks_write_record_at(call, 0, notice);
    if (call->refused != QUERN_OK) return;
    for (int64_t i = 0; i < call->chunks; i++) words[i / PACKED] |= (uint32_t)call->order[i] << i % PACKED * CHUNK_BITS;
    memcpy(notice + ORDER_AT, words, sizeof words);
}

/* Of a call with the same terms.  False: it does not have each chunk once, so its rank has not written it. */
static bool read_order(const struct quern_chunks_call *call, const char *notice, uint16_t *order) {
    bool seen[QUERN_MOST_CHUNKS] = {false};
    uint32_t words[ORDER_WORDS];
    memcpy(words, notice + ORDER_AT, sizeof words);
    for (int64_t i = 0; i < call->chunks; i++) {
        const uint32_t chunk = words[i / PACKED] >> i % PACKED * CHUNK_BITS & ((1 << CHUNK_BITS) - 1);
        if (chunk >= call->chunks || seen[chunk]) return false;
        seen[chunk] = true;
        order[i] = (uint16_t)chunk;
    }
    return true;
}

static quern_status read_orders(const struct quern_chunks_call *call, uint16_t *orders) {
    for (int place = 0; place < call->places; place++) {
        const int rank = call->rank_at[place];
        if (!read_order(call, quern_nccl_notice_at(call->member, rank), orders + place * call->chunks))
            return quern_poison_damaged(call->member, "order", rank);
    }
    return QUERN_OK;
}

/* *result: the error of the call. */
static quern_status read_notices(const struct quern_chunks_call *call, uint16_t *orders, quern_status *result) {
    struct quern_reading reading = {.terms = &quern_chunks_terms, .member = call->member, .rank_at = call->rank_at};
    _Alignas(8) unsigned char record[QUERN_RECORD_BYTES];
    for (int place = 0; place < call->places; place++) {
        quern_status status =
            quern_read_record(&reading, place, quern_nccl_notice_at(call->member, call->rank_at[place]), record);
        if (status != QUERN_OK) return status;
    }
    *result = quern_judge_records(&reading, call->refused, true);
    return *result == QUERN_OK ? read_orders(call, orders) : QUERN_OK;
}

quern_status quern_nccl_agree_on_chunks(struct quern_chunks_call *call, uint16_t *orders) {
    const struct quern_meeting meeting = {.operation = QUERN_IN_QUANTIZE_CHUNKS, .phase = QUERN_PHASE_ENTRY, .set = &call->set,
                                          .timeout = call->timeout};
    quern_status result = QUERN_OK;
    write_notice(call);
    QUERN_POINT(NCCL_NOTICED);
    quern_status status = quern_nccl_bring_notices(call->member, &meeting, NOTICE_BYTES);
    QUERN_POINT(NCCL_TOLD);
    if (status == QUERN_OK) status = read_notices(call, orders, &result);
    if (status == QUERN_OK) status = quern_meet_members_here(call->member, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(NCCL_AGREED);
    return status == QUERN_OK ? result : status;
}
