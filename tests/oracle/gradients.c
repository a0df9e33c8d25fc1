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

/* The group's number of tokens; any other number than 0 for a gradient that always counts. */
static int64_t tokens_of(const quern_accumulate_args *args, int64_t place) {
    const int64_t group = args->token_places ? args->token_places[place] : place;
    return !args->token_counts || group == -1 ? 1 : args->token_counts[group];
}

/* The exact product has 48 bits at most, which a double holds. */
static float next_sum(float scale, double grad, double sum, bool overwrite) {
    return overwrite ? (float)((double)scale * grad) : fmaf(scale, (float)grad, (float)sum);
}

static void accumulate_one(const quern_accumulate_args *args, int64_t place) {
    const quern_gradient *gradient = &args->gradients[place];
    const quern_dtype main_dtype = args->main_dtype ? args->main_dtype : QUERN_F32;
    const bool overwrite = args->overwrite_flags ? args->overwrite_flags[place] != 0 : args->overwrite != 0;
    const bool is_empty = tokens_of(args, place) <= 0;
    for (int64_t i = 0; i < gradient->count; i++) {
        const double sum = overwrite ? 0 : dtype_load(main_dtype, gradient->main_grad, i);
        if (is_empty && overwrite) dtype_store(main_dtype, gradient->main_grad, i, 0);
        if (is_empty) continue;
        const double grad = dtype_load(args->grad_dtype, gradient->grad, i);
        dtype_store(main_dtype, gradient->main_grad, i, (double)next_sum((float)args->scale, grad, sum, overwrite));
    }
    if (args->zero_grads && gradient->count && !is_empty)
        memset(gradient->grad, 0, (size_t)gradient->count * quern_dtype_bytes(args->grad_dtype));
}

void accumulate_model(const quern_accumulate_args *args) {
    for (int64_t place = 0; place < args->gradient_count; place++) accumulate_one(args, place);
}
