/*
 * The GPU ranks of this process, and whether one of their kernels may still wait for another rank.  Called by
 * src/ranks/group/cuda_transport.c and, before tasks, by runtime/idle.c.
 */
#include "ranks/local_ranks.h"

#include <pthread.h>

#include "runtime/cuda_visit.h"
#include "runtime/idle.h"

static struct {
    pthread_mutex_t lock;
    struct quern_cuda_rank *first;
} local_ranks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Launches of graphs and waits for chunks leave no mark.  Graphs matter only if the process has further ranks of the group: kernels
 * that wait for other processes end without its doing.  A wait for chunks may be in front of the call that ends it.
 */
static bool may_wait(const struct quern_cuda_rank *rank) {
    struct quern_cuda_visit visit;
    if (__atomic_load_n(&rank->waits, __ATOMIC_RELAXED) || __atomic_load_n(&rank->stream_waits, __ATOMIC_RELAXED)) return true;
    if (quern_cuda_is_unmarked(rank) && rank->ranks_here > 1) return true;
    if (!rank->enqueued) return false;
    CUresult result = quern_cuda_begin_visit(&visit, rank->context);
    if (result == CUDA_SUCCESS) result = rank->cuda->event_query(rank->last);
    quern_cuda_end_visit(&visit);
    return result == CUDA_ERROR_NOT_READY;
}

static bool any_may_wait(void) {
    bool any = false;
    pthread_mutex_lock(&local_ranks.lock);
    for (const struct quern_cuda_rank *rank = local_ranks.first; rank && !any; rank = rank->next) any = may_wait(rank);
    pthread_mutex_unlock(&local_ranks.lock);
    return any;
}

void quern_enter_local_rank(struct quern_cuda_rank *rank, const struct quern_membership *member) {
    for (int peer = 0; peer < member->ranks; peer++) rank->ranks_here += member->roster->peer[peer].is_here;
    pthread_mutex_lock(&local_ranks.lock);
    rank->next = local_ranks.first;
    local_ranks.first = rank;
    pthread_mutex_unlock(&local_ranks.lock);
    quern_set_pending_check(any_may_wait);
}

void quern_leave_local_rank(struct quern_cuda_rank *rank) {
    pthread_mutex_lock(&local_ranks.lock);
    struct quern_cuda_rank **link = &local_ranks.first;
    while (*link != rank) link = &(*link)->next;
    *link = rank->next;
    pthread_mutex_unlock(&local_ranks.lock);
}
