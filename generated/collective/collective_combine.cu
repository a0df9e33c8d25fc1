/*
 * The reduce-scatter and the all-reduce of GPU ranks, for each dtype: all launches of a call.
 *
 * It is compiled for each target with QUERN_MULTIMEM, QUERN_WIDE_VECTOR, QUERN_BF16_CONVERT and
 * QUERN_EARLY_START.
 * Rendered by gen/ from templates/collective/collective_combine.cu.j2; do not edit.
 */
#define QUERN_THREADS 512

#include "kernels/cuda/collective_combine.cuh"

/* One block is enough on a multiprocessor.  Left to itself ptxas keeps to 64 registers on some targets, and spills. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
collective_f32(const __grid_constant__ quern_collective_problem problem) {
    run_collective<combining<f32>>(problem);
}
extern "C" __global__ void __launch_bounds__(THREADS, 1)
collective_f16(const __grid_constant__ quern_collective_problem problem) {
    run_collective<combining<f16>>(problem);
}
extern "C" __global__ void __launch_bounds__(THREADS, 1)
collective_bf16(const __grid_constant__ quern_collective_problem problem) {
    run_collective<combining<bf16>>(problem);
}
