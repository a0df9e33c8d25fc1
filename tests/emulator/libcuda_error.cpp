// Names and texts of errors, and cuGetProcAddress.
#include "libcuda.h"

#include <dlfcn.h>

namespace {

struct ErrorText { int code; const char *name, *text; };
#define E(code, name, text) {code, "CUDA_" name, text}
const ErrorText errors[] = {
    E(0, "SUCCESS", "no error"),
    E(1, "ERROR_INVALID_VALUE", "invalid argument"),
    E(2, "ERROR_OUT_OF_MEMORY", "out of memory"),
    E(3, "ERROR_NOT_INITIALIZED", "initialization error"),
    E(4, "ERROR_DEINITIALIZED", "driver shutting down"),
    E(34, "ERROR_STUB_LIBRARY", "CUDA driver is a stub library"),
    E(46, "ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"),
    E(100, "ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    E(101, "ERROR_INVALID_DEVICE", "invalid device ordinal"),
    E(200, "ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    E(201, "ERROR_INVALID_CONTEXT", "invalid device context"),
    E(205, "ERROR_MAP_FAILED", "mapping of buffer object failed"),
    E(209, "ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    E(217, "ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"),
    E(218, "ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    E(222, "ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."),
    E(303, "ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"),
    E(400, "ERROR_INVALID_HANDLE", "invalid resource handle"),
    E(401, "ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"),
    E(500, "ERROR_NOT_FOUND", "named symbol not found"),
    E(600, "ERROR_NOT_READY", "device not ready"),
    E(700, "ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    E(701, "ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    E(702, "ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
    E(704, "ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"),
    E(705, "ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"),
    E(710, "ERROR_ASSERT", "device-side assert triggered"),
    E(712, "ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"),
    E(713, "ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"),
    E(715, "ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"),
    E(716, "ERROR_MISALIGNED_ADDRESS", "misaligned address"),
    E(719, "ERROR_LAUNCH_FAILED", "unspecified launch failure"),
    E(720, "ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    E(800, "ERROR_NOT_PERMITTED", "operation not permitted"),
    E(801, "ERROR_NOT_SUPPORTED", "operation not supported"),
    E(802, "ERROR_SYSTEM_NOT_READY", "system not yet initialized"),
    E(803, "ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"),
    E(900, "ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"),
    E(901, "ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"),
    E(902, "ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"),
    E(903, "ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"),
    E(904, "ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"),
    E(905, "ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"),
    E(906, "ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"),
    E(907, "ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"),
    E(908, "ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"),
    E(909, "ERROR_TIMEOUT", "wait operation timed out"),
    E(912, "ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"),
    E(999, "ERROR_UNKNOWN", "unknown error"),
};
#undef E

const ErrorText *find(int code) {
  for (const ErrorText &e : errors)
    if (e.code == code) return &e;
  return nullptr;
}

}  // namespace

using namespace emulator;

API Result cuGetErrorName(int code, const char **name) {
  const ErrorText *e = find(code);
  *name = e ? e->name : nullptr;
  return e ? success : invalid_value;
}

API Result cuGetErrorString(int code, const char **text) {
  const ErrorText *e = find(code);
  *text = e ? e->text : nullptr;
  return e ? success : invalid_value;
}

// The newest version of a name wins, as for a caller built with CUDA 13.
API Result cuGetProcAddress_v2(const char *name, void **function, int, unsigned long long, int *status) {
  static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
  Dl_info self;
  if (!name || !function || !dladdr(reinterpret_cast<void *>(&cuGetErrorName), &self)) return invalid_value;
  void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *function = nullptr;
  for (const char *suffix : suffixes)
    if (!*function) *function = dlsym(library, (std::string(name) + suffix).c_str());
  if (library) dlclose(library);
  if (status) *status = *function ? 0 : 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *function ? success : not_found;
}
