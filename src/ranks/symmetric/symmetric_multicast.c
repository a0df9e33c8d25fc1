/*
 * Multicast for an allocation on GPUs: one object for all parts, with an address at which one store reaches all of them.  The steps
 * may run again, so each one makes only what is not made yet.  Called by the steps of symmetric_cuda.c.
 */
#include "ranks/symmetric/symmetric.h"

#include "ranks/gpu_room.h"
#include "runtime/status.h"

enum { TAG = 0 };

CUmulticastObjectProp quern_multicast_properties(const struct quern_membership *member, size_t bytes) {
    return (CUmulticastObjectProp){
        .device_count = (unsigned)member->ranks,
        .size = bytes,
        .handle_types = (unsigned long long)quern_cuda_handle_types(member),
    };
}

/* A reason against multicast is a note and not an error: the memory works without multicast. */
static quern_status note_cuda(struct quern_symmetric_memory *memory, CUresult error, const char *what) {
    const char *name = NULL;
    if (quern_cuda_state_of(memory)->gpus.cuda->error_name(error, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    quern_note("%s: %s", what, name);
    memory->may_pass = error == CUDA_ERROR_SYSTEM_NOT_READY;
    return QUERN_CUDA_ERROR;
}

quern_status quern_check_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    const quern_device *device = member->device;
    int supported = 0;
    for (int rank = 0; rank < memory->ranks; rank++) {
        if (memory->part[rank].multicast) continue;
        quern_note("rank %d has not asked for it: expected multicast in the arguments of its group", rank);
        return QUERN_NOT_SUPPORTED;
    }
    if (memory->ranks == 1) {
        quern_note("the group has a single rank");
        return QUERN_NOT_SUPPORTED;
    }
    for (int rank = 0; rank < memory->ranks; rank++) {
        if (rank == member->rank || !quern_cuda_same_gpu(member->roster, rank, member->rank)) continue;
        quern_note("it needs a GPU for each rank, and rank %d has the same", rank);
        return QUERN_NOT_SUPPORTED;
    }
    if (device->compute_capability < QUERN_FIRST_WITH_MULTICAST) {
        quern_note("it needs compute capability 9.0 or newer, and %s has %d.%d", device->label, device->compute_capability / 10,
                   device->compute_capability % 10);
        return QUERN_NOT_SUPPORTED;
    }
    const struct quern_cuda *cuda = quern_cuda_state_of(memory)->gpus.cuda;
    CUresult error = cuda->device_attribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device->cuda_device);
    if (error != CUDA_SUCCESS) return note_cuda(memory, error, "cuDeviceGetAttribute");
    if (supported) return QUERN_OK;
    quern_note("%s does not support it: it needs NVSwitch", device->label);
    return QUERN_NOT_SUPPORTED;
}

static size_t least_padded(const struct quern_symmetric_memory *memory) {
    size_t least = (size_t)memory->part[0].base_bytes;
    for (int rank = 1; rank < memory->ranks; rank++)
        if (memory->part[rank].base_bytes < least) least = (size_t)memory->part[rank].base_bytes;
    return least;
}

/* Rank 0 makes the object and sends it to the other processes. */
quern_status quern_make_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    state->multicast_bytes = least_padded(memory);
    if (member->rank != 0 || state->has_multicast) return QUERN_OK;
    CUmulticastObjectProp properties = quern_multicast_properties(member, state->multicast_bytes);
    CUresult error = state->gpus.cuda->multicast_create(&state->multicast, &properties);
    if (error != CUDA_SUCCESS) return note_cuda(memory, error, "cuMulticastCreate");
    state->has_multicast = true;
    if (state->fabric) return quern_export_fabric(member, state->gpus.cuda, state->multicast, &state->fabric[0]);
    if (member->one_process) return QUERN_OK;
    struct quern_descriptor object = {.tag = TAG};
    quern_status status = quern_export_handle(member, state->gpus.cuda, state->multicast, &object.descriptor);
    if (status == QUERN_OK) status = quern_descriptors_send(member, memory->id, memory->digest, &object, 1);
    quern_close_descriptor(&object.descriptor);
    return status;
}

/* All GPUs must join before memory is bound: binding waits for them. */
quern_status quern_join_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    quern_status status = QUERN_OK;
    if (member->rank != 0 && !state->has_multicast) {
        if (!state->fabric)
            status = quern_descriptors_receive(member, memory->id, memory->digest, state->listener, state->received);
        if (status == QUERN_OK) status = quern_import_handle(member, state, TAG, "the multicast object", &state->multicast);
        state->has_multicast = status == QUERN_OK;
    }
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++) {
        if (!member->roster->peer[rank].is_here || state->joined[rank]) continue;
        CUresult error = state->gpus.cuda->multicast_add_device(state->multicast, state->device[rank]);
        if (error != CUDA_SUCCESS) status = note_cuda(memory, error, "cuMulticastAddDevice");
        state->joined[rank] = error == CUDA_SUCCESS;
    }
    return status;
}

quern_status quern_bind_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    const struct quern_cuda *cuda = state->gpus.cuda;
    for (int rank = 0; rank < memory->ranks; rank++) {
        if (!member->roster->peer[rank].is_here || state->bound[rank]) continue;
        CUresult error = cuda->multicast_bind(state->multicast, 0, state->part[rank].handle, 0, state->multicast_bytes, 0);
        if (error != CUDA_SUCCESS) return note_cuda(memory, error, "cuMulticastBindMem");
        state->bound[rank] = true;
    }
    quern_status status = QUERN_OK;
    if (!state->multicast_mapping.address)
        status = quern_map_for_all(member, &state->gpus, state->multicast, state->multicast_bytes, "the multicast object",
                                   &state->multicast_mapping);
    if (status == QUERN_OK) memory->multicast = (void *)(uintptr_t)state->multicast_mapping.address;
    return status;
}

static void unbind(struct quern_cuda_memory_state *state, int rank) {
    if (state->bound[rank])
        state->gpus.cuda->multicast_unbind(state->multicast, state->device[rank], 0, state->multicast_bytes);
    state->bound[rank] = false;
}

void quern_close_multicast(struct quern_symmetric_memory *memory) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    memory->multicast = NULL;
    quern_unmap(state->gpus.cuda, &state->multicast_mapping);
    for (int rank = 0; rank < memory->ranks; rank++) unbind(state, rank);
    if (state->has_multicast) state->gpus.cuda->vmm_release(state->multicast);
    state->has_multicast = false;
}
