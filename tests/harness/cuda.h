/*
 * The part of the CUDA driver that the tests use: memory, streams, graphs.  The table is opened with dlopen and separate from the
 * library's, so that nothing is shared with the code under test.  libcuda.so.1 is the machine's or the emulator's, depending on
 * the loader's path.
 */
#ifndef HARNESS_CUDA_H
#define HARNESS_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long cuda_pointer;
typedef void cuda_host_function(void *user);

struct cuda_driver {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDeviceGetCount)(int *count);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuCtxGetCurrent)(void **context);
    int (*cuMemAlloc_v2)(cuda_pointer *pointer, size_t bytes);
    int (*cuMemFree_v2)(cuda_pointer pointer);
    int (*cuMemcpyHtoDAsync_v2)(cuda_pointer to, const void *from, size_t bytes, void *stream);
    int (*cuMemcpyDtoHAsync_v2)(void *to, cuda_pointer from, size_t bytes, void *stream);
    int (*cuMemcpyDtoDAsync_v2)(cuda_pointer to, cuda_pointer from, size_t bytes, void *stream);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuStreamSynchronize)(void *stream);
    int (*cuStreamQuery)(void *stream);
    int (*cuStreamWaitEvent)(void *stream, void *event, unsigned flags);
    int (*cuEventCreate)(void **event, unsigned flags);
    int (*cuEventRecord)(void *event, void *stream);
    int (*cuEventDestroy_v2)(void *event);
    int (*cuEventElapsedTime)(float *milliseconds, void *from, void *to);
    int (*cuStreamBeginCapture_v2)(void *stream, int mode);
    int (*cuStreamEndCapture)(void *stream, void **graph);
    int (*cuGraphInstantiateWithFlags)(void **executable, void *graph, unsigned long long flags);
    int (*cuGraphLaunch)(void *executable, void *stream);
    int (*cuGraphExecDestroy)(void *executable);
    int (*cuGraphDestroy)(void *graph);
    int (*cuLaunchHostFunc)(void *stream, cuda_host_function *function, void *user);  /* NULL on the emulator */
};

/* The kernels that this process has launched, and their blocks, counted by the emulator; -1 with a driver that does not count. */
long long cuda_launches(void);
long long cuda_blocks(void);

/* Of those, the ones that have started before the kernel before them in the stream had ended, likewise. */
long long cuda_early_launches(void);

/* The multimem.ld_reduce instructions that threads have executed, likewise. */
long long cuda_reductions(void);

/* The ordered loads of threads, and those of the word that the thread has looked at just before: it waits for others.  Likewise. */
long long cuda_looks(void);
long long cuda_waits(void);

/* The memory that this process has bound to multicast objects and not unbound, likewise. */
long cuda_bindings(void);

/*
 * From now on the call of the driver with this number that the calling thread makes returns an error; 0: none does.  Then: how many
 * calls it has made since.  Only on the emulator: cuda_is_emulated.
 */
void cuda_fail_call(long number, int error);
long cuda_calls(void);
int cuda_is_emulated(void);

/* The driver, opened on first use; the test fails when it or one of its functions is missing. */
const struct cuda_driver *cuda(void);

/* What is enqueued between them becomes a graph, which can be launched on any stream and is then destroyed. */
void cuda_begin_capture(void *stream);
void *cuda_end_capture(void *stream);

/* Fails the test when a driver call did not return CUDA_SUCCESS. */
#define CUDA(call) cuda_check(cuda()->call, #call)
void cuda_check(int result, const char *call);

#endif
