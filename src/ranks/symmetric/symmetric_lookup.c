/*
 * Looks up addresses and (id, offset) pairs.  Called by the ragged all-to-all and the collectives, by the public queries, and for
 * the pads of GPUs.
 */
#include "ranks/symmetric/symmetric.h"

#include "runtime/arguments.h"
#include "runtime/status.h"

enum quern_symmetric_state quern_symmetric_find(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                              struct quern_symmetric_location *place) {
    const struct quern_symmetric_range *range = member->symmetric ? quern_symmetric_range_at(member->symmetric, pointer) : NULL;
    if (!range) return QUERN_MEMORY_PRIVATE;
    if (range->freed) return QUERN_MEMORY_FREED;
    const struct quern_symmetric_memory *memory = range->memory;
    int64_t offset = (const char *)pointer - range->base;
    if (bytes > range->bytes - offset) return QUERN_MEMORY_PRIVATE;
    *place = (struct quern_symmetric_location){
        .id = range->id,
        .offset = offset,
        .bytes = range->bytes,
        .peer = memory->peer,
        .peer_bytes = memory->peer_bytes,
        .multicast = offset + bytes <= memory->least_bytes ? memory->multicast : NULL,
    };
    return QUERN_MEMORY_SYMMETRIC;
}

quern_status quern_symmetric_find_buffer(const struct quern_membership *member, const char *name, const void *pointer,
                                         int64_t bytes, enum quern_symmetric_state *state, struct quern_symmetric_location *place) {
    *state = QUERN_MEMORY_PRIVATE;
    if (!pointer || !bytes) return QUERN_OK;
    *state = quern_symmetric_find(member, pointer, bytes, place);
    if (*state != QUERN_MEMORY_FREED) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s is in symmetric memory that was freed", name);
}

quern_status quern_symmetric_find_workspace(const struct quern_membership *member, const void *workspace, size_t bytes,
                                            size_t needed, enum quern_symmetric_state *state,
                                            struct quern_symmetric_location *place) {
    quern_status status = quern_check_workspace(member->device, workspace, bytes, needed);
    if (status == QUERN_OK)
        status = quern_symmetric_find_buffer(member, "workspace", workspace, (int64_t)needed, state, place);
    if (status != QUERN_OK || !needed || *state == QUERN_MEMORY_SYMMETRIC) return status;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "workspace is not symmetric memory of this group: expected %zu bytes "
                      "within one quern_symmetric_alloc", needed);
}

enum quern_symmetric_state quern_symmetric_find_beside(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                                       struct quern_symmetric_location *place) {
    struct quern_symmetric_ranges *ranges = __atomic_load_n(&member->symmetric, __ATOMIC_ACQUIRE);
    if (!ranges) return QUERN_MEMORY_PRIVATE;
    pthread_mutex_lock(&ranges->lock);
    const enum quern_symmetric_state state = quern_symmetric_find(member, pointer, bytes, place);
    pthread_mutex_unlock(&ranges->lock);
    return state;
}

void *quern_symmetric_resolve(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank) {
    const struct quern_symmetric_range *range = member->symmetric ? quern_symmetric_range_of_id(member->symmetric, id) : NULL;
    if (!range) return NULL;
    const struct quern_symmetric_memory *memory = range->memory;
    if (offset < 0 || bytes < 0 || offset > memory->peer_bytes[rank] || bytes > memory->peer_bytes[rank] - offset) return NULL;
    return (char *)memory->peer[rank] + offset;
}

void *quern_symmetric_resolve_beside(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank) {
    struct quern_symmetric_ranges *ranges = __atomic_load_n(&member->symmetric, __ATOMIC_ACQUIRE);
    if (!ranges) return NULL;
    pthread_mutex_lock(&ranges->lock);
    void *const address = quern_symmetric_resolve(member, id, offset, bytes, rank);
    pthread_mutex_unlock(&ranges->lock);
    return address;
}

uint64_t quern_symmetric_live(const struct quern_membership *member) { return member->symmetric ? member->symmetric->live : 0; }

uint64_t quern_symmetric_frees(const struct quern_membership *member) { return member->symmetric ? member->symmetric->frees : 0; }
