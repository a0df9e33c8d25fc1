/*
 * The stages of a cross-entropy that have soft targets of all columns, or a gradient of another type than the logits.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_ASYNC_COPY, QUERN_WIDE_VECTOR and QUERN_EARLY_START.
 * Rendered by gen/ from templates/cross_entropy/wide.cu.j2; do not edit.
 */
#define QUERN_LOGITS f32
#define QUERN_FULL 1
#define QUERN_THREADS 256

#include "kernels/cuda/cross_entropy_wide.cuh"

extern "C" __global__ void __launch_bounds__(256)
cross_entropy_soft(const __grid_constant__ quern_columns_problem problem) {
    run_soft<256>(problem);
}
extern "C" __global__ void __launch_bounds__(256)
cross_entropy_wide(const __grid_constant__ quern_columns_problem problem) {
    run_wide<256>(problem);
}
