/* Joins a rank to its group and allocates symmetric memory.  Called by run.c and by all files that exchange data between ranks. */
#include "ranks.h"

#include <stdlib.h>

#include "check.h"
#include "memory.h"

bool rank_join(struct rank *rank, struct device *device, const struct meeting *meeting) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.rank = meeting->rank;
    args.ranks = meeting->ranks;
    args.name = meeting->name;
    args.device = device->quern;
    args.timeout = meeting->timeout;
    args.share_gpu = meeting->share_gpu;
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    hosts.meet = meeting->meet;
    hosts.secret = meeting->secret;
    hosts.secret_bytes = meeting->secret_bytes;
    hosts.host_ranks = meeting->host_ranks;
    hosts.host = meeting->host[0] != '\0' ? meeting->host : NULL;
    args.hosts = meeting->meet != NULL ? &hosts : NULL;
    *rank = (struct rank){.rank = meeting->rank, .ranks = meeting->ranks, .device = device};
    return succeeded("quern_group_create", quern_group_create(&args, 1, &rank->group));
}

void rank_leave(struct rank *rank) {
    succeeded("quern_group_destroy", quern_group_destroy(rank->group));
    rank->group = NULL;
}

bool rank_memory_create(struct rank *rank, struct mirrored *buffer, size_t bytes) {
    *buffer = (struct mirrored){.bytes = bytes, .owns_host = rank->device->memory.is_cuda};
    if (!succeeded("quern_symmetric_alloc", quern_symmetric_alloc(&rank->group, 1, &bytes, &buffer->device))) return false;
    buffer->host = buffer->owns_host ? allocate(bytes) : buffer->device;
    return true;
}

void rank_memory_free(struct mirrored *buffer) {
    if (buffer->owns_host) free(buffer->host);
    *buffer = (struct mirrored){0};
}
