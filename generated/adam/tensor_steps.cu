/*
 * The steps of the tensors of a list, each with a count of its own.
 *
 * Rendered by gen/ from templates/adam/tensor_steps.cu.j2; do not edit.
 */
#include "kernels/cuda/adam_tensor_steps.cuh"

extern "C" __global__ void __launch_bounds__(256)
adam_tensor_steps(const __grid_constant__ quern_adam_steps_problem problem) {
    count_steps(problem);
}
