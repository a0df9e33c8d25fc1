#include "harness/adam_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

static const char *const arena_names[ARENAS] = {"param", "grad", "m", "v", "master"};

static quern_dtype arena_dtype(const quern_adam_args *args, int arena) {
    quern_dtype dtypes[ARENAS] = {args->param_dtype, args->grad_dtype, args->m_dtype, args->v_dtype, args->master_dtype};
    return dtypes[arena];
}

/* The pointer of a tensor that belongs to an arena. */
static void **pointer_of(quern_adam_tensor *tensor, int arena) {
    switch (arena) {
    case ARENA_PARAM: return &tensor->param;
    case ARENA_GRAD: return (void **)&tensor->grad;
    case ARENA_M: return &tensor->m;
    case ARENA_V: return &tensor->v;
    default: return (void **)&tensor->master;
    }
}

quern_adam_args adam_args_of(const struct quern_kernel *row) {
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = row->key.adam.param;
    args.grad_dtype = row->key.adam.grad;
    args.m_dtype = row->key.adam.m;
    args.v_dtype = row->key.adam.v;
    args.master_dtype = row->key.adam.master;
    args.lr = 1e-2;
    args.weight_decay = 0.1;
    args.step = 3;
    args.seed = 0x0123456789ABCDEF;
    return args;
}

/* ---- layout ---- */

/* Elements between a 64-byte boundary and the array: every residue, and another one for each value of a tensor. */
static int64_t offset_of(int64_t place, int arena) {
    return (place * 5 + arena * 7 + place / 16) % 16;
}

/* Where the array of a tensor starts, in elements; *end is where the next one may. */
static int64_t place_array(int64_t *end, int64_t place, int arena, int64_t count) {
    int64_t start = (*end + 15) / 16 * 16 + offset_of(place, arena);
    *end = start + count;
    return start;
}

static void make_arena(struct adam_problem *problem, int arena) {
    quern_adam_args *args = &problem->args;
    size_t element = quern_dtype_bytes(arena_dtype(args, arena));
    int64_t end = 0;
    for (int64_t i = 0; i < args->tensor_count; i++) place_array(&end, i, arena, problem->tensors[i].count);
    problem->bytes[arena] = (size_t)end * element;
    problem->arena[arena] = malloc(problem->bytes[arena] + 1);
    check(problem->arena[arena], "no memory");
    fill_pattern(problem->arena[arena], problem->bytes[arena]);
    end = 0;
    for (int64_t i = 0; i < args->tensor_count; i++) {
        int64_t start = place_array(&end, i, arena, problem->tensors[i].count);
        *pointer_of(&problem->tensors[i], arena) = problem->arena[arena] + (size_t)start * element;
    }
}

/* Every value of a training run in its usual range; v is never negative. */
static double make_value(int arena, uint64_t place, uint64_t i) {
    double normal = random_normal((uint64_t)arena * 1000003 + place, i);
    switch (arena) {
    case ARENA_GRAD: return 0.1 * normal;
    case ARENA_M: return 0.05 * normal;
    case ARENA_V: return 0.01 * normal * normal;
    default: return 0.5 * normal;
    }
}

static void fill_arena(struct adam_problem *problem, int arena) {
    if (arena == ARENA_PARAM && problem->args.master_dtype) return;
    for (int64_t place = 0; place < problem->args.tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++)
            dtype_store(arena_dtype(&problem->args, arena), *pointer_of(&problem->tensors[place], arena), i,
                        make_value(arena, (uint64_t)place, (uint64_t)i));
}

void adam_make(struct adam_problem *problem, const quern_adam_args *args, const int64_t *counts, int64_t tensor_count) {
    *problem = (struct adam_problem){.args = *args, .tensors = calloc((size_t)tensor_count + 1, sizeof(quern_adam_tensor))};
    check(problem->tensors, "no memory");
    problem->args.tensors = problem->tensors;
    problem->args.tensor_count = tensor_count;
    for (int64_t i = 0; i < tensor_count; i++) problem->tensors[i].count = counts[i];
    for (int arena = 0; arena < ARENAS; arena++) {
        if (!arena_dtype(args, arena)) continue;
        make_arena(problem, arena);
        fill_arena(problem, arena);
    }
}

/* Lets the tensors of `to` point into other arenas with the same layout. */
static void point_into(quern_adam_tensor *to, const struct adam_problem *from, unsigned char *const arena[ARENAS]) {
    for (int64_t i = 0; i < from->args.tensor_count; i++) {
        to[i] = from->tensors[i];
        for (int a = 0; a < ARENAS; a++)
            if (from->arena[a])
                *pointer_of(&to[i], a) = arena[a] + ((unsigned char *)*pointer_of(&from->tensors[i], a) - from->arena[a]);
    }
}

void adam_copy(struct adam_problem *copy, const struct adam_problem *problem) {
    *copy = *problem;
    copy->tensors = calloc((size_t)problem->args.tensor_count + 1, sizeof *copy->tensors);
    check(copy->tensors, "no memory");
    copy->args.tensors = copy->tensors;
    for (int a = 0; a < ARENAS; a++) {
        if (!problem->arena[a]) continue;
        copy->arena[a] = malloc(problem->bytes[a] + 1);
        check(copy->arena[a], "no memory");
        memcpy(copy->arena[a], problem->arena[a], problem->bytes[a]);
    }
    point_into(copy->tensors, problem, copy->arena);
}

void adam_free(struct adam_problem *problem) {
    for (int a = 0; a < ARENAS; a++) free(problem->arena[a]);
    free(problem->tensors);
}

/* ---- the call ---- */

void adam_run(const struct test_device *device, struct adam_problem *problem) {
    struct buffer buffers[ARENAS];
    unsigned char *arena[ARENAS] = {NULL};
    quern_adam_args args = problem->args;
    quern_adam_tensor *tensors = calloc((size_t)args.tensor_count + 1, sizeof *tensors);
    check(tensors, "no memory");
    for (int a = 0; a < ARENAS; a++) {
        if (!problem->arena[a]) continue;
        buffer_open(&buffers[a], device, problem->bytes[a], 0, problem->arena[a]);
        arena[a] = buffers[a].data;
    }
    point_into(tensors, problem, arena);
    args.tensors = tensors;
    size_t bytes;
    struct buffer workspace;
    check_ok(quern_adam_workspace(device->quern, &args, &bytes));
    buffer_open(&workspace, device, bytes, 16, NULL);
    check_ok(quern_adam(device->quern, &args, bytes ? workspace.data : NULL, bytes, device->stream));
    memset(tensors, 0xFF, (size_t)args.tensor_count * sizeof *tensors);  /* the list is read before the call returns */
    buffer_close(&workspace);
    for (int a = 0; a < ARENAS; a++) {
        if (!problem->arena[a]) continue;
        memcpy(problem->arena[a], buffer_read(&buffers[a]), problem->bytes[a]);
        buffer_close(&buffers[a]);
    }
    free(tensors);
}

/* ---- comparisons ---- */

static bool same_element(quern_dtype dtype, const void *a, const void *b, int64_t i) {
    size_t bytes = quern_dtype_bytes(dtype);
    if (!memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)i * bytes, bytes)) return true;
    return dtype == QUERN_F32 && isnan(((const float *)a)[i]) && isnan(((const float *)b)[i]);
}

static void describe_difference(const struct adam_problem *got, const struct adam_problem *expected, int arena,
                                int64_t element, const char *what) {
    quern_dtype dtype = arena_dtype(&got->args, arena);
    for (int64_t place = 0; place < got->args.tensor_count; place++) {
        unsigned char *start = *pointer_of(&got->tensors[place], arena);
        int64_t i = element - (start - got->arena[arena]) / (int64_t)quern_dtype_bytes(dtype);
        if (i >= 0 && i < got->tensors[place].count)
            cr_assert_fail("%s: %s[%" PRId64 "] of tensor %" PRId64 " (of %" PRId64 ") is %.9g instead of %.9g", what,
                           arena_names[arena], i, place, got->tensors[place].count,
                           dtype_load(dtype, got->arena[arena], element),
                           dtype_load(dtype, expected->arena[arena], element));
    }
    cr_assert_fail("%s: %s was written outside of all tensors, at element %" PRId64, what, arena_names[arena], element);
}

void adam_check_same(const struct adam_problem *got, const struct adam_problem *expected, const char *what) {
    for (int a = 0; a < ARENAS; a++) {
        if (!got->arena[a] || !memcmp(got->arena[a], expected->arena[a], got->bytes[a])) continue;
        quern_dtype dtype = arena_dtype(&got->args, a);
        for (int64_t i = 0; i < (int64_t)(got->bytes[a] / quern_dtype_bytes(dtype)); i++)
            if (!same_element(dtype, got->arena[a], expected->arena[a], i))
                describe_difference(got, expected, a, i, what);
    }
}

/* The bounds within which a value must lie that was rounded to dtype from something within tolerance of exact. */
static void check_rounded(quern_dtype dtype, bool stochastic, double got, double exact, double tolerance, const char *name,
                          const char *what) {
    double low = exact - tolerance, high = exact + tolerance;
    if (dtype != QUERN_F32) {
        double slack = fmax(tolerance, 0x1p-20 * fabs(exact));
        low = stochastic ? exact - slack - dtype_ulp(dtype, exact) : dtype_round(dtype, exact - slack);
        high = stochastic ? exact + slack + dtype_ulp(dtype, exact) : dtype_round(dtype, exact + slack);
    }
    check(got >= low && got <= high, "%s: %s is %.9g, not between %.9g and %.9g", what, name, got, low, high);
}

static void check_element(const struct adam_problem *before, const struct adam_problem *after, int64_t place, int64_t i,
                          const char *what) {
    const quern_adam_args *args = &before->args;
    const quern_adam_tensor *b = &before->tensors[place], *a = &after->tensors[place];
    quern_dtype p_dtype = args->master_dtype ? QUERN_F32 : args->param_dtype;
    double p = dtype_load(p_dtype, args->master_dtype ? b->master : b->param, i);
    struct adam_exact exact = adam_exact_element(args, p, dtype_load(args->grad_dtype, b->grad, i),
                                                 dtype_load(args->m_dtype, b->m, i), dtype_load(args->v_dtype, b->v, i));
    if (args->master_dtype)
        check_rounded(QUERN_F32, false, (double)a->master[i], exact.param, exact.param_tolerance, "master", what);
    check_rounded(args->param_dtype, adam_is_stochastic(args, ADAM_PARAM), dtype_load(args->param_dtype, a->param, i),
                  exact.param, exact.param_tolerance, "param", what);
    check_rounded(args->m_dtype, adam_is_stochastic(args, ADAM_M), dtype_load(args->m_dtype, a->m, i), exact.m,
                  exact.m_tolerance, "m", what);
    check_rounded(args->v_dtype, adam_is_stochastic(args, ADAM_V), dtype_load(args->v_dtype, a->v, i), exact.v,
                  exact.v_tolerance, "v", what);
}

void adam_check_exact(const struct adam_problem *before, const struct adam_problem *after, const char *what) {
    for (int64_t place = 0; place < before->args.tensor_count; place++)
        for (int64_t i = 0; i < before->tensors[place].count; i++) check_element(before, after, place, i, what);
}

void adam_check_step(const struct test_device *device, struct adam_problem *problem, const char *what) {
    struct adam_problem expected;
    adam_copy(&expected, problem);
    adam_model_step(&expected.args);
    adam_run(device, problem);
    adam_check_same(problem, &expected, what);
    adam_free(&expected);
}
