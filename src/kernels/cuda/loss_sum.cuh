/*
 * The sum or mean of the losses by the last block of a grid of rows to finish, which spares a launch.  Included by row_turns.cuh,
 * cross_entropy_short_rows.cuh, cross_entropy_streamed_rows.cuh and cross_entropy.cuh.
 *
 * One warp adds the losses, in an order that depends on the number of rows only.  More than QUERN_MOST_LOSSES_OF_WARP rows would keep
 * it busy for too long: they have the reduce stage (cross_entropy_stages.cuh).
 */
#ifndef QUERN_DEVICE_LOSS_SUM_CUH
#define QUERN_DEVICE_LOSS_SUM_CUH

#include "kernels/cuda/row_stats.cuh"

/* A lane's share of the losses, with many loads in flight.  They bypass the L1 cache: other multiprocessors have written them. */
static __device__ __forceinline__ double sum_losses_of_lane(const quern_cross_entropy_problem &problem) {
    enum { AT_ONCE = 16 };
    double sum = 0.0;
#pragma unroll 1
    for (int64_t first = threadIdx.x; first < problem.rows; first += 32 * AT_ONCE) {
        float loss[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            loss[i] = first + i * 32 < problem.rows ? __ldcg(problem.row_loss + first + i * 32) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            sum += loss[i];
        }
    }
    return sum;
}

/* What is stored as the loss. */
static __device__ __forceinline__ float reduced_loss(const quern_cross_entropy_problem &problem, double sum) {
    if (!problem.divisor) {
        return (float)sum;
    }
    const double divisor = problem.divisor[0];
    return divisor != 0 ? (float)(sum / divisor) : 0.0f;
}

/*
 * By the first warp of a block that has written the losses of all of its rows.  writers: the blocks of the grid that write losses.
 * The labels stage, or the host, has set the ticket to 0.
 */
static __device__ __forceinline__ void sum_losses_if_last(const quern_cross_entropy_problem &problem, unsigned writers) {
    if (!problem.ticket) {
        return;
    }
    bool is_last = false;
    __syncwarp(); /* all lanes have written their losses */
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(problem.ticket, 1u) == writers - 1;
        __threadfence();
    }
    if (__shfl_sync(0xffffffffu, is_last, 0)) {
        const double sum = sum_of_warp(sum_losses_of_lane(problem));
        if (threadIdx.x == 0) {
            problem.loss[0] = reduced_loss(problem, sum);
        }
    }
}

#endif
