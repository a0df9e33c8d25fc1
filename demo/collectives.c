/*
 * All-gather and all-reduce, made of ragged all-to-alls.  Called by the model for sums over ranks and by dispatch.c for its
 * counts.
 */
#include "collectives.h"

#include <string.h>

bool gather_create(struct gather *gather, struct rank *rank, enum purpose purpose, size_t row_bytes) {
    *gather = (struct gather){0};
    if (!exchange_create(&gather->exchange, rank, purpose, 1, (int64_t)row_bytes, 1) ||
        !device_memory_create(&rank->device->memory, &gather->own, NULL, row_bytes) ||
        !rank_memory_create(rank, &gather->rows, (size_t)rank->ranks * row_bytes))
        return false;
    for (int peer = 0; peer < rank->ranks; peer++) {
        gather->exchange.output_offsets[peer] = rank->rank;
        gather->exchange.send_sizes[peer] = gather->exchange.recv_sizes[peer] = 1;
    }
    return true;
}

void gather_free(struct gather *gather) {
    struct rank *rank = gather->exchange.rank;
    if (rank == NULL) return;
    device_memory_free(&rank->device->memory, &gather->own);
    rank_memory_free(&gather->rows);
    exchange_free(&gather->exchange);
}

bool gather_run(struct gather *gather) {
    return exchange_run(&gather->exchange, &gather->own, 1, &gather->rows, gather->exchange.rank->ranks);
}

bool gather_sum(struct gather *gather, double *values, int count) {
    memcpy(gather->own.host, values, (size_t)count * sizeof *values);
    if (!gather_run(gather)) return false;
    const double *row = gather->rows.host;
    memset(values, 0, (size_t)count * sizeof *values);
    for (int rank = 0; rank < gather->exchange.rank->ranks; rank++, row += count)
        for (int i = 0; i < count; i++) values[i] += row[i];
    return true;
}

/* Where a rank's slice begins: at a cache line. */
static int64_t slice_first(int64_t count, int rank, int ranks) {
    return rank == ranks ? count : share_first(count, rank, ranks) / 16 * 16;
}

/* Scatter: from the peer's slice to this rank's row among the peer's parts.  Gather: this rank's slice, to its final position. */
static void describe(struct all_reduce *reduce, const struct rank *rank) {
    for (int peer = 0; peer < rank->ranks; peer++) {
        int64_t first = slice_first(reduce->count, peer, rank->ranks);
        int64_t slice = slice_first(reduce->count, peer + 1, rank->ranks) - first;
        reduce->scatter.input_offsets[peer] = first;
        reduce->scatter.send_sizes[peer] = slice;
        reduce->scatter.output_offsets[peer] = rank->rank * slice;
        reduce->scatter.recv_sizes[peer] = reduce->slice;
        reduce->gather.send_sizes[peer] = reduce->slice;
        reduce->gather.output_offsets[peer] = reduce->first;
        reduce->gather.recv_sizes[peer] = slice;
    }
}

bool all_reduce_create(struct all_reduce *reduce, struct rank *rank, int64_t count) {
    int64_t first = slice_first(count, rank->rank, rank->ranks);
    *reduce = (struct all_reduce){
        .count = count, .first = first, .slice = slice_first(count, rank->rank + 1, rank->ranks) - first};
    size_t slice_bytes = (size_t)reduce->slice * sizeof(float);
    if (!exchange_create(&reduce->scatter, rank, GRADIENTS, count, sizeof(float), 1) ||
        !exchange_create(&reduce->gather, rank, GRADIENTS, reduce->slice, sizeof(float), 1) ||
        !rank_memory_create(rank, &reduce->parts, (size_t)rank->ranks * slice_bytes) ||
        !device_memory_create(&rank->device->memory, &reduce->sum, NULL, slice_bytes))
        return false;
    describe(reduce, rank);
    return true;
}

void all_reduce_free(struct all_reduce *reduce) {
    struct rank *rank = reduce->scatter.rank;
    if (rank == NULL) return;
    rank_memory_free(&reduce->parts);
    device_memory_free(&rank->device->memory, &reduce->sum);
    exchange_free(&reduce->scatter);
    exchange_free(&reduce->gather);
}

static void add_up(const struct all_reduce *reduce, int ranks) {
    const float *part = reduce->parts.host;
    float *sum = reduce->sum.host;
    memcpy(sum, part, (size_t)reduce->slice * sizeof *sum);
    for (int rank = 1; rank < ranks; rank++) {
        part += reduce->slice;
        for (int64_t i = 0; i < reduce->slice; i++) sum[i] += part[i];
    }
}

bool all_reduce_run(struct all_reduce *reduce, const struct mirrored *values) {
    int ranks = reduce->scatter.rank->ranks;
    if (!exchange_run(&reduce->scatter, values, reduce->count, &reduce->parts, ranks * reduce->slice)) return false;
    add_up(reduce, ranks);
    return exchange_run(&reduce->gather, &reduce->sum, reduce->slice, values, reduce->count);
}
