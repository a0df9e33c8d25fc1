/* Checks of the arguments.  Called by all public functions of cross-entropy and linear cross-entropy. */
#include "cross_entropy/cross_entropy_arguments.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
    memcpy(filled, args, args->size);
    bool in_place = filled->grad && filled->grad == filled->logits;
    if (!filled->logits_stride) filled->logits_stride = filled->vocab;
    if (!filled->padded_vocab) filled->padded_vocab = filled->vocab;
    if (!filled->global_vocab) filled->global_vocab = filled->vocab;
    if (!filled->grad_stride) filled->grad_stride = in_place ? filled->logits_stride : filled->padded_vocab;
    if (!filled->grad_dtype) filled->grad_dtype = filled->logits_dtype;
    return QUERN_OK;
}

static quern_status check_dtypes(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_dtype(device, "args.logits_dtype", args->logits_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.labels_dtype", args->labels_dtype, quern_integers, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.grad_dtype", args->grad_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.reduction", (int)args->reduction, QUERN_REDUCTION_MEAN);
    return status;
}

static quern_status check_stride(const quern_device *device, const char *name, int64_t stride, const quern_cross_entropy_args *args,
                                 quern_dtype dtype) {
    int64_t bytes;
    if (!__builtin_mul_overflow(stride, args->rows, &bytes) &&
        !__builtin_mul_overflow(bytes, (int64_t)quern_dtype_bytes(dtype), &bytes))
        return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%lld rows at %s %lld are more than 2^63 bytes", (long long)args->rows, name,
                      (long long)stride);
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
    if (status == QUERN_OK) status = check_at_least(device, "args.global_vocab", args->global_vocab, "vocab", args->vocab);
    if (status != QUERN_OK || args->first_column <= args->global_vocab - args->vocab) return status;
    return quern_fail(device, QUERN_INVALID_SHAPE, "args.first_column is %lld: expected at most global_vocab - vocab, %lld",
                      (long long)args->first_column, (long long)(args->global_vocab - args->vocab));
}

static quern_status check_shape(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_not_negative(device, "args.rows", args->rows);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.vocab", args->vocab);
    if (status != QUERN_OK) return status;
    if (args->rows && !args->vocab)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.vocab is 0 with %lld rows: expected at least 1",
                          (long long)args->rows);
    if (args->rows > INT64_MAX / 4096)  /* the workspace has stats and losses of all rows */
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.rows is %lld: expected at most 2^51", (long long)args->rows);
    status = check_at_least(device, "args.padded_vocab", args->padded_vocab, "vocab", args->vocab);
    if (status == QUERN_OK) status = check_at_least(device, "args.logits_stride", args->logits_stride, "vocab", args->vocab);
    if (status == QUERN_OK) status = check_stride(device, "args.logits_stride", args->logits_stride, args, args->logits_dtype);
    if (status == QUERN_OK && args->grad) {
        const char *least = args->padded_vocab > args->vocab ? "padded_vocab" : "vocab";
        status = check_at_least(device, "args.grad_stride", args->grad_stride, least, args->padded_vocab);
        if (status == QUERN_OK) status = check_stride(device, "args.grad_stride", args->grad_stride, args, args->grad_dtype);
    }
    return status == QUERN_OK ? check_shard(device, args) : status;
}

/* The gradient either occupies exactly the memory of the logits or does not overlap it. */
static quern_status check_places(const quern_device *device, const quern_cross_entropy_args *args) {
    if (!args->grad || !args->rows) return QUERN_OK;
    bool in_place = args->grad == args->logits;
    if (in_place && args->grad_dtype != args->logits_dtype)
        return quern_fail(device, QUERN_INVALID_DTYPE, "args.grad_dtype is %s in place of %s logits: expected the same dtype",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (args->grad_dtype != args->logits_dtype)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.grad_dtype is %s with %s logits: only the logits' dtype is supported",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (in_place && args->grad_stride != args->logits_stride)
        return quern_fail(device, QUERN_INVALID_SHAPE,
                          "args.grad_stride is %lld in place of logits with stride %lld: expected the same",
                          (long long)args->grad_stride, (long long)args->logits_stride);
    if (in_place) return QUERN_OK;
    int64_t bytes = (int64_t)quern_dtype_bytes(args->logits_dtype);
    uintptr_t logits = (uintptr_t)args->logits, grad = (uintptr_t)args->grad;
    uintptr_t logits_end = logits + (uintptr_t)(((args->rows - 1) * args->logits_stride + args->vocab) * bytes);
    uintptr_t grad_end = grad + (uintptr_t)(((args->rows - 1) * args->grad_stride + args->padded_vocab) * bytes);
    if (grad < logits_end && logits < grad_end)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad overlaps args.logits without being equal to it");
    return QUERN_OK;
}

/* Refuses NaN, too. */
static quern_status check_range(const quern_device *device, const char *name, float value, float last, const char *expected) {
    if (value >= 0 && value <= last) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %g: expected %s", name, (double)value, expected);
}

static quern_status check_values(const quern_device *device, const quern_cross_entropy_args *args) {
    if (isnan(args->grad_scale)) return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad_scale is NaN");
    quern_status status = check_range(device, "args.label_smoothing", args->label_smoothing, 1, "0 to 1");
    if (status == QUERN_OK) status = check_range(device, "args.z_loss", args->z_loss, FLT_MAX, "a finite number, 0 or more");
    if (status == QUERN_OK) status = check_range(device, "args.softcap", args->softcap, FLT_MAX, "a finite number, 0 or more");
    if (status == QUERN_OK) status = quern_check_choice(device, "args.strict_labels", args->strict_labels, 1);
    return status;
}

quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args) {
    quern_status status = fill_defaults(device, given, args);
    if (status == QUERN_OK) status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_shape(device, args);
    if (status == QUERN_OK) status = check_places(device, args);
    if (status == QUERN_OK) status = check_values(device, args);
    return status;
}

bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args) {
    return args->label_smoothing != 0 || args->softcap != 0 || args->class_weights || args->entropy || args->argmax;
}

/* ---- the arguments of each step ---- */

enum { WHOLE = 1 << QUERN_STEP_WHOLE, STATS = 1 << QUERN_STEP_STATS, COMBINE = 1 << QUERN_STEP_COMBINE,
       GRADIENT = 1 << QUERN_STEP_GRADIENT };

static quern_status check_pointers(const struct quern_cross_entropy_call *call) {
    const quern_cross_entropy_args *args = &call->args;
    const size_t element = quern_dtype_bytes(args->logits_dtype);
    const struct {
        const char *name;
        const void *pointer;
        size_t alignment;
        unsigned needed, used;  /* by these steps */
    } pointers[] = {
        {"args.logits", args->logits, element, WHOLE | STATS | GRADIENT, WHOLE | STATS | GRADIENT},
        {"args.labels", args->labels, quern_dtype_bytes(args->labels_dtype), WHOLE | STATS | COMBINE | GRADIENT, 0},
        {"args.grad", args->grad, element, GRADIENT, WHOLE | GRADIENT},
        {"args.stats", args->stats, sizeof(double), STATS | GRADIENT, WHOLE | STATS | COMBINE | GRADIENT},
        {"shards", call->shards, sizeof(double), COMBINE, COMBINE},
        {"args.loss", args->loss, sizeof(float), 0, WHOLE | COMBINE},
        {"args.grad_loss", args->grad_loss, sizeof(float), 0, WHOLE | GRADIENT},
        {"args.class_weights", args->class_weights, sizeof(float), 0, WHOLE | STATS | GRADIENT},
        {"args.lse", args->lse, sizeof(float), 0, WHOLE | COMBINE},
        {"args.log_prob", args->log_prob, sizeof(float), 0, WHOLE | COMBINE},
        {"args.entropy", args->entropy, sizeof(float), 0, WHOLE | COMBINE},
        {"args.argmax", args->argmax, sizeof(int64_t), 0, WHOLE | COMBINE},
        {"args.report", args->report, sizeof(int64_t), 0, WHOLE | COMBINE},
    };
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        const unsigned step = 1u << call->step;
        const bool needed = args->rows && (pointers[i].needed & step);
        if (!needed && !(pointers[i].pointer && ((pointers[i].needed | pointers[i].used) & step))) continue;
        quern_status status = quern_check_pointer(call->device, pointers[i].name, pointers[i].pointer, pointers[i].alignment);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

static quern_status check_whole(const struct quern_cross_entropy_call *call) {
    if (call->args.global_vocab == call->args.vocab) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_SHAPE,
                      "args.global_vocab is %lld with a vocab of %lld: expected all columns, or one step for the shard at a time",
                      (long long)call->args.global_vocab, (long long)call->args.vocab);
}

/* The result may overwrite the stats of a shard, since each row is read before it is written. */
static quern_status check_shards(const struct quern_cross_entropy_call *call) {
    const quern_cross_entropy_args *args = &call->args;
    int64_t bytes;
    if (call->shard_count < 1)
        return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "shard_count is %lld: expected at least 1",
                          (long long)call->shard_count);
    if (__builtin_mul_overflow(args->rows, call->shard_count, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)sizeof(quern_row_stats), &bytes))
        return quern_fail(call->device, QUERN_INVALID_SHAPE, "%lld rows in %lld shards are more than 2^63 bytes",
                          (long long)args->rows, (long long)call->shard_count);
    const uintptr_t shards = (uintptr_t)call->shards, stats = (uintptr_t)args->stats;
    const uintptr_t own = (uintptr_t)args->rows * sizeof(quern_row_stats);
    if (!stats || stats == shards || stats + own <= shards || shards + (uintptr_t)bytes <= stats) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.stats overlaps shards without being equal to it");
}

quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call) {
    quern_status status = check_pointers(call);
    if (status == QUERN_OK && call->step == QUERN_STEP_WHOLE) status = check_whole(call);
    if (status == QUERN_OK && call->step == QUERN_STEP_COMBINE) status = check_shards(call);
    return status;
}
