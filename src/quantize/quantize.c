/* quern_quantize, its two steps, its workspace and its explanation: check the arguments, select the kernels and run them. */
#include <fenv.h>

#include "quantize/quantize.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

/* A plan has its own states; a cast without a history and blocks need none. */
static size_t needs(const struct quern_quantize_call *call) {
    const bool finds = call->steps != QUERN_QUANTIZE_CASTS && !call->form.in_blocks;
    const bool has_states = call->device->kind == QUERN_CUDA && !call->args.plan && finds;
    return has_states ? (size_t)call->count * sizeof *call->states : 0;
}

static quern_status check_and_run(struct quern_quantize_call *call, const quern_quantize_args *args, void *workspace,
                                  size_t workspace_bytes, struct quern_look *look) {
    quern_status status = quern_quantize_check(call, args);
    if (status == QUERN_OK) status = quern_check_workspace(call->device, workspace, workspace_bytes, needs(call));
    if (status == QUERN_OK) status = quern_quantize_check_arrays(call, workspace, needs(call));
    if (status == QUERN_OK) status = quern_check_stream(call->device, call->stream);
    if (status == QUERN_OK) status = quern_quantize_select(call);
    if (status != QUERN_OK) return status;
    call->states = call->args.plan ? call->args.plan->tables.states : workspace;
    quern_show_call(look, &call->args, call);
    return call->device->kind == QUERN_CPU ? quern_quantize_on_cpu(call) : quern_quantize_on_cuda(call);
}

/* The engine's rounding mode must not change eps, and its flushing must not make zeros of a subnormal noop and eps. */
static quern_status run(struct quern_quantize_call *call, const quern_quantize_args *args, void *workspace,
                        size_t workspace_bytes) {
    struct quern_look look;
    fenv_t environment;
    if (!call->device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, quern_quantize_view(call->steps), call->device, call->stream);
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    const quern_status status = check_and_run(call, args, workspace, workspace_bytes, &look);
    fesetenv(&environment);
    return quern_end_look(&look, status);
}

quern_status quern_quantize(quern_device *device, const quern_quantize_args *args, void *workspace, size_t workspace_bytes,
                            void *stream) {
    struct quern_quantize_call call = {.device = device, .steps = QUERN_QUANTIZE_FINDS | QUERN_QUANTIZE_CASTS, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_quantize_amax(quern_device *device, const quern_quantize_args *args, void *workspace, size_t workspace_bytes,
                                 void *stream) {
    struct quern_quantize_call call = {.device = device, .steps = QUERN_QUANTIZE_FINDS, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_quantize_cast(quern_device *device, const quern_quantize_args *args, void *stream) {
    struct quern_quantize_call call = {.device = device, .steps = QUERN_QUANTIZE_CASTS, .stream = stream};
    return run(&call, args, NULL, 0);
}

quern_status quern_quantize_workspace(const quern_device *device, const quern_quantize_args *args, size_t *bytes) {
    struct quern_quantize_call call = {.device = (quern_device *)device, .steps = QUERN_QUANTIZE_ASKS};
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = quern_quantize_check(&call, args);
    if (status == QUERN_OK) *bytes = needs(&call);
    return status;
}
