/* Checks of the arguments.  Called by all public functions of cross-entropy and linear cross-entropy. */
#include "cross_entropy/cross_entropy.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/problem.h"
#include "os/sizes.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

/* The first header's struct ended before strict_labels. */
enum { OLDEST_ARGS = offsetof(quern_cross_entropy_args, strict_labels) };

static quern_status fill_defaults(const quern_device *device, const quern_cross_entropy_args *args,
                                  quern_cross_entropy_args *filled) {
    quern_status status = quern_check_grown_struct(device, "args", args, OLDEST_ARGS, sizeof *args);
    if (status != QUERN_OK) return status;
    *filled = (quern_cross_entropy_args){0};
    memcpy(filled, args, quern_struct_bytes(args->size));
    bool in_place = filled->grad && filled->grad == filled->logits;
    if (!filled->logits_stride) filled->logits_stride = filled->vocab;
    if (!filled->padded_vocab) filled->padded_vocab = filled->vocab;
    if (!filled->global_vocab) filled->global_vocab = filled->vocab;
    if (!filled->grad_stride) filled->grad_stride = in_place ? filled->logits_stride : filled->padded_vocab;
    if (!filled->grad_dtype) filled->grad_dtype = filled->logits_dtype;
    if (filled->inverse_temperature == 0) filled->inverse_temperature = 1;
    if (!filled->soft_targets_stride) filled->soft_targets_stride = filled->vocab;
    return QUERN_OK;
}

static quern_status check_dtypes(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_dtype(device, "args.logits_dtype", args->logits_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.labels_dtype", args->labels_dtype, quern_integers, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.grad_dtype", args->grad_dtype, quern_floats, false);
    if (status == QUERN_OK)
        status = quern_check_dtype(device, "args.soft_targets_dtype", args->soft_targets_dtype, quern_floats, true);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.reduction", (int)args->reduction, QUERN_REDUCTION_MEAN);
    return status;
}

static quern_status check_at_least(const quern_device *device, const char *name, int64_t value, const char *bound_name,
                                   int64_t bound) {
    if (value >= bound) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected at least %s, %lld", name, (long long)value, bound_name,
                      (long long)bound);
}

/* The position of the shard's columns among all columns. */
static quern_status check_shard(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_not_negative(device, "args.first_column", args->first_column);
    if (status == QUERN_OK) status = quern_check_count(device, "args.global_vocab", args->global_vocab, QUERN_MOST_BYTES);
    if (status == QUERN_OK) status = check_at_least(device, "args.global_vocab", args->global_vocab, "vocab", args->vocab);
    if (status != QUERN_OK || args->first_column <= args->global_vocab - args->vocab) return status;
    return quern_fail(device, QUERN_INVALID_SHAPE, "args.first_column is %lld: expected at most global_vocab - vocab, %lld",
                      (long long)args->first_column, (long long)(args->global_vocab - args->vocab));
}

/* A stride that is as long as its row is that of the default, so the row is too long. */
static quern_status check_matrix(const quern_device *device, const quern_cross_entropy_args *args, const char *row_name,
                                 int64_t row, const char *name, int64_t stride, quern_dtype dtype) {
    quern_status status = check_at_least(device, name, stride, row_name + sizeof "args." - 1, row);
    if (status != QUERN_OK) return status;
    return quern_check_rows(device, "args.rows", args->rows, stride == row ? row_name : name, stride, dtype);
}

/* In place the columns of the padding are in the rows of the logits, whose stride the caller may have forgotten. */
static quern_status check_padding_in_place(const quern_device *device, const quern_cross_entropy_args *args) {
    if (args->grad != args->logits || args->logits_stride >= args->padded_vocab) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "args.logits_stride is %lld%s: expected at least padded_vocab, %lld, since grad "
                      "is in place of the logits", (long long)args->logits_stride,
                      args->logits_stride == args->vocab ? " (0 means vocab)" : "", (long long)args->padded_vocab);
}

static quern_status check_grad_shape(const quern_device *device, const quern_cross_entropy_args *args) {
    const char *row = args->padded_vocab > args->vocab ? "args.padded_vocab" : "args.vocab";
    if (!args->grad) return QUERN_OK;
    quern_status status = check_padding_in_place(device, args);
    if (status != QUERN_OK) return status;
    return check_matrix(device, args, row, args->padded_vocab, "args.grad_stride", args->grad_stride, args->grad_dtype);
}

/* The upstream gradient of an output: a value for each row, or one for all. */
struct upstream {
    const char *name, *stride_name;
    const float *values;
    int64_t stride;
};

enum { OF_LOSS, OF_LOG_PROB, OF_ENTROPY, OF_DIVERGENCE, UPSTREAMS };

static struct upstream upstream_of(const quern_cross_entropy_args *args, int output) {
    const struct upstream all[UPSTREAMS] = {
        [OF_LOSS] = {"args.grad_loss", "args.grad_loss_stride", args->grad_loss, args->grad_loss_stride},
        [OF_LOG_PROB] = {"args.grad_log_prob", "args.grad_log_prob_stride", args->grad_log_prob, args->grad_log_prob_stride},
        [OF_ENTROPY] = {"args.grad_entropy", "args.grad_entropy_stride", args->grad_entropy, args->grad_entropy_stride},
        [OF_DIVERGENCE] = {"args.grad_divergence", "args.grad_divergence_stride", args->grad_divergence,
                           args->grad_divergence_stride},
    };
    return all[output];
}

/* A step backwards may be as long as one forwards. */
static quern_status check_upstream(const quern_device *device, int64_t rows, struct upstream upstream) {
    const int64_t most = QUERN_MOST_BYTES / (int64_t)sizeof(float) / (rows ? rows : 1);
    if (!upstream.values || (upstream.stride >= -most && upstream.stride <= most)) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld with args.rows %lld: expected %lld to %lld, since no buffer has "
                      "more than 2^47 bytes", upstream.stride_name, (long long)upstream.stride, (long long)rows, (long long)-most,
                      (long long)most);
}

static quern_status check_shape(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_count(device, "args.rows", args->rows, QUERN_MOST_ROWS);
    if (status == QUERN_OK) status = quern_check_count(device, "args.vocab", args->vocab, QUERN_MOST_ROWS);
    if (status != QUERN_OK) return status;
    if (args->rows && !args->vocab)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.vocab is 0 with %lld rows: expected at least 1",
                          (long long)args->rows);
    status = check_at_least(device, "args.padded_vocab", args->padded_vocab, "vocab", args->vocab);
    if (status == QUERN_OK) status = quern_check_count(device, "args.padded_vocab", args->padded_vocab, QUERN_MOST_ROWS);
    if (status == QUERN_OK)
        status = check_matrix(device, args, "args.vocab", args->vocab, "args.logits_stride", args->logits_stride,
                              args->logits_dtype);
    if (status == QUERN_OK && args->soft_targets_dtype)
        status = check_matrix(device, args, "args.vocab", args->vocab, "args.soft_targets_stride", args->soft_targets_stride,
                              args->soft_targets_dtype);
    if (status == QUERN_OK) status = check_grad_shape(device, args);
    for (int output = 0; output < UPSTREAMS && status == QUERN_OK; output++)
        status = check_upstream(device, args->rows, upstream_of(args, output));
    return status == QUERN_OK ? check_shard(device, args) : status;
}

/* A gradient in place occupies exactly the memory of the logits. */
static quern_status check_places(const quern_device *device, const quern_cross_entropy_args *args) {
    if (!args->grad || !args->rows) return QUERN_OK;
    bool in_place = args->grad == args->logits;
    if (in_place && args->grad_dtype != args->logits_dtype)
        return quern_fail(device, QUERN_INVALID_DTYPE, "args.grad_dtype is %s in place of %s logits: expected the same dtype",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (args->grad_dtype != args->logits_dtype && args->grad_dtype != QUERN_F32)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.grad_dtype is %s with %s logits: expected the logits' dtype or f32",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (in_place && args->grad_stride != args->logits_stride)
        return quern_fail(device, QUERN_INVALID_SHAPE,
                          "args.grad_stride is %lld in place of logits with stride %lld: expected the same",
                          (long long)args->grad_stride, (long long)args->logits_stride);
    return QUERN_OK;
}

/* Refuses NaN, too. */
static quern_status check_range(const quern_device *device, const char *name, float value, float last, const char *expected) {
    if (value >= 0 && value <= last) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %g: expected %s", name, (double)value, expected);
}

static quern_status check_values(const quern_device *device, const quern_cross_entropy_args *args) {
    if (!isfinite(args->grad_scale))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad_scale is %g: expected a finite number",
                          (double)args->grad_scale);
    quern_status status = check_range(device, "args.label_smoothing", args->label_smoothing, 1, "0 to 1");
    if (status == QUERN_OK) status = check_range(device, "args.z_loss", args->z_loss, FLT_MAX, "a finite number, 0 or more");
    if (status == QUERN_OK) status = check_range(device, "args.softcap", args->softcap, FLT_MAX, "a finite number, 0 or more");
    if (status == QUERN_OK)
        status = check_range(device, "args.inverse_temperature", args->inverse_temperature, FLT_MAX, "a finite number, 0 or more");
    if (status == QUERN_OK) status = quern_check_choice(device, "args.strict_labels", args->strict_labels, 1);
    return status;
}

static bool has_divergence(const quern_cross_entropy_args *args) { return args->divergence || args->grad_divergence; }

/* What has no portable bits. */
static const char *without_portable_bits(const quern_cross_entropy_args *args) {
    if (args->softcap != 0) return "with a softcap";
    if (args->label_smoothing != 0) return "with label_smoothing";
    if (has_divergence(args)) return args->divergence ? "with divergence" : "with grad_divergence";
    if (args->grad && args->grad_dtype != args->logits_dtype) return "with an f32 gradient of 16-bit logits";
    return args->grad_entropy ? "with grad_entropy" : NULL;
}

static quern_status check_bits(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_choice(device, "args.bits", (int)args->bits, QUERN_BITS_PORTABLE);
    const char *without = args->bits == QUERN_BITS_PORTABLE ? without_portable_bits(args) : NULL;
    if (status != QUERN_OK || !without) return status;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "args.bits is %d %s: expected %d, QUERN_BITS_DEFAULT", (int)args->bits, without,
                      QUERN_BITS_DEFAULT);
}

bool quern_cross_entropy_has_nodes(const quern_cross_entropy_args *args) {
    return args->bits == QUERN_BITS_PORTABLE && args->vocab != args->global_vocab;
}

size_t quern_cross_entropy_node_bytes(const quern_cross_entropy_args *args) {
    return quern_cross_entropy_has_nodes(args) ? sizeof(quern_row_nodes) * (args->entropy ? 2 : 1) : 0;
}

static quern_status check_nodes(const quern_device *device, const quern_cross_entropy_args *args) {
    const int64_t most = (int64_t)QUERN_UNIT_COLUMNS << QUERN_NODE_LEVELS;
    if (!quern_cross_entropy_has_nodes(args) || args->global_vocab <= most) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "args.global_vocab is %lld for a shard with portable bits: expected at most "
                      "%lld", (long long)args->global_vocab, (long long)most);
}

static quern_status check_columns(const quern_device *device, const quern_cross_entropy_args *args) {
    const int64_t most = QUERN_MOST_BYTES / (int64_t)sizeof(int64_t) / (args->rows ? args->rows : 1);
    quern_status status = quern_check_count(device, "args.top_k", args->top_k, QUERN_MOST_TOP);
    if (status == QUERN_OK) status = quern_check_count(device, "args.given_count", args->given_count, most);
    if (status == QUERN_OK)
        status = quern_check_choice(device, "args.divergence_kind", (int)args->divergence_kind, QUERN_JENSEN_SHANNON);
    return status == QUERN_OK ? quern_check_choice(device, "args.has_tail", args->has_tail, 1) : status;
}

/* What soft targets of all columns do not combine with. */
static quern_status check_soft_targets(const quern_device *device, const quern_cross_entropy_args *args) {
    if (!args->soft_targets_dtype) return QUERN_OK;
    const char *dtype = quern_dtype_name(args->soft_targets_dtype);
    if (args->has_tail)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.soft_targets_dtype is %s with args.has_tail 1: expected 0, since "
                          "no column is left", dtype);
    if (args->target_probs)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.soft_targets_dtype is %s and args.target_probs is set: expected "
                          "NULL", dtype);
    if (args->vocab == args->global_vocab || !has_divergence(args)) return QUERN_OK;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "args.soft_targets_dtype is %s with a shard of the vocab: expected all columns, "
                      "or a list in given_ids and target_probs", dtype);
}

quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args) {
    quern_status status = fill_defaults(device, given, args);
    if (status == QUERN_OK) status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_shape(device, args);
    if (status == QUERN_OK) status = check_places(device, args);
    if (status == QUERN_OK) status = check_values(device, args);
    if (status == QUERN_OK) status = check_bits(device, args);
    if (status == QUERN_OK) status = check_nodes(device, args);
    if (status == QUERN_OK) status = check_columns(device, args);
    if (status == QUERN_OK) status = check_soft_targets(device, args);
    return status;
}

bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args) {
    return args->label_smoothing != 0 || args->softcap != 0 || args->class_weights || args->entropy || args->argmax ||
           args->inverse_temperature != 1 || args->inverse_temperatures || args->grad_log_prob || args->grad_entropy ||
           args->grad_divergence || (args->grad && args->grad_dtype != args->logits_dtype);
}

/* ---- the arguments of each step ---- */

enum { WHOLE = 1 << QUERN_STEP_WHOLE, STATS = 1 << QUERN_STEP_STATS, COMBINE = 1 << QUERN_STEP_COMBINE,
       GRADIENT = 1 << QUERN_STEP_GRADIENT, UPSTREAM = 1 << QUERN_STEP_UPSTREAM };

/* The strides of matrices that are NULL have not been checked. */
static int64_t matrix_bytes(const quern_cross_entropy_args *args, const void *matrix, int64_t columns, int64_t stride,
                            quern_dtype dtype) {
    if (!matrix || !args->rows) return 0;
    return ((args->rows - 1) * stride + columns) * (int64_t)quern_dtype_bytes(dtype);
}

/* A buffer, and the steps that need it, use it and write it. */
struct buffer {
    const char *name;
    const void *pointer;
    int64_t bytes;
    size_t alignment;
    unsigned needed, used, written;
};

enum { LOGITS, LABELS, GRAD, STATS_OF_ROWS, SHARDS, BUFFERS = 28 };  /* the places of those that are named below */

struct buffers {
    struct buffer list[BUFFERS];
};

/* From the first row's value to the last one's, in either direction. */
static struct buffer upstream_buffer(const quern_cross_entropy_args *args, int output, unsigned needed) {
    const struct upstream upstream = upstream_of(args, output);
    struct buffer buffer = {upstream.name, upstream.values, 0, sizeof(float), needed, WHOLE | GRADIENT, 0};
    if (!upstream.values || !args->rows) return buffer;
    const int64_t steps = (args->rows - 1) * upstream.stride;
    buffer.bytes = ((steps < 0 ? -steps : steps) + 1) * (int64_t)sizeof(float);
    if (steps < 0) buffer.pointer = upstream.values + steps;
    return buffer;
}

static struct buffers list_buffers(const struct quern_cross_entropy_call *call) {
    const quern_cross_entropy_args *args = &call->args;
    const bool is_soft = args->soft_targets_dtype;
    const size_t element = quern_dtype_bytes(args->logits_dtype), label = quern_dtype_bytes(args->labels_dtype);
    const size_t grad = quern_dtype_bytes(args->grad_dtype), target = is_soft ? quern_dtype_bytes(args->soft_targets_dtype) : 1;
    const int64_t rows = args->rows, row_floats = rows * (int64_t)sizeof(float), stats = (int64_t)sizeof(quern_row_stats);
    const int64_t losses = args->reduction == QUERN_REDUCTION_NONE ? row_floats : (int64_t)sizeof(float);
    const unsigned nodes = quern_cross_entropy_has_nodes(args) ? STATS | COMBINE : 0;
    const int64_t shard_rows = call->step == QUERN_STEP_COMBINE ? rows * call->shard_count : rows;
    const int64_t top = rows * args->top_k, given = rows * args->given_count;
    const int64_t shard_top = shard_rows * args->top_k, shard_given = shard_rows * args->given_count;
    const bool has_given = args->given_count > 0;
    const unsigned finds = is_soft ? WHOLE : WHOLE | COMBINE;
    const bool has_slopes = args->grad_divergence && args->grad;
    const unsigned diverges = has_given && has_divergence(args) && !is_soft ? WHOLE | COMBINE : 0;
    const unsigned later = has_given && args->grad_divergence && !is_soft ? GRADIENT : 0;
    const unsigned soft = is_soft ? (args->divergence || has_slopes ? WHOLE : 0) | (args->grad_divergence ? GRADIENT : 0) : 0;
    const unsigned listed = WHOLE | STATS | COMBINE, of_top = args->top_k ? listed : 0, of_given = has_given ? listed : 0;
    const int64_t floats = (int64_t)sizeof(float), integers = (int64_t)sizeof(int64_t);
    return (struct buffers){{
        {"args.logits", args->logits, matrix_bytes(args, args->logits, args->vocab, args->logits_stride, args->logits_dtype),
         element, WHOLE | STATS | GRADIENT, 0, 0},
        {"args.labels", args->labels, rows * (int64_t)label, label, WHOLE | STATS | COMBINE | GRADIENT, 0, 0},
        {"args.grad", args->grad, matrix_bytes(args, args->grad, args->padded_vocab, args->grad_stride, args->grad_dtype), grad,
         GRADIENT | UPSTREAM, WHOLE, WHOLE | GRADIENT | UPSTREAM},
        {"args.stats", args->stats, rows * stats, sizeof(double), STATS | GRADIENT, WHOLE | COMBINE, WHOLE | STATS | COMBINE},
        {"shards", call->shards, rows * call->shard_count * stats, sizeof(double), COMBINE, 0, 0},
        {"args.loss", args->loss, losses, sizeof(float), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        upstream_buffer(args, OF_LOSS, UPSTREAM),
        upstream_buffer(args, OF_LOG_PROB, 0),
        upstream_buffer(args, OF_ENTROPY, 0),
        {"args.inverse_temperatures", args->inverse_temperatures, row_floats, sizeof(float), 0,
         WHOLE | STATS | GRADIENT | ((of_top | of_given) & COMBINE), 0},
        {"args.class_weights", args->class_weights, args->vocab * (int64_t)sizeof(float), sizeof(float), 0,
         WHOLE | STATS | GRADIENT, 0},
        {"args.lse", args->lse, row_floats, sizeof(float), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        {"args.log_prob", args->log_prob, row_floats, sizeof(float), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        {"args.entropy", args->entropy, row_floats, sizeof(float), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        {"args.argmax", args->argmax, rows * (int64_t)sizeof(int64_t), sizeof(int64_t), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        {"args.nodes", args->nodes, shard_rows * (int64_t)quern_cross_entropy_node_bytes(args), sizeof(float), nodes, 0, STATS},
        {"args.report", args->report, (int64_t)sizeof *args->report, sizeof(int64_t), 0, WHOLE | COMBINE, WHOLE | COMBINE},
        {"args.top_ids", args->top_ids, top * integers, sizeof(int64_t), of_top, 0, of_top},
        {"args.top_log_probs", args->top_log_probs, top * floats, sizeof(float), of_top, 0, of_top},
        {"args.given_ids", args->given_ids, given * integers, sizeof(int64_t), of_given | later, 0, 0},
        {"args.given_log_probs", args->given_log_probs, given * floats, sizeof(float), of_given | later, 0, of_given},
        {"args.target_probs", args->target_probs, given * floats, sizeof(float), diverges | later, 0, 0},
        {"args.soft_targets", args->soft_targets,
         matrix_bytes(args, args->soft_targets, args->vocab, args->soft_targets_stride, args->soft_targets_dtype), target, soft, 0,
         0},
        {"args.divergence", args->divergence, row_floats, sizeof(float), 0, finds, finds},
        upstream_buffer(args, OF_DIVERGENCE, 0),
        {"args.shard_top_ids", args->shard_top_ids, shard_top * integers, sizeof(int64_t), of_top & COMBINE, 0, 0},
        {"args.shard_top_logits", args->shard_top_logits, shard_top * floats, sizeof(float), of_top & COMBINE, 0, 0},
        {"args.shard_given_logits", args->shard_given_logits, shard_given * floats, sizeof(float), of_given & COMBINE, 0, 0},
    }};
}

/*
 * Visits the buffers that the step uses: checks their pointers and lists their ranges.  The gradient may replace the logits, and
 * the stats of whole rows those of the first shard, since each row is read before it is written.  Such a pair is listed once, as
 * written.
 */
static quern_status visit_buffers(const struct quern_cross_entropy_call *call, bool check,
                                  struct quern_cross_entropy_ranges *ranges) {
    const struct buffers all = list_buffers(call);
    const struct buffer *buffers = all.list;
    const unsigned step = 1u << call->step;
    const bool in_place = step & (WHOLE | GRADIENT) && buffers[GRAD].pointer == buffers[LOGITS].pointer;
    const bool replaces_shards = step & COMBINE && buffers[STATS_OF_ROWS].pointer == buffers[SHARDS].pointer;
    ranges->count = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        const struct buffer *buffer = &buffers[i];
        const bool written = buffer->written & step || (i == SHARDS && replaces_shards);
        if (!((buffer->needed | buffer->used) & step)) continue;
        if (!buffer->pointer && !(call->args.rows && buffer->needed & step)) continue;
        if (check && (!buffer->pointer || (uintptr_t)buffer->pointer & (buffer->alignment - 1)))
            return quern_check_pointer(call->device, buffer->name, buffer->pointer, buffer->alignment);
        if ((i == LOGITS && in_place) || (i == STATS_OF_ROWS && replaces_shards)) continue;
        ranges->list[ranges->count++] = quern_range_of(buffer->name, buffer->pointer, buffer->bytes,
                                                       written ? QUERN_WRITTEN : QUERN_READ);
    }
    return QUERN_OK;
}

static quern_status check_whole(const struct quern_cross_entropy_call *call) {
    if (call->args.global_vocab == call->args.vocab) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_SHAPE,
                      "args.global_vocab is %lld with a vocab of %lld: expected all columns, or one step for the shard at a time",
                      (long long)call->args.global_vocab, (long long)call->args.vocab);
}

int64_t quern_cross_entropy_most_shards(const quern_cross_entropy_args *args, const char **largest) {
    const struct {
        const char *name;
        int64_t bytes;  /* of a row */
    } gathered[] = {
        {"shards", sizeof(quern_row_stats)},
        {"args.nodes", (int64_t)quern_cross_entropy_node_bytes(args)},
        {"args.shard_top_ids", args->top_k * (int64_t)sizeof(int64_t)},
        {"args.shard_given_logits", args->given_count * (int64_t)sizeof(float)},
    };
    size_t last = 0;
    for (size_t i = 1; i < sizeof gathered / sizeof *gathered; i++)
        if (gathered[i].bytes > gathered[last].bytes) last = i;
    *largest = gathered[last].name;
    return QUERN_MOST_BYTES / gathered[last].bytes / (args->rows ? args->rows : 1);
}

static quern_status check_shards(const struct quern_cross_entropy_call *call) {
    const bool has_nodes = quern_cross_entropy_has_nodes(&call->args), is_portable = call->args.bits == QUERN_BITS_PORTABLE;
    const char *largest;
    const int64_t most = quern_cross_entropy_most_shards(&call->args, &largest);
    if (call->shard_count < 1)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "shard_count is %lld: expected at least 1",
                          (long long)call->shard_count);
    if (is_portable && !has_nodes && call->shard_count != 1)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "shard_count is %lld with portable bits and global_vocab == vocab: "
                          "expected 1", (long long)call->shard_count);
    if (call->shard_count <= most) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_SHAPE, "shard_count is %lld with args.rows %lld: expected at most %lld, since "
                      "%s has no more than 2^47 bytes", (long long)call->shard_count, (long long)call->args.rows,
                      (long long)most, largest);
}

quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call,
                                            struct quern_cross_entropy_ranges *ranges) {
    quern_status status = QUERN_OK;
    if (call->step == QUERN_STEP_WHOLE && !call->shard_count) status = check_whole(call);
    if (call->step == QUERN_STEP_COMBINE) status = check_shards(call);
    return status == QUERN_OK ? visit_buffers(call, true, ranges) : status;
}

void quern_cross_entropy_list_ranges(const struct quern_cross_entropy_call *call, struct quern_cross_entropy_ranges *ranges) {
    visit_buffers(call, false, ranges);
}
