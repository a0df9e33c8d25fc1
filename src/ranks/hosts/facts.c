/* Reads and writes the facts of ranks in the segment of a host.  Called by the leader of each host while a group is created. */
#include "ranks/hosts/hosts.h"

#include <string.h>

struct quern_fact quern_read_fact(const struct quern_membership *member, int rank) {
    const struct quern_segment_rank *place = &member->segment->rank[rank];
    struct quern_fact fact = {.rank = rank, .process = place->process, .device_kind = place->device_kind,
                              .device_ordinal = place->device_ordinal, .address = place->address, .transports = place->transports,
                              .failure_timeout = place->failure_timeout, .share_gpu = place->share_gpu,
                              .has_fabric = place->has_fabric};
    memcpy(fact.device_uuid, place->device_uuid, sizeof fact.device_uuid);
    return fact;
}

int quern_read_own_facts(const struct quern_membership *member, struct quern_fact facts[QUERN_RANK_LIMIT]) {
    int count = 0;
    for (int rank = 0; rank < member->ranks && count < member->here; rank++)
        if (__atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_JOINED)
            facts[count++] = quern_read_fact(member, rank);
    return count;
}

void quern_publish_roll(const struct quern_membership *member, const struct quern_roll *roll) {
    struct quern_segment *segment = member->segment;
    for (int rank = 0; rank < member->ranks; rank++) {
        const struct quern_fact *fact = &roll->facts[rank];
        struct quern_segment_rank *place = &segment->rank[rank];
        place->host = fact->host;
        place->address = fact->address;
        if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) != QUERN_RANK_ABSENT) continue;
        place->process = fact->process;
        place->device_kind = fact->device_kind;
        place->device_ordinal = fact->device_ordinal;
        place->transports = fact->transports;
        place->share_gpu = fact->share_gpu;
        place->has_fabric = fact->has_fabric;
        memcpy(place->device_uuid, fact->device_uuid, sizeof place->device_uuid);
        __atomic_store_n(&place->state, QUERN_RANK_ELSEWHERE, __ATOMIC_RELEASE);
    }
    for (int kind = 0; kind < QUERN_REJECTIONS; kind++)
        __atomic_store_n(&segment->rejections[kind], roll->rejections ? roll->rejections[kind] : 0, __ATOMIC_RELAXED);
    memcpy(segment->meeting, roll->number, sizeof segment->meeting);
    segment->hosts = roll->hosts;
}
