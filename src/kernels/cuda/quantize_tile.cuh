/* The tiles of a quantisation, and the loads of a lane.  Included by quantize_amax.cuh and quantize_cast.cuh. */
#ifndef QUERN_DEVICE_QUANTIZE_TILE_CUH
#define QUERN_DEVICE_QUANTIZE_TILE_CUH

#include "kernels/cuda/share.cuh"
#include "kernels/cuda/tiles.cuh"
#include "kernels/quantize_problem.h"

/* Groups of eight elements that a lane has at once. */
enum { GROUPS = VECTOR_BYTES / 16 };

/* All tiles of a tensor: one without elements has one too. */
static __device__ __forceinline__ uint32_t all_tiles_of(const quern_quantize_slice &tensor) {
    const int64_t whole = (tensor.count + QUERN_LIST_TILE - 1) / QUERN_LIST_TILE;
    return whole ? (uint32_t)whole : 1u;
}

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

#endif
