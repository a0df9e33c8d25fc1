/*
 * Adam's long runs, on every row that rounds: nearest rounding freezes v and parameters, and stochastic rounding does not.
 *
 * As many steps as a training run takes, on CPUs: the bits are the same on GPUs.
 *
 * Runs on: cpu; kernels of adam; not with sanitizers.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/dtype.h"

/* ---- a run of one tensor, without further options ---- */

static quern_adam_args args_of(const struct quern_kernel *row) {
    quern_adam_args args = adam_args_of(row);
    args.zero_grads = args.amsgrad = 0, args.copy_dtype = QUERN_NO_DTYPE;
    return args;
}

static double mean_of(const struct adam_problem *problem, int arena) {
    double mean = 0;
    const int64_t count = problem->tensors[0].count;
    for (int64_t i = 0; i < count; i++) mean += adam_value_at(problem, 0, arena, i) / (double)count;
    return mean;
}

/* ---- long: gradients from a table, to which the tensor can point directly on a CPU ---- */

enum { SIZE = 256, TABLE = 512 };

/* N(0, size^2) in the type of a row's gradients: TABLE steps of SIZE elements. */
static void *make_table(quern_dtype dtype, double size) {
    void *table = zeroed(TABLE * SIZE * quern_dtype_bytes(dtype));
    for (int64_t i = 0; i < TABLE * SIZE; i++) dtype_store(dtype, table, i, size * random_normal(77, (uint64_t)i));
    return table;
}

/* The mean of v after the given number of steps with gradients of the given size. */
static double mean_v_after(const struct test_device *device, const struct quern_kernel *row, quern_rounding rounding,
                           double first_v, double size, int64_t steps) {
    static const int64_t counts[] = {SIZE};
    quern_adam_args args = args_of(row);
    args.v_rounding = rounding, args.lr = 1e-6;
    OPEN_ADAM(problem, &args, counts, 1);
    adam_set_all(&problem, ARENA_V, first_v);
    SCOPED char *table = make_table(args.grad_dtype, size);
    for (int64_t step = 1; step <= steps; step++) {
        problem.tensors[0].grad = table + (size_t)(step % TABLE) * SIZE * quern_dtype_bytes(args.grad_dtype);
        problem.args.step = step;
        check_ok(quern_adam(device->quern, &problem.args, NULL, 0, NULL));
    }
    return mean_of(&problem, ARENA_V);
}

/* In eight bits v has two or three fraction bits, and its mean over 256 elements has a correspondingly larger deviation. */
static double spread_of(quern_dtype v) { return quern_dtype_bytes(v) == 1 ? 0.12 : 0.05; }

TEST_ADAM_ROWS(adam_long, v_follows_the_gradients) {
    const int64_t steps = test_size(20000, 4000);
    const double expected = 1 - pow(0.999, (double)steps);
    const double mean = mean_v_after(device, row, QUERN_ROUND_DEFAULT, 0, 1, steps);
    check(fabs(mean - expected) < spread_of(row->key.adam.v), "%s: v comes to %g instead of %g", row->name, mean, expected);
}

/* Gradients fall to a tenth: v must fall to a hundredth. */
TEST_ADAM_ROWS(adam_long, v_falls_with_the_gradients) {
    const int64_t steps = test_size(10000, 4000);
    const double expected = 0.01 + 0.99 * pow(0.999, (double)steps);
    const double mean = mean_v_after(device, row, QUERN_ROUND_DEFAULT, 1, 0.1, steps);
    const double spread = spread_of(row->key.adam.v) * expected;
    check(fabs(mean - expected) < spread, "%s: v falls to %g instead of %g", row->name, mean, expected);
}

/* The states for which stochastic rounding is the documented default. */
Test(adam_long, nearest_rounding_freezes_v) {
    const struct quern_kernel *row = find_adam_row(QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    OPEN_ROW(device, row);
    const double risen = mean_v_after(&device, row, QUERN_ROUND_NEAREST, 0, 1, 20000);
    const double stuck = mean_v_after(&device, row, QUERN_ROUND_NEAREST, 1, 0.1, 10000);
    check(risen > 1.8, "v should stick above 1; it came to %g", risen);
    check(stuck == 1, "v should stay at 1; it came to %g", stuck);
}

/* ---- weight decay without gradients: 1 * (1 - 1e-4)^steps ---- */

static double param_after(const struct test_device *device, const struct quern_kernel *row, quern_rounding rounding,
                          int64_t steps) {
    static const int64_t counts[] = {SIZE};
    quern_adam_args args = args_of(row);
    args.param_rounding = rounding, args.lr = 1e-3, args.weight_decay = 0.1;
    OPEN_ADAM(problem, &args, counts, 1);
    adam_set_all(&problem, args.master_dtype ? ARENA_MASTER : ARENA_PARAM, 1);
    adam_set_all(&problem, ARENA_GRAD, 0);
    adam_set_all(&problem, ARENA_M, 0);
    OPEN_ADAM_SESSION(session, device, &problem);
    for (session.args.step = 1; session.args.step <= steps; session.args.step++) check_ok(adam_session_step(&session));
    adam_session_read(&session, &problem);
    return mean_of(&problem, ARENA_PARAM);
}

TEST_ADAM_ROWS(adam_long, weight_decay_reaches_parameters) {
    const int64_t steps = test_size(10000, 3000);
    const double expected = pow(1 - 1e-4, (double)steps), mean = param_after(device, row, QUERN_ROUND_DEFAULT, steps);
    check(fabs(mean - expected) < 0.01, "%s: 1 decays to %g instead of %g", row->name, mean, expected);
}

Test(adam_long, nearest_rounding_stops_weight_decay) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    OPEN_ROW(device, row);
    const double mean = param_after(&device, row, QUERN_ROUND_NEAREST, 10000);
    check(mean == 1, "1 should stay; it came to %g", mean);
}
