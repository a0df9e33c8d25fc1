/*
 * The stages around the rows of a cross-entropy, one block each: they touch only labels and losses, a millionth of the
 * traffic.
 *
 *   cross_entropy_labels   before the rows: counts them by their labels, for the mean and the report
 *   cross_entropy_reduce   after the rows: sums their losses in an order that depends on nothing but their number
 *
 * Rendered by gen/ from templates/cross_entropy_stages.cu.j2; do not edit.
 */
#include "problem.h"
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

extern "C" __global__ void __launch_bounds__(1024)
cross_entropy_labels(const __grid_constant__ quern_cross_entropy_problem problem) {
    int64_t counted = 0, ignored = 0, bad = 0, first_bad = INT64_MAX;
    for (int64_t row = threadIdx.x; row < problem.rows; row += 1024) {
        const int64_t label = problem.labels_are_int64 ? ((const int64_t *)problem.labels)[row]
                                                       : ((const int32_t *)problem.labels)[row];
        if (label == problem.ignore_index) {
            ignored++;
        } else if ((uint64_t)label < (uint64_t)problem.vocab) {
            counted++;
        } else {
            bad++;
            first_bad = row < first_bad ? row : first_bad;
        }
    }
    counted = reduce_block<1024, int64_t, false>(counted);
    ignored = reduce_block<1024, int64_t, false>(ignored);
    bad = reduce_block<1024, int64_t, false>(bad);
    first_bad = reduce_block<1024, int64_t, true>(first_bad);
    if (threadIdx.x == 0) {
        if (problem.divisor) {
            problem.divisor[0] = (double)counted;
        }
        if (problem.report) {
            problem.report->counted_rows = counted;
            problem.report->ignored_rows = ignored;
            problem.report->bad_labels = bad;
            problem.report->first_bad_row = bad ? first_bad : -1;
            problem.report->infinite_rows = 0;
        }
    }
}
extern "C" __global__ void __launch_bounds__(1024)
cross_entropy_reduce(const __grid_constant__ quern_cross_entropy_problem problem) {
    double sum = 0;
    for (int64_t row = threadIdx.x; row < problem.rows; row += 1024) {
        sum += problem.row_loss[row];
    }
    sum = reduce_block<1024, double, false>(sum);
    if (threadIdx.x == 0) {
        if (problem.reduction == QUERN_REDUCTION_MEAN) {
            const double divisor = problem.divisor[0];
            sum = divisor != 0 ? sum / divisor : 0.0;
        }
        problem.loss[0] = (float)sum;
    }
}
