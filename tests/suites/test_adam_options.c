/*
 * Adam's options: each alone on every row that supports it, against the model bit for bit and against the exact formula; then the
 * further promises of each.  All at once: test_adam_random.c.  Step control: test_adam_control.c.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include <math.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/dtype.h"

/* ---- each option alone ---- */

static void maximize(quern_adam_args *args) { args->maximize = 1; }
static void l2_mode(quern_adam_args *args) { args->mode = QUERN_ADAM_L2; }
static void eps_inside(quern_adam_args *args) { args->eps_mode = QUERN_EPS_INSIDE, args->eps = 1e-3; }
static void multipliers(quern_adam_args *args) { args->use_multipliers = 1; }
static void l2_multipliers(quern_adam_args *args) { args->use_multipliers = 1, args->mode = QUERN_ADAM_L2; }
static void grad_scale(quern_adam_args *args) { args->grad_scale = 3; }
static void biases(quern_adam_args *args) { args->bias1 = 0.3, args->bias2 = 0.04, args->step = 0; }
static void one_bias(quern_adam_args *args) { args->bias1 = 0.3; }
static void other_bias(quern_adam_args *args) { args->bias2 = 0.04, args->eps_mode = QUERN_EPS_INSIDE; }
static void biases_with_control(quern_adam_args *args) {
    static const float clip = 0.5f;
    biases(args);
    args->control.clip = &clip;
}
static void amsgrad(quern_adam_args *args) { args->amsgrad = 1; }
static void zero_grads(quern_adam_args *args) { args->zero_grads = 1; }
static void copy_f16(quern_adam_args *args) { args->copy_dtype = QUERN_F16; }
static void copy_bf16(quern_adam_args *args) { args->copy_dtype = QUERN_BF16; }
static void copy_e4m3(quern_adam_args *args) { args->copy_dtype = QUERN_E4M3; }
static void copy_e5m2(quern_adam_args *args) { args->copy_dtype = QUERN_E5M2; }

static const struct {
    const char *name;
    bool is_full;       /* needs a full row */
    void (*set)(quern_adam_args *args);
} options[] = {
    {"maximize", false, maximize}, {"L2", false, l2_mode}, {"eps inside", false, eps_inside}, {"multipliers", false, multipliers},
    {"multipliers with L2", false, l2_multipliers}, {"grad_scale", false, grad_scale}, {"bias corrections", false, biases},
    {"bias1", false, one_bias}, {"bias2", false, other_bias}, {"bias corrections with control", false, biases_with_control},
    {"amsgrad", true, amsgrad},
    {"zero_grads", true, zero_grads}, {"f16 copy", true, copy_f16}, {"bf16 copy", true, copy_bf16}, {"e4m3 copy", true, copy_e4m3},
    {"e5m2 copy", true, copy_e5m2},
};

/* The arguments of a row without any option. */
static quern_adam_args plain_args_of(const struct quern_kernel *row) {
    quern_adam_args args = adam_args_of(row);
    args.amsgrad = args.zero_grads = 0;
    args.copy_dtype = QUERN_NO_DTYPE;
    return args;
}

TEST_ADAM_ROWS(adam_options, each_alone) {
    static const int64_t counts[] = {37, 300, 33, 40};  /* four tensors: the multipliers differ by position */
    for (size_t i = 0; i < COUNT(options); i++) {
        if (options[i].is_full && !row->key.adam.full) continue;
        char what[256];
        snprintf(what, sizeof what, "%s, %s", row->name, options[i].name);
        quern_adam_args args = plain_args_of(row);
        options[i].set(&args);
        struct adam_problem before;
        adam_make(&before, &args, counts, COUNT(counts));
        adam_check_only_step(device, &before, what);
    }
}

/* ---- the promises of each option ---- */

static const struct quern_kernel *f32_row(bool full) {
    return find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, full);
}

static void run_on_row(const struct quern_kernel *row, struct adam_problem *problem) {
    OPEN_ROW(device, row);
    adam_run(&device, problem);
}

/* Sets the first tensor's arrays to one value each. */
static void set_all(struct adam_problem *problem, int arena, double value) {
    for (int64_t i = 0; i < problem->tensors[0].count; i++) adam_set_value(problem, 0, arena, i, value);
}

/* From p = m = v = 0 the first step has the size of the learning rate: downhill, or uphill. */
Test(adam_options, maximize_goes_the_other_way) {
    static const int64_t counts[] = {40};
    for (int uphill = 0; uphill < 2; uphill++) {
        quern_adam_args args = plain_args_of(f32_row(false));
        args.maximize = uphill, args.step = 1, args.lr = 0.5;
        OPEN_ADAM(problem, &args, counts, 1);
        set_all(&problem, ARENA_PARAM, 0), set_all(&problem, ARENA_M, 0), set_all(&problem, ARENA_V, 0);
        set_all(&problem, ARENA_GRAD, 3);
        run_on_row(f32_row(false), &problem);
        for (int64_t i = 0; i < counts[0]; i++)
            check(fabs(adam_value_at(&problem, 0, ARENA_PARAM, i) - (uphill ? 0.5 : -0.5)) < 1e-6, "%g",
                  adam_value_at(&problem, 0, ARENA_PARAM, i));
    }
}

/* With beta1 = beta2 = 0 the step is lr * g / sqrt(g^2 + eps) or lr * g / (|g| + eps). */
Test(adam_options, eps_stands_where_it_is_said_to) {
    static const int64_t counts[] = {40};
    for (int inside = 0; inside < 2; inside++) {
        quern_adam_args args = plain_args_of(f32_row(false));
        args.beta1 = args.beta2 = 0, args.lr = 1, args.weight_decay = 0, args.eps = 0.25;
        args.eps_mode = inside ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        OPEN_ADAM(problem, &args, counts, 1);
        set_all(&problem, ARENA_PARAM, 0);
        set_all(&problem, ARENA_GRAD, 0.5);
        run_on_row(f32_row(false), &problem);
        const double expected = -0.5 / (inside ? sqrt(0.25 + 0.25) : 0.75);
        check(fabs(adam_value_at(&problem, 0, ARENA_PARAM, 7) - expected) < 1e-6, "%g instead of %g",
              adam_value_at(&problem, 0, ARENA_PARAM, 7), expected);
    }
}

/* One large gradient, then small ones: AMSGrad's steps stay small, Adam's grow again. */
Test(adam_options, amsgrad_remembers) {
    static const int64_t counts[] = {40};
    double moved[2];
    for (int remembers = 0; remembers < 2; remembers++) {
        const struct quern_kernel *row = f32_row(true);
        quern_adam_args args = plain_args_of(row);
        args.amsgrad = remembers, args.beta2 = 0.5, args.beta1 = 0, args.weight_decay = 0;
        OPEN_ADAM(problem, &args, counts, 1);
        set_all(&problem, ARENA_V, 0);
        if (remembers) set_all(&problem, ARENA_V_MAX, 0);
        OPEN_ROW(device, row);
        for (problem.args.step = 1; problem.args.step <= 40; problem.args.step++) {
            set_all(&problem, ARENA_GRAD, problem.args.step == 1 ? 100 : 0.01);
            const double before = adam_value_at(&problem, 0, ARENA_PARAM, 3);
            adam_check_step(&device, &problem, "amsgrad");
            moved[remembers] = fabs(adam_value_at(&problem, 0, ARENA_PARAM, 3) - before);
        }
    }
    check(moved[0] > 0.9e-2 && moved[1] < 1e-5, "the last steps were %g and %g", moved[0], moved[1]);
}

/* A multiplier of 0 freezes the tensor but not its moments; a weight decay multiplier of 0 disables the decay alone. */
Test(adam_options, multipliers_belong_to_their_tensor) {
    static const int64_t counts[] = {33, 33, 33, 33};
    quern_adam_args args = plain_args_of(f32_row(false));
    args.use_multipliers = 1, args.lr = 0.5, args.weight_decay = 0.5, args.beta1 = args.beta2 = 0;
    OPEN_ADAM(problem, &args, counts, 4);
    for (int place = 0; place < 4; place++) {
        problem.tensors[place].lr_multiplier = (float)(place & 1);
        problem.tensors[place].weight_decay_multiplier = (float)(place >> 1);
        for (int64_t i = 0; i < 33; i++) {
            adam_set_value(&problem, place, ARENA_PARAM, i, 8);
            adam_set_value(&problem, place, ARENA_GRAD, i, 2);
        }
    }
    run_on_row(f32_row(false), &problem);
    static const double expected[] = {8, 7.5, 8, 5.5};
    for (int place = 0; place < 4; place++) {
        const double param = adam_value_at(&problem, place, ARENA_PARAM, 5), v = adam_value_at(&problem, place, ARENA_V, 5);
        check(fabs(param - expected[place]) < 1e-6, "tensor %d came to %g", place, param);
        check(v == 4, "v of tensor %d is %g", place, v);
    }
}

/* A decay that a multiplier of 0 disables is left out, not multiplied by 0: that would turn an infinite parameter into NaN. */
TEST_ADAM_ROWS(adam_options, a_multiplier_of_0_leaves_the_decay_out) {
    static const int64_t counts[] = {70, 70};
    for (int mode = 0; mode < 2; mode++) {
        quern_adam_args args = plain_args_of(row);
        args.use_multipliers = 1, args.weight_decay = 0.5, args.mode = mode ? QUERN_ADAM_L2 : QUERN_ADAMW;
        OPEN_ADAM(problem, &args, counts, COUNT(counts));
        const int arena = args.master_dtype ? ARENA_MASTER : ARENA_PARAM;
        for (int place = 0; place < 2; place++) {
            problem.tensors[place].lr_multiplier = 1, problem.tensors[place].weight_decay_multiplier = (float)place;
            for (int64_t i = 0; i < 70; i += 3) adam_set_value(&problem, place, arena, i, (double)(i % 2 ? INFINITY : -INFINITY));
        }
        adam_check_step(device, &problem, row->name);
        for (int64_t i = 0; i < 70; i++) {
            const double param = adam_value_at(&problem, 0, arena, i), m = adam_value_at(&problem, 0, ARENA_M, i);
            check(i % 3 ? isfinite(param) : isinf(param), "%s: param[%d] came to %g", row->name, (int)i, param);
            check(isfinite(m), "%s: m[%d] came to %g", row->name, (int)i, m);
        }
    }
}

TEST_ADAM_ROWS(adam_options, gradients_are_zeroed_also_when_the_step_is_skipped) {
    if (!row->key.adam.full) return;
    const int64_t counts[] = {70, 0, test_size(70001, 2100), 1};
    for (int found_inf = 0; found_inf < 2; found_inf++) {
        const float found = (float)found_inf;
        quern_adam_args args = plain_args_of(row);
        args.zero_grads = 1, args.control.found_inf = &found;
        OPEN_ADAM(problem, &args, counts, COUNT(counts));
        adam_check_step(device, &problem, row->name);
        for (size_t place = 0; place < COUNT(counts); place++)
            for (int64_t i = 0; i < counts[place]; i++)
                check(adam_value_at(&problem, (int64_t)place, ARENA_GRAD, i) == 0, "a gradient was left");
    }
}

/* ---- copies ---- */

/* The expected value of a parameter in a copy with a scale of 2. */
static double copied(quern_dtype dtype, double value) {
    const double largest = dtype_largest(dtype);
    if (isnan(value)) return value;
    if (quern_dtype_bytes(dtype) == 2) return dtype_round(dtype, value);
    return dtype_round(dtype, fmax(-largest, fmin(largest, 2 * value)));
}

static const double values[] = {
    0, -0.0, 1, -1.0625, 0.1, 223.9, 224, -225, 1e30, -1e30, 1e-9, -1e-6, 3e-3, (double)NAN, (double)INFINITY, (double)-INFINITY,
    0x1.FFFFFEp127, 28672, 28673, 65504, 65520, 100, 104, 108, 0x1p-10, 0x1p-11, 0x1.8p-10, 0x1p-17, 0x1p-18, 0x1.8p-17,
};

static void check_copy(const struct test_device *device, const struct quern_kernel *row, quern_dtype dtype) {
    static const int64_t counts[] = {COUNT(values)};
    quern_adam_args args = plain_args_of(row);
    args.copy_dtype = dtype, args.lr = 0, args.weight_decay = 0, args.param_rounding = QUERN_ROUND_DEFAULT;
    OPEN_ADAM(problem, &args, counts, 1);
    const int source = args.master_dtype ? ARENA_MASTER : ARENA_PARAM;
    for (size_t i = 0; i < COUNT(values); i++) adam_set_value(&problem, 0, source, (int64_t)i, values[i]);
    if (problem.arena[ARENA_COPY_SCALE]) memcpy((void *)(uintptr_t)problem.tensors[0].copy_scale, &(float){2}, sizeof(float));
    *problem.tensors[0].copy_max = 0.5f;
    adam_check_step(device, &problem, row->name);
    double largest = 0;
    for (size_t i = 0; i < COUNT(values); i++) {
        const double value = adam_value_at(&problem, 0, source, (int64_t)i), expected = copied(dtype, value);
        const double got = adam_value_at(&problem, 0, ARENA_COPY, (int64_t)i);
        if (isfinite(value)) largest = fmax(largest, fabs(value));
        check(isnan(expected) ? isnan(got) : got == expected, "%s: the %s copy of %a is %a, not %a", row->name,
              quern_dtype_name(dtype), value, got, expected);
    }
    check((double)*problem.tensors[0].copy_max == largest, "copy_max is %g, not %g", (double)*problem.tensors[0].copy_max, largest);
}

TEST_ADAM_ROWS(adam_options, copies_are_the_new_parameters) {
    static const quern_dtype dtypes[] = {QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2};
    for (size_t d = 0; row->key.adam.full && d < COUNT(dtypes); d++) check_copy(device, row, dtypes[d]);
}

/* The maximum of a tensor of many tiles, at any position; a larger previous value stays. */
Test(adam_options, the_largest_parameter_is_found_anywhere) {
    static const int64_t counts[] = {20000, 300, 5000, 0};
    const struct quern_kernel *row = f32_row(true);
    quern_adam_args args = plain_args_of(row);
    args.copy_dtype = QUERN_E4M3, args.lr = 0, args.weight_decay = 0;
    OPEN_ROW(device, row);
    for (int64_t k = 0; k < 6; k++) {
        OPEN_ADAM(problem, &args, counts, 4);
        adam_set_value(&problem, 0, ARENA_PARAM, k * 3999, k % 2 ? 77 : -77);
        *problem.tensors[1].copy_max = 1000;
        adam_check_step(&device, &problem, "copy_max");
        check(*problem.tensors[0].copy_max == 77 && *problem.tensors[1].copy_max == 1000, "copy_max is %g and %g",
              (double)*problem.tensors[0].copy_max, (double)*problem.tensors[1].copy_max);
    }
}
