/*
 * What follows from the sums of a row with all options, as quern_row_stats and outputs.  Included by cross_entropy_full_rows.cuh.
 * By one thread for a row, in FP64.
 */
#ifndef QUERN_DEVICE_ROW_FULL_RESULTS_CUH
#define QUERN_DEVICE_ROW_FULL_RESULTS_CUH

#include "kernels/cuda/row_full_team.cuh"

static __device__ __forceinline__ quern_row_stats full_stats_of(const quern_cross_entropy_problem &problem, const full_total &full,
                                                                float label_weight) {
    quern_row_stats stats = stats_of(full.total);
    /* Natural units from the sums' origin up to that of the stats. */
    const double distance = full.total.scale.origin * full.total.unit() - stats.origin;
    stats.label_weight = label_weight;
    if (problem.wants_moment && full.total.others != 0.0f) {
        stats.moment = full.moment * exp(distance) + stats.others * distance;
    }
    if (problem.label_smoothing != 0.0f) {
        stats.weights = full.weights;
        stats.weighted = full.weighted;
        if (!full.total.is_infinite()) {
            const double others = (double)full.weights - label_weight;
            stats.weighted += others != 0 ? others * distance : 0.0;
            stats.weighted += product_or_zero(label_weight, stats.label_value - stats.origin);
        }
    }
    if (problem.argmax) {
        stats.argmax = full.argmax;
        stats.maximum = full.argmax < 0 ? 0.0f : full.maximum;
    }
    return stats;
}

static __device__ __noinline__ void write_full_results(const quern_cross_entropy_problem &problem, int64_t row,
                                                       const full_total &full, float label_weight) {
    const quern_row_stats stats = full_stats_of(problem, full, label_weight);
    if (problem.stats) {
        problem.stats[row] = stats;
    }
    write_row_outputs<true>(problem, row, stats);
}

#endif
