/*
 * The largest magnitude of a tensor that several warps share, and its scale.  Included by quantize_amax.cuh, quantize_cast.cuh and
 * quantize_matrix.cuh.
 *
 * The largest of a set does not depend on the order: the bits are the same from run to run.
 */
#ifndef QUERN_DEVICE_QUANTIZE_LARGEST_CUH
#define QUERN_DEVICE_QUANTIZE_LARGEST_CUH

#include "kernels/cuda/device_memory.cuh"
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

/* By one lane. */
static __device__ __forceinline__ void put_into_history(const quern_quantize_batch &batch, uint32_t place, float amax) {
    for (int64_t row = batch.history_length - 1; row > 0; row--) {
        batch.history[row * batch.list_count + place] = batch.history[(row - 1) * batch.list_count + place];
    }
    batch.history[place] = amax;
}

/*
 * What a warp has found in consecutive tiles of one tensor.  It is handed over when the warp comes to another tensor, so that a
 * large tensor has an atomic operation for each warp and not for each tile.  The last of the tensor's warps stores its amax; by
 * then no warp reads that tensor's part of the history any more.
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
        const uint32_t amax = largest_of_warp(__float_as_uint(largest)); /* also: all lanes have read the history */
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
            put_into_history(batch, place, __uint_as_float(amax));
        }
        batch.amax[place] = __uint_as_float(amax);
    }
};

/* ---- scales ---- */

/* The largest amax of the history that can be used; 0: there is none. */
static __device__ __forceinline__ float largest_of_history(const quern_quantize_batch &batch, uint32_t place) {
    uint32_t largest = 0;
    for (int64_t row = threadIdx.x % 32; row < batch.history_length; row += 32) {
        largest = max(largest, quern_quantize_usable(__float_as_uint(batch.history[row * batch.list_count + place])));
    }
    return __uint_as_float(largest_of_warp(largest));
}

template <class Out>
static __device__ __forceinline__ float scale_of_tensor(const quern_quantize_batch &batch, uint32_t place, bool stores) {
    const float amax = batch.history ? largest_of_history(batch, place) : batch.amax[place];
    const bool keeps = batch.history && amax == 0.0f;
    const float scale = keeps ? quern_quantize_kept_scale(batch.scale[place])
                              : quern_quantize_scale(amax, Out::largest, batch.eps, batch.power_of_two);
    if (threadIdx.x % 32 == 0 && stores) {
        if (batch.scale) {
            batch.scale[place] = scale;
        }
        if (batch.scale_inv) {
            batch.scale_inv[place] = 1.0f / scale;
        }
    }
    return scale;
}

#endif
