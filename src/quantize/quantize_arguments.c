/* Checks the arguments of a quantisation.  Called by quantize.c and quantize_plan.c. */
#include "quantize/quantize.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

/* The first header's structs ended before scaling and before columns. */
enum { OLDEST_ARGS = offsetof(quern_quantize_args, scaling), OLDEST_TENSOR = offsetof(quern_quantize_tensor, columns) };

quern_status quern_quantize_take(const quern_device *device, const quern_quantize_args *given, quern_quantize_args *args) {
    quern_status status = quern_check_grown_struct(device, "args", given, OLDEST_ARGS, sizeof *args);
    if (status != QUERN_OK) return status;
    *args = (quern_quantize_args){0};
    memcpy(args, given, quern_struct_bytes(given->size));
    return QUERN_OK;
}

/* ---- the list ---- */

static quern_status check_kinds(const quern_device *device, const quern_quantize_args *args) {
    quern_status status = quern_check_dtype(device, "args.input_dtype", args->input_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.output_dtype", args->output_dtype, quern_narrow_floats, false);
    return status == QUERN_OK ? quern_check_choice(device, "args.scaling", (int)args->scaling, QUERN_SCALING_MX) : status;
}

static bool is_in_blocks(const quern_quantize_args *args) { return args->scaling == QUERN_SCALING_MX; }

static quern_status check_size(const quern_device *device, const quern_quantize_args *args) {
    const uint32_t known = sizeof(quern_quantize_tensor);
    if (args->tensor_size < OLDEST_TENSOR || args->tensor_size > known || args->tensor_size % sizeof(void *))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is %u: expected %u (as the struct's initialiser "
                          "sets)", args->tensor_size, known);
    quern_status status = quern_check_count(device, "args.tensor_count", args->tensor_count, QUERN_MOST_ITEMS);
    if (status != QUERN_OK || !args->tensor_count) return status;
    return quern_check_pointer(device, "args.tensors", args->tensors, sizeof(void *));
}

/* The columns of a tensor with elements that is a matrix. */
static quern_status check_columns(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place, bool in_blocks) {
    if (tensor->columns < 1 || tensor->count % tensor->columns != 0)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensors[%lld].columns is %lld: expected a divisor of the count, %lld",
                          (long long)place, (long long)tensor->columns, (long long)tensor->count);
    const struct quern_quantize_matrix matrix = quern_quantize_matrix_of(tensor, in_blocks);
    const int64_t tiles = device->kind == QUERN_CUDA ? quern_quantize_matrix_tiles(&matrix) : 0;
    if (tiles <= QUERN_LIST_MAX_TILES) return QUERN_OK;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "args.tensors[%lld] has %lld tiles of %d x %d elements: a GPU takes up to %d",
                      (long long)place, (long long)tiles, QUERN_QUANTIZE_TILE_ROWS, QUERN_QUANTIZE_TILE_COLUMNS,
                      QUERN_LIST_MAX_TILES);
}

quern_status quern_quantize_check_list(const quern_device *device, const quern_quantize_args *args, int steps,
                                       struct quern_quantize_form *form) {
    int64_t total = 0;
    quern_status status = check_kinds(device, args);
    if (status == QUERN_OK) status = check_size(device, args);
    if (status != QUERN_OK) return status;
    const bool in_blocks = is_in_blocks(args), reads_columns = steps != QUERN_QUANTIZE_FINDS;
    const struct quern_quantize_use use = {(int64_t)quern_dtype_bytes(args->input_dtype), steps, in_blocks};
    const struct quern_quantize_list list = quern_quantize_list_of(args->tensors, args->tensor_size);
    *form = (struct quern_quantize_form){.has_matrices = in_blocks, .in_blocks = in_blocks};
    for (int64_t place = 0; status == QUERN_OK && place < args->tensor_count; place++) {
        const quern_quantize_tensor tensor = quern_quantize_tensor_at(&list, place);
        const bool is_matrix = reads_columns && (in_blocks || tensor.transposed);
        status = quern_check_list_count(device, QUERN_QUANTIZE_LIST, place, tensor.count, &total);
        if (status != QUERN_OK || !tensor.count) continue;
        if (is_matrix) status = check_columns(device, &tensor, place, in_blocks);
        if (status == QUERN_OK) status = quern_quantize_check_tensor(device, &tensor, place, &use);
        form->has_matrices |= is_matrix;
    }
    return status;
}

/* ---- a plan ---- */

static quern_status check_plan(const quern_device *device, const quern_quantize_args *args) {
    static const char differs[] = "args.%s is %s, and args.plan was made with %s";
    static const char *const scalings[] = {"that of a tensor", "QUERN_SCALING_MX"};
    const quern_quantize_plan *plan = args->plan;
    quern_status status = check_kinds(device, args);
    if (status != QUERN_OK) return status;
    if (plan->device != device) return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    if (args->tensors)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors is not NULL with a plan, which has its own list");
    if (args->input_dtype != plan->input_dtype)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, differs, "input_dtype", quern_dtype_name(args->input_dtype),
                          quern_dtype_name(plan->input_dtype));
    if (args->output_dtype != plan->output_dtype)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, differs, "output_dtype", quern_dtype_name(args->output_dtype),
                          quern_dtype_name(plan->output_dtype));
    if (is_in_blocks(args) != plan->form.in_blocks)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, differs, "scaling", scalings[is_in_blocks(args)],
                          scalings[plan->form.in_blocks]);
    return QUERN_OK;
}

/* ---- numbers ---- */

enum { MOST_HISTORY = 1 << 16 };

static quern_status check_history(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    if (!args->history) return QUERN_OK;
    if (call->form.in_blocks)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.history is not NULL: expected NULL with QUERN_SCALING_MX");
    if (call->steps == QUERN_QUANTIZE_FINDS || call->steps == QUERN_QUANTIZE_CASTS)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.history is not NULL: expected NULL, since only "
                          "quern_quantize has delayed scaling");
    if (args->history_length >= 1 && args->history_length <= MOST_HISTORY) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_SHAPE, "args.history_length is %lld: expected 1 to %d",
                      (long long)args->history_length, MOST_HISTORY);
}

quern_status quern_quantize_check_scale(const quern_device *device, double eps, int32_t power_of_two, quern_rounding rounding) {
    if (!(eps >= 0 && eps <= (double)FLT_MAX))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.eps is %g: expected 0 to 3.4e38, the largest fp32", eps);
    quern_status status = quern_check_choice(device, "args.power_of_two", power_of_two, 1);
    return status == QUERN_OK ? quern_check_choice(device, "args.rounding", (int)rounding, QUERN_ROUND_STOCHASTIC) : status;
}

/* The scales of blocks follow from the elements in the same launch: they have no steps. */
static quern_status check_steps(const struct quern_quantize_call *call) {
    const bool is_step = call->steps == QUERN_QUANTIZE_FINDS || call->steps == QUERN_QUANTIZE_CASTS;
    if (!is_step || !is_in_blocks(&call->args)) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.scaling is QUERN_SCALING_MX: expected the scaling of a tensor, "
                      "since only quern_quantize has blocks");
}

quern_status quern_quantize_check(struct quern_quantize_call *call, const quern_quantize_args *given) {
    quern_quantize_args *args = &call->args;
    quern_status status = quern_quantize_take(call->device, given, args);
    if (status == QUERN_OK) status = check_steps(call);
    if (status != QUERN_OK) return status;
    status = args->plan ? check_plan(call->device, args)
                        : quern_quantize_check_list(call->device, args, call->steps, &call->form);
    if (status != QUERN_OK) return status;
    call->list = args->plan ? quern_quantize_list_of(args->plan->tensors, sizeof *args->plan->tensors)
                            : quern_quantize_list_of(args->tensors, args->tensor_size);
    call->count = args->plan ? args->plan->count : args->tensor_count;
    if (args->plan) call->form = args->plan->form;
    status = quern_quantize_check_scale(call->device, args->eps, args->power_of_two, args->rounding);
    return status == QUERN_OK ? check_history(call) : status;
}

/* ---- arrays ---- */

static quern_status check_all_apart(const struct quern_quantize_call *call, const struct quern_range *others, int other_count) {
    struct quern_range ranges[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES], scratch[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES];
    const quern_quantize_plan *plan = call->args.plan;
    if (plan) return quern_check_against_pieces(call->device, &plan->pieces, others, other_count);
    const struct quern_quantize_use use = {(int64_t)quern_dtype_bytes(call->args.input_dtype), call->steps, call->form.in_blocks};
    const bool is_short = quern_quantize_most_arrays(call->count, call->form) <= QUERN_CHECKED_ARRAYS;
    int64_t count = 0;
    if (is_short) count = quern_quantize_ranges(&call->list, call->count, &use, ranges);
    for (int i = 0; i < other_count; i++) ranges[count++] = others[i];
    quern_status status = quern_check_apart(call->device, QUERN_QUANTIZE_LIST, ranges, scratch, count);
    if (status != QUERN_OK || is_short) return status;
    return quern_quantize_check_others(call->device, &call->list, call->count, &use, others, other_count);
}

/* With a history it is read, too. */
static quern_status check_scale(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    const bool is_read = args->history && call->count;
    return (is_read ? quern_check_pointer : quern_check_optional)(call->device, "args.scale", args->scale, sizeof(float));
}

/* The arrays that the call uses; the others are NULL. */
quern_status quern_quantize_check_arrays(const struct quern_quantize_call *call, const void *workspace, size_t bytes) {
    const quern_quantize_args *args = &call->args;
    const bool finds = call->steps & QUERN_QUANTIZE_FINDS, casts = call->steps & QUERN_QUANTIZE_CASTS;
    const bool has_amaxes = !call->form.in_blocks, scales = casts && has_amaxes;
    const int64_t floats = call->count * (int64_t)sizeof(float);
    const struct quern_range others[] = {
        quern_range_of("args.amax", has_amaxes ? args->amax : NULL, floats, finds ? QUERN_WRITTEN : QUERN_READ),
        quern_range_of("args.scale", scales ? args->scale : NULL, floats, QUERN_WRITTEN),
        quern_range_of("args.scale_inv", scales ? args->scale_inv : NULL, floats, QUERN_WRITTEN),
        quern_range_of("args.offset_pointer", casts ? args->offset_pointer : NULL, sizeof *args->offset_pointer, QUERN_READ),
        quern_range_of("args.noop", args->noop, sizeof *args->noop, QUERN_READ),
        quern_range_of("args.history", args->history, args->history ? floats * args->history_length : 0, QUERN_WRITTEN),
        quern_range_of("workspace", workspace, (int64_t)bytes, QUERN_WRITTEN),
    };
    quern_status status = QUERN_OK;
    if (call->count && has_amaxes) status = quern_check_pointer(call->device, "args.amax", args->amax, sizeof(float));
    if (status == QUERN_OK && scales) status = check_scale(call);
    if (status == QUERN_OK && scales) status = quern_check_optional(call->device, "args.scale_inv", args->scale_inv, sizeof(float));
    if (status == QUERN_OK && casts)
        status = quern_check_optional(call->device, "args.offset_pointer", args->offset_pointer, sizeof(uint64_t));
    if (status == QUERN_OK) status = quern_check_optional(call->device, "args.noop", args->noop, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(call->device, "args.history", args->history, sizeof(float));
    return status == QUERN_OK ? check_all_apart(call, others, sizeof others / sizeof *others) : status;
}
