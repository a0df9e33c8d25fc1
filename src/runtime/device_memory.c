/* Copies between the host and a device, blocking.  Called when Adam's state is saved or loaded. */
#include "runtime/device_memory.h"

#include <string.h>

#include "runtime/status.h"

quern_status quern_device_memory_open(struct quern_device_memory *memory, const quern_device *device) {
    *memory = (struct quern_device_memory){.device = device};
    if (device->kind == QUERN_CPU) return QUERN_OK;
    CUresult error = quern_cuda_begin_visit(&memory->visit, device->context);
    if (error == CUDA_SUCCESS) error = memory->visit.cuda->stream_create(&memory->stream, CU_STREAM_NON_BLOCKING);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "cuStreamCreate");
}

void quern_device_memory_close(struct quern_device_memory *memory) {
    if (memory->device->kind == QUERN_CPU) return;
    if (memory->stream) memory->visit.cuda->stream_destroy(memory->stream);
    quern_cuda_end_visit(&memory->visit);
}

static quern_status wait(struct quern_device_memory *memory, CUresult error, const char *what) {
    if (error == CUDA_SUCCESS) error = memory->visit.cuda->stream_synchronize(memory->stream);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(memory->device, error, what);
}

quern_status quern_device_memory_read(struct quern_device_memory *memory, void *to, const void *from, size_t bytes) {
    if (!bytes) return QUERN_OK;
    if (memory->device->kind == QUERN_CPU) {
        memcpy(to, from, bytes);
        return QUERN_OK;
    }
    CUresult error = memory->visit.cuda->copy_to_host_async(to, (CUdeviceptr)(uintptr_t)from, bytes, memory->stream);
    return wait(memory, error, "cuMemcpyDtoHAsync");
}

quern_status quern_device_memory_write(struct quern_device_memory *memory, void *to, const void *from, size_t bytes) {
    if (!bytes) return QUERN_OK;
    if (memory->device->kind == QUERN_CPU) {
        memcpy(to, from, bytes);
        return QUERN_OK;
    }
    CUresult error = memory->visit.cuda->copy_to_device_async((CUdeviceptr)(uintptr_t)to, from, bytes, memory->stream);
    return wait(memory, error, "cuMemcpyHtoDAsync");
}
