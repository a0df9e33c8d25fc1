/*
 * Adam with random options, types, shapes and values, against the model bit for bit: thousands of cases with fixed seeds.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"

#define ONE_OF(dice, array) (array)[below(dice, (int64_t)COUNT(array))]

/* ---- arguments ---- */

static void draw_scalars(struct dice *dice, quern_adam_args *args) {
    static const double lrs[] = {0, 1e-5, 1e-3, 1e-2, 1}, beta1s[] = {0, 0.1, 0.9, 0.95, 0.9999};
    static const double beta2s[] = {0, 0.25, 0.95, 0.999, 0.9999999}, epsilons[] = {0, 1e-15, 1e-8, 1e-3, 10};
    static const double decays[] = {0, 0.01, 0.1, 5}, scales[] = {0, 1, 3, 65536, 1e-3};
    static const int64_t steps[] = {1, 2, 17, 1000, 1000000, 0x80000001, ((int64_t)1 << 40) + 3};
    args->lr = ONE_OF(dice, lrs);
    args->beta1 = ONE_OF(dice, beta1s);
    args->beta2 = ONE_OF(dice, beta2s);
    args->eps = ONE_OF(dice, epsilons);
    args->weight_decay = ONE_OF(dice, decays);
    args->grad_scale = ONE_OF(dice, scales);
    args->step = ONE_OF(dice, steps);
    args->seed = random_bits(dice->seed, dice->thrown++);
}

static void draw_choices(struct dice *dice, quern_adam_args *args, bool is_full) {
    static const quern_dtype copies[] = {QUERN_NO_DTYPE, QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2};
    args->mode = (quern_adam_mode)below(dice, 2);
    args->eps_mode = (quern_adam_eps_mode)below(dice, 2);
    args->maximize = (int32_t)below(dice, 2);
    args->use_multipliers = (int32_t)below(dice, 2);
    adam_set_rounding(args, (quern_rounding)below(dice, 3), (quern_rounding)below(dice, 3), (quern_rounding)below(dice, 3));
    args->amsgrad = is_full && chance(dice, 2);
    args->zero_grads = is_full && chance(dice, 2);
    args->copy_dtype = is_full ? ONE_OF(dice, copies) : QUERN_NO_DTYPE;
}

/* numbers: the values that the control may point to. */
static void draw_control(struct dice *dice, quern_adam_args *args, struct adam_numbers *numbers) {
    static const float found[] = {0, 0, 0, 0, 0, 1, NAN};
    *numbers = (struct adam_numbers){.step = args->step - 1, .lr = (float)args->lr, .grad_scale = 0.5f, .clip = 0.3f,
                                     .found_inf = ONE_OF(dice, found)};
    if (chance(dice, 3)) args->control.lr = &numbers->lr;
    if (chance(dice, 3)) args->control.step = &numbers->step;
    if (chance(dice, 3)) args->control.grad_scale = &numbers->grad_scale;
    if (chance(dice, 3)) args->control.clip = &numbers->clip;
    if (chance(dice, 3)) args->control.found_inf = &numbers->found_inf;
}

/* ---- tensors ---- */

enum { MOST = 40 };

static int64_t draw_counts(struct dice *dice, int64_t counts[MOST]) {
    const int64_t tensors = chance(dice, 6) ? below(dice, MOST) : 1 + below(dice, 4);
    for (int64_t i = 0; i < tensors; i++) counts[i] = chance(dice, 5) ? 0 : tensors > 4 ? below(dice, 40) : below(dice, 300);
    if (tensors && chance(dice, test_size(12, 30))) counts[below(dice, tensors)] = 1800 + below(dice, 2500);
    return tensors;
}

/* Some elements become special, independent of their neighbours; v stays non-negative. */
static void edit_values(struct dice *dice, struct adam_problem *problem, int64_t place) {
    static const double special[] = {
        (double)NAN, (double)INFINITY, 0, 0x1p-149, 0x1p-133, 0x1p-127, 0x1p-24, 65504, 1e30, 0x1.FFFFFEp127, 1e-20, 1e-30, 1, 448,
    };
    static const int arenas[] = {ARENA_PARAM, ARENA_GRAD, ARENA_M, ARENA_V, ARENA_MASTER, ARENA_V_MAX};
    for (int64_t i = 0; i < problem->tensors[place].count / 8; i++) {
        const int arena = ONE_OF(dice, arenas);
        const bool is_square = arena == ARENA_V || arena == ARENA_V_MAX;
        if (!problem->arena[arena] || (arena == ARENA_PARAM && problem->args.master_dtype)) continue;
        const double value = ONE_OF(dice, special) * (!is_square && chance(dice, 2) ? -1 : 1);
        adam_set_value(problem, place, arena, below(dice, problem->tensors[place].count), value);
    }
}

/* Scales that no step would choose. */
static void edit_scales(struct dice *dice, const quern_adam_tensor *t) {
    uint8_t *scales[] = {t->m_scale, t->v_scale, t->v_max_scale};
    for (size_t k = 0; k < COUNT(scales); k++)
        for (int64_t b = 0; scales[k] && b < (t->count + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK; b++)
            if (chance(dice, 4)) scales[k][b] = (uint8_t)below(dice, 256);
}

/* ---- one case ---- */

static void check_random(const struct test_device *device, const struct quern_kernel *row, uint64_t seed) {
    struct dice dice = {seed, 0};
    struct adam_numbers numbers;
    int64_t counts[MOST];
    quern_adam_args args = adam_args_of(row);
    draw_scalars(&dice, &args);
    draw_choices(&dice, &args, row->key.adam.full);
    draw_control(&dice, &args, &numbers);
    OPEN_ADAM(problem, &args, counts, draw_counts(&dice, counts));
    problem.with_plan = chance(&dice, 2);
    if (chance(&dice, 3))
        for (int64_t place = 0; place < problem.args.tensor_count; place++) {
            edit_values(&dice, &problem, place);
            edit_scales(&dice, &problem.tensors[place]);
        }
    char what[256];
    snprintf(what, sizeof what, "%s, seed %llu", row->name, (unsigned long long)seed);
    adam_check_step(device, &problem, what);
}

Test(adam_random, agrees_with_the_model) {
    int rows = 0, wanted = (int)test_size(2800, 280), place = 0;
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row)) rows++;
    check(rows > 0, "%s has no row", test_target());
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row), place++) {
        OPEN_ROW(device, row);
        for (int i = 0; i < (wanted + rows - 1) / rows; i++) check_random(&device, row, (uint64_t)(1000 * place + i + 1));
    }
}
