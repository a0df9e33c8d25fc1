/* What the norm of gradients and their accumulation do with each field, and the base case of each call. */
#ifndef FIELDS_GRADIENTS_H
#define FIELDS_GRADIENTS_H

#include "fields/fields.h"

enum { GRADIENTS = 2, LONG = 300, ELEMENTS = 40 };   /* the second item of a long list and those behind it are empty */

/*
 * The columns: the norm of a list, of a plan, its workspace; a sum, one in bf16 that sets the gradients to zero, and one of a long
 * list, of which the arrays of each item alone are compared; a sum with flags and token counts, the same with a plan, and the plan.
 */
enum { NORM, NORM_OF_PLAN, SPACE, SUM, ZEROING_SUM, LONG_SUM, GROUPED_SUM, SUM_OF_PLAN, NEW_PLAN };
#define NO_SIZE_OF_A_GRADIENT REFUSES(ITEM_BYTES("24", 0, 16, 23, 25, 32, UINT32_MAX))
#define NO_COUNT REFUSES(COUNT_TO("4294967295"))
#define HAS_A_LIST .unused = {"is not NULL with a plan, which has its own list"}
#define FLOATS LEGAL(QUERN_FLOAT_DTYPES)
/*                                                       NpsSZL */
RULE(quern_gradient_norm_args, gradient_size,           "c-c", NO_SIZE_OF_A_GRADIENT)
RULE(quern_gradient_norm_args, grad_dtype,              "cCc", FLOATS)
MEMORY_OF(quern_gradient_norm_args, gradients,          "R0R", sizeof(void *), .host_calls = ~0u, HAS_A_LIST)
RULE(quern_gradient_norm_args, gradient_count,          "c-c", NO_COUNT)
static quern_adam_plan *plan_of_another_device;
RULE(quern_gradient_norm_args, plan,                   "...", .foreign = &plan_of_another_device)
RULE(quern_gradient_norm_args, max_norm,                "ccc", REFUSES(FINITE))
RULE(quern_gradient_norm_args, grad_scale,              "c-c", REFUSES(ARGUMENT("a finite number above 0, or 0 for 1")))
BUFFER_OF(quern_gradient_norm_args, grad_scale_pointer, ".r.", sizeof(float))
BUFFER_OF(quern_gradient_norm_args, norm,               "ww.", sizeof(float))
BUFFER_OF(quern_gradient_norm_args, clip,               "ww.", sizeof(float))
BUFFER_OF(quern_gradient_norm_args, found_inf,          "ww.", sizeof(float))
#define NO_PLAN .unused = {"is not NULL without a plan: expected NULL, since the list has its own gradients"}
RULE(quern_gradient_norm_args, grads,                   "0.0", NO_PLAN)
RULES_OF(quern_gradient_norm_args)

#define MAINS LEGAL(QUERN_NO_DTYPE, QUERN_F32, QUERN_BF16)
static quern_accumulate_plan *sums_of_another_device;
/*                                                       NpsSZLGPN */
RULE(quern_accumulate_args, gradient_size,              "...cccc-c", NO_SIZE_OF_A_GRADIENT)
RULE(quern_accumulate_args, grad_dtype,                 "...ccccCc", FLOATS)
PLAIN(quern_accumulate_args, zero_grads,                "...ccccCc")
MEMORY_OF(quern_accumulate_args, gradients,             "...RRRR0R", sizeof(void *), .host_calls = ~0u, HAS_A_LIST)
RULE(quern_accumulate_args, gradient_count,             "...cccc-c", NO_COUNT)
RULE(quern_accumulate_args, scale,                      "...ccccc-", REFUSES(ARGUMENT("-3.4e38 to 3.4e38, the range of fp32")))
RULE(quern_accumulate_args, main_dtype,                 "...cccc.c", MAINS)
PLAIN(quern_accumulate_args, overwrite,                 "...ccc---")
RULE(quern_accumulate_args, plan,                       "........-", .foreign = &sums_of_another_device)
BUFFER_OF(quern_accumulate_args, overwrite_flags,       "......rr-", sizeof(int32_t))
BUFFER_OF(quern_accumulate_args, token_counts,          "......rr-", sizeof(int64_t))
RULE(quern_accumulate_args, group_count,                "...---c-c", REFUSES(COUNT_TO("2147483647")))
RULE(quern_accumulate_args, token_places,               "...---.0.", .unused = {"is not NULL with a plan, which has its own"})
RULE(quern_accumulate_args, grads,                      "...0000.-", NO_PLAN)
RULES_OF(quern_accumulate_args)

_Static_assert(offsetof(quern_accumulate_args, grad_dtype) == offsetof(quern_gradient_norm_args, grad_dtype), "one place");
BUFFER_OF(quern_gradient, grad,                         "RpaRWRRpR",
          quern_dtype_bytes(((const quern_accumulate_args *)parent)->grad_dtype))
BUFFER_OF(quern_gradient, main_grad,                    "---WWWWPW",
          quern_dtype_bytes(((const quern_accumulate_args *)parent)->main_dtype))
RULE(quern_gradient, count,                             "c-ccccc-c", REFUSES(SHAPE("0 to " MOST_ELEMENTS)))
RULES_OF(quern_gradient)

DEVICE_AND_ARGS(quern_gradient_norm)
WORKSPACE_AND_STREAM(quern_gradient_norm)
DEVICE_AND_ARGS(quern_gradient_norm_workspace)
HOST_RESULT(quern_gradient_norm_workspace, bytes, "W")
DEVICE_AND_ARGS(quern_accumulate)
PLAIN(quern_accumulate__parameters, stream, "s")
PARAMETERS_OF(quern_gradient_norm)
PARAMETERS_OF(quern_gradient_norm_workspace)
DEVICE_AND_ARGS(quern_accumulate_plan_create)
HOST_RESULT(quern_accumulate_plan_create, plan, "W")
PARAMETERS_OF(quern_accumulate)
PARAMETERS_OF(quern_accumulate_plan_create)

/* ---- base cases ---- */

static quern_gradient_norm_args norm_args;
static quern_accumulate_args sum_args;
static quern_gradient gradients[LONG];
static quern_adam_plan *plan_of_gradients;
static quern_accumulate_plan *plan_of_sums;
static const int32_t places[GRADIENTS] = {1, 0};

#define SET_COMMON(function, given) \
    parameters_of_##function.device = fields_device.quern, parameters_of_##function.args = &(given)

static void set_gradients(const struct call *call) {
    norm_args = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    norm_args.grad_dtype = sum_args.grad_dtype = QUERN_BF16;
    norm_args.gradients = gradients, norm_args.gradient_count = GRADIENTS, norm_args.max_norm = 1, norm_args.grad_scale = 2;
    sum_args = (quern_accumulate_args)ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .zero_grads = call->parts[1].column == ZEROING_SUM);
    if (sum_args.zero_grads) sum_args.main_dtype = QUERN_BF16;
    memset(gradients, 0, sizeof gradients);
    const bool is_long = call->parts[1].column == LONG_SUM;
    sum_args.gradients = gradients, sum_args.gradient_count = is_long ? LONG : GRADIENTS, sum_args.scale = 0.5;
    for (int i = 0; i < (is_long ? 1 : GRADIENTS); i++) gradients[i].count = ELEMENTS;
    sum_args.group_count = call->parts[1].column >= GROUPED_SUM ? GRADIENTS : 0;
    sum_args.token_places = call->parts[1].column >= GROUPED_SUM ? places : NULL;
    SET_COMMON(quern_gradient_norm, norm_args), parameters_of_quern_gradient_norm.stream = fields_device.stream;
    SET_COMMON(quern_gradient_norm_workspace, norm_args);
    SET_COMMON(quern_accumulate, sum_args), parameters_of_quern_accumulate.stream = fields_device.stream;
    SET_COMMON(quern_accumulate_plan_create, sum_args);
}

/* One infinity, so that found_inf is written. */
static void fill_gradients(const struct call *call) {
    static const unsigned char infinity[] = {0x80, 0x7f};
    for (int i = 0; i < GRADIENTS; i++) {
        if (gradients[i].grad) fields_bytes(gradients[i].grad, ELEMENTS * 2, 0x3c);
        if (gradients[i].main_grad) fields_floats(gradients[i].main_grad, ELEMENTS, 3);
    }
    if (gradients[1].grad && call->parts[1].column < SPACE) memcpy(fields_image(gradients[1].grad), infinity, sizeof infinity);
    if (norm_args.grad_scale_pointer) fields_floats(norm_args.grad_scale_pointer, 1, 4);
    if (sum_args.overwrite_flags) fields_bytes(sum_args.overwrite_flags, sizeof(int32_t), 1);
    if (sum_args.token_counts) fields_bytes(sum_args.token_counts, GRADIENTS * sizeof(int64_t), 1);
}

/* The plan's other arrays lie behind the arena's last home and are never written. */
static void plan_gradients(UNUSED const struct call *call) {
    quern_adam_tensor tensors[GRADIENTS] = {{.count = ELEMENTS}, {.count = ELEMENTS}};
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_BF16), .tensors = tensors, .tensor_count = GRADIENTS);
    char *at = (char *)parameters_of_quern_gradient_norm.workspace + 16 * (ptrdiff_t)FIELDS_ROOM;
    for (int i = 0; i < GRADIENTS; i++) {
        tensors[i].grad = gradients[i].grad;
        tensors[i].param = at + 512 * i, tensors[i].m = at + 512 * i + 128, tensors[i].v = at + 512 * i + 256;
    }
    check_ok(quern_adam_plan_create(fields_device.quern, &args, &plan_of_gradients));
    check_ok(quern_adam_plan_create(fields_other_device, &args, &plan_of_another_device));
    norm_args.plan = plan_of_gradients, norm_args.gradients = NULL, norm_args.gradient_count = 0;
}

PLANS(quern_accumulate_plan, sum_args, plan_of_sums, sums_of_another_device,
      (sum_args.gradients = NULL, sum_args.token_places = NULL))

static void destroy_plans(void) {
    destroy_plan_of_sums();
    quern_adam_plan_destroy(plan_of_gradients);
    quern_adam_plan_destroy(plan_of_another_device);
    plan_of_gradients = plan_of_another_device = NULL;
}

#define OF_GRADIENTS(title, base, type, object, at, ...) {.name = title, .function = #base, \
    .parts = {PARAMETERS(base), PART(type, object, NULL, "args.", at), \
              PART(quern_gradient, gradients[0], &(object), "args.gradients[0].", at), \
              PART(quern_gradient, gradients[1], &(object), "args.gradients[1].", at)}, \
    .set = set_gradients, .fill = fill_gradients, __VA_ARGS__}
static const struct call calls_of_quern_gradient_norm[] = {
    OF_GRADIENTS("norm", quern_gradient_norm, quern_gradient_norm_args, norm_args, NORM, .size = NULL),
    OF_GRADIENTS("norm of a plan", quern_gradient_norm, quern_gradient_norm_args, norm_args, NORM_OF_PLAN, .size = plan_gradients),
    {.name = NULL}};
static const struct call calls_of_quern_gradient_norm_workspace[] = {
    OF_GRADIENTS("workspace of a norm", quern_gradient_norm_workspace, quern_gradient_norm_args, norm_args, SPACE, .size = NULL),
    {.name = NULL}};
static const struct call calls_of_quern_accumulate[] = {
    OF_GRADIENTS("a sum", quern_accumulate, quern_accumulate_args, sum_args, SUM, .size = NULL),
    {.name = "a sum of a long list", .function = "quern_accumulate", .set = set_gradients, .fill = fill_gradients,
     .parts = {PARAMETERS(quern_accumulate), PART(quern_accumulate_args, sum_args, NULL, "args.", LONG_SUM),
               PART(quern_gradient, gradients[0], &sum_args, "args.gradients[0].", LONG_SUM)}},
    OF_GRADIENTS("a sum that zeroes", quern_accumulate, quern_accumulate_args, sum_args, ZEROING_SUM, .size = NULL),
    OF_GRADIENTS("a sum with groups", quern_accumulate, quern_accumulate_args, sum_args, GROUPED_SUM, .size = NULL),
    OF_GRADIENTS("a sum of a plan", quern_accumulate, quern_accumulate_args, sum_args, SUM_OF_PLAN, .size = make_plan_of_sums),
    {.name = NULL}};
static const struct call calls_of_quern_accumulate_plan_create[] = {
    OF_GRADIENTS("create a plan of sums", quern_accumulate_plan_create, quern_accumulate_args, sum_args, NEW_PLAN,
                 .after = destroy_made_plan_of_sums, .keeps_outputs = true),
    {.name = NULL}};

#define CALLS_IN_LIST(function) calls_of_##function,
static const struct call *const gradient_calls[] = {CALLS_WITH_quern_gradient_norm_args(CALLS_IN_LIST)
                                                    CALLS_WITH_quern_accumulate_args(CALLS_IN_LIST)};

#endif
