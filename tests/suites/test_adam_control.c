/*
 * Adam's step control in device memory: which values found_inf leaves unchanged, how steps are counted on the device, and a
 * captured graph whose numbers change from replay to replay; a step for each tensor; the line of the log.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include <float.h>

#include "harness/adam_case.h"
#include "harness/cuda.h"
#include "harness/random.h"
#include "harness/told.h"
#include "oracle/adam.h"

/* All numbers of step control, with values that differ from the fields of the arguments. */
static const int64_t steps_taken = 6;
static const float lr = 0.03125f, grad_scale = 1024, clip = 0.75f, all_finite = 0;

static quern_adam_control every_number(const float *found_inf) {
    return (quern_adam_control){.lr = &lr, .step = (int64_t *)(uintptr_t)&steps_taken, .grad_scale = &grad_scale, .clip = &clip,
                                .found_inf = found_inf};
}

/* ---- found_inf ---- */

/* With found_inf set, all bytes are unchanged except gradients that are to be zeroed. */
static void check_untouched(const struct adam_problem *after, const struct adam_problem *before, const char *what) {
    for (int a = 0; a < ARENAS; a++) {
        if (!before->arena[a] || (a == ARENA_GRAD && before->args.zero_grads)) continue;
        check(!memcmp(after->arena[a], before->arena[a], before->bytes[a]), "%s: a skipped step has written to array %d", what, a);
    }
}

TEST_ADAM_ROWS(adam_control, found_inf_leaves_every_byte) {
    static const float found[] = {1, NAN, INFINITY, 1e-45f, -1};
    static const int64_t counts[] = {70, 0, 33};
    for (size_t i = 0; i < COUNT(found) * 2; i++) {
        quern_adam_args args = adam_args_of(row);
        args.control = every_number(&found[i / 2]);
        struct adam_problem before CLOSED_BY(adam_free), after CLOSED_BY(adam_free);
        adam_make(&before, &args, counts, COUNT(counts));
        before.with_plan = i % 2;
        adam_copy(&after, &before);
        adam_check_step(device, &after, row->name);
        check_untouched(&after, &before, row->name);
    }
}

/* Zero of either sign does not skip the step. */
TEST_ADAM_ROWS(adam_control, the_numbers_are_used) {
    static const float zeros[] = {0, -0.0f};
    static const int64_t counts[] = {40};
    for (size_t i = 0; i < COUNT(zeros); i++) {
        quern_adam_args args = adam_args_of(row);
        args.control = every_number(&zeros[i]);
        struct adam_problem before CLOSED_BY(adam_free), after CLOSED_BY(adam_free);
        adam_make(&before, &args, counts, 1);
        adam_copy(&after, &before);
        adam_check_step(device, &after, row->name);
        adam_check_exact(&before, &after, row->name);
        check(adam_numbers(&after)->step == steps_taken + 1, "the step was not counted");
    }
}

/* ---- each number alone, and its field ignored ---- */

TEST_ADAM_ROWS(adam_control, each_number_alone) {
    const quern_adam_control all = every_number(&all_finite);
    const quern_adam_control each[] = {{.lr = all.lr}, {.step = all.step}, {.grad_scale = all.grad_scale}, {.clip = all.clip},
                                       {.found_inf = all.found_inf}};
    for (size_t i = 0; i < 2 * COUNT(each); i++) {
        quern_adam_args args = adam_args_of(row);
        args.control = each[i / 2];
        args.grad_scale = 5;
        OPEN_TENSORS(before, &args, 40);
        before.with_plan = i % 2;
        adam_check_only_step(device, &before, row->name);
    }
}

/*
 * Numbers that are infinite or NaN, in tensors long enough for the faster kernel of 16-bit values that a CPU has.  The NaN has the
 * bits that stochastic rounding could carry into a number.
 */
static void check_odd_number(const struct test_device *device, const struct quern_kernel *row, quern_adam_control control,
                             quern_adam_eps_mode mode) {
    static const int64_t counts[] = {600, 70};
    quern_adam_args args = adam_args_of(row);
    args.control = control, args.eps_mode = mode;
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    adam_check_step(device, &problem, row->name);
    for (int64_t i = 0; i < counts[0] && control.lr; i++)
        check(!isfinite(adam_value_at(&problem, 0, ARENA_PARAM, i)), "%s: element %d is a number", row->name, (int)i);
}

Test(adam_control, numbers_that_are_none) {
    static const uint32_t largest_nan = 0x7FFFFFFF, negative_nan = 0xFFFFFFFF;
    static const float infinite = INFINITY, zero = 0;
    float odd[3] = {infinite};
    memcpy(&odd[1], &largest_nan, sizeof *odd);
    memcpy(&odd[2], &negative_nan, sizeof *odd);
    for (int full = 0; full < 2; full++) {
        const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, full);
        OPEN_ROW(device, row);
        for (size_t i = 0; i < COUNT(odd); i++) {
            check_odd_number(&device, row, (quern_adam_control){.lr = &odd[i]}, QUERN_EPS_OUTSIDE);
            check_odd_number(&device, row, (quern_adam_control){.clip = &odd[i]}, QUERN_EPS_INSIDE);
            check_odd_number(&device, row, (quern_adam_control){.grad_scale = &odd[i]}, QUERN_EPS_OUTSIDE);
        }
        check_odd_number(&device, row, (quern_adam_control){.grad_scale = &zero}, QUERN_EPS_OUTSIDE);
    }
}

/* The largest values of the fields: the decay becomes infinite, and a multiplier of 0 makes it NaN. */
TEST_ADAM_ROWS(adam_control, the_largest_fields) {
    if (row->key.adam.m != QUERN_BF16 || row->key.adam.v != QUERN_BF16) return;
    for (int i = 0; i < 6; i++) {
        quern_adam_args args = adam_args_of(row);
        args.eps_mode = i % 2 ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        if (i / 2 == 0) args.eps = (double)FLT_MAX;
        if (i / 2 > 0) args.lr = 1e30, args.weight_decay = 1e30, args.use_multipliers = 1;
        OPEN_TENSORS(problem, &args, 600);
        problem.tensors[0].lr_multiplier = i / 2 == 1 ? 1 : 0;
        adam_check_step(device, &problem, row->name);
    }
}

/* A step counter on the device gives the same bits as one on the host, also beyond 32 bits. */
static void check_same_scalars(const struct test_device *device, const struct quern_kernel *row) {
    static const int64_t taken[] = {0, 1, 2, 99, 999999, ((int64_t)1 << 32) + 4, ((int64_t)1 << 40) - 1};
    static const double betas[] = {0, 0.9, 0.999, 0.9999999, 0.999999999999};
    static const int64_t counts[] = {33};
    for (size_t i = 0; i < COUNT(taken) * COUNT(betas); i++) {
        quern_adam_args args = adam_args_of(row);
        args.beta1 = betas[i % COUNT(betas)], args.beta2 = betas[(i + i / COUNT(betas)) % COUNT(betas)];
        args.lr = 0.03125, args.step = taken[i / COUNT(betas)] + 1;
        struct adam_problem host CLOSED_BY(adam_free), counted CLOSED_BY(adam_free);
        adam_make(&host, &args, counts, 1);
        adam_check_step(device, &host, row->name);
        args.control.lr = &lr, args.control.step = (int64_t *)(uintptr_t)&taken[i / COUNT(betas)];
        adam_make(&counted, &args, counts, 1);
        adam_check_step(device, &counted, row->name);
        check(adam_numbers(&counted)->step == args.step, "the step was not counted");
        for (int a = 0; a < ARENA_CONTROL; a++)
            check(!host.arena[a] || !memcmp(host.arena[a], counted.arena[a], host.bytes[a]), "array %d is another", a);
    }
}

Test(adam_control, scalars_of_the_device_are_those_of_the_host) {
    static const bool forms[] = {false, true};
    for (size_t i = 0; i < COUNT(forms); i++) {
        const struct quern_kernel *row = find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, forms[i]);
        OPEN_ROW(device, row);
        check_same_scalars(&device, row);
    }
}

/* ---- one step for each call ---- */

/* Independent of the number of tensors and launches; also with no tensors at all. */
TEST_ADAM_ROWS(adam_control, a_call_is_one_step) {
    enum { MANY = 2 * QUERN_ADAM_BATCH + 5 };
    static int64_t many[MANY], empty[MANY];
    static const int64_t few[] = {3, 5000, 0};
    static const struct {
        const int64_t *counts;
        int64_t tensors;
    } lists[] = {{few, 3}, {few, 0}, {empty, 3}, {many, MANY}, {empty, MANY}};
    for (int i = 0; i < MANY; i++) many[i] = i % 5 ? 1 + i % 3 : 0;
    for (size_t i = 0; i < 2 * COUNT(lists); i++) {
        if (test_is_small() && lists[i / 2].tensors == MANY && !adam_is_typical(row)) continue;
        quern_adam_args args = adam_args_of(row);
        int64_t taken = 0;
        args.control.step = &taken;
        args.step = 0;  /* ignored */
        OPEN_ADAM(problem, &args, lists[i / 2].counts, lists[i / 2].tensors);
        problem.with_plan = i % 2;
        adam_check_steps(device, &problem, 3, row->name);
        check(adam_numbers(&problem)->step == 3, "%s: step %lld after 3 calls", row->name, (long long)adam_numbers(&problem)->step);
    }
}

/* ---- the same call repeated; on a GPU, replayed from a graph ---- */

/* A stream that replays one captured step, or a CPU that is called each time. */
struct replay {
    struct adam_session session;
    void *executable;
};

static void replay_open(struct replay *replay, const struct test_device *device, const struct adam_problem *problem) {
    adam_session_open(&replay->session, device, problem);
    if (device->kind == QUERN_CPU) return;
    cuda_begin_capture(device->stream);
    check_ok(adam_session_step(&replay->session));
    replay->executable = cuda_end_capture(device->stream);
}

static void replay_step(struct replay *replay) {
    if (replay->session.device->kind == QUERN_CPU) check_ok(adam_session_step(&replay->session));
    else CUDA(cuGraphLaunch(replay->executable, replay->session.device->stream));
}

static void replay_close(struct replay *replay) {
    if (replay->session.device->kind == QUERN_CUDA) CUDA(cuGraphExecDestroy(replay->executable));
    adam_session_close(&replay->session);
}

/* New gradients and numbers for a step; every third is skipped. */
static void set_step(struct adam_problem *problem, int64_t step) {
    struct adam_numbers *numbers = adam_numbers(problem);
    for (int64_t place = 0; place < problem->args.tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++)
            adam_set_value(problem, place, ARENA_GRAD, i, random_normal((uint64_t)(100 * step + place), (uint64_t)i));
    numbers->lr = 0.01f / (float)step;
    numbers->grad_scale = (float)(step * step);
    numbers->clip = 1 / (float)(1 + step % 4);
    numbers->found_inf = step % 3 == 0 ? 1.0f : 0.0f;
}

/* Each replay is the model's step, however the list comes. */
static void check_replays(const struct test_device *device, const struct adam_problem *start, int64_t steps, const char *what) {
    struct adam_problem got CLOSED_BY(adam_free), expected CLOSED_BY(adam_free);
    struct replay replay;
    adam_copy(&got, start);
    adam_copy(&expected, start);
    replay_open(&replay, device, start);
    for (int64_t step = 1; step <= steps; step++) {
        set_step(&expected, step);
        adam_session_write(&replay.session, &expected, ARENA_GRAD);
        adam_session_write(&replay.session, &expected, ARENA_CONTROL);
        replay_step(&replay);
        adam_model_step(&expected.args);
        adam_session_read(&replay.session, &got);
        adam_check_same(&got, &expected, what);
    }
    replay_close(&replay);
}

TEST_ADAM_ROWS(adam_control, the_numbers_change_from_replay_to_replay) {
    for (int with_plan = 0; with_plan < 2; with_plan++) {
        quern_adam_args args = adam_args_of(row);
        args.control = every_number(&all_finite);
        OPEN_TENSORS(start, &args, 300, 0, 33, 1);
        start.with_plan = with_plan;
        check_replays(device, &start, test_size(20, 4), row->name);
    }
}

/* ---- a step for each tensor ---- */

enum { MANY_STEPS = QUERN_ADAM_BATCH + 88 };

/* Late tensors, empty ones, one beyond 32 bits, and one that takes several tiles of a GPU and shares of a CPU. */
static const int64_t own_counts[] = {300, 0, 33, 1, 9000, 40}, own_steps[] = {0, 3, 999, 1, 6, ((int64_t)1 << 32) + 4};

/* A skipped call, the third, counts for no tensor. */
TEST_ADAM_ROWS(adam_control, each_tensor_takes_its_own_step) {
    for (int way = 0; way < 3; way++) {
        quern_adam_args args = adam_args_of(row);
        args.steps = (int64_t *)(uintptr_t)own_steps, args.step = 0;
        args.control.lr = &lr, args.control.found_inf = &all_finite;
        args.eps_mode = way == 1 ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        OPEN_ADAM(problem, &args, own_counts, COUNT(own_counts));
        problem.with_plan = way > 0, problem.with_grads = way > 1;
        check_replays(device, &problem, 4, row->name);
    }
}

/* A GPU takes such a list in two launches. */
Test(adam_control, many_tensors_take_their_own_steps) {
    static int64_t counts[MANY_STEPS], steps[MANY_STEPS];
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    quern_adam_args args = adam_args_of(row);
    OPEN_ROW(device, row);
    for (int i = 0; i < MANY_STEPS; i++) counts[i] = i % 7, steps[i] = i % 5 * i;
    args.steps = steps, args.control.found_inf = &all_finite;
    OPEN_ADAM(problem, &args, counts, MANY_STEPS);
    check_replays(&device, &problem, 4, row->name);
}

/* The same step for all is the step of the call. */
TEST_ADAM_ROWS(adam_control, equal_steps_are_the_step_of_the_call) {
    static const int64_t steps[COUNT(own_counts)] = {6, 6, 6, 6, 6, 6};
    quern_adam_args args = adam_args_of(row);
    args.step = 7;
    struct adam_problem one CLOSED_BY(adam_free), own CLOSED_BY(adam_free);
    adam_make(&one, &args, own_counts, COUNT(own_counts));
    args.steps = (int64_t *)(uintptr_t)steps;
    adam_make(&own, &args, own_counts, COUNT(own_counts));
    adam_run(device, &one);
    adam_run(device, &own);
    for (int a = 0; a < ARENA_CONTROL; a++)
        check(!one.arena[a] || !memcmp(one.arena[a], own.arena[a], one.bytes[a]), "%s: array %d is another", row->name, a);
    for (size_t i = 0; i < COUNT(steps); i++)
        check(own.args.steps[i] == 7, "%s: step %lld", row->name, (long long)own.args.steps[i]);
}

/* ---- the log ---- */

/* Two steps, after which there are so many lines. */
static void check_told(const struct test_device *device, const quern_adam_args *args, bool with_plan, int lines) {
    OPEN_TENSORS(problem, args, 40);
    problem.with_plan = with_plan;
    OPEN_ADAM_SESSION(session, device, &problem);
    for (int i = 0; i < 2; i++) check_ok(adam_session_step(&session));
    check(told.lines == lines, "%d lines instead of %d: %s", told.lines, lines, told.line);
}

/* One line for the lists of a handle, and one for a plan, if m in bf16 is rounded to nearest with a beta1 of 0.99 or more. */
Test(adam_control, the_log_tells_once_that_m_stops_short) {
    const struct quern_kernel *row = find_adam_row(QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const struct quern_kernel *wide = find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, false);
    OPEN_PREPARED(device, QUERN_ADAM);
    quern_adam_args args = adam_args_of(row), of_wide = adam_args_of(wide);
    args.beta1 = of_wide.beta1 = 0.99;
    check_told(&device, &args, true, 0);      /* nobody listens */
    quern_set_log(keep_line, NULL, QUERN_LOG_ERROR);
    check_told(&device, &of_wide, false, 0);
    args.m_rounding = QUERN_ROUND_STOCHASTIC;
    check_told(&device, &args, false, 0);
    args.m_rounding = QUERN_ROUND_DEFAULT, args.beta1 = 0.9875;
    check_told(&device, &args, false, 0);
    args.beta1 = 0.99;
    check_told(&device, &args, false, 1);
    check(strstr(told.line, "adam: m in bf16 is rounded to nearest with beta1 0.99, and stops short of the mean gradient: expected "
                            "args.m_rounding QUERN_ROUND_STOCHASTIC"), "another line: %s", told.line);
    check_told(&device, &args, false, 1);
    args.m_rounding = QUERN_ROUND_NEAREST;
    check_told(&device, &args, true, 2);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
}
