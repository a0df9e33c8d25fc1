/*
 * The parameters of the quantisation kernels.  Included by the host code of src/quantize/, by the generated C kernels and by the
 * generated CUDA kernels, so that all three agree on the layout; a GPU kernel takes struct quern_quantize_batch by value.
 */
#ifndef QUERN_QUANTIZE_PROBLEM_H
#define QUERN_QUANTIZE_PROBLEM_H

#include "kernels/problem.h"

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

enum { QUERN_QUANTIZE_BATCH = 1024 };

/*
 * The parameter of a launch.  Tiles are those of Adam and have the same size, but a tensor without elements has one too, so that
 * its amax and its scale are written.
 */
struct quern_quantize_batch {
    const struct quern_adam_tile *tiles;        /* of a plan; NULL: the tensors below */
    const struct quern_quantize_slice *slices;  /* of a plan */
    struct quern_quantize_state *states;        /* [list_count]: amax, and cast with a history */
    float *amax;                                /* [list_count]: written by amax, and by cast with a history */
    float *scale, *scale_inv;                   /* [list_count] each: cast; NULL: not wanted */
    const float *noop;                          /* NULL: none */
    const uint64_t *offset_pointer;             /* NULL: offset */
    float *history;                             /* cast: [history_length, list_count]; NULL: none */
    int64_t history_length;
    int64_t list_count;                         /* tensors of the whole list */
    float eps;
    int32_t power_of_two;
    int32_t stochastic;
    uint32_t seed[2], offset;                   /* as in a piece */
    uint32_t first_place;                       /* index of tensors[0] in the list */
    uint32_t tensor_count;
    int64_t tile_count;
    struct quern_quantize_slice tensors[QUERN_QUANTIZE_BATCH];
    uint32_t first_tile[QUERN_QUANTIZE_BATCH];
};

#endif
