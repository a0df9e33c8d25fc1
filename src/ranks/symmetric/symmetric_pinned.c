/*
 * Symmetric memory of GPU ranks in pinned host memory: the file of symmetric_host.c, which each process also registers with the
 * driver, for all its GPUs.
 *
 * The addresses that ranks get are those of the GPUs.  A kernel's accesses with system scope are ordered there as in the memory of
 * a GPU.  Read-modify-write operations are atomic among the threads of one GPU only, and the kernels use them only on the words of
 * their own rank.
 *
 * The tables at the end are called by symmetric.c and symmetric_memory.c.
 */
#include "ranks/symmetric/symmetric.h"

#include "runtime/cuda_visit.h"
#include "runtime/status.h"

struct pinned_memory {
    struct quern_host_memory host;  /* first: the steps of symmetric_host.c find it here */
    struct quern_local_gpus gpus;
    bool is_registered;             /* by the first of the GPUs */
};

static struct pinned_memory *state_of(const struct quern_symmetric_memory *memory) { return memory->state; }

static CUresult address_on(const struct quern_local_gpus *gpus, int i, void *mapping, CUdeviceptr *address) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, gpus->context[i]);
    if (error == CUDA_SUCCESS) error = visit.cuda->host_device_pointer(address, mapping, 0);
    quern_cuda_end_visit(&visit);
    return error;
}

/* All GPUs of the process must see the memory at one address, as they do wherever addresses are unified. */
static quern_status find_address(const struct quern_symmetric_memory *memory, const struct quern_membership *member,
                                 CUdeviceptr *address) {
    const struct pinned_memory *state = state_of(memory);
    for (int i = 0; i < state->gpus.count; i++) {
        CUdeviceptr there;
        CUresult error = address_on(&state->gpus, i, state->host.mapping, &there);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemHostGetDevicePointer");
        if (i == 0) *address = there;
        if (there != *address)
            return quern_fail(member->device, QUERN_NOT_SUPPORTED, "cuda:%d and cuda:%d see pinned memory at different addresses",
                              state->gpus.device[0], state->gpus.device[i]);
    }
    return QUERN_OK;
}

static CUresult pin(struct pinned_memory *state, size_t bytes) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, state->gpus.context[0]);
    if (error == CUDA_SUCCESS)
        error = visit.cuda->host_register(state->host.mapping, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    quern_cuda_end_visit(&visit);
    state->is_registered = error == CUDA_SUCCESS;
    return error;
}

static quern_status register_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct pinned_memory *state = state_of(memory);
    CUdeviceptr address = 0;
    quern_status status = quern_open_local_gpus(member, &state->gpus);
    if (status != QUERN_OK) return status;
    CUresult error = pin(state, quern_host_file_bytes(memory));
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemHostRegister of symmetric memory");
    status = find_address(memory, member, &address);
    memory->reuses_addresses = address != (uintptr_t)state->host.mapping;
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        memory->peer[rank] = (void *)(uintptr_t)(address + (CUdeviceptr)((char *)memory->peer[rank] - state->host.mapping));
    return status;
}

static CUresult unpin(const struct pinned_memory *state) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, state->gpus.context[0]);
    if (error == CUDA_SUCCESS) error = visit.cuda->host_unregister(state->host.mapping);
    quern_cuda_end_visit(&visit);
    return error;
}

/* Memory that the driver does not release stays mapped: it would refuse other memory at its addresses. */
static void close_memory(struct quern_symmetric_memory *memory) {
    struct pinned_memory *state = state_of(memory);
    if (!state) return;
    if (state->is_registered && unpin(state) != CUDA_SUCCESS) state->host.addresses = NULL;
    quern_close_local_gpus(&state->gpus);
    quern_host_close(memory);
}

static const struct quern_symmetric_step steps[] = {
    QUERN_HOST_STEPS,
    {.run = register_parts},
};

const struct quern_symmetric_kind quern_pinned_memory = {
    .no_multicast = "it is pinned memory of the host",
    .state_bytes = sizeof(struct pinned_memory),
    .describe = quern_host_describe,
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
    .take = quern_cuda_take,
    .settle = quern_host_settle,
    .close = close_memory,
    .discard = quern_host_discard,
    .record = quern_cuda_record,
    .has_ended = quern_cuda_has_ended,
    .await = quern_cuda_await,
    .erase = quern_cuda_erase,
};

/* ---- registration ---- */

static quern_status refuse_registration(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    (void)pointer, (void)part;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the group goes by pinned host memory, since its GPUs do not reach each "
                      "other's: use quern_symmetric_alloc");
}

const struct quern_symmetric_kind quern_pinned_registration = {
    .is_registration = true,
    .describe = refuse_registration,
};
