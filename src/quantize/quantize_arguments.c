/* Checks the arguments of a quantisation.  Called by quantize.c and quantize_plan.c. */
#include "quantize/quantize_arguments.h"

#include <float.h>

#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

/* ---- the list ---- */

static quern_status check_dtypes(const quern_device *device, const quern_quantize_args *args) {
    static const quern_dtype outputs[] = {QUERN_E4M3, QUERN_E5M2, QUERN_NO_DTYPE};
    quern_status status = quern_check_dtype(device, "args.input_dtype", args->input_dtype, quern_floats, false);
    return status == QUERN_OK ? quern_check_dtype(device, "args.output_dtype", args->output_dtype, outputs, false) : status;
}

static quern_status check_size(const quern_device *device, const quern_quantize_args *args) {
    if (args->tensor_size != sizeof(quern_quantize_tensor))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is %u: expected %zu (as the struct's initialiser "
                          "sets)", args->tensor_size, sizeof(quern_quantize_tensor));
    quern_status status = quern_check_count(device, "args.tensor_count", args->tensor_count, QUERN_MOST_ITEMS);
    if (status != QUERN_OK || !args->tensor_count) return status;
    return quern_check_pointer(device, "args.tensors", args->tensors, sizeof(void *));
}

/* *total: the elements so far. */
static quern_status check_count(const quern_device *device, int64_t count, int64_t place, int64_t *total) {
    if (count < 0 || count > QUERN_QUANTIZE_MAX_COUNT)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensors[%lld].count is %lld: expected 0 to %lld", (long long)place,
                          (long long)count, (long long)QUERN_QUANTIZE_MAX_COUNT);
    if (device->kind == QUERN_CUDA && quern_quantize_tiles(count) > QUERN_QUANTIZE_MAX_TILES)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.tensors[%lld].count is %lld: a GPU takes up to %lld",
                          (long long)place, (long long)count, (long long)QUERN_ADAM_TILE * QUERN_QUANTIZE_MAX_TILES);
    *total += count;
    if (*total <= QUERN_QUANTIZE_MAX_COUNT) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "the count of args.tensors is more than %lld together",
                      (long long)QUERN_QUANTIZE_MAX_COUNT);
}

static quern_status check_array(const quern_device *device, int64_t place, const char *name, const void *pointer, size_t element) {
    if (pointer && (uintptr_t)pointer % element == 0) return QUERN_OK;
    return quern_fail(device, pointer ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, "args.tensors[%lld].%s is %s",
                      (long long)place, name, pointer ? "not at a multiple of its element's size" : "NULL");
}

static quern_status check_apart(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place, size_t element) {
    const uintptr_t input = (uintptr_t)tensor->input, output = (uintptr_t)tensor->output, count = (uintptr_t)tensor->count;
    if (output >= input ? (output - input) / element >= count : input - output >= count) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].output overlaps args.tensors[%lld].input",
                      (long long)place, (long long)place);
}

static quern_status check_tensor(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place, size_t element,
                                 int steps) {
    quern_status status = check_array(device, place, "input", tensor->input, element);
    if (status != QUERN_OK || !(steps & QUERN_QUANTIZE_CASTS)) return status;
    status = check_array(device, place, "output", tensor->output, 1);
    return status == QUERN_OK ? check_apart(device, tensor, place, element) : status;
}

quern_status quern_quantize_check_list(const quern_device *device, const quern_quantize_args *args, int steps) {
    const size_t element = quern_dtype_bytes(args->input_dtype);
    int64_t total = 0;
    quern_status status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_size(device, args);
    for (int64_t place = 0; status == QUERN_OK && place < args->tensor_count; place++) {
        const quern_quantize_tensor *tensor = &args->tensors[place];
        status = check_count(device, tensor->count, place, &total);
        if (status == QUERN_OK && tensor->count) status = check_tensor(device, tensor, place, element, steps);
    }
    return status;
}

/* ---- a plan ---- */

static quern_status check_plan(const quern_device *device, const quern_quantize_args *args) {
    static const char differs[] = "args.%s is %s, and args.plan was made with %s";
    const quern_quantize_plan *plan = args->plan;
    quern_status status = check_dtypes(device, args);
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
    return QUERN_OK;
}

/* ---- numbers ---- */

enum { MOST_HISTORY = 1 << 16 };

static quern_status check_history(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    if (!args->history) return QUERN_OK;
    if (call->steps == QUERN_QUANTIZE_FINDS || call->steps == QUERN_QUANTIZE_CASTS)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.history is not NULL: expected NULL, since only "
                          "quern_quantize has delayed scaling");
    if (args->history_length >= 1 && args->history_length <= MOST_HISTORY) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_SHAPE, "args.history_length is %lld: expected 1 to %d",
                      (long long)args->history_length, MOST_HISTORY);
}

static quern_status check_numbers(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    if (!(args->eps >= 0 && args->eps <= (double)FLT_MAX))
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.eps is %g: expected 0 to 3.4e38, the largest fp32",
                          args->eps);
    quern_status status = quern_check_choice(call->device, "args.power_of_two", args->power_of_two, 1);
    if (status == QUERN_OK) status = quern_check_choice(call->device, "args.rounding", (int)args->rounding, QUERN_ROUND_STOCHASTIC);
    return status == QUERN_OK ? check_history(call) : status;
}

quern_status quern_quantize_check(struct quern_quantize_call *call, const quern_quantize_args *given) {
    quern_quantize_args *args = &call->args;
    quern_status status = quern_check_struct(call->device, "args", given, sizeof *args);
    if (status != QUERN_OK) return status;
    *args = *given;
    status = args->plan ? check_plan(call->device, args) : quern_quantize_check_list(call->device, args, call->steps);
    call->tensors = args->plan ? args->plan->tensors : args->tensors;
    call->count = args->plan ? args->plan->count : args->tensor_count;
    return status == QUERN_OK ? check_numbers(call) : status;
}

/* ---- arrays ---- */

static const char LIST[] = "args.tensors";

/* One kind of array after the other: each kind is likely to ascend, which makes the sorting fast. */
static int64_t list_arrays(const quern_quantize_tensor *tensors, int64_t count, int64_t element, bool outputs,
                           struct quern_range *to) {
    int64_t listed = 0;
    for (int64_t place = 0; place < count; place++) {
        const quern_quantize_tensor *tensor = &tensors[place];
        if (!tensor->count) continue;
        to[listed] = quern_range_of(outputs ? "output" : "input", outputs ? tensor->output : tensor->input,
                                    tensor->count * element, outputs ? QUERN_WRITTEN : QUERN_READ);
        to[listed++].place = (uint32_t)place;
    }
    return listed;
}

int64_t quern_quantize_ranges(const quern_quantize_tensor *tensors, int64_t count, quern_dtype input_dtype, int steps,
                              struct quern_range *to) {
    const int64_t inputs = list_arrays(tensors, count, (int64_t)quern_dtype_bytes(input_dtype), false, to);
    return steps & QUERN_QUANTIZE_CASTS ? inputs + list_arrays(tensors, count, 1, true, to + inputs) : inputs;
}

/* An array of a long list against the other buffers of the call. */
static quern_status check_array_apart(const struct quern_quantize_call *call, int64_t place, bool is_output,
                                      const struct quern_range *others, int other_count) {
    const quern_quantize_tensor *tensor = &call->tensors[place];
    const int64_t element = is_output ? 1 : (int64_t)quern_dtype_bytes(call->args.input_dtype);
    struct quern_range range = quern_range_of(is_output ? "output" : "input", is_output ? tensor->output : tensor->input,
                                              tensor->count * element, is_output ? QUERN_WRITTEN : QUERN_READ);
    range.place = (uint32_t)place;
    for (int i = 0; i < other_count; i++) {
        const bool meet = others[i].begin < range.end && range.begin < others[i].end && others[i].begin < others[i].end;
        if (meet && (is_output || others[i].access != QUERN_READ))
            return quern_fail_overlap(call->device, LIST, &others[i], &range);
    }
    return QUERN_OK;
}

static quern_status check_long_apart(const struct quern_quantize_call *call, const struct quern_range *others, int other_count) {
    quern_status status = QUERN_OK;
    for (int64_t place = 0; status == QUERN_OK && place < call->count; place++) {
        if (!call->tensors[place].count) continue;
        status = check_array_apart(call, place, false, others, other_count);
        if (status == QUERN_OK && call->steps & QUERN_QUANTIZE_CASTS)
            status = check_array_apart(call, place, true, others, other_count);
    }
    return status;
}

static quern_status check_all_apart(const struct quern_quantize_call *call, const struct quern_range *others, int other_count) {
    struct quern_range ranges[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES], scratch[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES];
    const quern_quantize_plan *plan = call->args.plan;
    if (plan) return quern_check_against_pieces(call->device, &plan->pieces, others, other_count);
    const bool is_short = call->count <= QUERN_CHECKED_ARRAYS / 2;
    int64_t count = 0;
    if (is_short) count = quern_quantize_ranges(call->tensors, call->count, call->args.input_dtype, call->steps, ranges);
    for (int i = 0; i < other_count; i++) ranges[count++] = others[i];
    quern_status status = quern_check_apart(call->device, LIST, ranges, scratch, count);
    return status == QUERN_OK && !is_short ? check_long_apart(call, others, other_count) : status;
}

/* The arrays that the call uses; the others are NULL. */
quern_status quern_quantize_check_arrays(const struct quern_quantize_call *call, const void *workspace, size_t bytes) {
    const quern_quantize_args *args = &call->args;
    const bool casts = call->steps & QUERN_QUANTIZE_CASTS, finds = call->steps & QUERN_QUANTIZE_FINDS;
    const int64_t floats = call->count * (int64_t)sizeof(float);
    const struct quern_range others[] = {
        quern_range_of("args.amax", args->amax, floats, finds ? QUERN_WRITTEN : QUERN_READ),
        quern_range_of("args.scale", casts ? args->scale : NULL, floats, QUERN_WRITTEN),
        quern_range_of("args.scale_inv", casts ? args->scale_inv : NULL, floats, QUERN_WRITTEN),
        quern_range_of("args.offset_pointer", casts ? args->offset_pointer : NULL, sizeof *args->offset_pointer, QUERN_READ),
        quern_range_of("args.noop", args->noop, sizeof *args->noop, QUERN_READ),
        quern_range_of("args.history", args->history, args->history ? floats * args->history_length : 0, QUERN_WRITTEN),
        quern_range_of("workspace", workspace, (int64_t)bytes, QUERN_WRITTEN),
    };
    quern_status status = QUERN_OK;
    if (call->count) status = quern_check_pointer(call->device, "args.amax", args->amax, sizeof(float));
    if (status == QUERN_OK && casts) status = quern_check_optional(call->device, "args.scale", args->scale, sizeof(float));
    if (status == QUERN_OK && casts) status = quern_check_optional(call->device, "args.scale_inv", args->scale_inv, sizeof(float));
    if (status == QUERN_OK && casts)
        status = quern_check_optional(call->device, "args.offset_pointer", args->offset_pointer, sizeof(uint64_t));
    if (status == QUERN_OK) status = quern_check_optional(call->device, "args.noop", args->noop, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(call->device, "args.history", args->history, sizeof(float));
    return status == QUERN_OK ? check_all_apart(call, others, sizeof others / sizeof *others) : status;
}
