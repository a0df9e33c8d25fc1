/*
 * Casts and sends chunks in blocks with scales of their own, on a thread of a CPU.  Called by chunks_work.c.
 *
 * A step is some whole rows or, of long rows, a part of one.  So its codes and its scales are both contiguous.
 */
#include "ranks/chunks/chunks.h"

#include "kernels/quantize_problem.h"
#include "os/integers.h"

enum { STEP = 1 << 13 /* elements, unless a row has fewer */, PIECE = 8 /* steps of a task */ };

/* How a chunk is divided into steps. */
struct steps {
    int64_t rows, columns;  /* of a step */
    int64_t parts;          /* steps of a row; 1 if a step has whole ones */
};

static struct steps steps_of(const struct quern_chunks_call *call) {
    const int64_t columns = call->args.columns;
    if (columns > STEP) return (struct steps){.rows = 1, .columns = STEP, .parts = quern_divide_up(columns, STEP)};
    return (struct steps){.rows = STEP / quern_larger(columns, 1), .columns = columns, .parts = 1};
}

static int64_t chunk_rows_of(const struct quern_chunks_call *call) {
    return quern_smaller(call->args.chunk_rows, call->args.rows);
}

int64_t quern_chunks_pieces_of_blocks(const struct quern_chunks_call *call) {
    const struct steps steps = steps_of(call);
    return quern_larger(quern_divide_up(quern_divide_up(chunk_rows_of(call), steps.rows) * steps.parts, PIECE), 1);
}

/* Rows of the tensor from the first one and column on. */
struct region {
    int64_t row, rows, column, columns;
};

/* That of a step; the last ones of a chunk may be without rows. */
static struct region region_of(const struct quern_chunks_call *call, const struct steps *steps, int chunk, int64_t step) {
    const int64_t first = chunk * chunk_rows_of(call), end = quern_smaller(first + chunk_rows_of(call), call->args.rows);
    struct region region = {.row = first + step / steps->parts * steps->rows, .column = step % steps->parts * steps->columns};
    region.rows = quern_smaller(end - region.row, steps->rows);
    region.columns = quern_smaller(call->args.columns - region.column, steps->columns);
    return region;
}

/* Into this rank's output, and from there, while they are in the cache, to the others. */
static void cast_region(const struct quern_chunks_work *work, const struct region *region) {
    const struct quern_chunks_call *call = work->call;
    const quern_quantize_chunks_args *args = &call->args;
    char *output = work->output[call->place], *scales = work->scales[call->place];
    const int64_t first = region->row * args->columns + region->column;
    const int64_t block = region->row * call->across + region->column / QUERN_QUANTIZE_BLOCK;
    const int64_t blocks = region->rows * quern_divide_up(region->columns, QUERN_QUANTIZE_BLOCK);
    const struct quern_quantize_matrix_cast cast = {
        .matrix = {.input = (const char *)args->input + first * (int64_t)quern_dtype_bytes(args->input_dtype),
                   .output = output + first, .block_scales = (uint8_t *)scales + block, .rows = region->rows,
                   .columns = region->columns},
        .in_blocks = true,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = work->offset,
        .begin = first,
    };
    call->cast->kernel->cpu.any(&cast, 0, quern_quantize_strips(&cast.matrix));
    quern_chunks_copy(work, work->output, output + first, first, first + region->rows * region->columns);
    quern_chunks_copy(work, work->scales, scales + block, block, block + blocks);
}

void quern_chunks_cast_blocks(const struct quern_chunks_work *work, int chunk, int64_t piece) {
    const struct steps steps = steps_of(work->call);
    for (int64_t step = piece * PIECE; step < (piece + 1) * PIECE; step++) {
        const struct region region = region_of(work->call, &steps, chunk, step);
        if (region.rows <= 0 || region.columns <= 0) return;
        cast_region(work, &region);
    }
}
