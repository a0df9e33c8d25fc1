/*
 * The casts of matrices of each dtype to each 8-bit type: transposed, in blocks of 32 elements or both.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/quantize/quantize_matrix.cu.j2; do not edit.
 */
#include "kernels/cuda/quantize_matrix.cuh"

extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_f32_e4m3(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<f32, e4m3>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_f32_e5m2(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<f32, e5m2>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_f16_e4m3(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<f16, e4m3>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_f16_e5m2(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<f16, e5m2>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_bf16_e4m3(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<bf16, e4m3>(batch);
}
extern "C" __global__ void __launch_bounds__(256, 2)
quantize_matrix_bf16_e5m2(const __grid_constant__ quern_quantize_batch batch) {
    quantize_matrix<bf16, e5m2>(batch);
}
