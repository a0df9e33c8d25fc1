/*
 * Symmetric memory of GPU ranks of several hosts that one NVLink fabric joins: the parts of symmetric_cuda.c, passed to all other
 * processes as fabric handles, of 64 bytes, over the connections of the ranks.
 *
 * Each process has its own mappings, and the driver keeps the memory while there is a mapping on any host, so a process may free
 * its parts before the others.  But memory that is bound to a multicast object is unbound when all ranks have freed it, as within a
 * host.  Hosts have no shared ledger: a rank tells what it has freed in the next call in which all ranks make memory, four ranges
 * at a time, of which it cannot free more than it makes; and a rank that has destroyed its group has freed all.
 *
 * The table at the end is called by symmetric.c and symmetric_memory.c.
 */
#include "ranks/symmetric/symmetric.h"

#include <stdlib.h>

#include "runtime/status.h"

static quern_status export_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    quern_status status = QUERN_OK;
    state->ledger = calloc(1, sizeof *state->ledger);
    state->fabric = calloc((size_t)memory->ranks, sizeof *state->fabric);
    if (!state->ledger || !state->fabric)
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    for (int rank = 0; rank < memory->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_here)
            status = quern_export_fabric(member, state->gpus.cuda, state->part[rank].handle, &state->fabric[rank]);
    return status;
}

static CUmemFabricHandle *handles_of(const struct quern_symmetric_memory *memory) { return quern_cuda_state_of(memory)->fabric; }

static bool must_tell(struct quern_symmetric_memory *memory, int rank) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (!state || !state->ledger || !memory->multicast || state->told[rank]) return false;
    state->told[rank] = __atomic_load_n(&state->ledger->has_freed[rank], __ATOMIC_ACQUIRE);
    return state->told[rank];
}

static void close_memory(struct quern_symmetric_memory *memory) {
    struct quern_cuda_memory_state *state = quern_cuda_state_of(memory);
    if (state) free(state->ledger);
    if (state) state->ledger = NULL;
    quern_cuda_close_memory(memory);
}

/* In place of a part's handle the multicast object's is told, by rank 0. */
static const struct quern_symmetric_step steps[] = {
    {.run = quern_cuda_make_parts},
    {.run = export_parts},
    {.run = quern_cuda_map_parts, .told = handles_of},
    {.run = quern_check_multicast, .every_rank = true, .for_multicast = true},
    {.run = quern_make_multicast, .for_multicast = true},
    {.run = quern_join_multicast, .for_multicast = true, .told = handles_of},
    {.run = quern_bind_multicast, .for_multicast = true},
};

const struct quern_symmetric_kind quern_fabric_memory = {
    QUERN_CUDA_MEMORY,
    .must_tell = must_tell,
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
    .close = close_memory,
};
