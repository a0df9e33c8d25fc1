/*
 * Counts the step of each tensor of a list that has steps of its own, and computes the scalars that depend on them: one thread for
 * each tensor, before the launches of the step.  Included by the source of this kernel in generated/adam/.
 */
#ifndef QUERN_DEVICE_ADAM_TENSOR_STEPS_CUH
#define QUERN_DEVICE_ADAM_TENSOR_STEPS_CUH

#include "kernels/adam_scalars.h"
#include "kernels/problem.h"

/* A step that found_inf skips is not counted, and needs no scalars. */
static __device__ __forceinline__ void count_steps(const quern_adam_steps_problem &problem) {
    const int64_t place = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (place >= problem.tensor_count || (problem.control.found_inf && *problem.control.found_inf != 0.0f)) {
        return;
    }
    quern_adam_rates rates = problem.rates;
    quern_adam_read_control(&problem.control, &rates);
    const int64_t taken = problem.steps[place];
    problem.tensor_steps[place] = quern_adam_step_of_tensor(rates, taken);
    problem.steps[place] = taken + 1;
}

#endif
