/*
 * The norm and the accumulation of gradients.  gradients.h documents the functions.
 *
 * Built without contraction: every fused multiply-add is written out.
 */
#include "oracle/gradients.h"

#include <math.h>
#include <string.h>

#include "oracle/dtype.h"

struct exact_norm gradient_norm_exact(const quern_gradient_norm_args *args) {
    struct exact_norm exact = {.found_inf = false};
    long double sum = 0;
    for (int64_t place = 0; place < args->gradient_count; place++) {
        for (int64_t i = 0; i < args->gradients[place].count; i++) {
            const double g = dtype_load(args->grad_dtype, args->gradients[place].grad, i);
            if (!isfinite(g)) exact.found_inf = true;
            sum += (long double)g * (long double)g;
        }
    }
    double scale = args->grad_scale == 0 ? 1 : args->grad_scale;
    if (args->grad_scale_pointer) scale = (double)*args->grad_scale_pointer;
    exact.norm = (double)(sqrtl(sum) / (long double)scale);
    exact.clip = args->max_norm == 0 ? 1 : fmin(1, args->max_norm / (exact.norm + 1e-6));
    return exact;
}

void accumulate_model(const quern_accumulate_args *args) {
    const float scale = (float)args->scale;
    for (int64_t place = 0; place < args->gradient_count; place++) {
        const quern_gradient *gradient = &args->gradients[place];
        for (int64_t i = 0; i < gradient->count; i++)
            gradient->main_grad[i] = fmaf(scale, (float)dtype_load(args->grad_dtype, gradient->grad, i), gradient->main_grad[i]);
        if (args->zero_grads && gradient->count)
            memset(gradient->grad, 0, (size_t)gradient->count * quern_dtype_bytes(args->grad_dtype));
    }
}
