/*
 * Soft targets of all columns of a row, and gradients of another type than the logits.  Included by the source of these stages in
 * generated/cross_entropy/, which defines cross_entropy_layout.cuh's names for f32 with all options.
 *
 *   cross_entropy_soft   the divergence of the columns of one part of a row, from the row's stats
 *   cross_entropy_wide   the gradient of one part of a row, as the gradient stage computes it, with that of the divergence
 *
 * Logits, targets and gradient have types that the call names.  The threads of a block take neighbouring columns, so that a warp
 * reads and writes whole lines at any alignment.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_WIDE_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_WIDE_CUH

#include "kernels/cuda/cross_entropy_divergence.cuh"
#include "kernels/cuda/cross_entropy_gradient.cuh"

/* The columns of a block: a part of a row. */
struct block_part {
    int64_t row, first, end;
    unsigned index;

    /* backwards: the L2 cache saw the last parts last. */
    __device__ __forceinline__ block_part(const quern_columns_problem &problem, bool backwards) {
        const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x, parts = problem.rows.rows * problem.rows.part_count;
        const int64_t place = backwards ? parts - 1 - block : block;
        const int64_t bytes = problem.logits_dtype == QUERN_F32 ? f32::bytes : bf16::bytes, columns = QUERN_GPU_PART_BYTES / bytes;
        row = block < parts ? place / problem.rows.part_count : -1;
        index = (unsigned)(place - row * problem.rows.part_count);
        first = index * columns;
        end = problem.rows.vocab - first < columns ? problem.rows.vocab : first + columns;
    }
    __device__ __forceinline__ bool is_last(const quern_columns_problem &problem) const { return end == problem.rows.vocab; }
};

/* ---- soft targets ---- */

struct soft_terms {
    float value, slope;        /* as struct quern_divergence_term */
};

/* A term whose factor is 0 is 0. */
static __device__ __forceinline__ float product_of(float factor, float x) { return factor != 0.0f ? factor * x : 0.0f; }

/* Of a column with log q.  A function, since its code has a size, too. */
static __device__ __noinline__ soft_terms soft_terms_of(float log_q, float t, bool of_targets, bool of_model) {
    if (!of_model) {
        return {product_of(t, logf(t) - log_q), -t};
    }
    const float power = log_q * LOG2_E, e = exp2_flushed(power);
    const float lost = __fmaf_rn(log_q, LOG2_E_REST, __fmaf_rn(log_q, LOG2_E, -power));
    const float q = e != 0.0f ? __fmaf_rn(e, lost * LN_2, e) : 0.0f;
    if (!of_targets) {
        const float value = product_of(q, log_q - logf(t));
        return {value, value + q};
    }
    const float inverse_mean = __fdividef(2.0f, fmaxf(FLT_MIN, t + q)); /* finite beside a subnormal target */
    const float of_q = product_of(q, logf(q * inverse_mean));
    return {0.5f * (product_of(t, logf(t * inverse_mean)) + of_q), 0.5f * of_q};
}

/* A row's soft targets, and its lse as a sum of two numbers. */
struct soft_row {
    const void *targets;
    quern_dtype dtype;
    bool of_targets, of_model;
    float lse, lse_rest;

    __device__ __forceinline__ soft_row(const quern_columns_problem &problem, int64_t row, double whole_lse)
        : dtype((quern_dtype)problem.soft_dtype), of_targets(problem.of_targets), of_model(problem.of_model) {
        const int64_t bytes = dtype == QUERN_F32 ? f32::bytes : bf16::bytes;
        targets = (const char *)problem.soft_targets + row * problem.soft_stride * bytes;
        split(whole_lse, &lse, &lse_rest);
    }
    __device__ __forceinline__ float target(int64_t column) const { return widen_any(targets, dtype, column); }

    __device__ __forceinline__ soft_terms terms(float y, float t) const {
        return soft_terms_of((y - lse) - lse_rest, t, of_targets, of_model);
    }
};

/* By all threads of a block: whether the row has a divergence, and its lse, which one thread finds. */
static __device__ __forceinline__ bool find_lse(const quern_columns_problem &problem, int64_t row, double *lse) {
    __shared__ double found;
    if (threadIdx.x == 0) {
        const finished_row finished(problem.rows, row);
        const bool is_number = finished.label >= 0 && !finished.values.is_infinite && !isnan(finished.values.sum);
        found = is_number ? finished.stats.origin + finished.values.log_sum : NAN;
    }
    __syncthreads();
    *lse = found;
    return !isnan(found);
}

/* The sums of all threads of a block, in its first thread. */
template <int THREADS> static __device__ __forceinline__ quern_divergence_sums sum_of_block(double value, double slope) {
    __shared__ double of_warp[2][THREADS / 32];
    const int warp = threadIdx.x / 32;
    quern_divergence_sums sums = {0.0, 0.0, 0.0, 0.0};
    value = sum_of_warp(value);
    slope = sum_of_warp(slope);
    if (threadIdx.x % 32 == 0) {
        of_warp[0][warp] = value;
        of_warp[1][warp] = slope;
    }
    __syncthreads();
    for (int i = 0; i < THREADS / 32; i++) {
        sums.value += of_warp[0][i];
        sums.slope += of_warp[1][i];
    }
    return sums;
}

template <int THREADS> static __device__ __forceinline__ void run_soft(const quern_columns_problem &problem) {
    const block_part part(problem, false);
    float value = 0.0f, slope = 0.0f;
    double lse;
    join_launches();
    if (part.row < 0) {
        return;
    }
    if (find_lse(problem, part.row, &lse)) {
        const searched_row logits(problem, part.row);
        const soft_row soft(problem, part.row, lse);
        const row_options options(problem.rows, part.row);
        const int64_t label = label_column(problem.rows, part.row);
#pragma unroll 2
        for (int64_t column = part.first + threadIdx.x; column < part.end; column += THREADS) {
            const soft_terms terms = soft.terms(options.y_of(logits.any(column)), soft.target(column));
            value += column == label ? 0.0f : terms.value;
            slope += column == label ? 0.0f : terms.slope;
        }
    }
    const quern_divergence_sums sums = sum_of_block<THREADS>(value, slope);
    if (threadIdx.x == 0) {
        problem.soft_sums[part.index * problem.rows.rows + part.row] = sums;
    }
}

/* ---- the gradient ---- */

/* Of columns from the thread's on. */
template <int THREADS>
static __device__ __forceinline__ void store_zeros(const quern_columns_problem &problem, int64_t row, int64_t column, int64_t end) {
    for (column += threadIdx.x; column < end; column += THREADS) {
        store_gradient(problem, row, column, 0.0f);
    }
}

/* The upstream gradients of the row, with what a divergence adds to that of log_prob. */
static __device__ __forceinline__ row_upstream upstream_of(const quern_columns_problem &problem, int64_t row) {
    row_upstream upstream(problem.rows, row, true);
    if (problem.row_upstream) {
        upstream.log_prob = problem.rows.grad_scale * problem.row_upstream[row];
    }
    return upstream;
}

template <int THREADS>
static __device__ __forceinline__ void store_columns(const quern_columns_problem &problem, const block_part &part,
                                                     const quern_row_stats &stats) {
    const int64_t row = part.row;
    const row_options options(problem.rows, row);
    const row_factors factors(problem.rows, stats, upstream_of(problem, row), true);
    const row_gradient<true> gradient(problem.rows, options, factors, label_column(problem.rows, row), 0);
    const searched_row logits(problem, row);
    double lse = 0.0;
    float of_divergence = 0.0f;
    if (problem.soft_targets && find_lse(problem, row, &lse)) {
        of_divergence = (float)quern_row_of_divergence(&problem, row);
    }
    const soft_row soft(problem, row, lse);
#pragma unroll 2
    for (int64_t column = part.first + threadIdx.x; column < part.end; column += THREADS) {
        const float logit = logits.any(column);
        float x = logit, slope = 1.0f;
        gradient.apply<1>(&x, column);
        if (of_divergence != 0.0f) {
            const float capped = options.cap.cap != 0.0f ? options.cap(logit, &slope) : logit;
            const soft_terms terms = soft.terms(capped * options.inverse_temperature, soft.target(column));
            x += of_divergence * terms.slope * slope;
        }
        store_gradient(problem, row, column, x);
    }
}

template <int THREADS> static __device__ __forceinline__ void run_wide(const quern_columns_problem &problem) {
    const block_part part(problem, true);
    join_launches();
    if (part.row < 0) {
        return;
    }
    const bool skipped = is_skipped(problem.rows, label_of(problem.rows, part.row));
    if (skipped && kept_of_skipped_row(problem.rows, part.row) & QUERN_KEPT_GRAD) {
        return;
    }
    const quern_row_stats stats = problem.rows.stats[part.row];
    if (part.is_last(problem)) {
        store_zeros<THREADS>(problem, part.row, problem.rows.vocab, problem.rows.padded_vocab);
    }
    if (skipped || is_all_infinite(stats)) {
        store_zeros<THREADS>(problem, part.row, part.first, part.end);
        return;
    }
    store_columns<THREADS>(problem, part, stats);
}

#endif
