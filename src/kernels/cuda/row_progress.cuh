/*
 * What a grid of rows does for the whole call, so that it takes no further launches: the first block counts the labels, which give
 * the mean's divisor and the report, and the last one sums the losses.  Included by row_turns.cuh, cross_entropy_short_rows.cuh and
 * cross_entropy_streamed_rows.cuh.
 *
 * First and last are those that are so in time, not by their number.  So there is no deadlock, however few of the grid's blocks the
 * device holds at once (MIG, MPS, other kernels): who waits has found that another block has begun; that one counts without waiting
 * for any block, and CUDA promises that a thread which has begun goes on.  The blocks of a cluster begin together.
 *
 * The host has set the progress to 0 on the call's stream, also in each replay of a graph: it may be that of a call that ended
 * early.
 */
#ifndef QUERN_DEVICE_ROW_PROGRESS_CUH
#define QUERN_DEVICE_ROW_PROGRESS_CUH

#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/row_chunks.cuh"

/* Whether it is true in one of the block's threads.  Then all see what that thread has seen. */
template <int BLOCK> static __device__ __forceinline__ bool any_of_block(bool mine) {
    if (BLOCK == 32) {
        const bool any = __any_sync(0xffffffffu, mine);
        __syncwarp(); /* a vote alone orders no memory */
        return any;
    }
    return __syncthreads_or(mine);
}

/*
 * By all threads of a block, after the copy of its first row has started: then the divisor can be read.  Kernels that know class
 * weights do not come here.
 */
template <int BLOCK> static __device__ __noinline__ void begin_rows(const quern_cross_entropy_problem &problem) {
    quern_rows_progress *const progress = problem.progress;
    if (!any_of_block<BLOCK>(threadIdx.x == 0 && atomicAdd(&progress->begun, 1u) == 0)) {
        if (threadIdx.x == 0) {
            while (!load_relaxed_device(&progress->counted)) {
            }
            load_acquire_device(&progress->counted); /* alone: each empties the cache */
        }
        wait_for_block<BLOCK>();
        return;
    }
    const quern_label_counts all = count_all_labels<BLOCK, false>(problem, progress->of_warp);
    if (threadIdx.x == 0) {
        store_label_counts(problem, all);
        if (problem.report) {
            problem.report->infinite_rows = 0;
        }
        store_release_device(&progress->counted, 1);
    }
    wait_for_block<BLOCK>();
}

/* By all threads of a block that has written the losses of all its rows.  writers: the blocks that write losses. */
template <int BLOCK> static __device__ __noinline__ void finish_rows(const quern_cross_entropy_problem &problem, uint32_t writers) {
    quern_rows_progress *const progress = problem.progress;
    wait_for_block<BLOCK>(); /* all threads have written them */
    if (any_of_block<BLOCK>(threadIdx.x == 0 && add_acquire_release_device(&progress->finished, 1) == writers - 1)) {
        const double sum = sum_all_losses<BLOCK>(problem, (double *)progress->of_warp);
        if (threadIdx.x == 0) {
            store_loss(problem, sum);
        }
    }
}

template <int BLOCK> static __device__ __forceinline__ void begin_rows_of_call(const quern_cross_entropy_problem &problem) {
    if (problem.progress && (problem.divisor || problem.report)) {
        begin_rows<BLOCK>(problem);
    }
}

template <int BLOCK>
static __device__ __forceinline__ void finish_rows_of_call(const quern_cross_entropy_problem &problem, uint32_t writers) {
    if (problem.progress && problem.loss) {
        finish_rows<BLOCK>(problem, writers);
    }
}

#endif
