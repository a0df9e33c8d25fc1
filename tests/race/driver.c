/* The calls of the CUDA driver for the race programs.  driver.h documents the functions. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long pointer;

static struct {
    int (*alloc)(pointer *p, size_t bytes);
    int (*free)(pointer p);
    int (*to_device)(pointer to, const void *from, size_t bytes);
    int (*set_bytes)(pointer to, unsigned char value, size_t bytes);
    int (*synchronize)(void);
    int (*set_context)(void *context);
    int (*retain)(void **context, int device);
} driver;

static void find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    if (!address) {
        printf("race: the driver has no %s\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(function, &address, sizeof address);
}

void driver_open(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context;
    if (!library) {
        printf("race: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    find(library, "cuMemAlloc_v2", &driver.alloc);
    find(library, "cuMemFree_v2", &driver.free);
    find(library, "cuMemcpyHtoD_v2", &driver.to_device);
    find(library, "cuMemsetD8_v2", &driver.set_bytes);
    find(library, "cuCtxSynchronize", &driver.synchronize);
    find(library, "cuCtxSetCurrent", &driver.set_context);
    find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
    if (driver.retain(&context, 0) || driver.set_context(context)) exit(EXIT_FAILURE);
}

void *driver_memory(size_t bytes, const void *contents) {
    pointer p;
    if (driver.alloc(&p, bytes)) exit(EXIT_FAILURE);
    if (contents ? driver.to_device(p, contents, bytes) : driver.set_bytes(p, 0, bytes)) exit(EXIT_FAILURE);
    return (void *)(size_t)p;
}

void driver_free(const void *memory) {
    driver.free((pointer)(size_t)memory);
}

int driver_synchronize(void) {
    return driver.synchronize();
}
