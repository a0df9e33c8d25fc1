/* quern_scale, a public function: y = factor * x. */
#include "runtime/arguments.h"
#include "runtime/dispatch.h"
#include "runtime/match.h"
#include "runtime/status.h"

const struct quern_operation quern_scale_operation = {.table = quern_scale_kernels, .refused = quern_match_refused};

static quern_status run_on_cuda(const quern_device *device, const struct quern_kernel *kernel, CUfunction function,
                                const quern_scale_args *args, CUstream stream) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    CUcontext popped;
    CUresult error = cuda->context_push(device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuCtxPushCurrent");
    void *parameters[] = {(void *)args};
    error = cuda->launch(function, 4, 1, 1, kernel->cuda.threads, 1, 1, 0, stream, parameters, NULL);
    cuda->context_pop(&popped);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, kernel->name);
}

quern_status quern_scale(quern_device *device, const quern_scale_args *args, void *stream) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    const struct quern_match request = {.dtypes = {QUERN_F32}, .names = {"dtype", ""}};
    const struct quern_ready_kernel *ready;
    quern_status status = quern_check_struct(device, "args", args, sizeof *args);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.count", args->count);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status == QUERN_OK) status = quern_select(device, QUERN_SCALE, &request, &ready);
    if (status != QUERN_OK) return status;
    if (device->kind == QUERN_CUDA) return run_on_cuda(device, ready->kernel, ready->function, args, stream);
    ready->kernel->cpu.any(args, 0, args->count);
    return QUERN_OK;
}
