/*
 * Tries peer access once, when a group is made: with access control (ACS) of a PCIe switch or with an IOMMU, drivers promise access
 * and what a GPU writes is lost.  A barrier would then wait until its limit.
 *
 * A word is a fill of the peer's memory, which the writer's GPU does itself.  A copy proves less, since the driver may take it
 * through the host's memory where GPUs do not reach each other; it is for drivers that refuse to fill another GPU's memory.
 */
#include "ranks/group/group.h"

#include <stddef.h>

#include "kernels/collective_problem.h"
#include "ranks/agreement.h"
#include "ranks/cuda_rank.h"
#include "runtime/status.h"

/* Behind a pad and its slots. */
struct probe {
    uint64_t received[QUERN_RANK_LIMIT];   /* of each rank, this one included */
    uint64_t read_back[QUERN_RANK_LIMIT];  /* what this rank found behind each other pad */
};

static size_t pad_bytes(int ranks) {
    return (size_t)quern_pad_and_slots_bytes((uint32_t)ranks);
}

size_t quern_probed_pad_bytes(int ranks) { return pad_bytes(ranks) + sizeof(struct probe); }

static unsigned char byte_of(int rank) { return (unsigned char)(rank + 1); }

static uint64_t word_of(int rank) { return UINT64_C(0x0101010101010101) * byte_of(rank); }

static CUdeviceptr place(const struct quern_membership *member, int rank, size_t offset) {
    return quern_cuda_rank_of(member)->pad[rank] + pad_bytes(member->ranks) + offset;
}

static CUdeviceptr received(const struct quern_membership *member, int at, int from) {
    return place(member, at, offsetof(struct probe, received) + (size_t)from * sizeof(uint64_t));
}

static bool is_probed(const struct quern_membership *member, int peer) {
    return !quern_cuda_same_gpu(member->roster, member->rank, peer);
}

static CUresult fill(const struct quern_membership *member, const struct quern_cuda *cuda, int peer, CUstream stream) {
    const int mine = member->rank;
    const CUdeviceptr there = received(member, peer, mine);
    const CUresult error = cuda->memory_set_async(there, byte_of(mine), sizeof(uint64_t), stream);
    return error == CUDA_ERROR_INVALID_VALUE
               ? cuda->copy_on_device_async(there, received(member, mine, mine), sizeof(uint64_t), stream)
               : error;
}

static CUresult send_to(const struct quern_membership *member, const struct quern_cuda *cuda, int peer, CUstream stream) {
    const int mine = member->rank;
    const size_t back = offsetof(struct probe, read_back) + (size_t)peer * sizeof(uint64_t);
    CUresult error = fill(member, cuda, peer, stream);
    if (error == CUDA_SUCCESS)
        error = cuda->copy_on_device_async(place(member, mine, back), received(member, peer, mine), sizeof(uint64_t), stream);
    return error;
}

static CUresult send_all(const struct quern_membership *member, const struct quern_cuda_visit *visit) {
    const struct quern_cuda *cuda = visit->cuda;
    CUstream stream;
    CUresult error = cuda->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS) return error;
    error = fill(member, cuda, member->rank, stream);
    for (int peer = 0; peer < member->ranks && error == CUDA_SUCCESS; peer++)
        if (is_probed(member, peer)) error = send_to(member, cuda, peer, stream);
    const CUresult waited = cuda->stream_synchronize(stream);
    cuda->stream_destroy(stream);
    return error == CUDA_SUCCESS ? waited : error;
}

static CUresult read_own(const struct quern_membership *member, const struct quern_cuda_visit *visit, struct probe *probe) {
    const struct quern_cuda *cuda = visit->cuda;
    CUstream stream;
    CUresult error = cuda->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS) return error;
    error = cuda->copy_to_host_async(probe, place(member, member->rank, 0), sizeof *probe, stream);
    const CUresult waited = cuda->stream_synchronize(stream);
    cuda->stream_destroy(stream);
    return error == CUDA_SUCCESS ? waited : error;
}

static quern_status fail_lost(const struct quern_membership *member, int from, int to) {
    const struct quern_peer *peers = member->roster->peer;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "what cuda:%d of rank %d writes to the memory of cuda:%d of rank %d "
                      "is lost, though the driver promises access (likely causes: PCIe ACS, an IOMMU)",
                      peers[from].device_ordinal, from, peers[to].device_ordinal, to);
}

static quern_status judge(const struct quern_membership *member, const struct probe *probe) {
    for (int peer = 0; peer < member->ranks; peer++) {
        if (!is_probed(member, peer)) continue;
        if (probe->received[peer] != word_of(peer)) return fail_lost(member, peer, member->rank);
        if (probe->read_back[peer] != word_of(member->rank)) return fail_lost(member, member->rank, peer);
    }
    return QUERN_OK;
}

static quern_status send_probes(struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = send_all(member, &visit);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "probing peer access");
}

static quern_status look(struct quern_membership *member) {
    struct probe probe;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = read_own(member, &visit, &probe);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? judge(member, &probe) : quern_cuda_fail(member->device, error, "probing peer access");
}

static bool has_peers(const struct quern_membership *member) {
    for (int rank = 1; rank < member->ranks; rank++)
        if (!quern_cuda_same_gpu(member->roster, 0, rank)) return true;
    return false;
}

quern_status quern_probe_peers(struct quern_membership *const *members, int count) {
    static quern_status (*const steps[])(struct quern_membership *member) = {send_probes, look};
    quern_status status = QUERN_OK;
    if (!has_peers(members[0])) return QUERN_OK;
    for (size_t step = 0; step < sizeof steps / sizeof *steps && status == QUERN_OK; step++) {
        int at = 0;
        for (int i = 0; i < count && status == QUERN_OK; i++) status = steps[step](members[at = i]);
        status = quern_agree_at(members, count, QUERN_IN_CREATE, at, status);
    }
    return status;
}
