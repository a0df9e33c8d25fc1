/*
 * Collectives of GPU ranks of several hosts.  The members compare their arguments on the host before anything is enqueued.  An
 * all-gather and a broadcast are sends and receives of NCCL, and a copy on the GPU for a rank's own piece; reductions are in
 * collective_nccl_reduce.c.
 */
#include "ranks/collective/collective.h"

#include "ranks/cuda_launch.h"
#include "ranks/nccl/nccl.h"
#include "runtime/status.h"

static size_t workspace_bytes(const struct quern_collective_call *call) {
    return !call->form || call->form->reduces ? quern_nccl_reduction_workspace(call) : 0;
}

/* ---- running ---- */

static ncclResult_t send_input(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued, int to) {
    const struct quern_collective_call *call = enqueued->user;
    return rank->nccl->send(call->input, (size_t)call->piece_bytes, ncclUint8, to, rank->comm, enqueued->stream);
}

static ncclResult_t receive(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued, int from, char *to) {
    const struct quern_collective_call *call = enqueued->user;
    return rank->nccl->receive(to, (size_t)call->piece_bytes, ncclUint8, from, rank->comm, enqueued->stream);
}

static ncclResult_t add_gather(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued) {
    const struct quern_collective_call *call = enqueued->user;
    ncclResult_t result = ncclSuccess;
    for (int place = 0; place < call->places && result == ncclSuccess; place++) {
        if (place == call->place) continue;
        result = send_input(rank, enqueued, call->rank_at[place]);
        if (result == ncclSuccess)
            result = receive(rank, enqueued, call->rank_at[place], call->output + place * call->piece_bytes);
    }
    return result;
}

static ncclResult_t add_broadcast(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued) {
    const struct quern_collective_call *call = enqueued->user;
    ncclResult_t result = ncclSuccess;
    if (call->place != call->root_place) return receive(rank, enqueued, call->root, call->output);
    for (int place = 0; place < call->places && result == ncclSuccess; place++)
        if (place != call->place) result = send_input(rank, enqueued, call->rank_at[place]);
    return result;
}

static quern_status copy_own(const struct quern_collective_call *call, CUstream stream) {
    char *to = call->output + (call->form->gathers ? call->place * call->piece_bytes : 0);
    if (!call->input || to == call->input) return QUERN_OK;
    const CUresult error = quern_cuda_rank_of(call->member)->cuda->copy_on_device_async((uintptr_t)to, (uintptr_t)call->input,
                                                                                       (size_t)call->piece_bytes, stream);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(call->member, error, "cuMemcpyDtoDAsync");
}

static quern_status enqueue_moves(const struct quern_collective_call *call, CUstream stream) {
    const struct quern_nccl_call messages = {call->form->operation, &call->set, call->timeout, stream,
                                             call->form->gathers ? add_gather : add_broadcast, call, false};
    quern_status status = copy_own(call, stream);
    return status == QUERN_OK ? quern_nccl_enqueue(call->member, &messages) : status;
}

static quern_status launch(const struct quern_collective_call *call, CUstream stream) {
    struct quern_membership *member = call->member;
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    const CUresult error = quern_cuda_stay(member, &entry);
    if (error != CUDA_SUCCESS) status = quern_cuda_rank_fail(member, error, "cuCtxPushCurrent");
    else if (call->form->reduces) status = quern_nccl_enqueue_reduction(call, &entry, stream);
    else status = enqueue_moves(call, stream);
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

static quern_status run(struct quern_collective_call *call, void *stream) {
    if (call->refused == QUERN_OK) call->refused = quern_nccl_check_stream(call->member, stream, &call->is_captured);
    quern_status status = quern_nccl_agree_on_call(call);
    if (status != QUERN_OK || !call->piece_bytes) return status;
    status = launch(call, stream);
    return status == QUERN_OK ? QUERN_OK : quern_nccl_fail_inside(call->member, status);
}

/* A launch has so many inputs, and the next one goes on from its result: in 16 bits that is rounded. */
static quern_status check(const struct quern_collective_call *call) {
    const bool is_exact = call->dtype == QUERN_F32 || call->combination == QUERN_COMBINE_MAX;
    if (!call->form->reduces || is_exact || call->places <= QUERN_RANK_LIMIT) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_NOT_SUPPORTED, "the sum of %d members in 16 bits, over NCCL: expected at most %d "
                      "members, or F32", call->places, QUERN_RANK_LIMIT);
}

const struct quern_collective_transport quern_nccl_collective = {
    .check = check,
    .workspace_bytes = workspace_bytes,
    .any_workspace = true,
    .run = run,
};
