/*
 * Softmax cross-entropy with all options, of whole rows that stay in shared memory between the passes.  Included by the sources in
 * generated/cross_entropy/, whose kernels call run_full_rows.
 *
 * The blocks of the grid, or its clusters, take the rows in turns (row_turns.cuh).  The first warp of a block leads:
 *
 *   1. The block's columns are copied to shared memory.  The leader takes the label's logit out, so that no loop looks for it, and
 *      puts that of another column in its place.
 *   2. All threads look for the largest logit, then sum the exponentials relative to it and what the options need.
 *   3. All threads write the gradient.
 *   4. The copy of the next row starts, and one thread computes the outputs while it is under way.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_FULL_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_FULL_ROWS_CUH

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/row_full_gradient.cuh"
#include "kernels/cuda/row_full_results.cuh"
#include "kernels/cuda/row_turns.cuh"

/* The launch before this one counts the labels.  A block waits for it behind the sums of its first row. */
struct late_join {
    /* The row of a block's first turn.  No register is spent on it. */
    static __device__ __forceinline__ bool is_first(int64_t row) { return row * blocks_of_cluster() < gridDim.x; }

    /* By all threads, before the first write; divides the first row's scale. */
    static __device__ __forceinline__ float join(const quern_cross_entropy_problem &problem, int64_t row, float scale) {
        if (!is_first(row)) {
            return scale;
        }
        join_launches();
        return divided_gradient_scale(problem, scale);
    }
};

struct full_rows {
    enum { SERVES_CALL = false };
    struct end {}; /* the first thread keeps it in shared memory */

    static __device__ __forceinline__ void begin(const quern_cross_entropy_problem &problem, const row_columns &columns) {
        sum_class_weights(problem, columns);
    }

    /* The leader's part before the sums.  label: the row's column in the share; elsewhere it may be any other number. */
    static __device__ __forceinline__ void prepare(const quern_cross_entropy_problem &problem, const row_share &share, int64_t row,
                                                   int64_t label, bool skipped, bool skips_next, uint32_t parity) {
        const bool leads = threadIdx.x == 0, is_here = !skipped && (uint64_t)label < (uint64_t)share.columns;
        const row_upstream upstream = skipped ? row_upstream(0.0f, 0.0f, 0.0f, 1.0f)
                                              : row_upstream(problem, row, true, !late_join::is_first(row));
        const float weight = problem.class_weights && !skipped ? problem.class_weights[label_of(problem, row)] : 1.0f;
        float own = -INFINITY_F32;
        if (!skipped) {
            if (QUERN_CLUSTERS) {
                share.copy_ends();
                wait_copied(parity);
            }
            __syncwarp();
            own = take_label_out(share, (int)label, is_here);
        }
        if (leads) {
            team().grad_scale = upstream.loss;
            team().skips_next = skips_next;
            team().label_column = skipped ? LABEL_SKIPPED : is_here ? (int)label : -1;
            full_team().label_logit = own;
            full_team().label_weight = weight;
            full_team().label_slope = 1.0f;
            full_team().inverse_temperature = upstream.inverse_temperature;
            full_team().log_prob_scale = upstream.log_prob;
            full_team().entropy_scale = upstream.entropy;
            team().label = own == INFINITY_F32 ? __uint_as_float(0x7fffffffu) : own; /* makes the row NaN */
            if (problem.softcap != 0.0f && is_here) {
                team().label = softcap(problem.softcap)(own, &full_team().label_slope);
            }
            team().label *= upstream.inverse_temperature;
        }
        __syncwarp();
        if (leads) {
            tell_ready();
        }
    }

    /* What all threads do with a row.  grad: the gradient of the share. */
    static __device__ __forceinline__ end take(const quern_cross_entropy_problem &problem, const row_share &share,
                                               const row_columns &columns, int64_t row, char *grad, uint32_t parity,
                                               exchanges &made) {
        wait_ready(parity);
        const int label = team().label_column;
        if (label == LABEL_SKIPPED) {
            late_join::join(problem, row, 0.0f);
            if (problem.grad && !(kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD)) {
                store_row_padding(problem, columns, grad);
                store_zero_columns(grad, share.columns);
            }
            return {};
        }
        summed_share summed = {share.image(), share.columns, (int)columns.first, label, true,
                               full_team().inverse_temperature};
        const full_total total = sum_full_row(problem, summed, made);
        const float scale = late_join::join(problem, row, team().grad_scale);
        if (threadIdx.x == 0) {
            full_team().result = total;
        }
        if (problem.grad) {
            const row_upstream upstream(scale, full_team().log_prob_scale, full_team().entropy_scale,
                                        summed.inverse_temperature);
            const full_factors factors(problem, total, full_team().label_weight, upstream);
            if (threadIdx.x == 0) {
                full_team().label_gradient = factors.label * full_team().label_slope;
            }
            store_row_padding(problem, columns, grad);
            store_full_gradient(problem, factors, summed, grad);
        }
        return {};
    }

    /* After all threads have finished the row: the label's gradient, over what its vector had there, and the outputs. */
    static __device__ __forceinline__ void finish(const quern_cross_entropy_problem &problem, const row_columns &columns,
                                                  int64_t row, char *grad, const end &) {
        const int label_column = team().label_column;
        if (problem.grad && label_column >= 0) {
            store_element<element>(grad, label_column, element::nearest(full_team().label_gradient));
        }
        if (!columns.is_first) {
            return;
        }
        if (label_column == LABEL_SKIPPED) {
            write_skipped_row(problem, row, true);
        } else {
            write_full_results(problem, row, full_team().result, full_team().label_weight);
        }
    }

private:
    /*
     * The label's logit.  Its place gets the largest of a sample of the others: a term of theirs, which the sums leave out again.
     */
    static __device__ __forceinline__ float take_label_out(const row_share &share, int label, bool is_here) {
        const uint32_t place = share.image() + (uint32_t)label * element::bytes;
        float own = -INFINITY_F32;
        if (threadIdx.x == 0 && is_here) {
            own = element::widen(load_shared_element(place));
            store_shared_element(place, (element::bits)element::minus_infinity);
        }
        __syncwarp();
        const float largest = share.sample();
        __syncwarp();  /* the other lanes have read the place: a shuffle alone orders no memory */
        if (threadIdx.x == 0 && is_here) {
            store_shared_element(place, element::nearest(largest));
        }
        return own;
    }
};

static __device__ __forceinline__ void run_full_rows(const quern_cross_entropy_problem &problem) {
    run_in_turns<full_rows>(problem);
}

#endif
