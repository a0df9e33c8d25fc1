/*
 * Softmax cross-entropy of rows of f16 logits that are too long for the chip, which blocks take in turns.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR and QUERN_PAIRED_F32.
 * Rendered by gen/ from templates/cross_entropy/streamed.cu.j2; do not edit.
 */
#define QUERN_LOGITS f16
#define QUERN_THREADS 256

#include "kernels/cuda/cross_entropy_streamed_rows.cuh"

static_assert(sizeof(team_memory) == 352, "the host sets at least so much aside");

extern "C" __global__ void __launch_bounds__(THREADS, 1)
cross_entropy_f16_streamed(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_streamed_rows(problem);
}
