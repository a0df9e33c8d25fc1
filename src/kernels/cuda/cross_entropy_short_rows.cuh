/*
 * Softmax cross-entropy of short rows, without the options that cost time per column.  Included by the sources in
 * generated/cross_entropy/, whose kernels call run_short_rows.
 *
 * A block is one warp, and several rows share it, THREADS lanes each: what a row takes besides its columns the warp does once for
 * all of its rows.  Nothing waits for another warp.  The warps take the rows in turns; the steps are those of
 * cross_entropy_rows.cuh, by lanes instead of blocks.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_SHORT_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_SHORT_ROWS_CUH

#include "kernels/cuda/row_copy.cuh"
#include "kernels/cuda/row_gradient.cuh"
#include "kernels/cuda/row_progress.cuh"

enum { ROW_SKIPPED = -1, ROW_MISSING = -2 };

/*
 * The rows of a warp in one turn are VECTOR apart: whatever the stride is, they have the same alignment, so that all lanes read
 * alike.  The host counts the turns (cross_entropy_cuda.c).
 */
static __device__ __forceinline__ int64_t row_of_turn(int64_t turn) {
    return turn / VECTOR * (VECTOR * QUERN_SHORT_ROWS) + turn % VECTOR + threadIdx.x / THREADS * VECTOR;
}

/* The column of a row's label.  ROW_MISSING: there is no such row. */
static __device__ __forceinline__ int label_column(const quern_cross_entropy_problem &problem, int64_t row) {
    if (row >= problem.rows) {
        return ROW_MISSING;
    }
    const int64_t label = label_of(problem, row);
    return is_skipped(problem, label) ? ROW_SKIPPED : (int)label;
}

static __device__ __forceinline__ row_copy copy_of(const quern_cross_entropy_problem &problem, int64_t row) {
    const uint32_t room = (uint32_t)(problem.vocab + VECTOR - 1) / VECTOR * 16 + QUERN_ROOM_BYTES;
    return {(const char *)problem.logits + row * problem.logits_stride * element::bytes, (int)problem.vocab,
            shared_address(block_memory) + threadIdx.x / THREADS * room};
}

/* The copies of all lanes are there. */
static __device__ __forceinline__ void wait_for_copies() {
#if QUERN_ASYNC_COPY
    async_wait<0>();
#endif
    __syncwarp();
}

/* The label's logit, after which its place has -infinity.  By all lanes; label: a column, or below 0. */
static __device__ __forceinline__ float take_label_out(const row_copy &copy, int label) {
    const uint32_t place = copy.image() + (uint32_t)label * element::bytes;
    const float own = label < 0 ? -INFINITY_F32 : element::widen(load_shared_element(place));
    __syncwarp();
    if (label >= 0 && own_number() == 0) {
        store_shared_element(place, (element::bits)element::minus_infinity);
    }
    __syncwarp();
    return own == INFINITY_F32 ? __uint_as_float(0x7fffffffu) : own; /* makes the row NaN */
}

/* The sums relative to the largest logit, as sum_carefully of row_team.cuh.  By all lanes; is_row: there is a row to sum. */
static __device__ __noinline__ row_total sum_short_row_carefully(uint32_t image, int columns, float label, bool is_row) {
    const uint32_t base = image & ~15u, at = base + own_number() * 16, end = is_row ? base + columns / VECTOR * 16 : base;
    const any_reader read = {image - base};
    const float rest = is_row ? rest_of(image, columns) : -INFINITY_F32;
    const float largest = largest_of_lanes<THREADS>(fmaxf(largest_of_vectors(read, at, end), rest));
    row_total total = {scale_of_row(largest, label), 0.0f, label};
    total.others = sum_of_lanes<THREADS>(sum_plainly(read, at, end, total.scale) + exponential(rest, total.scale));
    return total;
}

/* The sums of the rows.  By all lanes. */
static __device__ __forceinline__ row_total sum_short_row(const row_copy &copy, float label, bool is_row) {
    const float largest = largest_of_lanes<THREADS>(is_row ? copy.largest_of_lane() : 0.0f);
    row_total total = {{LOG2_E, row_scale::of_sample(largest)}, 0.0f, label};
    float sum = 0.0f;
    if (is_row) {
        sum = sum_columns(copy.image(), copy.columns, total.scale);
        if (copy.columns % VECTOR != 0) {
            sum += exponential_raised(rest_of(copy.image(), copy.columns), total.scale);
        }
    }
    total.others = sum_of_lanes<THREADS>(sum);
    const bool is_strange = is_row && !(total.others > 0x1p-12f && total.others < 1e30f);
    if (__builtin_expect(__any_sync(0xffffffffu, is_strange), 0)) {
        const row_total careful = sum_short_row_carefully(copy.image(), copy.columns, label, is_row);
        total = is_strange ? careful : total;
    }
    return total;
}

/* What is left to do for a row when the next one is on its way. */
struct short_row_end {
    row_total total;
    float label_gradient;
};

/* The sums and the gradient.  label: what label_column gave. */
static __device__ __forceinline__ short_row_end take_short_row(const quern_cross_entropy_problem &problem, int64_t row, int label,
                                                               char *grad, mean_divisor &divisor) {
    const bool is_row = label >= 0;
    float scale = problem.grad && is_row ? divisor.divide(whole_gradient_scale(problem, row)) : 0.0f;
    const row_copy copy = copy_of(problem, row);
    wait_for_copies();
    short_row_end end;
    end.total = sum_short_row(copy, take_label_out(copy, label), is_row);
    divisor.learn<8>(problem, scale);
    const gradient_factors factors(end.total, scale, problem.z_loss);
    end.label_gradient = factors.label;
    if (problem.grad && is_row) {
        store_row_gradient(factors, copy.image(), grad, copy.columns);
    } else if (problem.grad && label == ROW_SKIPPED && !(kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD)) {
        store_zero_columns(grad, problem.vocab);
    } else {
        return end;
    }
    store_zero_columns(grad + problem.vocab * element::bytes, problem.padded_vocab - problem.vocab);
    return end;
}

/* After all lanes have finished the row: the label's gradient, over what its vector had there, and the outputs. */
static __device__ __forceinline__ void end_short_row(const quern_cross_entropy_problem &problem, int64_t row, int label, char *grad,
                                                     const short_row_end &end) {
    if (own_number() != 0 || label == ROW_MISSING) {
        return;
    }
    if (label == ROW_SKIPPED) {
        write_skipped_row(problem, row, true);
        return;
    }
    if (problem.grad) {
        store_element<element>(grad, label, element::nearest(end.label_gradient));
    }
    write_results(problem, row, end.total);
}

static __device__ __forceinline__ void run_short_rows(const quern_cross_entropy_problem &problem) {
    int64_t turn = blockIdx.x, row = row_of_turn(turn);
    int label = label_column(problem, row);
    if (label >= 0) {
        copy_of(problem, row).start();
    }
    begin_rows_of_call<QUERN_SHORT_ROWS_THREADS>(problem);
    mean_divisor divisor(problem);
    while (__any_sync(0xffffffffu, label != ROW_MISSING)) {
        turn += gridDim.x;
        const int64_t next = row_of_turn(turn);
        const int next_label = label_column(problem, next); /* long before it is needed */
        char *grad = (char *)problem.grad + row * problem.grad_stride * element::bytes;
        const short_row_end end = take_short_row(problem, row, label, grad, divisor);
        __syncwarp(); /* all lanes have read the image and written the gradient */
        if (next_label >= 0) {
            copy_of(problem, next).start();
        }
        end_short_row(problem, row, label, grad, end);
        row = next, label = next_label;
    }
    finish_rows_of_call<QUERN_SHORT_ROWS_THREADS>(problem, gridDim.x);
}

#endif
