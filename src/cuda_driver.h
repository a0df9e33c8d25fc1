/*
 * The CUDA driver, opened at run time: linking needs no CUDA, and a machine without a driver runs the CPU kernels.
 * Declarations are the driver API's, restated here so that building needs no CUDA header either.
 */
#ifndef QUERN_CUDA_DRIVER_H
#define QUERN_CUDA_DRIVER_H

#include <stddef.h>

#include "quern.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

enum { CUDA_SUCCESS = 0, CUDA_ERROR_NO_DEVICE = 100 };

enum {
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};

/* The oldest driver that has every function below and takes 32,764 bytes of kernel parameters: CUDA 12.4. */
enum { QUERN_CUDA_DRIVER_MIN = 12040 };

/* name of the field, name of the symbol, parameters */
#define QUERN_CUDA_FUNCTIONS(X)                                                                                              \
    X(init, "cuInit", (unsigned flags))                                                                                      \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                                  \
    X(error_name, "cuGetErrorName", (CUresult error, const char **name))                                                     \
    X(error_string, "cuGetErrorString", (CUresult error, const char **text))                                                 \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                        \
    X(device_get, "cuDeviceGet", (CUdevice *device, int ordinal))                                                            \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, CUdevice device))                                              \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, CUdevice device))                                \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *context, CUdevice device))                                     \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))                                                    \
    X(context_push, "cuCtxPushCurrent_v2", (CUcontext context))                                                              \
    X(context_pop, "cuCtxPopCurrent_v2", (CUcontext *context))                                                               \
    X(module_load, "cuModuleLoadData", (CUmodule *module, const void *image))                                                \
    X(module_unload, "cuModuleUnload", (CUmodule module))                                                                    \
    X(module_function, "cuModuleGetFunction", (CUfunction *function, CUmodule module, const char *name))                     \
    X(function_load, "cuFuncLoad", (CUfunction function))                                                                    \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, CUfunction function))                            \
    X(function_set, "cuFuncSetAttribute", (CUfunction function, int attribute, int value))                                   \
    X(launch, "cuLaunchKernel",                                                                                              \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra))

struct quern_cuda {
#define QUERN_CUDA_FIELD(field, symbol, parameters) CUresult(*field) parameters;
    QUERN_CUDA_FUNCTIONS(QUERN_CUDA_FIELD)
#undef QUERN_CUDA_FIELD
};

/*
 * Opens and initialises the driver once per process.  *cuda is NULL unless QUERN_OK.
 * Errors, each with its reason in the detail and the same on every call: QUERN_NO_DRIVER, QUERN_DRIVER_TOO_OLD, QUERN_CUDA_ERROR.
 */
quern_status quern_cuda_open(const struct quern_cuda **cuda);

/* Fails with the driver's own words for an error: "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (invalid argument)". */
quern_status quern_cuda_fail(const quern_device *device, CUresult error, const char *what);

#endif
