/*
 * Adam, one step over a list of tensors with all options: bf16 parameters, f32 gradients, every type of state.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT, QUERN_FP8_CONVERT, QUERN_PAIRED_F32 and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/adam/adam.cu.j2; do not edit.
 */
#include "kernels/cuda/adam.cuh"

enum { THREADS = 256 };

/* A lane processes as many groups of eight elements at once as registers allow. */
template <class M, class V, class Master>
using shares = adam_shares<bf16, f32, M, V, Master, true, 1>;

extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mf32_vf32_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<f32, f32, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mf32_vf32_remainder_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<f32, f32, remainder16>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mf16_vf16_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<f16, f16, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mbf16_vbf16_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<bf16, bf16, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mbf16_vbf16_remainder_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<bf16, bf16, remainder16>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mbf16_ve4m3_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<bf16, e4m3, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_mbf16_ve5m2_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<bf16, e5m2, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_me4m3_ve4m3_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<e4m3, e4m3, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_me4m3_ve5m2_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<e4m3, e5m2, f32>, THREADS>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gf32_me5m2_ve5m2_master32_full(const __grid_constant__ quern_adam_full_batch batch) {
    adam<shares<e5m2, e5m2, f32>, THREADS>(batch);
}
