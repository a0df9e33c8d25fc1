/* Built without contraction: every fused multiply-add is written out. */
#include "oracle/adam.h"

#include <math.h>
#include <string.h>

#include "oracle/dtype.h"
#include "oracle/philox.h"

/* ---- rounding ---- */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t adam_round_nearest(quern_dtype dtype, float value) {
    uint16_t stored;
    dtype_store(dtype, &stored, 0, (double)value);
    return stored;
}

static uint16_t round_stochastic_bf16(float value, uint32_t random) {
    uint32_t bits = bits_of(value);
    uint32_t up = bits + random;
    bool overflows = (up & 0x7F800000u) == 0x7F800000u;
    return (uint16_t)((overflows ? bits : up) >> 16);
}

static uint16_t round_stochastic_f16(float value, uint32_t random) {
    uint32_t cut = random >> 3;
    float magnitude = fabsf(value);
    if (magnitude >= 65504.0f) magnitude = 65504.0f;
    else if (magnitude >= 0x1p-14f) magnitude = float_of(bits_of(magnitude) + cut);
    else magnitude += (float)cut * 0x1p-37f;
    uint16_t stored;
    dtype_store(QUERN_F16, &stored, 0, copysign(dtype_truncate(QUERN_F16, (double)magnitude), (double)value));
    return stored;
}

uint16_t adam_round_stochastic(quern_dtype dtype, float value, uint32_t random) {
    if (!isfinite(value)) return adam_round_nearest(dtype, value);
    return dtype == QUERN_F16 ? round_stochastic_f16(value, random) : round_stochastic_bf16(value, random);
}

bool adam_is_stochastic(const quern_adam_args *args, enum adam_value value) {
    quern_dtype dtype[] = {[ADAM_V] = args->v_dtype, [ADAM_M] = args->m_dtype, [ADAM_PARAM] = args->param_dtype};
    quern_rounding rounding[] = {
        [ADAM_V] = args->v_rounding, [ADAM_M] = args->m_rounding, [ADAM_PARAM] = args->param_rounding};
    quern_rounding by_default[] = {
        [ADAM_V] = QUERN_ROUND_STOCHASTIC,
        [ADAM_M] = QUERN_ROUND_NEAREST,
        [ADAM_PARAM] = args->master_dtype == QUERN_F32 ? QUERN_ROUND_NEAREST : QUERN_ROUND_STOCHASTIC,
    };
    if (dtype[value] == QUERN_F32) return false;
    quern_rounding chosen = rounding[value] == QUERN_ROUND_DEFAULT ? by_default[value] : rounding[value];
    return chosen == QUERN_ROUND_STOCHASTIC;
}

uint32_t adam_random_bits(const quern_adam_args *args, int64_t place, int64_t i, enum adam_value value) {
    uint64_t block = (uint64_t)i / 8;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)args->step, (uint32_t)place};
    uint32_t key[2] = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)};
    uint32_t words[4];
    philox4x32(7, counter, key, words);
    int64_t turn[] = {[ADAM_V] = 0, [ADAM_M] = 2, [ADAM_PARAM] = 4}, half = (i + turn[value]) % 8;
    return half % 2 ? words[half / 2] >> 16 : words[half / 2] & 0xFFFF;
}

/* ---- the model: fp32, operation by operation ---- */

struct scalars {
    float one_minus_beta1, one_minus_beta2, step_size, inverse_sqrt_bias2, eps, decoupled_decay, l2_decay;
};

/* 1 - beta^step without the cancellation. */
static long double bias_correction(double beta, int64_t step) {
    return beta == 0 ? 1 : -expm1l((long double)step * logl((long double)beta));
}

static struct scalars scalars_of(const quern_adam_args *args) {
    bool l2 = args->mode == QUERN_ADAM_L2;
    return (struct scalars){
        .one_minus_beta1 = (float)(1 - args->beta1),
        .one_minus_beta2 = (float)(1 - args->beta2),
        .step_size = (float)((long double)args->lr / bias_correction(args->beta1, args->step)),
        .inverse_sqrt_bias2 = (float)(1 / sqrtl(bias_correction(args->beta2, args->step))),
        .eps = (float)args->eps,
        .decoupled_decay = l2 ? 0 : (float)(args->lr * args->weight_decay),
        .l2_decay = l2 ? (float)args->weight_decay : 0,
    };
}

static void store(const quern_adam_args *args, int64_t place, int64_t i, enum adam_value value, quern_dtype dtype,
                  void *array, float result) {
    if (dtype == QUERN_F32) {
        ((float *)array)[i] = result;
    } else if (adam_is_stochastic(args, value)) {
        ((uint16_t *)array)[i] = adam_round_stochastic(dtype, result, adam_random_bits(args, place, i, value));
    } else {
        ((uint16_t *)array)[i] = adam_round_nearest(dtype, result);
    }
}

static void model_element(const quern_adam_args *args, const struct scalars *s, int64_t place, int64_t i) {
    const quern_adam_tensor *t = &args->tensors[place];
    float p = args->master_dtype == QUERN_F32 ? t->master[i] : (float)dtype_load(args->param_dtype, t->param, i);
    float g = (float)dtype_load(args->grad_dtype, t->grad, i);
    float m = (float)dtype_load(args->m_dtype, t->m, i);
    float v = (float)dtype_load(args->v_dtype, t->v, i);

    if (s->l2_decay != 0) g = fmaf(s->l2_decay, p, g);
    float difference = g - m;
    float m1 = fmaf(s->one_minus_beta1, difference, m);
    float v1 = isinf(v) ? v : fmaf(s->one_minus_beta2, fmaf(g, g, -v), v);
    float denominator = fmaf(sqrtf(v1), s->inverse_sqrt_bias2, s->eps);
    float update = m1 == 0 ? 0 : m1 / denominator;
    float scaled = s->step_size * update;
    float delta = s->decoupled_decay == 0 ? scaled : fmaf(s->decoupled_decay, p, scaled);
    float p1 = p - delta;

    if (args->master_dtype == QUERN_F32) t->master[i] = p1;
    store(args, place, i, ADAM_PARAM, args->param_dtype, t->param, p1);
    store(args, place, i, ADAM_M, args->m_dtype, t->m, m1);
    store(args, place, i, ADAM_V, args->v_dtype, t->v, v1);
}

void adam_model_range(const quern_adam_args *args, int64_t place, int64_t first, int64_t end) {
    struct scalars scalars = scalars_of(args);
    for (int64_t i = first; i < end; i++) model_element(args, &scalars, place, i);
}

void adam_model_step(const quern_adam_args *args) {
    for (int64_t place = 0; place < args->tensor_count; place++)
        adam_model_range(args, place, 0, args->tensors[place].count);
}

/* ---- the exact step: double, as in the papers ---- */

/* Of old + weight * (new - old): two fp32 ulps of the result or 1e-6 of it, and the roundings of the difference. */
static double tolerance_of(double result, double weight, double difference) {
    double last = fmax(2 * dtype_ulp(QUERN_F32, result), 1e-6 * fabs(result));
    return last + 2 * weight * dtype_ulp(QUERN_F32, difference);
}

struct adam_exact adam_exact_element(const quern_adam_args *args, double param, double grad, double m, double v) {
    double l2_term = args->mode == QUERN_ADAM_L2 ? args->weight_decay * param : 0, g = grad + l2_term;
    double g_tolerance = dtype_ulp(QUERN_F32, fmax(fabs(grad), fabs(l2_term)));
    struct adam_exact exact = {
        .m = args->beta1 * m + (1 - args->beta1) * g,
        .v = args->beta2 * v + (1 - args->beta2) * g * g,
    };
    exact.m_tolerance = tolerance_of(exact.m, 1 - args->beta1, g - m) + (1 - args->beta1) * g_tolerance;
    exact.v_tolerance = tolerance_of(exact.v, 1 - args->beta2, g * g - v) + (1 - args->beta2) * 2 * fabs(g) * g_tolerance;

    double bias1 = 1 - pow(args->beta1, (double)args->step), bias2 = 1 - pow(args->beta2, (double)args->step);
    double denominator = sqrt(exact.v / bias2) + args->eps;
    double step = exact.m == 0 ? 0 : args->lr * (exact.m / bias1) / denominator;
    double decay = args->mode == QUERN_ADAMW ? args->lr * args->weight_decay * param : 0;
    exact.param = param - step - decay;
    double step_error = denominator == 0 ? 0 : args->lr * (exact.m_tolerance / bias1) / denominator;
    if (exact.v > 0) step_error += fabs(step) * exact.v_tolerance / (2 * exact.v);
    exact.param_tolerance = dtype_ulp(QUERN_F32, exact.param) + dtype_ulp(QUERN_F32, param)
                          + 1e-6 * (fabs(step) + fabs(decay)) + step_error;
    return exact;
}
