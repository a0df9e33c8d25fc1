/*
 * The sum of the squares of each tile of a list of gradients: the first half of their global norm.  Included by the norm kernels'
 * source in generated/adam/.
 *
 * It reads 2 or 4 bytes per element for almost no arithmetic, so its speed depends on the number of loads in flight: a lane issues
 * several before it uses the first.  The elements of a tile are always added in the same order, by any warp: the bits are the same
 * from run to run.
 *
 * Eight squares are summed in fp32, where they lose almost nothing.  These sums are added in double, which no list of fp32 values
 * can overflow.  Only if fp32 would overflow, or lose small squares, are the squares themselves computed in double.
 */
#ifndef QUERN_DEVICE_GRADIENT_NORM_CUH
#define QUERN_DEVICE_GRADIENT_NORM_CUH

#include "kernels/cuda/gradient_tile.cuh"

/* Groups of eight elements that a lane has at once. */
enum { GROUPS = VECTOR_BYTES / 16 };

/* The sum for eight values; it is infinite or NaN if and only if one of them is. */
static __device__ __forceinline__ double sum_of_squares(const float *x) {
    float sum[4], largest = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] = __fmaf_rn(x[i], x[i], __fmul_rn(x[i + 4], x[i + 4]));
        largest = fmaxf(largest, fmaxf(fabsf(x[i]), fabsf(x[i + 4]))); /* skips NaN, but the sum does not */
    }
    const float total = __fadd_rn(__fadd_rn(sum[0], sum[1]), __fadd_rn(sum[2], sum[3]));
    if (largest < 0x1p60f && (largest == 0.0f || !(total < 0x1p-90f))) {
        return (double)total;
    }
    double exact = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) { /* rare */
        exact += (double)x[i] * (double)x[i];
    }
    return exact;
}

/* A plan of Adam has the gradients among its other arrays. */
template <class Grad>
static __device__ __forceinline__ gradient_tile<Grad> norm_tile(const quern_gradient_batch &batch, int64_t number) {
    const quern_adam_tile at = gradient_tile_at(batch, number);
    if (batch.tiles) {
        return {batch.slices[at.tensor].grad, batch.slices[at.tensor].count, at.number};
    }
    return {batch.gradients[at.tensor].grad, batch.gradients[at.tensor].count, at.number};
}

template <class Grad> static __device__ __forceinline__ double sum_of_tile(const gradient_tile<Grad> &tile) {
    typedef share<Grad, GROUPS> grad_share;
    enum { AT_ONCE = 4, WARP_ELEMENTS = 32 * grad_share::elements };
    const bool aligned = (uintptr_t)tile.grad % grad_share::vector_bytes == 0;
    double sum = 0.0;
#pragma unroll 1
    for (uint32_t start = threadIdx.x % 32 * grad_share::elements; start < tile.count; start += AT_ONCE * WARP_ELEMENTS) {
        grad_share grad[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const uint32_t first = start + i * WARP_ELEMENTS;
            grad[i].load(tile.grad, first, tile.count, aligned && first + grad_share::elements <= tile.count);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
#pragma unroll
            for (int group = 0; group < grad_share::elements / 8; group++) {
                float x[8];
                packing<Grad, 8>::widen(grad[i].word, x);
                sum += sum_of_squares(x);
                grad[i].next_group(true);
            }
        }
    }
    return sum;
}

template <class Grad> static __device__ __forceinline__ void gradient_norm(const quern_gradient_batch &batch) {
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.tile_count; number += warps_of_grid()) {
        double sum = sum_of_tile<Grad>(norm_tile<Grad>(batch, number));
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(~0u, sum, distance);
        }
        if (threadIdx.x % 32 == 0) {
            batch.squares[batch.first_square + number] = sum;
        }
    }
}

#endif
