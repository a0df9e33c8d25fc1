/* The needs of ranks of a GPU, its driver and the environment.  Called before a rank's data is made. */
#include "ranks/cuda_support.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/gpu_room.h"
#include "runtime/log.h"
#include "runtime/status.h"

static quern_status check_attribute(const struct quern_membership *member, const struct quern_cuda *cuda, int attribute,
                                    const char *what) {
    int supported = 0;
    CUresult error = cuda->device_attribute(&supported, attribute, member->device->cuda_device);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceGetAttribute");
    if (supported) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s does not support %s", member->device->label, what);
}

/* Checks access between GPUs of one process.  GPUs of other processes are checked when their memory is mapped. */
static quern_status check_peers(const struct quern_membership *member, const struct quern_cuda *cuda) {
    const struct quern_peer *peers = member->roster->peer;
    for (int peer = 0; peer < member->ranks; peer++) {
        CUdevice device;
        int can = 0;
        if (!peers[peer].is_here) continue;
        CUresult error = cuda->device_get(&device, peers[peer].device_ordinal);
        if (error == CUDA_SUCCESS && device == member->device->cuda_device) continue;
        if (error == CUDA_SUCCESS) error = cuda->can_access_peer(&can, member->device->cuda_device, device);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceCanAccessPeer");
        if (!can)
            return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s cannot reach the memory of cuda:%d: there is no peer access "
                              "between them", member->device->label, peers[peer].device_ordinal);
    }
    return QUERN_OK;
}

quern_status quern_cuda_check_device(const struct quern_membership *member) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management");
    if (status == QUERN_OK && !member->one_process && !member->control)  /* between hosts fabric handles are known to be there */
        status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                                 "memory handles that other processes can open");
    return status == QUERN_OK ? check_peers(member, cuda) : status;
}

/* The streams of a context share so many hardware queues. */
static int count_queues(void) {
    enum { DEFAULT = 8, MOST = 32 };
    static uint32_t told;
    const int queues = quern_variable_number("CUDA_DEVICE_MAX_CONNECTIONS", MOST, &told);
    return queues ? queues : DEFAULT;
}

int quern_cuda_count_sharers(const struct quern_membership *member) {
    int count = 0;
    for (int rank = 0; rank < member->ranks; rank++)
        count += member->roster->peer[rank].is_here && quern_cuda_same_gpu(member->roster, rank, member->rank);
    return count;
}

/* A kernel that waits for its stream keeps those behind it in the same queue from starting, and it may wait for them. */
quern_status quern_cuda_check_queues(const struct quern_membership *member) {
    const int sharers = quern_cuda_count_sharers(member), queues = count_queues();
    if (sharers <= queues) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: %d ranks of this process share %s, whose streams have %d hardware "
                      "queues: expected one for each rank; set CUDA_DEVICE_MAX_CONNECTIONS (at most 32) before the process uses "
                      "CUDA", member->label, sharers, member->device->label, queues);
}

bool quern_cuda_launches_block(void) {
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && *value && strcmp(value, "0") != 0;
}
