/* quern_adam, its workspace and its explanation: check the arguments, choose a kernel, run the step on its device. */
#include <fenv.h>

#include "adam/adam.h"
#include "runtime/arguments.h"
#include "runtime/log.h"
#include "runtime/status.h"

/*
 * A GPU that counts steps in device memory needs workspace for the ticket of its blocks, or for the scalars of each tensor.  A plan
 * has its own.
 */
static size_t needs(const quern_device *device, const quern_adam_args *args) {
    if (device->kind == QUERN_CPU || args->plan) return 0;
    return args->steps ? (size_t)args->tensor_count * sizeof(struct quern_adam_tensor_step) : args->control.step ? 16 : 0;
}

/* Checks everything but the tensors. */
static quern_status check(const quern_device *device, const quern_adam_args *given, quern_adam_args *args) {
    quern_status status = quern_adam_take(device, given, args);
    if (status == QUERN_OK) status = quern_adam_check_form(device, args);
    return status == QUERN_OK ? quern_adam_check_step(device, args) : status;
}

quern_status quern_adam_workspace(const quern_device *device, const quern_adam_args *given, size_t *bytes) {
    quern_adam_args args;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = check(device, given, &args);
    if (status == QUERN_OK) *bytes = needs(device, &args);
    return status;
}

/* On a GPU the kernel reads the control while it writes the tensors. */
static quern_status check_apart(const struct quern_adam_call *call) {
    const quern_adam_control *control = &call->args.control;
    const struct quern_range others[] = {
        quern_range_of("args.control.lr", control->lr, sizeof *control->lr, QUERN_READ),
        quern_range_of("args.control.step", control->step, sizeof *control->step, QUERN_WRITTEN),
        quern_range_of("args.control.grad_scale", control->grad_scale, sizeof *control->grad_scale, QUERN_READ),
        quern_range_of("args.control.clip", control->clip, sizeof *control->clip, QUERN_READ),
        quern_range_of("args.control.found_inf", control->found_inf, sizeof *control->found_inf, QUERN_READ),
        quern_range_of("args.steps", call->args.steps, call->list.count * (int64_t)sizeof(int64_t), QUERN_WRITTEN),
        quern_range_of("workspace", call->workspace, (int64_t)needs(call->device, &call->args), QUERN_WRITTEN),
    };
    const int count = sizeof others / sizeof *others;
    if (call->args.plan && !call->args.grads)
        return quern_adam_check_against_plan(call->device, call->args.plan, others, count);
    return quern_adam_check_apart(call->device, &call->args, &call->list, others, count);
}

/* Once for a plan, or for all lists of a handle. */
static void tell_of_m(const struct quern_adam_call *call) {
    bool *told = call->args.plan ? &call->args.plan->has_told : &call->device->has_told_of_m;
    if (call->args.m_dtype != QUERN_BF16 || call->step.stochastic_m || call->args.beta1 < 0.99) return;
    if (!quern_log_wanted(QUERN_LOG_ERROR) || __atomic_exchange_n(told, true, __ATOMIC_RELAXED)) return;
    quern_log(call->device, QUERN_LOG_ERROR, "adam: m in bf16 is rounded to nearest with beta1 %g, and stops short of the mean "
              "gradient: expected args.m_rounding QUERN_ROUND_STOCHASTIC", call->args.beta1);
}

static quern_status run(struct quern_adam_call *call, const quern_adam_args *args, size_t workspace_bytes,
                        struct quern_look *look) {
    quern_device *device = call->device;
    quern_status status = check(device, args, &call->args);
    if (status != QUERN_OK) return status;
    call->list = quern_adam_list_of(&call->args);
    call->list.grads = call->args.grads;
    if (!call->args.plan) status = quern_adam_check_tensors(device, &call->args, &call->list);
    else if (call->args.grads) status = quern_adam_check_new_grads(device, &call->args, &call->list);
    if (status == QUERN_OK) status = quern_check_workspace(device, call->workspace, workspace_bytes, needs(device, &call->args));
    if (status == QUERN_OK) status = check_apart(call);
    if (status == QUERN_OK) status = quern_check_stream(device, call->stream);
    if (status != QUERN_OK) return status;
    const struct quern_adam_request request = quern_adam_request_of(&call->args);
    status = quern_adam_select(device, &request, &call->ready);
    if (status == QUERN_OK && call->args.steps && device->kind == QUERN_CUDA)
        status = quern_adam_select(device, &(struct quern_adam_request){.task = QUERN_ADAM_TENSOR_STEPS}, &call->steps_ready);
    if (status != QUERN_OK) return status;
    quern_adam_fill_step(call);
    tell_of_m(call);
    quern_show_call(look, &call->args, call);
    return device->kind == QUERN_CPU ? quern_adam_on_cpu(call) : quern_adam_on_cuda(call);
}

/* The bits of the scalars must not depend on the engine's rounding mode. */
quern_status quern_adam(quern_device *device, const quern_adam_args *args, void *workspace, size_t workspace_bytes, void *stream) {
    struct quern_adam_call call = {.device = device, .workspace = workspace, .stream = stream};
    struct quern_look look;
    fenv_t environment;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, &quern_adam_view, device, stream);
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    quern_status status = run(&call, args, workspace_bytes, &look);
    fesetenv(&environment);
    return quern_end_look(&look, status);
}

size_t quern_adam_explain(const quern_device *device, const quern_adam_args *given, char *buffer, size_t bytes) {
    quern_adam_args args;
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || check(device, given, &args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    const struct quern_adam_request request = quern_adam_request_of(&args);
    return quern_adam_explain_request(device, &request, buffer, bytes);
}
