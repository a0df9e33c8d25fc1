/*
 * The sums of squares of gradients of each dtype.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/adam/gradient_norm.cu.j2; do not edit.
 */
#include "kernels/cuda/gradient_norm.cuh"

extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_norm_f32(const __grid_constant__ quern_gradient_batch batch) {
    gradient_norm<f32>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_norm_f16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_norm<f16>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_norm_bf16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_norm<bf16>(batch);
}
