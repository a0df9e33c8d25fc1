/*
 * The watcher thread.  It runs while the process has groups of GPU ranks, and is joined with the last one, at exit and at dlclose.
 * A child of fork has neither the thread nor its groups.
 */
#define _POSIX_C_SOURCE 200809L
#include "ranks/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "os/futex.h"
#include "os/thread.h"
#include "os/unload.h"

/* A group that is watched on behalf of so many ranks. */
struct watched {
    struct watched *next;
    const struct quern_roster *roster;
    int users;
};

static struct {
    pthread_mutex_t life;    /* held while the thread is started or joined; taken before `lock` */
    pthread_mutex_t lock;    /* of the list, which the thread reads */
    struct watched *first;
    pthread_t thread;
    bool runs;
    uint32_t ends;           /* atomic, a futex: the thread shall end */
} watcher = {.life = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the thread ---- */

static void look(const struct quern_roster *roster) {
    for (int rank = 0; rank < roster->ranks && rank < QUERN_RANK_LIMIT; rank++)
        if (quern_rank_has_gone(roster, rank))
            __atomic_fetch_or(&roster->segment->gone[rank / 32], 1u << rank % 32, __ATOMIC_RELEASE);
}

static void *run(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&watcher.ends, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&watcher.lock);
        for (const struct watched *watched = watcher.first; watched; watched = watched->next) look(watched->roster);
        pthread_mutex_unlock(&watcher.lock);
        quern_futex_wait(&watcher.ends, 0, QUERN_WATCH_MILLISECONDS * 1000000);
    }
    return NULL;
}

/* ---- starting and ending it, under `life` ---- */

static void stop(void) {
    if (!watcher.runs) return;
    __atomic_store_n(&watcher.ends, 1, __ATOMIC_RELEASE);
    quern_futex_wake(&watcher.ends);
    pthread_join(watcher.thread, NULL);
    watcher.runs = false;
}

static void unload(void) {
    pthread_mutex_lock(&watcher.life);
    stop();
    pthread_mutex_unlock(&watcher.life);
}

static bool start(void) {
    if (watcher.runs) return true;
    quern_on_unload(QUERN_UNLOAD_WATCHER, unload);
    __atomic_store_n(&watcher.ends, 0, __ATOMIC_RELEASE);
    errno = quern_start_thread(&watcher.thread, run, NULL);
    watcher.runs = errno == 0;
    return watcher.runs;
}

/* ---- fork ---- */

static void hold(void) {
    pthread_mutex_lock(&watcher.life);
    pthread_mutex_lock(&watcher.lock);
}

static void release(void) {
    pthread_mutex_unlock(&watcher.lock);
    pthread_mutex_unlock(&watcher.life);
}

static void forget(void) {
    watcher.runs = false;
    watcher.first = NULL;
    release();
}

static void watch_forks(void) { pthread_atfork(hold, release, forget); }

/* ---- the groups ---- */

static struct watched **find(const struct quern_roster *roster) {
    struct watched **link = &watcher.first;
    while (*link && (*link)->roster != roster) link = &(*link)->next;
    return link;
}

static bool add(const struct quern_roster *roster) {
    struct watched *watched = *find(roster);
    if (!watched) {
        watched = calloc(1, sizeof *watched);
        if (!watched) return false;
        watched->roster = roster;
        watched->next = watcher.first;
        watcher.first = watched;
    }
    watched->users++;
    return true;
}

static void drop(const struct quern_roster *roster) {
    struct watched **link = find(roster), *watched = *link;
    if (--watched->users) return;
    *link = watched->next;
    free(watched);
}

bool quern_watch(const struct quern_roster *roster) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&watcher.life);
    bool runs = start();
    if (runs) {
        pthread_mutex_lock(&watcher.lock);
        runs = add(roster);
        pthread_mutex_unlock(&watcher.lock);
    }
    const int reason = errno;
    if (!watcher.first) stop();
    pthread_mutex_unlock(&watcher.life);
    errno = reason;
    return runs;
}

void quern_unwatch(const struct quern_roster *roster) {
    pthread_mutex_lock(&watcher.life);
    pthread_mutex_lock(&watcher.lock);
    drop(roster);
    pthread_mutex_unlock(&watcher.lock);
    if (!watcher.first) stop();
    pthread_mutex_unlock(&watcher.life);
}
