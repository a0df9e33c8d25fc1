/*
 * Adam: every kernel of the target under test against the fp32 model, bit for bit, and against the exact formula.
 * Rounding and long runs are in test_adam_rounding.c.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

/* ---- the table ---- */

static void check_row_is_chosen(const struct test_device *device, const struct quern_kernel *row) {
    quern_adam_args args = adam_args_of(row);
    char text[4096], chosen[256];
    snprintf(chosen, sizeof chosen, "%s: chosen", row->name);
    quern_adam_explain(device->quern, &args, text, sizeof text);
    check(strstr(text, chosen), "%s is not chosen:\n%s", row->name, text);
}

Test(adam, every_row_is_reachable) {
    check(for_each_adam_row(check_row_is_chosen) >= 68, "fewer rows than the library has from the start");
}

static bool same_key(const struct quern_kernel *a, const struct quern_kernel *b) {
    return a->key.adam.param == b->key.adam.param && a->key.adam.grad == b->key.adam.grad && a->key.adam.m == b->key.adam.m
        && a->key.adam.v == b->key.adam.v && a->key.adam.master == b->key.adam.master && a->key.adam.full == b->key.adam.full;
}

Test(adam, every_combination_of_types_has_its_own_row) {
    for (const struct quern_kernel *a = next_adam_row(NULL); a; a = next_adam_row(a))
        for (const struct quern_kernel *b = next_adam_row(a); b; b = next_adam_row(b))
            check(!same_key(a, b), "%s and %s have the same types", a->name, b->name);
}

/* ---- one step ---- */

/* Both modes, all eight choices of rounding and the defaults. */
TEST_ADAM_ROWS(adam, one_step_in_every_mode_and_rounding) {
    for (int i = 0; i < 2 * 9; i++) {
        quern_adam_args args = adam_args_of(row);
        int rounding = i / 2;
        args.mode = i % 2 ? QUERN_ADAM_L2 : QUERN_ADAMW;
        if (rounding < 8)
            adam_set_rounding(&args, rounding & 4 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST,
                              rounding & 2 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST,
                              rounding & 1 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST);
        args.step = 1 + i * i;
        args.seed += (uint64_t)i << 40;
        OPEN_TENSORS(before, &args, 300, 7);
        adam_check_only_step(device, &before, row->name);
    }
}

/* ---- many steps ---- */

/* Each step starts from the exact state before it, so that one bf16 rounding near a tie does not spoil the later steps. */
TEST_ADAM_ROWS(adam, many_steps_with_weight_decay) {
    static const int64_t counts[] = {33, 10};
    for (int mode = 0; mode <= QUERN_ADAM_L2; mode++) {
        quern_adam_args args = adam_args_of(row);
        args.mode = (quern_adam_mode)mode;
        struct adam_problem before CLOSED_BY(adam_free), after;
        adam_make(&before, &args, counts, COUNT(counts));
        for (int64_t step = 1; step <= test_size(120, 8); step++) {
            before.args.step = step;
            for (int64_t i = 0; i < counts[0]; i++)
                adam_set_value(&before, 0, ARENA_GRAD, i, random_normal((uint64_t)step, (uint64_t)i));
            adam_copy(&after, &before);
            adam_check_step(device, &after, row->name);
            adam_check_exact(&before, &after, row->name);
            adam_free(&before);
            before = after;
        }
    }
}

/* fp32 states run without the oracle for 100 steps and must reach the same result. */
TEST_ADAM_ROWS(adam, a_hundred_free_steps_in_fp32) {
    if (row->key.adam.param != QUERN_F32 || row->key.adam.m != QUERN_F32 || row->key.adam.v != QUERN_F32) return;
    enum { SIZE = 64, STEPS = 100 };
    quern_adam_args args = adam_args_of(row);
    OPEN_TENSORS(problem, &args, SIZE);
    const quern_adam_tensor *t = &problem.tensors[0];
    struct adam_element e[SIZE];
    for (int i = 0; i < SIZE; i++)
        e[i] = (struct adam_element){.param = adam_value_at(&problem, 0, ARENA_PARAM, i),
                                     .m = adam_value_at(&problem, 0, ARENA_M, i), .v = adam_value_at(&problem, 0, ARENA_V, i),
                                     .v_max = args.amsgrad ? adam_value_at(&problem, 0, ARENA_V_MAX, i) : 0};
    for (int64_t step = 1; step <= STEPS; step++) {
        problem.args.step = step;
        for (int i = 0; i < SIZE; i++) {
            e[i].grad = (double)(float)random_normal((uint64_t)step, (uint64_t)i);
            if (args.grad_dtype != QUERN_F32) e[i].grad = dtype_round(args.grad_dtype, e[i].grad);
            adam_set_value(&problem, 0, ARENA_GRAD, i, e[i].grad);
            struct adam_exact exact = adam_exact_element(&problem.args, t, e[i]);
            e[i].param = exact.param, e[i].m = exact.m, e[i].v = exact.v, e[i].v_max = exact.v_max;
        }
        adam_run(device, &problem);
    }
    for (int i = 0; i < SIZE; i++) {
        check(fabs(adam_value_at(&problem, 0, ARENA_M, i) - e[i].m) <= 1e-6 * fmax(fabs(e[i].m), 0.1), "m[%d] ran away", i);
        check(fabs(adam_value_at(&problem, 0, ARENA_V, i) - e[i].v) <= 1e-6 * e[i].v, "v[%d] ran away", i);
        check(fabs((double)((float *)t->param)[i] - e[i].param) <= 1e-6 * fmax(fabs(e[i].param), 1), "param[%d] ran away", i);
    }
}

/* ---- shapes ---- */

/* Tensors of 0 to 257 elements in one list, each with a different misalignment (see adam_make). */
TEST_ADAM_ROWS(adam, every_small_size_at_every_alignment) {
    int64_t counts[2 * 258];
    for (int64_t i = 0; i < (int64_t)COUNT(counts); i++) counts[i] = i % 258;
    quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, test_size(COUNT(counts), 258));
    adam_check_step(device, &problem, row->name);
}

/* Longer than any block, and no multiple of a block. */
TEST_ADAM_ROWS(adam, long_tensors) {
    const int64_t counts[] = {test_size(70001, 9001), 0, 4096, 4097, 1, 2048, 8191};
    quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    adam_check_step(device, &problem, row->name);
}

/*
 * So many tiles that a GPU's warps take some in turns and share the rest in pieces, of one tile or two: see tile_turns.  The turns
 * do not depend on the types.
 */
TEST_ADAM_ROWS(adam, tiles_in_turns_and_pieces) {
    if (!adam_is_typical(row)) return;
    static const int64_t tiles[] = {45, 270, 345};
    for (size_t i = 0; i < COUNT(tiles); i++) {
        const int64_t counts[] = {QUERN_LIST_TILE + 1, (tiles[i] - 3) * QUERN_LIST_TILE, 700};
        quern_adam_args args = adam_args_of(row);
        OPEN_ADAM(problem, &args, counts, COUNT(counts));
        adam_check_step(device, &problem, row->name);
    }
}

/*
 * More tensors than one GPU launch takes, with empty ones among them: empty tensors keep their position in the list.  The list does
 * not depend on the types.
 */
TEST_ADAM_ROWS(adam, thousands_of_tiny_tensors) {
    if (test_is_small() && !adam_is_typical(row)) return;
    enum { FULL = 8193, SMALL = QUERN_ADAM_BATCH + 9 };
    static int64_t counts[FULL];
    for (int64_t i = 0; i < FULL; i++) counts[i] = i % 7 == 3 ? 0 : 1 + i % 3;
    counts[0] = counts[FULL - 1] = counts[SMALL - 1] = 0;
    quern_adam_args args = adam_args_of(row);
    adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
    OPEN_ADAM(problem, &args, counts, test_size(FULL, SMALL));
    adam_check_step(device, &problem, row->name);
}

TEST_ADAM_ROWS(adam, empty_lists_and_empty_tensors) {
    quern_adam_args args = adam_args_of(row);
    check_ok(quern_adam(device->quern, &args, NULL, 0, device->stream));
    quern_adam_tensor empty[3] = {{0}};
    args.tensors = empty;
    args.tensor_count = 3;
    check_ok(quern_adam(device->quern, &args, NULL, 0, device->stream));
    OPEN_TENSORS(problem, &args, 0, 0, 0);
    adam_check_step(device, &problem, row->name);
}

/* ---- scalars ---- */

TEST_ADAM_ROWS(adam, unusual_scalars) {
    static const struct {
        double lr, beta1, beta2, eps, weight_decay;
        int64_t step;
        uint64_t seed;
    } scalars[] = {
        {1e-3, 0.9, 0.999, 1e-8, 0, 1, 0},
        {1e-3, 0.9, 0.95, 1e-8, 0.1, 1, ~(uint64_t)0},
        {0, 0.9, 0.999, 1e-8, 0.1, 10, 1},                       /* only the moments change */
        {1, 0, 0, 1e-8, 0.01, 1, 2},                             /* sign descent */
        {1e-3, 0, 0.999, 0, 0.1, 2, (uint64_t)1 << 63},          /* eps 0 */
        {1e-3, 0.9, 0.9999999, 1e-15, 0.1, 1, 3},                /* bias correction near cancellation */
        {1e-3, 0.999999, 0.999999, 1e-8, 0.1, 3, 4},
        {1e-2, 0.9, 0.999, 1e-8, 0.1, 1000000, 5},               /* no bias correction left */
        {1e-2, 0.9, 0.999, 1e-8, 0.1, ((int64_t)1 << 32) + 7, 6}, /* a step beyond 32 bits */
        {1e-2, 0.9, 0.999, 1e-8, 0.1, ((int64_t)1 << 31) - 1, 7},
        {3e-5, 0.9, 0.98, 1e-6, 10, 17, 8},
        {1e-2, 0.9, 0.999, 1e30, 0.1, 3, 9},                     /* eps dominates */
    };
    for (size_t i = 0; i < COUNT(scalars); i++) {
        quern_adam_args args = adam_args_of(row);
        args.lr = scalars[i].lr, args.beta1 = scalars[i].beta1, args.beta2 = scalars[i].beta2, args.eps = scalars[i].eps;
        args.weight_decay = scalars[i].weight_decay, args.step = scalars[i].step, args.seed = scalars[i].seed;
        args.mode = i % 2 ? QUERN_ADAM_L2 : QUERN_ADAMW;
        OPEN_TENSORS(before, &args, 65, 260);
        adam_check_only_step(device, &before, row->name);
    }
}

/* The quotient of moment and denominator is subnormal, and the learning rate makes it count.  The bounds of adam_check_exact() do
 * not hold there. */
TEST_ADAM_ROWS(adam, quotients_below_the_normal_numbers) {
    quern_adam_args args = adam_args_of(row);
    args.lr = 1e36, args.eps = 3e38, args.weight_decay = 0;
    OPEN_TENSORS(problem, &args, 65, 260);
    adam_check_step(device, &problem, row->name);
}

/* ---- special values ---- */

static const double special[] = {
    (double)NAN, (double)INFINITY, (double)-INFINITY, 0.0, -0.0, 0x1p-149, 0x1p-133, 0x1p-127, 0x1p-24, 0x1p-25, 65504,
    65520, -65504, 1e30, 0x1.FEp127, 0x1.FFFFFEp127, -0x1.FFFFFEp127, 1e-20, 1e-30, 1.0, -1.0,
};
enum { NOT_FINITE = 3 };  /* the first special element */

/* The elements between the special ones (three in four) must equal those of a run without special values. */
static void check_neighbours(const struct adam_problem *got, const struct adam_problem *clean, const char *what) {
    static const int arenas[] = {ARENA_PARAM, ARENA_M, ARENA_V};
    for (size_t a = 0; a < COUNT(arenas); a++)
        for (int64_t i = 0; i < got->tensors[0].count; i++)
            check(i % 4 == 1 || adam_value_at(got, 0, arenas[a], i) == adam_value_at(clean, 0, arenas[a], i),
                  "%s: element %d of array %d noticed its neighbour", what, (int)i, arenas[a]);
}

/*
 * Special values in one array at a time: each affects its own element, and all others are unchanged.  In a scaled type a large
 * finite value changes its block's scale, so there the neighbours are compared for infinities and NaN only.
 */
static void check_special_values(const struct test_device *device, const struct quern_kernel *row, quern_rounding rounding,
                                 int64_t count) {
    const int64_t counts[] = {count};
    static const int arenas[] = {ARENA_PARAM, ARENA_GRAD, ARENA_M, ARENA_V, ARENA_MASTER, ARENA_V_MAX};
    const bool is_scaled = adam_is_scaled(row->key.adam.m) || adam_is_scaled(row->key.adam.v);
    quern_adam_args args = adam_args_of(row);
    adam_set_rounding(&args, rounding, rounding, rounding);
    struct adam_problem clean CLOSED_BY(adam_free), problem, clean_after CLOSED_BY(adam_free);
    adam_make(&clean, &args, counts, 1);
    adam_copy(&clean_after, &clean);
    adam_run(device, &clean_after);
    for (size_t a = 0; a < COUNT(arenas) * (is_scaled ? 2 : 1); a++) {
        const int arena = arenas[a % COUNT(arenas)], values = a < COUNT(arenas) && is_scaled ? NOT_FINITE : (int)COUNT(special);
        if (!clean.arena[arena] || (arena == ARENA_PARAM && args.master_dtype)) continue;
        adam_copy(&problem, &clean);
        for (int k = 0; k < values; k++)
            adam_set_value(&problem, 0, arena, 4 * k + 1,
                           arena == ARENA_V || arena == ARENA_V_MAX ? fabs(special[k]) : special[k]);
        adam_check_step(device, &problem, row->name);
        if (a < COUNT(arenas)) check_neighbours(&problem, &clean_after, row->name);
        check(isnan(adam_value_at(&problem, 0, ARENA_PARAM, 1)), "%s: NaN got lost", row->name);
        adam_free(&problem);
    }
}

/*
 * Random bits produce no other NaN, infinity or largest value.  The default mixes both; for it a CPU has a faster kernel of 256 and
 * more 16-bit values, which leaves special values to the other one.
 */
TEST_ADAM_ROWS(adam, special_values_stay_in_their_element) {
    check_special_values(device, row, QUERN_ROUND_NEAREST, 96);
    check_special_values(device, row, QUERN_ROUND_STOCHASTIC, 96);
    check_special_values(device, row, QUERN_ROUND_DEFAULT, 600);
}

/* Everything zero and eps zero: 0 / 0 is defined as a step of zero. */
TEST_ADAM_ROWS(adam, nothing_moves_where_all_is_zero) {
    static const int64_t counts[] = {50};
    quern_adam_args args = adam_args_of(row);
    args.eps = 0;
    args.weight_decay = 0;
    OPEN_ADAM(problem, &args, counts, 1);
    adam_set_all(&problem, ARENA_GRAD, 0);
    adam_set_all(&problem, ARENA_M, 0);
    adam_set_all(&problem, ARENA_V, 0);
    if (args.amsgrad) adam_set_all(&problem, ARENA_V_MAX, 0);
    adam_check_step(device, &problem, row->name);
    for (int64_t i = 0; i < counts[0]; i++)
        check(isfinite(adam_value_at(&problem, 0, ARENA_PARAM, i)) && adam_value_at(&problem, 0, ARENA_V, i) == 0, "0 / 0 moved");
}

/* Moments with zeros in places, in groups of eight: all of them, some, and beside magnitudes too small for the fast division. */
static void set_zeros(struct adam_problem *problem, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const int64_t group = i / 8 % 8;
        const bool zero_m = group == 0 || group == 1 || (group >= 3 && i % 3 == 0);
        const bool zero_v = group == 0 || group == 2 || (group >= 3 && i % 2);
        const double tiny_m = (double)(i % 7 + 1) * (group == 4 ? 0x1p-131 : -0x1p-97);
        const double tiny_v = (double)(i % 7 + 1) * (group == 6 ? 0x1p-131 : 0x1p-104);
        if (zero_m || zero_v || group >= 4) adam_set_value(problem, 0, ARENA_GRAD, i, 0);
        if (zero_m) adam_set_value(problem, 0, ARENA_M, i, i % 2 ? -0.0 : 0.0);
        else if (group == 4 || group == 5) adam_set_value(problem, 0, ARENA_M, i, tiny_m);
        if (zero_v) adam_set_value(problem, 0, ARENA_V, i, 0);
        else if (group == 6 || group == 7) adam_set_value(problem, 0, ARENA_V, i, tiny_v);
        if (i % 5 == 0) adam_set_value(problem, 0, ARENA_PARAM, i, i % 2 ? -0.0 : 0.0);
    }
}

TEST_ADAM_ROWS(adam, zeros_in_places) {
    static const double eps[] = {1e-8, 1e-15, 0x1p-60, 0x1p-61, 1e-30, 0};
    static const int64_t counts[] = {640};
    for (size_t i = 0; i < 2 * COUNT(eps); i++) {
        quern_adam_args args = adam_args_of(row);
        args.eps = eps[i / 2], args.eps_mode = i % 2 ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        args.beta1 = 0.5, args.weight_decay = i % 3 ? 0.1 : 0;
        OPEN_ADAM(problem, &args, counts, 1);
        set_zeros(&problem, counts[0]);
        adam_check_step(device, &problem, row->name);
    }
}

/* Tiny gradients: the moments have their own range, independent of the parameter's, and a scaled type keeps v of 1e-11. */
TEST_ADAM_ROWS(adam, tiny_gradients_reach_v) {
    static const int64_t counts[] = {64};
    quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, 1);
    adam_set_all(&problem, ARENA_GRAD, 1e-4);
    adam_set_all(&problem, ARENA_M, 0);
    adam_set_all(&problem, ARENA_V, 0);
    adam_check_step(device, &problem, row->name);
    const double v = 1e-11, step = adam_is_scaled(args.v_dtype) ? 0 : dtype_ulp(args.v_dtype, v);
    const double off = fmax(fmax(dtype_ulp(args.v_dtype, 1), 0.01) * v, step);
    for (int64_t i = 0; i < counts[0]; i++)
        check(fabs(adam_value_at(&problem, 0, ARENA_V, i) - v) <= off, "v is %g", adam_value_at(&problem, 0, ARENA_V, i));
}

/* An m that underflows becomes a zero with its sign, and a parameter of -0 remains -0. */
TEST_ADAM_ROWS(adam, vanishing_moments_leave_the_sign_of_zero) {
    quern_adam_args args = adam_args_of(row);
    args.beta1 = 0x1p-24, args.weight_decay = 0;
    OPEN_TENSORS(problem, &args, 320);
    adam_set_all(&problem, ARENA_GRAD, 0);
    adam_set_all(&problem, ARENA_M, -0x1p-133);
    adam_set_all(&problem, ARENA_PARAM, -0.0);
    adam_check_step(device, &problem, row->name);
}
