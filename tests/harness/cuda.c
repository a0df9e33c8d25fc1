/* Opens the CUDA driver for the tests.  cuda.h documents the functions. */
#include "harness/cuda.h"

#include <dlfcn.h>

#include "harness/check.h"

static struct cuda_driver driver;

/* As in tests/emulator/libcuda.cpp. */
struct emulator_statistics {
    unsigned long long launches, blocks, switches, allocations, bytes;
};

static void (*emulator_statistics)(struct emulator_statistics *statistics);
static unsigned long long (*emulator_early_launches)(void);
static unsigned long long (*emulator_reductions)(void);
static unsigned long long (*emulator_looks)(void);
static unsigned long long (*emulator_waits)(void);
static long (*emulator_bindings)(void);
static void (*emulator_fail_call)(long number, int error);
static long (*emulator_calls)(const char **failed);

static void find_if_there(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
}

static void find(void *library, const char *name, void *function) {
    check(dlsym(library, name), "the driver has no %s", name);
    find_if_there(library, name, function);
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    check(library, "QUERN_TEST_DEVICE=cuda, but: %s", dlerror());
#define FIND(name) find(library, #name, &driver.name)
    FIND(cuInit);
    FIND(cuDeviceGet);
    FIND(cuDeviceGetCount);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuDevicePrimaryCtxRelease_v2);
    FIND(cuCtxSetCurrent);
    FIND(cuCtxGetCurrent);
    FIND(cuMemAlloc_v2);
    FIND(cuMemFree_v2);
    FIND(cuMemcpyHtoDAsync_v2);
    FIND(cuMemcpyDtoHAsync_v2);
    FIND(cuMemcpyDtoDAsync_v2);
    FIND(cuStreamCreate);
    FIND(cuStreamDestroy_v2);
    FIND(cuStreamSynchronize);
    FIND(cuStreamQuery);
    FIND(cuStreamWaitEvent);
    FIND(cuEventCreate);
    FIND(cuEventRecord);
    FIND(cuEventDestroy_v2);
    FIND(cuEventElapsedTime);
    FIND(cuStreamBeginCapture_v2);
    FIND(cuStreamEndCapture);
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuGraphLaunch);
    FIND(cuGraphExecDestroy);
    FIND(cuGraphDestroy);
#undef FIND
    find_if_there(library, "cuLaunchHostFunc", &driver.cuLaunchHostFunc);
    find_if_there(library, "quern_emulator_statistics", &emulator_statistics);
    find_if_there(library, "quern_emulator_early_launches", &emulator_early_launches);
    find_if_there(library, "quern_emulator_reductions", &emulator_reductions);
    find_if_there(library, "quern_emulator_looks", &emulator_looks);
    find_if_there(library, "quern_emulator_waits", &emulator_waits);
    find_if_there(library, "quern_emulator_bindings", &emulator_bindings);
    find_if_there(library, "quern_emulator_fail_call", &emulator_fail_call);
    find_if_there(library, "quern_emulator_calls", &emulator_calls);
    int result = driver.cuInit(0);
    check(result == 0, "cuInit returned %d", result);
}

const struct cuda_driver *cuda(void) {
    if (!driver.cuInit) open_driver();
    return &driver;
}

static bool read_statistics(struct emulator_statistics *statistics) {
    cuda();
    if (emulator_statistics) emulator_statistics(statistics);
    return emulator_statistics;
}

long long cuda_launches(void) {
    struct emulator_statistics statistics;
    return read_statistics(&statistics) ? (long long)statistics.launches : -1;
}

long long cuda_blocks(void) {
    struct emulator_statistics statistics;
    return read_statistics(&statistics) ? (long long)statistics.blocks : -1;
}

#define COUNT_OF(name)               \
    long long cuda_##name(void) {    \
        cuda();                      \
        return emulator_##name ? (long long)emulator_##name() : -1; \
    }

COUNT_OF(early_launches)
COUNT_OF(reductions)
COUNT_OF(looks)
COUNT_OF(waits)

long cuda_bindings(void) {
    cuda();
    return emulator_bindings ? emulator_bindings() : -1;
}

void cuda_fail_call(long number, int error) {
    cuda();
    check(emulator_fail_call, "only the emulator's calls can be made to fail");
    emulator_fail_call(number, error);
}

long cuda_calls(void) {
    cuda();
    const char *failed;
    return emulator_calls ? emulator_calls(&failed) : -1;
}

int cuda_is_emulated(void) {
    cuda();
    return emulator_calls != NULL;
}

void cuda_check(int result, const char *call) { check(result == 0, "%s returned %d", call, result); }

void cuda_begin_capture(void *stream) {
    enum { GLOBAL = 0 };
    CUDA(cuStreamBeginCapture_v2(stream, GLOBAL));
}

void *cuda_end_capture(void *stream) {
    void *graph, *executable;
    CUDA(cuStreamEndCapture(stream, &graph));
    CUDA(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CUDA(cuGraphDestroy(graph));
    return executable;
}
