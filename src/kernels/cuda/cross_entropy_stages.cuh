/*
 * The stages of a cross-entropy that touch only stats, labels and losses, a thousandth of the traffic.  Included by the stages'
 * source in generated/cross_entropy/.
 *
 *   cross_entropy_combine  merges the stats of the parts of each row, or of its shards; one warp per row
 *   cross_entropy_labels   counts the rows by their labels, for the mean and the report; one block
 *   cross_entropy_reduce   sums the rows' losses in an order that depends only on their number; one block
 *
 * For whole rows without options the rows stage does the second one itself, and for not too many of them the last one
 * (row_progress.cuh).
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_STAGES_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_STAGES_CUH

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/row_chunks.cuh"
#include "kernels/problem.h"
#include "kernels/public.h"

/* A row's stats from those of all its parts, in their order; the same in all lanes of the warp. */
static __device__ __forceinline__ quern_row_stats merge_row(const quern_cross_entropy_problem &problem, int64_t row) {
    const int lane = threadIdx.x % 32;
    quern_row_stats merged = empty_stats();
    for (int64_t first = 0; first < problem.part_count; first += MERGED_AT_ONCE) {
        quern_row_stats mine = empty_stats();
        if (lane < MERGED_AT_ONCE && first + lane < problem.part_count) {
            mine = problem.parts[(first + lane) * problem.rows + row];
        } else if (lane == MERGED_AT_ONCE) {
            mine = merged;
        }
        merged = merge_in_warp<true>(problem, mine);
    }
    return merged;
}

static __device__ __forceinline__ void combine_row(const quern_cross_entropy_problem &problem, int64_t row) {
    if (is_skipped(problem, label_of(problem, row))) {
        if (threadIdx.x % 32 == 0) {
            write_skipped_row(problem, row, problem.is_final);
        }
        return;
    }
    const quern_row_stats stats = merge_row(problem, row);
    if (threadIdx.x % 32 != 0) {
        return;
    }
    if (problem.stats) {
        problem.stats[row] = stats;
    }
    if (problem.is_final) {
        write_row_outputs<true>(problem, row, stats);
    }
}

/* The work of a block of THREADS, by kernel variant. */

template <int THREADS> static __device__ __forceinline__ void run_combine(const quern_cross_entropy_problem problem) {
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x, row = block * (THREADS / 32) + threadIdx.x / 32;
    join_launches();
    if (row < problem.rows) {
        combine_row(problem, row);
    }
}

template <int THREADS> static __device__ __forceinline__ void run_labels(const quern_cross_entropy_problem problem) {
    __shared__ quern_label_counts of_warp[THREADS / 32];
    join_launches();
    const quern_label_counts all = count_all_labels<THREADS>(problem, of_warp);
    if (threadIdx.x == 0) {
        store_label_counts(problem, all);
    }
}

template <int THREADS> static __device__ __forceinline__ void run_reduce(const quern_cross_entropy_problem problem) {
    __shared__ double of_warp[THREADS / 32];
    wait_for_launch_before(); /* it is the last of its call */
    const double sum = sum_all_losses<THREADS>(problem, of_warp);
    if (threadIdx.x == 0) {
        store_loss(problem, sum);
    }
}

#endif
