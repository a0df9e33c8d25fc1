/*
 * A CUDA driver without a GPU: it describes one device from the environment, accepts every image, and prints each launch instead of
 * running it.  Loaded by the library as libcuda.so.1 in launches.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_driver.h"

enum { BYTES_OF_NAME = 128 };

static int setting(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    (void)device;
    snprintf(name, (size_t)bytes, "a device that launches nothing");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    const int capability = setting("QUERN_COUNT_CAPABILITY");
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR             ? capability / 10
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR           ? capability % 10
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT               ? setting("QUERN_COUNT_SMS")
             : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN  ? setting("QUERN_COUNT_SHARED")
                                                                                   : 0;
    return CUDA_SUCCESS;
}

/* Handles are never followed; that of a function is its name. */
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    char *copy = malloc(BYTES_OF_NAME);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(copy, BYTES_OF_NAME, "%s", name);
    *function = (CUfunction)(void *)copy;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    (void)attribute;
    (void)function;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t dynamic_shared) {
    (void)function;
    (void)threads;
    (void)dynamic_shared;
    *blocks = 1;
    return CUDA_SUCCESS;
}

/* As if clusters could use all multiprocessors. */
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config) {
    (void)function;
    *clusters = (setting("QUERN_COUNT_SMS") + (int)config->grid_x - 1) / (int)config->grid_x;
    return CUDA_SUCCESS;
}

static CUresult print(CUfunction function, unsigned long long blocks, unsigned cluster, unsigned threads, unsigned shared_bytes) {
    printf("launch %s %llu %u %u %u\n", (const char *)(void *)function, blocks, cluster, threads, shared_bytes);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra) {
    (void)block_y;
    (void)block_z;
    (void)stream;
    (void)parameters;
    (void)extra;
    return print(function, (unsigned long long)grid_x * grid_y * grid_z, 1, block_x, shared_bytes);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
    (void)parameters;
    (void)extra;
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->attribute_count; i++)
        if (config->attributes[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = config->attributes[i].value.cluster_dim.x;
    return print(function, (unsigned long long)config->grid_x * config->grid_y * config->grid_z, cluster, config->block_x,
                 config->shared_bytes);
}
