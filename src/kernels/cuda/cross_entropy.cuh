/*
 * Softmax cross-entropy of logits of one type, with all options or without (see cross_entropy_layout.cuh).  Included by the sources
 * in generated/cross_entropy/, whose kernels call run_<variant>.  Rows that fit on the chip are left to cross_entropy_rows.cuh and
 * cross_entropy_full_rows.cuh.
 *
 * A row is read twice: the first pass computes the sums of its columns, the second the gradient of each logit.
 *
 *   streamed   one block per row; for rows that do not fit on the chip.  It reads them twice, the second time backwards, to begin
 *              with the bytes that the L2 cache saw last;
 *   stats      the first pass for one part of a row;
 *   gradient   the second pass for one part of a row.
 *
 * The bits of a row's sums depend on the row alone, not on its address or on which of these kernels it has.  The THREADS threads of
 * a block sum one part of QUERN_GPU_PART_BYTES.  They get the columns by their index, in groups of VECTOR_BYTES; the columns that
 * fill no group go one each to the first threads.  If the row is aligned, a group is one vector; otherwise it is loaded 4 bytes at
 * a time and assembled in registers.  A warp first finds the largest of its columns of a part and then the sum of the exponentials
 * relative to it.  The sums of the warps, and those of the parts, are rescaled to one origin (row_stats.cuh).
 *
 * The second pass treats columns independently, so it uses the vectors that are aligned in the logits.  The columns before the
 * first vector and after the last are the edge, again one column for each of the first threads.
 *
 * The label's column is left out of the sums.  Its gradient comes from the other columns: -(sum of the others) / (sum of all) keeps
 * its precision where probability - 1 would cancel.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_CUH

#include "kernels/cuda/cross_entropy_row.cuh"
#include "kernels/cuda/cross_entropy_steps.cuh"

/* The work of a block, by kernel variant. */

static __device__ __forceinline__ int64_t block_of_grid() { return blockIdx.x + blockIdx.y * (int64_t)gridDim.x; }

static __device__ __forceinline__ void run_streamed(const quern_cross_entropy_problem &problem) {
    const int64_t row = block_of_grid();
    if (row < problem.rows) {
        cross_entropy_row(problem, row_options(problem, row), row);
    }
}

static __device__ __forceinline__ void run_stats(const quern_cross_entropy_problem &problem) {
    const int64_t block = block_of_grid(), parts = problem.rows * problem.part_count;
    if (block < parts) {
        const int64_t row = block / problem.part_count;
        sum_part(problem, row_options(problem, row), row, (unsigned)(block - row * problem.part_count));
    }
}

static __device__ __forceinline__ void run_gradient(const quern_cross_entropy_problem &problem) {
    const int64_t block = block_of_grid(), parts = problem.rows * problem.part_count;
    join_launches();
    if (block < parts) {
        const int64_t part = parts - 1 - block; /* backwards: the L2 cache saw the last parts last */
        const int64_t row = part / problem.part_count;
        store_part_gradient(problem, row_options(problem, row), row, (unsigned)(part - row * problem.part_count));
    }
}

#endif
