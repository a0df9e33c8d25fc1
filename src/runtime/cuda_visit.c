/* Makes contexts current and restores them.  Called around every launch and all other work with the driver. */
#include "runtime/cuda_visit.h"

#include "runtime/look.h"
#include "runtime/status.h"

static CUresult push(struct quern_cuda_visit *visit, CUcontext context) {
    CUresult error = visit->cuda->context_push(context);
    visit->pushed = error == CUDA_SUCCESS;
    return error;
}

CUresult quern_cuda_begin_visit(struct quern_cuda_visit *visit, CUcontext context) {
    *visit = (struct quern_cuda_visit){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    if (quern_cuda_open(&visit->cuda) != QUERN_OK) return CUDA_ERROR_NO_DEVICE;
    visit->relaxed = visit->cuda->capture_mode(&visit->mode) == CUDA_SUCCESS;
    return context ? push(visit, context) : CUDA_SUCCESS;
}

quern_status quern_cuda_begin_launch(struct quern_cuda_visit *visit, const quern_device *device) {
    *visit = (struct quern_cuda_visit){.cuda = NULL};
    quern_status status = quern_cuda_open(&visit->cuda);
    if (status != QUERN_OK) return status;
    CUresult error = push(visit, device->context);
    if (quern_is_looked_at()) visit->cuda = quern_look_into(visit->cuda);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "cuCtxPushCurrent");
}

void quern_cuda_end_visit(struct quern_cuda_visit *visit) {
    CUcontext popped;
    if (visit->pushed) visit->cuda->context_pop(&popped);
    if (visit->relaxed) visit->cuda->capture_mode(&visit->mode);
}

CUresult quern_cuda_write(const struct quern_cuda_visit *visit, CUdeviceptr address, const void *data, size_t bytes) {
    const struct quern_cuda *cuda = visit->cuda;
    CUstream stream;
    CUresult error = cuda->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS) return error;
    error = data ? cuda->copy_to_device_async(address, data, bytes, stream) : cuda->memory_set_async(address, 0, bytes, stream);
    CUresult waited = cuda->stream_synchronize(stream);
    cuda->stream_destroy(stream);
    return error == CUDA_SUCCESS ? waited : error;
}
