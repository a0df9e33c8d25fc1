/*
 * main_grad = main_grad + scale * grad over a list of gradients, in fp32, rounded once.  Included by the accumulation kernels'
 * source in generated/adam/.
 *
 * It moves 10 bytes per 16-bit element, 12 if the same pass zeroes the gradient, for one arithmetic instruction.  A lane takes 8 or
 * 16 consecutive elements, which are one access to a 16-bit array, and issues the loads before the arithmetic.
 */
#ifndef QUERN_DEVICE_GRADIENT_ACCUMULATE_CUH
#define QUERN_DEVICE_GRADIENT_ACCUMULATE_CUH

#include "kernels/cuda/gradient_tile.cuh"

/* Groups of eight elements that a lane has at once. */
enum { GROUPS = VECTOR_BYTES / 16 };

/* The lane's elements from `first` on. */
template <class Grad>
static __device__ __forceinline__ void accumulate(const quern_gradient_batch &batch, const gradient_tile<Grad> &tile,
                                                  uint32_t first, bool by_vectors) {
    typedef share<Grad, GROUPS> grad_share;
    enum { PARTS = grad_share::elements / 8 }; /* of the fp32 array */
    grad_share grad;
    share<f32, GROUPS> sums[PARTS];
    grad.load(tile.grad, first, tile.count, by_vectors);
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        sums[part].load(tile.main_grad, first + 8 * part, tile.count, by_vectors);
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        float x[8];
        packing<Grad, 8>::widen(grad.word, x);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sums[part].word[i] = __float_as_uint(__fmaf_rn(batch.scale, x[i], __uint_as_float(sums[part].word[i])));
        }
        sums[part].store(tile.main_grad, first + 8 * part, tile.count, by_vectors);
        grad.next_group(true);
    }
    if (batch.zero_grads) {
        const grad_share zeros = {};
        zeros.store(tile.grad, first, tile.count, by_vectors);
    }
}

template <class Grad> static __device__ __forceinline__ void gradient_accumulate(const quern_gradient_batch &batch) {
    typedef share<Grad, GROUPS> grad_share;
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.tile_count; number += warps_of_grid()) {
        const gradient_tile<Grad> tile(batch, number);
        const bool aligned = (uintptr_t)tile.grad % grad_share::vector_bytes == 0 &&
                             (uintptr_t)tile.main_grad % share<f32, GROUPS>::vector_bytes == 0;
#pragma unroll 1
        for (uint32_t first = threadIdx.x % 32 * grad_share::elements; first < tile.count; first += 32 * grad_share::elements) {
            accumulate<Grad>(batch, tile, first, aligned && first + grad_share::elements <= tile.count);
        }
    }
}

#endif
