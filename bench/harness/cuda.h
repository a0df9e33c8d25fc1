/*
 * The part of the CUDA driver that the benchmarks use, opened with dlopen so that they link and run without it.  The table is
 * separate from the library's: the benchmarks measure the library from outside.
 */
#ifndef CUDA_H
#define CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long cuda_pointer;

enum {
    CUDA_L2_CACHE_SIZE = 38,       /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */
    CUDA_STREAM_NON_BLOCKING = 1,  /* CU_STREAM_NON_BLOCKING */
    CUDA_CAPTURE_RELAXED = 2       /* CU_STREAM_CAPTURE_MODE_RELAXED */
};

/* symbol, parameters */
#define CUDA_FUNCTIONS(X)                                                                                                   \
    X(cuInit, (unsigned flags))                                                                                             \
    X(cuGetErrorName, (int error, const char **name))                                                                       \
    X(cuDeviceGet, (int *device, int ordinal))                                                                              \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                        \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                               \
    X(cuCtxSetCurrent, (void *context))                                                                                     \
    X(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                                                           \
    X(cuMemAlloc_v2, (cuda_pointer *pointer, size_t bytes))                                                                 \
    X(cuMemFree_v2, (cuda_pointer pointer))                                                                                 \
    X(cuMemcpyHtoDAsync_v2, (cuda_pointer to, const void *from, size_t bytes, void *stream))                                \
    X(cuMemcpyDtoDAsync_v2, (cuda_pointer to, cuda_pointer from, size_t bytes, void *stream))                               \
    X(cuEventCreate, (void **event, unsigned flags))                                                                        \
    X(cuEventRecord, (void *event, void *stream))                                                                           \
    X(cuEventSynchronize, (void *event))                                                                                    \
    X(cuEventElapsedTime, (float *milliseconds, void *from, void *to))                                                      \
    X(cuStreamSynchronize, (void *stream))                                                                                  \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                                      \
    X(cuStreamDestroy_v2, (void *stream))                                                                                   \
    X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                                       \
    X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                                    \
    X(cuStreamEndCapture, (void *stream, void **graph))                                                                     \
    X(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))                              \
    X(cuGraphLaunch, (void *executable, void *stream))                                                                      \
    X(cuGraphExecDestroy, (void *executable))                                                                               \
    X(cuGraphDestroy, (void *graph))                                                                                        \
    X(cuMemcpyDtoHAsync_v2, (void *to, cuda_pointer from, size_t bytes, void *stream))                                      \
    X(cuMemsetD8Async, (cuda_pointer to, unsigned char value, size_t bytes, void *stream))                                  \
    X(cuEventDestroy_v2, (void *event))                                                                                     \
    X(cuModuleLoadData, (void **module, const void *image))                                                                 \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                               \
    X(cuLaunchKernel,                                                                                                       \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,               \
       unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra))

struct cuda_driver {
#define CUDA_FIELD(symbol, parameters) int(*symbol) parameters;
    CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
};

/* Filled by cuda_open; the functions are NULL before. */
extern struct cuda_driver cuda;

/* On failure false, after a message on stderr. */
bool cuda_open(void);

/* Whether the driver is the emulator of tests/emulator, whose times are meaningless. */
bool cuda_is_emulated(void);

/* A kernel of stream.cu by its name; NULL when the loops were not loaded (machine_cuda.c). */
void *cuda_loop(const char *name);

/* Ends the program after a driver error that does not occur on a working machine. */
#define CUDA(call) cuda_check(cuda.call, #call)
void cuda_check(int error, const char *call);

#endif
