/*
 * Compares Adam's bits on a GPU and on this CPU directly.  All suites compare with one model, so equal bits follow from them;
 * this suite does not use the model: after some steps both devices hold the same state, and a run can change devices midway.
 *
 * Runs on: emulated, gpu; kernels of adam.
 */
#define _POSIX_C_SOURCE 200809L
#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"

/* This machine's CPU, with its preferred kernels. */
static void open_cpu(struct test_device *cpu) {
    unsetenv("QUERN_KERNEL");
    *cpu = (struct test_device){.kind = QUERN_CPU};
    check_ok(quern_device_open(QUERN_CPU, 0, &cpu->quern));
    check_ok(quern_prepare(cpu->quern, QUERN_ADAM));
}

/* All rounding is stochastic, and a full row uses all its options. */
static quern_adam_args args_of(const struct quern_kernel *row, uint64_t seed) {
    quern_adam_args args = adam_args_of(row);
    adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
    args.seed = seed;
    args.mode = seed & 1 ? QUERN_ADAM_L2 : QUERN_ADAMW;
    args.eps_mode = seed & 2 ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
    args.use_multipliers = (int32_t)(seed >> 2 & 1);
    return args;
}

static void set_grads(struct adam_problem *problem, int64_t step) {
    for (int64_t place = 0; place < problem->args.tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++)
            adam_set_value(problem, place, ARENA_GRAD, i, random_normal((uint64_t)(10 * step + place), (uint64_t)i));
}

static void check_parity(const struct test_device *gpu, const struct quern_kernel *row) {
    static const int64_t counts[] = {300, 0, 2049, 7};
    static uint64_t seed;
    struct test_device cpu CLOSED_BY(device_close);
    open_cpu(&cpu);
    const quern_adam_args args = args_of(row, seed++);
    struct adam_problem there CLOSED_BY(adam_free), here CLOSED_BY(adam_free), turns CLOSED_BY(adam_free);
    adam_make(&there, &args, counts, COUNT(counts));
    adam_copy(&here, &there);
    adam_copy(&turns, &there);
    there.with_plan = true;
    for (int64_t step = 1; step <= 4; step++) {
        there.args.step = here.args.step = turns.args.step = step;
        set_grads(&there, step), set_grads(&here, step), set_grads(&turns, step);
        adam_run(gpu, &there);
        adam_run(&cpu, &here);
        adam_run(step % 2 ? gpu : &cpu, &turns);
        adam_check_same(&there, &here, row->name);
        adam_check_same(&turns, &here, row->name);
    }
}

Test(adam_parity, a_gpu_has_the_bits_of_the_cpu) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("needs a GPU beside the CPU");
    for_each_adam_row(check_parity);
}
