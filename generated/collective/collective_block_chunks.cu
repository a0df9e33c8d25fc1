/*
 * The cast of quantised chunks in blocks with scales of their own into the memory of all members, for each input dtype and each 8-bit
 * type.
 *
 * It is compiled for each target with QUERN_MULTIMEM, QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and
 * QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/collective/collective_block_chunks.cu.j2; do not edit.
 */
#include "kernels/cuda/chunks_blocks.cuh"

extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_f32_e4m3(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<f32, e4m3, 512>(problem);
}
extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_f32_e5m2(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<f32, e5m2, 512>(problem);
}
extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_f16_e4m3(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<f16, e4m3, 512>(problem);
}
extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_f16_e5m2(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<f16, e5m2, 512>(problem);
}
extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_bf16_e4m3(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<bf16, e4m3, 512>(problem);
}
extern "C" __global__ void __launch_bounds__(512, 1)
collective_block_chunks_bf16_e5m2(const __grid_constant__ quern_chunks_cast_problem problem) {
    cast_block_chunks<bf16, e5m2, 512>(problem);
}
