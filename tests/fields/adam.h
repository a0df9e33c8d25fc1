/* What the calls of Adam do with each field, and the base case of each. */
#ifndef FIELDS_ADAM_H
#define FIELDS_ADAM_H

#include "fields/fields.h"

enum { TENSORS = 2, LONG = 600, ELEMENTS = 40 };   /* the second tensor of a long list and those behind it are empty */

/*
 * The columns: a step of a list with every array, with 16-bit and 8-bit types; one with the fewest arrays, of 32 bits; one with
 * control; a step of a plan of the second, and one of a plan of the first with control; a plan's creation; a saved state's bytes,
 * saving and loading; workspace, explain; a step of a long list, of which the arrays of each tensor alone are compared; and one in
 * which each tensor has a step of its own.
 */
enum { STEP, WIDE_STEP, CONTROLLED, PLANNED, PLAN_CONTROLLED, CREATE, SAVED_BYTES, SAVE, LOAD, SPACE, EXPLAIN, LONG_STEP,
       OWN_STEPS };
/*                                                    SWCPpCbslweLo */
RULE(quern_adam_args, tensor_size,                   "ccc--cccccccc", REFUSES(
     STRUCT_BYTES("112 (as QUERN_ADAM_ARGS_INIT sets)", VALUES(0, 8, 40, 108)),
     STRUCT_BYTES("112 (as QUERN_ADAM_ARGS_INIT sets) (was the program compiled against a newer quern.h?)",
                  VALUES(113, 120, UINT32_MAX)),
     STRUCT_BYTES(" with use_multipliers: expected 112, since a shorter tensor has no multipliers", VALUES(48, 96, 104),
                  .calls = "x-x--xxxxxxxx")))
RULE(quern_adam_args, param_dtype,                   "cccCccccccccc", LEGAL(QUERN_FLOAT_DTYPES))
RULE(quern_adam_args, grad_dtype,                    "cccCCcccccccc", LEGAL(QUERN_FLOAT_DTYPES))
#define MOMENTS QUERN_F32, QUERN_BF16, QUERN_FOR_EACH_COMMON_DTYPE(COMMON) QUERN_F16, QUERN_NARROW_DTYPES
#define COMMON(constant, name, exponent) constant,
RULE(quern_adam_args, m_dtype,                       "cccCCcccccccc", LEGAL(MOMENTS))
RULE(quern_adam_args, v_dtype,                       "cccCCcccccccc", LEGAL(MOMENTS))
RULE(quern_adam_args, master_dtype,                  "ccccCcccccccc", LEGAL(QUERN_NO_DTYPE, QUERN_F32, QUERN_REMAINDER))
PLAIN(quern_adam_args, mode,                         "ccccc----cccc")
#define HAS_A_LIST .unused = {"is not NULL with a plan, which has its own list"}
MEMORY_OF(quern_adam_args, tensors,                  "RRR00RRRRRRRR", sizeof(void *), .host_calls = ~0u, HAS_A_LIST)
RULE(quern_adam_args, tensor_count,                  "ccc--cccccccc", REFUSES(COUNT_TO("4294967295")))
#define BETA ARGUMENT("0 <= beta < 1")
RULE(quern_adam_args, lr,                            "cc-c-----cccc", REFUSES(FP32))
RULE(quern_adam_args, beta1,                         "ccccc----cccc", REFUSES(BETA))
RULE(quern_adam_args, beta2,                         "ccccc----cccc", REFUSES(BETA))
RULE(quern_adam_args, eps,                           "ccccc----cccc", REFUSES(FP32))
RULE(quern_adam_args, weight_decay,                  "ccccc----cccc", REFUSES(FP32))
RULE(quern_adam_args, step,                          "cc-c---.-ccc-", REFUSES(ARGUMENT("1 or more (steps count from 1)")))
PLAIN(quern_adam_args, seed,                         ".....--.---..")
RULE(quern_adam_args, param_rounding,                "ccccc----cccc", REFUSES(
     ARGUMENT("*is stochastic with a remainder: expected default or nearest, since the parameter is the upper half of the master "
              "and cannot be rounded another way", VALUES(QUERN_ROUND_STOCHASTIC), .calls = "x-x-x----xxxx")))
PLAIN(quern_adam_args, m_rounding,                   "ccccc----cccc")
PLAIN(quern_adam_args, v_rounding,                   "ccccc----cccc")
PLAIN(quern_adam_args, eps_mode,                     "ccccc----cccc")
PLAIN(quern_adam_args, amsgrad,                      "cccCCcccccccc")
PLAIN(quern_adam_args, maximize,                     "ccccc----cccc")
PLAIN(quern_adam_args, zero_grads,                   "cccCCcccccccc")
PLAIN(quern_adam_args, use_multipliers,              "cccCCcccccccc")
RULE(quern_adam_args, copy_dtype,                    "cccCCcccccccc", LEGAL(QUERN_NO_DTYPE, QUERN_F16, QUERN_BF16,
                                                                          QUERN_NARROW_DTYPES, QUERN_FOR_EACH_COMMON_DTYPE(COMMON)))
RULE(quern_adam_args, grad_scale,                    "cc-c-----cccc", REFUSES(ARGUMENT("0, which means 1, or 3e-39 to 3.4e38")))
PLAIN(quern_adam_args, control,                      ".")
static quern_adam_plan *plan_of_another_device;
RULE(quern_adam_args, plan,                         ".....-.......", .foreign = &plan_of_another_device)
#define NO_PLAN .unused = {"is not NULL without a plan: expected NULL, since the list has its own gradients"}
RULE(quern_adam_args, grads,                         "000..----0000", NO_PLAN)
#define BIAS REFUSES(ARGUMENT("0, which means from step, or 1e-15 to 1")), \
    .unused = {"is not 0 with args.control.step, from which the bias corrections follow: expected 0", \
               "is not 0 with args.steps, from which the bias corrections follow: expected 0"}
RULE(quern_adam_args, bias1,                         "cc0c0----ccc0", BIAS)
RULE(quern_adam_args, bias2,                         "cc0c0----ccc0", BIAS)
/* Elsewhere it is another call: with control.step it is refused, and it changes what a state has. */
MEMORY_OF(quern_adam_args, steps,                    "..0.0-......w", sizeof(int64_t),
          .unused = {"is not NULL with args.control.step: expected one of the two"})
RULES_OF(quern_adam_args)

/* Without control its pointers are NULL: a step of a list and one of a plan would use them. */
/*                                                    SWCPpCbslweLo */
BUFFER_OF(quern_adam_control, lr,                    "..r.r----....", sizeof(float))
BUFFER_OF(quern_adam_control, step,                  "..w.w----....", sizeof(int64_t))
BUFFER_OF(quern_adam_control, grad_scale,            "..r.r----....", sizeof(float))
BUFFER_OF(quern_adam_control, clip,                  "..r.r----....", sizeof(float))
BUFFER_OF(quern_adam_control, found_inf,             "..r.r----....", sizeof(float))
RULES_OF(quern_adam_control)

#define ARGS_OF(parent) ((const quern_adam_args *)(parent))
#define PART_OF(field, letters, dtype) \
    BUFFER_OF(quern_adam_tensor, field, letters, quern_dtype_bytes(ARGS_OF(parent)->dtype))
/*                                                    SWCPpCbslweLo */
PART_OF(param,                                       "WWWPPWaxW--WW", param_dtype)
PART_OF(grad,                                        "WRWpPW-----WW", grad_dtype)
PART_OF(m,                                           "WWWPPWaxW--WW", m_dtype)
PART_OF(v,                                           "WWWPPWaxW--WW", v_dtype)
PART_OF(master,                                      "W-W-PWaxW--WW", master_dtype)
RULE(quern_adam_tensor, count,                       "ccc--cccc--cc", REFUSES(SHAPE("0 to " MOST_ELEMENTS)))
BUFFER_OF(quern_adam_tensor, m_scale,                "W-W-PWaxW--WW", 1)
BUFFER_OF(quern_adam_tensor, v_scale,                "W-W-PWaxW--WW", 1)
PART_OF(v_max,                                       "W-W-PWaxW--WW", v_dtype)
BUFFER_OF(quern_adam_tensor, v_max_scale,            "W-W-PWaxW--WW", 1)
PART_OF(copy,                                        "WWWPPW-----WW", copy_dtype)
MEMORY_OF(quern_adam_tensor, copy_scale,             "r0r-pr-----.r", sizeof(float),
          .unused = {"is not NULL with a bf16 copy: only e4m3 and e5m2 copies are scaled"})
MEMORY_OF(quern_adam_tensor, copy_max,               "wwwPPw-----.w", sizeof(float), .is_shared = true)
RULE(quern_adam_tensor, lr_multiplier,               "c-c--c-----cc", REFUSES(FINITE))
RULE(quern_adam_tensor, weight_decay_multiplier,     "c-c--c-----cc", REFUSES(FINITE))
RULES_OF(quern_adam_tensor)

/* ---- parameters ---- */

DEVICE_AND_ARGS(quern_adam)
WORKSPACE_AND_STREAM(quern_adam)
DEVICE_AND_ARGS(quern_adam_workspace)
HOST_RESULT(quern_adam_workspace, bytes, "W")
DEVICE_AND_ARGS(quern_adam_explain)
HOST_RESULT(quern_adam_explain, buffer, "w")
PLAIN(quern_adam_explain__parameters, bytes, ".")
DEVICE_AND_ARGS(quern_adam_plan_create)
HOST_RESULT(quern_adam_plan_create, plan, "W")
DEVICE_AND_ARGS(quern_adam_saved_bytes)
HOST_RESULT(quern_adam_saved_bytes, bytes, "W")
/* A saved state lies at any address of the host. */
DEVICE_AND_ARGS(quern_adam_save)
MEMORY_OF(quern_adam_save__parameters, saved, "W", 1, .host_calls = ~0u)
RULE(quern_adam_save__parameters, bytes, "c", REFUSES(ARGUMENT("#, as quern_adam_saved_bytes says")))
DEVICE_AND_ARGS(quern_adam_load)
MEMORY_OF(quern_adam_load__parameters, saved, "R", 1, .host_calls = ~0u, .stays = true)
RULE(quern_adam_load__parameters, bytes, "c", REFUSES(ARGUMENT("#, by the header of saved")))
HOST_RESULT(quern_adam_load, step, "w")
HOST_RESULT(quern_adam_load, seed, "w")
PARAMETERS_OF(quern_adam)
PARAMETERS_OF(quern_adam_workspace)
PARAMETERS_OF(quern_adam_explain)
PARAMETERS_OF(quern_adam_plan_create)
PARAMETERS_OF(quern_adam_saved_bytes)
PARAMETERS_OF(quern_adam_save)
PARAMETERS_OF(quern_adam_load)

/* ---- base cases ---- */

static quern_adam_args adam_args;
static quern_adam_tensor adam_tensors[LONG];
static quern_adam_plan *adam_plan;

static int column_of(const struct call *call) { return call->parts[1].column; }

static void set_narrow(quern_adam_args *a) {
    a->param_dtype = a->grad_dtype = QUERN_BF16, a->m_dtype = a->v_dtype = QUERN_E4M3, a->master_dtype = QUERN_REMAINDER;
    a->amsgrad = a->zero_grads = a->use_multipliers = 1, a->copy_dtype = QUERN_E4M3;
}

static void set_wide(quern_adam_args *a) {
    a->param_dtype = a->grad_dtype = a->m_dtype = a->v_dtype = QUERN_F32, a->copy_dtype = QUERN_BF16;
}

#define SET_COMMON(function) \
    parameters_of_##function.device = fields_device.quern, parameters_of_##function.args = &adam_args

static void set_adam(const struct call *call) {
    quern_adam_args *a = &adam_args;
    *a = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    if (column_of(call) == WIDE_STEP || column_of(call) == PLANNED) set_wide(a);
    else set_narrow(a);
    a->lr = 0.01, a->weight_decay = 0.1, a->step = 3, a->grad_scale = 2, a->seed = 5;
    memset(adam_tensors, 0, sizeof adam_tensors);
    a->tensors = adam_tensors, a->tensor_count = column_of(call) == LONG_STEP ? LONG : TENSORS;
    for (int i = 0; i < (column_of(call) == LONG_STEP ? 1 : TENSORS); i++)
        adam_tensors[i].count = ELEMENTS, adam_tensors[i].lr_multiplier = 1.5f, adam_tensors[i].weight_decay_multiplier = 0.5f;
    SET_COMMON(quern_adam), parameters_of_quern_adam.stream = fields_device.stream;
    SET_COMMON(quern_adam_workspace);
    SET_COMMON(quern_adam_explain), parameters_of_quern_adam_explain.bytes = FIELDS_ROOM;
    SET_COMMON(quern_adam_plan_create);
    SET_COMMON(quern_adam_saved_bytes);
    SET_COMMON(quern_adam_save);
    SET_COMMON(quern_adam_load);
}

/* As bf16 about 0.011 and as e4m3 1.5; as a scale 2^-67; a counter of steps has small bytes in a low place. */
enum { FILLED = 0x3c };

static void fill(const void *pointer, size_t bytes) { if (pointer) fields_bytes(pointer, bytes, FILLED); }

static void fill_tensor(const quern_adam_tensor *t) {
    const void *const arrays[] = {t->param, t->grad, t->m, t->v, t->master, t->v_max};
    const void *const scales[] = {t->m_scale, t->v_scale, t->v_max_scale, t->copy_scale};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fill(arrays[i], ELEMENTS * sizeof(float));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) fill(scales[i], 4);
    if (t->copy_max) fields_floats(t->copy_max, 1, 0);
}

static void fill_adam(UNUSED const struct call *call) {
    static const int64_t taken = 4;
    const quern_adam_control *control = &adam_args.control;
    for (int i = 0; i < TENSORS; i++) fill_tensor(&adam_tensors[i]);
    for (int i = 0; i < TENSORS && adam_args.steps; i++) memcpy(fields_image(adam_args.steps + i), &taken, sizeof taken);
    if (control->lr) fields_floats(control->lr, 1, 0.02f);
    if (control->step) memcpy(fields_image(control->step), &taken, sizeof taken);
    if (control->grad_scale) fields_floats(control->grad_scale, 1, 4);
    if (control->clip) fields_floats(control->clip, 1, 0.5f);
    if (control->found_inf) fields_floats(control->found_inf, 1, 0);
}

PLANS(quern_adam_plan, adam_args, adam_plan, plan_of_another_device, (adam_args.tensors = NULL, adam_args.tensor_count = 0))

static void size_saved(UNUSED const struct call *call) {
    check_ok(quern_adam_saved_bytes(fields_device.quern, &adam_args, &parameters_of_quern_adam_save.bytes));
}

static void make_saved(UNUSED const struct call *call) {
    static char saved[FIELDS_ROOM];
    size_t bytes;
    check_ok(quern_adam_saved_bytes(fields_device.quern, &adam_args, &bytes));
    check(bytes <= sizeof saved, "a saved state of %zu bytes", bytes);
    check_ok(quern_adam_save(fields_device.quern, &adam_args, saved, bytes));
    memcpy(fields_image(parameters_of_quern_adam_load.saved), saved, bytes);
    parameters_of_quern_adam_load.bytes = bytes;
    for (int i = 0; i < TENSORS; i++) {  /* which the load replaces */
        const quern_adam_tensor *t = &adam_tensors[i];
        void *const arrays[] = {t->param, t->m, t->v, t->master, t->v_max, t->m_scale, t->v_scale, t->v_max_scale};
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) fields_bytes(arrays[k], 2, 1);
    }
}

#define FIRST_PARTS(base, at) PARAMETERS(base), PART(quern_adam_args, adam_args, NULL, "args.", at), \
    PART(quern_adam_control, adam_args.control, &adam_args, "args.control.", at), \
    PART(quern_adam_tensor, adam_tensors[0], &adam_args, "args.tensors[0].", at)
#define ADAM(title, base, at, ...) {.name = title, .function = #base, \
    .parts = {FIRST_PARTS(base, at), PART(quern_adam_tensor, adam_tensors[1], &adam_args, "args.tensors[1].", at)}, \
    .set = set_adam, .fill = fill_adam, __VA_ARGS__}
static const struct call calls_of_quern_adam[] = {
    ADAM("a step", quern_adam, STEP, .size = NULL), ADAM("a step of 32 bits", quern_adam, WIDE_STEP, .size = NULL),
    ADAM("a step with control", quern_adam, CONTROLLED, .size = NULL),
    {.name = "a step of a long list", .function = "quern_adam", .parts = {FIRST_PARTS(quern_adam, LONG_STEP)}, .set = set_adam,
     .fill = fill_adam},
    ADAM("a step of a plan", quern_adam, PLANNED, .size = make_adam_plan),
    ADAM("a step of a plan with control", quern_adam, PLAN_CONTROLLED, .size = make_adam_plan),
    ADAM("a step with steps of each tensor", quern_adam, OWN_STEPS, .size = NULL), {.name = NULL}};
#define ONE_CALL(title, base, at, ...) \
    static const struct call calls_of_##base[] = {ADAM(title, base, at, __VA_ARGS__), {.name = NULL}};
ONE_CALL("workspace of Adam", quern_adam_workspace, SPACE, .keeps_outputs = false)
ONE_CALL("explain Adam", quern_adam_explain, EXPLAIN, .keeps_outputs = false)
ONE_CALL("create a plan", quern_adam_plan_create, CREATE, .after = destroy_made_adam_plan, .keeps_outputs = true)
ONE_CALL("bytes of a state", quern_adam_saved_bytes, SAVED_BYTES, .keeps_outputs = false)
ONE_CALL("save", quern_adam_save, SAVE, .size = size_saved)
ONE_CALL("load", quern_adam_load, LOAD, .size = make_saved, .keeps_outputs = true)

#define CALLS_IN_LIST(function) calls_of_##function,
static const struct call *const adam_calls[] = {CALLS_WITH_quern_adam_args(CALLS_IN_LIST)};

#endif
