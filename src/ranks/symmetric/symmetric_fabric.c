/*
 * Symmetric memory of GPU ranks of several hosts that one NVLink fabric joins: the parts of symmetric_cuda.c, passed to all other
 * processes as fabric handles, of 64 bytes, over the connections of the ranks.
 *
 * Each process has its own mappings, and the driver keeps the memory while there is a mapping on any host, so a process may free
 * its parts before the others.  No host has to know what those of another one have freed.
 *
 * The table at the end is called by symmetric.c and symmetric_memory.c.
 */
#include "ranks/symmetric/symmetric.h"

#include <stdlib.h>

#include "runtime/status.h"

static quern_status export_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    quern_status status = QUERN_OK;
    state->fabric = calloc((size_t)memory->ranks, sizeof *state->fabric);
    if (!state->fabric) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_here)
            status = quern_export_fabric(member, state->gpus.cuda, state->part[rank].handle, &state->fabric[rank]);
    return status;
}

static CUmemFabricHandle *handles_of(const struct quern_symmetric_memory *memory) { return quern_cuda_state_of(memory)->fabric; }

static const struct quern_symmetric_step steps[] = {
    {.run = quern_cuda_make_parts},
    {.run = export_parts},
    {.run = quern_cuda_map_parts, .told = handles_of},
};

const struct quern_symmetric_kind quern_fabric_memory = {
    QUERN_CUDA_MEMORY,
    .no_multicast = "there is none between hosts",
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
};
