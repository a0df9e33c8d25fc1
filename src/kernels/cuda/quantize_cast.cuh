/*
 * The cast of each tensor of a list to 8 bits.  Included by the cast kernels' source in generated/quantize/ and by
 * chunks_cast.cuh.
 *
 * It moves 3 or 5 bytes per element.  Each warp computes the scale of its tile from the tensor's amax, and the warp of the first
 * tile stores it.  With a history the scale is there, and the cast finds the amax, for the history.
 *
 * The tiles are taken from the last to the first, since the last ones are still in the cache if the amax was computed just before.
 */
#ifndef QUERN_DEVICE_QUANTIZE_CAST_CUH
#define QUERN_DEVICE_QUANTIZE_CAST_CUH

#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/quantize_codes.cuh"
#include "kernels/cuda/quantize_largest.cuh"
#include "kernels/cuda/quantize_tile.cuh"

/* More would need more registers than four blocks have. */
enum { CAST_WORDS = VECTOR_BYTES / 2 };

/* What eight elements need to become codes. */
template <class Out> struct caster {
    float scale;
    bool is_stochastic;
    philox_tile random;
    const uint32_t *seed;

    /* Of the tile with this number, of the tensor at this place of a list.  BATCH is the problem of a cast. */
    template <class BATCH>
    __device__ __forceinline__ caster(const BATCH &batch, uint32_t number, uint32_t place, float scale)
        : scale(scale), is_stochastic(batch.stochastic != 0), random{}, seed(batch.seed) {
        if (is_stochastic) {
            const uint64_t group = (uint64_t)number * (QUERN_LIST_TILE / 8);
            const uint32_t offset = batch.offset_pointer ? (uint32_t)*batch.offset_pointer : batch.offset;
            random = open_philox({{(uint32_t)group, (uint32_t)(group >> 32), offset, place}}, seed);
        }
    }

    /* `group` counts from the beginning of the tile.  Returns the largest magnitude. */
    __device__ __forceinline__ float cast(float *x, uint32_t group, uint32_t *word) const {
        const magnitudes all(x);
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(x, i, multiply(pair_of(x, i), twice(scale)));
        }
        if (is_stochastic) {
            const philox_words words = philox4x32(random, group, seed);
            code_eight<Out, true>(x, all.template become_normal<Out>(scale), words.word, word);
        } else {
            code_eight<Out, false>(x, all.template become_normal<Out>(scale), nullptr, word);
        }
        return all.largest;
    }
};

/* Returns the larger of `largest` and the tile's magnitudes. */
template <class In, class Out>
static __device__ __forceinline__ float cast_tile(const quantize_tile &tile, const caster<Out> &caster, float largest) {
    typedef lane_shares<In, CAST_WORDS> lane;
    typedef share<Out, lane::elements / 8> out_share;
    const char *input = tile_begin(tile.tensor.input, tile.at.number, In::bytes);
    char *output = tile_begin(tile.tensor.output, tile.at.number, 1);
    const bool aligned =
        (uintptr_t)input % lane::part::vector_bytes == 0 && (uintptr_t)output % out_share::vector_bytes == 0;
#pragma unroll 1
    for (uint32_t start = threadIdx.x % 32 * lane::elements; start < tile.count; start += lane::shares * lane::warp_elements) {
        lane x;
        x.load(input, start, tile.count, aligned, false);
#pragma unroll
        for (int i = 0; i < lane::shares; i++) {
            const uint32_t first = start + i * lane::warp_elements;
            out_share narrow;
#pragma unroll
            for (int group = 0; group < lane::elements / 8; group++) {
                float wide[8];
                packing<In, 8>::widen(x.of[i].word + group * lane::part::group_words, wide);
                largest = fmaxf(largest, caster.cast(wide, first / 8 + group, narrow.word + 2 * group));
            }
            narrow.store(output, first, tile.count, aligned && first + lane::elements <= tile.count);
        }
    }
    return largest;
}

template <class In, class Out> static __device__ __forceinline__ void quantize_cast(const quern_quantize_batch &batch) {
    tensor_share share = {};
    if (is_noop(batch)) {
        return;
    }
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.tile_count; number += warps_of_grid()) {
        const quantize_tile tile = quantize_tile_at(batch, batch.tile_count - 1 - number);
        if (batch.history) {
            share.begin(batch, tile.place(batch), [&] { return all_tiles_of(tile.tensor); });
        }
        const float scale = scale_of_tensor<Out>(batch, tile.place(batch), tile.at.number == 0);
        const caster<Out> caster(batch, tile.at.number, tile.place(batch), scale);
        share.largest = cast_tile<In, Out>(tile, caster, share.largest);
    }
    share.end(batch);
}

#endif
