/*
 * A gradient of f32 logits times its upstream gradients.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/cross_entropy/upstream.cu.j2; do not edit.
 */
#include "kernels/cuda/cross_entropy_upstream.cuh"

extern "C" __global__ void __launch_bounds__(256)
cross_entropy_f32_upstream(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_upstream<f32>(problem);
}
