#include "runtime/cuda_visit.h"

#include "runtime/status.h"

CUresult quern_cuda_begin_visit(struct quern_cuda_visit *visit, CUcontext context) {
    *visit = (struct quern_cuda_visit){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    if (quern_cuda_open(&visit->cuda) != QUERN_OK) return CUDA_ERROR_NO_DEVICE;
    visit->cuda->capture_mode(&visit->mode);
    CUresult error = context ? visit->cuda->context_push(context) : CUDA_SUCCESS;
    visit->pushed = context && error == CUDA_SUCCESS;
    return error;
}

void quern_cuda_end_visit(struct quern_cuda_visit *visit) {
    CUcontext popped;
    if (!visit->cuda) return;
    if (visit->pushed) visit->cuda->context_pop(&popped);
    visit->cuda->capture_mode(&visit->mode);
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
