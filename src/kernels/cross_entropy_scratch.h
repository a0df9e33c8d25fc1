/*
 * Scratch of a CPU worker: what the forward pass of cross-entropy keeps of a row for its gradient pass, and how many bytes it has.
 * Used by src/cross_entropy/cross_entropy_run.c, which sets the memory aside, and by the kernels in src/kernels/cpu.
 */
#ifndef QUERN_CROSS_ENTROPY_SCRATCH_H
#define QUERN_CROSS_ENTROPY_SCRATCH_H

#include "kernels/problem.h"

/* What is kept of a piece of a row beside its exponentials. */
struct quern_kept_piece {
    double origin;   /* of the exponentials */
    uint64_t far;    /* a bit for each group of columns: one of them is beyond the softcap's polynomials or, without a softcap, may
                        have no exponential */
};

/*
 * Scratch of one CPU worker, for one row: the exponentials as fp32, and a struct for each piece.  A piece is a block of columns
 * without the label's column.  The label splits its block into two pieces, and padding each of them may waste up to half of a
 * part's 64 extra columns.
 */
enum { QUERN_CROSS_ENTROPY_BLOCK = 4096, QUERN_CPU_SCRATCH_PART = QUERN_CPU_PART_COLUMNS + 64 };

/* The most pieces of a part. */
enum { QUERN_CPU_PART_PIECES = QUERN_CPU_PART_COLUMNS / QUERN_CROSS_ENTROPY_BLOCK + 1 };

/* The end of the piece that begins at a column, and the start of the next.  apart: the label's column; -1: pieces are blocks. */
static inline int64_t quern_piece_end(int64_t column, int64_t vocab, int64_t apart) {
    int64_t end = (column / QUERN_CROSS_ENTROPY_BLOCK + 1) * QUERN_CROSS_ENTROPY_BLOCK;
    if (end > vocab) end = vocab;
    return column <= apart && apart < end ? apart : end;
}

static inline int64_t quern_piece_next(int64_t end, int64_t apart) { return end == apart ? end + 1 : end; }

static inline int64_t quern_cross_entropy_scratch_parts(int64_t vocab) {
    return (vocab + QUERN_CPU_PART_COLUMNS - 1) / QUERN_CPU_PART_COLUMNS;
}

static inline int64_t quern_cross_entropy_scratch_columns(int64_t vocab) {
    return (vocab + 63) / 64 * 64 + 64 * quern_cross_entropy_scratch_parts(vocab);
}

static inline int64_t quern_cross_entropy_scratch_bytes(int64_t vocab) {
    int64_t pieces = vocab / QUERN_CROSS_ENTROPY_BLOCK + 1 + quern_cross_entropy_scratch_parts(vocab);
    int64_t bytes = 4 * quern_cross_entropy_scratch_columns(vocab) + pieces * (int64_t)sizeof(struct quern_kept_piece);
    return (bytes + 63) / 64 * 64;
}

#endif
