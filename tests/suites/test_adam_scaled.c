/*
 * Scaled moments: the scale of a block, its rounding at every boundary, the statistics of stochastic rounding, and v that never
 * becomes zero.  Values reach the rounding unchanged: with beta1 = 0 m becomes the gradient, with beta2 = 0 v becomes its square.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include <math.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam_value.h"
#include "oracle/dtype.h"

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

enum { ROOM = 4096 };

static void check_boundaries(quern_dtype dtype, quern_rounding rounding) {
    static float values[ROOM];
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

Test(adam_scaled, boundaries_to_nearest) {
    for (size_t d = 0; d < COUNT(scaled); d++) check_boundaries(scaled[d], QUERN_ROUND_NEAREST);
}

Test(adam_scaled, boundaries_stochastic) {
    for (size_t d = 0; d < COUNT(scaled); d++) check_boundaries(scaled[d], QUERN_ROUND_STOCHASTIC);
}

/* ---- statistics ---- */

/*
 * One value in all elements except the first of each block.  The first is larger by a power of two and so determines how much of
 * the value is cut off.  The fraction rounded up equals the fraction cut off, within four standard deviations.
 */
static void check_share(quern_dtype dtype, float value, int power, uint64_t seed) {
    const struct quern_kernel *row = scaled_row(dtype);
    const int64_t count = test_size(100000, 10000);
    quern_adam_args args = direct_args(row, QUERN_ROUND_STOCHASTIC);
    args.seed = seed;
    float *grads = malloc((size_t)count * sizeof *grads);
    check(grads, "no memory");
    for (int64_t i = 0; i < count; i++) grads[i] = i % QUERN_SCALE_BLOCK ? value : ldexpf(value, power);
    struct adam_problem problem;
    make_direct(&problem, &args, count, grads);
    struct test_device device;
    device_open_row(&device, 0, row);
    adam_run(&device, &problem);
    device_close(&device);
    const double scale = (double)adam_scale_factor(problem.tensors[0].m_scale[0]), y = (double)value / scale;
    const double low = dtype_truncate(dtype, y), ulp = dtype_ulp(dtype, y), fraction = fabs(y - low) / ulp;
    double up = 0, n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i % QUERN_SCALE_BLOCK == 0) continue;
        const double got = adam_value_at(&problem, 0, ARENA_M, i) / scale;
        check(got == low || fabs(got - low) == ulp, "%g became %g", (double)value, got * scale);
        up += got != low, n++;
    }
    const double deviation = sqrt(fraction * (1 - fraction) / n);
    check(fabs(up / n - fraction) <= 4 * deviation + 0x1p-13, "%s of %g under 2^%d: %g rounded up instead of %g",
          quern_dtype_name(dtype), (double)value, power, up / n, fraction);
    adam_free(&problem);
    free(grads);
}

Test(adam_scaled, stochastic_shares) {
    static const float values[] = {1.001f, -0.3337f, 100.3f, 3e-7f, 1.03f, -1.6e-20f};
    static const int powers[] = {0, 3, 14, 17, 22};  /* from 14 on e4m3 is subnormal, from 29 on f16 */
    for (size_t d = 0; d < COUNT(scaled); d++)
        for (size_t i = 0; i < COUNT(values) * COUNT(powers); i += (size_t)test_size(1, 4))
            check_share(scaled[d], values[i % COUNT(values)], powers[i / COUNT(values)], i);
    check_share(QUERN_F16, 1.37f, 31, 77);
    check_share(QUERN_F16, 1.37f, 37, 78);
}

/* ---- v above zero ---- */

/* A v that is far too small for its block is stored as the smallest positive value, so that the next step does not jump. */
TEST_ADAM_ROWS(adam_scaled, v_above_zero_stays_there) {
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
TEST_ADAM_ROWS(adam_scaled, every_code_under_every_scale) {
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
Test(adam_scaled, zero_bytes_are_zeros) {
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
