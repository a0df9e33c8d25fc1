/*
 * Divergences of rows from the soft targets of given columns, and the gradient of these columns: a warp for each row.  Included by
 * the stages' source in generated/cross_entropy/.
 *
 * The log_probs stage finds the divergence, and what it adds to the row's upstream gradients.  Then the gradient kernels write all
 * columns as if none had a target, and cross_entropy_listed writes those that have one, and the label's, again.  With soft targets
 * of all columns (cross_entropy_wide.cuh) the sums of the others are known before, and that of the label is added here.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_DIVERGENCE_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_DIVERGENCE_CUH

#include "kernels/cuda/cross_entropy_columns.cuh"

/* The soft target of the label's column; -1: there is none. */
static __device__ __forceinline__ double target_of_label(const quern_columns_problem &problem, const finished_row &finished,
                                                         int64_t row) {
    const int64_t bytes = problem.soft_dtype == QUERN_F32 ? f32::bytes : bf16::bytes;
    const char *const targets = (const char *)problem.soft_targets + row * problem.soft_stride * bytes;
    return problem.soft_targets ? (double)widen_any(targets, (quern_dtype)problem.soft_dtype, finished.label) : -1.0;
}

/* What a thread of the warp adds. */
static __device__ __forceinline__ struct quern_divergence_sums own_sums(const quern_columns_problem &problem, int64_t row,
                                                                        const finished_row &finished) {
    const int lane = threadIdx.x % 32;
    struct quern_divergence_sums sums = {0.0, 0.0, 0.0, 0.0};
    if (!problem.soft_targets) {
#pragma unroll 1
        for (int64_t place = row * problem.given_count + lane; place < (row + 1) * problem.given_count; place += 32) {
            quern_divergence_add(&sums, &problem, (double)problem.target_probs[place], (double)problem.given_log_probs[place]);
        }
    } else if (finished.label >= 0 && !finished.values.is_infinite && !isnan(finished.values.sum)) {
        for (int64_t part = lane; part < problem.rows.part_count; part += 32) {
            const struct quern_divergence_sums more = problem.soft_sums[part * problem.rows.rows + row];
            sums.value += more.value;
            sums.slope += more.slope;
        }
        if (lane == 0) {
            quern_divergence_add(&sums, &problem, target_of_label(problem, finished, row), 0.0 - finished.values.of_label);
        }
    }
    return sums;
}

/* The same in all lanes. */
static __device__ __forceinline__ struct quern_row_divergence divergence_of(const quern_columns_problem &problem, int64_t row,
                                                                           const finished_row &finished) {
    struct quern_divergence_sums sums = own_sums(problem, row, finished);
    sums.value = sum_of_warp(sums.value);
    sums.slope = sum_of_warp(sums.slope);
    sums.targets = sum_of_warp(sums.targets);
    sums.probabilities = sum_of_warp(sums.probabilities);
    return quern_row_divergence(&problem, sums);
}

static __device__ __forceinline__ void find_divergence(const quern_columns_problem &problem, int64_t row,
                                                       const finished_row &finished) {
    const struct quern_row_divergence divergence = divergence_of(problem, row, finished);
    if (threadIdx.x % 32 != 0) {
        return;
    }
    if (problem.divergence) {
        const double value = finished.values.is_infinite ? INFINITY_F64 : isnan(finished.values.sum) ? NAN : divergence.value;
        problem.divergence[row] = finished.label < 0 ? 0.0f : (float)value;
    }
    if (problem.row_upstream) {
        problem.row_upstream[row] = quern_row_divergence_upstream(&problem, row, divergence.other);
    }
}

template <int THREADS> static __device__ __forceinline__ void run_log_probs(const quern_columns_problem &problem) {
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x, row = block * (THREADS / 32) + threadIdx.x / 32;
    join_launches();
    if (row >= problem.rows.rows || keeps_columns(problem.rows, row)) {
        return;
    }
    const finished_row finished(problem.rows, row);
    if (!problem.has_log_probs) {
        finish_top(problem, row, finished);
        finish_given(problem, row, finished);
    }
    if (problem.divergence || problem.row_upstream) {
        find_divergence(problem, row, finished);
    }
}

/* ---- the gradient ---- */

static __device__ __forceinline__ void store_gradient(const quern_columns_problem &problem, int64_t row, int64_t column,
                                                      float value) {
    const int64_t place = row * problem.rows.grad_stride + column;
    if (problem.grad_dtype == QUERN_F32) {
        store_element<f32>(problem.rows.grad, place, f32::nearest(value));
    } else if (problem.grad_dtype == QUERN_F16) {
        store_element<f16>(problem.rows.grad, place, f16::nearest(value));
    } else {
        store_element<bf16>(problem.rows.grad, place, bf16::nearest(value));
    }
}

/* What the listed columns of a row need. */
struct listed_row {
    finished_row finished;
    struct quern_row_gradient gradient;
    struct quern_row_divergence divergence;

    /* target: -1 for the label's column, if it is not listed. */
    __device__ __forceinline__ void write(const quern_columns_problem &problem, int64_t row, int64_t id, double target,
                                          float logit) const {
        const int64_t column = id - problem.rows.first_column;
        if ((uint64_t)column >= (uint64_t)problem.rows.vocab) {
            return;
        }
        float slope = 1.0f;
        const float capped = problem.rows.softcap != 0.0f ? softcap(problem.rows.softcap)(logit, &slope) : logit;
        const float y = capped * inverse_temperature_of(problem.rows, row);
        const bool is_label = id == finished.label;
        const struct quern_listed_column one = {
            is_label, target, y, quern_row_log_prob(&finished.stats, &finished.values, is_label, y),
            problem.rows.class_weights ? (double)problem.rows.class_weights[column] : 1.0, (double)slope};
        store_gradient(problem, row, column,
                       (float)quern_listed_gradient(&problem, row, &gradient, &finished.stats, &divergence, &one));
    }
};

static __device__ __forceinline__ void write_listed(const quern_columns_problem &problem, int64_t row, const listed_row &listed) {
    const int64_t count = problem.given_count, with_target = problem.target_probs ? count : 0;
    const float *const logits = problem.own_logits + row * (count + 1);
    bool has_label = false;
#pragma unroll 1
    for (int64_t i = threadIdx.x % 32; i < with_target; i += 32) {
        const int64_t id = problem.given_ids[row * count + i];
        has_label = has_label || id == listed.finished.label;
        listed.write(problem, row, id, (double)problem.target_probs[row * count + i], logits[i]);
    }
    if (!__any_sync(0xffffffffu, has_label) && threadIdx.x % 32 == 0) {
        listed.write(problem, row, listed.finished.label, target_of_label(problem, listed.finished, row), logits[count]);
    }
}

/* A row that is 0 or NaN throughout stays so. */
template <int THREADS> static __device__ __forceinline__ void run_listed(const quern_columns_problem &problem) {
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x, row = block * (THREADS / 32) + threadIdx.x / 32;
    join_launches();
    if (row >= problem.rows.rows || is_skipped(problem.rows, label_of(problem.rows, row))) {
        return;
    }
    listed_row listed = {finished_row(problem.rows, row)};
    const finished_row &finished = listed.finished;
    if (finished.values.is_infinite || isnan(finished.values.sum)) {
        return;
    }
    listed.gradient = quern_row_gradient(&problem.rows, row, finished.label, &finished.stats, &finished.values);
    if (listed.gradient.kind != QUERN_GRADIENT_NAN) {
        listed.divergence = divergence_of(problem, row, finished);
        write_listed(problem, row, listed);
    }
}

#endif
