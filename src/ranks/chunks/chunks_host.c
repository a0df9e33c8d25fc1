/*
 * Quantised chunks of CPU ranks of one host.  A call has two meetings of its members:
 *
 *   entry     The records of all can be compared, the largest amax is known, and all outputs and words may be written.
 *   exit      All outputs are complete; records may be written again.
 *
 * In between a rank waits for nobody: it casts its own input and writes it, with the words that say so, into the memory of all
 * members (chunks_work.c).  A rank that refuses its arguments takes part in both meetings.  When the group is poisoned, this rank's
 * words that have not come get ~ready_value, so that those who look at them end.
 *
 * The table at the end is a row of the host transport.  Checked by tests/model/pieces.pml.
 */
#include "ranks/chunks/chunks.h"

#include <fenv.h>

#include "kernels/quantize_scale.h"
#include "quantize/quantize.h"
#include "ranks/collective/collective.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static size_t workspace_bytes(const struct quern_chunks_call *call) {
    (void)call;
    return 0;
}

/* ---- checks ---- */

/* A word that has the value already would say that a chunk is ready that has not come. */
static quern_status check_words(const struct quern_chunks_call *call) {
    const uint32_t value = call->args.ready_value;
    for (int64_t i = 0; i < call->places * call->chunks; i++) {
        const uint32_t word = __atomic_load_n(&call->args.ready[i], __ATOMIC_RELAXED);
        if (word != value && word != ~value) continue;
        return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                          "args.ready_value is %u, and word %lld of args.ready is %u before the call: expected a value that "
                          "differs from each word and from its complement", value, (long long)i, word);
    }
    return QUERN_OK;
}

static quern_status check(struct quern_chunks_call *call) {
    struct quern_quantize_call kernels = {
        .device = call->member->device,
        .steps = QUERN_QUANTIZE_FINDS | QUERN_QUANTIZE_CASTS,
        .form = {.has_matrices = call->in_blocks, .in_blocks = call->in_blocks},
        .args = {.input_dtype = call->args.input_dtype, .output_dtype = call->args.output_dtype},
    };
    quern_status status = quern_quantize_select(&kernels);
    call->amax = kernels.amax;
    call->cast = kernels.cast;
    if (status == QUERN_OK) status = quern_collective_select_move(call->member->device, &call->move);
    return status == QUERN_OK ? check_words(call) : status;
}

/* ---- the scale ---- */

/*
 * The engine's rounding mode must not change the scale, and its flushing must not make zeros of subnormals.  The scales of blocks
 * are found with their codes.
 */
static void fill_scale(struct quern_chunks_work *work, float amax) {
    const quern_quantize_chunks_args *args = &work->call->args;
    fenv_t environment;
    work->offset = (uint32_t)(args->offset_pointer ? *args->offset_pointer : args->offset);
    if (work->call->in_blocks) return;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    work->scale = quern_quantize_scale(amax, quern_quantize_largest(args->output_dtype), (float)args->eps, args->power_of_two);
    *args->amax = amax;
    if (args->scale) *args->scale = work->scale;
    if (args->scale_inv) *args->scale_inv = 1.0f / work->scale;
    fesetenv(&environment);
}

/* ---- the memory of the members ---- */

/* *memory: of a rank; NULL if the call has none.  False: it is not within reach. */
static bool reach(const struct quern_chunks_call *call, const struct quern_symmetric_location *place, int64_t bytes, int rank,
                  char **memory) {
    *memory = bytes ? quern_symmetric_resolve(call->member, place->id, place->offset, bytes, rank) : NULL;
    return *memory || !bytes;
}

static char *part_of(char *memory, int64_t begin) { return memory ? memory + begin : NULL; }

/* All members have their memory at the place that this rank has found: it is within reach, unless a record is not its rank's. */
static quern_status reach_all(struct quern_chunks_work *work) {
    const struct quern_chunks_call *call = work->call;
    for (int place = 0; place < call->places; place++) {
        const int rank = call->rank_at[place];
        char *output, *ready, *scales;
        if (!reach(call, &call->output_place, call->output_bytes, rank, &output) ||
            !reach(call, &call->ready_place, call->ready_bytes, rank, &ready) ||
            !reach(call, &call->scales_place, call->scales_bytes, rank, &scales))
            return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d finds a buffer of rank %d beyond the memory that it "
                                "has mapped of it", call->member->rank, rank);
        work->output[place] = part_of(output, call->place * call->elements);
        work->scales[place] = part_of(scales, call->place * call->blocks);
        work->ready[place] = (uint32_t *)(void *)part_of(ready, call->place * call->chunks * (int64_t)sizeof(uint32_t));
    }
    return QUERN_OK;
}

/* Words that have come stay. */
static void fail_words(const struct quern_chunks_call *call) {
    const uint32_t value = call->args.ready_value;
    QUERN_POINT(CHUNKS_FAILING);
    for (int64_t i = 0; i < call->places * call->chunks; i++) {
        uint32_t *word = &call->args.ready[i], seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (seen != value && !__atomic_compare_exchange_n(word, &seen, ~value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    }
}

/* ---- a call ---- */

static quern_status meet(const struct quern_chunks_call *call, enum quern_phase phase) {
    const struct quern_meeting meeting = {.operation = QUERN_IN_QUANTIZE_CHUNKS, .phase = phase, .set = &call->set,
                                          .timeout = call->timeout};
    return quern_meet(call->member, &meeting);
}

static quern_status send_amax(const struct quern_chunks_call *call, float amax) {
    struct quern_chunks_work work = {.call = call};
    quern_status status = reach_all(&work);
    if (status != QUERN_OK) return status;
    QUERN_POINT(CHUNKS_REACHED);
    status = quern_check_poison(call->member);
    if (status != QUERN_OK) return status;
    fill_scale(&work, amax);
    if (!quern_chunks_send(&work)) return quern_check_poison(call->member);
    QUERN_POINT(CHUNKS_COMPLETE);
    return QUERN_OK;
}

/* *result is the error of all members, whose group stays usable.  Any other error has poisoned it. */
static quern_status enter_and_send(const struct quern_chunks_call *call, quern_status *result) {
    float amax = call->refused == QUERN_OK ? quern_chunks_find_amax(call) : 0;
    const uint32_t half = quern_chunks_write_record(call, amax);
    QUERN_POINT(CHUNKS_RECORDED);
    quern_status status = meet(call, QUERN_PHASE_ENTRY);
    if (status == QUERN_OK) status = quern_chunks_read_records(call, half, &amax, result);
    if (status != QUERN_OK) return status;
    QUERN_POINT(CHUNKS_READ);
    if (*result == QUERN_OK) status = send_amax(call, amax);
    return status == QUERN_OK ? meet(call, QUERN_PHASE_EXIT) : status;
}

static quern_status run(struct quern_chunks_call *call, void *stream) {
    (void)stream;
    quern_status result = QUERN_OK;
    const quern_status status = enter_and_send(call, &result);
    if (status != QUERN_OK && call->refused == QUERN_OK) fail_words(call);
    QUERN_POINT(CHUNKS_LEAVING);
    return status == QUERN_OK ? result : status;
}

const struct quern_chunks_transport quern_host_chunks = {
    .workspace_bytes = workspace_bytes,
    .check = check,
    .run = run,
    .wait = quern_chunks_wait,
};
