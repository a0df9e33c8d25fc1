/*
 * The tiles of a quantisation, and the largest magnitude of a tensor that several warps share.  Included by quantize_amax.cuh and
 * quantize_cast.cuh.
 *
 * The largest of a set does not depend on the order: the bits are the same from run to run.
 */
#ifndef QUERN_DEVICE_QUANTIZE_TILE_CUH
#define QUERN_DEVICE_QUANTIZE_TILE_CUH

#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/share.cuh"
#include "kernels/cuda/tiles.cuh"
#include "kernels/quantize_problem.h"

/* Groups of eight elements that a lane has at once. */
enum { GROUPS = VECTOR_BYTES / 16 };

struct quantize_tile {
    quern_quantize_slice tensor;
    quern_adam_tile at;
    uint32_t count; /* elements that exist */

    __device__ __forceinline__ uint32_t place(const quern_quantize_batch &batch) const { return batch.first_place + at.tensor; }
};

static __device__ __forceinline__ quantize_tile quantize_tile_at(const quern_quantize_batch &batch, int64_t number) {
    const quern_adam_tile at =
        batch.tiles ? batch.tiles[number] : find_tile(batch.first_tile, batch.tensor_count, (uint32_t)number);
    const quern_quantize_slice tensor = batch.tiles ? batch.slices[at.tensor] : batch.tensors[at.tensor];
    return {tensor, at, tile_elements(tensor.count, at.number)};
}

/* An engine sets the word to end the launch before it writes anything. */
static __device__ __forceinline__ bool is_noop(const quern_quantize_batch &batch) { return batch.noop && *batch.noop != 0.0f; }

/* The elements of a lane: shares that are 32 shares apart.  The loads of so many words are issued together. */
template <class T, int WORDS> struct lane_shares {
    typedef share<T, GROUPS> part;
    enum { shares = WORDS / part::words, elements = part::elements, warp_elements = 32 * part::elements };
    part of[shares];

    /* kept: what is read again soon, by the cast. */
    __device__ __forceinline__ void load(const char *base, uint32_t start, uint32_t count, bool aligned, bool kept) {
#pragma unroll
        for (int i = 0; i < shares; i++) {
            const uint32_t first = start + i * warp_elements;
            const bool by_vectors = aligned && first + elements <= count;
            if (kept && by_vectors) {
#pragma unroll
                for (int word = 0; word < part::words; word += part::vector_words) {
                    load_vector<part::vector_bytes>(base + first * T::bytes + 4 * word, of[i].word + word);
                }
            } else {
                of[i].load(base, first, count, by_vectors);
            }
        }
    }
};

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

    static __device__ __forceinline__ tensor_share of(const quern_quantize_batch &batch, const quantize_tile &tile) {
        const int64_t whole = (tile.tensor.count + QUERN_ADAM_TILE - 1) / QUERN_ADAM_TILE;
        return {tile.place(batch), whole ? (uint32_t)whole : 1u, 0, 0.0f};
    }

    /* By all lanes, before they find anything in the tile. */
    __device__ __forceinline__ void begin(const quern_quantize_batch &batch, const quantize_tile &tile) {
        if (!tiles || tile.place(batch) != place) {
            end(batch);
            *this = of(batch, tile);
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

#endif
