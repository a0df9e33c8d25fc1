/* Events, streams and copies of GPU ranks' transfers.  Called by transfer.c, progress.c and transfers.c. */
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "ranks/cuda_launch.h"
#include "ranks/nccl/nccl.h"
#include "ranks/symmetric/symmetric.h"
#include "runtime/status.h"

/* ---- making and freeing ---- */

static CUresult make_streams(struct quern_transfer_streams *streams, const struct quern_cuda_visit *visit) {
    int least = 0, greatest = 0;
    CUresult error = visit->cuda->stream_priorities(&least, &greatest);
    if (error == CUDA_SUCCESS && !streams->copies)
        error = visit->cuda->stream_create_urgent(&streams->copies, CU_STREAM_NON_BLOCKING, greatest);
    if (error == CUDA_SUCCESS && !streams->own)
        error = visit->cuda->stream_create_urgent(&streams->own, CU_STREAM_NON_BLOCKING, greatest);
    return error;
}

quern_status quern_make_gpu(struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    struct quern_transfers *all = member->transfers;
    struct quern_cuda_visit visit;
    if (member->device->kind != QUERN_CUDA) return QUERN_OK;
    if (!all->streams) all->streams = calloc(1, sizeof *all->streams);
    struct quern_transfer_gpu *gpu = transfer->gpu = calloc(1, sizeof *gpu);
    if (!all->streams || !gpu) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = make_streams(all->streams, &visit);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_create(&gpu->ready, CU_EVENT_DISABLE_TIMING);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_create(&gpu->copied, CU_EVENT_DISABLE_TIMING);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "making the events of a transfer");
}

void quern_free_gpu(struct quern_transfer_data *transfer) {
    struct quern_transfer_gpu *gpu = transfer->gpu;
    struct quern_cuda_visit visit;
    if (!gpu) return;
    if (quern_cuda_begin_visit(&visit, transfer->member->device->context) == CUDA_SUCCESS) {
        if (gpu->ready) visit.cuda->event_destroy(gpu->ready);
        if (gpu->copied) visit.cuda->event_destroy(gpu->copied);
    }
    quern_cuda_end_visit(&visit);
    free(gpu);
    transfer->gpu = NULL;
}

void quern_free_gpu_streams(struct quern_transfers *all) {
    struct quern_cuda_visit visit;
    if (!all->streams) return;
    if (quern_cuda_begin_visit(&visit, all->member->device->context) == CUDA_SUCCESS) {
        if (all->streams->copies) visit.cuda->stream_destroy(all->streams->copies);
        if (all->streams->own) visit.cuda->stream_destroy(all->streams->own);
    }
    quern_cuda_end_visit(&visit);
    free(all->streams);
    all->streams = NULL;
}

/* ---- the start ---- */

quern_status quern_check_transfer_stream(const struct quern_membership *member, CUstream stream, bool *is_captured) {
    struct quern_cuda_visit visit;
    int is_capturing = 0;
    quern_status status = quern_cuda_check_stream(member, stream);
    if (status != QUERN_OK) return status;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->stream_is_capturing(stream, &is_capturing);
    quern_cuda_end_visit(&visit);
    *is_captured = is_capturing;
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "cuStreamIsCapturing");
}

/* A graph can have what goes over NCCL. */
static quern_status check_capture(struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    if (!quern_nccl_rank_of(member))
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is being captured: without NCCL the receiver copies "
                          "when both ranks have started a transfer, which a replay cannot say", member->label);
    if (member->transfers->is_batch)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is being captured: expected no quern_transfer_begin "
                          "before, but one list for what goes together", member->label);
    quern_cuda_note_unmarked(quern_cuda_rank_of(member));
    return quern_nccl_check_capture(member);
}

quern_status quern_mark_start(struct quern_transfer_data *transfer, void *stream) {
    const struct quern_membership *member = transfer->member;
    struct quern_cuda_visit visit;
    if (!transfer->gpu) return QUERN_OK;
    quern_status status = quern_check_transfer_stream(member, stream, &transfer->is_captured);
    if (status == QUERN_OK && transfer->is_captured) status = check_capture(transfer);
    transfer->gpu->is_ready = transfer->is_captured;
    transfer->gpu->captured = stream;
    if (status != QUERN_OK) return status;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_record(transfer->gpu->ready, stream);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "cuEventRecord");
}

void quern_fail_on_gpu(struct quern_transfer_data *transfer, CUresult error, const char *what) {
    char reason[QUERN_TRANSFER_REASON];
    const quern_status status = quern_cuda_rank_fail(transfer->member, error, what);
    quern_error_detail(reason, sizeof reason);
    quern_transfer_fail(transfer, status, "%s", reason);
}

bool quern_gpu_is_ready(struct quern_transfer_data *transfer) {
    struct quern_cuda_visit visit;
    if (transfer->gpu->is_ready) return true;
    CUresult error = quern_cuda_begin_visit(&visit, transfer->member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_query(transfer->gpu->ready);
    quern_cuda_end_visit(&visit);
    transfer->gpu->is_ready = error == CUDA_SUCCESS;
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY) quern_fail_on_gpu(transfer, error, "cuEventQuery");
    return error == CUDA_SUCCESS;
}

bool quern_gpu_is_busy(const struct quern_transfer_data *transfer) {
    if (!transfer->gpu || transfer->state != QUERN_TRANSFER_STARTED) return false;
    for (int i = 0; i < transfer->pair_count; i++) {
        const struct quern_transfer_pair *pair = &transfer->pairs[i];
        if (pair->conn ? !pair->is_said : pair->flies) return true;
    }
    return false;
}

/* ---- memory of other ranks ---- */

/* The receiver of an item copies from it, without NCCL. */
static bool is_copied_by(const struct quern_membership *member, int peer) {
    return member->device->kind == QUERN_CUDA && !quern_nccl_rank_of(member) && peer != member->rank;
}

quern_status quern_check_reach(const struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    for (int64_t i = 0; i < transfer->count; i++) {
        const struct quern_transfer_part *part = &transfer->parts[i];
        struct quern_symmetric_location place;
        if (part->receive || !part->bytes || !is_copied_by(member, part->peer)) continue;
        if (member->roster->peer[part->peer].is_here) continue;
        if (quern_symmetric_find(member, part->memory, part->bytes, &place) != QUERN_MEMORY_FREED) continue;
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.items[%lld].memory is in symmetric memory that rank %d has "
                          "freed", (long long)part->place, member->rank);
    }
    return QUERN_OK;
}

void quern_name_memory(const struct quern_transfer_pair *pair, struct quern_transfer_entry *entries) {
    const struct quern_membership *member = pair->transfer->member;
    for (int64_t i = 0; i < pair->count; i++) {
        struct quern_transfer_part *part = &pair->parts[i];
        struct quern_symmetric_location place;
        if (part->receive) continue;
        if (!pair->conn->is_elsewhere &&
            quern_symmetric_find(member, part->memory, part->bytes, &place) == QUERN_MEMORY_SYMMETRIC) {
            entries[i].memory = place.id + 1;
            entries[i].address = (uint64_t)place.offset;
        } else {
            part->is_staged = pair->conn->bounce;
        }
    }
}

bool quern_find_memory(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs) {
    const struct quern_membership *member = pair->transfer->member;
    const int peer = pair->conn->peer;
    for (int64_t i = 0; i < pair->count && is_copied_by(member, peer); i++) {
        struct quern_transfer_part *part = &pair->parts[i];
        const uint64_t id = theirs[i].memory - 1;
        if (!part->receive || !part->bytes) continue;
        part->is_staged = !theirs[i].memory && pair->conn->bounce;
        if (!theirs[i].memory) continue;
        const void *found = quern_symmetric_resolve_beside(member, id, (int64_t)theirs[i].address, part->bytes, peer);
        pair->addresses[i] = (uintptr_t)found;
        if (found) continue;
        quern_transfer_fail(pair->transfer, QUERN_PEER_MISMATCH, "what rank %d sends with tag %llu is in symmetric memory that "
                            "rank %d does not have: it has freed its part", peer, (unsigned long long)part->tag, member->rank);
        return false;
    }
    return true;
}

CUresult quern_copy_by_gpu(const struct quern_transfer_data *transfer, const struct iovec *ours, const struct iovec *theirs,
                           int count) {
    const CUstream stream = transfer->member->transfers->streams->copies;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, transfer->member->device->context);
    for (int i = 0; i < count && error == CUDA_SUCCESS; i++)
        error = visit.cuda->copy_on_device_async((uintptr_t)ours[i].iov_base, (uintptr_t)theirs[i].iov_base, ours[i].iov_len,
                                                 stream);
    const CUresult waited = error == CUDA_SUCCESS ? visit.cuda->stream_synchronize(stream) : error;
    quern_cuda_end_visit(&visit);
    return waited;
}

/* ---- copies within the rank ---- */

static CUresult enqueue_copies(const struct quern_transfer_pair *pair, const struct quern_cuda_visit *visit) {
    const struct quern_transfer_data *transfer = pair->transfer;
    const bool is_captured = transfer->is_captured;
    const CUstream stream = is_captured ? transfer->gpu->captured : transfer->member->transfers->streams->own;
    CUresult error = is_captured ? CUDA_SUCCESS : visit->cuda->stream_wait_event(stream, transfer->gpu->ready, 0);
    for (int64_t i = 0; i + 1 < pair->count && error == CUDA_SUCCESS; i += 2) {
        const struct quern_transfer_part *from = &pair->parts[i], *to = &pair->parts[i + 1];
        if (!from->bytes) continue;
        error = visit->cuda->copy_on_device_async((uintptr_t)to->memory, (uintptr_t)from->memory, (size_t)from->bytes, stream);
    }
    return error == CUDA_SUCCESS && !is_captured ? visit->cuda->event_record(transfer->gpu->copied, stream) : error;
}

void quern_copy_own_on_gpu(struct quern_transfer_pair *pair) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, pair->transfer->member->device->context);
    if (error == CUDA_SUCCESS) error = enqueue_copies(pair, &visit);
    quern_cuda_end_visit(&visit);
    pair->flies = error == CUDA_SUCCESS && !pair->transfer->is_captured;
    pair->in.is_complete = pair->out.is_complete = error == CUDA_SUCCESS && pair->transfer->is_captured;
    if (error != CUDA_SUCCESS) quern_fail_on_gpu(pair->transfer, error, "copying within the rank");
}

bool quern_have_copied_own(struct quern_transfer_pair *pair) {
    struct quern_cuda_visit visit;
    if (!pair->flies) return false;
    CUresult error = quern_cuda_begin_visit(&visit, pair->transfer->member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_query(pair->transfer->gpu->copied);
    quern_cuda_end_visit(&visit);
    if (error == CUDA_ERROR_NOT_READY) return false;
    pair->flies = false;
    if (error == CUDA_SUCCESS) pair->in.is_complete = pair->out.is_complete = true;
    else quern_fail_on_gpu(pair->transfer, error, "cuEventQuery");
    return true;
}

void quern_await_own_copies(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_cuda_visit visit;
    (void)status, (void)reason;
    if (!pair->flies) return;
    if (quern_cuda_begin_visit(&visit, pair->transfer->member->device->context) == CUDA_SUCCESS)
        visit.cuda->event_synchronize(pair->transfer->gpu->copied);
    quern_cuda_end_visit(&visit);
}
