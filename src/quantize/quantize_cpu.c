/* Runs a quantisation on the threads of a CPU.  Called by quantize.c. */
#include "quantize/quantize_cpu.h"

#include <string.h>

#include "kernels/quantize_scale.h"
#include "runtime/list_visit.h"
#include "runtime/threads.h"

static int64_t elements_at(const void *list, int64_t place) { return ((const quern_quantize_tensor *)list)[place].count; }

static void visit_tensors(struct quern_quantize_call *call, quern_piece_visit *visit) {
    quern_visit_list(call->device, &(struct quern_list_visit){.list = call->tensors, .places = call->count,
                                                              .elements = elements_at, .chunk = QUERN_QUANTIZE_CHUNK,
                                                              .visits_empty = true, .visit = visit, .context = call});
}

/* ---- one piece ---- */

static void find(const struct quern_quantize_call *call, int64_t place, int64_t first, int64_t count) {
    const struct quern_quantize_piece piece = {.input = call->tensors[place].input, .amax = &call->args.amax[place]};
    if (count) call->amax->kernel->cpu.any(&piece, first, first + count);
}

/* The largest amax of a history.  As bits NaN is larger than infinity. */
static float largest_of_history(const struct quern_quantize_call *call, int64_t place) {
    uint32_t largest = 0, bits;
    float amax;
    for (int64_t row = 0; row < call->args.history_length; row++) {
        memcpy(&bits, &call->args.history[row * call->count + place], sizeof bits);
        largest = bits > largest ? bits : largest;
    }
    memcpy(&amax, &largest, sizeof amax);
    return amax;
}

/* The first piece of a tensor stores its scale. */
static float scale_of(const struct quern_quantize_call *call, int64_t place, bool stores) {
    const quern_quantize_args *args = &call->args;
    const float amax = args->history ? largest_of_history(call, place) : args->amax[place];
    const float largest = quern_quantize_largest(args->output_dtype);
    const float scale = quern_quantize_scale(amax, largest, (float)args->eps, args->power_of_two);
    if (stores && args->scale) args->scale[place] = scale;
    if (stores && args->scale_inv) args->scale_inv[place] = 1.0f / scale;
    return scale;
}

static void cast(const struct quern_quantize_call *call, int64_t place, int64_t first, int64_t count) {
    const quern_quantize_args *args = &call->args;
    const struct quern_quantize_piece piece = {
        .input = call->tensors[place].input,
        .output = call->tensors[place].output,
        .scale = scale_of(call, place, first == 0),
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = (uint32_t)(args->offset_pointer ? *args->offset_pointer : args->offset),
        .place = (uint32_t)place,
    };
    if (count) call->cast->kernel->cpu.any(&piece, first, first + count);
}

/* ---- visits ---- */

static void find_piece(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    find(context, place, first, count);
}

static void cast_piece(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    cast(context, place, first, count);
}

/* With a history the scale is known: a piece is cast while it is in the cache. */
static void find_and_cast_piece(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    find(context, place, first, count);
    cast(context, place, first, count);
}

static bool is_one_piece(const struct quern_quantize_call *call, int64_t place) {
    return call->tensors[place].count <= QUERN_QUANTIZE_CHUNK;
}

/* So is a tensor that is one piece.  The others follow when their amax is complete. */
static void find_and_cast_small(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    find(context, place, first, count);
    if (is_one_piece(context, place)) cast(context, place, first, count);
}

static void cast_large(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    if (!is_one_piece(context, place)) cast(context, place, first, count);
}

/* ---- the call ---- */

static bool has_large(const struct quern_quantize_call *call) {
    for (int64_t place = 0; place < call->count; place++)
        if (!is_one_piece(call, place)) return true;
    return false;
}

static void put_into_history(const struct quern_quantize_call *call) {
    const size_t row = (size_t)call->count * sizeof(float);
    float *history = call->args.history;
    memmove(history + call->count, history, (size_t)(call->args.history_length - 1) * row);
    memcpy(history, call->args.amax, row);
}

static void run(struct quern_quantize_call *call) {
    const bool finds = call->steps & QUERN_QUANTIZE_FINDS, casts = call->steps & QUERN_QUANTIZE_CASTS;
    if (finds) memset(call->args.amax, 0, (size_t)call->count * sizeof(float));
    if (call->args.history) {
        visit_tensors(call, find_and_cast_piece);
        put_into_history(call);
    } else if (finds && casts) {
        visit_tensors(call, find_and_cast_small);
        if (has_large(call)) visit_tensors(call, cast_large);
    } else {
        visit_tensors(call, finds ? find_piece : cast_piece);
    }
}

quern_status quern_quantize_on_cpu(struct quern_quantize_call *call) {
    const float *noop = call->args.noop;
    if (call->count && !(noop && *noop != 0)) run(call);
    return QUERN_OK;
}
