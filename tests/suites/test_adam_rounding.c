/*
 * Adam's rounding: every 16-bit value at its boundaries, and the statistics of stochastic rounding.  The values reach the
 * rounding unchanged: master to param with a learning rate of 0, gradient to m with beta1 = 0.  Scaled moments:
 * test_adam_scaled.c; the effect of rounding on a long run: test_adam_long.c.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include <math.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

/* fp32 values around all boundaries of rounding: ties, carries, subnormals, the ends of the ranges. */
static int64_t make_boundaries(float *values, int64_t room) {
    int64_t count = 0;
    for (int exponent = -150; exponent <= 127 && count + 64 <= room; exponent += exponent < -20 && exponent > -120 ? 7 : 1) {
        for (int k = 0; k < 16; k++) {
            /* 1.k, then half an ulp of bf16 or f16 next to it, exactly and almost */
            static const double beside[] = {0, 0x1p-8, 0x1.0001p-8, 0x1.FFFEp-9, 0x1p-11, 0x1.002p-11, 0x1.FFCp-12, 0x1p-16};
            double value = ldexp(1 + (k / 8) * (1 - 0x1p-7) + beside[k % 8], exponent);
            values[count++] = (float)value;
            values[count++] = -(float)value;
        }
    }
    static const float ends[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1.FFFFFEp127f, -0x1.FFFFFEp127f, 65504, 65519.996f,
                                 65520, 65536, 0x1p-149f, -0x1p-149f, 0x1.FEp127f, 0x1.FFp127f, 0x1.FEFFFEp127f,
                                 0x1.FFFFFCp-15f};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) values[count++] = ends[i];
    return count;
}

enum { ROOM = 8192 };

static void check_boundaries(quern_dtype dtype, quern_rounding rounding) {
    const struct quern_kernel *row = find_adam_row(dtype, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, false);
    static float values[ROOM];
    const int64_t counts[] = {make_boundaries(values, ROOM - 32)};
    quern_adam_args args = adam_args_of(row);
    args.lr = 0, args.weight_decay = 0, args.beta1 = 0;
    args.param_rounding = args.m_rounding = args.v_rounding = rounding;
    OPEN_ADAM(problem, &args, counts, 1);
    quern_adam_tensor *t = &problem.tensors[0];
    for (int64_t i = 0; i < counts[0]; i++) {
        ((float *)t->master)[i] = values[i];
        ((float *)t->grad)[i] = isfinite(values[i]) ? values[i] : 1;
        dtype_store(QUERN_BF16, t->m, i, 0);
        dtype_store(QUERN_BF16, t->v, i, 1);
    }
    OPEN_ROW(device, row);
    adam_check_step(&device, &problem, row->name);
    /* The model's own oracle would miss this: apart from the rounding, the values must arrive unchanged. */
    for (int64_t i = 0; i < counts[0]; i++) {
        double got = dtype_load(dtype, t->param, i), value = (double)values[i];
        double nearest = dtype_round(dtype, value);
        double farthest = fmax(fabs(dtype_truncate(dtype, value) - value), dtype_ulp(dtype, value));
        if (!isfinite(value)) check(isnan(value) ? isnan(got) : got == value, "%a became %a", value, got);
        else if (rounding == QUERN_ROUND_NEAREST) check(got == nearest, "%a became %a, not %a", value, got, nearest);
        else check(isfinite(got) && fabs(got - value) <= farthest, "%a became %a", value, got);
    }
}

Test(adam_rounding, boundaries_to_nearest) {
    check_boundaries(QUERN_BF16, QUERN_ROUND_NEAREST);
    check_boundaries(QUERN_F16, QUERN_ROUND_NEAREST);
}

Test(adam_rounding, boundaries_stochastic) {
    check_boundaries(QUERN_BF16, QUERN_ROUND_STOCHASTIC);
    check_boundaries(QUERN_F16, QUERN_ROUND_STOCHASTIC);
}

/* The largest number of a type of 16 bits, and three quarters of the way from there to the next power of two. */
static double largest_of(quern_dtype dtype) { return dtype == QUERN_F16 ? 65504 : 0x1.FEp127; }
static double way_beyond(quern_dtype dtype) { return dtype == QUERN_F16 ? 24 : 0x1.8p119; }
static double beyond(quern_dtype dtype) { return largest_of(dtype) + way_beyond(dtype); }

static void check_is_finite(const struct adam_problem *problem, int arena, quern_dtype dtype, const char *name) {
    if (dtype != QUERN_BF16 && dtype != QUERN_F16) return;
    for (int64_t i = 0; i < problem->tensors[0].count; i++) {
        const double value = adam_value_at(problem, 0, arena, i);
        check(isfinite(value), "%s: element %d of array %d became %g", name, (int)i, arena, value);
    }
}

/*
 * A step leads m, or v and the parameter, beyond the largest number, from which most random bits would carry into infinity.  Each
 * array that a kernel rounds in its own way has such values, in tensors long enough for the faster loop of a CPU.  That takes only
 * an m that is rounded to nearest.
 */
TEST_ADAM_ROWS(adam_rounding, random_bits_carry_nothing_into_infinity) {
    static const int64_t counts[] = {601};
    for (int turn = 0; turn < 3; turn++) {
        quern_adam_args args = adam_args_of(row);
        const bool is_v = turn > 0;
        const double to = is_v ? sqrt(beyond(args.v_dtype)) : beyond(args.m_dtype);
        adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, turn == 2 ? QUERN_ROUND_NEAREST : QUERN_ROUND_STOCHASTIC,
                          QUERN_ROUND_STOCHASTIC);
        args.beta1 = args.beta2 = args.weight_decay = args.maximize = 0;
        args.grad_scale = 1 / to;
        args.lr = is_v ? way_beyond(args.param_dtype) : 0;
        OPEN_ADAM(problem, &args, counts, 1);
        for (int64_t i = 0; i < counts[0]; i++) {
            adam_set_value(&problem, 0, ARENA_GRAD, i, -1);
            adam_set_value(&problem, 0, args.master_dtype ? ARENA_MASTER : ARENA_PARAM, i, largest_of(args.param_dtype));
        }
        adam_check_step(device, &problem, row->name);
        check_is_finite(&problem, is_v ? ARENA_V : ARENA_M, is_v ? args.v_dtype : args.m_dtype, row->name);
        if (args.master_dtype != QUERN_REMAINDER)  /* beside which the parameter is the nearest number */
            check_is_finite(&problem, ARENA_PARAM, args.param_dtype, row->name);
    }
}

/* The fraction of values rounded up equals the fraction cut off, within four standard deviations. */
static void check_share(quern_dtype dtype, double value, uint64_t seed) {
    const struct quern_kernel *row = find_adam_row(dtype, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, false);
    const int64_t counts[] = {test_size(100000, 10000)};
    quern_adam_args args = adam_args_of(row);
    args.lr = 0, args.weight_decay = 0, args.param_rounding = QUERN_ROUND_STOCHASTIC, args.seed = seed;
    OPEN_ADAM(problem, &args, counts, 1);
    quern_adam_tensor *t = &problem.tensors[0];
    for (int64_t i = 0; i < counts[0]; i++) ((float *)t->master)[i] = (float)value;
    OPEN_ROW(device, row);
    adam_run(&device, &problem);
    double below = dtype_truncate(dtype, (double)(float)value), ulp = dtype_ulp(dtype, (double)(float)value);
    double fraction = fabs((double)(float)value - below) / ulp, n = (double)counts[0], up = 0;
    for (int64_t i = 0; i < counts[0]; i++) {
        double got = dtype_load(dtype, t->param, i);
        check(got == below || fabs(got - below) == ulp, "%g became %g", value, got);
        up += got != below;
    }
    double deviation = sqrt(fraction * (1 - fraction) / n);
    check(fabs(up / n - fraction) <= 4 * deviation + 0x1p-13, "%s of %g: %g rounded up instead of %g",
          quern_dtype_name(dtype), value, up / n, fraction);
}

Test(adam_rounding, stochastic_shares) {
    static const double values[] = {1.001, -0.3337, 100.3, 1.0 + 0x1p-9, 3e-3, 2e-5, 4e-7, 1.7e-38};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        check_share(QUERN_BF16, values[i], i);
        if (fabs(values[i]) > 1e-8) check_share(QUERN_F16, values[i], 100 + i);
    }
}

/* Neighbours, steps, tensors, seeds and the three values of an element have independent random bits. */
Test(adam_rounding, random_bits_are_unrelated) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, 0, false);
    enum { SIZE = 4096, RUNS = 5 };
    static const int64_t counts[] = {SIZE, SIZE};
    static unsigned char up[RUNS * 2][SIZE];
    OPEN_ROW(device, row);
    for (int run = 0; run < RUNS; run++) {
        quern_adam_args args = adam_args_of(row);
        args.lr = 0, args.weight_decay = 0, args.param_rounding = QUERN_ROUND_STOCHASTIC;
        args.step = run == 1 ? 4 : 3;
        args.seed = run == 2 ? 1 : run == 3 ? (uint64_t)1 << 32 : 0;
        args.beta1 = 0, args.m_rounding = QUERN_ROUND_STOCHASTIC;
        OPEN_ADAM(problem, &args, counts, 2);
        for (int k = 0; k < 2; k++) {
            quern_adam_tensor *t = &problem.tensors[k];
            for (int64_t i = 0; i < SIZE; i++) {
                ((float *)t->grad)[i] = 1 + 0x1p-8f;
                dtype_store(QUERN_BF16, t->m, i, 0);
            }
        }
        adam_run(&device, &problem);
        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < SIZE; i++)
                up[2 * run + k][i] = dtype_load(QUERN_BF16, problem.tensors[k].m, i) > 1;
    }
    for (int a = 0; a < 2 * RUNS; a++) {
        for (int b = a; b < 2 * RUNS; b++) {
            int same = 0;
            for (int i = 0; i < SIZE; i++) same += up[a][i] == up[b][a == b ? (i + 1) % SIZE : i];
            bool repeated = b == a + 2 * RUNS - 2;  /* the last run repeats the first one */
            check(repeated ? same == SIZE : abs(same - SIZE / 2) < 5 * 32, "lists %d and %d agree in %d of %d", a, b, same,
                  SIZE);
        }
    }
}
