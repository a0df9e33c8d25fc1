/*
 * The watcher of a rank: looks at the oldest operation that its stream has not finished, and aborts the communicator when the group
 * is poisoned, a rank has gone, NCCL has an error or the limit has passed.  A thread for each rank, since an abort may take a
 * while.
 */
#define _POSIX_C_SOURCE 200809L
#include "ranks/nccl/nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "ranks/poison.h"
#include "ranks/watch.h"
#include "runtime/status.h"

static bool has_passed(const struct quern_nccl_rank *rank, CUevent event, quern_status *status) {
    const CUresult result = quern_cuda_rank_of(rank->member)->cuda->event_query(event);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        *status = quern_cuda_rank_fail(rank->member, result, "cuEventQuery");
    return result == CUDA_SUCCESS;
}

static quern_status look_at_oldest(struct quern_nccl_rank *rank, struct quern_nccl_operation *operation) {
    const int64_t now = quern_now();
    quern_status status = QUERN_OK;
    if (!operation->began && has_passed(rank, operation->begun, &status)) operation->began = now;
    if (!operation->began || status != QUERN_OK) return status;
    const struct quern_nccl_wait wait = {"an operation of NCCL", &operation->set, operation->began, operation->limit,
                                         operation->tag, operation->number, false};
    return quern_nccl_check_running(rank->member, &wait, now);
}

/* Whether this rank waits for others, for the report and the other ranks. */
static void tell_wait(const struct quern_nccl_rank *rank, bool in_graph) {
    struct quern_segment_rank *mine = &rank->member->segment->rank[rank->member->rank];
    const bool waits = in_graph || (rank->first != rank->next && rank->operations[rank->first % QUERN_NCCL_PENDING].began);
    if (waits == (__atomic_load_n(&mine->asleep_in_meeting, __ATOMIC_RELAXED) != 0)) return;
    if (waits) __atomic_store_n(&mine->since, quern_now(), __ATOMIC_RELAXED);
    __atomic_store_n(&mine->asleep_in_meeting, waits, __ATOMIC_RELAXED);
}

/* With the lock and the context. */
static quern_status look(struct quern_nccl_rank *rank, bool *in_graph) {
    bool is_ready;
    quern_status status = quern_check_poison(rank->member);
    while (status == QUERN_OK && rank->first != rank->next) {
        struct quern_nccl_operation *operation = &rank->operations[rank->first % QUERN_NCCL_PENDING];
        if (!has_passed(rank, operation->ended, &status)) break;
        rank->first++;
    }
    if (status == QUERN_OK) status = quern_nccl_ask(rank, "an operation of NCCL", &is_ready);
    if (status == QUERN_OK) status = quern_nccl_look_at_captured(rank, in_graph);
    if (status != QUERN_OK || rank->first == rank->next) return status;
    return look_at_oldest(rank, &rank->operations[rank->first % QUERN_NCCL_PENDING]);
}

/* A thread that holds the lock bounds its own wait. */
static void visit_group(struct quern_nccl_rank *rank) {
    struct quern_cuda_visit visit;
    if (pthread_mutex_trylock(&rank->lock)) return;
    const CUresult error = quern_cuda_begin_visit(&visit, rank->member->device->context);
    bool in_graph = false;
    if (rank->comm && error == CUDA_SUCCESS && look(rank, &in_graph) != QUERN_OK) quern_nccl_abort(rank);
    tell_wait(rank, in_graph);
    quern_cuda_end_visit(&visit);
    pthread_mutex_unlock(&rank->lock);
}

static void visit(struct quern_nccl_rank *rank) {
    struct quern_cuda_visit visit;
    visit_group(rank);
    if (!__atomic_load_n(&rank->pairs, __ATOMIC_ACQUIRE)) return;
    if (quern_cuda_begin_visit(&visit, rank->member->device->context) == CUDA_SUCCESS) quern_nccl_watch_pairs(rank);
    quern_cuda_end_visit(&visit);
}

static void *run(void *user) {
    struct quern_nccl_rank *rank = user;
    while (!__atomic_load_n(&rank->ends, __ATOMIC_ACQUIRE)) {
        visit(rank);
        quern_futex_wait(&rank->ends, 0, QUERN_WATCH_MILLISECONDS * 1000000);
    }
    visit(rank);
    return NULL;
}

/* ---- the watchers of this process, which end with the library.  A child of fork has neither them nor their groups. ---- */

static struct {
    pthread_mutex_t lock;
    struct quern_nccl_rank *first;
} watched = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void end(struct quern_nccl_rank *rank) {
    __atomic_store_n(&rank->ends, 1, __ATOMIC_RELEASE);
    quern_futex_wake(&rank->ends);
    pthread_join(rank->watcher, NULL);
    rank->is_watched = false;
}

static void end_all(void) {
    pthread_mutex_lock(&watched.lock);
    for (; watched.first; watched.first = watched.first->next_watched) end(watched.first);
    pthread_mutex_unlock(&watched.lock);
}

static void hold(void) { pthread_mutex_lock(&watched.lock); }

static void release(void) { pthread_mutex_unlock(&watched.lock); }

static void forget(void) {
    watched.first = NULL;
    release();
}

/*
 * At exit and at dlclose.  The handler is registered when NCCL is open, so it runs before the destructors of NCCL's own objects,
 * which a watcher must not outlive; the steps of os/unload.h come after them.
 */
static void watch_ends(void) {
    pthread_atfork(hold, release, forget);
    atexit(end_all);
}

static void add(struct quern_nccl_rank *rank) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_ends);
    pthread_mutex_lock(&watched.lock);
    rank->next_watched = watched.first;
    watched.first = rank;
    pthread_mutex_unlock(&watched.lock);
}

static void drop(struct quern_nccl_rank *rank) {
    pthread_mutex_lock(&watched.lock);
    struct quern_nccl_rank **link = &watched.first;
    while (*link && *link != rank) link = &(*link)->next_watched;
    if (*link) *link = rank->next_watched;
    pthread_mutex_unlock(&watched.lock);
}

quern_status quern_nccl_start_watcher(struct quern_nccl_rank *rank) {
    const int reason = quern_start_thread(&rank->watcher, run, rank);
    rank->is_watched = reason == 0;
    if (rank->is_watched) {
        add(rank);
        return QUERN_OK;
    }
    return quern_fail(rank->member->device, QUERN_SYSTEM_ERROR, "%s: the thread that watches NCCL: %s", rank->member->label,
                      strerror(reason));
}

void quern_nccl_stop_watcher(struct quern_nccl_rank *rank) {
    if (!rank->is_watched) return;
    drop(rank);
    end(rank);
}
