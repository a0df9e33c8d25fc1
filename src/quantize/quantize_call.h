/* A quantisation: its list, its plan and its arguments after the checks.  For all of src/quantize. */
#ifndef QUERN_QUANTIZE_CALL_H
#define QUERN_QUANTIZE_CALL_H

#include <stddef.h>
#include <string.h>

#include "kernels/quantize_problem.h"
#include "os/integers.h"
#include "runtime/device.h"
#include "runtime/list_count.h"
#include "runtime/pieces.h"
#include "runtime/plan_memory.h"

/* What a function does, as bits: finds the amaxes, casts, or only asks about a call that does both. */
enum { QUERN_QUANTIZE_FINDS = 1, QUERN_QUANTIZE_CASTS = 2, QUERN_QUANTIZE_ASKS = 4 };

/* How a list is cast.  Matrices: some tensors are transposed, or all are scaled in blocks; then one kernel casts all of them. */
struct quern_quantize_form {
    bool has_matrices, in_blocks;
};

/* The tables of a plan in the memory of a GPU. */
struct quern_quantize_tables {
    const struct quern_adam_tile *tiles;         /* [tile_count]; in blocks none, as slices and states */
    const struct quern_quantize_slice *slices;
    struct quern_quantize_state *states;
    int64_t tile_count;
    const struct quern_adam_tile *matrix_tiles;  /* [matrix_tile_count]; without matrices none */
    const struct quern_quantize_matrix *matrices;
    int64_t matrix_tile_count;
};

struct quern_quantize_plan {
    quern_device *device;
    quern_dtype input_dtype, output_dtype;
    struct quern_quantize_form form;
    struct quern_plan_memory memory;
    struct quern_quantize_tables tables;
    struct quern_pieces pieces;
    int64_t count;
    quern_quantize_tensor tensors[];   /* [count]: the plan's own copy */
};

/* The caller's tensors or the plan's, `stride` bytes apart.  Those of an older header are shorter. */
struct quern_quantize_list {
    const char *tensors;
    size_t stride;
};

struct quern_quantize_call {
    quern_device *device;
    int steps;
    quern_quantize_args args;
    struct quern_quantize_form form;
    struct quern_quantize_list list;
    int64_t count;                         /* tensors of the list */
    struct quern_quantize_state *states;   /* GPU: [count] */
    const struct quern_ready_kernel *amax, *cast;
    CUstream stream;
};

static inline struct quern_quantize_list quern_quantize_list_of(const quern_quantize_tensor *tensors, size_t stride) {
    return (struct quern_quantize_list){(const char *)tensors, stride};
}

/* The tensor at a place.  What an older header does not have is 0.  Today's has a copy of a constant size, which costs little. */
static inline quern_quantize_tensor quern_quantize_tensor_at(const struct quern_quantize_list *list, int64_t place) {
    quern_quantize_tensor tensor = {0};
    const char *from = list->tensors + (size_t)place * list->stride;
    if (list->stride == sizeof tensor) memcpy(&tensor, from, sizeof tensor);
    else memcpy(&tensor, from, list->stride);
    return tensor;
}

/* Its count alone. */
static inline int64_t quern_quantize_count_at(const struct quern_quantize_list *list, int64_t place) {
    int64_t count;
    memcpy(&count, list->tensors + (size_t)place * list->stride + offsetof(quern_quantize_tensor, count), sizeof count);
    return count;
}

/* The tiles of a tensor on a GPU. */
static inline int64_t quern_quantize_tiles(int64_t count) {
    return quern_larger(quern_divide_up(count, QUERN_LIST_TILE), 1);
}

/* A tensor as the kernels of matrices have it. */
static inline struct quern_quantize_matrix quern_quantize_matrix_of(const quern_quantize_tensor *tensor, bool in_blocks) {
    const bool is_matrix = (in_blocks || tensor->transposed) && tensor->count;
    const int64_t columns = is_matrix ? tensor->columns : tensor->count;
    return (struct quern_quantize_matrix){
        .input = tensor->input,
        .output = tensor->output,
        .transposed = tensor->transposed,
        .block_scales = tensor->block_scales,
        .transposed_block_scales = tensor->transposed_block_scales,
        .rows = columns ? tensor->count / columns : 0,
        .columns = columns,
    };
}

#endif
