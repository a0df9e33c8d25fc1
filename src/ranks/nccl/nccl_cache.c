/* Communicators of pairs of ranks between two groups.  Called by nccl_pair.c, and when a device is closed. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/nccl/nccl.h"

#include <pthread.h>
#include <string.h>

#include "runtime/cuda_visit.h"
#include "runtime/device_open.h"

int quern_nccl_most_kept = QUERN_NCCL_KEPT;

struct kept {
    const struct quern_nccl *nccl;
    CUcontext context;
    struct quern_nccl_comm comm;
};

static struct {
    pthread_mutex_t lock;
    struct kept list[QUERN_NCCL_KEPT + 1];  /* [count), the oldest first: one more than is kept */
    int count;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- under the lock ---- */

static struct kept remove_at(int place) {
    const struct kept removed = cache.list[place];
    memmove(&cache.list[place], &cache.list[place + 1], (size_t)(--cache.count - place) * sizeof removed);
    return removed;
}

static bool is_same(const struct quern_nccl_end *one, const struct quern_nccl_end *other) {
    return memcmp(one, other, sizeof *one) == 0;
}

static bool fits(const struct kept *kept, const struct quern_nccl_comm *wanted, CUcontext context, const ncclUniqueId *id) {
    return kept->context == context && is_same(&kept->comm.own, &wanted->own) && is_same(&kept->comm.other, &wanted->other) &&
           (!id || memcmp(&kept->comm.id, id, sizeof *id) == 0);
}

/* ---- without it: NCCL may take its time ---- */

static void end(const struct kept *kept) {
    struct quern_cuda_visit visit;
    quern_cuda_begin_visit(&visit, kept->context);
    kept->nccl->abort(kept->comm.handle);
    quern_cuda_end_visit(&visit);
}

static void end_of_device(const quern_device *device) {
    for (bool all = false; !all;) {
        struct kept found = {.nccl = NULL};
        pthread_mutex_lock(&cache.lock);
        for (int i = 0; i < cache.count && !found.nccl; i++)
            if (cache.list[i].context == device->context) found = remove_at(i);
        pthread_mutex_unlock(&cache.lock);
        all = !found.nccl;
        if (!all) end(&found);
    }
}

/* ---- a child of fork has none: they are its parent's ---- */

static void hold(void) { pthread_mutex_lock(&cache.lock); }

static void release(void) { pthread_mutex_unlock(&cache.lock); }

static void forget(void) {
    cache.count = 0;
    release();
}

static void begin(void) {
    pthread_atfork(hold, release, forget);
    quern_set_device_end(end_of_device);
}

/* ---- what pairs do ---- */

void quern_nccl_keep(const struct quern_nccl *nccl, CUcontext context, const struct quern_nccl_comm *comm) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct kept surplus[QUERN_NCCL_KEPT + 1];
    int count = 0;
    pthread_once(&once, begin);
    pthread_mutex_lock(&cache.lock);
    cache.list[cache.count++] = (struct kept){nccl, context, *comm};
    while (cache.count > quern_nccl_most_kept) surplus[count++] = remove_at(0);
    pthread_mutex_unlock(&cache.lock);
    for (int i = 0; i < count; i++) end(&surplus[i]);
}

bool quern_nccl_take(struct quern_nccl_comm *comm, CUcontext context, const ncclUniqueId *id) {
    bool found = false;
    pthread_mutex_lock(&cache.lock);
    for (int i = cache.count - 1; i >= 0 && !found; i--) {
        found = fits(&cache.list[i], comm, context, id);
        if (found) *comm = remove_at(i).comm;
    }
    pthread_mutex_unlock(&cache.lock);
    return found;
}
