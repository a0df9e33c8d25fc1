/*
 * Softmax cross-entropy of rows that are too long for the chip, without the options that cost time per column.  Included by the
 * sources in generated/cross_entropy/, whose kernels call run_streamed_rows.
 *
 * Each multiprocessor has one block, which has all of its shared memory.  The blocks take the rows in turns.  The steps are those
 * of cross_entropy_rows.cuh, with these differences:
 *
 *   1. The sums begin with the streamed columns, while those that are kept in shared memory are on their way.  They end with those
 *      that registers hold.
 *   2. The gradient begins with the held columns, and goes on with the kept ones.  Then those of the next row are copied, during
 *      the gradient of the others.
 *   3. The label's logit stays where it is.  The loops compare the address of each vector with the label's; that over the held
 *      columns leaves out its batch, which is summed afterwards.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_STREAMED_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_STREAMED_ROWS_CUH

#define QUERN_CLUSTERS 0 /* here a row has one block on every target */

#include "kernels/cuda/row_progress.cuh"
#include "kernels/cuda/row_stream.cuh"

/* The columns that shared memory has room for: what the launch gives beyond the team's own, and vectors at any alignment. */
static __device__ __forceinline__ int kept_columns(int64_t columns) {
    uint32_t bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    const int room = computed_anew((bytes - (uint32_t)sizeof(team_memory) - 32) / 16 * (uint32_t)VECTOR);
    return (columns < room ? (int)columns : room) / VECTOR * VECTOR;
}

static __device__ __forceinline__ long_row row_of(const quern_cross_entropy_problem &problem, int64_t number) {
    const char *const logits = (const char *)problem.logits + number * problem.logits_stride * element::bytes;
    return {logits, problem.vocab, kept_columns(problem.vocab)};
}

static __device__ __forceinline__ char *grad_of(const quern_cross_entropy_problem &problem, int64_t number) {
    return (char *)problem.grad + number * problem.grad_stride * element::bytes;
}

/* The leader's part before the sums. */
static __device__ __forceinline__ void prepare_long_row(const quern_cross_entropy_problem &problem, const long_row &row,
                                                        int64_t number, int64_t step) {
    const int64_t label = label_of(problem, number), next = number + step;
    const bool skipped = is_skipped(problem, label);
    const bool skips_next = next >= problem.rows || is_skipped(problem, label_of(problem, next));
    const float scale = problem.grad && !skipped ? team().divisor.divide(whole_gradient_scale(problem, number)) : 0.0f;
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

static __device__ __forceinline__ void start_copy_of(const quern_cross_entropy_problem &problem, int64_t number) {
    if (!team().skips_next) {
        row_of(problem, number).kept_share().start_copy(false);
    }
}

/* The gradient of the columns that no register holds and, in its midst, the copy of the next row. */
static __device__ __forceinline__ void store_other_columns(const quern_cross_entropy_problem &problem, int64_t number,
                                                           const gradient_factors &factors, const held_columns &held) {
    const long_row row = row_of(problem, number);
    char *const grad = grad_of(problem, number);
    if (problem.grad) {
        store_row_gradient(factors, row.kept_share().image(), grad, held.first);
        store_zero_columns(grad + row.columns * element::bytes, problem.padded_vocab - problem.vocab);
    }
    __syncthreads(); /* all have read the kept columns */
    start_copy_of(problem, number + gridDim.x);
    if (problem.grad) {
        store_stream_gradient(factors, row, held.end(), grad);
    }
    __syncthreads(); /* all have read the row and written the gradient */
}

/* By all threads. */
static __device__ __forceinline__ void take_long_row(const quern_cross_entropy_problem &problem, int64_t number) {
    held_vectors vectors;
    int groups;
    const row_total total = sum_long_row(row_of(problem, number), vectors, groups, [&] {
        learn_divisor<1>(problem);
        number = computed_anew(number);
        return row_of(problem, number);
    });
    const gradient_factors factors(total, team().grad_scale, problem.z_loss);
    number = computed_anew(number);
    const held_columns held(row_of(problem, number), groups, grad_of(problem, number));
    if (problem.grad) {
        store_held_gradient(factors, vectors, held, grad_of(problem, number));
    }
    number = computed_anew(number);
    store_other_columns(problem, number, factors, held);
    if (threadIdx.x == 0) {
        if (problem.grad) {
            store_element<element>(grad_of(problem, number), team().label_column, element::nearest(factors.label));
        }
        write_results(problem, number, total);
    }
}

static __device__ __forceinline__ void skip_long_row(const quern_cross_entropy_problem &problem, int64_t number) {
    if (problem.grad && !(kept_of_skipped_row(problem, number) & QUERN_KEPT_GRAD)) {
        char *const grad = grad_of(problem, number);
        store_zero_columns(grad, problem.vocab);
        store_zero_columns(grad + problem.vocab * element::bytes, problem.padded_vocab - problem.vocab);
    }
    start_copy_of(problem, number + gridDim.x);
    __syncthreads(); /* all have seen what the leader told of the next row */
    if (threadIdx.x == 0) {
        write_skipped_row(problem, number, true);
    }
}

static __device__ __forceinline__ void run_streamed_rows(const quern_cross_entropy_problem &problem) {
    int64_t number = blockIdx.x;
    if (number < problem.rows && !is_skipped(problem, label_of(problem, number))) {
        row_of(problem, number).kept_share().start_copy(false);
    }
    begin_rows_of_call<THREADS>(problem);
    expect_divisor(problem);
    for (; number < problem.rows; number = computed_anew(number + gridDim.x)) {
        if (threadIdx.x < 32) {
            prepare_long_row(problem, row_of(problem, number), number, gridDim.x);
        }
        __syncthreads(); /* the leader has prepared the row */
        if (team().label_column == LABEL_SKIPPED) {
            skip_long_row(problem, number);
        } else {
            take_long_row(problem, number);
        }
    }
    finish_rows_of_call<THREADS>(problem, gridDim.x);
}

#endif
