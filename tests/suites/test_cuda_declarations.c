/*
 * The library's own declarations of the CUDA driver API against the numbers of cuda.h, as CUDA 13.0 has them: constants, and where
 * the members of structs are.  The emulator has numbers of its own, which a wrong constant may miss.
 *
 * Runs on: one cpu, one emulated.
 */
#include "harness/device.h"
#include "runtime/cuda_driver.h"

struct number {
    const char *name;
    size_t ours, theirs;
};

static void check_numbers(const struct number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        check(numbers[i].ours == numbers[i].theirs, "%s is %zu: cuda.h has %zu", numbers[i].name, numbers[i].ours,
              numbers[i].theirs);
}

Test(cuda_declarations, constants) {
#define VALUE(name, theirs) {#name, name, theirs}
    static const struct number numbers[] = {
        VALUE(CUDA_SUCCESS, 0), VALUE(CUDA_ERROR_INVALID_VALUE, 1), VALUE(CUDA_ERROR_OUT_OF_MEMORY, 2),
        VALUE(CUDA_ERROR_STUB_LIBRARY, 34), VALUE(CUDA_ERROR_DEVICE_UNAVAILABLE, 46), VALUE(CUDA_ERROR_INVALID_HANDLE, 400),
        VALUE(CUDA_ERROR_NO_DEVICE, 100), VALUE(CUDA_ERROR_INVALID_DEVICE, 101), VALUE(CUDA_ERROR_INVALID_IMAGE, 200),
        VALUE(CUDA_ERROR_NO_BINARY_FOR_GPU, 209), VALUE(CUDA_ERROR_INVALID_PTX, 218),
        VALUE(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221), VALUE(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222),
        VALUE(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223), VALUE(CUDA_ERROR_NOT_FOUND, 500), VALUE(CUDA_ERROR_NOT_READY, 600),
        VALUE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701), VALUE(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704),
        VALUE(CUDA_ERROR_ILLEGAL_STATE, 401), VALUE(CUDA_ERROR_SYSTEM_NOT_READY, 802),
        VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900), VALUE(CUDA_ERROR_NOT_SUPPORTED, 801),
        VALUE(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912),
        VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16),
        VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75), VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76),
        VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97),
        VALUE(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102),
        VALUE(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103),
        VALUE(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 128), VALUE(CU_MEM_HANDLE_TYPE_FABRIC, 8),
        VALUE(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 132), VALUE(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1),
        VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8),
        VALUE(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9), VALUE(CU_MEM_LOCATION_TYPE_DEVICE, 1),
        VALUE(CU_MEM_ALLOCATION_TYPE_PINNED, 1), VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1),
        VALUE(CU_MEM_ACCESS_FLAGS_PROT_READ, 1), VALUE(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17),
        VALUE(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3), VALUE(CU_MEMHOSTREGISTER_PORTABLE, 1),
        VALUE(CU_MEMHOSTREGISTER_DEVICEMAP, 2), VALUE(CU_MEMORYTYPE_DEVICE, 2), VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2),
        VALUE(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7), VALUE(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8),
        VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9), VALUE(CU_EVENT_DISABLE_TIMING, 2), VALUE(CU_STREAM_NON_BLOCKING, 1),
        VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4), VALUE(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6),
        VALUE(CU_STREAM_CAPTURE_MODE_RELAXED, 2), VALUE(CU_STREAM_WAIT_VALUE_EQ, 1),
        VALUE(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, 1)};
    check_numbers(numbers, COUNT(numbers));
}

Test(cuda_declarations, structs) {
#define SIZE(type, theirs) {"sizeof " #type, sizeof(type), theirs}
#define PLACE(type, member, theirs) {#type "." #member, offsetof(type, member), theirs}
    static const struct number numbers[] = {
        SIZE(CUmemLocation, 8), PLACE(CUmemLocation, type, 0), PLACE(CUmemLocation, id, 4), SIZE(CUmemFabricHandle, 64),
        SIZE(CUmemAllocationProp, 32), PLACE(CUmemAllocationProp, type, 0), PLACE(CUmemAllocationProp, requested_handle_types, 4),
        PLACE(CUmemAllocationProp, location, 8), PLACE(CUmemAllocationProp, win32_handle_meta_data, 16),
        PLACE(CUmemAllocationProp, flags, 24), SIZE(CUmemAccessDesc, 12), PLACE(CUmemAccessDesc, location, 0),
        PLACE(CUmemAccessDesc, flags, 8), SIZE(CUmulticastObjectProp, 32), PLACE(CUmulticastObjectProp, device_count, 0),
        PLACE(CUmulticastObjectProp, size, 8), PLACE(CUmulticastObjectProp, handle_types, 16),
        PLACE(CUmulticastObjectProp, flags, 24), SIZE(CUuuid, 16), SIZE(CUlaunchAttribute, 72), PLACE(CUlaunchAttribute, id, 0),
        PLACE(CUlaunchAttribute, value, 8), SIZE(CUlaunchConfig, 56), PLACE(CUlaunchConfig, grid_x, 0),
        PLACE(CUlaunchConfig, grid_y, 4), PLACE(CUlaunchConfig, grid_z, 8), PLACE(CUlaunchConfig, block_x, 12),
        PLACE(CUlaunchConfig, block_y, 16), PLACE(CUlaunchConfig, block_z, 20), PLACE(CUlaunchConfig, shared_bytes, 24),
        PLACE(CUlaunchConfig, stream, 32), PLACE(CUlaunchConfig, attributes, 40), PLACE(CUlaunchConfig, attribute_count, 48),
        SIZE(CUipcMemHandle, 64)};
    check_numbers(numbers, COUNT(numbers));
}

/* A driver older than every function of the library needs. */
Test(cuda_declarations, oldest_driver) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("a CPU needs no driver");
    quern_device *device;
    setenv("QUERN_EMULATOR_FAIL", "driver_version:12039", 1);
    const quern_status status = quern_device_open(QUERN_CUDA, 0, &device);
    check(status == QUERN_DRIVER_TOO_OLD &&
          !strcmp(error_detail(), "the CUDA driver supports CUDA 12.3, at least 12.4 is needed"), "%s: %s",
          quern_status_string(status), error_detail());
}
