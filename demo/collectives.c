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

/* The sizes of one call in bytes: those that this rank reads and writes, and sends to others. */
struct sizes {
    int64_t input, output, sent;
};

static bool run(struct collective *collective, const char *name, collective_function *function, const struct mirrored *input,
                const struct mirrored *output, int64_t count, struct sizes bytes) {
    struct rank *rank = collective->rank;
    const struct device_memory *memory = &rank->device->memory;
    const struct mirrored sent = mirrored_part(input, 0, bytes.input), received = mirrored_part(output, 0, bytes.output);
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = collective->dtype;
    args.count = count;
    args.input = sent.device;
    args.output = received.device;

    const double start = seconds_now();
    if (!device_memory_upload(memory, &sent)) return false;
    if (!succeeded(name, function(rank->group, &args, collective->workspace.device, collective->workspace.bytes, memory->stream)))
        return false;
    if (!device_memory_wait(memory) || !succeeded("the collective on the GPU", quern_group_status(rank->group)) ||
        !device_memory_download(memory, &received))
        return false;
    rank->totals.seconds[collective->purpose] += seconds_now() - start;
    rank->totals.bytes[collective->purpose] += bytes.sent;
    return true;
}

static int64_t bytes_of(const struct collective *collective, int64_t count) {
    return count * (int64_t)quern_dtype_bytes(collective->dtype);
}

/* Each rank adds up its share, which the others send it, and sends the sum to them. */
bool all_reduce(struct collective *collective, const struct mirrored *values, int64_t count) {
    const int64_t bytes = bytes_of(collective, count), ranks = collective->rank->ranks;
    return run(collective, "quern_all_reduce", quern_all_reduce, values, values, count,
               (struct sizes){bytes, bytes, 2 * (ranks - 1) * bytes / ranks});
}

bool reduce_scatter(struct collective *collective, const struct mirrored *parts, const struct mirrored *sum, int64_t count) {
    const int64_t bytes = bytes_of(collective, count), ranks = collective->rank->ranks;
    return run(collective, "quern_reduce_scatter", quern_reduce_scatter, parts, sum, count,
               (struct sizes){ranks * bytes, bytes, (ranks - 1) * bytes});
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
    return run(&gather->collective, "quern_all_gather", quern_all_gather, &gather->own, &gather->rows,
               bytes / (int64_t)sizeof(int32_t), (struct sizes){bytes, ranks * bytes, (ranks - 1) * bytes});
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
