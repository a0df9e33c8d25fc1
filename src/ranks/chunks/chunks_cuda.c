/* The quantised chunks of GPU ranks of one host: the checks for GPUs only, and the launches.  A row of the cuda transports. */
#include "ranks/chunks/chunks.h"

#include <string.h>

#include "quantize/quantize.h"
#include "ranks/barrier_cuda.h"
#include "ranks/collective/collective.h"
#include "ranks/cuda_launch.h"
#include "runtime/list_count.h"
#include "runtime/status.h"

enum { MULTIPROCESSORS = 16 };  /* enough for the links between GPUs; the engine's kernels have the rest */

static size_t workspace_bytes(const struct quern_chunks_call *call) { return quern_chunks_state_bytes(call); }

/* ---- checks ---- */

static quern_status select_kernels(struct quern_chunks_call *call) {
    quern_device *device = call->member->device;
    const quern_quantize_chunks_args *args = &call->args;
    const enum quern_collective_task cast = call->in_blocks ? QUERN_COLLECTIVE_BLOCK_CHUNKS : QUERN_COLLECTIVE_CHUNKS;
    quern_status status = QUERN_OK;
    if (!call->in_blocks) status = quern_quantize_select_amax(device, args->input_dtype, &call->amax);
    if (status == QUERN_OK)
        status = quern_collective_select_task(device, cast, args->input_dtype, args->output_dtype, &call->cast);
    if (status != QUERN_OK) return status;
    return quern_collective_select_task(device, QUERN_COLLECTIVE_CHUNK_MEETING, QUERN_NO_DTYPE, QUERN_NO_DTYPE, &call->meeting);
}

quern_status quern_chunks_check_on_gpu(struct quern_chunks_call *call) {
    const int64_t most = (int64_t)(call->in_blocks ? QUERN_CHUNK_TILE_BLOCKS : QUERN_CHUNK_TILE) * QUERN_LIST_MAX_TILES;
    if ((call->in_blocks ? call->blocks : call->elements) > most)
        return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                          "args.rows is %lld with args.columns %lld: expected at most %lld %s on a GPU",
                          (long long)call->args.rows, (long long)call->args.columns, (long long)most,
                          call->in_blocks ? "blocks" : "elements");
    return select_kernels(call);
}

static quern_status check(struct quern_chunks_call *call) {
    const quern_status status = quern_chunks_check_on_gpu(call);
    return status == QUERN_OK ? quern_gpu_room_check(call->member, quern_cuda_rank_of(call->member)->room, call->meeting) : status;
}

/* ---- launches ---- */

static CUresult clear(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    CUresult error = quern_cuda_stay(call->member, entry);
    if (error != CUDA_SUCCESS) return error;
    return entry->visit.cuda->memory_set_async((CUdeviceptr)(uintptr_t)call->workspace, 0, call->workspace_bytes, stream);
}

static unsigned blocks_for(const struct quern_ready_kernel *ready, int64_t parts, int most) {
    const int64_t allowed = most && most < (int64_t)ready->resident ? most : (int64_t)ready->resident;
    return (unsigned)(parts < allowed ? parts : allowed);
}

CUresult quern_chunks_launch_amax(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    struct quern_quantize_batch batch;
    if (call->in_blocks) return CUDA_SUCCESS;
    quern_chunks_fill_amax(call, &batch);
    return quern_cuda_launch(call->member, entry, call->amax, blocks_for(call->amax, batch.tile_count, 0), stream, &batch);
}

CUresult quern_chunks_launch_cast(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream,
                                  const struct quern_chunks_cast_problem *problem, int64_t parts) {
    const int most = call->multiprocessors ? call->multiprocessors : MULTIPROCESSORS;
    return quern_cuda_launch(call->member, entry, call->cast, blocks_for(call->cast, parts, most), stream, problem);
}

static CUresult launch_cast(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    struct quern_chunks_cast_problem problem;
    if (!call->chunks) return CUDA_SUCCESS;
    quern_chunks_fill_cast(call, &problem);
    return quern_chunks_launch_cast(call, entry, stream, &problem, quern_chunks_parts(call));
}

CUresult quern_chunks_launch_meeting(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream,
                                     struct quern_chunks_problem *problem, enum quern_chunks_stage stage) {
    problem->stage = stage;
    return quern_cuda_launch(call->member, entry, call->meeting, 1, stream, problem);
}

/*
 * The members write into this rank's memory from the entry on: if no cast can follow, the exit still tells those who wait.  A graph
 * that lacks its cast is of no use anyway.
 */
static quern_status launch_rest(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream,
                                struct quern_chunks_problem *problem) {
    const CUresult cast = launch_cast(call, entry, stream);
    quern_status status = QUERN_OK;
    if (cast != CUDA_SUCCESS)
        status = quern_cuda_fail_between(call->member, entry, call->cast, cast, "quern_quantize_chunks", "cast");
    if (status != QUERN_OK && entry->capturing) return status;
    const CUresult exit = quern_chunks_launch_meeting(call, entry, stream, problem, QUERN_CHUNKS_EXIT);
    if (exit == CUDA_SUCCESS || cast != CUDA_SUCCESS) return status;
    return quern_cuda_fail_between(call->member, entry, call->meeting, exit, "quern_quantize_chunks", "exit");
}

static quern_status launch(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    struct quern_chunks_problem problem;
    quern_chunks_fill_meeting(call, &problem);
    quern_cuda_report(call->member, problem.links.tag | QUERN_PHASE_ENTRY << 16);
    CUresult error = clear(call, entry, stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, "cuMemsetD8Async");
    error = quern_chunks_launch_amax(call, entry, stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, call->amax->kernel->name);
    error = quern_chunks_launch_meeting(call, entry, stream, &problem, QUERN_CHUNKS_ENTRY);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, call->meeting->kernel->name);
    return launch_rest(call, entry, stream, &problem);
}

static quern_status run(struct quern_chunks_call *call, void *stream) {
    struct quern_membership *member = call->member;
    struct quern_cuda_entry entry;
    if (call->refused != QUERN_OK) {
        quern_status told = quern_cuda_refuse(member, &call->set, QUERN_IN_QUANTIZE_CHUNKS, call->timeout, stream);
        return told == QUERN_OK ? call->refused : told;
    }
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    status = launch(call, &entry, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

/* ---- waits for chunks ---- */

quern_status quern_chunks_launch_wait(struct quern_membership *member, struct quern_chunks_problem *problem, const uint32_t *ready,
                                      int64_t count, uint32_t value, void *stream) {
    const struct quern_ready_kernel *kernel;
    quern_status status =
        quern_collective_select_task(member->device, QUERN_COLLECTIVE_CHUNK_MEETING, QUERN_NO_DTYPE, QUERN_NO_DTYPE, &kernel);
    if (status != QUERN_OK) return status;
    problem->stage = QUERN_CHUNKS_WAIT;
    problem->rank = member->rank;
    problem->ready = (uint32_t *)(uintptr_t)ready, problem->words = (uint32_t)count;
    problem->ready_value = value;
    return quern_cuda_launch_beside(member, kernel, stream, problem);
}

static quern_status wait(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                         void *stream) {
    struct quern_chunks_problem problem = {.stage = QUERN_CHUNKS_WAIT};
    quern_cuda_link(member, &member->everyone, QUERN_IN_CHUNK_WAIT, timeout, &problem.links);
    return quern_chunks_launch_wait(member, &problem, ready, count, value, stream);
}

/* ---- the view ---- */

static quern_status view(struct quern_membership *member, const void *pointer, quern_device_view *view) {
    struct quern_symmetric_location place;
    struct quern_links links;
    if (quern_symmetric_find(member, pointer, 1, &place) != QUERN_MEMORY_SYMMETRIC)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT,
                          "pointer is not symmetric memory of this group: expected an address within one live "
                          "quern_symmetric_alloc");
    quern_cuda_link(member, &member->everyone, QUERN_IN_CHUNK_WAIT, member->timeout, &links);
    const quern_device_view filled = {
        .size = view->size,
        .rank = member->rank,
        .ranks = member->ranks,
        .timeout = links.timeout,
        .poison = links.poison,
        .multicast = place.multicast ? (char *)place.multicast + place.offset : NULL,
    };
    *view = filled;
    for (int rank = 0; rank < member->ranks; rank++)
        if (place.offset < place.peer_bytes[rank]) view->peer[rank] = (char *)place.peer[rank] + place.offset;
    return QUERN_OK;
}

const struct quern_chunks_transport quern_cuda_chunks = {
    .workspace_bytes = workspace_bytes,
    .check = check,
    .run = run,
    .wait = wait,
    .view = view,
};
