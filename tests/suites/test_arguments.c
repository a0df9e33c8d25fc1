/*
 * Mistakes in a caller's arguments: each has its status and a detail that names the field, and the call writes nothing.
 *
 * Runs on: cpu, every emulated, gpu.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/adam_case.h"
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "harness/random.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void open_all(struct test_device *device) {
    device_open(device, 0, NULL);
    check_ok(quern_prepare(device->quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
}

/* The call failed as expected and its detail names the bad field. */
static void check_refused(quern_status status, quern_status expected, const char *culprit) {
    check(status == expected, "%s: %s instead of %s: %s", culprit, quern_status_string(status),
          quern_status_string(expected), error_detail());
    check(strstr(error_detail(), culprit), "\"%s\" does not name %s", error_detail(), culprit);
    const char *blame = expected < 2000 ? "the caller's argument" : "not supported here";
    check(!strcmp(quern_status_blame(expected), blame), "%s is the matter of %s", culprit,
          quern_status_blame(expected));
}

/* ---- cross-entropy ---- */

enum { ROWS = 4, VOCAB = 50 };

enum { SHARDS = 3 };

struct cross_entropy_call {
    struct test_device *device;
    struct buffer logits, labels, grad, loss, upstream, report, weights, lse, log_prob, entropy, argmax, stats, shards, workspace;
    quern_cross_entropy_args args;
    int64_t shard_count;
    const quern_row_stats *shard_stats;
    void *workspace_pointer;
    size_t workspace_bytes;
    void *stream;
};

static void make_cross_entropy_call(struct test_device *device, struct cross_entropy_call *call) {
    *call = (struct cross_entropy_call){.device = device, .args = QUERN_CROSS_ENTROPY_ARGS_INIT};
    static int64_t labels[ROWS] = {0, 1, 2, 3};
    static float logits[ROWS * VOCAB], weights[VOCAB], upstream[ROWS] = {1, 1, 1, 1};
    buffer_open(&call->logits, device, sizeof logits, 0, logits);
    buffer_open(&call->labels, device, sizeof labels, 0, labels);
    buffer_open(&call->grad, device, sizeof logits, 0, NULL);
    buffer_open(&call->loss, device, ROWS * sizeof(float), 0, NULL);
    buffer_open(&call->upstream, device, sizeof upstream, 0, upstream);
    buffer_open(&call->report, device, sizeof(quern_cross_entropy_report), 0, NULL);
    buffer_open(&call->weights, device, sizeof weights, 0, weights);
    buffer_open(&call->lse, device, ROWS * sizeof(float), 0, NULL);
    buffer_open(&call->log_prob, device, ROWS * sizeof(float), 0, NULL);
    buffer_open(&call->entropy, device, ROWS * sizeof(float), 0, NULL);
    buffer_open(&call->argmax, device, ROWS * sizeof(int64_t), 0, NULL);
    buffer_open(&call->stats, device, ROWS * sizeof(quern_row_stats), 0, NULL);
    buffer_open(&call->shards, device, SHARDS * ROWS * sizeof(quern_row_stats), 0, NULL);
    quern_cross_entropy_args *a = &call->args;
    a->logits_dtype = QUERN_F32, a->labels_dtype = QUERN_INT64, a->reduction = QUERN_REDUCTION_MEAN;
    a->rows = ROWS, a->vocab = VOCAB;
    a->logits = call->logits.data, a->labels = call->labels.data, a->grad = call->grad.data, a->loss = call->loss.data;
    a->grad_loss = call->upstream.data, a->report = call->report.data;
    a->lse = call->lse.data, a->log_prob = call->log_prob.data, a->entropy = call->entropy.data, a->argmax = call->argmax.data;
    a->stats = call->stats.data, a->class_weights = call->weights.data;
    a->label_smoothing = 0.1f, a->z_loss = 1e-4f, a->softcap = 30;
    call->shard_stats = call->shards.data, call->shard_count = SHARDS;
    check_ok(quern_cross_entropy_workspace(device->quern, a, &call->workspace_bytes));
    buffer_open(&call->workspace, device, call->workspace_bytes, 0, NULL);
    call->workspace_pointer = call->workspace.data;
    call->stream = device->stream;
}

static quern_status run_cross_entropy(struct cross_entropy_call *call) {
    return quern_cross_entropy(call->device->quern, &call->args, call->workspace_pointer, call->workspace_bytes,
                               call->stream);
}

static quern_status run_stats(struct cross_entropy_call *call) {
    return quern_cross_entropy_stats(call->device->quern, &call->args, call->workspace_pointer, call->workspace_bytes,
                                     call->stream);
}

static quern_status run_combine(struct cross_entropy_call *call) {
    return quern_cross_entropy_combine(call->device->quern, &call->args, call->shard_stats, call->shard_count,
                                       call->workspace_pointer, call->workspace_bytes, call->stream);
}

static quern_status run_gradient(struct cross_entropy_call *call) {
    return quern_cross_entropy_gradient(call->device->quern, &call->args, call->workspace_pointer, call->workspace_bytes,
                                        call->stream);
}

static void check_nothing_written(struct cross_entropy_call *call) {
    struct buffer *all[] = {&call->grad, &call->loss, &call->report, &call->lse, &call->log_prob, &call->entropy, &call->argmax,
                            &call->stats, &call->shards, &call->workspace};
    for (size_t i = 0; i < COUNT(all); i++)
        check(holds_pattern(buffer_read(all[i]), all[i]->bytes), "a failed call wrote: buffer %d", (int)i);
}

static void free_cross_entropy_call(struct cross_entropy_call *call) {
    struct buffer *all[] = {&call->logits, &call->labels, &call->grad, &call->loss, &call->upstream, &call->report, &call->weights,
                            &call->lse, &call->log_prob, &call->entropy, &call->argmax, &call->stats, &call->shards,
                            &call->workspace};
    for (size_t i = 0; i < COUNT(all); i++) buffer_close(all[i]);
}

/* One mistake in an otherwise valid call of one of the functions. */
#define STEP_MISTAKE(run, change, status, culprit)    \
    do {                                              \
        struct cross_entropy_call call;               \
        make_cross_entropy_call(&device, &call);      \
        quern_cross_entropy_args *a = &call.args;     \
        change;                                       \
        (void)a;                                      \
        check_refused(run(&call), status, culprit);   \
        check_nothing_written(&call);                 \
        free_cross_entropy_call(&call);               \
    } while (0)

#define CROSS_ENTROPY_MISTAKE(change, status, culprit) STEP_MISTAKE(run_cross_entropy, change, status, culprit)

Test(arguments, cross_entropy_mistakes) {
    struct test_device device;
    open_all(&device);
    struct cross_entropy_call good;
    make_cross_entropy_call(&device, &good);
    check_ok(run_cross_entropy(&good));
    free_cross_entropy_call(&good);

    CROSS_ENTROPY_MISTAKE(a->size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    CROSS_ENTROPY_MISTAKE(a->size += 8, QUERN_INVALID_STRUCT_SIZE, "size");
    CROSS_ENTROPY_MISTAKE(a->size = 4, QUERN_INVALID_STRUCT_SIZE, "size");
    CROSS_ENTROPY_MISTAKE(a->logits_dtype = QUERN_NO_DTYPE, QUERN_INVALID_DTYPE, "logits_dtype");
    CROSS_ENTROPY_MISTAKE(a->logits_dtype = (quern_dtype)99, QUERN_INVALID_DTYPE, "logits_dtype");
    CROSS_ENTROPY_MISTAKE(a->logits_dtype = QUERN_INT32, QUERN_INVALID_DTYPE, "logits_dtype");
    CROSS_ENTROPY_MISTAKE(a->labels_dtype = QUERN_NO_DTYPE, QUERN_INVALID_DTYPE, "labels_dtype");
    CROSS_ENTROPY_MISTAKE(a->labels_dtype = QUERN_F32, QUERN_INVALID_DTYPE, "labels_dtype");
    CROSS_ENTROPY_MISTAKE(a->grad_dtype = (quern_dtype)-1, QUERN_INVALID_DTYPE, "grad_dtype");
    CROSS_ENTROPY_MISTAKE(a->grad_dtype = QUERN_INT64, QUERN_INVALID_DTYPE, "grad_dtype");
    CROSS_ENTROPY_MISTAKE(a->grad_dtype = QUERN_BF16, QUERN_NOT_SUPPORTED, "grad_dtype");
    CROSS_ENTROPY_MISTAKE((a->grad_dtype = QUERN_F16, a->grad = call.logits.data), QUERN_INVALID_DTYPE, "grad_dtype");
    CROSS_ENTROPY_MISTAKE(a->reduction = (quern_reduction)3, QUERN_INVALID_ARGUMENT, "reduction");
    CROSS_ENTROPY_MISTAKE(a->reduction = (quern_reduction)-1, QUERN_INVALID_ARGUMENT, "reduction");
    CROSS_ENTROPY_MISTAKE(a->rows = -1, QUERN_INVALID_SHAPE, "rows");
    CROSS_ENTROPY_MISTAKE(a->rows = INT64_MIN, QUERN_INVALID_SHAPE, "rows");
    CROSS_ENTROPY_MISTAKE(a->rows = INT64_MAX, QUERN_INVALID_SHAPE, "rows");
    CROSS_ENTROPY_MISTAKE(a->vocab = 0, QUERN_INVALID_SHAPE, "vocab");
    CROSS_ENTROPY_MISTAKE(a->vocab = -5, QUERN_INVALID_SHAPE, "vocab");
    CROSS_ENTROPY_MISTAKE(a->logits_stride = VOCAB - 1, QUERN_INVALID_SHAPE, "logits_stride");
    CROSS_ENTROPY_MISTAKE(a->logits_stride = -VOCAB, QUERN_INVALID_SHAPE, "logits_stride");
    CROSS_ENTROPY_MISTAKE(a->logits_stride = INT64_MAX, QUERN_INVALID_SHAPE, "logits_stride");
    CROSS_ENTROPY_MISTAKE(a->grad_stride = VOCAB - 1, QUERN_INVALID_SHAPE, "grad_stride");
    CROSS_ENTROPY_MISTAKE((a->grad = call.logits.data, a->grad_stride = VOCAB + 1), QUERN_INVALID_SHAPE, "grad_stride");
    CROSS_ENTROPY_MISTAKE(a->grad = (float *)call.logits.data + 1, QUERN_INVALID_ARGUMENT, "grad");
    CROSS_ENTROPY_MISTAKE(a->logits = NULL, QUERN_NULL_POINTER, "logits");
    CROSS_ENTROPY_MISTAKE(a->labels = NULL, QUERN_NULL_POINTER, "labels");
    CROSS_ENTROPY_MISTAKE(a->labels = (char *)call.labels.data + 4, QUERN_INVALID_ARGUMENT, "labels");
    CROSS_ENTROPY_MISTAKE(a->logits = (char *)call.logits.data + 1, QUERN_INVALID_ARGUMENT, "logits");
    CROSS_ENTROPY_MISTAKE(a->loss = (float *)((char *)call.loss.data + 2), QUERN_INVALID_ARGUMENT, "loss");
    CROSS_ENTROPY_MISTAKE(a->grad_loss = (float *)((char *)call.upstream.data + 1), QUERN_INVALID_ARGUMENT, "grad_loss");
    CROSS_ENTROPY_MISTAKE(a->grad_scale = (float)NAN, QUERN_INVALID_ARGUMENT, "grad_scale");
    CROSS_ENTROPY_MISTAKE(a->grad_scale = (float)-INFINITY, QUERN_INVALID_ARGUMENT, "grad_scale is -inf");
    CROSS_ENTROPY_MISTAKE(call.workspace_bytes--, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes");
    CROSS_ENTROPY_MISTAKE(call.workspace_bytes = 0, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes");
    CROSS_ENTROPY_MISTAKE(call.workspace_pointer = NULL, QUERN_NULL_POINTER, "workspace");
    CROSS_ENTROPY_MISTAKE(call.workspace_pointer = (char *)call.workspace_pointer + 8, QUERN_INVALID_ARGUMENT, "workspace");
    if (device.kind == QUERN_CPU)
        CROSS_ENTROPY_MISTAKE(call.stream = &call, QUERN_INVALID_ARGUMENT, "stream");
    device_close(&device);
}

/* A pointer to the middle of an element. */
#define OFF(pointer) ((void *)((char *)(pointer) + 2))

Test(arguments, cross_entropy_options) {
    struct test_device device;
    open_all(&device);
    CROSS_ENTROPY_MISTAKE(a->label_smoothing = 1.5f, QUERN_INVALID_ARGUMENT, "label_smoothing");
    CROSS_ENTROPY_MISTAKE(a->label_smoothing = -0.1f, QUERN_INVALID_ARGUMENT, "label_smoothing");
    CROSS_ENTROPY_MISTAKE(a->label_smoothing = (float)NAN, QUERN_INVALID_ARGUMENT, "label_smoothing");
    CROSS_ENTROPY_MISTAKE(a->label_smoothing = (float)INFINITY, QUERN_INVALID_ARGUMENT, "label_smoothing");
    CROSS_ENTROPY_MISTAKE(a->z_loss = -1e-4f, QUERN_INVALID_ARGUMENT, "z_loss");
    CROSS_ENTROPY_MISTAKE(a->z_loss = (float)NAN, QUERN_INVALID_ARGUMENT, "z_loss");
    CROSS_ENTROPY_MISTAKE(a->z_loss = (float)INFINITY, QUERN_INVALID_ARGUMENT, "z_loss");
    CROSS_ENTROPY_MISTAKE(a->softcap = -30, QUERN_INVALID_ARGUMENT, "softcap");
    CROSS_ENTROPY_MISTAKE(a->softcap = (float)NAN, QUERN_INVALID_ARGUMENT, "softcap");
    CROSS_ENTROPY_MISTAKE(a->softcap = (float)INFINITY, QUERN_INVALID_ARGUMENT, "softcap");
    CROSS_ENTROPY_MISTAKE(a->class_weights = OFF(call.weights.data), QUERN_INVALID_ARGUMENT, "class_weights");
    CROSS_ENTROPY_MISTAKE(a->padded_vocab = VOCAB - 1, QUERN_INVALID_SHAPE, "padded_vocab");
    CROSS_ENTROPY_MISTAKE(a->padded_vocab = -1, QUERN_INVALID_SHAPE, "padded_vocab");
    CROSS_ENTROPY_MISTAKE(a->padded_vocab = INT64_MAX, QUERN_INVALID_SHAPE, "padded_vocab");
    CROSS_ENTROPY_MISTAKE((a->padded_vocab = VOCAB + 2, a->grad_stride = VOCAB + 1), QUERN_INVALID_SHAPE, "grad_stride");
    CROSS_ENTROPY_MISTAKE((a->padded_vocab = VOCAB + 1, a->grad = call.logits.data), QUERN_INVALID_SHAPE,
                          "logits_stride is 50 (0 means vocab): expected at least padded_vocab, 51");
    CROSS_ENTROPY_MISTAKE((a->padded_vocab = VOCAB + 2, a->grad = call.logits.data, a->logits_stride = VOCAB + 1),
                          QUERN_INVALID_SHAPE, "logits_stride is 51: expected at least padded_vocab, 52");
    CROSS_ENTROPY_MISTAKE(a->lse = OFF(call.lse.data), QUERN_INVALID_ARGUMENT, "lse");
    CROSS_ENTROPY_MISTAKE(a->log_prob = OFF(call.log_prob.data), QUERN_INVALID_ARGUMENT, "log_prob");
    CROSS_ENTROPY_MISTAKE(a->entropy = OFF(call.entropy.data), QUERN_INVALID_ARGUMENT, "entropy");
    CROSS_ENTROPY_MISTAKE(a->argmax = OFF(call.argmax.data), QUERN_INVALID_ARGUMENT, "argmax");
    CROSS_ENTROPY_MISTAKE(a->stats = OFF(call.stats.data), QUERN_INVALID_ARGUMENT, "stats");
    CROSS_ENTROPY_MISTAKE(a->report = OFF(call.report.data), QUERN_INVALID_ARGUMENT, "report");
    device_close(&device);
}

/* Bad labels themselves are in test_strict_labels.c. */
Test(arguments, cross_entropy_strict_labels) {
    struct test_device device;
    open_all(&device);
    CROSS_ENTROPY_MISTAKE(a->strict_labels = 2, QUERN_INVALID_ARGUMENT, "args.strict_labels is 2: expected 0 to 1");
    CROSS_ENTROPY_MISTAKE(a->strict_labels = -1, QUERN_INVALID_ARGUMENT, "args.strict_labels is -1: expected 0 to 1");
    STEP_MISTAKE(run_gradient, a->strict_labels = 2, QUERN_INVALID_ARGUMENT, "strict_labels");
    CROSS_ENTROPY_MISTAKE(a->size = offsetof(quern_cross_entropy_args, strict_labels) - 8, QUERN_INVALID_STRUCT_SIZE, "size");
    if (device.kind == QUERN_CUDA) {
        CROSS_ENTROPY_MISTAKE((a->strict_labels = 1, a->report = NULL), QUERN_NULL_POINTER, "args.report is NULL: expected");
        STEP_MISTAKE(run_combine, (a->strict_labels = 1, a->report = NULL), QUERN_NULL_POINTER, "args.report is NULL: expected");
    }
    device_close(&device);
}

Test(arguments, cross_entropy_shards) {
    struct test_device device;
    open_all(&device);
    CROSS_ENTROPY_MISTAKE(a->global_vocab = VOCAB + 1, QUERN_INVALID_SHAPE, "global_vocab");
    STEP_MISTAKE(run_stats, a->global_vocab = VOCAB - 1, QUERN_INVALID_SHAPE, "global_vocab");
    STEP_MISTAKE(run_stats, a->global_vocab = -1, QUERN_INVALID_SHAPE, "global_vocab");
    STEP_MISTAKE(run_stats, a->first_column = -1, QUERN_INVALID_SHAPE, "first_column");
    STEP_MISTAKE(run_stats, a->first_column = 1, QUERN_INVALID_SHAPE, "first_column");
    STEP_MISTAKE(run_stats, (a->global_vocab = 2 * VOCAB, a->first_column = VOCAB + 1), QUERN_INVALID_SHAPE, "first_column");
    STEP_MISTAKE(run_stats, (a->global_vocab = INT64_MAX, a->first_column = INT64_MAX), QUERN_INVALID_SHAPE, "global_vocab");
    STEP_MISTAKE(run_gradient, a->first_column = 1, QUERN_INVALID_SHAPE, "first_column");
    STEP_MISTAKE(run_combine, a->first_column = 1, QUERN_INVALID_SHAPE, "first_column");
    STEP_MISTAKE(run_combine, call.shard_count = 0, QUERN_INVALID_ARGUMENT, "shard_count");
    STEP_MISTAKE(run_combine, call.shard_count = -1, QUERN_INVALID_ARGUMENT, "shard_count");
    STEP_MISTAKE(run_combine, call.shard_count = INT64_MAX, QUERN_INVALID_SHAPE, "shards");
    STEP_MISTAKE(run_combine, call.shard_stats = NULL, QUERN_NULL_POINTER, "shards");
    STEP_MISTAKE(run_combine, call.shard_stats = OFF(call.shards.data), QUERN_INVALID_ARGUMENT, "shards");
    STEP_MISTAKE(run_combine, a->stats = (quern_row_stats *)call.shards.data + 1, QUERN_INVALID_ARGUMENT, "stats");
    STEP_MISTAKE(run_combine, a->stats = (quern_row_stats *)call.shards.data + ROWS, QUERN_INVALID_ARGUMENT, "stats");
    STEP_MISTAKE(run_combine, (call.shard_stats = (quern_row_stats *)call.shards.data + 1, call.shard_count = 2,
                               a->stats = call.shards.data), QUERN_INVALID_ARGUMENT, "stats");
    device_close(&device);
}

/* Fields that one step needs and another ignores; all steps check the options. */
Test(arguments, cross_entropy_steps) {
    struct test_device device;
    open_all(&device);
    STEP_MISTAKE(run_stats, a->stats = NULL, QUERN_NULL_POINTER, "stats");
    STEP_MISTAKE(run_stats, a->stats = OFF(call.stats.data), QUERN_INVALID_ARGUMENT, "stats");
    STEP_MISTAKE(run_stats, a->logits = NULL, QUERN_NULL_POINTER, "logits");
    STEP_MISTAKE(run_stats, a->labels = NULL, QUERN_NULL_POINTER, "labels");
    STEP_MISTAKE(run_stats, a->softcap = -1, QUERN_INVALID_ARGUMENT, "softcap");
    STEP_MISTAKE(run_stats, a->size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    STEP_MISTAKE(run_stats, call.workspace_bytes = 0, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes");
    STEP_MISTAKE(run_combine, a->labels = NULL, QUERN_NULL_POINTER, "labels");
    STEP_MISTAKE(run_combine, a->lse = OFF(call.lse.data), QUERN_INVALID_ARGUMENT, "lse");
    STEP_MISTAKE(run_combine, a->z_loss = -1, QUERN_INVALID_ARGUMENT, "z_loss");
    STEP_MISTAKE(run_combine, a->size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    STEP_MISTAKE(run_gradient, a->stats = NULL, QUERN_NULL_POINTER, "stats");
    STEP_MISTAKE(run_gradient, a->grad = NULL, QUERN_NULL_POINTER, "grad");
    STEP_MISTAKE(run_gradient, a->logits = NULL, QUERN_NULL_POINTER, "logits");
    STEP_MISTAKE(run_gradient, a->labels = NULL, QUERN_NULL_POINTER, "labels");
    STEP_MISTAKE(run_gradient, a->grad_loss = OFF(call.upstream.data), QUERN_INVALID_ARGUMENT, "grad_loss");
    STEP_MISTAKE(run_gradient, a->label_smoothing = (float)NAN, QUERN_INVALID_ARGUMENT, "label_smoothing");
    STEP_MISTAKE(run_gradient, a->size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    if (device.kind == QUERN_CPU) {
        STEP_MISTAKE(run_stats, call.stream = &call, QUERN_INVALID_ARGUMENT, "stream");
        STEP_MISTAKE(run_combine, call.stream = &call, QUERN_INVALID_ARGUMENT, "stream");
        STEP_MISTAKE(run_gradient, call.stream = &call, QUERN_INVALID_ARGUMENT, "stream");
    }
    device_close(&device);
}

/* Each pointer in each step: a step that uses it checks it, and one that does not ignores it. */
Test(arguments, each_pointer_in_each_step) {
    enum { WHOLE = 1, STATS = 2, COMBINE = 4, GRADIENT = 8 };
#define POINTER(field, steps) {"args." #field, offsetof(quern_cross_entropy_args, field), steps}
    static const struct {
        const char *name;
        size_t offset;
        unsigned steps;
    } pointers[] = {
        POINTER(logits, WHOLE | STATS | GRADIENT), POINTER(labels, WHOLE | STATS | COMBINE | GRADIENT),
        POINTER(grad, WHOLE | GRADIENT), POINTER(stats, WHOLE | STATS | COMBINE | GRADIENT), POINTER(loss, WHOLE | COMBINE),
        POINTER(grad_loss, WHOLE | GRADIENT), POINTER(class_weights, WHOLE | STATS | GRADIENT), POINTER(lse, WHOLE | COMBINE),
        POINTER(log_prob, WHOLE | COMBINE), POINTER(entropy, WHOLE | COMBINE), POINTER(argmax, WHOLE | COMBINE),
        POINTER(report, WHOLE | COMBINE)};
#undef POINTER
    static quern_status (*const run[])(struct cross_entropy_call *) = {run_cross_entropy, run_stats, run_combine, run_gradient};
    struct test_device device;
    open_all(&device);
    for (size_t i = 0; i < COUNT(pointers); i++)
        for (size_t step = 0; step < COUNT(run); step++) {
            struct cross_entropy_call call;
            char *pointer;
            make_cross_entropy_call(&device, &call);
            memcpy(&pointer, (char *)&call.args + pointers[i].offset, sizeof pointer);
            pointer++;
            memcpy((char *)&call.args + pointers[i].offset, &pointer, sizeof pointer);
            if (pointers[i].steps >> step & 1) {
                check_refused(run[step](&call), QUERN_INVALID_ARGUMENT, pointers[i].name);
                check_nothing_written(&call);
            } else {
                check_ok(run[step](&call));
            }
            free_cross_entropy_call(&call);
        }
    device_close(&device);
}

/* Pointers that a step does not use may hold anything: they are not read. */
Test(arguments, cross_entropy_steps_ignore_the_rest) {
    struct test_device device;
    struct cross_entropy_call call;
    open_all(&device);
    make_cross_entropy_call(&device, &call);
    quern_cross_entropy_args *a = &call.args;
    a->loss = NULL, a->report = NULL, a->entropy = NULL, a->argmax = NULL, a->lse = NULL, a->log_prob = NULL, a->grad = NULL;
    a->stats = call.shards.data;
    check_ok(run_stats(&call));
    a->logits = NULL, a->loss = call.loss.data, a->stats = call.stats.data, call.shard_count = 1;
    check_ok(run_combine(&call));
    a->logits = call.logits.data, a->grad = call.grad.data, a->loss = OFF(call.loss.data), a->lse = OFF(call.lse.data);
    check_ok(run_gradient(&call));
    free_cross_entropy_call(&call);
    device_close(&device);
}

Test(arguments, cross_entropy_null) {
    struct test_device device;
    open_all(&device);
    struct cross_entropy_call call;
    make_cross_entropy_call(&device, &call);
    size_t bytes;
    check_refused(quern_cross_entropy(NULL, &call.args, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_cross_entropy(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER, "args");
    check_refused(quern_cross_entropy_stats(NULL, &call.args, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_cross_entropy_stats(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER, "args");
    check_refused(quern_cross_entropy_combine(NULL, &call.args, call.shard_stats, 1, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_cross_entropy_combine(device.quern, NULL, NULL, 1, NULL, 0, NULL), QUERN_NULL_POINTER, "args");
    check_refused(quern_cross_entropy_gradient(NULL, &call.args, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_cross_entropy_gradient(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER, "args");
    check_refused(quern_cross_entropy_workspace(NULL, &call.args, &bytes), QUERN_NULL_POINTER, "device");
    check_refused(quern_cross_entropy_workspace(device.quern, NULL, &bytes), QUERN_NULL_POINTER, "args");
    check_refused(quern_cross_entropy_workspace(device.quern, &call.args, NULL), QUERN_NULL_POINTER, "bytes");
    free_cross_entropy_call(&call);
    device_close(&device);
}

/* Pointers may be NULL in a workspace query, and where nothing is read or requested. */
Test(arguments, cross_entropy_without_pointers) {
    struct test_device device;
    open_all(&device);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    size_t bytes;
    args.logits_dtype = QUERN_BF16, args.labels_dtype = QUERN_INT32, args.rows = 10, args.vocab = 10;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    args.rows = 0;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    struct buffer workspace;
    buffer_open(&workspace, &device, bytes, 0, NULL);
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    buffer_close(&workspace);
    device_close(&device);
}

/* ---- Adam: the first fields; all others are in test_adam_arguments.c ---- */

struct adam_call {
    struct test_device *device;
    struct buffer buffers[ARENAS];
    quern_adam_tensor tensors[3];
    quern_adam_args args;
    void *stream;
};

enum { ELEMENTS = 40 };

static void make_adam_call(struct test_device *device, struct adam_call *call) {
    *call = (struct adam_call){.device = device, .args = QUERN_ADAM_ARGS_INIT, .stream = device->stream};
    quern_adam_args *a = &call->args;
    a->param_dtype = a->grad_dtype = a->m_dtype = a->v_dtype = QUERN_BF16;
    a->master_dtype = QUERN_F32;
    a->lr = 1, a->step = 1;
    for (int i = 0; i < ARENAS; i++) buffer_open(&call->buffers[i], device, ELEMENTS * 4, 0, NULL);
    for (int i = 0; i < 3; i++)
        call->tensors[i] = (quern_adam_tensor){
            .param = (char *)call->buffers[ARENA_PARAM].data + 32 * i,
            .grad = (char *)call->buffers[ARENA_GRAD].data + 32 * i,
            .m = (char *)call->buffers[ARENA_M].data + 32 * i,
            .v = (char *)call->buffers[ARENA_V].data + 32 * i,
            .master = (float *)call->buffers[ARENA_MASTER].data + 10 * i,
            .count = 10,
        };
    a->tensors = call->tensors;
    a->tensor_count = 3;
}

static quern_status run_adam(struct adam_call *call) {
    return quern_adam(call->device->quern, &call->args, NULL, 0, call->stream);
}

static void free_adam_call(struct adam_call *call) {
    for (int i = 0; i < ARENAS; i++) buffer_close(&call->buffers[i]);
}

#define ADAM_MISTAKE(change, status, culprit)                                                                         \
    do {                                                                                                              \
        struct adam_call call;                                                                                        \
        make_adam_call(&device, &call);                                                                               \
        quern_adam_args *a = &call.args;                                                                              \
        change;                                                                                                       \
        (void)a;                                                                                                      \
        check_refused(run_adam(&call), status, culprit);                                                              \
        for (int i = 0; i < ARENAS; i++)                                                                              \
            check(holds_pattern(buffer_read(&call.buffers[i]), ELEMENTS * 4), "a failed call wrote (%s)", culprit);   \
        free_adam_call(&call);                                                                                        \
    } while (0)

Test(arguments, adam_mistakes) {
    struct test_device device;
    open_all(&device);
    struct adam_call good;
    make_adam_call(&device, &good);
    check_ok(run_adam(&good));
    free_adam_call(&good);

    ADAM_MISTAKE(a->size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    ADAM_MISTAKE(a->size += 1, QUERN_INVALID_STRUCT_SIZE, "size");
    ADAM_MISTAKE(a->tensor_size = 0, QUERN_INVALID_STRUCT_SIZE, "tensor_size");
    ADAM_MISTAKE(a->tensor_size = sizeof(quern_adam_tensor) + 8, QUERN_INVALID_STRUCT_SIZE, "tensor_size");
    ADAM_MISTAKE(a->param_dtype = QUERN_NO_DTYPE, QUERN_INVALID_DTYPE, "param_dtype");
    ADAM_MISTAKE(a->param_dtype = QUERN_INT32, QUERN_INVALID_DTYPE, "param_dtype");
    ADAM_MISTAKE(a->grad_dtype = (quern_dtype)77, QUERN_INVALID_DTYPE, "grad_dtype");
    ADAM_MISTAKE(a->m_dtype = QUERN_INT64, QUERN_INVALID_DTYPE, "m_dtype");
    ADAM_MISTAKE(a->v_dtype = QUERN_REMAINDER, QUERN_INVALID_DTYPE, "v_dtype");
    ADAM_MISTAKE(a->v_dtype = (quern_dtype)-1, QUERN_INVALID_DTYPE, "v_dtype");
    ADAM_MISTAKE(a->master_dtype = QUERN_BF16, QUERN_INVALID_DTYPE, "master_dtype");
    ADAM_MISTAKE(a->param_dtype = QUERN_F32, QUERN_INVALID_DTYPE, "master_dtype");
    ADAM_MISTAKE(a->mode = (quern_adam_mode)2, QUERN_INVALID_ARGUMENT, "mode");
    ADAM_MISTAKE(a->mode = (quern_adam_mode)-1, QUERN_INVALID_ARGUMENT, "mode");
    ADAM_MISTAKE(a->param_rounding = (quern_rounding)3, QUERN_INVALID_ARGUMENT, "param_rounding");
    ADAM_MISTAKE(a->m_rounding = (quern_rounding)-1, QUERN_INVALID_ARGUMENT, "m_rounding");
    ADAM_MISTAKE(a->v_rounding = (quern_rounding)100, QUERN_INVALID_ARGUMENT, "v_rounding");
    ADAM_MISTAKE(a->lr = -1e-3, QUERN_INVALID_ARGUMENT, "lr");
    ADAM_MISTAKE(a->lr = (double)NAN, QUERN_INVALID_ARGUMENT, "lr");
    ADAM_MISTAKE(a->lr = (double)INFINITY, QUERN_INVALID_ARGUMENT, "lr");
    ADAM_MISTAKE(a->beta1 = 1, QUERN_INVALID_ARGUMENT, "beta1");
    ADAM_MISTAKE(a->beta1 = -0.1, QUERN_INVALID_ARGUMENT, "beta1");
    ADAM_MISTAKE(a->beta1 = (double)NAN, QUERN_INVALID_ARGUMENT, "beta1");
    ADAM_MISTAKE(a->beta2 = 1.5, QUERN_INVALID_ARGUMENT, "beta2");
    ADAM_MISTAKE(a->beta2 = (double)NAN, QUERN_INVALID_ARGUMENT, "beta2");
    ADAM_MISTAKE(a->eps = -1e-8, QUERN_INVALID_ARGUMENT, "eps");
    ADAM_MISTAKE(a->eps = (double)NAN, QUERN_INVALID_ARGUMENT, "eps");
    ADAM_MISTAKE(a->weight_decay = -1, QUERN_INVALID_ARGUMENT, "weight_decay");
    ADAM_MISTAKE(a->weight_decay = (double)NAN, QUERN_INVALID_ARGUMENT, "weight_decay");
    ADAM_MISTAKE(a->step = 0, QUERN_INVALID_ARGUMENT, "step");
    ADAM_MISTAKE(a->step = -3, QUERN_INVALID_ARGUMENT, "step");
    ADAM_MISTAKE(a->tensors = NULL, QUERN_NULL_POINTER, "tensors");
    ADAM_MISTAKE(a->tensor_count = -1, QUERN_INVALID_SHAPE, "tensor_count");
    ADAM_MISTAKE(a->tensor_count = INT64_MAX, QUERN_INVALID_SHAPE, "tensor_count");
    ADAM_MISTAKE(call.tensors[1].count = -1, QUERN_INVALID_SHAPE, "tensors[1].count");
    ADAM_MISTAKE(call.tensors[2].param = NULL, QUERN_NULL_POINTER, "tensors[2].param");
    ADAM_MISTAKE(call.tensors[1].grad = NULL, QUERN_NULL_POINTER, "tensors[1].grad");
    ADAM_MISTAKE(call.tensors[1].m = NULL, QUERN_NULL_POINTER, "tensors[1].m");
    ADAM_MISTAKE(call.tensors[2].v = NULL, QUERN_NULL_POINTER, "tensors[2].v");
    ADAM_MISTAKE(call.tensors[2].master = NULL, QUERN_NULL_POINTER, "tensors[2].master");
    ADAM_MISTAKE(call.tensors[1].v = (char *)call.tensors[1].v + 1, QUERN_INVALID_ARGUMENT, "tensors[1].v");
    ADAM_MISTAKE(call.tensors[2].master = (char *)call.tensors[2].master + 2, QUERN_INVALID_ARGUMENT,
                 "tensors[2].master");
    if (device.kind == QUERN_CPU) ADAM_MISTAKE(call.stream = &call, QUERN_INVALID_ARGUMENT, "stream");
    device_close(&device);
}

Test(arguments, adam_null) {
    struct test_device device;
    open_all(&device);
    struct adam_call call;
    make_adam_call(&device, &call);
    size_t bytes = 1;
    check_refused(quern_adam(NULL, &call.args, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_adam(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER, "args");
    check_refused(quern_adam_workspace(NULL, &call.args, &bytes), QUERN_NULL_POINTER, "device");
    check_refused(quern_adam_workspace(device.quern, NULL, &bytes), QUERN_NULL_POINTER, "args");
    check_refused(quern_adam_workspace(device.quern, &call.args, NULL), QUERN_NULL_POINTER, "bytes");
    check_ok(quern_adam_workspace(device.quern, &call.args, &bytes));
    check(bytes == 0, "Adam needs no workspace without control.step, it says %zu", bytes);
    free_adam_call(&call);
    device_close(&device);
}

/* ---- preparation ---- */

Test(arguments, an_operation_must_be_prepared) {
    struct test_device device;
    device_open(&device, 0, NULL);
    struct cross_entropy_call call;
    struct adam_call adam;
    make_cross_entropy_call(&device, &call);
    make_adam_call(&device, &adam);
    check_refused(run_cross_entropy(&call), QUERN_NOT_PREPARED, "quern_prepare");
    check_refused(run_adam(&adam), QUERN_NOT_PREPARED, "quern_prepare");
    check_nothing_written(&call);
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    check_ok(run_adam(&adam));
    check_refused(run_cross_entropy(&call), QUERN_NOT_PREPARED, "quern_prepare");
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    check_ok(run_cross_entropy(&call));
    check_refused(quern_prepare(NULL, QUERN_ADAM), QUERN_NULL_POINTER, "device");
    check_refused(quern_prepare(device.quern, 0), QUERN_INVALID_ARGUMENT, "operations");
    check_refused(quern_prepare(device.quern, 1u << 30), QUERN_INVALID_ARGUMENT, "operations");
    free_cross_entropy_call(&call);
    free_adam_call(&adam);
    device_close(&device);
}

/* ---- random bytes ---- */

/* A scalar of a random kind: tiny, huge, negative, plausible. */
static int64_t random_scalar(uint64_t seed, uint64_t i) {
    static const int64_t some[] = {0,  1,    2,         3,         16,        17,        50,
                                   -1, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
    uint64_t kind = random_bits(seed, 2 * i);
    return kind % 4 ? some[kind / 4 % COUNT(some)] : (int64_t)random_bits(seed, 2 * i + 1);
}

/* Any bytes in the scalar fields, NULL or a small valid buffer in the pointers: the call returns a status and does not crash. */
static float random_option(uint64_t i) {
    static const float some[] = {0, 0.1f, 1, -1, 1.5f, 30, (float)INFINITY, (float)NAN, 1e-30f, 3e38f};
    return some[random_bits(3, i) % COUNT(some)];
}

/* The options, the further outputs and the shard. */
static void spoil_options(quern_cross_entropy_args *a, uint64_t i) {
    const uint64_t which = random_bits(5, i), n = i * 16;
    if (which & 1) a->label_smoothing = random_option(n);
    if (which & 2) a->z_loss = random_option(n + 1);
    if (which & 4) a->softcap = random_option(n + 2);
    if (which & 8) a->class_weights = NULL;
    if ((which & 48) == 48) a->padded_vocab = random_scalar(6, n);
    if ((which & 192) == 192) a->first_column = random_scalar(6, n + 1);
    if ((which & 768) == 768) a->global_vocab = random_scalar(6, n + 2);
    if (which & 1024) a->lse = NULL;
    if (which & 2048) a->entropy = NULL;
    if (which & 4096) a->argmax = NULL;
    if (which & 8192) a->stats = NULL;
}

/* One of the functions; those for shards only if the shape fits the buffers, since not all of them need a workspace. */
static quern_status run_any(struct cross_entropy_call *call, uint64_t i, bool fits) {
    quern_status (*const functions[])(struct cross_entropy_call *call) = {run_cross_entropy, run_stats, run_combine, run_gradient};
    call->shard_count = random_bits(7, i) % 16 ? SHARDS : random_scalar(7, i);
    if (call->shard_count > SHARDS && call->args.rows <= ROWS) call->shard_count = SHARDS;
    return functions[fits ? random_bits(8, i) % COUNT(functions) : 0](call);
}

Test(arguments, fuzzed_cross_entropy) {
    struct test_device device;
    open_all(&device);
    struct cross_entropy_call call;
    make_cross_entropy_call(&device, &call);
    quern_cross_entropy_args good = call.args;
    const size_t workspace_bytes = call.workspace_bytes;
    int64_t refused = 0, rounds = test_size(200000, 2000);
    for (int64_t i = 0; i < rounds; i++) {
        quern_cross_entropy_args a = good;
        uint64_t which = random_bits(1, (uint64_t)i), n = (uint64_t)i * 16;
        if (which & 1) a.size = (uint32_t)random_scalar(2, n);
        if (which & 2) a.logits_dtype = (quern_dtype)random_scalar(2, n + 1);
        if (which & 4) a.labels_dtype = (quern_dtype)random_scalar(2, n + 2);
        if (which & 8) a.reduction = (quern_reduction)random_scalar(2, n + 3);
        if (which & 16) a.rows = random_scalar(2, n + 4);
        if (which & 32) a.vocab = random_scalar(2, n + 5);
        if (which & 64) a.logits_stride = random_scalar(2, n + 6);
        if (which & 128) a.grad_dtype = (quern_dtype)random_scalar(2, n + 7);
        if (which & 256) a.grad_stride = random_scalar(2, n + 8);
        if (which & 512) a.ignore_index = random_scalar(2, n + 9);
        if (which & 1024) a.grad_loss_stride = 0;
        if (which & 2048) a.logits = NULL;
        if (which & 4096) a.labels = NULL;
        if (which & 8192) a.grad = which & 65536 ? NULL : (void *)a.logits;
        if (which & 16384) a.loss = NULL;
        if (which & 32768) a.report = NULL;
        if (i % 2) spoil_options(&a, (uint64_t)i);
        size_t bytes = 0;
        quern_status status = quern_cross_entropy_workspace(device.quern, &a, &bytes);
        /* A call that fits the buffers may run; all others must be refused for lack of workspace or another reason. */
        bool fits = a.rows >= 0 && a.rows <= ROWS && a.vocab >= 0 && a.vocab <= VOCAB && a.logits_stride <= VOCAB
                 && a.grad_stride <= VOCAB && a.padded_vocab <= VOCAB;
        bool given = fits && bytes <= workspace_bytes;
        if (!fits && status == QUERN_OK && bytes == 0) continue;
        call.args = a;
        call.workspace_bytes = given ? bytes : 0;
        status = run_any(&call, (uint64_t)i, given);
        refused += status != QUERN_OK;
        check(status == QUERN_OK || strlen(error_detail()) > 0, "a refusal without a reason");
        check(status < 3000, "%s: %s", quern_status_string(status), error_detail());
    }
    check(refused > 0 && refused < rounds, "%d of %d refused", (int)refused, (int)rounds);
    free_cross_entropy_call(&call);
    device_close(&device);
}

Test(arguments, fuzzed_adam) {
    struct test_device device;
    open_all(&device);
    struct adam_call call;
    make_adam_call(&device, &call);
    quern_adam_args good = call.args;
    quern_adam_tensor good_tensor = call.tensors[1];
    int64_t refused = 0, rounds = test_size(200000, 2000);
    static const double doubles[] = {0, 1, 0.5, -1, (double)NAN, (double)INFINITY, 1e-300, 1e300, 0.9999999999999999, -0.0};
    for (int64_t i = 0; i < rounds; i++) {
        quern_adam_args a = good;
        uint64_t which = random_bits(3, (uint64_t)i), n = (uint64_t)i * 16;
        double some = doubles[which >> 40 & 7];
        call.tensors[1] = good_tensor;
        if (which & 1) a.size = (uint32_t)random_scalar(4, n);
        if (which & 2) a.tensor_size = (uint32_t)random_scalar(4, n + 1);
        if ((which & 12) == 12) a.param_dtype = (quern_dtype)random_scalar(4, n + 2);
        if ((which & 48) == 48) a.grad_dtype = (quern_dtype)(random_scalar(4, n + 3) & 3);
        if ((which & 192) == 192) a.m_dtype = (quern_dtype)random_scalar(4, n + 4);
        if ((which & 768) == 768) a.v_dtype = (quern_dtype)random_scalar(4, n + 5);
        if ((which & 3072) == 3072) a.master_dtype = (quern_dtype)random_scalar(4, n + 6);
        if ((which & 12288) == 12288) a.mode = (quern_adam_mode)random_scalar(4, n + 7);
        if (which >> 14 & 1) *(which & 4 ? &a.lr : which & 8 ? &a.beta1 : which & 16 ? &a.beta2 : &a.eps) = some;
        if (which >> 15 & 1) a.step = random_scalar(4, n + 8);
        if (which >> 16 & 1) a.tensor_count = random_scalar(4, n + 9) % 4;
        if (which >> 17 & 1) a.tensors = NULL;
        if (which >> 18 & 1) call.tensors[1].count = random_scalar(4, n + 10) % 11;
        if (which >> 19 & 1) *(which & 32 ? &call.tensors[1].m : &call.tensors[1].v) = NULL;
        if (which >> 20 & 1) a.v_rounding = (quern_rounding)random_scalar(4, n + 11);
        quern_status status = quern_adam(device.quern, &a, NULL, 0, device.stream);
        refused += status != QUERN_OK;
        check(status == QUERN_OK || strlen(error_detail()) > 0, "a refusal without a reason");
        check(status < 3000, "%s: %s", quern_status_string(status), error_detail());
    }
    check(refused > 0 && refused < rounds, "%d of %d refused", (int)refused, (int)rounds);
    free_adam_call(&call);
    device_close(&device);
}
