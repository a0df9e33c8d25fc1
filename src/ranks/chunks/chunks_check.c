/* Checks the arguments of quantised chunks.  Called by chunks.c. */
#include "ranks/chunks/chunks.h"

#include <string.h>

#include "os/integers.h"
#include "os/sizes.h"
#include "quantize/quantize.h"
#include "ranks/handles.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/ranges.h"
#include "runtime/status.h"

/* ---- members ---- */

quern_status quern_chunks_fill_members(struct quern_chunks_call *call, struct quern_membership *member,
                                       const quern_quantize_chunks_args *args) {
    memset(call, 0, offsetof(struct quern_chunks_call, set));  /* not what is long, and filled in where it is used */
    call->member = member;
    call->timeout = member->timeout;
    if (!member->transport->chunks)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "a group over %s has no quantised chunks", member->transport->name);
    quern_status status = quern_check_struct(member->device, "quern_quantize_chunks_args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    call->args = *args;
    status = quern_check_members(member, call->args.members, call->args.member_count, &call->set);
    if (status == QUERN_OK) call->places = quern_number_places(member, &call->set, call->rank_at, &call->place);
    return status;
}

/* ---- the shape ---- */

static quern_status check_dtypes(const quern_device *device, const quern_quantize_chunks_args *args) {
    quern_status status = quern_check_dtype(device, "args.input_dtype", args->input_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.output_dtype", args->output_dtype, quern_narrow_floats, false);
    return status == QUERN_OK ? quern_check_choice(device, "args.scaling", (int)args->scaling, QUERN_SCALING_MX) : status;
}

/* The input and the outputs of all places must have at most 2^47 bytes each. */
static quern_status count_elements(struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    int64_t bytes;
    const bool fits = quern_multiply_bytes(args->rows, args->columns, &call->elements) &&
                      quern_multiply_bytes(call->elements, (int64_t)quern_dtype_bytes(args->input_dtype), &bytes) &&
                      quern_multiply_bytes(call->elements, call->places, &call->output_bytes);
    if (fits) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                      "args.rows is %lld with args.columns %lld, of %d members: expected at most 2^47 bytes of input and of output",
                      (long long)args->rows, (long long)args->columns, call->places);
}

static quern_status count_chunks(struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    if (args->chunk_rows < 1)
        return quern_fail(call->member->device, QUERN_INVALID_SHAPE, "args.chunk_rows is %lld: expected 1 or more",
                          (long long)args->chunk_rows);
    call->chunks = quern_divide_up(args->rows, args->chunk_rows);
    if (call->chunks > QUERN_MOST_CHUNKS)
        return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                          "args.chunk_rows is %lld, which divides %lld rows into %lld chunks: expected at most %d chunks",
                          (long long)args->chunk_rows, (long long)args->rows, (long long)call->chunks, QUERN_MOST_CHUNKS);
    call->chunk_elements = quern_smaller(args->chunk_rows, args->rows) * args->columns;
    call->ready_bytes = call->chunks * call->places * (int64_t)sizeof *args->ready;
    return QUERN_OK;
}

/* As many as elements at most. */
static void count_blocks(struct quern_chunks_call *call) {
    call->in_blocks = call->args.scaling == QUERN_SCALING_MX;
    if (!call->in_blocks) return;
    call->across = quern_divide_up(call->args.columns, QUERN_QUANTIZE_BLOCK);
    call->blocks = call->args.rows * call->across;
    call->scales_bytes = call->blocks * call->places;
}

quern_status quern_chunks_check_value(const quern_device *device, const char *name, uint32_t value) {
    if (value != 0 && value != UINT32_MAX) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %u: expected neither 0 nor %u", name, value, UINT32_MAX);
}

quern_status quern_chunks_fill_shape(struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    const quern_device *device = call->member->device;
    quern_status status = check_dtypes(device, args);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.rows", args->rows);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.columns", args->columns);
    if (status == QUERN_OK) status = count_elements(call);
    if (status == QUERN_OK) status = count_chunks(call);
    if (status == QUERN_OK) status = quern_check_count(device, "args.multiprocessors", args->multiprocessors, INT32_MAX);
    if (status == QUERN_OK) status = quern_chunks_check_value(device, "args.ready_value", args->ready_value);
    if (status == QUERN_OK) status = quern_quantize_check_scale(device, args->eps, args->power_of_two, args->rounding);
    if (status == QUERN_OK) count_blocks(call);
    call->multiprocessors = args->multiprocessors;
    return status == QUERN_OK ? quern_check_timeout(call->member, args->timeout, &call->timeout) : status;
}

/* ---- the order ---- */

/* One that has each chunk once.  It is read once: the caller's memory may change. */
static quern_status fill_order(struct quern_chunks_call *call) {
    const quern_device *device = call->member->device;
    const int *order = call->args.order;
    bool seen[QUERN_MOST_CHUNKS] = {false};
    quern_status status = quern_check_optional(device, "args.order", order, sizeof *order);
    for (int i = 0; status == QUERN_OK && i < call->chunks; i++) {
        const int chunk = order ? order[i] : i;
        if (chunk < 0 || chunk >= call->chunks)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.order[%d] is %d: expected a chunk from 0 to %lld", i, chunk,
                              (long long)call->chunks - 1);
        if (seen[chunk])
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.order[%d] is %d a second time: expected each chunk once", i,
                              chunk);
        seen[chunk] = true;
        call->order[i] = (uint16_t)chunk;
    }
    return status;
}

/* ---- the memory ---- */

/* Memory of `bytes` bytes at the same place on every member, unless the transport takes any. */
static quern_status find(const struct quern_membership *member, const char *name, const void *pointer, int64_t bytes,
                         size_t alignment, struct quern_symmetric_location *place) {
    if (!bytes) return QUERN_OK;
    quern_status status = quern_check_pointer(member->device, name, pointer, alignment);
    if (status != QUERN_OK || member->transport->chunks->any_memory) return status;
    const enum quern_symmetric_state state = quern_symmetric_find(member, pointer, bytes, place);
    if (state == QUERN_MEMORY_SYMMETRIC) return QUERN_OK;
    if (state == QUERN_MEMORY_FREED)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s is in symmetric memory that was freed", name);
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT,
                      "%s is not symmetric memory of this group: expected %lld bytes within one quern_symmetric_alloc, at the same "
                      "place on every member", name, (long long)bytes);
}

static quern_status check_null(const quern_device *device, const char *name, const void *pointer, const char *scaling) {
    if (!pointer) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is not NULL: expected NULL with %s", name, scaling);
}

/* Either the scales of blocks or the amax and the scale of the tensor. */
static quern_status fill_scales(struct quern_chunks_call *call) {
    static const char in_blocks[] = "QUERN_SCALING_MX", of_tensor[] = "the scaling of a tensor";
    const quern_quantize_chunks_args *args = &call->args;
    const quern_device *device = call->member->device;
    if (call->in_blocks) {
        quern_status status = check_null(device, "args.amax", args->amax, in_blocks);
        if (status == QUERN_OK) status = check_null(device, "args.scale", args->scale, in_blocks);
        if (status == QUERN_OK) status = check_null(device, "args.scale_inv", args->scale_inv, in_blocks);
        if (status != QUERN_OK) return status;
        return find(call->member, "args.block_scales", args->block_scales, call->scales_bytes, 1, &call->scales_place);
    }
    quern_status status = check_null(device, "args.block_scales", args->block_scales, of_tensor);
    if (status == QUERN_OK) status = quern_check_pointer(device, "args.amax", args->amax, sizeof *args->amax);
    if (status == QUERN_OK) status = quern_check_optional(device, "args.scale", args->scale, sizeof *args->scale);
    return status == QUERN_OK ? quern_check_optional(device, "args.scale_inv", args->scale_inv, sizeof *args->scale_inv) : status;
}

static quern_status fill_buffers(struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    const quern_device *device = call->member->device;
    quern_status status = QUERN_OK;
    if (call->elements) status = quern_check_pointer(device, "args.input", args->input, quern_dtype_bytes(args->input_dtype));
    if (status == QUERN_OK) status = find(call->member, "args.output", args->output, call->output_bytes, 1, &call->output_place);
    if (status == QUERN_OK)
        status = find(call->member, "args.ready", args->ready, call->ready_bytes, sizeof *args->ready, &call->ready_place);
    if (status == QUERN_OK) status = fill_scales(call);
    if (status == QUERN_OK)
        status = quern_check_optional(device, "args.offset_pointer", args->offset_pointer, sizeof *args->offset_pointer);
    return status;
}

static quern_status fill_workspace(struct quern_chunks_call *call, void *workspace, size_t bytes) {
    call->workspace_bytes = call->member->transport->chunks->workspace_bytes(call);
    call->workspace = workspace;
    return quern_check_workspace(call->member->device, workspace, bytes, call->workspace_bytes);
}

static quern_status check_apart(const struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    const int64_t input_bytes = call->elements * (int64_t)quern_dtype_bytes(args->input_dtype);
    struct quern_range ranges[] = {
        quern_range_of("args.input", args->input, input_bytes, QUERN_READ),
        quern_range_of("args.output", args->output, call->output_bytes, QUERN_WRITTEN),
        quern_range_of("args.ready", args->ready, call->ready_bytes, QUERN_WRITTEN),
        quern_range_of("args.block_scales", args->block_scales, call->scales_bytes, QUERN_WRITTEN),
        quern_range_of("args.order", args->order, call->chunks * (int64_t)sizeof *args->order, QUERN_READ),
        quern_range_of("args.amax", args->amax, sizeof *args->amax, QUERN_WRITTEN),
        quern_range_of("args.scale", args->scale, sizeof *args->scale, QUERN_WRITTEN),
        quern_range_of("args.scale_inv", args->scale_inv, sizeof *args->scale_inv, QUERN_WRITTEN),
        quern_range_of("args.offset_pointer", args->offset_pointer, sizeof *args->offset_pointer, QUERN_READ),
        quern_range_of("workspace", call->workspace, (int64_t)call->workspace_bytes, QUERN_WRITTEN),
    };
    return quern_check_apart(call->member->device, NULL, ranges, NULL, sizeof ranges / sizeof *ranges);
}

quern_status quern_chunks_fill_rest(struct quern_chunks_call *call, void *workspace, size_t workspace_bytes, void *stream) {
    quern_status status = quern_chunks_fill_shape(call);
    if (status == QUERN_OK) status = fill_order(call);
    if (status == QUERN_OK) status = fill_buffers(call);
    if (status == QUERN_OK) status = fill_workspace(call, workspace, workspace_bytes);
    if (status == QUERN_OK) status = check_apart(call);
    if (status == QUERN_OK) status = quern_check_stream(call->member->device, stream);
    return status == QUERN_OK ? call->member->transport->chunks->check(call) : status;
}
