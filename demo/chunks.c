/*
 * Gathers quantised rows in chunks.  Another thread makes the call, and this one waits for chunks.  Called by tensor_parallel.c.
 */
#include "chunks.h"

#include <string.h>

#include "caller.h"
#include "check.h"
#include "clock.h"
#include "threads.h"

enum { MOST_CHUNKS = 4, ROWS_PER_TASK = 16 };

static int64_t rows_of_chunk(int64_t rows) { return (rows + MOST_CHUNKS - 1) / MOST_CHUNKS; }

int64_t chunks_count(const struct chunks *chunks) { return (chunks->rows + chunks->chunk_rows - 1) / chunks->chunk_rows; }

static quern_quantize_chunks_args arguments(const struct chunks *chunks) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32;
    args.output_dtype = chunks->dtype;
    args.input = chunks->input.device;
    args.output = chunks->bytes.device;
    args.ready = chunks->ready.device;
    args.ready_value = chunks->ready_value;
    args.rows = chunks->rows;
    args.columns = chunks->columns;
    args.chunk_rows = chunks->chunk_rows;
    args.amax = chunks->amax.device;
    args.scale_inv = chunks->scale_inv.device;
    return args;
}

static bool create_workspace(struct chunks *chunks, const struct device_memory *memory) {
    size_t bytes = 0;
    const quern_quantize_chunks_args args = arguments(chunks);
    return succeeded("quern_quantize_chunks_workspace",
                     quern_quantize_chunks_workspace(chunks->rank->group, &args, &bytes)) &&
           device_memory_create(memory, &chunks->workspace, NULL, bytes);
}

bool chunks_create(struct chunks *chunks, struct rank *rank, struct thread_pool *pool, struct caller *caller, quern_dtype dtype,
                   int64_t rows, int64_t columns) {
    const struct device_memory *memory = &rank->device->memory;
    const size_t values = (size_t)(rows * columns), ranks = (size_t)rank->ranks;
    *chunks = (struct chunks){.rank = rank, .pool = pool, .caller = caller, .dtype = dtype, .rows = rows,
                              .chunk_rows = rows_of_chunk(rows), .columns = columns, .ready_value = 1};
    fp8_fill_table(chunks->table, dtype == QUERN_E4M3);
    return device_memory_open(&chunks->side, memory->is_cuda, memory->ordinal) &&
           rank_memory_create(rank, &chunks->bytes, ranks * values) &&
           rank_memory_create(rank, &chunks->ready, ranks * MOST_CHUNKS * sizeof(uint32_t)) &&
           device_memory_create(memory, &chunks->input, NULL, values * sizeof(float)) &&
           device_memory_create(memory, &chunks->amax, NULL, sizeof(float)) &&
           device_memory_create(memory, &chunks->scale_inv, NULL, sizeof(float)) && create_workspace(chunks, memory);
}

void chunks_free(struct chunks *chunks) {
    if (chunks->rank == NULL) return;
    const struct device_memory *memory = &chunks->rank->device->memory;
    struct mirrored *buffers[] = {&chunks->input, &chunks->amax, &chunks->scale_inv, &chunks->workspace};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) device_memory_free(memory, buffers[i]);
    rank_memory_free(&chunks->bytes);
    rank_memory_free(&chunks->ready);
    device_memory_close(&chunks->side);
    *chunks = (struct chunks){0};
}

static bool quantize_chunks(const struct chunks *chunks) {
    const struct device_memory *memory = &chunks->rank->device->memory;
    const struct mirrored input = mirrored_part(&chunks->input, 0, chunks->rows * chunks->columns * (int64_t)sizeof(float));
    const quern_quantize_chunks_args args = arguments(chunks);
    return device_memory_enter(memory) && device_memory_upload(memory, &input) &&
           succeeded("quern_quantize_chunks",
                     quern_quantize_chunks(chunks->rank->group, &args, chunks->workspace.device, chunks->workspace.bytes,
                                           memory->stream)) &&
           device_memory_wait(memory) && succeeded("the chunks on the GPU", quern_group_status(chunks->rank->group));
}

static void make_call(void *context) {
    struct chunks *chunks = context;
    const double start = seconds_now();
    chunks->succeeded = quantize_chunks(chunks);
    chunks->seconds = seconds_now() - start;
}

void chunks_begin(struct chunks *chunks, const float *values, int64_t rows) {
    chunks->rows = rows;
    chunks->chunk_rows = rows_of_chunk(rows);
    chunks->ready_value++;
    memcpy(chunks->input.host, values, (size_t)(rows * chunks->columns) * sizeof *values);
    caller_begin(chunks->caller, make_call, chunks);
}

bool chunks_end(struct chunks *chunks) {
    struct exchange_totals *totals = &chunks->rank->totals;
    const double start = seconds_now();
    caller_wait(chunks->caller);
    totals->seconds[WAITS] += seconds_now() - start;
    totals->seconds[CHUNKS] += chunks->seconds;
    totals->bytes[CHUNKS] += (chunks->rank->ranks - 1) * chunks->rows * chunks->columns;
    return chunks->succeeded;
}

bool chunks_take(struct chunks *chunks, int rank, int64_t chunk, struct row_range *rows) {
    const uint32_t *ready = (uint32_t *)chunks->ready.device + rank * chunks_count(chunks) + chunk;
    const int64_t first = chunk * chunks->chunk_rows, left = chunks->rows - first, columns = chunks->columns;
    *rows = (struct row_range){rank * chunks->rows + first, left < chunks->chunk_rows ? left : chunks->chunk_rows};
    const struct mirrored bytes = mirrored_part(&chunks->bytes, rows->first * columns, rows->count * columns);
    const struct device_memory *side = &chunks->side;
    const bool brings_scale = rank == chunks->rank->rank && chunk == 0;
    const double start = seconds_now();
    if (!succeeded("quern_chunk_wait",
                   quern_chunk_wait(chunks->rank->group, ready, 1, chunks->ready_value, 0, side->stream)))
        return false;
    if (!device_memory_wait(side)) return false;
    if (brings_scale && !device_memory_download(side, &chunks->scale_inv)) return false;
    if (!device_memory_download(side, &bytes)) return false;
    chunks->rank->totals.seconds[WAITS] += seconds_now() - start;
    return true;
}

/* ---- to fp32 ---- */

/* The data of a task over some rows. */
struct widening {
    const float *table;
    const uint8_t *bytes;
    float scale_inv, *out;
    int64_t rows, columns;
};

static void widen_rows(void *context, int64_t task) {
    const struct widening *t = context;
    const int64_t first = task * ROWS_PER_TASK, end = first + ROWS_PER_TASK < t->rows ? first + ROWS_PER_TASK : t->rows;
    for (int64_t i = first * t->columns; i < end * t->columns; i++) t->out[i] = t->table[t->bytes[i]] * t->scale_inv;
}

void chunks_widen(const struct chunks *chunks, struct row_range rows, float *out) {
    struct widening t = {.table = chunks->table, .bytes = (const uint8_t *)chunks->bytes.host + rows.first * chunks->columns,
                         .scale_inv = *(const float *)chunks->scale_inv.host, .out = out, .rows = rows.count,
                         .columns = chunks->columns};
    threads_for(chunks->pool, (rows.count + ROWS_PER_TASK - 1) / ROWS_PER_TASK, widen_rows, &t);
}
