/* The calls of the driver around every launch of a collective kernel.  Called by barrier_cuda.c and src/ranks/ragged/. */
#include "ranks/cuda_launch.h"

#include "ranks/poison.h"
#include "ranks/registered_segment.h"
#include "runtime/idle.h"
#include "runtime/look.h"
#include "runtime/status.h"

static quern_status check_launcher(const struct quern_membership *member) {
    const int other = quern_cuda_rank_of(member)->launches_block ? quern_claim_launch(member) : -1;
    if (other < 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: CUDA_LAUNCH_BLOCKING is set, and this thread has launched for rank "
                      "%d before: kernels that wait for each other cannot be launched one after the other; unset it, or drive "
                      "each GPU by a thread of its own", member->label, other);
}

/* Handles below this are the default streams of the current context. */
enum { FIRST_STREAM_OF_ITS_OWN = 3 };

static bool is_default(CUstream stream) { return (uintptr_t)stream < FIRST_STREAM_OF_ITS_OWN; }

/* The context of a stream; of a stream of a green context the primary one, if the driver is new enough to tell it. */
static CUresult find_context(const struct quern_cuda *cuda, CUstream stream, CUcontext *context) {
    return cuda->stream_contexts ? cuda->stream_contexts(stream, context, NULL) : cuda->stream_context(stream, context);
}

CUresult quern_cuda_stay(const struct quern_membership *member, struct quern_cuda_entry *entry) {
    if (entry->visit.pushed) return CUDA_SUCCESS;
    CUresult error = entry->visit.cuda->context_push(member->device->context);
    entry->visit.pushed = error == CUDA_SUCCESS;
    return error;
}

/* The kernels of ranks that share a context would follow each other in its default stream. */
static quern_status check_default(const struct quern_membership *member, CUstream stream) {
    if (!quern_cuda_rank_of(member)->shares_context || !is_default(stream)) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is the default stream of %s, which ranks of this "
                      "process share: expected a stream of its own for each, since their kernels wait for each other",
                      member->label, member->device->label);
}

quern_status quern_cuda_check_stream(const struct quern_membership *member, CUstream stream) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(member)->cuda;
    CUcontext context;
    if (is_default(stream)) return QUERN_OK;
    CUresult error = find_context(cuda, stream, &context);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamGetCtx");
    if (context == member->device->context) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: the stream is of another context than the primary one of %s%s",
                      member->label, member->device->label,
                      cuda->stream_contexts ? "" : " (this driver does not tell those of green contexts: CUDA 12.5 does)");
}

/* Most engines have the stream's context current, and a call that needs it says so: then it is made current. */
static CUresult ask_capture(const struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    int is_capturing = 0;
    CUresult error = is_default(stream) ? quern_cuda_stay(member, entry) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) error = entry->visit.cuda->stream_is_capturing(stream, &is_capturing);
    if (error == CUDA_ERROR_INVALID_CONTEXT && !entry->visit.pushed) {
        error = quern_cuda_stay(member, entry);
        if (error == CUDA_SUCCESS) error = entry->visit.cuda->stream_is_capturing(stream, &is_capturing);
    }
    entry->capturing = is_capturing;
    return error;
}

/* On the stream of the last operation there is nothing to check and nothing to wait for. */
static quern_status enter_other_stream(const struct quern_membership *member, const struct quern_cuda_rank *rank, CUstream stream,
                                       const struct quern_cuda_entry *entry) {
    quern_status status = quern_cuda_check_stream(member, stream);
    if (status != QUERN_OK || !rank->enqueued || entry->capturing) return status;
    CUresult error = rank->cuda->stream_wait_event(stream, rank->last, 0);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "cuStreamWaitEvent");
}

static quern_status enter_stream(const struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    quern_status status = check_default(member, stream);
    if (status != QUERN_OK) return status;
    CUresult error = ask_capture(member, stream, entry);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamIsCapturing");
    error = rank->cuda->stream_id(stream, &entry->stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamGetId");
    return rank->enqueued && entry->stream == rank->last_stream ? QUERN_OK : enter_other_stream(member, rank, stream, entry);
}

quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    *entry = (struct quern_cuda_entry){.visit.cuda = quern_cuda_rank_of(member)->cuda};
    if (quern_is_looked_at()) entry->visit.cuda = quern_look_into(entry->visit.cuda);
    quern_status status = check_launcher(member);
    if (status != QUERN_OK) return status;
    quern_begin_launching();
    status = enter_stream(member, stream, entry);
    if (status == QUERN_OK) return status;
    quern_end_launching();
    quern_cuda_end_visit(&entry->visit);
    return status;
}

/* The driver refuses a launch in another context than the current one. */
CUresult quern_cuda_launch(const struct quern_membership *member, struct quern_cuda_entry *entry,
                           const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem) {
    const struct quern_cuda *cuda = entry->visit.cuda;
    const unsigned threads = ready->kernel->cuda.threads;
    void *parameters[] = {(void *)(uintptr_t)problem};
    CUresult error = cuda->launch(ready->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    if ((error != CUDA_ERROR_INVALID_CONTEXT && error != CUDA_ERROR_INVALID_HANDLE) || entry->visit.pushed) return error;
    error = quern_cuda_stay(member, entry);
    if (error != CUDA_SUCCESS) return error;
    return cuda->launch(ready->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}

static quern_status fail_to_mark(const struct quern_membership *member, CUresult error) {
    char text[400];
    quern_cuda_describe(error, "cuEventRecord", text, sizeof text);
    if (quern_cuda_is_sticky(error)) return quern_cuda_rank_fail(member, error, "cuEventRecord");
    quern_poison(member, QUERN_PEER_LOST, "rank %d has launched what it cannot wait for: %s", member->rank, text);
    return quern_cuda_fail(member->device, error, "cuEventRecord");
}

quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    CUresult error = CUDA_SUCCESS;
    if (!entry->capturing) {
        error = rank->cuda->event_record(rank->last, stream);
        if (error == CUDA_SUCCESS) rank->last_stream = entry->stream;
        rank->enqueued |= error == CUDA_SUCCESS;
    }
    rank->unmarked |= entry->capturing || error != CUDA_SUCCESS;
    quern_end_launching();
    quern_cuda_end_visit(&entry->visit);
    return error == CUDA_SUCCESS ? QUERN_OK : fail_to_mark(member, error);
}
