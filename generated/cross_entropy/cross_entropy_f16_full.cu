/*
 * Softmax cross-entropy of f16 logits with all options.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR and QUERN_EARLY_START.
 * Rendered by gen/ from templates/cross_entropy/cross_entropy.cu.j2; do not edit.
 */
#define QUERN_LOGITS f16
#define QUERN_FULL 1
#define QUERN_THREADS 512

#include "kernels/cuda/cross_entropy.cuh"

static_assert(sizeof(quern_row_stats) == 64, "the host sets so much aside for the merged parts, ...");
static_assert(sizeof(part_sums) == 704, "... and so much for each part");

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
cross_entropy_f16_streamed_full(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_streamed(problem);
}
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
cross_entropy_f16_stats_full(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_stats(problem);
}
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
cross_entropy_f16_gradient_full(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_gradient(problem);
}
