// The part of the CUDA driver API that the self-test calls, bound by dlsym.
#pragma once
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sanitizer.h"

typedef unsigned long long Pointer, Handle;

// Laid out as in cuda.h.
struct MemoryLocation { int type, id; };
struct MemoryProp { int type; unsigned handle_types; MemoryLocation location; void *metadata; unsigned char flags[8]; };
struct MemoryAccess { MemoryLocation location; unsigned flags; };
struct IpcHandle { char bytes[64]; };
struct MulticastProp { unsigned devices; size_t bytes; unsigned long long handle_types, flags; };

struct LaunchAttribute { unsigned id; char pad[4]; unsigned x, y, z; char rest[52]; };
struct LaunchConfig { unsigned grid[3], block[3], shared; void *stream; LaunchAttribute *attributes; unsigned count; };

#define FUNCTIONS(F) \
  F(cuInit, unsigned) F(cuDriverGetVersion, int *) F(cuDeviceGetCount, int *) F(cuDeviceGetAttribute, int *, int, int) \
  F(cuDevicePrimaryCtxRetain, void **, int) F(cuDevicePrimaryCtxRelease_v2, int) F(cuDevicePrimaryCtxReset_v2, int) \
  F(cuCtxSetCurrent, void *) F(cuCtxGetCurrent, void **) F(cuCtxSynchronize) \
  F(cuLibraryLoadData, void **, const void *, int *, void **, unsigned, int *, void **, unsigned) \
  F(cuLibraryUnload, void *) F(cuLibraryGetKernel, void **, void *, const char *) F(cuKernelGetFunction, void **, void *) \
  F(cuModuleLoadData, void **, const void *) F(cuModuleGetFunction, void **, void *, const char *) \
  F(cuFuncSetAttribute, void *, int, int) F(cuFuncGetAttribute, int *, int, void *) \
  F(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) \
  F(cuLaunchKernelEx, const LaunchConfig *, void *, void **, void **) \
  F(cuOccupancyMaxActiveClusters, int *, void *, const LaunchConfig *) \
  F(cuOccupancyMaxPotentialClusterSize, int *, void *, const LaunchConfig *) \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, void *, int, size_t) \
  F(cuMemAlloc_v2, Pointer *, size_t) F(cuMemFree_v2, Pointer) F(cuMemAllocHost_v2, void **, size_t) F(cuMemFreeHost, void *) \
  F(cuMemAllocAsync, Pointer *, size_t, void *) F(cuMemFreeAsync, Pointer, void *) \
  F(cuDeviceGetDefaultMemPool, void **, int) F(cuMemPoolSetAccess, void *, const MemoryAccess *, size_t) \
  F(cuGreenCtxCreate, void **, void *, int, unsigned) F(cuGreenCtxDestroy, void *) \
  F(cuGreenCtxStreamCreate, void **, void *, unsigned, int) F(cuStreamGetCtx, void *, void **) \
  F(cuStreamGetCtx_v2, void *, void **, void **) \
  F(cuMemcpyHtoD_v2, Pointer, const void *, size_t) F(cuMemcpyDtoH_v2, void *, Pointer, size_t) \
  F(cuMemcpyDtoHAsync_v2, void *, Pointer, size_t, void *) F(cuMemcpyHtoDAsync_v2, Pointer, const void *, size_t, void *) \
  F(cuMemsetD8_v2, Pointer, unsigned char, size_t) F(cuMemsetD32Async, Pointer, unsigned, size_t, void *) \
  F(cuPointerGetAttribute, void *, int, Pointer) F(cuMemGetInfo_v2, size_t *, size_t *) \
  F(cuStreamCreate, void **, unsigned) F(cuStreamDestroy_v2, void *) F(cuStreamSynchronize, void *) F(cuStreamQuery, void *) \
  F(cuStreamWaitEvent, void *, void *, unsigned) F(cuStreamBeginCapture_v2, void *, int) F(cuStreamEndCapture, void *, void **) \
  F(cuStreamCreateWithPriority, void **, unsigned, int) F(cuStreamGetPriority, void *, int *) \
  F(cuCtxGetStreamPriorityRange, int *, int *) F(cuStreamIsCapturing, void *, int *) \
  F(cuStreamGetCaptureInfo_v2, void *, int *, unsigned long long *, void **, void *const **, size_t *) \
  F(cuUserObjectCreate, void **, void *, void (*)(void *), unsigned, unsigned) F(cuUserObjectRelease, void *, unsigned) \
  F(cuGraphRetainUserObject, void *, void *, unsigned, unsigned) F(cuThreadExchangeStreamCaptureMode, int *) \
  F(cuGraphInstantiateWithFlags, void **, void *, unsigned long long) F(cuGraphLaunch, void *, void *) \
  F(cuGraphExecDestroy, void *) F(cuGraphDestroy, void *) \
  F(cuEventCreate, void **, unsigned) F(cuEventDestroy_v2, void *) F(cuEventRecord, void *, void *) F(cuEventQuery, void *) \
  F(cuEventSynchronize, void *) F(cuEventElapsedTime_v2, float *, void *, void *) \
  F(cuLaunchHostFunc, void *, void (*)(void *), void *) F(cuCtxGetDevice, int *) F(cuDeviceGetPCIBusId, char *, int, int) \
  F(cuDeviceCanAccessPeer, int *, int, int) F(cuCtxEnablePeerAccess, void *, unsigned) F(cuCtxDisablePeerAccess, void *) \
  F(cuDeviceGetP2PAttribute, int *, int, int, int) \
  F(cuMemHostRegister_v2, void *, size_t, unsigned) F(cuMemHostUnregister, void *) \
  F(cuMemHostGetDevicePointer_v2, Pointer *, void *, unsigned) \
  F(cuMemGetAllocationGranularity, size_t *, const MemoryProp *, int) \
  F(cuMemCreate, Handle *, size_t, const MemoryProp *, unsigned long long) F(cuMemRelease, Handle) \
  F(cuMemAddressReserve, Pointer *, size_t, size_t, Pointer, unsigned long long) F(cuMemAddressFree, Pointer, size_t) \
  F(cuMemMap, Pointer, size_t, size_t, Handle, unsigned long long) F(cuMemUnmap, Pointer, size_t) \
  F(cuMemSetAccess, Pointer, size_t, const MemoryAccess *, size_t) \
  F(cuMemGetAccess, unsigned long long *, const MemoryLocation *, Pointer) \
  F(cuMemExportToShareableHandle, void *, Handle, int, unsigned long long) \
  F(cuMemImportFromShareableHandle, Handle *, void *, int) F(cuMemRetainAllocationHandle, Handle *, void *) \
  F(cuMemGetAllocationPropertiesFromHandle, MemoryProp *, Handle) \
  F(cuIpcGetMemHandle, IpcHandle *, Pointer) F(cuIpcOpenMemHandle_v2, Pointer *, IpcHandle, unsigned) \
  F(cuIpcCloseMemHandle, Pointer) \
  F(cuMulticastCreate, Handle *, const MulticastProp *) F(cuMulticastAddDevice, Handle, int) \
  F(cuMulticastBindMem, Handle, size_t, Handle, size_t, size_t, unsigned long long) \
  F(cuMulticastUnbind, Handle, int, size_t, size_t) F(cuMulticastGetGranularity, size_t *, const MulticastProp *, int) \
  F(cuGetProcAddress_v2, const char *, void **, int, unsigned long long, int *) F(cuGetErrorName, int, const char **)

#define DECLARE(name, ...) static int (*name)(__VA_ARGS__);
FUNCTIONS(DECLARE)
#undef DECLARE

static void bind_driver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror()), exit(2);
#define BIND(name, ...) \
  if (!(*reinterpret_cast<void **>(&name) = dlsym(library, #name))) fprintf(stderr, "no %s\n", #name), exit(2);
  FUNCTIONS(BIND)
#undef BIND
}

// ---- checks: counted, and one line each for those that fail ----

static int passed, failed;
static std::string test_name;

static void check(bool ok, const char *text, int line) {
  (ok ? passed : failed)++;
  if (!ok) printf("FAILED %s: line %d: %s\n", test_name.c_str(), line, text);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static void check_code(int got, int wanted, const char *text, int line) {
  (got == wanted ? passed : failed)++;
  if (got != wanted) printf("FAILED %s: line %d: %s gives %d, not %d\n", test_name.c_str(), line, text, got, wanted);
}
#define GIVES(code, call) check_code((call), (code), #call, __LINE__)
#define OK(call) GIVES(0, call)

// What a call that must succeed writes to its first argument.
template <class T, class... P, class... A> T given(int line, const char *text, int (*call)(T *, P...), A... arguments) {
  T value = {};
  check_code(call(&value, arguments...), 0, text, line);
  return value;
}
#define GIVEN(...) given(__LINE__, #__VA_ARGS__, __VA_ARGS__)

// ---- conveniences ----

struct Stream {
  void *stream;
  explicit Stream(unsigned flags = 1, int priority = 0) : stream(GIVEN(cuStreamCreateWithPriority, flags, priority)) {}
  Stream(const Stream &) = delete;
  ~Stream() { OK(cuStreamDestroy_v2(stream)); }
  operator void *() const { return stream; }
};

// What a function puts on a stream, recorded in a mode and run as often as wanted.
struct Graph {
  void *stream, *graph, *executable;
  template <class F> Graph(void *of, int mode, F record) : stream(of) {
    OK(cuStreamBeginCapture_v2(stream, mode));
    record();
    OK(cuStreamEndCapture(stream, &graph));
    executable = GIVEN(cuGraphInstantiateWithFlags, graph, 0);
  }
  ~Graph() {
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
  }
  void run(int times = 1) const {
    for (int i = 0; i < times; i++) OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
  }
};

// The work of the current device fails, and its context is new.
static void fails(int code, int device, int line) {
  check_code(cuCtxSynchronize(), code, "cuCtxSynchronize()", line);
  OK(cuDevicePrimaryCtxReset_v2(device));
}
#define FAILS(code, device) fails(code, device, __LINE__)

template <class T> struct Buffer {
  Pointer p = 0;
  size_t n;
  explicit Buffer(size_t count) : n(count) { OK(cuMemAlloc_v2(&p, n * sizeof(T))); }
  explicit Buffer(const std::vector<T> &v) : Buffer(v.size()) { OK(cuMemcpyHtoD_v2(p, v.data(), n * sizeof(T))); }
  Buffer(const Buffer &) = delete;
  ~Buffer() { cuMemFree_v2(p); }
  std::vector<T> get() {
    std::vector<T> v(n);
    OK(cuMemcpyDtoH_v2(v.data(), p, n * sizeof(T)));
    return v;
  }
};

static std::vector<char> read_file(const std::string &path) {
  std::ifstream f(path, std::ios::binary);
  if (!f) fprintf(stderr, "cannot read %s\n", path.c_str()), exit(2);
  return std::vector<char>(std::istreambuf_iterator<char>(f), {});
}

struct Shape { unsigned grid, block, shared = 0; void *stream = nullptr; };

static void *library;

static void *kernel(const char *name) {
  void *k = nullptr;
  cuLibraryGetKernel(&k, library, name);
  return k;
}

template <class... A> int launch(const char *name, Shape s, A... arguments) {
  void *list[] = {&arguments..., nullptr};
  return cuLaunchKernel(kernel(name), s.grid, 1, 1, s.block, 1, 1, s.shared, s.stream, list, nullptr);
}

// The output on stderr while `f` runs.
template <class F> std::string printed_by(F f) {
  fflush(stderr);
  int saved = dup(2);
  FILE *file = tmpfile();
  dup2(fileno(file), 2);
  f();
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::string text(size_t(ftell(file) < 0 ? 0 : lseek(fileno(file), 0, SEEK_END)), 0);
  rewind(file);
  text.resize(fread(&text[0], 1, text.size(), file));
  fclose(file);
  return text;
}

// ---- the program ----

struct Test { const char *name; void (*run)(); };

static std::string directory;
static std::vector<void *> contexts;
static int capability;  // of the current device, 90 for 9.0

static void use_device(int d) {
  OK(cuCtxSetCurrent(contexts[size_t(d)]));
  capability = GIVEN(cuDeviceGetAttribute, 75, d) * 10 + GIVEN(cuDeviceGetAttribute, 76, d);
}

// The driver with all devices, the kernels of a directory and the first device.
static void start(const char *kernels, const char *timeout, const char *images) {
  directory = kernels;
  setenv("QUERN_EMULATOR_KERNELS", kernels, 1);
  setenv("QUERN_EMULATOR_TIMEOUT", timeout, 0);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  bind_driver();
  GIVES(3, cuCtxSetCurrent(nullptr));
  OK(cuInit(0));
  for (int d = 0, devices = GIVEN(cuDeviceGetCount); d < devices; d++) contexts.push_back(GIVEN(cuDevicePrimaryCtxRetain, d));
  auto image = read_file(directory + images);
  OK(cuLibraryLoadData(&library, image.data(), 0, 0, 0, 0, 0, 0));
  use_device(0);
}

template <size_t count> static void run_tests(const Test (&tests)[count], const std::string &suffix = "") {
  for (const Test &t : tests) test_name = t.name + suffix, t.run();
}

static int end() {
  OK(cuLibraryUnload(library));
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

#ifdef THREAD_SANITIZER
// An error that ThreadSanitizer must see ends the program, called with these arguments, with its status.
static void check_race(std::vector<const char *> arguments) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("TSAN_OPTIONS", "exitcode=66", 1);
    arguments.push_back(nullptr);
    execv(arguments[0], const_cast<char *const *>(arguments.data()));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 66);
}
#endif
