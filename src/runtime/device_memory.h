/* Blocking copies between the host and a device's memory.  For saving and loading Adam's state, which block anyway. */
#ifndef QUERN_DEVICE_MEMORY_H
#define QUERN_DEVICE_MEMORY_H

#include "runtime/cuda_visit.h"
#include "runtime/device.h"

struct quern_device_memory {
    const quern_device *device;
    struct quern_cuda_visit visit;  /* CUDA only */
    CUstream stream;
};

/* Must be closed even if opening fails. */
quern_status quern_device_memory_open(struct quern_device_memory *memory, const quern_device *device);
void quern_device_memory_close(struct quern_device_memory *memory);

/* Each returns when the copy is complete. */
quern_status quern_device_memory_read(struct quern_device_memory *memory, void *to, const void *from, size_t bytes);
quern_status quern_device_memory_write(struct quern_device_memory *memory, void *to, const void *from, size_t bytes);

#endif
