/*
 * Softmax cross-entropy of rows that are too long for the chip, without the options that cost time per column.  Included by the
 * sources in generated/cross_entropy/, whose kernels call run_streamed_rows.
 *
 * Each multiprocessor has one block, which has all of its shared memory.  The blocks take the rows in turns.  The steps are those
 * of cross_entropy_rows.cuh, with these differences:
 *
 *   1. The sums begin with the streamed columns, while those that are kept are on their way.
 *   2. The gradient begins with the kept columns.  Then those of the next row are copied, during the gradient of the others.
 *   3. The label's logit stays where it is.  The loops compare the address of each vector with the label's.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_STREAMED_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_STREAMED_ROWS_CUH

#define QUERN_CLUSTERS 0 /* here a row has one block on every target */

#include "kernels/cuda/row_progress.cuh"
#include "kernels/cuda/row_stream.cuh"

/* The columns that shared memory has room for: what the launch gives beyond the team's own, and vectors at any alignment. */
static __device__ __forceinline__ int64_t kept_columns(int64_t columns) {
    uint32_t bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    const int64_t room = (bytes - (uint32_t)sizeof(team_memory) - 32) / 16 * VECTOR;
    return columns < room ? columns / VECTOR * VECTOR : room;
}

/* The leader's part before the sums. */
static __device__ __forceinline__ void prepare_long_row(const quern_cross_entropy_problem &problem, const long_row &row, int64_t number,
                                                        int64_t step) {
    const int64_t label = label_of(problem, number), next = number + step;
    const bool skipped = is_skipped(problem, label);
    const bool skips_next = next >= problem.rows || is_skipped(problem, label_of(problem, next));
    const float scale = problem.grad && !skipped ? gradient_scale(problem, number) : 0.0f;
    float own = -INFINITY_F32, origin = 0.0f;
    if (!skipped) {
        own = element::widen(load_element<element>(row.logits, label));
        own = own == INFINITY_F32 ? __uint_as_float(0x7fffffffu) : own; /* makes the row NaN */
        origin = row_scale::of_sample(row.sample(label));
    }
    if (threadIdx.x == 0) {
        team().origin = origin;
        team().grad_scale = scale;
        team().label = own;
        team().skips_next = skips_next;
        team().label_column = skipped ? LABEL_SKIPPED : label;
    }
}

static __device__ __forceinline__ void start_copy_of(const long_row &row) {
    if (!team().skips_next) {
        row.kept_share().start_copy(false);
    }
}

/* The sums, the gradient and, in its midst, the copy of the next row.  By all threads. */
static __device__ __forceinline__ void take_long_row(const quern_cross_entropy_problem &problem, const long_row &row,
                                                     const long_row &next, int64_t number, char *grad) {
    const int64_t label_column = team().label_column;
    const row_total total = sum_long_row(row, label_column);
    const gradient_factors factors(total, team().grad_scale, problem.z_loss);
    if (problem.grad) {
        store_row_gradient(factors, row.kept_share().image(), grad, (int)row.kept);
        store_zero_columns(grad + row.columns * element::bytes, problem.padded_vocab - problem.vocab);
    }
    __syncthreads(); /* all have read the kept columns */
    start_copy_of(next);
    if (problem.grad) {
        store_stream_gradient(factors, row, grad);
    }
    __syncthreads(); /* all have read the row and written the gradient */
    if (threadIdx.x == 0) {
        if (problem.grad) {
            store_element<element>(grad, label_column, element::nearest(factors.label));
        }
        write_results(problem, number, total);
    }
}

static __device__ __forceinline__ void skip_long_row(const quern_cross_entropy_problem &problem, const long_row &row,
                                                     const long_row &next, int64_t number, char *grad) {
    if (problem.grad && !(kept_of_skipped_row(problem, number) & QUERN_KEPT_GRAD)) {
        store_zero_columns(grad, row.columns);
        store_zero_columns(grad + row.columns * element::bytes, problem.padded_vocab - problem.vocab);
    }
    start_copy_of(next);
    __syncthreads(); /* all have seen what the leader told of the next row */
    if (threadIdx.x == 0) {
        write_skipped_row(problem, number, true);
    }
}

static __device__ __forceinline__ void run_streamed_rows(const quern_cross_entropy_problem &problem) {
    const int64_t step = gridDim.x;
    int64_t number = blockIdx.x;
    long_row row = {(const char *)problem.logits + number * problem.logits_stride * element::bytes, problem.vocab,
                    kept_columns(problem.vocab)};
    char *grad = (char *)problem.grad + number * problem.grad_stride * element::bytes;
    if (number < problem.rows && !is_skipped(problem, label_of(problem, number))) {
        row.kept_share().start_copy(false);
    }
    begin_rows_of_call<THREADS>(problem);
    while (number < problem.rows) {
        if (threadIdx.x < 32) {
            prepare_long_row(problem, row, number, step);
        }
        __syncthreads(); /* the leader has prepared the row */
        const long_row next = {row.logits + step * problem.logits_stride * element::bytes, row.columns, row.kept};
        if (team().label_column == LABEL_SKIPPED) {
            skip_long_row(problem, row, next, number, grad);
        } else {
            take_long_row(problem, row, next, number, grad);
        }
        row = next;
        number += step;
        grad += step * problem.grad_stride * element::bytes;
    }
    finish_rows_of_call<THREADS>(problem, gridDim.x);
}

#endif
