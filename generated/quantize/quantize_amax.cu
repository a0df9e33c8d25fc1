/*
 * The largest magnitudes of tensors of each dtype.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/quantize/quantize_amax.cu.j2; do not edit.
 */
#include "kernels/cuda/quantize_amax.cuh"

extern "C" __global__ void __launch_bounds__(256, 4)
quantize_amax_f32(const __grid_constant__ quern_quantize_batch batch) {
    quantize_amax<f32>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
quantize_amax_f16(const __grid_constant__ quern_quantize_batch batch) {
    quantize_amax<f16>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 4)
quantize_amax_bf16(const __grid_constant__ quern_quantize_batch batch) {
    quantize_amax<bf16>(batch);
}
