/*
 * Softmax cross-entropy of f32 logits with portable bits.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_WIDE_VECTOR and QUERN_EARLY_START.
 * Rendered by gen/ from templates/cross_entropy/portable.cu.j2; do not edit.
 */
#include "kernels/cuda/cross_entropy_portable.cuh"

extern "C" __global__ void __launch_bounds__(256, PORTABLE_BLOCKS)
cross_entropy_f32_portable(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_portable<f32>(problem);
}
