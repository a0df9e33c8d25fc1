// The part of cuBLAS that the library calls, on the emulator's devices: their memory is host memory, so a product waits for its
// stream and is computed here.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Handle {
  void *stream;
  int (*synchronize)(void *stream);
};

enum Status { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
const struct {
  Status status;
  const char *name;
} names[] = {
    {NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED"}, {ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED"},
    {INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE"}, {EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED"},
    {NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"},
};
enum Type { F32 = 0, F16 = 2, BF16 = 14 };

float bits_to_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

uint32_t float_to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

double load(const void *matrix, int type, int64_t i) {
  if (type == F32) return static_cast<const float *>(matrix)[i];
  if (type == F16) return static_cast<double>(static_cast<const _Float16 *>(matrix)[i]);
  return bits_to_float(static_cast<uint32_t>(static_cast<const uint16_t *>(matrix)[i]) << 16);
}

void store(void *matrix, int type, int64_t i, double value) {
  if (type == F32) {
    static_cast<float *>(matrix)[i] = static_cast<float>(value);
  } else if (type == F16) {
    static_cast<_Float16 *>(matrix)[i] = static_cast<_Float16>(value);
  } else {
    const uint32_t bits = float_to_bits(static_cast<float>(value));
    static_cast<uint16_t *>(matrix)[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

bool known(int type) { return type == F32 || type == F16 || type == BF16; }

long handles;

template <class Function> Function *driver_function(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver ? reinterpret_cast<Function *>(dlsym(driver, name)) : nullptr;
}

int status_of(int error) { return error == 2 ? ALLOC_FAILED : error ? EXECUTION_FAILED : SUCCESS; }

// Each call may be the one that a test lets fail: libcuda.cpp.
int enter(const char *function) {
  static auto *counted = driver_function<int(const char *)>("quern_emulator_enter");
  return counted ? status_of(counted(function)) : SUCCESS;
}

}  // namespace

API long quern_emulator_cublas_handles() { return handles; }

API int cublasCreate_v2(void **handle) {
  if (const int error = enter(__func__)) return error;
  auto *synchronize = driver_function<int(void *)>("cuStreamSynchronize");
  if (!synchronize) return NOT_INITIALIZED;
  *handle = new Handle{nullptr, synchronize};
  handles++;
  return SUCCESS;
}

API int cublasDestroy_v2(void *handle) {
  if (const int error = enter(__func__)) return error;
  delete static_cast<Handle *>(handle);
  handles--;
  return SUCCESS;
}

API int cublasSetStream_v2(void *handle, void *stream) {
  if (const int error = enter(__func__)) return error;
  static_cast<Handle *>(handle)->stream = stream;
  return SUCCESS;
}

API const char *cublasGetStatusName(int status) {
  for (const auto &known : names)
    if (known.status == status) return known.name;
  return nullptr;
}

// Column-major: element (i, j) of a matrix is at i + j * stride.
API int cublasGemmEx_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                        int a_type,
                        int64_t a_stride, const void *b, int b_type, int64_t b_stride, const void *beta, void *c, int c_type,
                        int64_t c_stride, int compute_type, int) {
  if (const int error = enter(__func__)) return error;
  if (m < 0 || n < 0 || k < 0 || c_stride < m || a_stride < (op_a ? k : m) || b_stride < (op_b ? n : k)) return INVALID_VALUE;
  if (compute_type != 68 || a_type != b_type || !known(a_type) || (c_type != F32 && c_type != a_type)) return NOT_SUPPORTED;
  auto *opened = static_cast<Handle *>(handle);
  if (const int error = status_of(opened->synchronize(opened->stream))) return error;
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; i < m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += load(a, a_type, op_a ? l + i * a_stride : i + l * a_stride)
            * load(b, b_type, op_b ? j + l * b_stride : l + j * b_stride);
      const float factor = *static_cast<const float *>(beta);
      const double old = factor == 0 ? 0 : factor * load(c, c_type, i + j * c_stride);
      store(c, c_type, i + j * c_stride, *static_cast<const float *>(alpha) * sum + old);
    }
  }
  return SUCCESS;
}
