/*
 * Symmetric memory of GPU ranks: a part of physical memory on every rank's GPU, mapped once in each process for all its GPUs.
 *
 * Parts are passed to other processes as file descriptors.  Each process has its own mappings, and the driver keeps the memory
 * while there is a mapping, so a process may free its parts before the others.  But memory that is bound to a multicast object is
 * unbound by its owner.  The owner therefore waits until all ranks have freed their parts, which they note in a shared ledger.
 *
 * The table at the end is called by symmetric.c and symmetric_memory.c; symmetric_fabric.c uses the steps between hosts.
 */
#define _GNU_SOURCE
#include "ranks/symmetric/symmetric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/file_size.h"
#include "os/integers.h"
#include "ranks/cuda_rank.h"
#include "ranks/descriptors.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"

enum { LEDGER_TAG = QUERN_RANK_LIMIT, LEDGER_BYTES = 4096, MINIMUM_GRANULARITY = 0 };

/* ---- properties ---- */

static CUmemAllocationProp properties_on(CUdevice device, int types) {
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requested_handle_types = types,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
    };
}

/* The unit of the parts' sizes.  If there may be a multicast object, parts can be bound to it, too. */
static quern_status find_granularity(const struct quern_membership *member, size_t bytes, bool multicast_is_wanted,
                                     size_t *granularity) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    CUmemAllocationProp properties = properties_on(member->device->cuda_device, quern_cuda_handle_types(member));
    CUresult error = cuda->vmm_granularity(granularity, &properties, MINIMUM_GRANULARITY);
    if (error != CUDA_SUCCESS) return quern_fail_handle(member, error, "cuMemGetAllocationGranularity");
    size_t of_multicast;
    CUmulticastObjectProp multicast = quern_multicast_properties(member, quern_round_up(bytes, *granularity));
    if (multicast_is_wanted && member->device->compute_capability >= QUERN_FIRST_WITH_MULTICAST && member->ranks > 1 &&
        cuda->multicast_granularity(&of_multicast, &multicast, MINIMUM_GRANULARITY) == CUDA_SUCCESS && of_multicast > *granularity)
        *granularity = of_multicast;
    return QUERN_OK;
}

/* A part of no bytes gets an address, too. */
quern_status quern_cuda_describe_part(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    (void)pointer;
    size_t bytes = part->bytes ? (size_t)part->bytes : 1, granularity;
    quern_status status = find_granularity(member, bytes, part->multicast, &granularity);
    if (status == QUERN_OK) part->base_bytes = quern_round_up(bytes, granularity);
    return status;
}

/* ---- the first step: this process's own parts ---- */

static quern_status make_state(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = calloc(1, sizeof *state + (size_t)memory->ranks * sizeof *state->part);
    if (!state) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    state->listener = -1;
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) state->received[tag] = -1;
    state->roster = member->roster;
    quern_keep_roster(state->roster, 1);
    __atomic_store_n((struct quern_cuda_memory_state **)&memory->state, state, __ATOMIC_RELEASE);
    return quern_open_local_gpus(member, &state->gpus);
}

static quern_status zero(const struct quern_membership *member, const struct quern_local_gpus *gpus, CUdevice device,
                         const struct quern_cuda_mapping *mapping) {
    struct quern_cuda_visit visit;
    int at = 0;
    while (gpus->device[at] != device) at++;
    CUresult error = quern_cuda_begin_visit(&visit, gpus->context[at]);
    if (error == CUDA_SUCCESS) error = quern_cuda_write(&visit, mapping->address, NULL, mapping->bytes);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuMemsetD8Async");
}

static quern_status make_part(struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    struct quern_cuda_part *part = &state->part[rank];
    size_t bytes = (size_t)memory->part[rank].base_bytes;
    CUresult error = state->gpus.cuda->device_get(&state->device[rank], member->roster->peer[rank].device_ordinal);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceGet");
    CUmemAllocationProp properties = properties_on(state->device[rank], quern_cuda_handle_types(member));
    error = state->gpus.cuda->vmm_create(&part->handle, bytes, &properties, 0);
    if (error != CUDA_SUCCESS) {
        char what[80];
        struct quern_text text = quern_text_begin(what, sizeof what);
        quern_text_add(&text, "cuMemCreate of %zu bytes for rank %d", bytes, rank);
        return quern_fail_handle(member, error, what);
    }
    part->has_handle = true;
    quern_status status = quern_map_for_all(member, &state->gpus, part->handle, bytes, quern_part_of(rank).text, &part->mapping);
    memory->peer[rank] = (void *)(uintptr_t)part->mapping.address;
    memory->address_bytes += (int64_t)bytes;
    return status == QUERN_OK ? zero(member, &state->gpus, state->device[rank], &part->mapping) : status;
}

quern_status quern_cuda_make_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = make_state(memory, member);
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_here) status = make_part(memory, member, rank);
    return status;
}

/* ---- to and from other processes ---- */

static quern_status map_ledger(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (!quern_file_keeps_size(state->received[LEDGER_TAG], LEDGER_BYTES))
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "the ledger is another file: expected %d bytes that cannot be cut "
                          "off", LEDGER_BYTES);
    struct quern_ledger *ledger = mmap(NULL, LEDGER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, state->received[LEDGER_TAG], 0);
    if (ledger == MAP_FAILED) return quern_fail(member->device, QUERN_SYSTEM_ERROR, "mapping a ledger: %s", strerror(errno));
    __atomic_store_n(&state->ledger, ledger, __ATOMIC_RELEASE);
    return QUERN_OK;
}

static quern_status make_ledger(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    int *descriptor = &quern_cuda_state_of(memory)->received[LEDGER_TAG];
    *descriptor = quern_above_two(memfd_create("quern ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (*descriptor < 0 || !quern_set_file_size(*descriptor, LEDGER_BYTES) || !quern_seal_file_size(*descriptor))
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "making a ledger: %s", strerror(errno));
    return map_ledger(memory, member);
}

static quern_status listen(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = quern_descriptors_listen(member, memory->id, &quern_cuda_state_of(memory)->listener);
    return status == QUERN_OK && member->rank == 0 ? make_ledger(memory, member) : status;
}

static quern_status send_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    struct quern_descriptor list[QUERN_DESCRIPTOR_TAGS] = {0};
    int exported = 0;
    quern_status status = QUERN_OK;
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++) {
        if (!member->roster->peer[rank].is_here) continue;
        list[exported].tag = rank;
        status = quern_export_handle(member, state->gpus.cuda, state->part[rank].handle, &list[exported++].descriptor);
    }
    int count = exported;
    if (member->rank == 0) list[count++] = (struct quern_descriptor){LEDGER_TAG, state->received[LEDGER_TAG]};
    if (status == QUERN_OK) status = quern_descriptors_send(member, memory->id, memory->digest, list, count);
    while (exported) quern_close_descriptor(&list[--exported].descriptor);
    return status;
}

static quern_status map_foreign_part(struct quern_symmetric_memory *memory, const struct quern_membership *member, int rank) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    struct quern_cuda_part *part = &state->part[rank];
    struct quern_whose whose = quern_part_of(rank);
    quern_status status = quern_import_handle(member, state, rank, whose.text, &part->handle);
    if (status != QUERN_OK) return status;
    part->has_handle = true;
    size_t bytes = (size_t)memory->part[rank].base_bytes;
    memory->address_bytes += (int64_t)bytes;
    status = quern_map_for_all(member, &state->gpus, part->handle, bytes, whose.text, &part->mapping);
    memory->peer[rank] = (void *)(uintptr_t)part->mapping.address;
    return status;
}

quern_status quern_cuda_map_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = QUERN_OK;
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (!member->roster->peer[rank].is_here) status = map_foreign_part(memory, member, rank);
    return status;
}

static quern_status receive_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    quern_status status = quern_descriptors_receive(member, memory->id, memory->digest, state->listener, state->received);
    if (status == QUERN_OK && member->rank != 0)
        status = state->received[LEDGER_TAG] < 0 ? quern_fail(member->device, QUERN_SYSTEM_ERROR, "the ledger did not arrive")
                                                 : map_ledger(memory, member);
    return status == QUERN_OK ? quern_cuda_map_parts(memory, member) : status;
}

/* ---- the end ---- */

/* Mappings keep the memory.  Only the handles of bound memory are still needed. */
void quern_cuda_settle_memory(struct quern_symmetric_memory *memory) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    quern_close_descriptor(&state->listener);
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) quern_close_descriptor(&state->received[tag]);
    for (int rank = 0; rank < memory->ranks; rank++) {
        if (!state->part[rank].has_handle || state->bound[rank]) continue;
        state->gpus.cuda->vmm_release(state->part[rank].handle);
        state->part[rank].has_handle = false;
    }
    free(state->fabric);
    state->fabric = NULL;
}

void quern_cuda_leave_memory(struct quern_symmetric_memory *memory, int rank) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    struct quern_ledger *ledger = state ? __atomic_load_n(&state->ledger, __ATOMIC_ACQUIRE) : NULL;
    if (ledger) __atomic_store_n(&ledger->has_freed[rank], 1, __ATOMIC_RELEASE);
}

/* A rank of another host has left when its host says so: its lock is not here. */
bool quern_cuda_may_close(const struct quern_symmetric_memory *memory) {
    const struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (!state || !state->ledger || !memory->multicast) return true;
    for (int rank = 0; rank < memory->ranks; rank++)
        if (!__atomic_load_n(&state->ledger->has_freed[rank], __ATOMIC_ACQUIRE) && !quern_rank_has_gone(state->roster, rank))
            return false;
    return true;
}

void quern_cuda_close_memory(struct quern_symmetric_memory *memory) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (!state) return;
    struct quern_cuda_visit visit;
    quern_cuda_begin_visit(&visit, NULL);
    quern_close_multicast(memory);
    quern_cuda_settle_memory(memory);
    for (int rank = 0; rank < memory->ranks; rank++) quern_unmap(state->gpus.cuda, &state->part[rank].mapping);
    if (state->ledger) munmap(state->ledger, LEDGER_BYTES);
    quern_close_local_gpus(&state->gpus);
    quern_cuda_end_visit(&visit);
    quern_release_roster(state->roster);
}

void quern_cuda_discard_memory(struct quern_symmetric_memory *memory) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (!state) return;
    struct quern_cuda_visit visit;
    quern_cuda_begin_visit(&visit, NULL);
    for (int rank = 0; rank < memory->ranks; rank++) quern_unreserve(state->gpus.cuda, &state->part[rank].mapping);
    quern_unreserve(state->gpus.cuda, &state->multicast_mapping);
    quern_cuda_end_visit(&visit);
    free(state);
}

static const struct quern_symmetric_step steps[] = {
    {.run = quern_cuda_make_parts},
    {.run = listen, .between_processes = true},
    {.run = send_parts, .between_processes = true},
    {.run = receive_parts, .between_processes = true},
    {.run = quern_check_multicast, .every_rank = true, .for_multicast = true},
    {.run = quern_make_multicast, .for_multicast = true},
    {.run = quern_join_multicast, .for_multicast = true},
    {.run = quern_bind_multicast, .for_multicast = true},
};

const struct quern_symmetric_kind quern_cuda_memory = {
    QUERN_CUDA_MEMORY,
    .close = quern_cuda_close_memory,
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
};
