/*
 * The largest magnitude of each tensor of a list.  Included by the amax kernels' source in generated/quantize/.
 *
 * It reads 2 or 4 bytes per element for two instructions, so its speed depends on the number of loads in flight.  Its loads let the
 * elements stay in the L2 cache, from which the cast then reads the last ones: it takes the tiles in the reverse order.
 *
 * With a history there is nothing to find before the cast, and a launch finds the scales instead.
 */
#ifndef QUERN_DEVICE_QUANTIZE_AMAX_CUH
#define QUERN_DEVICE_QUANTIZE_AMAX_CUH

#include "kernels/cuda/quantize_largest.cuh"
#include "kernels/cuda/quantize_tile.cuh"

enum { AMAX_WORDS = 16 };

template <class In> static __device__ __forceinline__ float largest_of_tile(const quantize_tile &tile, float largest) {
    typedef lane_shares<In, AMAX_WORDS> lane;
    const char *input = tile_begin(tile.tensor.input, tile.at.number, In::bytes);
    const bool aligned = (uintptr_t)input % lane::part::vector_bytes == 0;
#pragma unroll 1
    for (uint32_t start = threadIdx.x % 32 * lane::elements; start < tile.count; start += lane::shares * lane::warp_elements) {
        lane x;
        x.load(input, start, tile.count, aligned, true);
#pragma unroll
        for (int i = 0; i < lane::shares; i++) {
#pragma unroll
            for (int group = 0; group < lane::elements / 8; group++) {
                float wide[8];
                packing<In, 8>::widen(x.of[i].word + group * lane::part::group_words, wide);
                largest = largest_of_group(wide, largest);
            }
        }
    }
    return largest;
}

template <class In> static __device__ __forceinline__ void quantize_amax(const quern_quantize_batch &batch) {
    tensor_share share = {};
    if (is_noop(batch)) {
        return;
    }
    if (batch.prepares) {
        prepare_scales(batch);
        return;
    }
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.tile_count; number += warps_of_grid()) {
        const quantize_tile tile = quantize_tile_at(batch, number);
        share.begin(batch, tile.place(batch), [&] { return all_tiles_of(tile.tensor); });
        share.largest = largest_of_tile<In>(tile, share.largest);
    }
    share.end(batch);
}

#endif
