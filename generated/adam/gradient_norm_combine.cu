/*
 * The norm of a list of gradients from the sums of squares of its tiles.
 *
 * Rendered by gen/ from templates/adam/gradient_norm_combine.cu.j2; do not edit.
 */
#include "kernels/cuda/gradient_norm_combine.cuh"

extern "C" __global__ void __launch_bounds__(256)
adam_gradient_norm_combine(const __grid_constant__ quern_gradient_norm_problem problem, double *totals) {
    gradient_norm_combine<256>(problem, totals);
}
