/*
 * Softmax cross-entropy of whole rows of bf16 logits with all options, which blocks or clusters of blocks take in turns.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR, QUERN_CLUSTERS and
 * QUERN_PAIRED_F32, and with QUERN_EARLY_START.
 * Rendered by gen/ from templates/cross_entropy/rows.cu.j2; do not edit.
 */
#define QUERN_LOGITS bf16
#define QUERN_TEAM_BYTES 1280
#define QUERN_THREADS 128

#include "kernels/cuda/cross_entropy_full_rows.cuh"

static_assert(sizeof(team_memory) + sizeof(full_team_memory) == 1280, "the host sets so much aside beside the columns");

extern "C" __global__ void __launch_bounds__(THREADS, QUERN_MOST_BLOCKS_OF_FULL_ROWS)
cross_entropy_bf16_resident_full(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_full_rows(problem);
}
