/*
 * From the sums of squares of all tiles to the norm, the clip coefficient and found_inf: the second half of the global norm.
 *
 * One block reads 8 bytes for every 2,048 gradients.  Each thread adds its own sums, always the same ones and in the same order,
 * and then the threads' totals are added by pairs: the same bits from run to run.
 *
 * Rendered by gen/ from templates/gradient_norm_combine.cu.j2; do not edit.
 */
#include "gradient_norm_finish.h"

enum { THREADS = 1024, AT_ONCE = 8 };

static __device__ __forceinline__ double sum_of_warp(double sum) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    return sum;
}

/* The thread's share of all sums; as many loads at once as it takes to keep a memory busy that only one block asks. */
static __device__ __forceinline__ double sum_of_thread(const double *squares, int64_t count) {
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
adam_gradient_norm_combine(const __grid_constant__ quern_gradient_norm_problem problem) {
    __shared__ double of_warp[THREADS / 32];
    const double mine = sum_of_warp(sum_of_thread(problem.squares, problem.square_count));
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const double all = sum_of_warp(threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : 0.0);
        if (threadIdx.x == 0) {
            quern_gradient_norm_finish(&problem, all);
        }
    }
}
