/*
 * Adam's rounding: every 16-bit value at its boundaries, scaled moments at theirs, the statistics of stochastic rounding, and a v
 * that never becomes zero.  The values reach the rounding unchanged: master to param with a learning rate of 0, gradient to m with
 * beta1 = 0, its square to v with beta2 = 0.  The effect of rounding on a long run: test_adam_long.c.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/adam_value.h"
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

/* The fraction of values rounded up, without the first of each block, is that cut off, within four standard deviations. */
static void check_share(const struct adam_problem *problem, int arena, quern_dtype dtype, double value, double scale) {
    const double below = dtype_truncate(dtype, value / scale), ulp = dtype_ulp(dtype, value / scale);
    const double fraction = fabs(value / scale - below) / ulp;
    double up = 0, n = 0;
    for (int64_t i = 0; i < problem->tensors[0].count; i++) {
        if (i % QUERN_SCALE_BLOCK == 0) continue;
        const double got = adam_value_at(problem, 0, arena, i) / scale;
        check(got == below || fabs(got - below) == ulp, "%g became %g", value, got * scale);
        up += got != below, n++;
    }
    const double deviation = sqrt(fraction * (1 - fraction) / n);
    check(fabs(up / n - fraction) <= 4 * deviation + 0x1p-13, "%s of %g in units of %g: %g rounded up instead of %g",
          quern_dtype_name(dtype), value, scale, up / n, fraction);
}

static void check_param_share(quern_dtype dtype, double value, uint64_t seed) {
    const struct quern_kernel *row = find_adam_row(dtype, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, false);
    const int64_t counts[] = {test_size(100000, 10000)};
    quern_adam_args args = adam_args_of(row);
    args.lr = 0, args.weight_decay = 0, args.param_rounding = QUERN_ROUND_STOCHASTIC, args.seed = seed;
    OPEN_ADAM(problem, &args, counts, 1);
    adam_set_all(&problem, ARENA_MASTER, value);
    OPEN_ROW(device, row);
    adam_run(&device, &problem);
    check_share(&problem, ARENA_PARAM, dtype, (double)(float)value, 1);
}

Test(adam_rounding, stochastic_shares) {
    static const double values[] = {1.001, -0.3337, 100.3, 1.0 + 0x1p-9, 3e-3, 2e-5, 4e-7, 1.7e-38};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        check_param_share(QUERN_BF16, values[i], i);
        if (fabs(values[i]) > 1e-8) check_param_share(QUERN_F16, values[i], 100 + i);
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

/* ---- scaled moments ---- */

static const quern_dtype scaled[] = {QUERN_F16, QUERN_E4M3, QUERN_E5M2};

/* The row with f32 parameters and gradients and both moments of a scaled type. */
static const struct quern_kernel *scaled_row(quern_dtype dtype) {
    return find_adam_row(QUERN_F32, QUERN_F32, dtype, dtype, QUERN_NO_DTYPE, true);
}

/* m becomes the gradient and v its square; no further option is set. */
static quern_adam_args direct_args(const struct quern_kernel *row, quern_rounding rounding) {
    quern_adam_args args = adam_args_of(row);
    args.amsgrad = args.zero_grads = 0, args.copy_dtype = QUERN_NO_DTYPE;
    args.lr = 0, args.weight_decay = 0, args.beta1 = args.beta2 = 0;
    args.m_rounding = args.v_rounding = rounding;
    return args;
}

static void make_direct(struct adam_problem *problem, const quern_adam_args *args, int64_t count, const float *grads) {
    const float zeros[QUERN_SCALE_BLOCK] = {0};
    adam_make(problem, args, &count, 1);
    for (int64_t i = 0; i < count; i++) {
        if (i % QUERN_SCALE_BLOCK == 0) {
            const int64_t here = count - i < QUERN_SCALE_BLOCK ? count - i : QUERN_SCALE_BLOCK;
            adam_set_moment(problem, 0, ARENA_M, i, here, zeros);
            adam_set_moment(problem, 0, ARENA_V, i, here, zeros);
        }
        adam_set_value(problem, 0, ARENA_GRAD, i, (double)grads[i]);
    }
}

static void run_direct(const struct quern_kernel *row, struct adam_problem *problem) {
    OPEN_ROW(device, row);
    adam_check_step(&device, problem, row->name);
}

/* ---- boundaries ---- */

/* Blocks whose maxima have every magnitude, next to ties, almost ties, tiny and infinite values. */
static int64_t make_blocks(float *values) {
    static const double beside[] = {1, 0x1.08p0, 0x1.18p0, 0x1.08001p0, 0x1.17FFFp0, 0x1.1p0, 0x1.3p0, 0x1.FFFFFEp0, 0x1.002p0,
                                    0x1.006p0, 0x1.F8p0, 0x1.Fp0};
    int64_t count = 0;
    for (int exponent = -150; exponent <= 127; exponent += 3) {
        for (int k = 0; k < QUERN_SCALE_BLOCK; k++) {
            const int down = k < 12 ? 0 : k < 24 ? k - 4 : 2 * k;  /* below the block's maximum */
            const double value = ldexp(beside[k % 12], exponent - down);
            values[count++] = (float)(k % 3 == 1 ? -value : value);
        }
        if (exponent % 2) values[count - 1] = exponent % 4 == 1 ? INFINITY : NAN, values[count - 2] = -INFINITY;
    }
    values[count++] = 3;  /* a block of one element */
    return count;
}

static void check_scaled_boundaries(quern_dtype dtype, quern_rounding rounding) {
    static float values[4096];
    const struct quern_kernel *row = scaled_row(dtype);
    const int64_t count = make_blocks(values);
    const quern_adam_args args = direct_args(row, rounding);
    struct adam_problem problem CLOSED_BY(adam_free);
    make_direct(&problem, &args, count, values);
    run_direct(row, &problem);
    /* The model's own oracle would miss this: apart from the rounding, each value must arrive unchanged. */
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)values[i], got = adam_value_at(&problem, 0, ARENA_M, i);
        if (!isfinite(value)) {
            check(isnan(value) || dtype == QUERN_E4M3 ? isnan(got) : got == value, "%a became %a", value, got);
            continue;
        }
        const double scale = (double)adam_scale_factor(problem.tensors[0].m_scale[i / QUERN_SCALE_BLOCK]);
        const double ulp = dtype_ulp(dtype, value / scale) * scale, farthest = rounding == QUERN_ROUND_NEAREST ? ulp / 2 : ulp;
        check(fabs(got - value) <= farthest + 0x1p-149, "%s: %a became %a", quern_dtype_name(dtype), value, got);
    }
}

Test(adam_rounding, boundaries_of_scaled_moments) {
    for (size_t d = 0; d < COUNT(scaled); d++) {
        check_scaled_boundaries(scaled[d], QUERN_ROUND_NEAREST);
        check_scaled_boundaries(scaled[d], QUERN_ROUND_STOCHASTIC);
    }
}

/*
 * One value in all elements except the first of each block, which is larger by a power of two and so determines how much of the
 * value is cut off.
 */
static void check_moment_share(quern_dtype dtype, float value, int power, uint64_t seed) {
    const int64_t count = test_size(100000, 10000);
    quern_adam_args args = direct_args(scaled_row(dtype), QUERN_ROUND_STOCHASTIC);
    args.seed = seed;
    float *grads = zeroed((size_t)count * sizeof *grads);
    for (int64_t i = 0; i < count; i++) grads[i] = i % QUERN_SCALE_BLOCK ? value : ldexpf(value, power);
    struct adam_problem problem CLOSED_BY(adam_free);
    make_direct(&problem, &args, count, grads);
    free(grads);
    OPEN_ROW(device, scaled_row(dtype));
    adam_run(&device, &problem);
    check_share(&problem, ARENA_M, dtype, (double)value, (double)adam_scale_factor(problem.tensors[0].m_scale[0]));
}

Test(adam_rounding, stochastic_shares_of_scaled_moments) {
    static const float values[] = {1.001f, -0.3337f, 100.3f, 3e-7f, 1.03f, -1.6e-20f};
    static const int powers[] = {0, 3, 14, 17, 22};  /* from 14 on e4m3 is subnormal, from 29 on f16 */
    for (size_t d = 0; d < COUNT(scaled); d++)
        for (size_t i = 0; i < COUNT(values) * COUNT(powers); i += (size_t)test_size(1, 4))
            check_moment_share(scaled[d], values[i % COUNT(values)], powers[i / COUNT(values)], i);
    check_moment_share(QUERN_F16, 1.37f, 31, 77);
    check_moment_share(QUERN_F16, 1.37f, 37, 78);
}

/* ---- v above zero ---- */

/* A v that is far too small for its block is stored as the smallest positive value, so that the next step does not jump. */
TEST_ADAM_ROWS(adam_rounding, a_scaled_v_above_zero_stays_there) {
    if (!adam_is_scaled(row->key.adam.v)) return;
    static const int64_t counts[] = {64};
    for (int rounding = QUERN_ROUND_NEAREST; rounding <= QUERN_ROUND_STOCHASTIC; rounding++) {
        quern_adam_args args = adam_args_of(row);
        args.beta2 = 0, args.beta1 = 0, args.amsgrad = 1, args.v_rounding = (quern_rounding)rounding;
        OPEN_ADAM(problem, &args, counts, 1);
        for (int64_t i = 0; i < counts[0]; i++) {
            adam_set_value(&problem, 0, ARENA_GRAD, i, i % 32 == 5 ? 1024 : i % 2 ? 0x1p-20 : 0);
            adam_set_value(&problem, 0, ARENA_V, i, 0);
            adam_set_value(&problem, 0, ARENA_V_MAX, i, 0);
        }
        adam_check_step(device, &problem, row->name);
        for (int64_t i = 0; i < counts[0]; i++) {
            const double v = adam_value_at(&problem, 0, ARENA_V, i), v_max = adam_value_at(&problem, 0, ARENA_V_MAX, i);
            check(i % 2 ? v > 0 && v_max > 0 : v == 0 && v_max == 0, "%s: v[%d] is %g, v_max %g", row->name, (int)i, v, v_max);
        }
    }
}

/* ---- any state ---- */

/*
 * Every code under every scale decodes to its value; a scale of 255 decodes to infinity, which leads to NaN or infinity.  The
 * gradient is zero: any other would hide the value of a scale of 0.
 */
TEST_ADAM_ROWS(adam_rounding, every_code_under_every_scale) {
    const quern_dtype m = row->key.adam.m, v = row->key.adam.v;
    if (!adam_is_scaled(m) && !adam_is_scaled(v)) return;
    static const int64_t few[] = {0, 85, 251, 255}; /* 251: only small codes stay finite */
    const int64_t scales = test_size(64, COUNT(few)), counts[] = {256 * scales}, *count = counts;
    const quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, 1);
    const quern_adam_tensor *t = &problem.tensors[0];
    for (int64_t i = 0; i < *count; i++) {
        const uint16_t bits = (uint16_t)random_bits(3, (uint64_t)i);
        if (m == QUERN_F16) ((uint16_t *)t->m)[i] = bits;
        else if (adam_is_scaled(m)) ((uint8_t *)t->m)[i] = (uint8_t)i;
        if (v == QUERN_F16) ((uint16_t *)t->v)[i] = bits & 0x7FFF;
        else if (adam_is_scaled(v)) ((uint8_t *)t->v)[i] = (uint8_t)i & 0x7F;
    }
    for (int64_t block = 0; block < *count / QUERN_SCALE_BLOCK; block++) {
        const int64_t scale = test_is_small() ? few[block / 8] : block / 8 * 255 / (scales - 1);
        if (adam_is_scaled(m)) t->m_scale[block] = (uint8_t)scale;
        if (adam_is_scaled(v)) t->v_scale[block] = (uint8_t)(scale + block % 3);
        for (int64_t i = 0; i < QUERN_SCALE_BLOCK && scale == 0; i++)
            adam_set_value(&problem, 0, ARENA_GRAD, block * QUERN_SCALE_BLOCK + i, 0);
    }
    adam_check_step(device, &problem, row->name);
}

/* All bytes zero is a state of zeros: a first step from it equals one from zeros in fp32. */
Test(adam_rounding, zero_bytes_are_zeros) {
    static const int64_t counts[] = {100};
    for (size_t d = 0; d < COUNT(scaled); d++) {
        const struct quern_kernel *row = scaled_row(scaled[d]);
        quern_adam_args args = adam_args_of(row);
        args.step = 1, args.lr = 0.5, args.weight_decay = args.eps = 0;
        OPEN_ADAM(problem, &args, counts, 1);
        for (int a = ARENA_M; a <= ARENA_V_MAX_SCALE; a++)
            if (problem.arena[a]) memset(problem.arena[a], 0, problem.bytes[a]);
        double before[100];
        for (int64_t i = 0; i < counts[0]; i++) before[i] = adam_value_at(&problem, 0, ARENA_PARAM, i);
        run_direct(row, &problem);
        for (int64_t i = 0; i < counts[0]; i++)
            check(fabs(fabs(adam_value_at(&problem, 0, ARENA_PARAM, i) - before[i]) - 0.5) < 1e-5, "the first step is %g",
                  adam_value_at(&problem, 0, ARENA_PARAM, i) - before[i]);
    }
}
