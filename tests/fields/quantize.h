/* What the quantisation, its steps and its plans do with each field, and the base case of each call. */
#ifndef FIELDS_QUANTIZE_H
#define FIELDS_QUANTIZE_H

#include "fields/fields.h"

enum { TENSORS = 2, LONG = 300, ELEMENTS = 40, ROWS = 3 };  /* the second item of a long list and those behind it are empty */

enum { COLUMNS = 8 };  /* of what is transposed or in blocks */

/*
 * The columns: the workspace; both steps, with a history, of a plan, and of a long list, of which the arrays of two tensors are not
 * compared; the two steps; explain; the plan; blocks and transposed matrices.
 */
enum { SPACE, WHOLE, DELAYED, PLANNED, LONG_LIST, AMAX, CAST, EXPLAIN, NEW_PLAN, BLOCKS, TRANSPOSED };
static quern_quantize_plan *plan_of_another_device;
/*                                               SWDPLACENBT */
RULE(quern_quantize_args, tensor_size,          "ccc-ccccccc", REFUSES(ITEM_BYTES("56", 0, 16, 28, 55, 57, 64, UINT32_MAX)))
RULE(quern_quantize_args, input_dtype,          "cccCccccccc", LEGAL(QUERN_FLOAT_DTYPES))
RULE(quern_quantize_args, output_dtype,         "cccCccccccc", LEGAL(QUERN_NARROW_DTYPES))
MEMORY_OF(quern_quantize_args, tensors,         "RRR0RRRRRRR", sizeof(void *), .host_calls = ~0u,
          .unused = {"is not NULL with a plan, which has its own list"})
RULE(quern_quantize_args, tensor_count,         "ccc-ccccccc", REFUSES(COUNT_TO("4294967295")))
BUFFER_OF(quern_quantize_args, amax,            "-WWWWWR---W", sizeof(float))
BUFFER_OF(quern_quantize_args, scale,           "-wWww-w---w", sizeof(float))
BUFFER_OF(quern_quantize_args, scale_inv,       "-wwww-w---w", sizeof(float))
RULE(quern_quantize_args, eps,                  "cccccccc-cc", REFUSES(FP32))
PLAIN(quern_quantize_args, power_of_two,        "cccccccc-cc")
PLAIN(quern_quantize_args, rounding,            "cccccccc-cc")
PLAIN(quern_quantize_args, seed,                "-....-.--..")
PLAIN(quern_quantize_args, offset,              "-....-.--..")
BUFFER_OF(quern_quantize_args, offset_pointer,  "-rrrr-r--rr", sizeof(uint64_t))
BUFFER_OF(quern_quantize_args, noop,            "-rrrrrr--rr", sizeof(float))
MEMORY_OF(quern_quantize_args, history,         "..w..00.-0.", sizeof(float),
          .unused = {"is not NULL: expected NULL with QUERN_SCALING_MX",
                     "is not NULL: expected NULL, since only quern_quantize has delayed scaling"})
RULE(quern_quantize_args, history_length,       "--c--------", REFUSES(SHAPE("1 to 65536")))
RULE(quern_quantize_args, plan,                 "........-..", .foreign = &plan_of_another_device)
#define IN_BLOCKS VALUES(QUERN_SCALING_MX)
RULE(quern_quantize_args, scaling,              "ccccccccccc", REFUSES(
     ARGUMENT("*is QUERN_SCALING_MX: expected the scaling of a tensor, since only quern_quantize has blocks", IN_BLOCKS,
              .calls = "-----xx----"),
     ARGUMENT("*is QUERN_SCALING_MX, and args.plan was made with that of a tensor", IN_BLOCKS, .calls = "---x-------")))
RULES_OF(quern_quantize_args)

BUFFER_OF(quern_quantize_tensor, input,         "aRRpRRRaRRR",
          quern_dtype_bytes(((const quern_quantize_args *)parent)->input_dtype))
BUFFER_OF(quern_quantize_tensor, output,        "-WWPW-W-Www", 1)
RULE(quern_quantize_tensor, count,              "ccc-ccccccc", REFUSES(SHAPE("0 to " MOST_ELEMENTS)))
RULE(quern_quantize_tensor, columns,            "---------cc", REFUSES(
     SHAPE("a divisor of the count, 40", VALUES(INT64_MIN, -1, 0, 7, 41, INT64_MAX))))
BUFFER_OF(quern_quantize_tensor, transposed,    "...-.-...ww", 1)
BUFFER_OF(quern_quantize_tensor, block_scales,  "---------W-", 1)
BUFFER_OF(quern_quantize_tensor, transposed_block_scales, "---------W-", 1)
RULES_OF(quern_quantize_tensor)

/* ---- parameters ---- */

DEVICE_AND_ARGS(quern_quantize_workspace)
HOST_RESULT(quern_quantize_workspace, bytes, "W")
DEVICE_AND_ARGS(quern_quantize)
WORKSPACE_AND_STREAM(quern_quantize)
DEVICE_AND_ARGS(quern_quantize_amax)
WORKSPACE_AND_STREAM(quern_quantize_amax)
DEVICE_AND_ARGS(quern_quantize_cast)
PLAIN(quern_quantize_cast__parameters, stream, "s")
DEVICE_AND_ARGS(quern_quantize_explain)
HOST_RESULT(quern_quantize_explain, buffer, "w")
PLAIN(quern_quantize_explain__parameters, bytes, ".")
DEVICE_AND_ARGS(quern_quantize_plan_create)
HOST_RESULT(quern_quantize_plan_create, plan, "W")
PARAMETERS_OF(quern_quantize_workspace)
PARAMETERS_OF(quern_quantize)
PARAMETERS_OF(quern_quantize_amax)
PARAMETERS_OF(quern_quantize_cast)
PARAMETERS_OF(quern_quantize_explain)
PARAMETERS_OF(quern_quantize_plan_create)

/* ---- base cases ---- */

static quern_quantize_args quantize_args;
static quern_quantize_tensor tensors[LONG];
static quern_quantize_plan *quantize_plan;

#define SET_COMMON(function) \
    parameters_of_##function.device = fields_device.quern, parameters_of_##function.args = &quantize_args

static void set_quantize(const struct call *call) {
    quern_quantize_args *a = &quantize_args;
    const int column = call->parts[1].column;
    *a = (quern_quantize_args)QUERN_QUANTIZE_ARGS_INIT;
    a->input_dtype = QUERN_BF16, a->output_dtype = QUERN_E4M3, a->rounding = QUERN_ROUND_STOCHASTIC, a->seed = 7, a->offset = 3;
    memset(tensors, 0, sizeof tensors);
    a->tensors = tensors, a->tensor_count = column == LONG_LIST ? LONG : TENSORS;
    for (int i = 0; i < (column == LONG_LIST ? 1 : TENSORS); i++) tensors[i].count = ELEMENTS;
    for (int i = 0; i < TENSORS && column >= BLOCKS; i++) tensors[i].columns = COLUMNS;
    if (column == BLOCKS) a->scaling = QUERN_SCALING_MX;
    if (column == DELAYED) a->history_length = ROWS;
    SET_COMMON(quern_quantize_workspace);
    SET_COMMON(quern_quantize), parameters_of_quern_quantize.stream = fields_device.stream;
    SET_COMMON(quern_quantize_amax), parameters_of_quern_quantize_amax.stream = fields_device.stream;
    SET_COMMON(quern_quantize_cast), parameters_of_quern_quantize_cast.stream = fields_device.stream;
    SET_COMMON(quern_quantize_explain), parameters_of_quern_quantize_explain.bytes = FIELDS_ROOM;
    SET_COMMON(quern_quantize_plan_create);
}

static void fill_quantize(UNUSED const struct call *call) {
    const quern_quantize_args *a = &quantize_args;
    for (int i = 0; i < TENSORS; i++)
        if (tensors[i].input) fields_bytes(tensors[i].input, ELEMENTS * 2, 0x3c + i);
    if (a->amax) fields_floats(a->amax, TENSORS, 9);
    if (a->noop) fields_floats(a->noop, 1, 0);
    if (a->offset_pointer) fields_bytes(a->offset_pointer, sizeof *a->offset_pointer, 1);
    if (a->history) fields_floats(a->history, TENSORS * ROWS, 5);
}

PLANS(quern_quantize_plan, quantize_args, quantize_plan, plan_of_another_device,
      (quantize_args.tensors = NULL, quantize_args.tensor_count = 0))

#define FIRST_PARTS(base, at) PARAMETERS(base), PART(quern_quantize_args, quantize_args, NULL, "args.", at), \
    PART(quern_quantize_tensor, tensors[0], &quantize_args, "args.tensors[0].", at)
#define QUANTIZE(title, base, at, ...) {.name = title, .function = #base, \
    .parts = {FIRST_PARTS(base, at), PART(quern_quantize_tensor, tensors[1], &quantize_args, "args.tensors[1].", at)}, \
    .set = set_quantize, .fill = fill_quantize, __VA_ARGS__}
static const struct call calls_of_quern_quantize[] = {
    QUANTIZE("a quantisation", quern_quantize, WHOLE, .size = NULL),
    QUANTIZE("a delayed quantisation", quern_quantize, DELAYED, .size = NULL),
    QUANTIZE("a quantisation of a plan", quern_quantize, PLANNED, .size = make_quantize_plan),
    {.name = "a quantisation of a long list", .function = "quern_quantize", .parts = {FIRST_PARTS(quern_quantize, LONG_LIST)},
     .set = set_quantize, .fill = fill_quantize},
    QUANTIZE("a quantisation in blocks", quern_quantize, BLOCKS, .size = NULL),
    QUANTIZE("a transposed quantisation", quern_quantize, TRANSPOSED, .size = NULL),
    {.name = NULL}};
#define ONE_CALL(title, base, at, ...) \
    static const struct call calls_of_##base[] = {QUANTIZE(title, base, at, __VA_ARGS__), {.name = NULL}};
ONE_CALL("workspace of a quantisation", quern_quantize_workspace, SPACE, .keeps_outputs = false)
ONE_CALL("amaxes", quern_quantize_amax, AMAX, .keeps_outputs = false)
ONE_CALL("a cast", quern_quantize_cast, CAST, .keeps_outputs = false)
ONE_CALL("explain a quantisation", quern_quantize_explain, EXPLAIN, .keeps_outputs = false)
ONE_CALL("create a plan of a quantisation", quern_quantize_plan_create, NEW_PLAN, .after = destroy_made_quantize_plan,
         .keeps_outputs = true)

#define CALLS_IN_LIST(function) calls_of_##function,
static const struct call *const quantize_calls[] = {CALLS_WITH_quern_quantize_args(CALLS_IN_LIST)};

#endif
