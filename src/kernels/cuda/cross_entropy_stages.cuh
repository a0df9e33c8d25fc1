/*
 * The stages of a cross-entropy that touch only stats, labels and losses, a thousandth of the traffic.  Included by the stages'
 * source in generated/cross_entropy/.
 *
 *   cross_entropy_combine  merges the stats of the parts of each row, or of its shards; one warp per row
 *   cross_entropy_labels   counts the rows by their labels, for the mean and the report; one block
 *   cross_entropy_reduce   sums the losses of many rows, in an order that depends only on their number; one block.  Of few rows the
 *                          last block of the rows stage does (loss_sum.cuh)
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_STAGES_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_STAGES_CUH

#include "kernels/cuda/loss_sum.cuh"
#include "kernels/problem.h"
#include "quern.h"

/* The sum, or with `smallest` the minimum, of one value per thread; valid in thread 0.  Begins and ends with a barrier. */
template <int THREADS, class T, bool SMALLEST> static __device__ __forceinline__ T reduce_block(T mine) {
    __shared__ T value[THREADS];
    value[threadIdx.x] = mine;
#pragma unroll 1
    for (int width = THREADS / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) {
            const T other = value[threadIdx.x + width];
            const T own = value[threadIdx.x];
            value[threadIdx.x] = !SMALLEST ? own + other : other < own ? other : own;
        }
    }
    __syncthreads();
    const T result = value[0];
    __syncthreads();
    return result;
}

/* The weight of a counted row's label in the mean. */
static __device__ __forceinline__ double label_weight(const quern_cross_entropy_problem &problem, int64_t row, int64_t label) {
    if (problem.weights_in_stats) {
        return problem.stats[row].label_weight;
    }
    return problem.class_weights ? problem.class_weights[label - problem.first_column] : 1.0;
}

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
    if (row < problem.rows) {
        combine_row(problem, row);
    }
}

template <int THREADS> static __device__ __forceinline__ void run_labels(const quern_cross_entropy_problem problem) {
    int64_t counted = 0, ignored = 0, bad = 0, first_bad = INT64_MAX;
    double weights = 0;
    for (int64_t row = threadIdx.x; row < problem.rows; row += THREADS) {
        const int64_t label = label_of(problem, row);
        if (label == problem.ignore_index) {
            ignored++;
        } else if ((uint64_t)label < (uint64_t)problem.global_vocab) {
            counted++;
            weights += problem.divisor ? label_weight(problem, row, label) : 0.0;
        } else {
            bad++;
            first_bad = row < first_bad ? row : first_bad;
        }
    }
    counted = reduce_block<THREADS, int64_t, false>(counted);
    ignored = reduce_block<THREADS, int64_t, false>(ignored);
    bad = reduce_block<THREADS, int64_t, false>(bad);
    first_bad = reduce_block<THREADS, int64_t, true>(first_bad);
    weights = reduce_block<THREADS, double, false>(weights);
    if (threadIdx.x == 0) {
        if (problem.ticket) {
            *problem.ticket = 0;
        }
        if (problem.divisor) {
            problem.divisor[0] = weights;
        }
        if (problem.report) { /* infinite rows are counted when the rows are finished */
            problem.report->counted_rows = counted;
            problem.report->ignored_rows = ignored;
            problem.report->bad_labels = bad;
            problem.report->first_bad_row = bad ? first_bad : -1;
        }
    }
}

template <int THREADS> static __device__ __forceinline__ void run_reduce(const quern_cross_entropy_problem problem) {
    double sum = 0;
    for (int64_t row = threadIdx.x; row < problem.rows; row += THREADS) {
        sum += problem.row_loss[row];
    }
    sum = reduce_block<THREADS, double, false>(sum);
    if (threadIdx.x == 0) {
        problem.loss[0] = reduced_loss(problem, sum);
    }
}

#endif
