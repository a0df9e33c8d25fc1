/*
 * main_grad = main_grad + scale * grad over a list of gradients, in fp32, rounded once, or scale * grad alone.  Included by the
 * accumulation kernels' source in generated/adam/.
 *
 * It moves 10 bytes per 16-bit element with an fp32 sum, 6 if the sum is overwritten, 2 more if the same pass zeroes the gradient,
 * for one arithmetic instruction.  A lane takes 8 or 16 consecutive elements, which are one access to a 16-bit array, and issues
 * the loads before the arithmetic.
 *
 * Whether a sum is overwritten and whether its group has tokens are read once a tile, by all lanes of a warp: they do not diverge.
 */
#ifndef QUERN_DEVICE_GRADIENT_ACCUMULATE_CUH
#define QUERN_DEVICE_GRADIENT_ACCUMULATE_CUH

#include "kernels/cuda/gradient_tile.cuh"

/* Groups of eight elements that a lane has at once. */
enum { GROUPS = VECTOR_BYTES / 16 };

/* -0 in each place of a word: the sum to which x is added without a change, whatever x is. */
template <class T> constexpr uint32_t minus_zero = in_all_places<T> << (8 * T::bytes - 1);

/* What a warp does with a tile. */
template <class Grad, class Main> struct accumulated_tile : gradient_tile<Grad> {
    char *main_grad;
    bool overwrite; /* main_grad is not read */
    bool has_tokens;

    __device__ __forceinline__ accumulated_tile(const quern_gradient_batch &batch, const quern_gradient_slice &slice,
                                                const quern_adam_tile &at)
        : gradient_tile<Grad>(slice.grad, slice.count, at.number) {
        main_grad = tile_begin(slice.main_grad, at.number, Main::bytes);
        overwrite = batch.overwrite_flags ? batch.overwrite_flags[batch.first_place + at.tensor] != 0 : batch.overwrite != 0;
        has_tokens = !batch.token_counts || slice.group < 0 || batch.token_counts[slice.group] > 0;
    }
};

/* The registers of a lane, and the elements that they hold: those of its widest vector. */
template <class Grad, class Main> struct lane_of_sums {
    typedef share<Grad, GROUPS> grad_share;
    typedef share<Main, GROUPS> main_share;
    static constexpr int elements = grad_share::elements > main_share::elements ? grad_share::elements : main_share::elements;
    static constexpr int grads = elements / grad_share::elements, mains = elements / main_share::elements;
};

template <class Sums>
static __device__ __forceinline__ void store_zeros(void *array, uint32_t first, uint32_t count, bool by_vectors) {
    const Sums zeros = {};
    zeros.store(array, first, count, by_vectors);
}

template <class Main, class Sums, int PARTS> static __device__ __forceinline__ void fill_sums(Sums (&sums)[PARTS]) {
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
#pragma unroll
        for (int i = 0; i < Sums::words; i++) {
            sums[part].word[i] = minus_zero<Main>;
        }
    }
}

/* The lane's elements from `first` on. */
template <class Grad, class Main>
static __device__ __forceinline__ void accumulate(const quern_gradient_batch &batch, const accumulated_tile<Grad, Main> &tile,
                                                  uint32_t first, bool by_vectors) {
    typedef lane_of_sums<Grad, Main> lane;
    typename lane::grad_share grad[lane::grads];
    typename lane::main_share sums[lane::mains];
#pragma unroll
    for (int part = 0; part < lane::grads; part++) {
        grad[part].load(tile.grad, first + 8 * part, tile.count, by_vectors);
    }
    if (tile.overwrite) {
        fill_sums<Main>(sums);
    } else {
#pragma unroll
        for (int part = 0; part < lane::mains; part++) {
            sums[part].load(tile.main_grad, first + 8 * part, tile.count, by_vectors);
        }
    }
#pragma unroll
    for (int group = 0; group < lane::elements / 8; group++) {
        typename lane::grad_share &from = grad[group % lane::grads];
        typename lane::main_share &to = sums[group % lane::mains];
        float x[8], sum[8];
        packing<Grad, 8>::widen(from.word, x);
        packing<Main, 8>::widen(to.word, sum);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sum[i] = __fmaf_rn(batch.scale, x[i], sum[i]);
        }
        packing<Main, 8>::nearest(sum, to.word);
        from.next_group(true);
        to.next_group();
    }
#pragma unroll
    for (int part = 0; part < lane::mains; part++) {
        sums[part].store(tile.main_grad, first + 8 * part, tile.count, by_vectors);
    }
    if (batch.zero_grads) {
#pragma unroll
        for (int part = 0; part < lane::grads; part++) {
            store_zeros<typename lane::grad_share>(tile.grad, first + 8 * part, tile.count, by_vectors);
        }
    }
}

template <class Grad, class Main>
static __device__ __forceinline__ void accumulate_tile(const quern_gradient_batch &batch,
                                                       const accumulated_tile<Grad, Main> &tile) {
    typedef lane_of_sums<Grad, Main> lane;
    const bool aligned = (uintptr_t)tile.grad % lane::grad_share::vector_bytes == 0 &&
                         (uintptr_t)tile.main_grad % lane::main_share::vector_bytes == 0;
#pragma unroll 1
    for (uint32_t first = threadIdx.x % 32 * lane::elements; first < tile.count; first += 32 * lane::elements) {
        accumulate<Grad, Main>(batch, tile, first, aligned && first + lane::elements <= tile.count);
    }
}

/* A group without tokens has no gradient: its sum is zero from the first micro-batch of a step on. */
template <class Grad, class Main> static __device__ __forceinline__ void clear_tile(const accumulated_tile<Grad, Main> &tile) {
    typedef typename lane_of_sums<Grad, Main>::main_share main_share;
    const bool aligned = (uintptr_t)tile.main_grad % main_share::vector_bytes == 0;
#pragma unroll 1
    for (uint32_t first = threadIdx.x % 32 * main_share::elements; first < tile.count; first += 32 * main_share::elements) {
        store_zeros<main_share>(tile.main_grad, first, tile.count, aligned && first + main_share::elements <= tile.count);
    }
}

template <class Grad, class Main> static __device__ __forceinline__ void gradient_accumulate(const quern_gradient_batch &batch) {
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.tile_count; number += warps_of_grid()) {
        const quern_adam_tile at = gradient_tile_at(batch, number);
        const accumulated_tile<Grad, Main> tile(batch, batch.tiles ? batch.sums[at.tensor] : batch.gradients[at.tensor], at);
        if (tile.has_tokens) {
            accumulate_tile<Grad, Main>(batch, tile);
        } else if (tile.overwrite) {
            clear_tile<Grad, Main>(tile);
        }
    }
}

#endif
