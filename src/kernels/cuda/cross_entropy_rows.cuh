/*
 * Softmax cross-entropy of whole rows that stay in shared memory between the passes, without the options that cost time per
 * column.  Included by the sources in generated/cross_entropy/, whose kernels call run_rows.
 *
 * The blocks of the grid, or its clusters, take the rows in turns.  The first warp of a block leads:
 *
 *   1. The block's columns are copied to shared memory (row_share.cuh), but for up to 7 at either end by vectors.  The leader takes
 *      the label's logit out, so that no loop looks for it, and chooses the origin of the exponentials from a sample.
 *   2. All threads sum the exponentials, with no maximum.  A sum that is out of range is computed again, relative to an origin of
 *      its own: a batch of vectors, or the whole row.  Both depend on the row alone, so its bits are fixed.
 *   3. All threads write the gradient.
 *   4. The copy of the next row starts, and one thread computes the loss while it is under way.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_ROWS_CUH

#include "kernels/cuda/row_gradient.cuh"
#include "kernels/cuda/row_turns.cuh"

/* The leader's part before the sums.  label: the row's column in the share; elsewhere it may be any other number. */
static __device__ __forceinline__ void prepare_row(const quern_cross_entropy_problem &problem, const row_share &share, int64_t row,
                                                   int64_t label, bool skipped, bool skips_next, uint32_t parity) {
    const bool leads = threadIdx.x == 0;
    const float scale = problem.grad && !skipped ? team().divisor.divide(whole_gradient_scale(problem, row)) : 0.0f;
    float own = -INFINITY_F32, origin = 0.0f;
    if (!skipped) {
        if (QUERN_CLUSTERS) {
            share.copy_ends();
            wait_copied(parity);
        }
        __syncwarp();
        if (leads && (uint64_t)label < (uint64_t)share.columns) {
            const uint32_t place = share.image() + (uint32_t)label * element::bytes;
            own = element::widen(load_shared_element(place));
            own = own == INFINITY_F32 ? __uint_as_float(0x7fffffffu) : own; /* makes the row NaN */
            store_shared_element(place, (element::bits)element::minus_infinity);
        }
        __syncwarp();
        origin = row_scale::of_sample(share.sample());
    }
    if (leads) {
        team().origin = origin;
        team().grad_scale = scale;
        team().label = own;
        team().skips_next = skips_next;
        team().label_column = skipped ? LABEL_SKIPPED : (uint64_t)label < (uint64_t)share.columns ? label : -1;
    }
    __syncwarp();
    if (leads) {
        tell_ready();
    }
}

/* What the leader needs at the end of a row. */
struct row_end {
    row_total total;
    float label_gradient;
};

/* What all threads do with a row.  grad: the gradient of the share. */
static __device__ __forceinline__ row_end take_row(const quern_cross_entropy_problem &problem, const row_share &share,
                                                   const row_columns &columns, int64_t row, char *grad, uint32_t parity,
                                                   exchanges &made) {
    wait_ready(parity);
    row_end end = {};
    if (team().label_column == LABEL_SKIPPED) {
        if (problem.grad && !(kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD)) {
            store_row_padding(problem, columns, grad);
            store_zero_columns(grad, share.columns);
        }
        return end;
    }
    end.total = sum_row(share.image(), share.columns, made, [&] { learn_divisor<8>(problem); });
    if (problem.grad) {
        const gradient_factors factors(end.total, team().grad_scale, problem.z_loss);
        store_row_padding(problem, columns, grad);
        store_row_gradient(factors, share.image(), grad, share.columns);
        end.label_gradient = factors.label;
    }
    return end;
}

/* After all threads have finished the row: the label's gradient, over what its vector had there, and the outputs. */
static __device__ __forceinline__ void end_row(const quern_cross_entropy_problem &problem, const row_columns &columns, int64_t row,
                                               char *grad, const row_end &end) {
    const int64_t label_column = team().label_column;
    if (problem.grad && label_column >= 0) {
        store_element<element>(grad, label_column, element::nearest(end.label_gradient));
    }
    if (!columns.is_first) {
        return;
    }
    if (label_column == LABEL_SKIPPED) {
        write_skipped_row(problem, row, true);
    } else {
        write_results(problem, row, end.total);
    }
}

struct plain_rows {
    typedef row_end end;
    enum { SERVES_CALL = true };

    static __device__ __forceinline__ void begin(const quern_cross_entropy_problem &problem, const row_columns &) {
        expect_divisor(problem);
    }
    template <class... ARGUMENTS> static __device__ __forceinline__ void prepare(const ARGUMENTS &...arguments) {
        prepare_row(arguments...);
    }
    template <class... ARGUMENTS> static __device__ __forceinline__ end take(ARGUMENTS &...arguments) {
        return take_row(arguments...);
    }
    template <class... ARGUMENTS> static __device__ __forceinline__ void finish(const ARGUMENTS &...arguments) {
        end_row(arguments...);
    }
};

static __device__ __forceinline__ void run_rows(const quern_cross_entropy_problem &problem) { run_in_turns<plain_rows>(problem); }

#endif
