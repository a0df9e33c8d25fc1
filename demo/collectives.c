/*
 * The collectives of Quern.  On a GPU inputs are uploaded before and results downloaded after, as in exchange.c.  Called by the
 * model for sums over ranks, and by dispatch.c for its counts.
 */
#include "collectives.h"

#include <string.h>

#include "check.h"
#include "clock.h"

bool collective_create(struct collective *collective, struct rank *rank, enum purpose purpose, quern_dtype dtype, int64_t count) {
    size_t bytes = 0;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = dtype;
    args.count = count;
    *collective = (struct collective){.rank = rank, .purpose = purpose, .dtype = dtype};
    return succeeded("quern_collective_workspace", quern_collective_workspace(rank->group, &args, &bytes)) &&
           rank_memory_create(rank, &collective->workspace, bytes);
}

void collective_free(struct collective *collective) {
    rank_memory_free(&collective->workspace);
    *collective = (struct collective){0};
}

typedef quern_status collective_function(quern_group *group, const quern_collective_args *args, void *workspace,
                                         size_t workspace_bytes, void *stream);

/* One call: of its bytes, the pieces that this rank reads, `step` apart, those that it writes, and those that go to other ranks. */
struct one_call {
    const char *name;
    collective_function *function;
    quern_collective_args args;
    const struct mirrored *input, *output;
    int64_t pieces, first, piece, step;
    int64_t written, output_first, sent;
};

static bool upload_pieces(const struct device_memory *memory, const struct one_call *call) {
    for (int64_t i = 0; i < call->pieces; i++) {
        const struct mirrored piece = mirrored_part(call->input, call->first + i * call->step, call->piece);
        if (!device_memory_upload(memory, &piece)) return false;
    }
    return true;
}

static bool run(struct collective *collective, const struct one_call *call) {
    struct rank *rank = collective->rank;
    const struct device_memory *memory = &rank->device->memory;
    const struct mirrored received = mirrored_part(call->output, call->output_first, call->written);
    quern_collective_args args = call->args;
    args.dtype = collective->dtype;
    args.input = (const char *)call->input->device + call->first;
    args.output = received.device;

    const double start = seconds_now();
    if (!upload_pieces(memory, call)) return false;
    const struct mirrored *workspace = &collective->workspace;
    if (!succeeded(call->name, call->function(rank->group, &args, workspace->device, workspace->bytes, memory->stream))) return false;
    if (!device_memory_wait(memory) || !succeeded("the collective on the GPU", quern_group_status(rank->group)) ||
        !device_memory_download(memory, &received))
        return false;
    rank->totals.seconds[collective->purpose] += seconds_now() - start;
    rank->totals.bytes[collective->purpose] += call->sent;
    return true;
}

static quern_collective_args arguments(int64_t count, int64_t stride) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.count = count;
    args.input_stride = stride;
    return args;
}

/* Each rank adds up its share, which the others send it, and sends the sum to them. */
bool all_reduce(struct collective *collective, const struct mirrored *values, int64_t count) {
    const int64_t bytes = count * (int64_t)quern_dtype_bytes(collective->dtype), ranks = collective->rank->ranks;
    return run(collective,
               &(struct one_call){"quern_all_reduce", quern_all_reduce, arguments(count, 0), values, values, .pieces = 1,
                                  .piece = bytes, .written = bytes, .sent = 2 * (ranks - 1) * bytes / ranks});
}

bool reduce_scatter(struct collective *collective, const struct mirrored *parts, const struct mirrored *sum, struct slice slice) {
    const int64_t size = (int64_t)quern_dtype_bytes(collective->dtype), ranks = collective->rank->ranks;
    const int64_t bytes = slice.count * size, first = slice.first * size;
    return run(collective,
               &(struct one_call){"quern_reduce_scatter", quern_reduce_scatter, arguments(slice.count, slice.stride), parts, sum,
                                  .pieces = ranks, .first = first, .piece = bytes, .step = slice.stride * size, .written = bytes,
                                  .output_first = first, .sent = (ranks - 1) * bytes});
}

bool gather_create(struct gather *gather, struct rank *rank, enum purpose purpose, size_t row_bytes) {
    *gather = (struct gather){0};
    return collective_create(&gather->collective, rank, purpose, QUERN_INT32, (int64_t)(row_bytes / sizeof(int32_t))) &&
           device_memory_create(&rank->device->memory, &gather->own, NULL, row_bytes) &&
           rank_memory_create(rank, &gather->rows, (size_t)rank->ranks * row_bytes);
}

void gather_free(struct gather *gather) {
    struct rank *rank = gather->collective.rank;
    if (rank == NULL) return;
    device_memory_free(&rank->device->memory, &gather->own);
    rank_memory_free(&gather->rows);
    collective_free(&gather->collective);
}

bool gather_run(struct gather *gather) {
    const int64_t bytes = (int64_t)gather->own.bytes, ranks = gather->collective.rank->ranks;
    return run(&gather->collective,
               &(struct one_call){"quern_all_gather", quern_all_gather, arguments(bytes / (int64_t)sizeof(int32_t), 0), &gather->own,
                                  &gather->rows, .pieces = 1, .piece = bytes, .written = ranks * bytes,
                                  .sent = (ranks - 1) * bytes});
}

bool gather_sum(struct gather *gather, double *values, int count) {
    memcpy(gather->own.host, values, (size_t)count * sizeof *values);
    if (!gather_run(gather)) return false;
    const double *row = gather->rows.host;
    memset(values, 0, (size_t)count * sizeof *values);
    for (int rank = 0; rank < gather->collective.rank->ranks; rank++, row += count)
        for (int i = 0; i < count; i++) values[i] += row[i];
    return true;
}
