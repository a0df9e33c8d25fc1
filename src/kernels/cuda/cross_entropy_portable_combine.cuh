/*
 * The stage of a cross-entropy that joins the shards of each row with portable bits: a block for each row.  Included by the stages'
 * source in generated/cross_entropy/.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_COMBINE_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_COMBINE_CUH

#include "kernels/cross_entropy_nodes.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/row_stats.cuh"

static __device__ __forceinline__ quern_row_stats join_shards(const quern_cross_entropy_problem &problem, int64_t row) {
    __shared__ struct quern_row_growth growth; /* it is indexed, so registers cannot hold it */
    quern_row_stats stats = quern_row_nothing();
    quern_row_begin(&growth, &problem, 0);
    for (int64_t shard = 0; shard < problem.part_count; shard++) {
        const int64_t place = shard * problem.rows + row;
        quern_row_add_nodes(&growth, &problem.part_nodes[place * quern_row_nodes_of_row(&problem)], &problem.parts[place]);
        quern_row_take(&stats, &problem.parts[place]);
    }
    quern_row_finish_growth(&growth, problem.global_vocab, &stats);
    return stats;
}

/* By one thread of a block of THREADS. */
template <int THREADS> static __device__ __forceinline__ void run_portable_combine(const quern_cross_entropy_problem &problem) {
    const int64_t row = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    join_launches();
    if (row >= problem.rows || threadIdx.x != 0) {
        return;
    }
    const int64_t label = label_of(problem, row);
    if (is_skipped(problem, label)) {
        write_skipped_row(problem, row, true);
        return;
    }
    const quern_row_stats stats = problem.part_nodes ? join_shards(problem, row) : problem.parts[row];
    if (problem.stats) {
        problem.stats[row] = stats;
    }
    const struct quern_row_values values = quern_row_values(&problem, &stats);
    quern_row_finish(&problem, row, label, &stats, &values);
}

#endif
