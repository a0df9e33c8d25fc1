/* A quantisation: its list, its plan and its arguments after the checks.  For all of src/quantize. */
#ifndef QUERN_QUANTIZE_CALL_H
#define QUERN_QUANTIZE_CALL_H

#include "kernels/quantize_problem.h"
#include "os/integers.h"
#include "os/sizes.h"
#include "runtime/device.h"
#include "runtime/pieces.h"
#include "runtime/plan_memory.h"

/* Elements of one tensor, and of a list together: no type has more than 4 bytes. */
#define QUERN_QUANTIZE_MAX_COUNT (QUERN_MOST_BYTES / 4)

/* Tiles of a launch on a GPU: a number within a tensor has 32 bits. */
enum { QUERN_QUANTIZE_MAX_TILES = 1 << 30 };

/* What a function does, as bits: finds the amaxes, casts, or only asks about a call that does both. */
enum { QUERN_QUANTIZE_FINDS = 1, QUERN_QUANTIZE_CASTS = 2, QUERN_QUANTIZE_ASKS = 4 };

/* The tables of a plan in the memory of a GPU. */
struct quern_quantize_tables {
    const struct quern_adam_tile *tiles;         /* [tile_count] */
    const struct quern_quantize_slice *slices;
    struct quern_quantize_state *states;
    int64_t tile_count;
};

struct quern_quantize_plan {
    quern_device *device;
    quern_dtype input_dtype, output_dtype;
    struct quern_plan_memory memory;
    struct quern_quantize_tables tables;
    struct quern_pieces pieces;
    int64_t count;
    quern_quantize_tensor tensors[];   /* [count]: the plan's own copy */
};

struct quern_quantize_call {
    quern_device *device;
    int steps;
    quern_quantize_args args;
    const quern_quantize_tensor *tensors;  /* the caller's or the plan's */
    int64_t count;
    struct quern_quantize_state *states;   /* GPU: [count] */
    const struct quern_ready_kernel *amax, *cast;
    CUstream stream;
};

/* The tiles of a tensor on a GPU. */
static inline int64_t quern_quantize_tiles(int64_t count) {
    return quern_larger(quern_divide_up(count, QUERN_ADAM_TILE), 1);
}

#endif
