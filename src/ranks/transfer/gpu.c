/* Events, streams and copies of GPU ranks' transfers.  Called by transfer.c, talk.c and transfers.c. */
#include "ranks/transfer/gpu.h"

#include <stdlib.h>

#include "ranks/cuda_launch.h"
#include "runtime/status.h"

/* ---- making and freeing ---- */

static CUresult make_stream(struct quern_transfers *all, const struct quern_cuda_visit *visit) {
    int least = 0, greatest = 0;
    if (all->stream->stream) return CUDA_SUCCESS;
    const CUresult error = visit->cuda->stream_priorities(&least, &greatest);
    if (error != CUDA_SUCCESS) return error;
    return visit->cuda->stream_create_urgent(&all->stream->stream, CU_STREAM_NON_BLOCKING, greatest);
}

quern_status quern_make_gpu(struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    struct quern_transfers *all = member->transfers;
    struct quern_cuda_visit visit;
    if (member->device->kind != QUERN_CUDA) return QUERN_OK;
    if (!all->stream) all->stream = calloc(1, sizeof *all->stream);
    struct quern_transfer_gpu *gpu = transfer->gpu = calloc(1, sizeof *gpu);
    if (!all->stream || !gpu) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = make_stream(all, &visit);
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

void quern_free_gpu_stream(struct quern_transfers *all) {
    struct quern_cuda_visit visit;
    if (!all->stream) return;
    if (quern_cuda_begin_visit(&visit, all->member->device->context) == CUDA_SUCCESS && all->stream->stream)
        visit.cuda->stream_destroy(all->stream->stream);
    quern_cuda_end_visit(&visit);
    free(all->stream);
    all->stream = NULL;
}

/* ---- the start ---- */

quern_status quern_mark_start(struct quern_transfer_data *transfer, void *stream) {
    const struct quern_membership *member = transfer->member;
    struct quern_cuda_visit visit;
    int is_capturing = 0;
    if (!transfer->gpu) return QUERN_OK;
    quern_status status = quern_cuda_check_stream(member, stream);
    if (status != QUERN_OK) return status;
    const char *what = "cuStreamIsCapturing";
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->stream_is_capturing(stream, &is_capturing);
    if (error == CUDA_SUCCESS && !is_capturing) {
        what = "cuEventRecord";
        error = visit.cuda->event_record(transfer->gpu->ready, stream);
    }
    quern_cuda_end_visit(&visit);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, what);
    if (!is_capturing) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is being captured: a transfer begins when both ranks "
                      "have started it, which a replay cannot say", member->label);
}

/* ---- copies within the rank ---- */

static CUresult enqueue_copies(const struct quern_transfer_pair *pair, const struct quern_cuda_visit *visit) {
    const struct quern_transfer_data *transfer = pair->transfer;
    const CUstream stream = transfer->member->transfers->stream->stream;
    CUresult error = visit->cuda->stream_wait_event(stream, transfer->gpu->ready, 0);
    for (int64_t i = 0; i + 1 < pair->count && error == CUDA_SUCCESS; i += 2) {
        const struct quern_transfer_part *from = &pair->parts[i], *to = &pair->parts[i + 1];
        if (!from->bytes) continue;
        error = visit->cuda->copy_on_device_async((uintptr_t)to->memory, (uintptr_t)from->memory, (size_t)from->bytes, stream);
    }
    return error == CUDA_SUCCESS ? visit->cuda->event_record(transfer->gpu->copied, stream) : error;
}

static void fail(struct quern_transfer_data *transfer, CUresult error, const char *what) {
    char reason[QUERN_TRANSFER_REASON];
    const quern_status status = quern_cuda_rank_fail(transfer->member, error, what);
    quern_error_detail(reason, sizeof reason);
    quern_transfer_fail(transfer, status, "%s", reason);
}

void quern_copy_own_on_gpu(struct quern_transfer_pair *pair) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, pair->transfer->member->device->context);
    if (error == CUDA_SUCCESS) error = enqueue_copies(pair, &visit);
    quern_cuda_end_visit(&visit);
    pair->flies = error == CUDA_SUCCESS;
    if (error != CUDA_SUCCESS) fail(pair->transfer, error, "copying within the rank");
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
    else fail(pair->transfer, error, "cuEventQuery");
    return true;
}

void quern_await_own_copies(const struct quern_transfer_data *transfer) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, transfer->member->device->context) == CUDA_SUCCESS)
        visit.cuda->event_synchronize(transfer->gpu->copied);
    quern_cuda_end_visit(&visit);
}
