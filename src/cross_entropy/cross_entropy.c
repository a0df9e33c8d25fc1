/* The public cross-entropy functions: check the arguments and the workspace, then run the call. */
#include <fenv.h>

#include "cross_entropy/cross_entropy.h"
#include "runtime/arguments.h"
#include "runtime/status.h"
#include "runtime/threads.h"

static quern_status check_and_run(struct quern_cross_entropy_call *call, const quern_cross_entropy_args *given, void *workspace,
                                  size_t workspace_bytes, struct quern_look *look) {
    struct quern_cross_entropy_ranges ranges;
    quern_status status = quern_cross_entropy_check(call->device, given, &call->args);
    if (status == QUERN_OK) status = quern_cross_entropy_check_step(call, &ranges);
    if (call->step == QUERN_STEP_UPSTREAM) call->args.logits_dtype = call->args.grad_dtype;  /* of the kernel */
    call->threads = quern_threads_of(call->device);
    const size_t needed = status == QUERN_OK ? quern_cross_entropy_needs(call->device, call->threads, call->step, &call->args) : 0;
    if (status == QUERN_OK) status = quern_check_workspace(call->device, workspace, workspace_bytes, needed);
    if (status != QUERN_OK) return status;
    ranges.list[ranges.count++] = quern_range_of("workspace", workspace, (int64_t)needed, QUERN_WRITTEN);
    status = quern_check_apart(call->device, NULL, ranges.list, NULL, ranges.count);
    if (status == QUERN_OK) status = quern_check_stream(call->device, call->stream);
    if (status != QUERN_OK) return status;
    call->tasks = QUERN_ALL_TASKS;
    quern_cross_entropy_fill(call, workspace);
    status = quern_cross_entropy_check_labels(call);
    if (status != QUERN_OK) return status;
    quern_show_call(look, &call->args, call);
    return quern_cross_entropy_run(call);
}

/* Neither the engine's rounding mode nor its flushing of subnormals changes options, counts or sums. */
static quern_status run(struct quern_cross_entropy_call *call, const quern_cross_entropy_args *given, void *workspace,
                        size_t workspace_bytes) {
    struct quern_look look;
    fenv_t environment;
    if (!call->device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, &quern_cross_entropy_views[call->step], call->device, call->stream);
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    const quern_status status = check_and_run(call, given, workspace, workspace_bytes, &look);
    fesetenv(&environment);
    return quern_end_look(&look, status);
}

/* ---- the public functions ---- */

quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *given, size_t *bytes) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_cross_entropy_args args;
    quern_status status = quern_cross_entropy_check(device, given, &args);
    if (status != QUERN_OK) return status;
    const int threads = quern_threads_of(device);
    size_t most = 0;
    for (int step = 0; step < QUERN_STEPS; step++) {
        size_t needed = quern_cross_entropy_needs(device, threads, (enum quern_cross_entropy_step)step, &args);
        if (needed > most) most = needed;
    }
    status = quern_check_needed(device, most);
    if (status == QUERN_OK) *bytes = most;
    return status;
}

quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                 size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_WHOLE, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_stats(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                       size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_STATS, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_combine(quern_device *device, const quern_cross_entropy_args *args, const quern_row_stats *shards,
                                         int64_t shard_count, void *workspace, size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_COMBINE, .shards = shards,
                                            .shard_count = shard_count, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_gradient(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                          size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_GRADIENT, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_upstream(quern_device *device, const quern_cross_entropy_args *args, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_UPSTREAM, .stream = stream};
    return run(&call, args, NULL, 0);
}

size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *given, char *buffer, size_t bytes) {
    struct quern_cross_entropy_call call = {.device = (quern_device *)device};
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || quern_cross_entropy_check(device, given, &call.args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    call.is_full = quern_cross_entropy_is_full(&call.args);
    return quern_cross_entropy_explain_call(&call, buffer, bytes);
}
