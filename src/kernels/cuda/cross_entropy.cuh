/*
 * Softmax cross-entropy of logits of one type, with all options or without (see cross_entropy_layout.cuh).
 *
 * A row is read twice: the first pass finds the sums of its columns, the second turns each logit into its gradient.
 *
 *   resident   one block per row; keeps the row in shared memory between the passes, so that DRAM sees each logit read once and
 *              each gradient written once;
 *   streamed   one block per row; takes rows that do not fit there and reads them twice, the second time backwards, so that it
 *              begins with the bytes that the L2 cache saw last;
 *   cluster    the blocks of a cluster for each row, of which each keeps some parts: as resident, for rows far longer;
 *   stats      the first pass for one part of a row;
 *   gradient   the second pass for one part of a row.
 *
 * The bits of a row's sums depend on the row alone, not on where it lies or on which kernel sums it: a part of QUERN_GPU_PART_BYTES
 * is summed by the THREADS threads of a block, the columns dealt out to them by their index in groups of VECTOR_BYTES; those
 * that fill no group go one each to the first threads.  Where the row is aligned, a group is one vector; elsewhere it is loaded
 * 4 bytes at a time and put together in registers.  A warp finds the largest of its columns of a part first and then the sum of the
 * exponentials relative to it; the sums of the warps, and those of the parts, are brought to one origin (row_stats.cuh).
 *
 * The second pass treats each column for itself, so it goes by the vectors that are aligned in memory: those of the gradient
 * where the row lies in shared memory, else those of the logits.  The columns before the first of them and after the last
 * are the edge, again one column for each of the first threads.
 *
 * The label's column is kept out of the sums, and its gradient comes from that of the others: -(sum of the others) / (sum of all)
 * keeps its precision where probability - 1 would cancel.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_CUH

#if QUERN_CLUSTERS
#include "kernels/cuda/cross_entropy_cluster.cuh"
#endif
#include "kernels/cuda/cross_entropy_row.cuh"
#include "kernels/cuda/cross_entropy_steps.cuh"

/* Each kernel by its variant: a block's work. */

static __device__ __forceinline__ int64_t block_of_grid() { return blockIdx.x + blockIdx.y * (int64_t)gridDim.x; }

template <bool RESIDENT> static __device__ __forceinline__ void run_row(const quern_cross_entropy_problem &problem) {
    const row_options options(problem);
    const int64_t row = block_of_grid();
    if (row < problem.rows) {
        cross_entropy_row<RESIDENT>(problem, options, row);
    }
}

static __device__ __forceinline__ void run_resident(const quern_cross_entropy_problem &problem) { run_row<true>(problem); }

static __device__ __forceinline__ void run_streamed(const quern_cross_entropy_problem &problem) { run_row<false>(problem); }

#if QUERN_CLUSTERS
static __device__ __forceinline__ void run_cluster(const quern_cross_entropy_problem &problem) {
    const row_options options(problem);
    const int64_t row = block_of_grid() / blocks_of_cluster();
    if (row < problem.rows) {
        cross_entropy_row_in_cluster(problem, options, row);
    }
}
#endif

static __device__ __forceinline__ void run_stats(const quern_cross_entropy_problem &problem) {
    const row_options options(problem);
    const int64_t block = block_of_grid(), parts = problem.rows * problem.part_count;
    if (block < parts) {
        sum_part(problem, options, block / problem.part_count, (unsigned)(block % problem.part_count));
    }
}

static __device__ __forceinline__ void run_gradient(const quern_cross_entropy_problem &problem) {
    const row_options options(problem);
    const int64_t block = block_of_grid(), parts = problem.rows * problem.part_count;
    if (block < parts) {
        const int64_t part = parts - 1 - block; /* backwards: the L2 cache saw the last parts last */
        store_part_gradient(problem, options, part / problem.part_count, (unsigned)(part % problem.part_count));
    }
}

#endif
