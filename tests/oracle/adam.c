/*
 * The model and the exact formula of Adam's step.  adam.h documents the functions.
 *
 * Built without contraction: every fused multiply-add is written out.
 */
#include "oracle/adam.h"

#include <math.h>
#include <string.h>

#include "oracle/dtype.h"

/* ---- derived arguments ---- */

/* As given or, without the cancellation, 1 - beta^step. */
static long double bias_correction(double given, double beta, int64_t step) {
    return given != 0 ? (long double)given : beta == 0 ? 1 : -expm1l((long double)step * logl((long double)beta));
}

/* The arguments, with the values of control in their fields: lr, step, grad_scale. */
static quern_adam_args resolve(const quern_adam_args *args) {
    quern_adam_args resolved = *args;
    const quern_adam_control *control = &args->control;
    if (control->lr) resolved.lr = (double)*control->lr;
    if (control->step) resolved.step = *control->step + 1;
    if (args->bias1 != 0 || args->bias2 != 0) {  /* step 1 counts for random bits only */
        resolved.bias1 = (double)bias_correction(args->bias1, args->beta1, args->step);
        resolved.bias2 = (double)bias_correction(args->bias2, args->beta2, args->step);
        resolved.step = 1;
    }
    if (control->grad_scale) resolved.grad_scale = (double)*control->grad_scale;
    else if (args->grad_scale == 0) resolved.grad_scale = 1;
    return resolved;
}

static bool is_skipped(const quern_adam_args *args) { return args->control.found_inf && *args->control.found_inf != 0; }

static double clip_of(const quern_adam_args *args) { return args->control.clip ? (double)*args->control.clip : 1; }

struct scalars {
    float grad_factor, one_minus_beta1, one_minus_beta2, step_size, inverse_sqrt_bias2, inverse_bias2, eps;
    float decoupled_decay, l2_decay;
};

/* args are resolved. */
static struct scalars scalars_of(const quern_adam_args *args, const quern_adam_tensor *tensor) {
    const bool l2 = args->mode == QUERN_ADAM_L2;
    const float grad_factor = (float)(clip_of(args) / args->grad_scale);
    struct scalars scalars = {
        .grad_factor = args->maximize ? -grad_factor : grad_factor, .one_minus_beta1 = (float)(1 - args->beta1),
        .one_minus_beta2 = (float)(1 - args->beta2),
        .step_size = (float)((long double)args->lr / bias_correction(args->bias1, args->beta1, args->step)),
        .inverse_sqrt_bias2 = (float)(1 / sqrtl(bias_correction(args->bias2, args->beta2, args->step))),
        .inverse_bias2 = (float)(1 / bias_correction(args->bias2, args->beta2, args->step)), .eps = (float)args->eps,
        .decoupled_decay = l2 ? 0 : (float)(args->lr * args->weight_decay), .l2_decay = l2 ? (float)args->weight_decay : 0,
    };
    if (args->use_multipliers) {
        scalars.step_size *= tensor->lr_multiplier;
        scalars.decoupled_decay = scalars.decoupled_decay * tensor->lr_multiplier * tensor->weight_decay_multiplier;
        scalars.l2_decay *= tensor->weight_decay_multiplier;
    }
    return scalars;
}

/* ---- the model: fp32, operation by operation ---- */

/* The new values of a run of elements that share a scale, before any is rounded for storage. */
struct run {
    int64_t first, count;
    float p[QUERN_SCALE_BLOCK], m[QUERN_SCALE_BLOCK], v[QUERN_SCALE_BLOCK], v_max[QUERN_SCALE_BLOCK];
};

static float load_param(const quern_adam_args *args, const quern_adam_tensor *t, int64_t i) {
    if (args->master_dtype == QUERN_F32) return ((const float *)t->master)[i];
    if (args->master_dtype == QUERN_REMAINDER) return adam_join_master(((uint16_t *)t->param)[i], ((uint16_t *)t->master)[i]);
    return (float)dtype_load(args->param_dtype, t->param, i);
}

static float denominator_of(const quern_adam_args *args, const struct scalars *s, float v) {
    if (args->eps_mode == QUERN_EPS_INSIDE) return sqrtf(fmaf(v, s->inverse_bias2, s->eps));
    return fmaf(sqrtf(v), s->inverse_sqrt_bias2, s->eps);
}

static void compute_element(const quern_adam_args *args, const struct scalars *s, const quern_adam_tensor *t, struct run *run,
                            int64_t k) {
    const int64_t i = run->first + k;
    float p = load_param(args, t, i);
    float g = (float)dtype_load(args->grad_dtype, t->grad, i) * s->grad_factor;
    float m = adam_load_moment(args->m_dtype, t->m, t->m_scale, i);
    float v = adam_load_moment(args->v_dtype, t->v, t->v_scale, i);

    if (s->l2_decay != 0) g = fmaf(s->l2_decay, p, g);
    float difference = g - m;
    float m1 = fmaf(s->one_minus_beta1, difference, m);
    float v1 = isinf(v) ? v : fmaf(s->one_minus_beta2, fmaf(g, g, -v), v);
    float largest = v1;
    if (args->amsgrad) {
        float v_max = adam_load_moment(args->v_dtype, t->v_max, t->v_max_scale, i);
        largest = v1 > v_max || isnan(v1) ? v1 : v_max;
    }
    float update = m1 == 0 ? 0 : m1 / denominator_of(args, s, largest);
    float scaled = s->step_size * update;
    float delta = s->decoupled_decay == 0 ? scaled : fmaf(s->decoupled_decay, p, scaled);
    run->p[k] = p - delta, run->m[k] = m1, run->v[k] = v1, run->v_max[k] = largest;
}

/* ---- storing ---- */

static void store_params(const quern_adam_args *args, int64_t place, const struct run *run) {
    const quern_adam_tensor *t = &args->tensors[place];
    const bool stochastic = adam_is_stochastic(args, ADAM_PARAM);
    for (int64_t k = 0, i = run->first; k < run->count; k++, i++) {
        float p = run->p[k];
        if (args->master_dtype == QUERN_F32) ((float *)t->master)[i] = p;
        if (args->master_dtype == QUERN_REMAINDER)
            adam_split_master(p, (uint16_t *)t->param + i, (uint16_t *)t->master + i);
        else if (args->param_dtype == QUERN_F32)
            ((float *)t->param)[i] = p;
        else
            ((uint16_t *)t->param)[i] = stochastic
                ? adam_round_stochastic(args->param_dtype, p, adam_random_bits(args, place, i, ADAM_PARAM))
                : adam_round_nearest(args->param_dtype, p);
    }
}

static void store_moments(const quern_adam_args *args, int64_t place, const struct run *run) {
    const quern_adam_tensor *t = &args->tensors[place];
    uint32_t random[2][QUERN_SCALE_BLOCK];
    for (int64_t k = 0; k < run->count; k++) {
        random[ADAM_V][k] = adam_random_bits(args, place, run->first + k, ADAM_V);
        random[ADAM_M][k] = adam_random_bits(args, place, run->first + k, ADAM_M);
    }
    adam_store_moment(args->m_dtype, t->m, t->m_scale, run->first, run->count, run->m, false,
                      adam_is_stochastic(args, ADAM_M) ? random[ADAM_M] : NULL);
    adam_store_moment(args->v_dtype, t->v, t->v_scale, run->first, run->count, run->v, true,
                      adam_is_stochastic(args, ADAM_V) ? random[ADAM_V] : NULL);
    if (args->amsgrad)
        adam_store_moment(args->v_dtype, t->v_max, t->v_max_scale, run->first, run->count, run->v_max, true, NULL);
}

/* The master or, without one, the stored parameter. */
static void store_copies(const quern_adam_args *args, const quern_adam_tensor *t, const struct run *run) {
    const double largest = dtype_largest(args->copy_dtype);
    const bool is_narrow = quern_dtype_bytes(args->copy_dtype) == 1;
    for (int64_t k = 0, i = run->first; k < run->count; k++, i++) {
        float value = args->master_dtype ? run->p[k] : (float)dtype_load(args->param_dtype, t->param, i);
        if (t->copy_max && isfinite(value)) *t->copy_max = fmaxf(*t->copy_max, fabsf(value));
        if (is_narrow && t->copy_scale) value *= *t->copy_scale;
        if (is_narrow && fabs((double)value) > largest) value = copysignf((float)largest, value);
        dtype_store(args->copy_dtype, t->copy, i, (double)value);
    }
}

/* ---- the step ---- */

static void model_range(const quern_adam_args *args, int64_t place, int64_t first, int64_t end) {
    const quern_adam_tensor *t = &args->tensors[place];
    const struct scalars scalars = scalars_of(args, t);
    while (first < end) {
        const int64_t next = (first / QUERN_SCALE_BLOCK + 1) * QUERN_SCALE_BLOCK;
        struct run run = {.first = first, .count = (next < end ? next : end) - first};
        for (int64_t k = 0; k < run.count; k++) compute_element(args, &scalars, t, &run, k);
        store_params(args, place, &run);
        store_moments(args, place, &run);
        if (args->copy_dtype) store_copies(args, t, &run);
        first = next;
    }
}

/* Those of one tensor, which may have a step of its own. */
static quern_adam_args resolve_at(const quern_adam_args *args, int64_t place) {
    quern_adam_args resolved = resolve(args);
    if (args->steps) resolved.step = args->steps[place] + 1;
    return resolved;
}

void adam_model_range(const quern_adam_args *args, int64_t place, int64_t first, int64_t end) {
    const quern_adam_args resolved = resolve_at(args, place);
    model_range(&resolved, place, first, end);
}

void adam_model_step(const quern_adam_args *args) {
    const bool skipped = is_skipped(args);
    for (int64_t place = 0; place < args->tensor_count; place++) {
        const quern_adam_tensor *t = &args->tensors[place];
        const quern_adam_args resolved = resolve_at(args, place);
        if (!skipped) model_range(&resolved, place, 0, t->count);
        if (args->steps && !skipped) args->steps[place]++;
        if (args->zero_grads && t->count) memset(t->grad, 0, (size_t)t->count * quern_dtype_bytes(args->grad_dtype));
    }
    if (args->control.step && !skipped) ++*args->control.step;
}

/* ---- the exact step: double, as in the papers ---- */

/* The error of old + weight * (new - old): two fp32 ulps of the result or 1e-6 of it, and the roundings of the difference. */
static double tolerance_of(double result, double weight, double difference) {
    double last = fmax(2 * dtype_ulp(QUERN_F32, result), 1e-6 * fabs(result));
    return last + 2 * weight * dtype_ulp(QUERN_F32, difference);
}

/* The step of one element: its size and its error. */
static void exact_update(const quern_adam_args *args, double lr, struct adam_exact *exact, double *step, double *error) {
    const double bias1 = args->bias1 != 0 ? args->bias1 : 1 - pow(args->beta1, (double)args->step);
    const double bias2 = args->bias2 != 0 ? args->bias2 : 1 - pow(args->beta2, (double)args->step);
    const double v = args->amsgrad ? exact->v_max : exact->v;
    const double denominator = args->eps_mode == QUERN_EPS_INSIDE ? sqrt(v / bias2 + args->eps) : sqrt(v / bias2) + args->eps;
    *step = exact->m == 0 ? 0 : lr * (exact->m / bias1) / denominator;
    *error = denominator == 0 ? 0 : lr * (exact->m_tolerance / bias1) / denominator;
    if (v > 0) *error += fabs(*step) * exact->v_tolerance / (2 * v);
}

struct adam_exact adam_exact_element(const quern_adam_args *args, const quern_adam_tensor *tensor, struct adam_element e) {
    const quern_adam_args resolved = resolve(args);
    const double lr_multiplier = args->use_multipliers ? (double)tensor->lr_multiplier : 1;
    const double decay_multiplier = args->use_multipliers ? (double)tensor->weight_decay_multiplier : 1;
    const double lr = resolved.lr * lr_multiplier, weight_decay = args->weight_decay * decay_multiplier;

    const double unscaled = (args->maximize ? -1 : 1) * e.grad * clip_of(args) / resolved.grad_scale;
    const double l2_term = args->mode == QUERN_ADAM_L2 ? weight_decay * e.param : 0, g = unscaled + l2_term;
    const double g_tolerance = 2 * dtype_ulp(QUERN_F32, fmax(fabs(unscaled), fabs(l2_term)));
    struct adam_exact exact = {
        .m = args->beta1 * e.m + (1 - args->beta1) * g,
        .v = args->beta2 * e.v + (1 - args->beta2) * g * g,
    };
    exact.v_max = fmax(exact.v, e.v_max);
    exact.m_tolerance = tolerance_of(exact.m, 1 - args->beta1, g - e.m) + (1 - args->beta1) * g_tolerance;
    exact.v_tolerance = tolerance_of(exact.v, 1 - args->beta2, g * g - e.v) + (1 - args->beta2) * 2 * fabs(g) * g_tolerance;

    double step, step_error;
    exact_update(&resolved, lr, &exact, &step, &step_error);
    const double decay = args->mode == QUERN_ADAMW ? lr * weight_decay * e.param : 0;
    exact.param = e.param - step - decay;
    exact.param_tolerance = dtype_ulp(QUERN_F32, exact.param) + dtype_ulp(QUERN_F32, e.param)
                          + 1e-6 * (fabs(step) + fabs(decay)) + step_error;
    return exact;
}
