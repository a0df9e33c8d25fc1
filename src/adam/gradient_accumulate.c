/* quern_accumulate, a public function: adds gradients to fp32 sums. */
#include <float.h>
#include <math.h>

#include "adam/gradients.h"
#include "runtime/arguments.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"

struct call {
    quern_device *device;
    quern_accumulate_args args;
    struct quern_gradient_list list;
    const struct quern_ready_kernel *ready;
    CUstream stream;
};

static quern_status check(struct call *call, const quern_accumulate_args *args) {
    quern_status status = quern_check_struct(call->device, "args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    call->args = *args;
    call->list = (struct quern_gradient_list){args->gradients, NULL, args->gradient_count};
    status = quern_gradient_check_list(call->device, args->gradient_size, args->grad_dtype, &call->list);
    if (status == QUERN_OK) status = quern_check_choice(call->device, "args.zero_grads", args->zero_grads, 1);
    if (status == QUERN_OK && !(fabs(args->scale) <= FLT_MAX))
        status = quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.scale is %g: expected -3.4e38 to 3.4e38, the range of fp32",
                            args->scale);
    if (status == QUERN_OK) status = quern_gradient_check_each(call->device, args->grad_dtype, &call->list, true);
    const struct quern_gradient_access access = {args->grad_dtype, .main_grads = true, .zero_grads = args->zero_grads};
    return status == QUERN_OK ? quern_gradient_check_apart(call->device, &call->list, &access, NULL, 0) : status;
}

/* ---- CPU ---- */

static void add(void *context, const struct quern_gradient_slice *slice, int64_t piece, int64_t first, int64_t count) {
    const struct call *call = context;
    char *grad = (char *)slice->grad + (size_t)first * quern_dtype_bytes(call->args.grad_dtype);
    (void)piece;
    call->ready->kernel->cpu.gradient_accumulate(slice->main_grad + first, grad, count, (float)call->args.scale,
                                                 call->args.zero_grads);
}

static quern_status run_on_cpu(struct call *call) {
    quern_gradient_visit_all(call->device, &call->list, add, call);
    return QUERN_OK;
}

/* ---- CUDA ---- */

static quern_status run_on_cuda(struct call *call) {
    struct quern_cuda_visit visit;
    quern_status status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    struct quern_gradient_batch batch = {.scale = (float)call->args.scale, .zero_grads = call->args.zero_grads};
    CUresult error = quern_gradient_launch(visit.cuda, call->ready, &call->list, &batch, call->stream);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, call->ready->kernel->name);
}

quern_status quern_accumulate(quern_device *device, const quern_accumulate_args *args, void *stream) {
    struct call call = {.device = device, .stream = stream};
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_status status = check(&call, args);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status == QUERN_OK) status = quern_gradient_select(device, QUERN_GRADIENT_ACCUMULATE, args->grad_dtype, &call.ready);
    if (status != QUERN_OK) return status;
    return device->kind == QUERN_CPU ? run_on_cpu(&call) : run_on_cuda(&call);
}
