/*
 * Computes the norm, the clip coefficient and found_inf from the sums of squares of all tiles: the second half of the global norm.
 * Included by the combining kernel's source in generated/adam/.
 *
 * It reads 8 bytes for every 2,048 gradients.  Each thread adds its sums in a fixed order, and then the threads' totals are added
 * pairwise: the bits are the same from run to run.
 *
 * A single block cannot saturate the memory and would take a tenth of the norm's time for a large model.  So several blocks sum a
 * part each and store its total.  A launch of one block sums all inputs and computes the norm.
 */
#ifndef QUERN_DEVICE_GRADIENT_NORM_COMBINE_CUH
#define QUERN_DEVICE_GRADIENT_NORM_COMBINE_CUH

#include "kernels/gradient_norm_finish.h"

static __device__ __forceinline__ double sum_of_warp(double sum) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    return sum;
}

/* The thread's share of the sums; the loads of a part are issued together. */
template <int THREADS> static __device__ __forceinline__ double sum_of_thread(const double *squares, int64_t count) {
    enum { AT_ONCE = 8 };
    double sum[AT_ONCE] = {};
#pragma unroll 1
    for (int64_t first = threadIdx.x; first < count; first += AT_ONCE * THREADS) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t place = first + i * THREADS;
            sum[i] += place < count ? squares[place] : 0.0;
        }
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* The total is valid in thread 0. */
template <int THREADS> static __device__ __forceinline__ double sum_of_block(const double *squares, int64_t count) {
    __shared__ double of_warp[THREADS / 32];
    const double mine = sum_of_warp(sum_of_thread<THREADS>(squares, count));
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    return threadIdx.x < 32 ? sum_of_warp(threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : 0.0) : 0.0;
}

template <int THREADS>
static __device__ __forceinline__ void gradient_norm_combine(const quern_gradient_norm_problem &problem, double *totals) {
    const bool alone = gridDim.x == 1;
    const int64_t part = alone ? problem.square_count : QUERN_GRADIENT_NORM_PART;
    const int64_t first = blockIdx.x * part, rest = problem.square_count - first;
    const double total = sum_of_block<THREADS>(problem.squares + first, rest < part ? rest : part);
    if (threadIdx.x == 0) {
        if (alone) {
            quern_gradient_norm_finish(&problem, total);
        } else {
            totals[blockIdx.x] = total;
        }
    }
}

#endif
