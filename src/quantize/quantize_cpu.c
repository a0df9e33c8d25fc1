/* Runs a quantisation on the threads of a CPU.  Called by quantize.c. */
#include "quantize/quantize.h"

#include <string.h>

#include "kernels/quantize_scale.h"
#include "runtime/list_visit.h"
#include "runtime/threads.h"

/* ---- the list ---- */

static quern_quantize_tensor tensor_at(const struct quern_quantize_call *call, int64_t place) {
    return quern_quantize_tensor_at(&call->list, place);
}

static struct quern_quantize_matrix matrix_at(const struct quern_quantize_call *call, int64_t place) {
    const quern_quantize_tensor tensor = tensor_at(call, place);
    return quern_quantize_matrix_of(&tensor, call->form.in_blocks);
}

static int64_t elements_at(const void *list, int64_t place) {
    const struct quern_quantize_call *call = list;
    return quern_quantize_count_at(&call->list, place);
}

static int64_t tiles_at(const void *list, int64_t place) {
    const struct quern_quantize_matrix matrix = matrix_at(list, place);
    return quern_quantize_strips(&matrix);
}

static void visit_units(struct quern_quantize_call *call, quern_list_units *units, int64_t chunk, quern_piece_visit *visit) {
    quern_visit_list(call->device, &(struct quern_list_visit){.list = call, .places = call->count, .elements = units,
                                                              .chunk = chunk, .visits_empty = true, .visit = visit,
                                                              .context = call});
}

static void visit_tensors(struct quern_quantize_call *call, quern_piece_visit *visit) {
    visit_units(call, elements_at, QUERN_QUANTIZE_CHUNK, visit);
}

static void visit_tiles(struct quern_quantize_call *call, quern_piece_visit *visit) { visit_units(call, tiles_at, 1, visit); }

/* ---- one piece ---- */

static void find(const struct quern_quantize_call *call, int64_t place, int64_t first, int64_t count) {
    const struct quern_quantize_piece piece = {.input = tensor_at(call, place).input, .amax = &call->args.amax[place]};
    if (count) call->amax->kernel->cpu.any(&piece, first, first + count);
}

static void store_scale(const quern_quantize_args *args, int64_t place, float scale) {
    if (args->scale) args->scale[place] = scale;
    if (args->scale_inv) args->scale_inv[place] = 1.0f / scale;
}

static float scale_for(const quern_quantize_args *args, float amax) {
    return quern_quantize_scale(amax, quern_quantize_largest(args->output_dtype), (float)args->eps, args->power_of_two);
}

/* The first piece of a tensor stores its scale.  With a history it is there. */
static float scale_of(const struct quern_quantize_call *call, int64_t place, bool stores) {
    const quern_quantize_args *args = &call->args;
    if (args->history) return args->scale[place];
    const float scale = scale_for(args, args->amax[place]);
    if (stores) store_scale(args, place, scale);
    return scale;
}

/* Its low 32 bits. */
static uint32_t offset_of(const quern_quantize_args *args) {
    return (uint32_t)(args->offset_pointer ? *args->offset_pointer : args->offset);
}

static void cast(const struct quern_quantize_call *call, int64_t place, int64_t first, int64_t count) {
    const quern_quantize_args *args = &call->args;
    const quern_quantize_tensor tensor = tensor_at(call, place);
    const struct quern_quantize_piece piece = {
        .input = tensor.input,
        .output = tensor.output,
        .scale = scale_of(call, place, first == 0),
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = offset_of(args),
        .place = (uint32_t)place,
    };
    if (count) call->cast->kernel->cpu.any(&piece, first, first + count);
}

/* A tile of a matrix.  The first one of a tensor stores its scale, also if it has no elements. */
static void cast_tile(const struct quern_quantize_call *call, int64_t place, int64_t tile, int64_t tiles) {
    const quern_quantize_args *args = &call->args;
    const bool in_blocks = call->form.in_blocks;
    const struct quern_quantize_matrix_cast cast = {
        .matrix = matrix_at(call, place),
        .scale = in_blocks ? 1 : scale_of(call, place, tile == 0),
        .in_blocks = in_blocks,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = offset_of(args),
        .place = (uint32_t)place,
    };
    if (tiles) call->cast->kernel->cpu.any(&cast, tile, tile + tiles);
}

/* ---- visits ---- */

static void cast_piece_of_matrix(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    (void)piece;
    cast_tile(context, place, first, count);
}

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
    return elements_at(call, place) <= QUERN_QUANTIZE_CHUNK;
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

/* Raises the amaxes to those of a row of the history that can be used. */
static void raise_to_row(const struct quern_quantize_call *call, const float *row) {
    for (int64_t place = 0; place < call->count; place++) {
        uint32_t bits;
        float usable;
        memcpy(&bits, &row[place], sizeof bits);
        bits = quern_quantize_usable(bits);
        memcpy(&usable, &bits, sizeof usable);
        if (usable > call->args.amax[place]) call->args.amax[place] = usable;
    }
}

/* The scales by the history, which is read once and not for each piece.  The amaxes are the largest of it meanwhile. */
static void find_scales(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    for (int64_t row = 0; row < args->history_length; row++) raise_to_row(call, args->history + row * call->count);
    for (int64_t place = 0; place < call->count; place++) {
        const float amax = args->amax[place];
        store_scale(args, place, amax == 0 ? quern_quantize_kept_scale(args->scale[place]) : scale_for(args, amax));
        args->amax[place] = 0;
    }
}

static void put_into_history(const struct quern_quantize_call *call) {
    const size_t row = (size_t)call->count * sizeof(float);
    float *history = call->args.history;
    memmove(history + call->count, history, (size_t)(call->args.history_length - 1) * row);
    memcpy(history, call->args.amax, row);
}

static void run_matrices(struct quern_quantize_call *call, bool finds) {
    if (finds) visit_tensors(call, find_piece);
    visit_tiles(call, cast_piece_of_matrix);
    if (call->args.history) put_into_history(call);
}

static void run(struct quern_quantize_call *call) {
    const bool finds = call->amax, casts = call->cast;
    if (finds) memset(call->args.amax, 0, (size_t)call->count * sizeof(float));
    if (casts && call->args.history) find_scales(call);
    if (casts && call->form.has_matrices) {
        run_matrices(call, finds);
    } else if (call->args.history) {
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
