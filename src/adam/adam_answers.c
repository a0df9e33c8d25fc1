/*
 * The known answers of the kernels of Adam: a step over 64 parameters, the norm and the accumulation of their gradients, and the
 * first step of a tensor.
 * Called by quern_prepare through the operation's row.
 *
 * With beta1 = 1/2, beta2 = 3/4, m = 3 g and v = 5 g^2 the new moments are m = 2 g and v = 4 g^2, so that m / sqrt(v) is the sign
 * of g.  A step of 1/8 without bias correction takes a parameter of 1 to 1 - sign(g) / 8.  The gradients are powers of two: every
 * type represents all of these values, so a kernel that rounds to nearest stores them exactly, up to the errors of its root and
 * quotient in fp32.
 */
#include "adam/adam.h"

#include <stddef.h>
#include <string.h>

#include "kernels/problem.h"
#include "runtime/answers.h"
#include "runtime/dtype.h"
#include "runtime/storage.h"

enum { COUNT = 64, SCALES = 2 };  /* a scale for each 32 elements */

#define STEP 0.125
#define ACCUMULATED 0.5  /* the scale of an accumulation, onto gradients of 1 */
#define TOLERANCE 0x1p-16

struct memory {
    char param[4 * COUNT], grad[4 * COUNT], m[4 * COUNT], v[4 * COUNT], master[4 * COUNT];
    char main_grad[4 * COUNT];
    double squares;
    int64_t taken;
    struct quern_adam_tensor_step own;
    float norm;
    uint8_t m_scale[SCALES], v_scale[SCALES];
};

struct parameters {
    union {
        struct quern_adam_batch plain;
        struct quern_adam_full_batch full;
        struct quern_gradient_batch gradients;
        struct quern_gradient_norm_problem norm;
        struct quern_adam_steps_problem steps;
    } of;
    double *totals;  /* of a norm that several blocks combine: not used */
};

/* ---- the problem and its results ---- */

static double grad_of(int i) { return (i / 4 % 2 ? -0.5 : 0.5) / (1 << i % 4); }
static double old_m(int i) { return 3 * grad_of(i); }
static double new_m(int i) { return 2 * grad_of(i); }
static double old_v(int i) { return 5 * grad_of(i) * grad_of(i); }
static double new_v(int i) { return 4 * grad_of(i) * grad_of(i); }
static double one(int i) { return (void)i, 1; }
static double new_param(int i) { return grad_of(i) < 0 ? 1 + STEP : 1 - STEP; }
static double accumulated(int i) { return 1 + ACCUMULATED * grad_of(i); }
#define SQUARES 5.3125         /* 16 * (1/4 + 1/16 + 1/64 + 1/256) */
#define NORM 2.3048861143232218 /* its root */

static void fill(char *to, quern_dtype dtype, double (*value)(int), uint8_t *scales) {
    float values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = (float)value(i);
    if (dtype) quern_storage_narrow(dtype, values, COUNT, false, to, quern_is_scaled(dtype) ? scales : NULL);
}

/* ---- asking ---- */

/* A member of the memory, as a pointer on the device. */
#define ON_DEVICE(trial, member) ((void *)(uintptr_t)((trial)->address + offsetof(struct memory, member)))

static struct quern_adam_launch launch_of_step(void) {
    return (struct quern_adam_launch){
        .step = {.one_minus_beta1 = 0.5f, .one_minus_beta2 = 0.25f, .step_size = (float)STEP, .inverse_sqrt_bias2 = 1,
                 .inverse_bias2 = 1, .eps = 0x1p-40f, .grad_factor = 1, .step = 1},
        .tensor_count = 1, .tile_count = 1};
}

static void ask_step(const struct quern_kernel *kernel, struct quern_trial *trial) {
    struct memory *memory = (struct memory *)(void *)trial->memory;
    struct parameters *parameters = trial->parameters;
    const quern_dtype master = kernel->key.adam.master;
    const struct quern_adam_slice slice = {
        .param = ON_DEVICE(trial, param), .grad = ON_DEVICE(trial, grad), .m = ON_DEVICE(trial, m), .v = ON_DEVICE(trial, v),
        .master = master ? ON_DEVICE(trial, master) : NULL, .count = COUNT, .lr_multiplier = 1, .weight_decay_multiplier = 1};
    fill(memory->param, kernel->key.adam.param, one, NULL);
    fill(memory->grad, kernel->key.adam.grad, grad_of, NULL);
    fill(memory->m, kernel->key.adam.m, old_m, memory->m_scale);
    fill(memory->v, kernel->key.adam.v, old_v, memory->v_scale);
    if (master == QUERN_F32) fill(memory->master, QUERN_F32, one, NULL);
    if (master == QUERN_REMAINDER) memset(memory->master, 0, sizeof memory->master);
    if (kernel->key.adam.full) {
        parameters->of.full.launch = launch_of_step();
        parameters->of.full.slices[0] = slice;
        parameters->of.full.extras[0] = (struct quern_adam_extras){.m_scale = ON_DEVICE(trial, m_scale),
                                                                   .v_scale = ON_DEVICE(trial, v_scale)};
    } else {
        parameters->of.plain.launch = launch_of_step();
        parameters->of.plain.slices[0] = slice;
    }
}

static void ask_gradients(const struct quern_kernel *kernel, struct quern_trial *trial) {
    struct memory *memory = (struct memory *)(void *)trial->memory;
    struct quern_gradient_batch *batch = &((struct parameters *)trial->parameters)->of.gradients;
    fill(memory->grad, kernel->key.adam.grad, grad_of, NULL);
    fill(memory->main_grad, kernel->key.adam.param, one, NULL);
    batch->squares = ON_DEVICE(trial, squares);
    batch->scale = (float)ACCUMULATED;
    batch->tensor_count = 1;
    batch->tile_count = 1;
    batch->gradients[0] = (struct quern_gradient_slice){ON_DEVICE(trial, grad), ON_DEVICE(trial, main_grad), COUNT, -1};
}

static void ask_combine(const struct quern_kernel *kernel, struct quern_trial *trial) {
    struct parameters *parameters = trial->parameters;
    (void)kernel;
    ((struct memory *)(void *)trial->memory)->squares = SQUARES;
    parameters->of.norm = (struct quern_gradient_norm_problem){.squares = ON_DEVICE(trial, squares), .square_count = 1,
                                                               .grad_scale = 1, .norm = ON_DEVICE(trial, norm)};
    trial->arguments[1] = &parameters->totals;
}

/* The first step, with the betas above. */
static void ask_steps(const struct quern_kernel *kernel, struct quern_trial *trial) {
    struct parameters *parameters = trial->parameters;
    (void)kernel;
    ((struct memory *)(void *)trial->memory)->taken = 0;
    parameters->of.steps = (struct quern_adam_steps_problem){
        .rates = {.lr = STEP, .beta1 = 0.5, .beta2 = 0.75, .grad_scale = 1, .clip = 1}, .steps = ON_DEVICE(trial, taken),
        .tensor_steps = ON_DEVICE(trial, own), .tensor_count = 1};
}

/* ---- comparing ---- */

static bool array_is_wrong(const char *name, quern_dtype dtype, const void *values, const uint8_t *scales, double (*expected)(int),
                           struct quern_text *why) {
    const struct quern_answer answer = {name, dtype, values, quern_is_scaled(dtype) ? scales : NULL, COUNT, TOLERANCE};
    double of_each[COUNT];
    for (int i = 0; i < COUNT; i++) of_each[i] = expected(i);
    return dtype && quern_answer_is_wrong(&answer, of_each, why);
}

/* A master in two halves: one fp32 value. */
static bool halves_are_wrong(const struct memory *memory, struct quern_text *why) {
    float master[COUNT];
    quern_storage_join(memory->param, memory->master, COUNT, master);
    return array_is_wrong("master", QUERN_F32, master, NULL, new_param, why);
}

static bool step_is_wrong(const struct quern_kernel *kernel, const struct memory *memory, struct quern_text *why) {
    const quern_dtype master = kernel->key.adam.master;
    if (array_is_wrong("param", kernel->key.adam.param, memory->param, NULL, new_param, why) ||
        array_is_wrong("m", kernel->key.adam.m, memory->m, memory->m_scale, new_m, why) ||
        array_is_wrong("v", kernel->key.adam.v, memory->v, memory->v_scale, new_v, why))
        return true;
    if (master == QUERN_REMAINDER) return halves_are_wrong(memory, why);
    return array_is_wrong("master", master, memory->master, NULL, new_param, why);
}

static bool squares_are_wrong(const struct quern_kernel *kernel, const struct memory *memory, struct quern_text *why) {
    (void)kernel;
    if (memory->squares == SQUARES) return false;
    quern_text_add(why, "the sum of squares is %g, expected %g", memory->squares, SQUARES);
    return true;
}

static bool norm_is_wrong(const struct quern_kernel *kernel, const struct memory *memory, struct quern_text *why) {
    const struct quern_answer answer = {"norm", QUERN_F32, &memory->norm, NULL, 1, TOLERANCE};
    const double expected = NORM;
    (void)kernel;
    return quern_answer_is_wrong(&answer, &expected, why);
}

static bool sums_are_wrong(const struct quern_kernel *kernel, const struct memory *memory, struct quern_text *why) {
    return array_is_wrong("main_grad", kernel->key.adam.param, memory->main_grad, NULL, accumulated, why);
}

static bool steps_are_wrong(const struct quern_kernel *kernel, const struct memory *memory, struct quern_text *why) {
    const struct quern_adam_tensor_step *own = &memory->own;
    (void)kernel;
    if (memory->taken == 1 && own->step == 1 && own->step_size == 2 * (float)STEP && own->inverse_sqrt_bias2 == 2 &&
        own->inverse_bias2 == 4)
        return false;
    quern_text_add(why, "step %lld has the size %g, expected step 1 with %g, or another scalar is wrong", (long long)memory->taken,
                   (double)own->step_size, 2 * STEP);
    return true;
}

static const struct {
    void (*ask)(const struct quern_kernel *, struct quern_trial *);
    bool (*is_wrong)(const struct quern_kernel *, const struct memory *, struct quern_text *);
} tasks[] = {
    [QUERN_ADAM_STEP] = {ask_step, step_is_wrong},
    [QUERN_GRADIENT_NORM] = {ask_gradients, squares_are_wrong},
    [QUERN_GRADIENT_NORM_COMBINE] = {ask_combine, norm_is_wrong},
    [QUERN_GRADIENT_ACCUMULATE] = {ask_gradients, sums_are_wrong},
    [QUERN_ADAM_TENSOR_STEPS] = {ask_steps, steps_are_wrong},
};

static void ask(const struct quern_kernel *kernel, struct quern_trial *trial) {
    trial->arguments[0] = trial->parameters;
    tasks[kernel->key.adam.task].ask(kernel, trial);
}

static bool is_wrong(const struct quern_kernel *kernel, const char *memory, struct quern_text *why) {
    return tasks[kernel->key.adam.task].is_wrong(kernel, (const struct memory *)(const void *)memory, why);
}

const struct quern_known_answers quern_adam_answers = {
    .memory_bytes = sizeof(struct memory), .parameter_bytes = sizeof(struct parameters), .ask = ask, .is_wrong = is_wrong};
