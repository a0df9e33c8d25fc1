#define _DEFAULT_SOURCE

#include "device_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The driver's functions that the demo needs; 0 is success, a device pointer is 64 bits. */
static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set_current)(void *context);
    int (*context_synchronize)(void);
    int (*allocate)(uint64_t *device, size_t bytes);
    int (*free)(uint64_t device);
    int (*upload)(uint64_t device, const void *host, size_t bytes);
    int (*download)(void *host, uint64_t device, size_t bytes);
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
    {"cuCtxSynchronize", &driver.context_synchronize},
    {"cuMemAlloc_v2", &driver.allocate},
    {"cuMemFree_v2", &driver.free},
    {"cuMemcpyHtoD_v2", &driver.upload},
    {"cuMemcpyDtoH_v2", &driver.download},
};

static bool succeeded(const char *what, int status) {
    if (status != 0) fprintf(stderr, "language_model: %s failed with CUDA error %d\n", what, status);
    return status == 0;
}

static bool open_driver(struct device_memory *memory) {
    memory->library = dlopen("libcuda.so.1", RTLD_NOW);
    if (memory->library == NULL) {
        fprintf(stderr, "language_model: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        void *function = dlsym(memory->library, SYMBOLS[i].name);
        if (function == NULL) {
            fprintf(stderr, "language_model: libcuda.so.1 has no %s\n", SYMBOLS[i].name);
            return false;
        }
        memcpy(SYMBOLS[i].function, &function, sizeof function);
    }
    return true;
}

bool device_memory_open(struct device_memory *memory, bool is_cuda, int ordinal) {
    *memory = (struct device_memory){.is_cuda = is_cuda};
    if (!is_cuda) return true;
    if (open_driver(memory) && succeeded("cuInit", driver.init(0)) &&
        succeeded("cuDeviceGet", driver.device_get(&memory->device, ordinal)) &&
        succeeded("cuDevicePrimaryCtxRetain", driver.context_retain(&memory->context, memory->device)) &&
        succeeded("cuCtxSetCurrent", driver.context_set_current(memory->context)))
        return true;
    device_memory_close(memory);
    return false;
}

/* The driver stays open: Quern may still be using it. */
void device_memory_close(struct device_memory *memory) {
    if (memory->context != NULL) driver.context_release(memory->device);
    memory->context = NULL;
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
    return succeeded("cuMemcpyHtoD", driver.upload((uintptr_t)buffer->device, buffer->host, buffer->bytes));
}

bool device_memory_download(const struct device_memory *memory, const struct mirrored *buffer) {
    if (!memory->is_cuda || buffer->bytes == 0) return true;
    return succeeded("cuMemcpyDtoH", driver.download(buffer->host, (uintptr_t)buffer->device, buffer->bytes));
}

bool device_memory_wait(const struct device_memory *memory) {
    return !memory->is_cuda || succeeded("cuCtxSynchronize", driver.context_synchronize());
}
