/*
 * A gradient of bf16 logits times its upstream gradients.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/cross_entropy/upstream.cu.j2; do not edit.
 */
#include "kernels/cuda/cross_entropy_upstream.cuh"

extern "C" __global__ void __launch_bounds__(256)
cross_entropy_bf16_upstream(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_upstream<bf16>(problem);
}
