/*
 * The largest magnitude of a tensor that several warps share, and its scale.  Included by quantize_amax.cuh, quantize_cast.cuh and
 * quantize_matrix.cuh.
 *
 * The largest of a set does not depend on the order: the bits are the same from run to run.
 */
#ifndef QUERN_DEVICE_QUANTIZE_LARGEST_CUH
#define QUERN_DEVICE_QUANTIZE_LARGEST_CUH

#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/tiles.cuh"
#include "kernels/quantize_problem.h"
#include "kernels/quantize_scale.h"

/* An engine sets the word to end the launch before it writes anything. */
static __device__ __forceinline__ bool is_noop(const quern_quantize_batch &batch) { return batch.noop && *batch.noop != 0.0f; }

/* The larger of `sofar` and eight magnitudes; skips NaN. */
static __device__ __forceinline__ float largest_of_group(const float *x, float sofar) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sofar = fmaxf(sofar, fabsf(x[i]));
    }
    return sofar;
}

/* The largest over a warp; as bits, magnitudes have the same order. */
static __device__ __forceinline__ uint32_t largest_of_warp(uint32_t largest) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        largest = max(largest, __shfl_xor_sync(~0u, largest, distance));
    }
    return largest;
}

/*
 * What a warp has found in consecutive tiles of one tensor.  It is handed over when the warp comes to another tensor, so that a
 * large tensor has an atomic operation for each warp and not for each tile.  The last of the tensor's warps stores its amax, also
 * into the history, which has room for it.
 */
struct tensor_share {
    uint32_t place, all_tiles;
    uint32_t tiles; /* of this warp; 0: no tensor yet */
    float largest;

    /* By all lanes, before they find anything in a tile of the tensor at this place of the list.  Its tiles are counted once. */
    template <class COUNT>
    __device__ __forceinline__ void begin(const quern_quantize_batch &batch, uint32_t at, const COUNT &count_tiles) {
        if (!tiles || at != place) {
            end(batch);
            *this = {at, count_tiles(), 0, 0.0f};
        }
        tiles++;
    }

    /* By all lanes. */
    __device__ __forceinline__ void end(const quern_quantize_batch &batch) const {
        const uint32_t amax = largest_of_warp(__float_as_uint(largest));
        if (tiles && threadIdx.x % 32 == 0) {
            hand_over(batch, amax);
        }
    }

    __device__ __forceinline__ void hand_over(const quern_quantize_batch &batch, uint32_t amax) const {
        if (tiles != all_tiles) {
            quern_quantize_state *const state = batch.states + place;
            atomicMax(&state->amax, amax);
            if (add_acquire_release_device(&state->tiles, tiles) + tiles != all_tiles) {
                return;
            }
            amax = load_relaxed_device(&state->amax);
            state->amax = 0;
            state->tiles = 0;
        }
        if (batch.history) {
            batch.history[place] = __uint_as_float(amax);
        }
        batch.amax[place] = __uint_as_float(amax);
    }
};

/* ---- scales ---- */

/* By one lane. */
static __device__ __forceinline__ void store_scale(const quern_quantize_batch &batch, uint32_t place, float scale) {
    if (batch.scale) {
        batch.scale[place] = scale;
    }
    if (batch.scale_inv) {
        batch.scale_inv[place] = 1.0f / scale;
    }
}

/* With a history the launch before has stored it. */
template <class Out>
static __device__ __forceinline__ float scale_of_tensor(const quern_quantize_batch &batch, uint32_t place, bool stores) {
    if (batch.history) {
        return batch.scale[place];
    }
    const float scale = quern_quantize_scale(batch.amax[place], Out::largest, batch.eps, batch.power_of_two);
    if (threadIdx.x % 32 == 0 && stores) {
        store_scale(batch, place, scale);
    }
    return scale;
}

/* ---- the history, by a launch before the cast, so that it is read once a tensor ---- */

enum { HISTORY_ROWS = 4 }; /* of a lane at once */

/*
 * The largest amax of a tensor's history that can be used; 0: there is none.  Each row moves to the next one, and the last one is
 * forgotten.  The rows are taken from the last to the first: all that are overwritten have been read.
 */
static __device__ __forceinline__ float shift_history(const quern_quantize_batch &batch, uint32_t place) {
    const int64_t length = batch.history_length, step = 32 * HISTORY_ROWS;
    float *const history = batch.history + place;
    uint32_t largest = 0;
#pragma unroll 1
    for (int64_t first = (length - 1) / step * step; first >= 0; first -= step) {
        float amax[HISTORY_ROWS];
#pragma unroll
        for (int i = 0; i < HISTORY_ROWS; i++) {
            const int64_t row = first + 32 * i + threadIdx.x % 32;
            amax[i] = row < length ? history[row * batch.list_count] : 0.0f;
            largest = max(largest, quern_quantize_usable(__float_as_uint(amax[i])));
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < HISTORY_ROWS; i++) {
            const int64_t next = first + 32 * i + threadIdx.x % 32 + 1;
            if (next < length) {
                history[next * batch.list_count] = amax[i];
            }
        }
    }
    return __uint_as_float(largest_of_warp(largest));
}

/* A warp for each tensor of the list. */
static __device__ __forceinline__ void prepare_scales(const quern_quantize_batch &batch) {
#pragma unroll 1
    for (int64_t place = first_tile_of_warp(); place < batch.list_count; place += warps_of_grid()) {
        const float amax = shift_history(batch, (uint32_t)place);
        if (threadIdx.x % 32 == 0) {
            const float scale = amax == 0.0f ? quern_quantize_kept_scale(batch.scale[place])
                                             : quern_quantize_scale(amax, batch.code_limit, batch.eps, batch.power_of_two);
            store_scale(batch, (uint32_t)place, scale);
        }
    }
}

#endif
