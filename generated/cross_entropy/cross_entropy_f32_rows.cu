/*
 * Softmax cross-entropy of whole rows of f32 logits, which blocks or clusters of blocks take in turns.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR, QUERN_CLUSTERS and
 * QUERN_PAIRED_F32.
 * Rendered by gen/ from templates/cross_entropy/rows.cu.j2; do not edit.
 */
#define QUERN_LOGITS f32
#define QUERN_THREADS 128

#include "kernels/cuda/cross_entropy_rows.cuh"

static_assert(sizeof(team_memory) == 336, "the host sets so much aside beside the columns");

extern "C" __global__ void __launch_bounds__(THREADS, QUERN_MOST_BLOCKS_OF_ROWS)
cross_entropy_f32_resident(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_rows(problem);
}
