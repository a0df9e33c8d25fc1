/*
 * One part of a row by one block, for shards and for batches with fewer rows than multiprocessors.  Included by cross_entropy.cuh.
 * The first pass writes a quern_row_stats for each part, which the combine stage merges; the second reads the logits again.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_STEPS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_STEPS_CUH

#include "kernels/cuda/cross_entropy_row.cuh"

static __device__ __forceinline__ void sum_part(const quern_cross_entropy_problem &problem, const row_options &options, int64_t row,
                                                unsigned part) {
    if (is_skipped(problem, label_of(problem, row))) {
        join_launches();
        return; /* the combine stage skips the row too */
    }
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
    const row_part place(problem, part, label);
    store_warp_sums(0, sum_warp(problem, options, place, load_part(logits + place.first() * element::bytes, place)));
    sum_warps(problem, options, logits, part, 1, label);
    join_launches();
    if (threadIdx.x == 0) {
        problem.parts[part * problem.rows + row] = sums_of(0).stats;
    }
}

static __device__ __forceinline__ void store_part_gradient(const quern_cross_entropy_problem &problem, const row_options &options,
                                                           int64_t row, unsigned part) {
    const bool skipped = is_skipped(problem, label_of(problem, row));
    if (skipped && kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD) {
        return;
    }
    const int64_t label = label_column(problem, row);
    const row_part place(problem, part, label);
    char *row_grad = gradient_row_of(problem, row);
    char *grad = row_grad + place.first() * element::bytes;
    const quern_row_stats stats = problem.stats[row];
    if (part == problem.part_count - 1) {
        store_padding(problem, row_grad);
    }
    if (skipped || is_all_infinite(stats)) {
        store_zeros(grad, place.columns);
        return;
    }
    const row_factors factors(problem, stats, row_upstream(problem, row, QUERN_FULL), QUERN_FULL);
    store_streamed_gradient(problem, options, factors, label, place.first(),
                            row_of(problem, row) + place.first() * element::bytes, grad, place.columns);
}

#endif
