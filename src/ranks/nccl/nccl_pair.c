/* The communicators of pairs of ranks.  Called by src/ranks/transfer, and by the watcher and the end of the rank. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/nccl/nccl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/text.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static const int64_t SETTLING = 1000000000;   /* nanoseconds, for the stream behind an aborted communicator */

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); }

/* ---- breaking: with the lock ---- */

static bool is_in_graphs(const struct quern_nccl_pair *pair) { return __atomic_load_n(&pair->graphs, __ATOMIC_ACQUIRE) > 0; }

/* A launch of a graph would not notice that it moves nothing, so then the group is poisoned. */
static void break_pair(struct quern_nccl_pair *pair, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void break_pair(struct quern_nccl_pair *pair, quern_status status, const char *format, ...) {
    struct quern_text text = quern_text_begin(pair->reason, sizeof pair->reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    if (pair->comm.handle) quern_nccl_abort_comm(pair->rank, pair->comm.handle);
    pair->comm.handle = NULL;
    pair->status = status;
    pair->phase = QUERN_NCCL_BROKEN;
    if (is_in_graphs(pair))
        quern_poison(pair->rank->member, status, "rank %d has ended what goes to rank %d over NCCL, which graphs have, too: %s",
                     pair->rank->member->rank, pair->peer, pair->reason);
}

static void break_by_nccl(struct quern_nccl_pair *pair, ncclResult_t result, const char *what) {
    const struct quern_nccl *nccl = pair->rank->nccl;
    const char *text = nccl->error_string(result), *last = nccl->last_error(pair->comm.handle);
    break_pair(pair, quern_nccl_status(result), "rank %d, with rank %d: %s: %s%s%s", pair->rank->member->rank, pair->peer, what,
               text ? text : "unknown error", last && *last ? ": " : "", last ? last : "");
}

static void break_by_cuda(struct quern_nccl_pair *pair, CUresult error, const char *what) {
    char reason[sizeof pair->reason];
    const quern_status status = quern_cuda_rank_fail(pair->rank->member, error, what);
    quern_error_detail(reason, sizeof reason);
    break_pair(pair, status, "rank %d, with rank %d: %s", pair->rank->member->rank, pair->peer, reason);
}

/* ---- making ---- */

static CUresult make_stream(const struct quern_cuda *cuda, CUstream *stream) {
    int least = 0, greatest = 0;
    const CUresult error = cuda->stream_priorities(&least, &greatest);
    return error == CUDA_SUCCESS ? cuda->stream_create_urgent(stream, CU_STREAM_NON_BLOCKING, greatest) : error;
}

static CUresult make_objects(struct quern_nccl_pair *pair, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = make_stream(visit.cuda, &pair->stream);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_create(&pair->ended, CU_EVENT_DISABLE_TIMING);
    quern_cuda_end_visit(&visit);
    return error;
}

static void free_pair(struct quern_nccl_pair *pair) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, pair->rank->member->device->context) == CUDA_SUCCESS) {
        if (pair->ended) visit.cuda->event_destroy(pair->ended);
        if (pair->stream) visit.cuda->stream_destroy(pair->stream);
        if (pair->branch) visit.cuda->stream_destroy(pair->branch);
    }
    quern_cuda_end_visit(&visit);
    pthread_mutex_destroy(&pair->lock);
    free(pair);
}

/* Whatever number it has in a group. */
static struct quern_nccl_end end_of(const struct quern_membership *member, int rank) {
    const struct quern_peer *peer = &member->roster->peer[rank];
    struct quern_nccl_end end;
    memcpy(end.process, peer->process.id, sizeof end.process);
    memcpy(end.gpu, peer->device_uuid, sizeof end.gpu);
    return end;
}

quern_status quern_nccl_open_pair(struct quern_membership *member, int peer, struct quern_nccl_pair **made) {
    struct quern_nccl_rank *rank = quern_nccl_rank_of(member);
    struct quern_nccl_pair *pair = *made = calloc(1, sizeof *pair);
    if (!pair) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    pair->rank = rank;
    pair->peer = peer;
    pair->comm.own = end_of(member, member->rank);
    pair->comm.other = end_of(member, peer);
    pthread_mutex_init(&pair->lock, NULL);
    const CUresult error = make_objects(pair, member);
    if (error != CUDA_SUCCESS) {
        free_pair(pair);
        *made = NULL;
        return quern_cuda_rank_fail(member, error, "making the stream of a pair of ranks");
    }
    pair->next = rank->pairs;
    __atomic_store_n(&rank->pairs, pair, __ATOMIC_RELEASE);
    return QUERN_OK;
}

/*
 * The channels of a pair: each is a block on the GPU and several megabytes of buffers.  Four reach the rate of a network adapter,
 * and NCCL would take as many as for all ranks together.
 */
enum { PAIR_CHANNELS = 4 };

void quern_nccl_make_pair(struct quern_nccl_pair *pair, const ncclUniqueId *id) {
    const struct quern_membership *member = pair->rank->member;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct quern_cuda_visit visit;
    config.blocking = 0;
    config.maxCTAs = PAIR_CHANNELS;
    const CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    pthread_mutex_lock(&pair->lock);
    pair->phase = QUERN_NCCL_MAKING;
    pair->gone_since = 0;
    if (error == CUDA_SUCCESS) {
        pair->comm.id = *id;
        pair->comm.rank = member->rank > pair->peer;
        const ncclResult_t result = pair->rank->nccl->init(&pair->comm.handle, 2, *id, pair->comm.rank, &config);
        if (result != ncclSuccess && result != ncclInProgress) break_by_nccl(pair, result, "ncclCommInitRankConfig");
    } else {
        break_by_cuda(pair, error, "cuCtxPushCurrent");
    }
    pthread_mutex_unlock(&pair->lock);
    quern_cuda_end_visit(&visit);
}

/* While nobody used it, its network may have failed. */
static bool is_sound(const struct quern_nccl_pair *pair) {
    ncclResult_t state = ncclInternalError;
    return pair->rank->nccl->async_error(pair->comm.handle, &state) == ncclSuccess && state == ncclSuccess;
}

bool quern_nccl_recall_pair(struct quern_nccl_pair *pair, const ncclUniqueId *id) {
    const CUcontext context = pair->rank->member->device->context;
    struct quern_cuda_visit visit;
    quern_cuda_begin_visit(&visit, context);
    pthread_mutex_lock(&pair->lock);
    while (pair->phase == QUERN_NCCL_NONE && quern_nccl_take(&pair->comm, context, id)) {
        if (is_sound(pair)) {
            pair->phase = QUERN_NCCL_READY;
            pair->gone_since = 0;
        } else {
            pair->rank->nccl->abort(pair->comm.handle);
            pair->comm.handle = NULL;
        }
    }
    const bool is_ready = pair->phase == QUERN_NCCL_READY;
    pthread_mutex_unlock(&pair->lock);
    quern_cuda_end_visit(&visit);
    return is_ready;
}

/* ---- sending: with the lock and the context ---- */

/* Whether the call in progress has ended.  An error breaks the pair. */
static bool is_ready(struct quern_nccl_pair *pair, const char *what) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = pair->rank->nccl->async_error(pair->comm.handle, &state);
    if (result == ncclSuccess && state == ncclInProgress) return false;
    if (result == ncclSuccess && state == ncclSuccess) return true;
    break_by_nccl(pair, result == ncclSuccess ? state : result, what);
    return false;
}

static ncclResult_t add(const struct quern_nccl_pair *pair, const struct quern_nccl_item *item) {
    const struct quern_nccl *nccl = pair->rank->nccl;
    const int other = !pair->comm.rank;
    return item->is_send ? nccl->send(item->memory, item->bytes, ncclUint8, other, pair->comm.handle, pair->target)
                         : nccl->receive(item->memory, item->bytes, ncclUint8, other, pair->comm.handle, pair->target);
}

/* Both ends have the same messages in one group. */
static void begin_window(struct quern_nccl_pair *pair) {
    const struct quern_nccl *nccl = pair->rank->nccl;
    const int64_t end = pair->count - pair->done < QUERN_NCCL_GROUP_OPERATIONS ? pair->count
                                                                               : pair->done + QUERN_NCCL_GROUP_OPERATIONS;
    ncclResult_t result = nccl->group_start();
    if (result == ncclSuccess) {
        for (; pair->done < end && result == ncclSuccess; pair->done++) result = add(pair, &pair->items[pair->done]);
        const ncclResult_t ended = nccl->group_end();
        if (result == ncclSuccess) result = ended;
    }
    if (result != ncclSuccess && result != ncclInProgress) break_by_nccl(pair, result, "ncclGroupEnd");
}

/* A step of the stream before or behind what a graph has.  An error breaks the pair. */
static void count(struct quern_nccl_pair *pair, quern_status (*step)(const struct quern_nccl_captured *, CUstream)) {
    char reason[sizeof pair->reason];
    const quern_status status = step(pair->captured, pair->target);
    if (status == QUERN_OK) return;
    quern_error_detail(reason, sizeof reason);
    break_pair(pair, status, "%s", reason);
}

/* All is enqueued.  What a graph has runs later: the engine's stream goes on behind it. */
static void end_enqueuing(struct quern_nccl_pair *pair) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(pair->rank->member)->cuda;
    pair->phase = pair->captured ? QUERN_NCCL_READY : QUERN_NCCL_RUNNING;
    if (pair->captured) count(pair, quern_nccl_count_ended);
    if (pair->phase == QUERN_NCCL_BROKEN) return;
    CUresult error = cuda->event_record(pair->ended, pair->target);
    if (error == CUDA_SUCCESS && pair->captured) error = cuda->stream_wait_event(pair->origin, pair->ended, 0);
    if (pair->captured) QUERN_POINT(NCCL_CAPTURED);
    if (error != CUDA_SUCCESS) break_by_cuda(pair, error, "cuEventRecord");
}

/* NCCL may launch from a thread of its own until it says that the call has ended: the last step comes after that. */
static void go_on_enqueuing(struct quern_nccl_pair *pair) {
    while (is_ready(pair, "ncclGroupEnd")) {
        if (pair->done == pair->count) {
            end_enqueuing(pair);
            return;
        }
        begin_window(pair);
        if (pair->phase == QUERN_NCCL_BROKEN) return;
    }
}

static void go_on_running(struct quern_nccl_pair *pair) {
    if (!is_ready(pair, "a transfer over NCCL")) return;
    const CUresult error = quern_cuda_rank_of(pair->rank->member)->cuda->event_query(pair->ended);
    if (error == CUDA_SUCCESS) pair->phase = QUERN_NCCL_READY;
    else if (error != CUDA_ERROR_NOT_READY) break_by_cuda(pair, error, "cuEventQuery");
}

static void go_on(struct quern_nccl_pair *pair) {
    if (pair->phase == QUERN_NCCL_MAKING && is_ready(pair, "ncclCommInitRankConfig")) pair->phase = QUERN_NCCL_READY;
    else if (pair->phase == QUERN_NCCL_ENQUEUING) go_on_enqueuing(pair);
    else if (pair->phase == QUERN_NCCL_RUNNING) go_on_running(pair);
}

quern_status quern_nccl_let_pair_wait(struct quern_nccl_pair *pair, CUevent event) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, pair->rank->member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->stream_wait_event(pair->stream, event, 0);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(pair->rank->member, error, "cuStreamWaitEvent");
}

static void begin(struct quern_nccl_pair *pair, const struct quern_nccl_item *items, int64_t count, CUstream stream) {
    pair->items = items;
    pair->count = count;
    pair->done = 0;
    pair->target = stream;
    pair->captured = NULL;
    pair->phase = QUERN_NCCL_ENQUEUING;
}

void quern_nccl_send_pair(struct quern_nccl_pair *pair, const struct quern_nccl_item *items, int64_t count) {
    pthread_mutex_lock(&pair->lock);
    if (pair->phase == QUERN_NCCL_READY) begin(pair, items, count, pair->stream);
    pthread_mutex_unlock(&pair->lock);
    quern_nccl_ask_pair(pair);
}

/* A branch of the graph for each pair: their order is another one on each rank, so no pair of a rank may wait for another one. */
static CUresult begin_branch(struct quern_nccl_pair *pair, const struct quern_nccl_place *place) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(pair->rank->member)->cuda;
    CUresult error = pair->branch ? CUDA_SUCCESS : make_stream(cuda, &pair->branch);
    pair->origin = place->stream;
    pair->target = pair->branch;
    return error == CUDA_SUCCESS ? cuda->stream_wait_event(pair->branch, place->event, 0) : error;
}

static quern_status begin_capture(struct quern_nccl_pair *pair, const struct quern_nccl_place *place) {
    struct quern_membership *member = pair->rank->member;
    struct quern_nccl_operation operation = {.limit = quern_nccl_limit(place->timeout)};
    CUgraph graph;
    const CUresult error = begin_branch(pair, place);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamWaitEvent");
    quern_set_add(&operation.set, member->rank);
    quern_set_add(&operation.set, pair->peer);
    operation.tag = quern_make_tag(QUERN_IN_TRANSFER, QUERN_PHASE_NONE, quern_set_digest(&operation.set, member->ranks));
    quern_status status = quern_nccl_find_graph(member, pair->branch, &graph);
    if (status != QUERN_OK) return status;
    if (!graph) return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the stream is not captured any more");
    pthread_mutex_lock(&pair->rank->lock);
    status = quern_nccl_capture(pair->rank, graph, pair, &operation, &pair->captured);
    pthread_mutex_unlock(&pair->rank->lock);
    return status;
}

/* With the lock and the context. */
static void capture(struct quern_nccl_pair *pair, const struct quern_nccl_place *place) {
    char reason[sizeof pair->reason];
    const quern_status status = begin_capture(pair, place);
    if (status == QUERN_OK) {
        count(pair, quern_nccl_count_begun);
        return;
    }
    quern_error_detail(reason, sizeof reason);
    break_pair(pair, status, "%s", reason);
}

void quern_nccl_capture_pair(struct quern_nccl_pair *pair, const struct quern_nccl_item *items, int64_t count,
                             const struct quern_nccl_place *place) {
    struct quern_cuda_visit visit;
    pthread_mutex_lock(&pair->lock);
    const CUresult error = quern_cuda_begin_visit(&visit, pair->rank->member->device->context);
    if (pair->phase == QUERN_NCCL_READY) {
        begin(pair, items, count, NULL);
        if (error == CUDA_SUCCESS) capture(pair, place);
        else break_by_cuda(pair, error, "cuCtxPushCurrent");
    }
    quern_cuda_end_visit(&visit);
    pthread_mutex_unlock(&pair->lock);
    quern_nccl_ask_pair(pair);
}

enum quern_nccl_phase quern_nccl_ask_pair(struct quern_nccl_pair *pair) {
    struct quern_cuda_visit visit;
    pthread_mutex_lock(&pair->lock);
    if (pair->phase != QUERN_NCCL_NONE && pair->phase != QUERN_NCCL_READY && pair->phase != QUERN_NCCL_BROKEN) {
        const CUresult error = quern_cuda_begin_visit(&visit, pair->rank->member->device->context);
        if (error == CUDA_SUCCESS) go_on(pair);
        else break_by_cuda(pair, error, "cuCtxPushCurrent");
        quern_cuda_end_visit(&visit);
    }
    const enum quern_nccl_phase phase = pair->phase;
    pthread_mutex_unlock(&pair->lock);
    return phase;
}

/* ---- ending ---- */

/*
 * The stream has what was enqueued before the abort, which moves nothing now, and may still wait for the engine's: then its turn
 * comes later.
 */
static void settle(const struct quern_nccl_pair *pair) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, pair->rank->member->device->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->event_record(pair->ended, pair->stream);
    const int64_t until = quern_now() + SETTLING;
    while (error == CUDA_SUCCESS && visit.cuda->event_query(pair->ended) == CUDA_ERROR_NOT_READY && quern_now() < until) nap();
    quern_cuda_end_visit(&visit);
}

void quern_nccl_reset_pair(struct quern_nccl_pair *pair, quern_status status, const char *reason) {
    pthread_mutex_lock(&pair->lock);
    const bool has_run = pair->count > 0 && pair->phase != QUERN_NCCL_NONE;
    if (pair->phase != QUERN_NCCL_NONE) break_pair(pair, status, "%s", reason);
    pair->phase = QUERN_NCCL_NONE;
    pair->count = pair->done = 0;
    pthread_mutex_unlock(&pair->lock);
    if (has_run) settle(pair);
}

/* ---- watching ---- */

/* True: the group is poisoned, and the pair is broken. */
static bool break_if_poisoned(struct quern_nccl_pair *pair) {
    char reason[sizeof pair->reason];
    const quern_status status = quern_check_poison(pair->rank->member);
    if (status == QUERN_OK) return false;
    quern_error_detail(reason, sizeof reason);
    break_pair(pair, status, "%s", reason);
    return true;
}

/* Launches of graphs have their bounds by nccl_captured.c, which poisons the group; NCCL tells of its errors here. */
static void watch_graphs(struct quern_nccl_pair *pair) {
    if (!break_if_poisoned(pair)) is_ready(pair, "a transfer in a graph");
}

static void watch(struct quern_nccl_pair *pair) {
    const struct quern_membership *member = pair->rank->member;
    const int64_t now = quern_now();
    if (break_if_poisoned(pair)) return;
    if (!quern_rank_has_gone(member->roster, pair->peer)) return;
    if (!pair->gone_since) pair->gone_since = now;
    if (now - pair->gone_since <= QUERN_NCCL_GRACE) return;
    char place[100];
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, member->roster, pair->peer);
    break_pair(pair, QUERN_PEER_LOST, "rank %d (%s) has gone; rank %d waited for it in NCCL", pair->peer, place, member->rank);
}

void quern_nccl_watch_pairs(struct quern_nccl_rank *rank) {
    for (struct quern_nccl_pair *pair = __atomic_load_n(&rank->pairs, __ATOMIC_ACQUIRE); pair; pair = pair->next) {
        if (pthread_mutex_trylock(&pair->lock)) continue;
        go_on(pair);
        const bool is_under_way = pair->phase == QUERN_NCCL_MAKING || pair->phase == QUERN_NCCL_ENQUEUING ||
                                  pair->phase == QUERN_NCCL_RUNNING;
        if (is_under_way) watch(pair);
        else if (pair->phase == QUERN_NCCL_READY && is_in_graphs(pair)) watch_graphs(pair);
        pthread_mutex_unlock(&pair->lock);
    }
}

/* ---- the end of the rank ---- */

/* A rank that has left in order may be in the next group, one that has ended never. */
static bool is_of_use(const struct quern_nccl_pair *pair) {
    const struct quern_membership *member = pair->rank->member;
    return pair->phase == QUERN_NCCL_READY && __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&member->segment->rank[pair->peer].state, __ATOMIC_ACQUIRE) != QUERN_RANK_ENDED && is_sound(pair);
}

void quern_nccl_end_pairs(struct quern_nccl_rank *rank) {
    while (rank->pairs) {
        struct quern_nccl_pair *pair = rank->pairs;
        rank->pairs = pair->next;
        if (is_of_use(pair)) quern_nccl_keep(rank->nccl, rank->member->device->context, &pair->comm);
        else if (pair->comm.handle) rank->nccl->abort(pair->comm.handle);
        free_pair(pair);
    }
}
