/*
 * The all-gather and the broadcast of GPU ranks, of any bytes: all launches of a call.
 *
 * It is compiled for each target with QUERN_MULTIMEM, QUERN_WIDE_VECTOR and QUERN_EARLY_START.
 * Rendered by gen/ from templates/collective/collective_move.cu.j2; do not edit.
 */
#define QUERN_THREADS 512

#include "kernels/cuda/collective_move.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
collective_move(const __grid_constant__ quern_collective_problem problem) {
    run_collective<moving>(problem);
}
