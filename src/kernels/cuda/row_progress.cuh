/*
 * What a grid of rows does for the whole call, so that it takes no further launches: all blocks count the labels, which give the
 * mean's divisor and the report, and the last one sums the losses.  Included by row_team.cuh and cross_entropy_short_rows.cuh.
 *
 * No block waits for another one.  The last one is that in time, not by its number.
 *
 * The host has set the progress to 0 on the call's stream, also in each replay of a graph: it may be that of a call that ended
 * early.
 */
#ifndef QUERN_DEVICE_ROW_PROGRESS_CUH
#define QUERN_DEVICE_ROW_PROGRESS_CUH

#include "kernels/cuda/row_chunks.cuh"

static __device__ __forceinline__ bool counts_labels(const quern_cross_entropy_problem &problem) {
    return problem.progress && (problem.divisor || problem.report);
}

/* By all threads of a block, when the copy of its first row has started.  Kernels that know class weights do not come here. */
template <int BLOCK> static __device__ __noinline__ void begin_rows(const quern_cross_entropy_problem &problem) {
    count_own_slices<BLOCK>(problem);
}

template <int BLOCK> static __device__ __forceinline__ void begin_rows_of_call(const quern_cross_entropy_problem &problem) {
    if (counts_labels(problem)) {
        begin_rows<BLOCK>(problem);
    }
}

/* ---- the mean's divisor ---- */

/* By a warp; the same in all lanes. */
template <int COUNT> static __device__ __forceinline__ float divisor_of_call(const quern_cross_entropy_problem &problem) {
    return (float)(problem.progress ? (double)gather_counted<COUNT>(problem) : problem.divisor[0]);
}

/*
 * The divisor of the scales of the gradient's rows.  A block learns it behind the sums of the first row that has a gradient: until
 * then others count their labels.  It is 1 before, and if there is none.  Kept by a warp.
 */
struct mean_divisor {
    bool is_open; /* it will be needed and has not been learnt */
    float value;

    __device__ __forceinline__ explicit mean_divisor(const quern_cross_entropy_problem &problem)
        : is_open(problem.divisor && problem.grad), value(1.0f) {}

    /* A row's scale.  Before the sums, where what it takes is hidden. */
    __device__ __forceinline__ float divide(float scale) const { return value != 0.0f ? __fdiv_rn(scale, value) : 0.0f; }

    /* Behind the sums; divides what divide() gave before them.  COUNT: see get_words. */
    template <int COUNT> __device__ __forceinline__ void learn(const quern_cross_entropy_problem &problem, float &scale) {
        if (is_open) {
            is_open = false;
            value = divisor_of_call<COUNT>(problem);
            scale = divide(scale);
        }
    }
};

/* ---- the end ---- */

/* Whether it is true in one of the block's threads.  Then all see what that thread has seen. */
template <int BLOCK> static __device__ __forceinline__ bool any_of_block(bool mine) {
    if (BLOCK == 32) {
        const bool any = __any_sync(0xffffffffu, mine);
        __syncwarp(); /* a vote alone orders no memory */
        return any;
    }
    return __syncthreads_or(mine);
}

/* By the first warp of the last block. */
static __device__ __forceinline__ void report_labels(const quern_cross_entropy_problem &problem) {
    const quern_label_counts all = gather_counts(problem);
    if (threadIdx.x == 0) {
        store_label_counts(problem, all);
        if (problem.report) {
            problem.report->infinite_rows = (int64_t)problem.progress->infinite_rows;
        }
    }
}

/* By all threads of a block that has written the losses of all its rows.  writers: the blocks that write losses. */
template <int BLOCK> static __device__ __noinline__ void finish_rows(const quern_cross_entropy_problem &problem, uint32_t writers) {
    quern_rows_progress *const progress = problem.progress;
    wait_for_block<BLOCK>(); /* all threads have written them */
    if (!any_of_block<BLOCK>(threadIdx.x == 0 && add_acquire_release_device(&progress->finished, 1) == writers - 1)) {
        return;
    }
    if (threadIdx.x < 32 && counts_labels(problem)) {
        report_labels(problem);
    }
    if (problem.loss && problem.rows <= BLOCK / 32 * QUERN_MOST_CHUNKS_OF_WARP * QUERN_ROWS_OF_CHUNK) {
        const double sum = sum_all_losses<BLOCK>(problem, progress->of_warp);
        if (threadIdx.x == 0) {
            store_loss(problem, sum);
        }
    }
}

template <int BLOCK>
static __device__ __forceinline__ void finish_rows_of_call(const quern_cross_entropy_problem &problem, uint32_t writers) {
    if (problem.progress && (problem.loss || problem.report)) {
        finish_rows<BLOCK>(problem, writers);
    }
}

#endif
