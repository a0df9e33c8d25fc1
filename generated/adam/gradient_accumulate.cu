/*
 * The accumulation of gradients of each dtype into sums of each dtype.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/adam/gradient_accumulate.cu.j2; do not edit.
 */
#include "kernels/cuda/gradient_accumulate.cuh"

extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_f32(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<f32, f32>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_f32_mainbf16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<f32, bf16>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_f16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<f16, f32>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_f16_mainbf16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<f16, bf16>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_bf16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<bf16, f32>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
adam_gradient_accumulate_bf16_mainbf16(const __grid_constant__ quern_gradient_batch batch) {
    gradient_accumulate<bf16, bf16>(batch);
}
