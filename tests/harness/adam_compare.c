/* Compares Adam's arenas with those of the model and with the exact formula.  adam_case.h documents the functions. */
#include <inttypes.h>

#include "harness/adam_case.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

static const char *const arena_names[ARENAS] = {
    "param", "grad", "m", "v", "master", "m_scale", "v_scale", "v_max", "v_max_scale", "copy", "copy_scale", "copy_max", "control",
};

/* ---- bit for bit ---- */

/* The type by which an arena is compared: bytes if it has no dtype. */
struct view {
    quern_dtype dtype;
    size_t bytes;
};

static struct view view_of(const quern_adam_args *args, int arena) {
    const quern_dtype dtypes[ARENAS] = {
        [ARENA_PARAM] = args->param_dtype, [ARENA_GRAD] = args->grad_dtype, [ARENA_M] = args->m_dtype, [ARENA_V] = args->v_dtype,
        [ARENA_MASTER] = args->master_dtype == QUERN_F32 ? QUERN_F32 : QUERN_NO_DTYPE, [ARENA_V_MAX] = args->v_dtype,
        [ARENA_COPY] = args->copy_dtype, [ARENA_COPY_SCALE] = QUERN_F32, [ARENA_COPY_MAX] = QUERN_F32,
    };
    if (dtypes[arena]) return (struct view){dtypes[arena], quern_dtype_bytes(dtypes[arena])};
    return (struct view){QUERN_NO_DTYPE, arena == ARENA_MASTER ? 2 : 1};
}

static bool same_element(struct view view, const unsigned char *a, const unsigned char *b, int64_t i) {
    if (!memcmp(a + (size_t)i * view.bytes, b + (size_t)i * view.bytes, view.bytes)) return true;
    return view.dtype == QUERN_F32 && isnan(((const float *)a)[i]) && isnan(((const float *)b)[i]);
}

static unsigned bits_at(struct view view, const unsigned char *array, int64_t i) {
    unsigned bits = 0;
    memcpy(&bits, array + (size_t)i * view.bytes, view.bytes);
    return bits;
}

static const void *array_of(const quern_adam_tensor *t, int arena) {
    const void *arrays[ARENAS] = {t->param, t->grad, t->m, t->v, t->master, t->m_scale, t->v_scale, t->v_max, t->v_max_scale,
                                  t->copy, t->copy_scale, t->copy_max, NULL};
    return arrays[arena];
}

static void describe_difference(const struct adam_problem *got, const struct adam_problem *expected, int arena, int64_t element,
                                const char *what) {
    const struct view view = view_of(&got->args, arena);
    const unsigned has = bits_at(view, got->arena[arena], element), wanted = bits_at(view, expected->arena[arena], element);
    const unsigned char *at = got->arena[arena] + (size_t)element * view.bytes;
    const bool is_scale = arena == ARENA_M_SCALE || arena == ARENA_V_SCALE || arena == ARENA_V_MAX_SCALE;
    for (int64_t place = 0; place < got->args.tensor_count; place++) {
        const unsigned char *start = array_of(&got->tensors[place], arena);
        const int64_t count = got->tensors[place].count, length = is_scale ? (count + 31) / 32 : count;
        if (!start || at < start || at >= start + (size_t)length * view.bytes) continue;
        cr_assert_fail("%s: %s[%" PRId64 "] of tensor %" PRId64 " (of %" PRId64 ") is 0x%X (%.9g) instead of 0x%X (%.9g)", what,
                       arena_names[arena], (at - start) / (int64_t)view.bytes, place, count, has,
                       view.dtype ? dtype_load(view.dtype, got->arena[arena], element) : 0, wanted,
                       view.dtype ? dtype_load(view.dtype, expected->arena[arena], element) : 0);
    }
    cr_assert_fail("%s: %s, element %" PRId64 " of the arena, outside of all arrays, is 0x%X instead of 0x%X", what,
                   arena_names[arena], element, has, wanted);
}

void adam_check_same(const struct adam_problem *got, const struct adam_problem *expected, const char *what) {
    for (int a = 0; a < ARENAS; a++) {
        if (!got->arena[a] || !memcmp(got->arena[a], expected->arena[a], got->bytes[a])) continue;
        const struct view view = view_of(&got->args, a);
        for (int64_t i = 0; i < (int64_t)(got->bytes[a] / view.bytes); i++)
            if (!same_element(view, got->arena[a], expected->arena[a], i)) describe_difference(got, expected, a, i, what);
    }
}

/* ---- within rounding of the exact step ---- */

/* How a value was stored. */
struct storage {
    const char *name;
    quern_dtype dtype;
    bool is_stochastic, is_square;
    double scale;
};

/* Fails unless some value within tolerance of exact would be rounded to the stored value. */
static void check_stored(struct storage s, double got, double exact, double tolerance, const char *what) {
    double low = exact - tolerance, high = exact + tolerance;
    if (s.dtype != QUERN_F32) {
        const double slack = fmax(tolerance, 0x1p-20 * fabs(exact)) + 0x1p-149, ulp = dtype_ulp(s.dtype, exact / s.scale);
        low = (exact - slack) / s.scale, high = (exact + slack) / s.scale;
        if (s.is_stochastic) low -= ulp, high += ulp;
        else low = dtype_round(s.dtype, low), high = dtype_round(s.dtype, high);
        if (s.is_square && s.scale != 1) high = fmax(high, dtype_ulp(s.dtype, 0));
        low *= s.scale, high *= s.scale;
    }
    check(got >= low && got <= high, "%s: %s is %.9g, not between %.9g and %.9g", what, s.name, got, low, high);
}

static double scale_of(quern_dtype dtype, const uint8_t *scales, int64_t i) {
    return adam_is_scaled(dtype) ? (double)adam_scale_factor(scales[i / QUERN_SCALE_BLOCK]) : 1;
}

static void check_params(const struct adam_problem *after, int64_t place, int64_t i, struct adam_exact exact, const char *what) {
    const quern_adam_args *args = &after->args;
    const struct storage whole = {.name = "master", .dtype = QUERN_F32, .scale = 1};
    const struct storage param = {"param", args->param_dtype, adam_is_stochastic(args, ADAM_PARAM), false, 1};
    const double stored = adam_value_at(after, place, ARENA_PARAM, i);
    if (args->master_dtype)
        check_stored(whole, adam_value_at(after, place, ARENA_MASTER, i), exact.param, exact.param_tolerance, what);
    if (args->master_dtype == QUERN_REMAINDER)
        check(fabs(stored - adam_value_at(after, place, ARENA_MASTER, i)) <= dtype_ulp(QUERN_BF16, stored) / 2,
              "%s: %.9g is not the nearest parameter", what, stored);
    else
        check_stored(param, stored, exact.param, exact.param_tolerance, what);
}

static void check_element(const struct adam_problem *before, const struct adam_problem *after, int64_t place, int64_t i,
                          const char *what) {
    const quern_adam_args *args = &before->args;
    const quern_adam_tensor *t = &after->tensors[place];
    const struct adam_element element = {
        .param = adam_value_at(before, place, args->master_dtype ? ARENA_MASTER : ARENA_PARAM, i),
        .grad = adam_value_at(before, place, ARENA_GRAD, i),
        .m = adam_value_at(before, place, ARENA_M, i),
        .v = adam_value_at(before, place, ARENA_V, i),
        .v_max = args->amsgrad ? adam_value_at(before, place, ARENA_V_MAX, i) : 0,
    };
    const struct adam_exact exact = adam_exact_element(args, &before->tensors[place], element);
    const struct storage m = {"m", args->m_dtype, adam_is_stochastic(args, ADAM_M), false, scale_of(args->m_dtype, t->m_scale, i)};
    const struct storage v = {"v", args->v_dtype, adam_is_stochastic(args, ADAM_V), true, scale_of(args->v_dtype, t->v_scale, i)};
    check_params(after, place, i, exact, what);
    check_stored(m, adam_value_at(after, place, ARENA_M, i), exact.m, exact.m_tolerance, what);
    check_stored(v, adam_value_at(after, place, ARENA_V, i), exact.v, exact.v_tolerance, what);
    if (!args->amsgrad) return;
    const struct storage v_max = {"v_max", args->v_dtype, false, true, scale_of(args->v_dtype, t->v_max_scale, i)};
    check_stored(v_max, adam_value_at(after, place, ARENA_V_MAX, i), exact.v_max, exact.v_tolerance, what);
}

void adam_check_exact(const struct adam_problem *before, const struct adam_problem *after, const char *what) {
    for (int64_t place = 0; place < before->args.tensor_count; place++)
        for (int64_t i = 0; i < before->tensors[place].count; i++) check_element(before, after, place, i, what);
}
