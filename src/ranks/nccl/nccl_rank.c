/* The communicator of a GPU rank: made, used and ended.  Called by nccl_transport.c and by the calls that go over NCCL. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/nccl/nccl.h"

#include <stdlib.h>
#include <time.h>

#include "os/clock.h"
#include "ranks/barrier_cuda.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static const int64_t LONGEST_NAP = 1000000;          /* nanoseconds between two questions to NCCL */
static const int ASKED_AT_ONCE = 64;                 /* questions before the first nap, which takes longer than most groups */
static const double PATIENCE_AT_THE_END = 1;         /* seconds */

/* ---- the data of a rank ---- */

static CUresult make_events(struct quern_nccl_rank *rank, const struct quern_cuda *cuda) {
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < QUERN_NCCL_PENDING && error == CUDA_SUCCESS; i++) {
        error = cuda->event_create(&rank->operations[i].begun, CU_EVENT_DISABLE_TIMING);
        if (error == CUDA_SUCCESS) error = cuda->event_create(&rank->operations[i].ended, CU_EVENT_DISABLE_TIMING);
    }
    return error;
}

static void free_objects(const struct quern_nccl_rank *rank) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, rank->member->device->context) == CUDA_SUCCESS) {
        for (int i = 0; i < QUERN_NCCL_PENDING; i++) {
            if (rank->operations[i].begun) visit.cuda->event_destroy(rank->operations[i].begun);
            if (rank->operations[i].ended) visit.cuda->event_destroy(rank->operations[i].ended);
        }
        if (rank->pad) visit.cuda->memory_free(rank->pad);
    }
    quern_cuda_end_visit(&visit);
}

quern_status quern_nccl_make_rank(struct quern_membership *member) {
    const struct quern_nccl *nccl;
    struct quern_cuda_visit visit;
    const size_t pad_bytes = quern_device_pad_bytes(1), bytes = pad_bytes + (1 + (size_t)member->ranks) * sizeof(uint32_t);
    quern_status status = quern_nccl_open(&nccl);
    if (status != QUERN_OK) return status;
    struct quern_nccl_rank *rank = calloc(1, sizeof *rank);
    if (!rank) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    rank->member = member;
    rank->nccl = nccl;
    pthread_mutex_init(&rank->lock, NULL);
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = make_events(rank, visit.cuda);
    if (error == CUDA_SUCCESS) error = visit.cuda->memory_allocate(&rank->pad, bytes);
    if (error == CUDA_SUCCESS) error = quern_cuda_write(&visit, rank->pad, NULL, bytes);
    rank->words = rank->pad + pad_bytes;
    quern_cuda_end_visit(&visit);
    quern_cuda_rank_of(member)->nccl = rank;
    status = error == CUDA_SUCCESS ? quern_nccl_make_captures(rank)
                                   : quern_cuda_fail(member->device, error, "making the events of NCCL's operations");
    if (status != QUERN_OK) quern_nccl_free_rank(member);
    return status;
}

/* ---- calls in progress, under the lock ---- */

static void nap(int64_t waited) {
    const int64_t wanted = waited / 8 + 10000;
    nanosleep(&(struct timespec){.tv_nsec = wanted < LONGEST_NAP ? wanted : LONGEST_NAP}, NULL);
}

static quern_status await(struct quern_nccl_rank *rank, const struct quern_nccl_wait *wait) {
    for (int asked = 1;; asked++) {
        bool is_ready;
        quern_status status = quern_nccl_ask(rank, wait->what, &is_ready);
        if (status != QUERN_OK || is_ready) return status;
        const int64_t now = quern_now();
        status = quern_check_poison(rank->member);
        if (status == QUERN_OK) status = quern_nccl_check_gone(rank->member, wait);
        if (status == QUERN_OK) status = quern_nccl_check_limit(rank->member, wait, now);
        if (status != QUERN_OK) return status;
        if (asked >= ASKED_AT_ONCE) nap(now - wait->began);
    }
}

/* The result of the call that began it. */
static quern_status await_result(struct quern_nccl_rank *rank, const struct quern_nccl_wait *wait, ncclResult_t result) {
    const bool has_begun = result == ncclSuccess || result == ncclInProgress;
    return has_begun ? await(rank, wait) : quern_nccl_poison(rank, result, wait->what);
}

quern_status quern_nccl_connect(struct quern_membership *member, const ncclUniqueId *id) {
    struct quern_nccl_rank *rank = quern_nccl_rank_of(member);
    const struct quern_segment_rank *mine = &member->segment->rank[member->rank];
    const struct quern_nccl_wait wait = {.what = "ncclCommInitRankConfig", .set = &member->everyone, .began = quern_now(),
                                         .limit = quern_nccl_limit(member->timeout), .tag = mine->tag};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct quern_cuda_visit visit;
    config.blocking = 0;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error != CUDA_SUCCESS) {
        quern_cuda_end_visit(&visit);
        return quern_cuda_rank_fail(member, error, "cuCtxPushCurrent");
    }
    pthread_mutex_lock(&rank->lock);
    const ncclResult_t result = rank->nccl->init(&rank->comm, member->ranks, *id, member->rank, &config);
    quern_status status = await_result(rank, &wait, result);
    if (status != QUERN_OK) quern_nccl_abort(rank);
    pthread_mutex_unlock(&rank->lock);
    quern_cuda_end_visit(&visit);
    return status;
}

/* ---- enqueueing ---- */

/*
 * Takes the lock when there is room for an operation, which one in a graph does not need.  The watcher makes room, and bounds what
 * stands in the way.
 */
static quern_status take_room(struct quern_nccl_rank *rank, bool needs_room) {
    const int64_t began = quern_now();
    for (;;) {
        pthread_mutex_lock(&rank->lock);
        quern_status status = quern_check_poison(rank->member);
        if (status == QUERN_OK && !rank->comm)
            status = quern_fail(rank->member->device, QUERN_CUDA_ERROR, "%s: the communicator was aborted", rank->member->label);
        if (status == QUERN_OK && (!needs_room || rank->next - rank->first < QUERN_NCCL_PENDING)) return QUERN_OK;
        pthread_mutex_unlock(&rank->lock);
        if (status != QUERN_OK) return status;
        nap(quern_now() - began);
    }
}

static ncclResult_t make_group(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call) {
    const ncclResult_t begun = rank->nccl->group_start();
    const ncclResult_t added = begun == ncclSuccess ? call->add(rank, call) : begun;
    const ncclResult_t ended = begun == ncclSuccess ? rank->nccl->group_end() : begun;
    return added == ncclSuccess || added == ncclInProgress ? ended : added;
}

/* Steps of the stream by which the watcher sees how far it is: events, or of a graph counts. */
static quern_status record(const struct quern_nccl_rank *rank, CUevent event, CUstream stream) {
    const CUresult error = quern_cuda_rank_of(rank->member)->cuda->event_record(event, stream);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(rank->member, error, "cuEventRecord");
}

/* NCCL may still launch from a thread of its own until it says that the call has ended: the second step follows that. */
static quern_status enqueue(struct quern_nccl_rank *rank, const struct quern_nccl_call *call,
                            const struct quern_nccl_operation *operation, const struct quern_nccl_captured *captured) {
    const struct quern_nccl_wait wait = {.what = "ncclGroupEnd", .set = call->set, .began = quern_now(), .limit = operation->limit,
                                         .tag = operation->tag, .number = operation->number};
    quern_status status = captured ? quern_nccl_count_begun(captured, call->stream) : record(rank, operation->begun, call->stream);
    if (status != QUERN_OK) return status;
    const ncclResult_t result = make_group(rank, call);
    status = await_result(rank, &wait, result);
    if (status != QUERN_OK) return status;
    return captured ? quern_nccl_count_ended(captured, call->stream) : record(rank, operation->ended, call->stream);
}

/* The number of calls of all ranks, by which the others see how far this one is; host meetings are no part of it. */
static void report(const struct quern_nccl_rank *rank, uint32_t tag) {
    struct quern_segment_rank *mine = &rank->member->segment->rank[rank->member->rank];
    quern_cuda_report(rank->member, tag);
    __atomic_store_n(&mine->meetings, rank->calls, __ATOMIC_RELAXED);
}

static struct quern_nccl_operation describe(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call, uint32_t tag) {
    return (struct quern_nccl_operation){.limit = quern_nccl_limit(call->timeout), .tag = tag, .number = rank->calls,
                                         .set = *call->set};
}

static quern_status enqueue_next(struct quern_nccl_rank *rank, const struct quern_nccl_call *call, uint32_t tag) {
    struct quern_nccl_operation *operation = &rank->operations[rank->next % QUERN_NCCL_PENDING], next = describe(rank, call, tag);
    next.begun = operation->begun, next.ended = operation->ended;
    *operation = next;
    quern_status status = enqueue(rank, call, operation, NULL);
    if (status == QUERN_OK) rank->next++;
    return status;
}

/* The groups of a call follow each other and have one number. */
static quern_status capture_next(struct quern_nccl_rank *rank, const struct quern_nccl_call *call, uint32_t tag, CUgraph graph) {
    const struct quern_nccl_operation operation = describe(rank, call, tag);
    quern_status status = call->goes_on ? QUERN_OK : quern_nccl_capture(rank, graph, NULL, &operation, &rank->last_captured);
    if (status == QUERN_OK) status = enqueue(rank, call, &operation, rank->last_captured);
    QUERN_POINT(NCCL_CAPTURED);
    return status;
}

quern_status quern_nccl_enqueue(struct quern_membership *member, const struct quern_nccl_call *call) {
    struct quern_nccl_rank *rank = quern_nccl_rank_of(member);
    const uint32_t tag = quern_make_tag(call->collective, QUERN_PHASE_NONE, quern_set_digest(call->set, member->ranks));
    CUgraph graph;
    quern_status status = quern_nccl_find_graph(member, call->stream, &graph);
    if (status == QUERN_OK) status = take_room(rank, !graph);
    if (status != QUERN_OK) return status;
    rank->calls += call->set->count == member->ranks && !call->goes_on;
    report(rank, tag);
    status = graph ? capture_next(rank, call, tag, graph) : enqueue_next(rank, call, tag);
    if (status != QUERN_OK) quern_nccl_abort(rank);
    pthread_mutex_unlock(&rank->lock);
    return status;
}

/* ---- the end ---- */

/* The others may have more to do in the group, or never come: then this rank leaves without them. */
static void end_communicator(struct quern_nccl_rank *rank) {
    const int64_t began = quern_now(), limit = quern_nccl_limit(PATIENCE_AT_THE_END);
    bool is_ready = false;
    if (!rank->comm || quern_nccl_count_captured(rank)) return;  /* it would wait for the graphs */
    const bool is_sound = __atomic_load_n(&rank->member->segment->poison, __ATOMIC_ACQUIRE) == 0 && rank->first == rank->next;
    ncclResult_t state = is_sound ? rank->nccl->finalize(rank->comm) : ncclInternalError;
    while ((state == ncclSuccess || state == ncclInProgress) && !is_ready && quern_now() - began < limit) {
        if (rank->nccl->async_error(rank->comm, &state) != ncclSuccess) break;
        is_ready = state == ncclSuccess;
        if (!is_ready) nap(quern_now() - began);
    }
    if (is_ready) rank->nccl->destroy(rank->comm);
    else rank->nccl->abort(rank->comm);
    rank->comm = NULL;
}

quern_status quern_nccl_watch(struct quern_membership *member) { return quern_nccl_start_watcher(quern_nccl_rank_of(member)); }

void quern_nccl_free_rank(struct quern_membership *member) {
    struct quern_nccl_rank *rank = quern_nccl_rank_of(member);
    if (!rank) return;
    quern_nccl_stop_watcher(rank);
    quern_nccl_end_pairs(rank);
    end_communicator(rank);
    quern_nccl_free_captures(rank);
    free_objects(rank);
    pthread_mutex_destroy(&rank->lock);
    quern_cuda_rank_of(member)->nccl = NULL;
    free(rank);
}
