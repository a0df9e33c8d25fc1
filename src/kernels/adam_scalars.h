/*
 * Computes the scalars of an Adam step.  The host includes it as C and the kernels as CUDA, because with step control a captured
 * graph computes the scalars on the device from the present numbers.  Both must get the same bits.  The code therefore uses only
 * IEEE operations on doubles, each rounded once (both compilers are told not to contract them), and no library function except
 * sqrt.
 */
#ifndef QUERN_ADAM_SCALARS_H
#define QUERN_ADAM_SCALARS_H

#include <math.h>

#include "kernels/problem.h"

#ifdef __CUDACC__
#define QUERN_ADAM_SCALARS static __device__ __forceinline__
#else
#define QUERN_ADAM_SCALARS static inline
#endif

/*
 * 1 - beta^step, without the cancellation of that formula when beta is close to 1.  The loop has one iteration per bit of step:
 * with b_n = 1 - beta^n, b_2n = b_n * (2 - b_n) and b_(n+1) = b_n + (1 - beta) * (1 - b_n).
 */
QUERN_ADAM_SCALARS double quern_adam_bias(double beta, uint64_t step) {
    double b = 0;
    uint64_t bit = 1;
    while (bit <= step / 2) bit *= 2;
    for (; bit; bit /= 2) {
        b = b * (2 - b);
        if (step & bit) b = b + (1 - beta) * (1 - b);
    }
    return b;
}

/* Applies the values of step control, which lie in device memory; the pointers must be readable here. */
QUERN_ADAM_SCALARS void quern_adam_read_control(const struct quern_adam_pointers *control, struct quern_adam_rates *rates) {
    if (control->lr) rates->lr = (double)*control->lr;
    if (control->step) rates->step = (uint64_t)*control->step + 1;
    if (control->grad_scale) rates->grad_scale = (double)*control->grad_scale;
    if (control->clip) rates->clip = (double)*control->clip;
}

/* Sets the members that depend on the rates; the rest of *scalars is unchanged. */
QUERN_ADAM_SCALARS void quern_adam_set_scalars(const struct quern_adam_rates *rates, struct quern_adam_step *scalars) {
    const double bias2 = quern_adam_bias(rates->beta2, rates->step);
    const float grad_factor = (float)(rates->clip / rates->grad_scale);
    scalars->step_size = (float)(rates->lr / quern_adam_bias(rates->beta1, rates->step));
    scalars->inverse_sqrt_bias2 = (float)(1 / sqrt(bias2));
    scalars->inverse_bias2 = (float)(1 / bias2);
    scalars->decoupled_decay = (float)(rates->lr * rates->decoupled_decay);
    scalars->grad_factor = rates->maximize ? -grad_factor : grad_factor;
    scalars->step = (uint32_t)rates->step;
}

/* Those that depend on the step, for a tensor that has taken so many. */
QUERN_ADAM_SCALARS struct quern_adam_tensor_step quern_adam_step_of_tensor(struct quern_adam_rates rates, int64_t taken) {
    struct quern_adam_step scalars;
    struct quern_adam_tensor_step own;
    rates.step = (uint64_t)taken + 1;
    quern_adam_set_scalars(&rates, &scalars);
    own.step_size = scalars.step_size;
    own.inverse_sqrt_bias2 = scalars.inverse_sqrt_bias2;
    own.inverse_bias2 = scalars.inverse_bias2;
    own.step = scalars.step;
    return own;
}

#endif
