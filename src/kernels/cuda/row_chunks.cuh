/*
 * Sums over the rows of a call: the rows by their labels with class weights, and the losses.  Included by cross_entropy_stages.cuh
 * and row_progress.cuh.
 *
 * A warp takes a chunk of QUERN_ROWS_OF_CHUNK rows, and the chunks are added in order.  So a result has the same bits for any
 * number of threads and whichever kernel computes it.
 */
#ifndef QUERN_DEVICE_ROW_CHUNKS_CUH
#define QUERN_DEVICE_ROW_CHUNKS_CUH

#include "kernels/cuda/row_labels.cuh"

/* The rows of a chunk, which is full or the last one; 0: there is no such chunk. */
static __device__ __forceinline__ int rows_of_chunk(const quern_cross_entropy_problem &problem, int64_t first) {
    const int64_t rows = problem.rows - first;
    return rows < 0 ? 0 : rows < QUERN_ROWS_OF_CHUNK ? (int)rows : QUERN_ROWS_OF_CHUNK;
}

/* ---- labels ---- */

/* The weight of a counted row's label in the mean. */
static __device__ __forceinline__ double label_weight(const quern_cross_entropy_problem &problem, int64_t row, int64_t label) {
    if (problem.weights_in_stats) {
        return problem.stats[row].label_weight;
    }
    return problem.class_weights ? problem.class_weights[label - problem.first_column] : 1.0;
}

/* By a warp; the same in all lanes. */
static __device__ __forceinline__ quern_label_counts count_labels(const quern_cross_entropy_problem &problem, int64_t first) {
    const int rows = rows_of_chunk(problem, first);
    double weights = 0.0;
    const auto weigh = [&](int place, const int64_t (&label)[QUERN_LABELS_AT_ONCE]) {
        double weight[QUERN_LABELS_AT_ONCE]; /* all are loaded before the first is added */
#pragma unroll
        for (int j = 0; j < QUERN_LABELS_AT_ONCE; j++) {
            const bool counts = problem.divisor && place + j * 32 < rows && !is_skipped(problem, label[j]);
            weight[j] = counts ? label_weight(problem, first + place + j * 32, label[j]) : 0.0;
        }
#pragma unroll
        for (int j = 0; j < QUERN_LABELS_AT_ONCE; j++) {
            weights += weight[j];
        }
    };
    const label_tally tally = tally_labels<QUERN_LABELS_AT_ONCE>(problem, first, rows, weigh);
    quern_label_counts all;
    all.counted = tally.counted;
    all.ignored = tally.ignored;
    all.weights = sum_of_warp(weights);
    all.bad = rows - all.counted - all.ignored;
    all.first_bad = tally.first_bad < rows ? first + tally.first_bad : INT64_MAX;
    return all;
}

static __device__ __forceinline__ void add_chunk(quern_label_counts &all, const quern_label_counts &chunk) {
    all.weights += chunk.weights;
    all.counted += chunk.counted;
    all.ignored += chunk.ignored;
    all.first_bad = all.bad ? all.first_bad : chunk.first_bad;
    all.bad += chunk.bad;
}

/* ---- losses ---- */

/* By a warp; the same in all lanes. */
static __device__ __forceinline__ double sum_losses(const quern_cross_entropy_problem &problem, int64_t first) {
    enum { AT_ONCE = 16 };
    const int rows = rows_of_chunk(problem, first);
    double sum = 0.0;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < rows; i += AT_ONCE * 32) {
        float loss[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            loss[j] = i + j * 32 < rows ? problem.row_loss[first + i + j * 32] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            sum += loss[j];
        }
    }
    return sum_of_warp(sum);
}

static __device__ __forceinline__ void add_chunk(double &all, double chunk) { all += chunk; }

/* By one thread. */
static __device__ __forceinline__ void store_loss(const quern_cross_entropy_problem &problem, double sum) {
    if (problem.divisor) {
        const double divisor = problem.divisor[0];
        sum = divisor != 0 ? sum / divisor : 0.0;
    }
    problem.loss[0] = (float)sum;
}

/* ---- all chunks, by a block ---- */

/* The threads of a block have done what is before this, and see what the others have stored. */
template <int BLOCK> static __device__ __forceinline__ void wait_for_block() {
    if (BLOCK == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/* The results of all chunks, added to `all` in thread 0.  of_warp: memory that the block shares, for a result of each warp. */
template <int BLOCK, class RESULT, class CHUNK>
static __device__ __forceinline__ RESULT add_chunks(const quern_cross_entropy_problem &problem, RESULT *of_warp, RESULT all,
                                                    CHUNK chunk) {
    const int warp = threadIdx.x / 32;
#pragma unroll 1
    for (int64_t first = 0; first < problem.rows; first += BLOCK / 32 * QUERN_ROWS_OF_CHUNK) {
        const RESULT mine = chunk(first + warp * QUERN_ROWS_OF_CHUNK);
        if (threadIdx.x % 32 == 0) {
            of_warp[warp] = mine;
        }
        wait_for_block<BLOCK>();
        for (int i = 0; threadIdx.x == 0 && i < BLOCK / 32; i++) {
            add_chunk(all, of_warp[i]);
        }
        wait_for_block<BLOCK>();
    }
    return all;
}

template <int BLOCK>
static __device__ __forceinline__ quern_label_counts count_all_labels(const quern_cross_entropy_problem &problem,
                                                                      quern_label_counts *of_warp) {
    const quern_label_counts none = {0.0, 0, 0, 0, INT64_MAX};
    return add_chunks<BLOCK>(problem, of_warp, none, [&](int64_t first) { return count_labels(problem, first); });
}

template <int BLOCK>
static __device__ __forceinline__ double sum_all_losses(const quern_cross_entropy_problem &problem, double *of_warp) {
    return add_chunks<BLOCK>(problem, of_warp, 0.0, [&](int64_t first) { return sum_losses(problem, first); });
}

#endif
