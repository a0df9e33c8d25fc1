/* The arrays of a list of tensors that are quantised: their memory, and the checks of it.  Called by quantize_arguments.c and
 * quantize_plan.c. */
#include "quantize/quantize.h"

#include "runtime/status.h"

/* The kinds of arrays, in the order in which they are listed. */
enum kind { INPUT, OUTPUT, TRANSPOSED, SCALES, TRANSPOSED_SCALES, KINDS };

static const char *const names[KINDS] = {"input", "output", "transposed", "block_scales", "transposed_block_scales"};

static const void *array_of(const quern_quantize_tensor *tensor, enum kind kind) {
    const void *const arrays[KINDS] = {tensor->input, tensor->output, tensor->transposed, tensor->block_scales,
                                       tensor->transposed_block_scales};
    return arrays[kind];
}

/* Kinds that a call may use: the first so many. */
static enum kind kinds_of(const struct quern_quantize_use *use) {
    return !(use->steps & QUERN_QUANTIZE_CASTS) ? OUTPUT : use->in_blocks ? KINDS : SCALES;
}

/* What has scales, and what a tensor needs not have, is written only with the array that it belongs to. */
static bool is_used(const quern_quantize_tensor *tensor, enum kind kind) {
    const bool used[KINDS] = {true, tensor->output || !tensor->transposed, tensor->transposed, tensor->output,
                              tensor->transposed};
    return used[kind];
}

/* The bytes of an array that is used.  A tensor that is scaled in blocks has columns. */
static int64_t bytes_of(const quern_quantize_tensor *tensor, enum kind kind, int64_t element) {
    if (kind < SCALES) return tensor->count * (kind == INPUT ? element : 1);
    const int64_t rows = tensor->count / tensor->columns, columns = tensor->columns;
    return kind == SCALES ? rows * quern_divide_up(columns, QUERN_QUANTIZE_BLOCK)
                          : columns * quern_divide_up(rows, QUERN_QUANTIZE_BLOCK);
}

static struct quern_range range_of(const quern_quantize_tensor *tensor, int64_t place, enum kind kind, int64_t element) {
    struct quern_range range = quern_range_of(names[kind], array_of(tensor, kind), bytes_of(tensor, kind, element),
                                              kind == INPUT ? QUERN_READ : QUERN_WRITTEN);
    range.place = (uint32_t)place;
    return range;
}

/* ---- lists ---- */

int64_t quern_quantize_most_arrays(int64_t count, struct quern_quantize_form form) {
    return count * (form.in_blocks ? KINDS : form.has_matrices ? SCALES : TRANSPOSED);
}

/* One kind of array after the other: each kind is likely to ascend, which makes the sorting fast. */
int64_t quern_quantize_ranges(const struct quern_quantize_list *list, int64_t count, const struct quern_quantize_use *use,
                              struct quern_range *to) {
    int64_t listed = 0;
    for (enum kind kind = INPUT; kind < kinds_of(use); kind++)
        for (int64_t place = 0; place < count; place++) {
            const quern_quantize_tensor tensor = quern_quantize_tensor_at(list, place);
            if (tensor.count && is_used(&tensor, kind)) to[listed++] = range_of(&tensor, place, kind, use->element);
        }
    return listed;
}

/* ---- checks ---- */

/* `other` is not empty. */
static bool meet(const struct quern_range *one, const struct quern_range *other) {
    const bool written = one->access != QUERN_READ || other->access != QUERN_READ;
    return written && one->begin < other->end && other->begin < one->end && one->begin < one->end;
}

static quern_status check_array(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place, enum kind kind,
                                int64_t element) {
    const void *pointer = array_of(tensor, kind);
    if (pointer && (uintptr_t)pointer % (uintptr_t)element == 0) return QUERN_OK;
    return quern_fail(device, pointer ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, QUERN_QUANTIZE_LIST "[%lld].%s is %s",
                      (long long)place, names[kind], pointer ? "not at a multiple of its element's size" : "NULL");
}

/* Memory at an address, and a later one: whether the first ends before it. */
static bool ends_before(const void *pointer, int64_t bytes, uintptr_t later) {
    return (uintptr_t)pointer <= later && later - (uintptr_t)pointer >= (uintptr_t)bytes;
}

/* Most tensors have an input and an output and nothing else.  In a long list they cost as much as their checks. */
static bool is_plain(const quern_quantize_tensor *tensor, const struct quern_quantize_use *use) {
    return !use->in_blocks && !tensor->transposed && tensor->input && tensor->output;
}

/* The checks of a plain tensor, if they find nothing. */
static bool is_fine(const quern_quantize_tensor *tensor, const struct quern_quantize_use *use) {
    const uintptr_t input = (uintptr_t)tensor->input, output = (uintptr_t)tensor->output;
    return is_plain(tensor, use) && input % (uintptr_t)use->element == 0 &&
           (ends_before(tensor->input, tensor->count * use->element, output) || ends_before(tensor->output, tensor->count, input));
}

quern_status quern_quantize_check_tensor(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place,
                                         const struct quern_quantize_use *use) {
    struct quern_range ranges[KINDS];
    int listed = 0;
    if (is_fine(tensor, use)) return QUERN_OK;
    for (enum kind kind = INPUT; kind < kinds_of(use); kind++) {
        if (!is_used(tensor, kind)) continue;
        quern_status status = check_array(device, tensor, place, kind, kind == INPUT ? use->element : 1);
        if (status != QUERN_OK) return status;
        ranges[listed] = range_of(tensor, place, kind, use->element);
        for (int i = 0; i < listed; i++)
            if (meet(&ranges[listed], &ranges[i]))
                return quern_fail_overlap(device, QUERN_QUANTIZE_LIST, &ranges[listed], &ranges[i]);
        listed++;
    }
    return QUERN_OK;
}

/* From the lowest address of these ranges to the highest. */
static struct quern_range span_of(const struct quern_range *ranges, int count) {
    struct quern_range span = {.begin = UINTPTR_MAX};
    for (int i = 0; i < count; i++) {
        if (ranges[i].begin == ranges[i].end) continue;
        span.begin = ranges[i].begin < span.begin ? ranges[i].begin : span.begin;
        span.end = ranges[i].end > span.end ? ranges[i].end : span.end;
    }
    return span;
}

static bool lies_outside(const struct quern_range *span, const void *pointer, int64_t bytes) {
    return (uintptr_t)pointer >= span->end || ends_before(pointer, bytes, span->begin);
}

quern_status quern_quantize_check_others(const quern_device *device, const struct quern_quantize_list *list, int64_t count,
                                         const struct quern_quantize_use *use, const struct quern_range *others, int other_count) {
    const struct quern_range span = span_of(others, other_count);
    for (int64_t place = 0; place < count; place++) {
        const struct quern_quantize_list one = {list->tensors + (size_t)place * list->stride, list->stride};
        const quern_quantize_tensor tensor = quern_quantize_tensor_at(&one, 0);
        struct quern_range ranges[KINDS];
        if (is_plain(&tensor, use) && lies_outside(&span, tensor.input, tensor.count * use->element) &&
            lies_outside(&span, tensor.output, tensor.count)) continue;
        const int64_t listed = quern_quantize_ranges(&one, 1, use, ranges);
        for (int64_t i = 0; i < listed; i++) {
            ranges[i].place = (uint32_t)place;
            for (int k = 0; k < other_count; k++)
                if (meet(&others[k], &ranges[i])) return quern_fail_overlap(device, QUERN_QUANTIZE_LIST, &others[k], &ranges[i]);
        }
    }
    return QUERN_OK;
}
