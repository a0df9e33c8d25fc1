/*
 * The cast of each tensor of a list to 8 bits.  Included by the cast kernels' source in generated/quantize/.
 *
 * It moves 3 or 5 bytes per element.  Each warp computes the scale of its tile from the tensor's amax, or from its history; the
 * warp of the first tile stores it.  With a history it also finds the amax, for the history.
 *
 * The tiles are taken from the last to the first, since the last ones are still in the cache if the amax was computed just before.
 */
#ifndef QUERN_DEVICE_QUANTIZE_CAST_CUH
#define QUERN_DEVICE_QUANTIZE_CAST_CUH

#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/quantize_tile.cuh"
#include "kernels/quantize_scale.h"

/* More would need more registers than four blocks have. */
enum { CAST_WORDS = VECTOR_BYTES / 2 };

/* What eight elements need to become codes. */
template <class Out> struct caster {
    float scale;
    bool is_stochastic;
    philox_tile random;
    const uint32_t *seed;

    __device__ __forceinline__ caster(const quern_quantize_batch &batch, const quantize_tile &tile, float scale)
        : scale(scale), is_stochastic(batch.stochastic != 0), random{}, seed(batch.seed) {
        if (is_stochastic) {
            const uint64_t group = (uint64_t)tile.at.number * (QUERN_ADAM_TILE / 8);
            const uint32_t offset = batch.offset_pointer ? (uint32_t)*batch.offset_pointer : batch.offset;
            random = open_philox({{(uint32_t)group, (uint32_t)(group >> 32), offset, tile.place(batch)}}, seed);
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
            narrow<true>(x, all, words.word, word);
        } else {
            narrow<false>(x, all, nullptr, word);
        }
        return all.largest;
    }

private:
    struct magnitudes {
        float smallest, largest, total;

        __device__ __forceinline__ magnitudes(const float *x) : smallest(fabsf(x[0])), largest(fabsf(x[0])), total(fabsf(x[0])) {
#pragma unroll
            for (int i = 1; i < 8; i++) {
                smallest = fminf(smallest, fabsf(x[i])); /* these two skip NaN, but the sum does not */
                largest = fmaxf(largest, fabsf(x[i]));
                total += fabsf(x[i]);
            }
        }

        /* Whether all become normal codes without saturation, as nearly always.  A product grows with its factor. */
        __device__ __forceinline__ bool become_normal(float scale) const {
            return __fmul_rn(smallest, scale) >= __uint_as_float(Out::smallest_normal) &
                   __fmul_rn(largest, scale) <= Out::largest & total == total;
        }
    };

    template <bool STOCHASTIC>
    __device__ __forceinline__ void narrow(float *x, const magnitudes &all, const uint32_t *words, uint32_t *word) const {
        constexpr uint32_t one = 127; /* the scale of a block: tensors have their own */
        const bool is_normal = all.become_normal(scale);
#pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const uint32_t *random = STOCHASTIC ? words + i / 2 : nullptr;
            if (is_normal) {
                word[i / 4] = narrow_to_normal_fp8<Out, STOCHASTIC, false>(x + i, one, random);
            } else {
                word[i / 4] = saturate<STOCHASTIC>(x + i, random);
            }
        }
    }

    /* Four codes of any values. */
    template <bool STOCHASTIC> static __device__ __forceinline__ uint32_t saturate(float *x, const uint32_t *random) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = fabsf(x[i]) > Out::largest ? copysignf(Out::largest, x[i]) : x[i];
        }
        return narrow_to_fp8<Out, STOCHASTIC>(x, random);
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

/* ---- scales ---- */

/* The largest amax of the history.  NaN counts as larger than infinity. */
static __device__ __forceinline__ float largest_of_history(const quern_quantize_batch &batch, uint32_t place) {
    uint32_t largest = 0;
    for (int64_t row = threadIdx.x % 32; row < batch.history_length; row += 32) {
        largest = max(largest, __float_as_uint(batch.history[row * batch.list_count + place]));
    }
    return __uint_as_float(largest_of_warp(largest));
}

template <class Out>
static __device__ __forceinline__ float scale_of_tile(const quern_quantize_batch &batch, const quantize_tile &tile) {
    const uint32_t place = tile.place(batch);
    const float amax = batch.history ? largest_of_history(batch, place) : batch.amax[place];
    const float scale = quern_quantize_scale(amax, Out::largest, batch.eps, batch.power_of_two);
    if (threadIdx.x % 32 == 0 && tile.at.number == 0) {
        if (batch.scale) {
            batch.scale[place] = scale;
        }
        if (batch.scale_inv) {
            batch.scale_inv[place] = 1.0f / scale;
        }
    }
    return scale;
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
            share.begin(batch, tile);
        }
        const caster<Out> caster(batch, tile, scale_of_tile<Out>(batch, tile));
        share.largest = cast_tile<In, Out>(tile, caster, share.largest);
    }
    share.end(batch);
}

#endif
