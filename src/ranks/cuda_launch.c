/*
 * The calls of the driver around every launch of a collective kernel.  Called by barrier_cuda.c, src/ranks/ragged/,
 * src/ranks/collective/ and src/ranks/chunks/.
 */
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
    void *green;  /* cuda.h does not say that it may be NULL */
    return cuda->stream_contexts ? cuda->stream_contexts(stream, context, &green) : cuda->stream_context(stream, context);
}

CUresult quern_cuda_stay(const struct quern_membership *member, struct quern_cuda_entry *entry) {
    if (entry->visit.pushed) return CUDA_SUCCESS;
    CUresult error = entry->visit.cuda->context_push(member->device->context);
    entry->visit.pushed = error == CUDA_SUCCESS;
    return error;
}

/* The kernels of ranks that share a context would follow each other in its default stream. */
quern_status quern_cuda_check_default(const struct quern_membership *member, CUstream stream) {
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
    quern_status status = quern_cuda_check_default(member, stream);
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

static CUresult launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream,
                       void **parameters, bool starts_early) {
    const unsigned threads = ready->kernel->cuda.threads;
    if (!starts_early) return cuda->launch(ready->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmatic_stream_serialization_allowed = 1};
    const CUlaunchConfig config = {.grid_x = blocks, .grid_y = 1, .grid_z = 1, .block_x = threads, .block_y = 1, .block_z = 1,
                                   .stream = stream, .attributes = &attribute, .attribute_count = 1};
    return cuda->launch_extended(&config, ready->function, parameters, NULL);
}

/* The driver refuses a launch in another context than the current one. */
static CUresult launch_here(const struct quern_membership *member, struct quern_cuda_entry *entry,
                            const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem,
                            bool starts_early) {
    void *parameters[] = {(void *)(uintptr_t)problem};
    CUresult error = launch(entry->visit.cuda, ready, blocks, stream, parameters, starts_early);
    if ((error != CUDA_ERROR_INVALID_CONTEXT && error != CUDA_ERROR_INVALID_HANDLE) || entry->visit.pushed) return error;
    error = quern_cuda_stay(member, entry);
    return error == CUDA_SUCCESS ? launch(entry->visit.cuda, ready, blocks, stream, parameters, starts_early) : error;
}

CUresult quern_cuda_launch(const struct quern_membership *member, struct quern_cuda_entry *entry,
                           const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem) {
    return launch_here(member, entry, ready, blocks, stream, problem, false);
}

CUresult quern_cuda_launch_behind(const struct quern_membership *member, struct quern_cuda_entry *entry,
                                  const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem) {
    return launch_here(member, entry, ready, blocks, stream, problem, ready->kernel->cuda.waits != 0);
}

quern_status quern_cuda_launch_beside(const struct quern_membership *member, const struct quern_ready_kernel *ready,
                                      CUstream stream, const void *problem) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_cuda_entry entry = {.visit.cuda = rank->cuda};
    if (quern_is_looked_at()) entry.visit.cuda = quern_look_into(entry.visit.cuda);
    quern_status status = check_launcher(member);
    if (status == QUERN_OK) status = quern_cuda_check_default(member, stream);
    if (status == QUERN_OK) status = quern_cuda_check_stream(member, stream);
    if (status != QUERN_OK) return status;
    quern_begin_launching();
    quern_cuda_note_unmarked(rank);
    __atomic_store_n(&rank->waits, true, __ATOMIC_RELAXED);
    CUresult error = quern_cuda_stay(member, &entry);
    if (error == CUDA_SUCCESS) error = quern_cuda_launch(member, &entry, ready, 1, stream, problem);
    quern_end_launching();
    quern_cuda_end_visit(&entry.visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, ready->kernel->name);
}

enum {
    BYTES_PER_BLOCK = 16384,             /* the least work of a block: half of the bytes that its threads keep in flight */
    BLOCKS = 16, MOST_BLOCKS = 32        /* enough for the links between GPUs; the engine's kernels have the rest */
};

unsigned quern_cuda_blocks(int multiprocessors, int64_t bytes) {
    const int64_t useful = bytes / BYTES_PER_BLOCK + 1, wanted = multiprocessors ? multiprocessors : BLOCKS;
    const int64_t allowed = wanted < MOST_BLOCKS ? wanted : MOST_BLOCKS;
    return (unsigned)(useful < allowed ? useful : allowed);
}

quern_status quern_cuda_fail_between(const struct quern_membership *member, const struct quern_cuda_entry *entry,
                                     const struct quern_ready_kernel *ready, CUresult error, const char *operation,
                                     const char *launch) {
    char text[QUERN_CUDA_TEXT];
    quern_cuda_describe(error, ready->kernel->name, text, sizeof text);
    if (!entry->capturing)
        quern_poison(member, QUERN_PEER_LOST, "rank %d has entered %s and could not launch its %s: %s", member->rank, operation,
                     launch, text);
    return quern_cuda_fail(member->device, error, ready->kernel->name);
}

static quern_status fail_to_mark(const struct quern_membership *member, CUresult error) {
    char text[QUERN_CUDA_TEXT];
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
    if (entry->capturing || error != CUDA_SUCCESS) quern_cuda_note_unmarked(rank);
    quern_end_launching();
    quern_cuda_end_visit(&entry->visit);
    return error == CUDA_SUCCESS ? QUERN_OK : fail_to_mark(member, error);
}
