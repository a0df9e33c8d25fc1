/*
 * Registration of GPU memory that the engine has allocated itself.
 *
 * Within a process, GPUs get access to each other's memory at its own address.  Other processes get memory of cuMemCreate as a file
 * descriptor, and between hosts as a fabric handle.  They get memory of cuMemAlloc as an IPC handle of its whole allocation, which
 * a process may open only once.
 *
 * The tables at the end are called by symmetric.c and symmetric_memory.c.
 */
#include "ranks/symmetric/symmetric.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/descriptors.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"

/* How other processes reach memory: by the handle that cuMemCreate was asked for, or by one of memory of cuMemAlloc. */
enum { BY_NONE, BY_HANDLE, BY_IPC_HANDLE };

struct foreign_part {
    struct quern_cuda_mapping mapping;  /* BY_HANDLE */
    CUdeviceptr opened;                 /* BY_IPC_HANDLE; 0: not opened */
};

struct cuda_registration {
    struct quern_local_gpus gpus;
    int listener;
    int received[QUERN_DESCRIPTOR_TAGS];
    CUmemFabricHandle *fabric;          /* [ranks]: between hosts, in place of descriptors */
    struct foreign_part foreign[];      /* [ranks] */
};

static struct cuda_registration *state_of(const struct quern_symmetric_memory *memory) { return memory->state; }

/* ---- IPC handles that this process has opened, each once for a GPU ---- */

struct opened_handle {
    struct opened_handle *next;
    CUipcMemHandle handle;
    CUdeviceptr address;
    CUdevice device;      /* its context has the handle open, and is retained */
    CUcontext context;
    int users;
};

static struct {
    pthread_mutex_t lock;
    struct opened_handle *first;
} opened_handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUresult open_new_handle(const struct quern_local_gpus *gpus, const CUipcMemHandle *handle, struct opened_handle **opened) {
    struct opened_handle *fresh = calloc(1, sizeof *fresh);
    if (!fresh) return CUDA_ERROR_OUT_OF_MEMORY;
    fresh->handle = *handle;
    fresh->device = gpus->device[0];
    CUresult error = gpus->cuda->context_retain(&fresh->context, fresh->device);
    if (error == CUDA_SUCCESS) {
        struct quern_cuda_visit visit;
        error = quern_cuda_begin_visit(&visit, fresh->context);
        if (error == CUDA_SUCCESS)
            error = gpus->cuda->ipc_open(&fresh->address, *handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        quern_cuda_end_visit(&visit);
        if (error != CUDA_SUCCESS) gpus->cuda->context_release(fresh->device);
    }
    if (error != CUDA_SUCCESS) {
        free(fresh);
        return error;
    }
    fresh->next = opened_handles.first;
    *opened = opened_handles.first = fresh;
    return CUDA_SUCCESS;
}

static CUresult open_handle(const struct quern_local_gpus *gpus, const CUipcMemHandle *handle, CUdeviceptr *address) {
    pthread_mutex_lock(&opened_handles.lock);
    struct opened_handle *opened = opened_handles.first;
    while (opened && (opened->device != gpus->device[0] || memcmp(&opened->handle, handle, sizeof *handle) != 0))
        opened = opened->next;
    CUresult error = opened ? CUDA_SUCCESS : open_new_handle(gpus, handle, &opened);
    if (error == CUDA_SUCCESS) {
        opened->users++;
        *address = opened->address;
    }
    pthread_mutex_unlock(&opened_handles.lock);
    return error;
}

static void close_handle(CUdevice device, CUdeviceptr address) {
    pthread_mutex_lock(&opened_handles.lock);
    struct opened_handle **link = &opened_handles.first;
    while ((*link)->device != device || (*link)->address != address) link = &(*link)->next;
    struct opened_handle *opened = *link;
    if (--opened->users == 0) {
        struct quern_cuda_visit visit;
        *link = opened->next;
        if (quern_cuda_begin_visit(&visit, opened->context) == CUDA_SUCCESS) visit.cuda->ipc_close(address);
        quern_cuda_end_visit(&visit);
        visit.cuda->context_release(opened->device);
        free(opened);
    }
    pthread_mutex_unlock(&opened_handles.lock);
}

/* ---- the description of a rank's memory ---- */

static quern_status check_device_memory(const struct quern_membership *member, const struct quern_cuda *cuda, CUdeviceptr pointer) {
    const quern_device *device = member->device;
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    CUresult error = cuda->pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_INVALID_VALUE) return quern_cuda_fail(device, error, "cuPointerGetAttribute");
    if (error != CUDA_SUCCESS || type != CU_MEMORYTYPE_DEVICE)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "the pointer is not in device memory");
    error = cuda->pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
    if (error == CUDA_SUCCESS) error = cuda->pointer_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuPointerGetAttribute");
    if (managed) return quern_fail(device, QUERN_NOT_SUPPORTED, "managed memory cannot be registered");
    if (ordinal == device->ordinal) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "the memory is on cuda:%d: expected the rank's own device, %s", ordinal,
                      device->label);
}

/*
 * Pools are refused even where one GPU uses them.  Access between GPUs would have to be opened to the whole pool, which is the
 * engine's, for good; and memory that is freed in stream order may go to another owner while peers still write.
 */
static quern_status check_pool(const struct quern_membership *member, const struct quern_cuda *cuda, CUdeviceptr pointer) {
    void *pool = NULL;
    CUresult error = cuda->pointer_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuPointerGetAttribute");
    if (!pool) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the memory is of a pool (cuMemAllocAsync), which peer access does not "
                      "open: expected memory of quern_symmetric_alloc, cuMemAlloc or cuMemCreate");
}

/* Finds the allocation that contains the part.  Memory mapped from several allocations has several ranges. */
static quern_status find_allocation(const struct quern_membership *member, const struct quern_cuda *cuda,
                                    struct quern_symmetric_part *part) {
    CUdeviceptr base;
    size_t bytes;
    CUresult error = cuda->address_range(&base, &bytes, part->address);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemGetAddressRange");
    part->base = base;
    part->base_bytes = bytes;
    if ((uint64_t)part->bytes <= base + bytes - part->address) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%lld bytes reach beyond the allocation, which has %llu from the "
                      "pointer on: register each allocation by itself", (long long)part->bytes,
                      (unsigned long long)(base + bytes - part->address));
}

static quern_status choose_handle(const struct quern_membership *member, const struct quern_cuda *cuda,
                               struct quern_symmetric_part *part) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp properties = {0};
    if (cuda->vmm_retain(&handle, (void *)(uintptr_t)part->address) == CUDA_SUCCESS) {
        CUresult error = cuda->vmm_properties(&properties, handle);
        cuda->vmm_release(handle);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemGetAllocationPropertiesFromHandle");
        part->handle_kind = BY_HANDLE;
        const int needed = quern_cuda_handle_types(member);
        if ((properties.requested_handle_types & needed) == needed) return QUERN_OK;
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the memory was made without a %s handle, so that other %s cannot "
                          "reach it: ask cuMemCreate for CU_MEM_HANDLE_TYPE_%s", member->control ? "fabric" : "file-descriptor",
                          member->control ? "hosts" : "processes", member->control ? "FABRIC" : "POSIX_FILE_DESCRIPTOR");
    }
    if (member->control)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the memory is not of cuMemCreate, so that other hosts cannot reach "
                          "it: expected memory of quern_symmetric_alloc, or of cuMemCreate for CU_MEM_HANDLE_TYPE_FABRIC");
    part->handle_kind = BY_IPC_HANDLE;
    if (member->one_process) return QUERN_OK;
    CUresult error = cuda->ipc_export(&part->ipc, part->base);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuIpcGetMemHandle");
}

static quern_status describe(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    part->address = (uintptr_t)pointer;
    quern_status status = error == CUDA_SUCCESS ? check_device_memory(member, visit.cuda, part->address)
                                                : quern_cuda_fail(member->device, error, "cuCtxPushCurrent");
    if (status == QUERN_OK) status = check_pool(member, visit.cuda, part->address);
    if (status == QUERN_OK) status = find_allocation(member, visit.cuda, part);
    if (status == QUERN_OK) status = choose_handle(member, visit.cuda, part);
    quern_cuda_end_visit(&visit);
    return status;
}

/* The driver numbers its allocations. */
static uint64_t generation(const struct quern_membership *member, const void *pointer) {
    struct quern_cuda_visit visit;
    unsigned long long id = 0;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->pointer_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)pointer);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? id : 0;
}

/* ---- access within the process ---- */

static quern_status make_state(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct cuda_registration *state = calloc(1, sizeof *state + (size_t)memory->ranks * sizeof *state->foreign);
    if (!state) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    state->listener = -1;
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) state->received[tag] = -1;
    memory->state = state;
    return quern_open_local_gpus(member, &state->gpus);
}

/* Lets all GPUs of the process reach memory of cuMemAlloc on this GPU, present and future. */
static quern_status enable_peers(const struct quern_membership *member, const struct quern_local_gpus *gpus, int i) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, gpus->context[i]);
    for (int peer = 0; peer < gpus->count && error == CUDA_SUCCESS; peer++) {
        if (peer != i) error = gpus->cuda->enable_peer_access(gpus->context[peer], 0);
        if (error == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) error = CUDA_SUCCESS;
    }
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuCtxEnablePeerAccess");
}

/* Peers write, too.  Memory that the engine has mapped for reading only is not changed. */
static quern_status check_access(const struct quern_membership *member, const struct quern_local_gpus *gpus, CUdeviceptr address,
                                 int i) {
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, gpus->device[i]};
    unsigned long long flags;
    CUresult error = gpus->cuda->vmm_get_access(&flags, &location, address);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemGetAccess");
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_READ) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the memory is mapped for cuda:%d for reading only: expected access "
                      "for reading and writing", gpus->device[i]);
}

/* Access is granted to whole mappings. */
static quern_status open_here(const struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank) {
    const struct quern_symmetric_part *part = &memory->part[rank];
    struct quern_local_gpus *gpus = &state_of(memory)->gpus;
    const bool is_mapped = part->handle_kind == BY_HANDLE;
    quern_status status = QUERN_OK;
    for (int i = 0; i < gpus->count && status == QUERN_OK; i++)
        status = is_mapped ? check_access(member, gpus, part->address, i) : enable_peers(member, gpus, i);
    if (status != QUERN_OK || !is_mapped) return status;
    return quern_give_access(member, gpus, part->base, (size_t)part->base_bytes, quern_part_of(rank).text);
}

static quern_status open_parts_here(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = make_state(memory, member);
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_here) status = open_here(memory, member, rank);
    return status;
}

/* ---- to and from other processes ---- */

static quern_status listen(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    return quern_descriptors_listen(member, memory->id, &state_of(memory)->listener);
}

/* As a descriptor, or if that is NULL as a fabric handle. */
static quern_status export_part(const struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank,
                                int *descriptor) {
    const struct quern_cuda *cuda = state_of(memory)->gpus.cuda;
    CUmemGenericAllocationHandle handle;
    if (descriptor) *descriptor = -1;
    CUresult error = cuda->vmm_retain(&handle, (void *)(uintptr_t)memory->part[rank].address);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemRetainAllocationHandle");
    quern_status status = descriptor ? quern_export_handle(member, cuda, handle, descriptor)
                                     : quern_export_fabric(member, cuda, handle, &state_of(memory)->fabric[rank]);
    cuda->vmm_release(handle);
    return status;
}

static quern_status send_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_descriptor list[QUERN_RANK_LIMIT];
    int count = 0;
    quern_status status = QUERN_OK;
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++) {
        if (memory->part[rank].handle_kind != BY_HANDLE || !member->roster->peer[rank].is_here) continue;
        list[count].tag = rank;
        status = export_part(memory, member, rank, &list[count++].descriptor);
    }
    if (status == QUERN_OK && count) status = quern_descriptors_send(member, memory->id, memory->digest, list, count);
    while (count) quern_close_descriptor(&list[--count].descriptor);
    return status;
}

static quern_status import_descriptor(const struct cuda_registration *state, const struct quern_membership *member, int rank,
                                      CUmemGenericAllocationHandle *handle) {
    if (state->received[rank] < 0)
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s did not arrive", quern_part_of(rank).text);
    CUresult error = state->gpus.cuda->vmm_import(handle, (void *)(intptr_t)state->received[rank],
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuMemImportFromShareableHandle");
}

static quern_status map_handle(struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank) {
    struct cuda_registration *state = state_of(memory);
    CUmemGenericAllocationHandle handle;
    quern_status status = state->fabric ? quern_import_fabric(member, state->gpus.cuda, &state->fabric[rank], &handle)
                                        : import_descriptor(state, member, rank, &handle);
    if (status != QUERN_OK) return status;
    struct quern_cuda_mapping *mapping = &state->foreign[rank].mapping;
    size_t bytes = (size_t)memory->part[rank].base_bytes;
    status = quern_map_for_all(member, &state->gpus, handle, bytes, quern_part_of(rank).text, mapping);
    state->gpus.cuda->vmm_release(handle);
    memory->peer[rank] = (void *)(uintptr_t)(mapping->address + (memory->part[rank].address - memory->part[rank].base));
    return status;
}

static quern_status open_foreign(struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank) {
    struct cuda_registration *state = state_of(memory);
    const struct quern_symmetric_part *part = &memory->part[rank];
    if (state->gpus.count > 1)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "this process drives %d GPUs, and memory that another one has of "
                          "cuMemAlloc can be opened for one of them only: use quern_symmetric_alloc or cuMemCreate",
                          state->gpus.count);
    CUresult error = open_handle(&state->gpus, &part->ipc, &state->foreign[rank].opened);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuIpcOpenMemHandle");
    memory->peer[rank] = (void *)(uintptr_t)(state->foreign[rank].opened + (part->address - part->base));
    return QUERN_OK;
}

static quern_status receive_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct cuda_registration *state = state_of(memory);
    quern_status status = quern_descriptors_receive(member, memory->id, memory->digest, state->listener, state->received);
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++) {
        if (member->roster->peer[rank].is_here) continue;
        status = (memory->part[rank].handle_kind == BY_HANDLE ? map_handle : open_foreign)(memory, member, rank);
    }
    return status;
}

/* ---- to and from other hosts ---- */

static quern_status export_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct cuda_registration *state = state_of(memory);
    quern_status status = QUERN_OK;
    state->fabric = calloc((size_t)memory->ranks, sizeof *state->fabric);
    if (!state->fabric) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_here) status = export_part(memory, member, rank, NULL);
    return status;
}

static CUmemFabricHandle *handles_of(const struct quern_symmetric_memory *memory) { return state_of(memory)->fabric; }

static quern_status map_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = QUERN_OK;
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (!member->roster->peer[rank].is_here) status = map_handle(memory, member, rank);
    return status;
}

/* ---- the end ---- */

static void settle(struct quern_symmetric_memory *memory) {
    struct cuda_registration *state = state_of(memory);
    quern_close_descriptor(&state->listener);
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) quern_close_descriptor(&state->received[tag]);
    free(state->fabric);
    state->fabric = NULL;
}

static void close_memory(struct quern_symmetric_memory *memory) {
    struct cuda_registration *state = state_of(memory);
    if (!state) return;
    struct quern_cuda_visit visit;
    quern_cuda_begin_visit(&visit, NULL);
    settle(memory);
    for (int rank = 0; rank < memory->ranks; rank++) {
        if (state->foreign[rank].opened) close_handle(state->gpus.device[0], state->foreign[rank].opened);
        quern_unmap(state->gpus.cuda, &state->foreign[rank].mapping);
        quern_unreserve(state->gpus.cuda, &state->foreign[rank].mapping);
    }
    quern_close_local_gpus(&state->gpus);
    quern_cuda_end_visit(&visit);
}

static void discard(struct quern_symmetric_memory *memory) { free(memory->state); }

static const struct quern_symmetric_step steps[] = {
    {.run = open_parts_here},
    {.run = listen, .between_processes = true},
    {.run = send_parts, .between_processes = true},
    {.run = receive_parts, .between_processes = true},
};

static const struct quern_symmetric_step between_hosts[] = {
    {.run = open_parts_here},
    {.run = export_parts},
    {.run = map_parts, .told = handles_of},
};

#define REGISTRATION                                                                                                      \
    .is_registration = true, .no_multicast = "registered memory has none: use quern_symmetric_alloc", .has_bases = true,  \
    .describe = describe, .take = quern_cuda_take, .settle = settle, .close = close_memory, .discard = discard,           \
    .generation = generation, .record = quern_cuda_record, .has_ended = quern_cuda_has_ended, .await = quern_cuda_await, \
    .erase = quern_cuda_erase

const struct quern_symmetric_kind quern_cuda_registration = {
    REGISTRATION,
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
};

const struct quern_symmetric_kind quern_fabric_registration = {
    REGISTRATION,
    .steps = between_hosts,
    .step_count = sizeof between_hosts / sizeof *between_hosts,
};
