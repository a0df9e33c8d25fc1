/*
 * The parameters of the quantisation kernels.  Included by the host code of src/quantize/, by the generated C kernels and by the
 * generated CUDA kernels, so that all three agree on the layout; a GPU kernel takes struct quern_quantize_batch by value.
 */
#ifndef QUERN_QUANTIZE_PROBLEM_H
#define QUERN_QUANTIZE_PROBLEM_H

#include "kernels/problem.h"

#ifdef __CUDACC__
#define QUERN_QUANTIZE_INLINE static __device__ __forceinline__
#else
#define QUERN_QUANTIZE_INLINE static inline
#endif

/* ---- matrices: what has a transposed output or is scaled in blocks ---- */

enum { QUERN_QUANTIZE_BLOCK = 32 };    /* elements of a row or a column that share a scale of QUERN_SCALING_MX */

/*
 * A tensor as a matrix.  One of which neither transposed nor blocks are wanted is a single row.  A GPU's tile has whole blocks of
 * rows and columns; if nothing is transposed it is a number of consecutive blocks.
 */
struct quern_quantize_matrix {
    const void *input;
    void *output, *transposed;         /* one of them may be NULL: not wanted */
    uint8_t *block_scales, *transposed_block_scales;  /* in blocks, of output and of transposed */
    int64_t rows, columns;
};

enum { QUERN_QUANTIZE_TILE_ROWS = 32, QUERN_QUANTIZE_TILE_COLUMNS = 64, QUERN_QUANTIZE_TILE_BLOCKS = 64 };

QUERN_QUANTIZE_INLINE int64_t quern_quantize_parts(int64_t count, int64_t of) { return (count + of - 1) / of; }

/* The tiles of a matrix on a GPU; at least one, as of other tensors. */
QUERN_QUANTIZE_INLINE int64_t quern_quantize_matrix_tiles(const struct quern_quantize_matrix *matrix) {
    const int64_t blocks = matrix->rows * quern_quantize_parts(matrix->columns, QUERN_QUANTIZE_BLOCK);
    const int64_t tiles = matrix->transposed ? quern_quantize_parts(matrix->rows, QUERN_QUANTIZE_TILE_ROWS) *
                                                   quern_quantize_parts(matrix->columns, QUERN_QUANTIZE_TILE_COLUMNS)
                                             : quern_quantize_parts(blocks, QUERN_QUANTIZE_TILE_BLOCKS);
    return tiles ? tiles : 1;
}

/* ---- CPU ---- */

/* A CPU takes so many elements of a tensor at a time: they stay in its cache between two passes. */
enum { QUERN_QUANTIZE_CHUNK = 1 << 16 };

/* The problem of a kernel: a tensor, of which it takes elements [first, end).  first is a multiple of 256. */
struct quern_quantize_piece {
    const void *input;
    void *output;                      /* cast only, as all but amax */
    float *amax;                       /* amax: raised to the largest magnitude, possibly by several threads */
    float scale;
    int32_t stochastic;                /* 1: stochastic, 0: nearest */
    uint32_t seed[2];                  /* key of the random numbers */
    uint32_t offset;                   /* word 2 of their counter */
    uint32_t place;                    /* word 3: the tensor's index in the list */
};

/* What a kernel of matrices keeps in the cache: a row of a transposed panel is a cache line. */
enum { QUERN_QUANTIZE_PANEL_ROWS = 64, QUERN_QUANTIZE_PANEL_COLUMNS = 256 };

/* The columns of a CPU's tile, which has the rows of a panel: several panels, if nothing is transposed. */
static inline int64_t quern_quantize_strip(const struct quern_quantize_matrix *matrix) {
    const int64_t panels = matrix->transposed ? 1 : matrix->rows < QUERN_QUANTIZE_PANEL_ROWS ? 64 : 4;
    return panels * QUERN_QUANTIZE_PANEL_COLUMNS;
}

static inline int64_t quern_quantize_strips(const struct quern_quantize_matrix *matrix) {
    return quern_quantize_parts(matrix->rows, QUERN_QUANTIZE_PANEL_ROWS) *
           quern_quantize_parts(matrix->columns, quern_quantize_strip(matrix));
}

/* The problem of a kernel of matrices, which takes tiles [first, end). */
struct quern_quantize_matrix_cast {
    struct quern_quantize_matrix matrix;
    float scale;                       /* without blocks */
    int32_t in_blocks;
    int32_t stochastic;                /* as in a piece, as all below */
    uint32_t seed[2], offset, place;
    int64_t begin;                     /* elements before this matrix, if it is a part of a tensor: for the random numbers */
};

/* ---- GPU ---- */

struct quern_quantize_slice {
    const void *input;
    void *output;
    int64_t count;
};

/*
 * What the warps that share a tensor have found so far.  Zeros before and after each launch: the warp that finishes the tensor
 * stores its amax and resets it.
 */
struct quern_quantize_state {
    uint32_t amax;                     /* the bits of the largest magnitude */
    uint32_t tiles;                    /* tiles that are finished */
};

enum { QUERN_QUANTIZE_BATCH = 1024, QUERN_QUANTIZE_MATRICES = 438 };  /* as many matrices as tensors have the memory of */

/*
 * The parameter of a launch.  Tiles are those of Adam and have the same size, but a tensor without elements has one too, so that
 * its amax and its scale are written.  Matrices have tiles of their own.
 */
struct quern_quantize_batch {
    const struct quern_adam_tile *tiles;        /* of a plan; NULL: the tensors below */
    const struct quern_quantize_slice *slices;  /* of a plan, as the matrices of a kernel of matrices */
    const struct quern_quantize_matrix *matrices_of_plan;
    struct quern_quantize_state *states;        /* [list_count]: amax, and cast with a history */
    float *amax;                                /* [list_count]: written by amax, and by cast with a history */
    float *scale, *scale_inv;                   /* [list_count] each: cast; NULL: not wanted.  With a history it reads scale */
    const float *noop;                          /* NULL: none */
    const uint64_t *offset_pointer;             /* NULL: offset */
    float *history;                             /* [history_length, list_count]; NULL: none */
    int64_t history_length;
    int64_t list_count;                         /* tensors of the whole list */
    float eps;
    int32_t power_of_two;
    int32_t stochastic;
    int32_t in_blocks;                          /* a kernel of matrices; then amax, scale and scale_inv are not used */
    int32_t prepares;                           /* amax: finds the scales by the history, whose rows it moves, and no amax */
    float code_limit;                           /* then: the largest code */
    uint32_t seed[2], offset;                   /* as in a piece */
    uint32_t first_place;                       /* index of tensors[0] in the list */
    uint32_t tensor_count;
    int64_t tile_count;
    union {
        struct quern_quantize_slice tensors[QUERN_QUANTIZE_BATCH];
        struct quern_quantize_matrix matrices[QUERN_QUANTIZE_MATRICES];
    };
    uint32_t first_tile[QUERN_QUANTIZE_BATCH];
};

#endif
