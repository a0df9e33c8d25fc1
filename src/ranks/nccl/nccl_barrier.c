/*
 * The barrier of GPU ranks of several hosts: one launch.
 *
 * Of all ranks it is an all-reduce of one word, for which NCCL itself goes within hosts first: one launch a rank and about 2
 * log2(hosts) messages a host.  A kernel of this library before and behind it would make three launches.  Of some ranks it is a
 * word to and from each, in one group: one launch and n - 1 messages a rank, where a dissemination had log2(n) launches.
 */
#include "ranks/nccl/nccl.h"

#include "ranks/cuda_launch.h"
#include "ranks/poison.h"

static void *word_at(const struct quern_nccl_rank *rank, int place) {
    return (void *)(uintptr_t)(rank->words + (size_t)place * sizeof(uint32_t));
}

static ncclResult_t add_everyone(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call) {
    return rank->nccl->all_reduce(word_at(rank, 0), word_at(rank, 0), 1, ncclUint32, ncclSum, rank->comm, call->stream);
}

static ncclResult_t add_some(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call) {
    ncclResult_t result = ncclSuccess;
    for (int peer = 0; peer < rank->member->ranks && result == ncclSuccess; peer++) {
        if (peer == rank->member->rank || !quern_set_has(call->set, peer)) continue;
        result = rank->nccl->send(word_at(rank, 0), 1, ncclUint32, peer, rank->comm, call->stream);
        if (result != ncclSuccess) break;
        result = rank->nccl->receive(word_at(rank, 1 + peer), 1, ncclUint32, peer, rank->comm, call->stream);
    }
    return result;
}

quern_status quern_nccl_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream) {
    const bool is_of_all = set->count == member->ranks;
    const struct quern_nccl_call call = {QUERN_IN_BARRIER, set, timeout, stream, is_of_all ? add_everyone : add_some, NULL, false};
    struct quern_cuda_entry entry;
    quern_status status = quern_check_poison(member);
    if (status == QUERN_OK) status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    if (entry.capturing) status = quern_nccl_check_capture(member);
    if (status == QUERN_OK && set->count > 1) {
        const CUresult error = quern_cuda_stay(member, &entry);
        status = error == CUDA_SUCCESS ? quern_nccl_enqueue(member, &call)
                                       : quern_cuda_rank_fail(member, error, "cuCtxPushCurrent");
    }
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}
