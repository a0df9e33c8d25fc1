/* The ragged all-to-all of GPU ranks: the launches of a call without a plan.  A row of the cuda transport. */
#include "ranks/ragged/ragged.h"

#include "os/integers.h"
#include "ranks/barrier_cuda.h"
#include "ranks/cuda_launch.h"
#include "runtime/status.h"

static size_t workspace_bytes(const struct quern_ragged_call *call) {
    struct quern_ragged_layout layout;
    return quern_ragged_lay_out(call, &layout) ? layout.bytes : SIZE_MAX;
}

/* The driver copies up to this many bytes of pageable memory into the stream at once.  For more it would wait for the stream. */
enum { INLINE_BYTES = 65536 };

static quern_status bring(const struct quern_ragged_call *call, char *to, const char *from, size_t bytes, CUstream stream) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(call->member)->cuda;
    for (size_t done = 0; done < bytes; done += INLINE_BYTES) {
        size_t piece = bytes - done < INLINE_BYTES ? bytes - done : INLINE_BYTES;
        CUresult error = cuda->copy_to_device_async((CUdeviceptr)(uintptr_t)(to + done), from + done, piece, stream);
        if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, "cuMemcpyHtoDAsync");
    }
    return QUERN_OK;
}

/* The four arrays: in place, or copied from host memory into the workspace, with the rank's context current. */
static quern_status place_metadata(const struct quern_ragged_call *call, const struct quern_ragged_layout *layout,
                                   struct quern_ragged_problem *problem, CUstream stream) {
    const struct {
        const void *from, **to;
    } arrays[] = {{call->input_offsets, &problem->input_offsets}, {call->send_sizes, &problem->send_sizes},
                  {call->output_offsets, &problem->output_offsets}, {call->recv_sizes, &problem->recv_sizes}};
    const size_t bytes = (size_t)quern_ragged_entries(call) * (call->metadata_is_int64 ? 8 : 4);
    quern_status status = QUERN_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == QUERN_OK; i++) {
        char *place = (char *)call->workspace + layout->metadata + i * bytes;
        *arrays[i].to = call->metadata_on_device ? arrays[i].from : place;
        if (!call->metadata_on_device) status = bring(call, place, arrays[i].from, bytes, stream);
    }
    return status;
}

static quern_status enqueue(const struct quern_ragged_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    struct quern_ragged_layout layout;
    const int64_t bytes = call->input_rows * call->row_bytes;  /* an estimate: the metadata may not be known yet */
    struct quern_ragged_launch launch = {.member = call->member, .ready = call->ready};
    if (call->in_place) {
        launch.staged = (CUdeviceptr)(uintptr_t)call->input;
        launch.staged_bytes = (size_t)bytes;
    }
    quern_ragged_lay_out(call, &layout);
    quern_ragged_describe(call, &layout, QUERN_IN_RAGGED_ALL_TO_ALL, &launch.problem);
    launch.blocks = quern_cuda_blocks(call->multiprocessors, bytes);
    CUresult error = call->metadata_on_device ? CUDA_SUCCESS : quern_cuda_stay(call->member, entry);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, "cuCtxPushCurrent");
    quern_status status = place_metadata(call, &layout, &launch.problem, stream);
    quern_cuda_report(call->member, launch.problem.links.tag | QUERN_PHASE_ENTRY << 16);
    return status == QUERN_OK ? quern_ragged_launch(&launch, entry, stream) : status;
}

static quern_status run(struct quern_ragged_call *call, void *stream) {
    struct quern_membership *member = call->member;
    quern_status status = quern_ragged_check_cuda(call);
    if (status != QUERN_OK) {
        quern_status told = quern_cuda_refuse(member, &call->set, QUERN_IN_RAGGED_ALL_TO_ALL, call->timeout, stream);
        return told == QUERN_OK ? status : told;
    }
    struct quern_cuda_entry entry;
    status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    if (entry.capturing && !call->metadata_on_device)
        status = quern_fail(member->device, QUERN_NOT_SUPPORTED,
                            "the stream is being captured and the metadata is in host memory, which "
                            "the replays would read again: expected args.metadata_on_device, or a plan");
    else
        status = enqueue(call, &entry, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

const struct quern_ragged_transport quern_cuda_ragged = {
    .workspace_bytes = workspace_bytes,
    .run = run,
    .plan_create = quern_cuda_plan_create,
    .plan_run = quern_cuda_plan_run,
    .plan_destroy = quern_cuda_plan_destroy,
};
