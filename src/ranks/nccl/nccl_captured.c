/*
 * The operations of NCCL in graphs.  The library does not see that a graph is launched, so a kernel before and one behind each
 * operation count in pinned memory.  The watcher reads the counts and bounds the waits.  Called where operations are enqueued
 * (nccl_rank.c, nccl_pair.c), by the watcher, and at the end of a group.
 *
 * A graph keeps its operations by user objects of CUDA, as NCCL keeps its communicator: ncclCommAbort and ncclCommDestroy return
 * when no graph has work of the communicator any more.
 */
#define _GNU_SOURCE
#include "ranks/nccl/nccl.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "kernels/collective_problem.h"
#include "os/clock.h"
#include "ranks/cuda_launch.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"

enum { LAUNCHES_BYTES = QUERN_NCCL_CAPTURED * sizeof(struct quern_nccl_launches) };
_Static_assert(LAUNCHES_BYTES % 4096 == 0, "the counts fill their pages");

static const int64_t LAST_WAIT = 1000000000;         /* nanoseconds, for user objects of graphs that were just destroyed */

/* ---- the table ---- */

static CUresult pin(struct quern_nccl_captures *all) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, all->rank->member->device->context);
    if (error == CUDA_SUCCESS)
        error = visit.cuda->host_register(all->launches, LAUNCHES_BYTES,
                                          CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    all->is_pinned = error == CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) error = visit.cuda->host_device_pointer(&all->address, all->launches, 0);
    quern_cuda_end_visit(&visit);
    return error;
}

quern_status quern_nccl_make_captures(struct quern_nccl_rank *rank) {
    const quern_device *device = rank->member->device;
    struct quern_nccl_captures *all = rank->captures = calloc(1, sizeof *all);
    if (!all) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    all->rank = rank;
    void *launches = mmap(NULL, LAUNCHES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (launches == MAP_FAILED) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    all->launches = launches;
    const CUresult error = pin(all);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "cuMemHostRegister of counts of a rank");
}

/* What graphs still write stays. */
void quern_nccl_free_captures(struct quern_nccl_rank *rank) {
    struct quern_nccl_captures *all = rank->captures;
    struct quern_cuda_visit visit;
    if (!all || quern_nccl_count_captured(rank)) return;
    CUresult error = quern_cuda_begin_visit(&visit, rank->member->device->context);
    if (error == CUDA_SUCCESS && all->is_pinned) error = visit.cuda->host_unregister(all->launches);
    quern_cuda_end_visit(&visit);
    if (all->launches && error == CUDA_SUCCESS) munmap(all->launches, LAUNCHES_BYTES);
    free(all);
    rank->captures = NULL;
}

/* ---- capturing ---- */

quern_status quern_nccl_find_graph(const struct quern_membership *member, CUstream stream, CUgraph *graph) {
    unsigned long long id;
    int state = 0;
    *graph = NULL;
    const CUresult error = quern_cuda_rank_of(member)->cuda->stream_capture_info(stream, &state, &id, graph, NULL, NULL);
    if (state != CU_STREAM_CAPTURE_STATUS_ACTIVE) *graph = NULL;
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "cuStreamGetCaptureInfo");
}

quern_status quern_nccl_check_capture(const struct quern_membership *member) {
    if (quern_nccl_count_captured(quern_nccl_rank_of(member)) < QUERN_NCCL_CAPTURED) return QUERN_OK;
    return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "%s: graphs have %d calls of the group over NCCL, the most of a rank",
                      member->label, QUERN_NCCL_CAPTURED);
}

quern_status quern_nccl_check_stream(struct quern_membership *member, CUstream stream, bool *is_captured) {
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    *is_captured = entry.capturing;
    if (entry.capturing) status = quern_nccl_check_capture(member);
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

/* The driver calls it on a thread of its own when no graph has the operation any more. */
static void forget(void *data) {
    struct quern_nccl_captured *captured = data;
    struct quern_nccl_captures *all = captured->all;
    if (captured->pair) __atomic_sub_fetch(&captured->pair->graphs, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&captured->is_kept, 0, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&all->kept, 1, __ATOMIC_RELEASE);
}

static CUresult keep(struct quern_nccl_captured *captured, CUgraph graph) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(captured->all->rank->member)->cuda;
    CUuserObject object;
    captured->is_kept = 1;
    if (captured->pair) __atomic_add_fetch(&captured->pair->graphs, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&captured->all->kept, 1, __ATOMIC_RELAXED);
    CUresult error = cuda->user_object_create(&object, captured, forget, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (error != CUDA_SUCCESS) {
        forget(captured);
        return error;
    }
    error = cuda->graph_retain(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (error != CUDA_SUCCESS) cuda->user_object_release(object, 1);
    return error;
}

quern_status quern_nccl_capture(struct quern_nccl_rank *rank, CUgraph graph, struct quern_nccl_pair *pair,
                                const struct quern_nccl_operation *like, struct quern_nccl_captured **captured) {
    struct quern_nccl_captures *all = rank->captures;
    int i = 0;
    while (i < QUERN_NCCL_CAPTURED && __atomic_load_n(&all->captured[i].is_kept, __ATOMIC_ACQUIRE)) i++;
    if (i == QUERN_NCCL_CAPTURED) return quern_nccl_check_capture(rank->member);
    if (i >= all->used) all->used = i + 1;
    *captured = &all->captured[i];
    (*captured)->all = all;
    (*captured)->pair = pair;
    (*captured)->operation = *like;
    const CUresult error = keep(*captured, graph);
    QUERN_POINT(NCCL_KEPT);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(rank->member, error, "cuGraphRetainUserObject");
}

static quern_status count(const struct quern_nccl_captured *captured, size_t which, CUstream stream) {
    const struct quern_nccl_captures *all = captured->all;
    const struct quern_membership *member = all->rank->member;
    const size_t at = (size_t)(captured - all->captured) * sizeof *all->launches + which;
    struct quern_barrier_problem problem = {.count = (uint32_t *)(uintptr_t)(all->address + at)};
    const struct quern_ready_kernel *kernel;
    void *parameters[] = {&problem};
    quern_status status = quern_select(member->device, QUERN_BARRIER, NULL, &kernel);
    if (status != QUERN_OK) return status;
    const unsigned threads = kernel->kernel->cuda.threads;
    const CUresult error = quern_cuda_rank_of(member)->cuda->launch(kernel->function, 1, 1, 1, threads, 1, 1, 0, stream, parameters,
                                                                    NULL);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, kernel->kernel->name);
}

quern_status quern_nccl_count_begun(const struct quern_nccl_captured *captured, CUstream stream) {
    return count(captured, offsetof(struct quern_nccl_launches, begun), stream);
}

quern_status quern_nccl_count_ended(const struct quern_nccl_captured *captured, CUstream stream) {
    return count(captured, offsetof(struct quern_nccl_launches, ended), stream);
}

/* ---- watching: with the lock ---- */

/* Whether a launch runs; the first look at one notes the time, and tells the others what this rank waits in. */
static bool runs(struct quern_nccl_captures *all, int i, int64_t now) {
    struct quern_nccl_captured *captured = &all->captured[i];
    const uint32_t ended = __atomic_load_n(&all->launches[i].ended, __ATOMIC_ACQUIRE);  /* first: never more than have begun */
    const uint32_t begun = __atomic_load_n(&all->launches[i].begun, __ATOMIC_ACQUIRE);
    if (begun != captured->seen) {
        const struct quern_membership *member = all->rank->member;
        captured->operation.began = now;
        captured->seen = begun;
        __atomic_store_n(&member->segment->rank[member->rank].tag, captured->operation.tag, __ATOMIC_RELAXED);
    }
    return begun != ended;
}

quern_status quern_nccl_look_at_captured(struct quern_nccl_rank *rank, bool *any) {
    struct quern_nccl_captures *all = rank->captures;
    const int64_t now = quern_now();
    quern_status status = QUERN_OK;
    *any = false;
    for (int i = 0; i < all->used && status == QUERN_OK; i++) {
        const struct quern_nccl_operation *operation = &all->captured[i].operation;
        if (!runs(all, i, now)) continue;
        const struct quern_nccl_wait wait = {.what = "an operation of NCCL in a graph", .set = &operation->set,
                                             .began = operation->began, .limit = operation->limit, .tag = operation->tag,
                                             .is_replay = true};
        *any = true;
        status = quern_nccl_check_running(rank->member, &wait, now);
    }
    return status;
}

/* ---- the end ---- */

quern_status quern_nccl_await_graphs(const struct quern_membership *member) {
    const struct quern_nccl_rank *rank = quern_nccl_rank_of(member);
    const int64_t until = quern_now() + LAST_WAIT;
    while (quern_nccl_count_captured(rank) && quern_now() < until) nanosleep(&(struct timespec){.tv_nsec = LAST_WAIT / 1000}, NULL);
    const int count = quern_nccl_count_captured(rank);
    if (!count) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: graphs have %d calls of the group over NCCL: expected the "
                      "end of these graphs first (cuGraphExecDestroy, cuGraphDestroy)", member->label, count);
}
