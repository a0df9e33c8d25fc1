/*
 * The CUDA driver, opened at run time: linking needs no CUDA, and a machine without a driver runs the CPU kernels.
 * The declarations repeat those of the driver API, so that building needs no CUDA header either.  For everything that uses a GPU.
 */
#ifndef QUERN_CUDA_DRIVER_H
#define QUERN_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "quern.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUuserObject_st *CUuserObject;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
    CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
};

enum {
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128,
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

enum {
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    CU_MEM_HANDLE_TYPE_FABRIC = 8,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    CU_MEMHOSTREGISTER_PORTABLE = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP = 2,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_WAIT_VALUE_EQ = 1,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
    CU_GRAPH_USER_OBJECT_MOVE = 1,
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1
};

typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

typedef struct CUmemLocation {
    int type;
    int id;
} CUmemLocation;

typedef struct CUmemAllocationProp {
    int type;
    int requested_handle_types;
    CUmemLocation location;
    void *win32_handle_meta_data;
    struct {
        unsigned char compression_type;
        unsigned char gpu_direct_rdma_capable;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

typedef struct CUmemFabricHandle {
    unsigned char data[64];
} CUmemFabricHandle;

typedef struct CUmulticastObjectProp {
    unsigned device_count;
    size_t size;
    unsigned long long handle_types;
    unsigned long long flags;
} CUmulticastObjectProp;

typedef struct CUuuid {
    unsigned char bytes[16];
} CUuuid;

typedef struct CUlaunchAttribute {
    int id;
    int padding;
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster_dim;
        int programmatic_stream_serialization_allowed;
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    CUstream stream;
    CUlaunchAttribute *attributes;
    unsigned attribute_count;
} CUlaunchConfig;

typedef struct CUipcMemHandle {
    unsigned char reserved[64];
} CUipcMemHandle;

/*
 * The oldest driver that has every function below, takes 32,764 bytes of kernel parameters and decompresses images: CUDA 12.4.  The
 * images of a target may need a newer one (struct quern_images).
 */
enum { QUERN_CUDA_DRIVER_MIN = 12040 };

/* The functions: name of the field, name of the symbol, parameters. */
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
    X(context_synchronize, "cuCtxSynchronize", (void))                                                                       \
    X(module_load, "cuModuleLoadData", (CUmodule *module, const void *image))                                                \
    X(module_unload, "cuModuleUnload", (CUmodule module))                                                                    \
    X(module_function, "cuModuleGetFunction", (CUfunction *function, CUmodule module, const char *name))                     \
    X(function_load, "cuFuncLoad", (CUfunction function))                                                                    \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, CUfunction function))                            \
    X(function_set, "cuFuncSetAttribute", (CUfunction function, int attribute, int value))                                   \
    X(launch, "cuLaunchKernel",                                                                                              \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra))                           \
    X(launch_extended, "cuLaunchKernelEx",                                                                                   \
      (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))                                  \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                                              \
      (int *blocks, CUfunction function, int threads, size_t dynamic_shared))                                                \
    X(cluster_occupancy, "cuOccupancyMaxActiveClusters", (int *clusters, CUfunction function, const CUlaunchConfig *config))  \
    X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                                                        \
    X(stream_create, "cuStreamCreate", (CUstream *stream, unsigned flags))                                                   \
    X(stream_create_urgent, "cuStreamCreateWithPriority", (CUstream *stream, unsigned flags, int priority))                  \
    X(stream_priorities, "cuCtxGetStreamPriorityRange", (int *least, int *greatest))                                         \
    X(stream_destroy, "cuStreamDestroy_v2", (CUstream stream))                                                               \
    X(stream_synchronize, "cuStreamSynchronize", (CUstream stream))                                                          \
    X(stream_context, "cuStreamGetCtx", (CUstream stream, CUcontext *context))                                               \
    X(stream_id, "cuStreamGetId", (CUstream stream, unsigned long long *id))                                                 \
    X(stream_is_capturing, "cuStreamIsCapturing", (CUstream stream, int *status))                                            \
    X(stream_capture_info, "cuStreamGetCaptureInfo_v2",                                                                      \
      (CUstream stream, int *status, unsigned long long *id, CUgraph *graph, const CUgraphNode **dependencies, size_t *count)) \
    X(user_object_create, "cuUserObjectCreate",                                                                              \
      (CUuserObject *object, void *data, void (*end)(void *data), unsigned references, unsigned flags))                      \
    X(user_object_release, "cuUserObjectRelease", (CUuserObject object, unsigned references))                                \
    X(graph_retain, "cuGraphRetainUserObject", (CUgraph graph, CUuserObject object, unsigned references, unsigned flags))      \
    X(stream_wait_event, "cuStreamWaitEvent", (CUstream stream, CUevent event, unsigned flags))                              \
    X(stream_wait_value, "cuStreamWaitValue32_v2", (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))     \
    X(stream_write_value, "cuStreamWriteValue32_v2", (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))  \
    X(event_create, "cuEventCreate", (CUevent *event, unsigned flags))                                                       \
    X(event_destroy, "cuEventDestroy_v2", (CUevent event))                                                                   \
    X(event_record, "cuEventRecord", (CUevent event, CUstream stream))                                                       \
    X(event_query, "cuEventQuery", (CUevent event))                                                                          \
    X(event_synchronize, "cuEventSynchronize", (CUevent event))                                                              \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, CUevent from, CUevent to))                                  \
    X(memory_allocate, "cuMemAlloc_v2", (CUdeviceptr *pointer, size_t bytes))                                                \
    X(memory_free, "cuMemFree_v2", (CUdeviceptr pointer))                                                                    \
    X(memory_set_async, "cuMemsetD8Async", (CUdeviceptr pointer, unsigned char value, size_t bytes, CUstream stream))        \
    X(words_set_async, "cuMemsetD32Async", (CUdeviceptr pointer, unsigned value, size_t words, CUstream stream))             \
    X(copy_to_device_async, "cuMemcpyHtoDAsync_v2", (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))       \
    X(copy_to_host_async, "cuMemcpyDtoHAsync_v2", (void *to, CUdeviceptr from, size_t bytes, CUstream stream))               \
    X(copy_on_device_async, "cuMemcpyDtoDAsync_v2", (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))       \
    X(address_range, "cuMemGetAddressRange_v2", (CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer))                     \
    X(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, CUdeviceptr pointer))                         \
    X(host_register, "cuMemHostRegister_v2", (void *pointer, size_t bytes, unsigned flags))                                  \
    X(host_unregister, "cuMemHostUnregister", (void *pointer))                                                               \
    X(host_device_pointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr *device, void *host, unsigned flags))                \
    X(device_uuid, "cuDeviceGetUuid_v2", (CUuuid *uuid, CUdevice device))                                                    \
    X(can_access_peer, "cuDeviceCanAccessPeer", (int *can, CUdevice device, CUdevice peer))                                  \
    X(enable_peer_access, "cuCtxEnablePeerAccess", (CUcontext peer, unsigned flags))                                         \
    X(vmm_granularity, "cuMemGetAllocationGranularity", (size_t *bytes, const CUmemAllocationProp *properties, int option))  \
    X(vmm_create, "cuMemCreate",                                                                                             \
      (CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long flags)) \
    X(vmm_release, "cuMemRelease", (CUmemGenericAllocationHandle handle))                                                    \
    X(vmm_reserve, "cuMemAddressReserve",                                                                                    \
      (CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wish, unsigned long long flags))                    \
    X(vmm_unreserve, "cuMemAddressFree", (CUdeviceptr address, size_t bytes))                                                \
    X(vmm_map, "cuMemMap",                                                                                                   \
      (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags))     \
    X(vmm_unmap, "cuMemUnmap", (CUdeviceptr address, size_t bytes))                                                          \
    X(vmm_set_access, "cuMemSetAccess",                                                                                      \
      (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count))                                      \
    X(vmm_get_access, "cuMemGetAccess",                                                                                      \
      (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address))                                       \
    X(vmm_export, "cuMemExportToShareableHandle",                                                                            \
      (void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags))                            \
    X(vmm_import, "cuMemImportFromShareableHandle", (CUmemGenericAllocationHandle *handle, void *shareable, int type))       \
    X(vmm_retain, "cuMemRetainAllocationHandle", (CUmemGenericAllocationHandle *handle, void *address))                      \
    X(vmm_properties, "cuMemGetAllocationPropertiesFromHandle",                                                              \
      (CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle))                                                \
    X(multicast_create, "cuMulticastCreate", (CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *properties)) \
    X(multicast_add_device, "cuMulticastAddDevice", (CUmemGenericAllocationHandle handle, CUdevice device))                  \
    X(multicast_bind, "cuMulticastBindMem",                                                                                  \
      (CUmemGenericAllocationHandle multicast, size_t multicast_offset, CUmemGenericAllocationHandle memory,                 \
       size_t memory_offset, size_t bytes, unsigned long long flags))                                                        \
    X(multicast_unbind, "cuMulticastUnbind",                                                                                 \
      (CUmemGenericAllocationHandle multicast, CUdevice device, size_t offset, size_t bytes))                                \
    X(multicast_granularity, "cuMulticastGetGranularity", (size_t *bytes, const CUmulticastObjectProp *properties, int option)) \
    X(ipc_export, "cuIpcGetMemHandle", (CUipcMemHandle *handle, CUdeviceptr pointer))                                        \
    X(ipc_open, "cuIpcOpenMemHandle_v2", (CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags))                      \
    X(ipc_close, "cuIpcCloseMemHandle", (CUdeviceptr pointer))

/* Functions that only newer drivers have; NULL without them. */
#define QUERN_CUDA_NEW_FUNCTIONS(X) \
    X(stream_contexts, "cuStreamGetCtx_v2", (CUstream stream, CUcontext *context, void **green))  /* 12.5 */

struct quern_cuda {
#define QUERN_CUDA_FIELD(field, symbol, parameters) CUresult(*field) parameters;
    QUERN_CUDA_FUNCTIONS(QUERN_CUDA_FIELD)
    QUERN_CUDA_NEW_FUNCTIONS(QUERN_CUDA_FIELD)
#undef QUERN_CUDA_FIELD
};

/*
 * Opens and initialises the driver once per process.  Every call returns the same status with the same detail.  On failure *cuda is
 * NULL.  Errors: QUERN_NO_DRIVER, QUERN_DRIVER_TOO_OLD, QUERN_CUDA_ERROR.
 */
quern_status quern_cuda_open(const struct quern_cuda **cuda);

/* The CUDA version of the opened driver, 13000 for 13.0. */
int quern_cuda_version(void);

/* Writes the driver's own text for an error, with a hint for some: "cuMemAlloc: CUDA_ERROR_INVALID_VALUE (invalid argument)". */
enum { QUERN_CUDA_TEXT = 400 };  /* bytes that hold it */
void quern_cuda_describe(CUresult error, const char *what, char *buffer, size_t bytes);

/* Whether an error has ended the context: every later call of the process returns it. */
bool quern_cuda_is_sticky(CUresult error);

/* Fails with that text. */
quern_status quern_cuda_fail(const quern_device *device, CUresult error, const char *what);

#endif
