/* What cross-entropy, its steps and the last layer do with each field, and the base case of each call. */
#ifndef FIELDS_CROSS_ENTROPY_H
#define FIELDS_CROSS_ENTROPY_H

#include "fields/fields.h"

enum { ROWS = 3, VOCAB = 10, LOGITS_STRIDE = 12, PADDED = 13, GRAD_STRIDE = 14, UPSTREAM_STRIDE = 2, FIRST = 2, GLOBAL = 20,
       SHARDS = 2, WIDTH = 5, WIDE = 6, CHUNK = 2, LISTED = 2 };

#define FAR_ROWS TOO_LONG("args.rows 3: expected -11728124029610 to 11728124029610")
#define OF_THREE_ROWS TOO_LONG("args.rows 3: expected at most 11728124029610")
#define IS_COMPUTED .unused = {"is set: expected NULL or 0, since the logits are computed here"}
#define IS_WHOLE .unused = {"is set: expected NULL or 0, since args.shard_count is 0"}

/*
 * The columns: the whole call, stats, combine, gradient, upstream, their workspace, explain; the loss of the last layer, and its
 * workspace.
 * Every step checks every number, also those that only other steps use.
 */
enum { WHOLE, STATS, COMBINE, GRADIENT, UPSTREAM, SPACE, EXPLAIN, LINEAR, LINEAR_SPACE };
/*                                                               WSCGUseLs */
RULE(quern_cross_entropy_args, logits_dtype,                    "ccccccccc", LEGAL(QUERN_FLOAT_DTYPES))
RULE(quern_cross_entropy_args, labels_dtype,                    "ccccccccc", LEGAL(QUERN_INT32, QUERN_INT64))
PLAIN(quern_cross_entropy_args, reduction,                      "ccccccccc")
RULE(quern_cross_entropy_args, rows,                            "ccccccccc", REFUSES(COUNT_TO(MOST_ROWS)))
RULE(quern_cross_entropy_args, vocab,                           "ccccccccc", REFUSES(
     COUNT_TO(MOST_ROWS), SHAPE(" with 3 rows: expected at least 1")))
MEMORY_OF(quern_cross_entropy_args, logits,                     "RR-R.--00", quern_dtype_bytes(a->logits_dtype), IS_COMPUTED)
RULE(quern_cross_entropy_args, logits_stride,                   "ccccccc00", IS_COMPUTED, REFUSES(
     SHAPE("at least vocab, 10"), OF_THREE_ROWS))
BUFFER_OF(quern_cross_entropy_args, labels,                     "RRRR---R-", quern_dtype_bytes(a->labels_dtype))
PLAIN(quern_cross_entropy_args, ignore_index,                   "........-")
BUFFER_OF(quern_cross_entropy_args, loss,                       "w-w----w-", sizeof(float))
MEMORY_OF(quern_cross_entropy_args, grad,                       "w--WW--00", quern_dtype_bytes(a->logits_dtype), IS_COMPUTED)
RULE(quern_cross_entropy_args, grad_dtype,                      "ccccccccc", LEGAL(QUERN_NO_DTYPE, QUERN_FLOAT_DTYPES),
     .legal_text = "one of f32, f16, bf16", REFUSES(
     {.text = "@ with f32 logits: expected the logits' dtype or f32", .status = QUERN_NOT_SUPPORTED, .calls = "x--xx----",
      VALUES(QUERN_F16, QUERN_BF16)},
     {.text = "@ with f32 logits, which their gradient replaces: expected the same dtype", .status = QUERN_NOT_SUPPORTED,
      .calls = "-------xx", VALUES(QUERN_F16, QUERN_BF16)}))
RULE(quern_cross_entropy_args, grad_stride,                     "c--cc--00", IS_COMPUTED, REFUSES(
     SHAPE("at least padded_vocab, 13"), OF_THREE_ROWS))
BUFFER_OF(quern_cross_entropy_args, grad_loss,                  "r--rR--r-", sizeof(float))
RULE(quern_cross_entropy_args, grad_loss_stride,                "c--cc--c-", REFUSES(FAR_ROWS))
RULE(quern_cross_entropy_args, grad_scale,                      "ccccccccc", REFUSES(ARGUMENT("a finite number")))
BUFFER_OF(quern_cross_entropy_args, report,                     "w-w----w-", sizeof(int64_t))
RULE(quern_cross_entropy_args, label_smoothing,                 "ccccccccc", REFUSES(ARGUMENT("0 to 1")))
RULE(quern_cross_entropy_args, z_loss,                          "ccccccccc", REFUSES(FINITE))
RULE(quern_cross_entropy_args, softcap,                         "ccccccccc", REFUSES(FINITE))
BUFFER_OF(quern_cross_entropy_args, class_weights,              "rrnr--nr-", sizeof(float))
RULE(quern_cross_entropy_args, padded_vocab,                    "ccccccc00", IS_COMPUTED, REFUSES(
     SHAPE("at least vocab, 10"), SHAPE("at most " MOST_ROWS)))
BUFFER_OF(quern_cross_entropy_args, lse,                        "w-w----w-", sizeof(float))
BUFFER_OF(quern_cross_entropy_args, log_prob,                   "w-w----w-", sizeof(float))
BUFFER_OF(quern_cross_entropy_args, entropy,                    "wnw---nw-", sizeof(float))
BUFFER_OF(quern_cross_entropy_args, argmax,                     "wnw---nw-", sizeof(int64_t))
MEMORY_OF(quern_cross_entropy_args, stats,                      "wWwR---00", sizeof(double), IS_COMPUTED)
RULE(quern_cross_entropy_args, first_column,                    "ccccccc00", IS_WHOLE, REFUSES(
     SHAPE("0 or more"), SHAPE("at most global_vocab - vocab, 0", .calls = "x--------"),
     SHAPE("at most global_vocab - vocab, 10", .calls = "-xxxxxx--")))
RULE(quern_cross_entropy_args, global_vocab,                    "ccccccc00", IS_WHOLE, REFUSES(
     COUNT_TO("140737488355328"), SHAPE("at least vocab, 10"),
     SHAPE(" with a vocab of 10: expected all columns, or one step for the shard at a time", VALUES(11, 20), .calls = "x--------")))
PLAIN(quern_cross_entropy_args, strict_labels,                  "ccccccccc")
RULE(quern_cross_entropy_args, inverse_temperature,             "ccccccccc", REFUSES(FINITE))
BUFFER_OF(quern_cross_entropy_args, inverse_temperatures,       "rrnr--nr-", sizeof(float))
BUFFER_OF(quern_cross_entropy_args, grad_log_prob,              "rnnr--nr-", sizeof(float))
RULE(quern_cross_entropy_args, grad_log_prob_stride,            "cccc--cc-", REFUSES(FAR_ROWS))
BUFFER_OF(quern_cross_entropy_args, grad_entropy,               "rnnr--nr-", sizeof(float))
RULE(quern_cross_entropy_args, grad_entropy_stride,             "cccc--cc-", REFUSES(FAR_ROWS))
RULE(quern_cross_entropy_args, bits,                            "ccccccccc", REFUSES(
     {.status = QUERN_NOT_SUPPORTED, .text = " with a softcap: expected 0, QUERN_BITS_DEFAULT", VALUES(QUERN_BITS_PORTABLE)}))
MEMORY_OF(quern_cross_entropy_args, nodes,                      "-------00", sizeof(float), IS_COMPUTED)
RULE(quern_cross_entropy_args, top_k,                           "ccccccccc", REFUSES(COUNT_TO("32")))
BUFFER_OF(quern_cross_entropy_args, top_ids,                    "WW-----W-", sizeof(int64_t))
BUFFER_OF(quern_cross_entropy_args, top_log_probs,              "WW-----W-", sizeof(float))
RULE(quern_cross_entropy_args, given_count,                     "ccccccccc", REFUSES(COUNT_TO("5864062014805")))
BUFFER_OF(quern_cross_entropy_args, given_ids,                  "RR-R---R-", sizeof(int64_t))
BUFFER_OF(quern_cross_entropy_args, given_log_probs,            "WW-R---W-", sizeof(float))
MEMORY_OF(quern_cross_entropy_args, shard_top_ids,              "-------00", sizeof(int64_t), IS_COMPUTED)
MEMORY_OF(quern_cross_entropy_args, shard_top_logits,           "-------00", sizeof(float), IS_COMPUTED)
MEMORY_OF(quern_cross_entropy_args, shard_given_logits,         "-------00", sizeof(float), IS_COMPUTED)
BUFFER_OF(quern_cross_entropy_args, target_probs,               "R--R---R-", sizeof(float))
PLAIN(quern_cross_entropy_args, divergence_kind,                "ccccccccc")
PLAIN(quern_cross_entropy_args, has_tail,                       "ccccccccc")
BUFFER_OF(quern_cross_entropy_args, divergence,                 "w-w----w-", sizeof(float))
BUFFER_OF(quern_cross_entropy_args, grad_divergence,            "rnnr--nr-", sizeof(float))
RULE(quern_cross_entropy_args, grad_divergence_stride,          "cccc--cc-", REFUSES(FAR_ROWS))
RULE(quern_cross_entropy_args, soft_targets_dtype,              "ccccccccc", LEGAL(QUERN_NO_DTYPE, QUERN_FLOAT_DTYPES),
     .legal_text = "none or f32, f16, bf16", REFUSES({.text = "@ with args.has_tail 1: expected 0, since no column is left",
                                                      .status = QUERN_INVALID_ARGUMENT,
                                                      VALUES(QUERN_F32, QUERN_F16, QUERN_BF16)}))
MEMORY_OF(quern_cross_entropy_args, soft_targets,               "---------", 1)
PLAIN(quern_cross_entropy_args, soft_targets_stride,            ".........")
RULES_OF(quern_cross_entropy_args)

/* The columns: the call and its workspace. */
#define NO_STRIDE(rows, most) REFUSES(SHAPE("at least width, 5"), TOO_LONG("args.loss." rows ": expected at most " most))
RULE(quern_linear_cross_entropy_args, hidden_dtype,             "cc", LEGAL(QUERN_FLOAT_DTYPES))
RULE(quern_linear_cross_entropy_args, weight_dtype,             "cc", LEGAL(QUERN_FLOAT_DTYPES))
PLAIN(quern_linear_cross_entropy_args, accumulate_weight,       "cc")
PLAIN(quern_linear_cross_entropy_args, loss,                    "..")
RULE(quern_linear_cross_entropy_args, width,                    "cc", REFUSES(COUNT_TO(MOST_ROWS)))
BUFFER_OF(quern_linear_cross_entropy_args, hidden,              "R-", quern_dtype_bytes(a->hidden_dtype))
RULE(quern_linear_cross_entropy_args, hidden_stride,            "cc", NO_STRIDE("rows 3", "11728124029610"))
BUFFER_OF(quern_linear_cross_entropy_args, weight,              "R-", quern_dtype_bytes(a->weight_dtype))
RULE(quern_linear_cross_entropy_args, weight_stride,            "cc", NO_STRIDE("vocab 10", "7036874417766"))
BUFFER_OF(quern_linear_cross_entropy_args, d_hidden,            "w-", quern_dtype_bytes(a->hidden_dtype))
RULE(quern_linear_cross_entropy_args, d_hidden_stride,          "cc", NO_STRIDE("rows 3", "11728124029610"))
BUFFER_OF(quern_linear_cross_entropy_args, d_weight,            "w-", sizeof(float))
RULE(quern_linear_cross_entropy_args, d_weight_stride,          "cc", NO_STRIDE("vocab 10", "3518437208883"))
RULE(quern_linear_cross_entropy_args, chunk_rows,               "cc", REFUSES(SHAPE("0 or more")))
PLAIN(quern_linear_cross_entropy_args, gemm,                    "R-")
PLAIN(quern_linear_cross_entropy_args, gemm_user,               ".-")
RULE(quern_linear_cross_entropy_args, d_weight_dtype,           "cc", LEGAL(QUERN_NO_DTYPE, QUERN_F32, QUERN_BF16),
     .legal_text = "none or f32, bf16", REFUSES({.text = "@ with args.d_weight_stride 6: expected f32, or a stride of width, 5",
                                                 .status = QUERN_NOT_SUPPORTED, VALUES(QUERN_BF16)}))
RULE(quern_linear_cross_entropy_args, bias_dtype,               "cc", LEGAL(QUERN_NO_DTYPE, QUERN_FLOAT_DTYPES),
     .legal_text = "none or f32, f16, bf16", REFUSES({.text = " and args.bias is set: expected the dtype of the bias",
                                                      .status = QUERN_INVALID_DTYPE, .calls = "x-", VALUES(QUERN_NO_DTYPE)}))
BUFFER_OF(quern_linear_cross_entropy_args, bias,                "r-", quern_dtype_bytes(a->bias_dtype))
BUFFER_OF(quern_linear_cross_entropy_args, d_bias,              "w-", sizeof(float))
PLAIN(quern_linear_cross_entropy_args, accumulate,              ".-")
RULE(quern_linear_cross_entropy_args, shard_count,              "cc", REFUSES(SHAPE("0 or more")))
PLAIN(quern_linear_cross_entropy_args, gather,                  ".-")
PLAIN(quern_linear_cross_entropy_args, gather_user,             ".-")
RULES_OF(quern_linear_cross_entropy_args)

/* ---- parameters ---- */

#define STEP(function) DEVICE_AND_ARGS(function) WORKSPACE_AND_STREAM(function)
#define QUERY(function) DEVICE_AND_ARGS(function) HOST_RESULT(function, bytes, "W")
STEP(quern_cross_entropy)
STEP(quern_cross_entropy_stats)
STEP(quern_cross_entropy_combine)
BUFFER_OF(quern_cross_entropy_combine__parameters, shards, "R", sizeof(double))
RULE(quern_cross_entropy_combine__parameters, shard_count, "c", REFUSES(
     ARGUMENT("at least 1"),
     SHAPE(" with args.rows 3: expected at most 733007751850, since shards has no more than 2^47 bytes")))
STEP(quern_cross_entropy_gradient)
DEVICE_AND_ARGS(quern_cross_entropy_upstream)
PLAIN(quern_cross_entropy_upstream__parameters, stream, "s")
QUERY(quern_cross_entropy_workspace)
DEVICE_AND_ARGS(quern_cross_entropy_explain)
HOST_RESULT(quern_cross_entropy_explain, buffer, "w")
PLAIN(quern_cross_entropy_explain__parameters, bytes, ".")
STEP(quern_linear_cross_entropy)
QUERY(quern_linear_cross_entropy_workspace)
PARAMETERS_OF(quern_cross_entropy)
PARAMETERS_OF(quern_cross_entropy_stats)
PARAMETERS_OF(quern_cross_entropy_combine)
PARAMETERS_OF(quern_cross_entropy_gradient)
PARAMETERS_OF(quern_cross_entropy_upstream)
PARAMETERS_OF(quern_cross_entropy_workspace)
PARAMETERS_OF(quern_cross_entropy_explain)
PARAMETERS_OF(quern_linear_cross_entropy)
PARAMETERS_OF(quern_linear_cross_entropy_workspace)

/* ---- base cases ---- */

static quern_cross_entropy_args loss_args;
static quern_linear_cross_entropy_args layer_args;
static quern_gemm layer_gemm;   /* which the suite sets */

/* What a test of strides changes in the base cases. */
static struct strides {
    int64_t logits, grad, upstream, hidden, weight, d_hidden, d_weight, chunk;
    bool in_place;      /* grad is logits */
    bool is_one_value;  /* all upstream gradients are equal */
} strides = {LOGITS_STRIDE, GRAD_STRIDE, UPSTREAM_STRIDE, WIDE, WIDE, WIDE, WIDE, CHUNK, false, false};

static int64_t stride_or(int64_t stride, int64_t preset) { return stride ? stride : preset; }

static int column_of(const struct call *call) { return call->parts[1].column; }

static void set_options(quern_cross_entropy_args *a) {
    *a = (quern_cross_entropy_args)CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT64,
                                                      .reduction = QUERN_REDUCTION_MEAN, .rows = ROWS, .vocab = VOCAB);
    a->label_smoothing = 0.1f, a->z_loss = 0.01f, a->softcap = 5, a->inverse_temperature = 2;
    a->top_k = a->given_count = LISTED, a->has_tail = 1;
    a->grad_loss_stride = a->grad_log_prob_stride = a->grad_entropy_stride = a->grad_divergence_stride = strides.upstream;
}

/* Parameters begin alike: the device and the arguments. */
#define SET_COMMON(function, given) \
    parameters_of_##function.device = fields_device.quern, parameters_of_##function.args = &(given)
#define SET_STEP(function, given) SET_COMMON(function, given), parameters_of_##function.stream = fields_device.stream

static void set_loss(const struct call *call) {
    quern_cross_entropy_args *a = &loss_args;
    set_options(a);
    a->logits_stride = strides.logits, a->padded_vocab = PADDED;
    if (column_of(call) == WHOLE || column_of(call) == GRADIENT || column_of(call) == UPSTREAM) a->grad_stride = strides.grad;
    if (column_of(call) == COMBINE) a->top_k = a->given_count = 0;  /* the lists of shards are the matter of another suite */
    if (column_of(call) != WHOLE) a->first_column = FIRST, a->global_vocab = GLOBAL;
    SET_STEP(quern_cross_entropy, loss_args);
    SET_STEP(quern_cross_entropy_stats, loss_args);
    SET_STEP(quern_cross_entropy_combine, loss_args), parameters_of_quern_cross_entropy_combine.shard_count = SHARDS;
    SET_STEP(quern_cross_entropy_gradient, loss_args);
    SET_STEP(quern_cross_entropy_upstream, loss_args);
    SET_COMMON(quern_cross_entropy_workspace, loss_args);
    SET_COMMON(quern_cross_entropy_explain, loss_args), parameters_of_quern_cross_entropy_explain.bytes = FIELDS_ROOM;
}

/* With a negative stride the first row's value is the last in memory. */
static void fill_upstream(const float **values) {
    if (*values && strides.upstream < 0) *values -= (ROWS - 1) * strides.upstream;
    for (int i = 0; i < ROWS && *values; i++)
        fields_floats(*values + i * strides.upstream, 1, strides.is_one_value ? 1.25f : 1 + 0.5f * (float)i);
}

static void fill_labels(quern_cross_entropy_args *a) {
    static const int64_t labels[ROWS] = {3, -100, 7};
    if (a->labels) memcpy(fields_image(a->labels), labels, sizeof labels);
    if (a->class_weights)
        for (int i = 0; i < VOCAB; i++) fields_floats(a->class_weights + i, 1, 0.5f + 0.125f * (float)i);
    for (int i = 0; i < ROWS && a->inverse_temperatures; i++) fields_floats(a->inverse_temperatures + i, 1, 0.5f + (float)i);
    for (int i = 0; i < ROWS * LISTED && a->given_ids; i++)
        memcpy(fields_image(a->given_ids + i), &(int64_t){i * 7 % (VOCAB + 2)}, sizeof(int64_t));
    for (int i = 0; i < ROWS * LISTED && a->target_probs; i++) fields_floats(a->target_probs + i, 1, 0.25f);
    fill_upstream(&a->grad_divergence);
    fill_upstream(&a->grad_loss), fill_upstream(&a->grad_log_prob), fill_upstream(&a->grad_entropy);
}

static void fill_stats(const quern_row_stats *stats, int rows, bool has_label) {
    for (int i = 0; i < rows; i++) {
        const quern_row_stats row = {.origin = 1, .others = 2.5 + i, .weighted = -3, .moment = -1.5, .weights = 9, .argmax = i,
                                     .maximum = 1, .label_value = has_label ? 0.5f : -INFINITY, .label_weight = has_label,
                                     .has_label = has_label};
        memcpy(fields_image(stats + i), &row, sizeof row);
    }
}

static void fill_loss(const struct call *call) {
    quern_cross_entropy_args *a = &loss_args;
    const int64_t stride = stride_or(strides.logits, VOCAB);
    fill_labels(a);
    if (strides.in_place) a->grad = (void *)(uintptr_t)a->logits;
    for (int row = 0; a->logits && row < ROWS; row++)
        for (int i = 0; i < VOCAB; i++)
            fields_floats((const float *)a->logits + row * stride + i, 1, 0.25f * (float)((row * 7 + i * 3) % 11) - 1);
    for (int row = 0; column_of(call) == UPSTREAM && a->grad && row < ROWS; row++)
        for (int i = 0; i < VOCAB; i++)
            fields_floats((const float *)a->grad + row * stride_or(strides.grad, PADDED) + i, 1, 0.25f * (float)(row + i) - 1);
    if (column_of(call) == GRADIENT) fill_stats(a->stats, ROWS, true);
    for (int i = 0; i < ROWS * LISTED && column_of(call) == GRADIENT && a->given_log_probs; i++)
        fields_floats(a->given_log_probs + i, 1, -1.5f);
    if (column_of(call) != COMBINE) return;
    fill_stats(parameters_of_quern_cross_entropy_combine.shards, ROWS, true);
    fill_stats(parameters_of_quern_cross_entropy_combine.shards + ROWS, ROWS, false);
}

static void set_layer(UNUSED const struct call *call) {
    quern_linear_cross_entropy_args *a = &layer_args;
    *a = (quern_linear_cross_entropy_args)LINEAR_CROSS_ENTROPY_ARGS(.hidden_dtype = QUERN_F32, .weight_dtype = QUERN_BF16);
    set_options(&a->loss);
    a->width = WIDTH, a->chunk_rows = strides.chunk, a->bias_dtype = QUERN_F32;
    a->hidden_stride = strides.hidden, a->weight_stride = strides.weight;
    a->d_hidden_stride = strides.d_hidden, a->d_weight_stride = strides.d_weight;
    if (call->parts[1].column == 0) a->gemm = layer_gemm;
    SET_STEP(quern_linear_cross_entropy, layer_args);
    SET_COMMON(quern_linear_cross_entropy_workspace, layer_args);
}

static void fill_layer(UNUSED const struct call *call) {
    static const unsigned char bf16[][2] = {{0x40, 0x3e}, {0x40, 0x3f}, {0x80, 0xbe}};  /* 0.1875, 0.75, -0.25 */
    quern_linear_cross_entropy_args *a = &layer_args;
    const int64_t hidden_stride = stride_or(strides.hidden, WIDTH), weight_stride = stride_or(strides.weight, WIDTH);
    fill_labels(&a->loss);
    for (int i = 0; a->bias && i < VOCAB; i++) fields_floats((const float *)a->bias + i, 1, 0.125f * (float)(i % 4) - 0.25f);
    for (int row = 0; a->hidden && row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++)
            fields_floats((const float *)a->hidden + row * hidden_stride + i, 1, 0.25f * (float)((row * 5 + i * 3) % 7) - 0.5f);
    for (int row = 0; a->weight && row < VOCAB; row++)
        for (int i = 0; i < WIDTH; i++)
            memcpy(fields_image((const char *)a->weight + 2 * (row * weight_stride + i)), bf16[(row * 2 + i * 5) % 3], 2);
}

#define LOSS(title, base, at, ...) static const struct call call_of_##base = {.name = title, .function = #base, \
    .parts = {PARAMETERS(base), PART(quern_cross_entropy_args, loss_args, NULL, "args.", at)}, .set = set_loss, \
    .fill = fill_loss, __VA_ARGS__};
LOSS("the whole call", quern_cross_entropy, WHOLE)
LOSS("stats", quern_cross_entropy_stats, STATS)
LOSS("combine", quern_cross_entropy_combine, COMBINE, .has_no_cpu_kernel = true)
LOSS("gradient", quern_cross_entropy_gradient, GRADIENT)
LOSS("upstream", quern_cross_entropy_upstream, UPSTREAM)
LOSS("workspace", quern_cross_entropy_workspace, SPACE)
LOSS("explain", quern_cross_entropy_explain, EXPLAIN)

/* The details about the loss of the last layer name its fields as those of the loss alone. */
#define LAYER_CALL(title, base, at, loss_at) static const struct call call_of_##base = {.name = title, .function = #base, \
    .parts = {PARAMETERS(base), PART(quern_linear_cross_entropy_args, layer_args, NULL, "args.", at), \
              {.type = "quern_cross_entropy_args", .rules = rules_of_quern_cross_entropy_args, .self = &layer_args.loss, \
               .parent = &layer_args, .prefix = "args.loss.", .other_prefix = "args.", .column = loss_at}}, \
    .set = set_layer, .fill = fill_layer};
LAYER_CALL("the last layer", quern_linear_cross_entropy, 0, LINEAR)
LAYER_CALL("workspace of the last layer", quern_linear_cross_entropy_workspace, 1, LINEAR_SPACE)

/* The gradient in place of the logits, the stats in place of the first shard's, the hidden states' gradient in place of them. */
#define LOSS_IN_PLACE(title, base, at, one, two) {.name = title, .function = #base, .shared = one, .other = two, \
    .parts = {PARAMETERS(base), PART(quern_cross_entropy_args, loss_args, NULL, "args.", at)}, .set = set_loss, .fill = fill_loss}
static const struct call calls_in_place[] = {
    LOSS_IN_PLACE("the whole call in place", quern_cross_entropy, WHOLE, "grad", "logits"),
    LOSS_IN_PLACE("the gradient in place", quern_cross_entropy_gradient, GRADIENT, "grad", "logits"),
    LOSS_IN_PLACE("combine in place", quern_cross_entropy_combine, COMBINE, "shards", "stats"),
    {.name = "the last layer in place", .function = "quern_linear_cross_entropy", .shared = "d_hidden", .other = "hidden",
     .parts = {PARAMETERS(quern_linear_cross_entropy), PART(quern_linear_cross_entropy_args, layer_args, NULL, "args.", 0),
               {.type = "quern_cross_entropy_args", .rules = rules_of_quern_cross_entropy_args, .self = &layer_args.loss,
                .parent = &layer_args, .prefix = "args.loss.", .other_prefix = "args.", .column = LINEAR}},
     .set = set_layer, .fill = fill_layer}};

#define CALL_IN_LIST(function) &call_of_##function,
static const struct call *const loss_calls[] = {CALLS_WITH_quern_cross_entropy_args(CALL_IN_LIST)};
static const struct call *const layer_calls[] = {CALLS_WITH_quern_linear_cross_entropy_args(CALL_IN_LIST)};

#endif
