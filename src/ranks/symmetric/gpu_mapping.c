/* Maps GPU memory for all GPUs of a process.  Called by the steps of symmetric_cuda.c and symmetric_cuda_register.c. */
#include "ranks/symmetric/symmetric.h"

#include <string.h>

#include "ranks/cuda_rank.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"

/* ---- this process's GPUs ---- */

static bool has_gpu(const struct quern_local_gpus *gpus, CUdevice device) {
    for (int i = 0; i < gpus->count; i++)
        if (gpus->device[i] == device) return true;
    return false;
}

static CUresult add_gpu(struct quern_local_gpus *gpus, int ordinal) {
    CUdevice device;
    CUcontext context;
    CUresult error = gpus->cuda->device_get(&device, ordinal);
    if (error != CUDA_SUCCESS || has_gpu(gpus, device)) return error;
    error = gpus->cuda->context_retain(&context, device);
    if (error != CUDA_SUCCESS) return error;
    gpus->device[gpus->count] = device;
    gpus->context[gpus->count++] = context;
    return CUDA_SUCCESS;
}

quern_status quern_open_local_gpus(const struct quern_membership *member, struct quern_local_gpus *gpus) {
    const struct quern_peer *peers = member->roster->peer;
    gpus->count = 0;
    quern_status status = quern_cuda_open(&gpus->cuda);
    for (int rank = 0; rank < member->ranks && status == QUERN_OK; rank++) {
        if (!peers[rank].is_here) continue;
        CUresult error = add_gpu(gpus, peers[rank].device_ordinal);
        if (error != CUDA_SUCCESS) status = quern_cuda_fail(member->device, error, "cuDevicePrimaryCtxRetain");
    }
    return status;
}

void quern_close_local_gpus(struct quern_local_gpus *gpus) {
    while (gpus->count) gpus->cuda->context_release(gpus->device[--gpus->count]);
}

/* ---- mapping ---- */

struct quern_whose quern_part_of(int rank) {
    struct quern_whose whose;
    struct quern_text text = quern_text_begin(whose.text, sizeof whose.text);
    quern_text_add(&text, "the part of rank %d", rank);
    return whose;
}

static quern_status fail_with(const struct quern_membership *member, CUresult error, const char *call, const char *whose) {
    char what[96];
    struct quern_text text = quern_text_begin(what, sizeof what);
    quern_text_add(&text, "%s of %s", call, whose);
    return quern_fail_handle(member, error, what);
}

quern_status quern_give_access(const struct quern_membership *member, const struct quern_local_gpus *gpus, CUdeviceptr address,
                               size_t bytes, const char *whose) {
    CUmemAccessDesc access[QUERN_RANK_LIMIT];
    for (int i = 0; i < gpus->count; i++)
        access[i] = (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, gpus->device[i]}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult error = gpus->cuda->vmm_set_access(address, bytes, access, (size_t)gpus->count);
    if (error == CUDA_ERROR_INVALID_DEVICE)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "a GPU of this process cannot reach %s: there is no peer access "
                          "between them", whose);
    return error == CUDA_SUCCESS ? QUERN_OK : fail_with(member, error, "cuMemSetAccess", whose);
}

quern_status quern_map_for_all(const struct quern_membership *member, const struct quern_local_gpus *gpus,
                               CUmemGenericAllocationHandle handle, size_t bytes, const char *whose,
                               struct quern_cuda_mapping *mapping) {
    const struct quern_cuda *cuda = gpus->cuda;
    CUresult error = cuda->vmm_reserve(&mapping->address, bytes, 0, 0, 0);
    if (error != CUDA_SUCCESS) {
        mapping->address = 0;
        return fail_with(member, error, "cuMemAddressReserve", whose);
    }
    mapping->bytes = bytes;
    error = cuda->vmm_map(mapping->address, bytes, 0, handle, 0);
    if (error != CUDA_SUCCESS) return fail_with(member, error, "cuMemMap", whose);
    mapping->mapped = true;
    return quern_give_access(member, gpus, mapping->address, bytes, whose);
}

void quern_unmap(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping) {
    if (mapping->mapped) cuda->vmm_unmap(mapping->address, mapping->bytes);
    mapping->mapped = false;
}

void quern_unreserve(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping) {
    if (mapping->address) cuda->vmm_unreserve(mapping->address, mapping->bytes);
    mapping->address = 0;
}

quern_status quern_cuda_take(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                             const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, NULL);
    quern_status status = error == CUDA_SUCCESS ? step->run(memory, member) : quern_cuda_fail(member->device, error, "cuInit");
    quern_cuda_end_visit(&visit);
    return status;
}

/* ---- pending work ---- */

static quern_status record_event(const struct quern_cuda_visit *visit, const struct quern_membership *member, CUstream stream,
                                 struct quern_symmetric_use *use) {
    const struct quern_cuda *cuda = visit->cuda;
    int capturing = 0;
    CUresult error = cuda->stream_is_capturing(stream, &capturing);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamIsCapturing");
    if (capturing)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the stream is being captured: memory cannot be freed by a "
                          "graph, which may be launched again");
    error = cuda->event_create(&use->event, CU_EVENT_DISABLE_TIMING);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuEventCreate");
    error = cuda->event_record(use->event, stream);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    cuda->event_destroy(use->event);
    return quern_cuda_rank_fail(member, error, "cuEventRecord on the stream of a call that frees memory");
}

quern_status quern_cuda_record(const struct quern_membership *member, void *stream, struct quern_symmetric_use *use) {
    struct quern_cuda_visit visit;
    use->context = member->device->context;
    CUresult error = quern_cuda_begin_visit(&visit, use->context);
    quern_status status = error == CUDA_SUCCESS ? record_event(&visit, member, stream, use)
                                                : quern_cuda_rank_fail(member, error, "cuCtxPushCurrent");
    quern_cuda_end_visit(&visit);
    return status;
}

/* After an error of the device no work is pending any more. */
bool quern_cuda_has_ended(const struct quern_symmetric_use *use) {
    struct quern_cuda_visit visit;
    CUresult result = quern_cuda_begin_visit(&visit, use->context);
    if (result == CUDA_SUCCESS) result = visit.cuda->event_query(use->event);
    quern_cuda_end_visit(&visit);
    return result != CUDA_ERROR_NOT_READY;
}

void quern_cuda_await(const struct quern_symmetric_use *use) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, use->context) == CUDA_SUCCESS) visit.cuda->event_synchronize(use->event);
    quern_cuda_end_visit(&visit);
}

void quern_cuda_erase(struct quern_symmetric_use *use) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, use->context) == CUDA_SUCCESS) visit.cuda->event_destroy(use->event);
    quern_cuda_end_visit(&visit);
}
