/* Buffers on a CPU or a GPU.  Called by the Quern backend, the exchange and the mixtures of experts. */
#define _DEFAULT_SOURCE

#include "device_memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The driver functions that the demo needs; 0 is success, a device pointer is 64 bits. */
static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*stream_synchronize)(void *stream);
    int (*allocate)(uint64_t *device, size_t bytes);
    int (*free)(uint64_t device);
    int (*upload)(uint64_t device, const void *host, size_t bytes, void *stream);
    int (*download)(void *host, uint64_t device, size_t bytes, void *stream);
} driver;

static const struct {
    const char *name;
    void *function;
} SYMBOLS[] = {
    {"cuInit", &driver.init},
    {"cuDeviceGet", &driver.device_get},
    {"cuDevicePrimaryCtxRetain", &driver.context_retain},
    {"cuDevicePrimaryCtxRelease_v2", &driver.context_release},
    {"cuCtxSetCurrent", &driver.context_set_current},
    {"cuStreamCreate", &driver.stream_create},
    {"cuStreamDestroy_v2", &driver.stream_destroy},
    {"cuStreamSynchronize", &driver.stream_synchronize},
    {"cuMemAlloc_v2", &driver.allocate},
    {"cuMemFree_v2", &driver.free},
    {"cuMemcpyHtoDAsync_v2", &driver.upload},
    {"cuMemcpyDtoHAsync_v2", &driver.download},
};

enum { NON_BLOCKING = 1 };  /* a stream that does not wait for the default stream */

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;
static bool driver_is_open;

static bool succeeded(const char *what, int status) {
    if (status != 0) fprintf(stderr, "language_model: %s failed with CUDA error %d\n", what, status);
    return status == 0;
}

/* Once for all ranks of the process; the driver stays open, as Quern may still be using it. */
static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "language_model: %s\n", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        void *function = dlsym(library, SYMBOLS[i].name);
        if (function == NULL) {
            fprintf(stderr, "language_model: libcuda.so.1 has no %s\n", SYMBOLS[i].name);
            return;
        }
        memcpy(SYMBOLS[i].function, &function, sizeof function);
    }
    driver_is_open = succeeded("cuInit", driver.init(0));
}

bool device_memory_open(struct device_memory *memory, bool is_cuda, int ordinal) {
    *memory = (struct device_memory){.is_cuda = is_cuda, .ordinal = ordinal};
    if (!is_cuda) return true;
    pthread_once(&driver_once, open_driver);
    if (driver_is_open && succeeded("cuDeviceGet", driver.device_get(&memory->device, ordinal)) &&
        succeeded("cuDevicePrimaryCtxRetain", driver.context_retain(&memory->context, memory->device)) &&
        device_memory_enter(memory) &&
        succeeded("cuStreamCreate", driver.stream_create(&memory->stream, NON_BLOCKING)))
        return true;
    device_memory_close(memory);
    return false;
}

void device_memory_close(struct device_memory *memory) {
    if (memory->stream != NULL) driver.stream_destroy(memory->stream);
    if (memory->context != NULL) driver.context_release(memory->device);
    *memory = (struct device_memory){0};
}

bool device_memory_enter(const struct device_memory *memory) {
    return !memory->is_cuda || succeeded("cuCtxSetCurrent", driver.context_set_current(memory->context));
}

bool device_memory_create(const struct device_memory *memory, struct mirrored *buffer, void *host, size_t bytes) {
    *buffer = (struct mirrored){.host = host != NULL ? host : allocate(bytes), .bytes = bytes, .owns_host = host == NULL};
    if (!memory->is_cuda) {
        buffer->device = buffer->host;
        return true;
    }
    uint64_t device = 0;
    if (!succeeded("cuMemAlloc", driver.allocate(&device, bytes == 0 ? 1 : bytes))) return false;
    buffer->device = (void *)(uintptr_t)device;
    return device_memory_upload(memory, buffer);
}

void device_memory_free(const struct device_memory *memory, struct mirrored *buffer) {
    if (memory->is_cuda && buffer->device != NULL) driver.free((uintptr_t)buffer->device);
    if (buffer->owns_host) free(buffer->host);
    *buffer = (struct mirrored){0};
}

bool device_memory_upload(const struct device_memory *memory, const struct mirrored *buffer) {
    if (!memory->is_cuda || buffer->bytes == 0) return true;
    return succeeded("cuMemcpyHtoDAsync",
                     driver.upload((uintptr_t)buffer->device, buffer->host, buffer->bytes, memory->stream)) &&
           device_memory_wait(memory);
}

bool device_memory_download(const struct device_memory *memory, const struct mirrored *buffer) {
    if (!memory->is_cuda || buffer->bytes == 0) return true;
    return succeeded("cuMemcpyDtoHAsync",
                     driver.download(buffer->host, (uintptr_t)buffer->device, buffer->bytes, memory->stream)) &&
           device_memory_wait(memory);
}

bool device_memory_wait(const struct device_memory *memory) {
    return !memory->is_cuda || succeeded("cuStreamSynchronize", driver.stream_synchronize(memory->stream));
}
