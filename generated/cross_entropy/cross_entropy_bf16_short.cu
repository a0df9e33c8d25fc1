/*
 * Softmax cross-entropy of short rows of bf16 logits, of which a warp takes several at once.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR and QUERN_PAIRED_F32.
 * Rendered by gen/ from templates/cross_entropy/short.cu.j2; do not edit.
 */
#include "kernels/problem.h"

#define QUERN_LOGITS bf16
#define QUERN_THREADS (32 / QUERN_SHORT_ROWS)
#define QUERN_ROOM_BYTES (128 / QUERN_SHORT_ROWS)

#include "kernels/cuda/cross_entropy_short_rows.cuh"

static_assert(8 == QUERN_SHORT_ROWS * element::bytes, "the host sets so much aside for the columns");

extern "C" __global__ void __launch_bounds__(32, QUERN_MOST_BLOCKS_OF_SHORT_ROWS)
cross_entropy_bf16_short(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_short_rows(problem);
}
