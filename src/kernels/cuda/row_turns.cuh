/*
 * The loop of the blocks or clusters that take rows in turns.  Included by cross_entropy_rows.cuh and cross_entropy_full_rows.cuh.
 *
 * ROWS says what they do: begin() once, by all threads; prepare() by the first warp, when a row is in shared memory; take() by all
 * threads; finish() by one thread, when the copy of the next row has started.  SERVES_CALL: the blocks also do what
 * row_progress.cuh says.
 */
#ifndef QUERN_DEVICE_ROW_TURNS_CUH
#define QUERN_DEVICE_ROW_TURNS_CUH

#include "kernels/cuda/row_gradient.cuh"
#include "kernels/cuda/row_progress.cuh"
#include "kernels/cuda/row_share.cuh"

static __device__ __forceinline__ void store_row_padding(const quern_cross_entropy_problem &problem, const row_columns &columns,
                                                         char *grad) {
    if (columns.is_last && problem.padded_vocab > problem.vocab) {
        store_zero_columns(grad + columns.count * element::bytes, problem.padded_vocab - problem.vocab);
    }
}

static __device__ __forceinline__ row_share share_of(const quern_cross_entropy_problem &problem, const row_columns &columns,
                                                     int64_t row) {
    return {(const char *)problem.logits + (row * problem.logits_stride + columns.first) * element::bytes, columns.count};
}

template <class ROWS> static __device__ __forceinline__ void run_in_turns(const quern_cross_entropy_problem &problem) {
    const uint32_t blocks = blocks_of_cluster(), step = gridDim.x / blocks;
    const row_columns columns(problem);
    int64_t row = blockIdx.x / blocks;
    ROWS::begin(problem, columns);
    make_signals();
    if (blocks > 1) {
        cluster_arrive();
        cluster_wait(); /* the others' mbarriers exist */
    } else {
        __syncthreads();
    }
    if (starts_copies() && row < problem.rows) {
        share_of(problem, columns, row).start_copy(is_skipped(problem, label_of(problem, row)));
    }
    if (ROWS::SERVES_CALL) {
        begin_rows_of_call<THREADS>(problem);
    }
    exchanges made;
    for (uint32_t parity = 0; row < problem.rows; parity ^= 1) {
        const row_share share = share_of(problem, columns, row);
        const int64_t next = row + step;
        if (!QUERN_CLUSTERS) {
            wait_copied(parity);
        }
        if (threadIdx.x < 32) {
            const int64_t label = label_of(problem, row);
            const bool skips_next = next >= problem.rows || is_skipped(problem, label_of(problem, next));
            ROWS::prepare(problem, share, row, label - columns.first, is_skipped(problem, label), skips_next, parity);
        }
        char *grad = (char *)problem.grad + (row * problem.grad_stride + columns.first) * element::bytes;
        const typename ROWS::end end = ROWS::take(problem, share, columns, row, grad, parity, made);
        __syncthreads(); /* all have read the image and written the gradient */
        if (starts_copies() && next < problem.rows) {
            share_of(problem, columns, next).start_copy(team().skips_next);
        }
        if (threadIdx.x == 0) {
            ROWS::finish(problem, columns, row, grad, end);
        }
        row = next;
    }
    if (ROWS::SERVES_CALL && columns.is_first) {
        finish_rows_of_call<THREADS>(problem, step);
    }
}

#endif
