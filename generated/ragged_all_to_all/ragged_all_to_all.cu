/*
 * A ragged all-to-all: the launch of its entry and that of its copy, on each GPU.
 *
 * It is compiled for each target with QUERN_MULTIMEM and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/ragged_all_to_all/ragged_all_to_all.cu.j2; do not edit.
 */
#define QUERN_THREADS 512

#include "kernels/cuda/ragged_all_to_all.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2)
ragged_all_to_all(const __grid_constant__ quern_ragged_problem problem) {
    run_ragged_all_to_all(problem);
}
