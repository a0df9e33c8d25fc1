/*
 * Adam's options: each alone on every row that supports it, against the model bit for bit and against the exact formula; then the
 * further promises of each, and masters in two halves.  All at once: test_adam_random.c.  Step control: test_adam_control.c.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/adam_value.h"
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
        OPEN_ADAM(before, &args, counts, COUNT(counts));
        adam_check_only_step(device, &before, what);
    }
}

static const struct quern_kernel *f32_row(bool full) {
    return find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, full);
}

/* ---- one step by hand ---- */

/* Of fp32 parameters whose m and v are 0 before. */
static const struct hand {
    const char *name;
    double grad, lr, beta1, beta2, eps;
    double param;                      /* before */
    double decay, expected;            /* NaN: NaN */
    int32_t maximize, eps_inside;
    float lr_multiplier, decay_multiplier;
} hands[] = {
    /* The first step has the size of the learning rate, for any beta2. */
#define FIRST(beta) {"first step", 3, 0.125, 0.9, beta, 0, .expected = -0.125}
    FIRST(0.9), FIRST(0.99), FIRST(0.999), FIRST(0.9999), FIRST(0.99999), FIRST(0.999999),
    {"downhill", 3, 0.5, 0.9, 0.999, 1e-8, .expected = -0.5},
    {"uphill", 3, 0.5, 0.9, 0.999, 1e-8, .expected = 0.5, .maximize = 1},
    {"eps outside the root", 0.5, 1, 0, 0, 0.25, .expected = -0.5 / 0.75},
    {"eps inside the root", 0.5, 1, 0, 0, 0.25, .expected = -0.70710678118654752, .eps_inside = 1},
    /* A multiplier of 0 freezes the parameter; a weight decay multiplier of 0 disables the decay alone. */
    {"both multipliers", 2, 0.5, 0, 0, 1e-8, .param = 8, .decay = 0.5, .expected = 5.5, .lr_multiplier = 1, .decay_multiplier = 1},
    {"no decay", 2, 0.5, 0, 0, 1e-8, .param = 8, .decay = 0.5, .expected = 7.5, .lr_multiplier = 1, .decay_multiplier = 0},
    {"no learning", 2, 0.5, 0, 0, 1e-8, .param = 8, .decay = 0.5, .expected = 8, .lr_multiplier = 0, .decay_multiplier = 1},
    /* Without eps a gradient needs a square above zero. */
#define WITHOUT_EPS(gradient, rate, result) {"no eps", gradient, rate, 0.9, 0.999, 0, .param = 1, .expected = result}
    WITHOUT_EPS(1e-40, 1, (double)-INFINITY), WITHOUT_EPS(-1e-30, 1, (double)INFINITY), WITHOUT_EPS(1e-25, 1, (double)-INFINITY),
    WITHOUT_EPS(1e-30, 0, (double)NAN), WITHOUT_EPS(0, 1, 1), WITHOUT_EPS(1e-15, 1, 0),
#define WITH_EPS(gradient, rate) {"eps", gradient, rate, 0.9, 0.999, 1e-8, .param = 1, .expected = 1}
    WITH_EPS(1e-40, 1), WITH_EPS(1e-25, 1), WITH_EPS(1e-30, 0),
};

Test(adam_options, one_step_by_hand) {
    static const int64_t counts[] = {40};
    OPEN_ROW(device, f32_row(false));
    for (size_t i = 0; i < COUNT(hands); i++) {
        const struct hand *hand = &hands[i];
        quern_adam_args args = plain_args_of(f32_row(false));
        args.lr = hand->lr, args.beta1 = hand->beta1, args.beta2 = hand->beta2, args.eps = hand->eps, args.step = 1;
        args.weight_decay = hand->decay, args.maximize = hand->maximize, args.use_multipliers = hand->decay != 0;
        args.eps_mode = hand->eps_inside ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        OPEN_ADAM(problem, &args, counts, 1);
        problem.tensors[0].lr_multiplier = hand->lr_multiplier;
        problem.tensors[0].weight_decay_multiplier = hand->decay_multiplier;
        adam_set_all(&problem, ARENA_PARAM, hand->param), adam_set_all(&problem, ARENA_GRAD, hand->grad);
        adam_set_all(&problem, ARENA_M, 0), adam_set_all(&problem, ARENA_V, 0);
        adam_run(&device, &problem);
        for (int64_t k = 0; k < counts[0]; k++) {
            const double got = adam_value_at(&problem, 0, ARENA_PARAM, k), v = adam_value_at(&problem, 0, ARENA_V, k);
            check(isnan(hand->expected) ? isnan(got) : got == hand->expected || fabs(got - hand->expected) < 1e-6,
                  "%s, gradient %g: %g instead of %g", hand->name, hand->grad, got, hand->expected);
            check(hand->beta2 != 0 || v == hand->grad * hand->grad, "%s: v is %g", hand->name, v);
        }
    }
}

/* ---- the further promises ---- */

/* One large gradient, then small ones: AMSGrad's steps stay small, Adam's grow again. */
Test(adam_options, amsgrad_remembers) {
    double moved[2];
    for (int remembers = 0; remembers < 2; remembers++) {
        const struct quern_kernel *row = f32_row(true);
        quern_adam_args args = plain_args_of(row);
        args.amsgrad = remembers, args.beta2 = 0.5, args.beta1 = 0, args.weight_decay = 0;
        OPEN_TENSORS(problem, &args, 40);
        adam_set_all(&problem, ARENA_V, 0);
        if (remembers) adam_set_all(&problem, ARENA_V_MAX, 0);
        OPEN_ROW(device, row);
        for (problem.args.step = 1; problem.args.step <= 40; problem.args.step++) {
            adam_set_all(&problem, ARENA_GRAD, problem.args.step == 1 ? 100 : 0.01);
            const double before = adam_value_at(&problem, 0, ARENA_PARAM, 3);
            adam_check_step(&device, &problem, "amsgrad");
            moved[remembers] = fabs(adam_value_at(&problem, 0, ARENA_PARAM, 3) - before);
        }
    }
    check(moved[0] > 0.9e-2 && moved[1] < 1e-5, "the last steps were %g and %g", moved[0], moved[1]);
}

/* A decay that a multiplier of 0 disables is left out, not multiplied by 0: that would turn an infinite parameter into NaN. */
TEST_ADAM_ROWS(adam_options, a_multiplier_of_0_leaves_the_decay_out) {
    for (int mode = 0; mode < 2; mode++) {
        quern_adam_args args = plain_args_of(row);
        args.use_multipliers = 1, args.weight_decay = 0.5, args.mode = mode ? QUERN_ADAM_L2 : QUERN_ADAMW;
        OPEN_TENSORS(problem, &args, 70, 70);
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
    quern_adam_args args = plain_args_of(row);
    args.copy_dtype = dtype, args.lr = 0, args.weight_decay = 0, args.param_rounding = QUERN_ROUND_DEFAULT;
    OPEN_TENSORS(problem, &args, COUNT(values));
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

/* ---- a master in two halves: a bf16 parameter and its remainder ---- */

/* Values around all boundaries of rounding and joining, then random bits. */
static const uint32_t boundaries[] = {
    0x00000000, 0x80000000, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0xBF808000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000,
    0x7F7F8001, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000, 0x7F808000, 0x7F808001, 0x00000001,
    0x80000001, 0x00008000, 0x00008001, 0x00007FFF, 0x80008001, 0x007FFFFF, 0x00800000, 0x007F8001, 0x0000FFFF, 0x8000FFFF,
    0x3F7FFFFF, 0x3F800000,
};

static float value_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* With a learning rate of 0 the master must be unchanged, except the sign of a zero (x - 0 may change it) and a NaN's payload. */
TEST_ADAM_ROWS(adam_options, every_master_comes_back) {
    if (row->key.adam.master != QUERN_REMAINDER) return;
    const int64_t counts[] = {test_size(20000, 2500)};
    quern_adam_args args = adam_args_of(row);
    args.lr = 0, args.weight_decay = 0;
    struct adam_problem problem CLOSED_BY(adam_free), before CLOSED_BY(adam_free);
    adam_make(&problem, &args, counts, 1);
    uint16_t *param = problem.tensors[0].param, *remainder = problem.tensors[0].master;
    for (int64_t i = 0; i < counts[0]; i++) {
        const uint32_t bits = i < (int64_t)COUNT(boundaries) ? boundaries[i] : (uint32_t)random_bits(5, (uint64_t)i);
        adam_split_master(value_of(bits), &param[i], &remainder[i]);
        if (isnan(value_of(bits))) param[i] = (uint16_t)(bits >> 16), remainder[i] = (uint16_t)bits & 0x7FFF;  /* unchanged */
    }
    adam_copy(&before, &problem);
    adam_check_step(device, &problem, row->name);
    for (int64_t i = 0; i < counts[0]; i++) {
        const double was = adam_value_at(&before, 0, ARENA_MASTER, i), is = adam_value_at(&problem, 0, ARENA_MASTER, i);
        if (isnan(was)) check(isnan(is) && param[i] == 0x7FFF && remainder[i] == 0, "%s: NaN became 0x%04X", row->name, param[i]);
        else check(is == was, "%s: %a became %a", row->name, was, is);
    }
}

/*
 * Halves that no step has written, such as a remainder above a half next to zero, are joined as documented.  With remainders of
 * zero a master begins as its parameter.
 */
TEST_ADAM_ROWS(adam_options, any_halves_of_a_master) {
    if (row->key.adam.master != QUERN_REMAINDER) return;
    static const int64_t counts[] = {1000, 0, 31};
    const quern_adam_args args = adam_args_of(row);
    for (int has_zeros = 0; has_zeros < 2; has_zeros++) {
        OPEN_ADAM(problem, &args, counts, COUNT(counts));
        uint16_t *param = problem.tensors[0].param, *remainder = problem.tensors[0].master;
        for (int64_t i = 0; i < counts[0]; i++) {
            const uint64_t bits = random_bits(6, (uint64_t)i);
            param[i] = bits & 7 ? (uint16_t)(bits >> 32) : (uint16_t)(bits & 8 ? 0x8000 : 0);
            remainder[i] = has_zeros ? 0 : (uint16_t)(bits >> 16);
        }
        adam_check_step(device, &problem, row->name);
    }
}
