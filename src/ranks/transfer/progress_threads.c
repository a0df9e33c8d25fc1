/*
 * The threads that move the transfers of a group handle while the engine makes no call on them.  One sleeps on the rank's
 * eventcount, by which ranks of its host wake it; the other one sleeps in poll on the connections to other hosts, and on an eventfd
 * by which this process wakes it.  Called by transfer.c and wait.c, and while a group is created and destroyed.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptor.h"
#include "os/thread.h"
#include "os/unload.h"
#include "ranks/descriptors.h"
#include "ranks/eventcount.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* Nanoseconds between two looks at a carrier, which wakes nobody. */
static const int64_t LEAST_NAP = 50000, MOST_NAP = 1000000;

enum { NO_CALL, CALL, AWAITED_CALL };

struct quern_progress_threads {
    struct quern_progress_threads *next;
    struct quern_transfers *all;
    pthread_mutex_t lock;     /* of the transfers: a call has it until it returns, a thread for a pass */
    pthread_mutex_t turn;     /* of the thread that passes next */
    uint32_t call;            /* atomic, a futex: a call has the lock, or is about to take it */
    uint32_t ends;            /* atomic */
    uint32_t polls;           /* atomic: the second thread sleeps, or is about to */
    int bell;                 /* the eventfd; -1: there is no second thread */
    bool has_first, has_second;
    pthread_t first, second;
    int polled;               /* of those below */
    struct pollfd polled_sockets[QUERN_GROUP_LIMIT + 1];
};

static struct quern_eventcount *eventcount_of(const struct quern_progress_threads *threads) {
    const struct quern_membership *member = threads->all->member;
    return &quern_place(member->roster, member->rank)->eventcount;
}

/* ---- calls go first ---- */

static bool end(const struct quern_progress_threads *threads) { return __atomic_load_n(&threads->ends, __ATOMIC_SEQ_CST); }

static void await_call(struct quern_progress_threads *threads) {
    for (uint32_t call; !end(threads) && (call = __atomic_load_n(&threads->call, __ATOMIC_ACQUIRE)) != NO_CALL;)
        if (call == AWAITED_CALL || __atomic_compare_exchange_n(&threads->call, &call, AWAITED_CALL, false, __ATOMIC_ACQ_REL,
                                                                __ATOMIC_ACQUIRE))
            quern_futex_wait(&threads->call, AWAITED_CALL, QUERN_NO_LIMIT);
}

/* False: the thread is to end. */
static bool take_lock(struct quern_progress_threads *threads) {
    do {
        await_call(threads);
        if (end(threads)) return false;
    } while (pthread_mutex_trylock(&threads->lock));
    return true;
}

static void wake_second(struct quern_progress_threads *threads) {
    if (threads->bell < 0 || !__atomic_exchange_n(&threads->polls, 0, __ATOMIC_SEQ_CST)) return;
    const uint64_t one = 1;
    while (write(threads->bell, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static void wake(struct quern_progress_threads *threads) {
    if (threads->has_first) quern_notify(eventcount_of(threads));
    wake_second(threads);
}

void quern_begin_transfer_call(struct quern_transfers *all) {
    struct quern_progress_threads *threads = all->threads;
    if (!threads) return;
    __atomic_store_n(&threads->call, CALL, __ATOMIC_RELEASE);
    pthread_mutex_lock(&threads->lock);
}

void quern_end_transfer_call(struct quern_transfers *all, bool is_news) {
    struct quern_progress_threads *threads = all->threads;
    if (!threads) return;
    pthread_mutex_unlock(&threads->lock);
    if (__atomic_exchange_n(&threads->call, NO_CALL, __ATOMIC_ACQ_REL) == AWAITED_CALL) quern_futex_wake(&threads->call);
    if (is_news) wake(threads);
}

/* ---- transfers for which streams of the engine wait: while a call has the lock, it looks after them, too ---- */

static void watch(struct quern_stream_waits *waits, int i, int64_t now) {
    struct quern_stream_wait *wait = &waits->wait[i];
    struct quern_transfer_data *transfer = wait->transfer;
    if (now - transfer->looked > QUERN_TRANSFER_SLICE) quern_look_after(transfer, now);
    if (!wait->transfer || !__atomic_load_n(&waits->words[i].reached, __ATOMIC_ACQUIRE)) return;
    if (!wait->since) wait->since = now;
    if (quern_seconds(now - wait->since) >= wait->limit) quern_expire_transfer(transfer, quern_seconds(now - wait->since));
}

bool quern_watch_stream_waits(struct quern_stream_waits *waits) {
    if (!waits || !waits->count) return false;
    const int64_t now = quern_now();
    if (now - waits->looked < QUERN_TRANSFER_SLICE) return true;
    waits->looked = now;
    for (int i = 0; i < QUERN_STREAM_WAITS; i++)
        if (waits->wait[i].transfer) watch(waits, i, now);
    return waits->count;
}

/* ---- passes ---- */

static void list_sockets(struct quern_progress_threads *threads) {
    threads->polled = 0;
    threads->polled_sockets[threads->polled++] = (struct pollfd){.fd = threads->bell, .events = POLLIN};
    threads->polled += quern_list_sockets(threads->all, threads->polled_sockets + threads->polled);
}

enum outcome { ENDS, MOVED, IDLE, AWAITED, BUSY };  /* AWAITED: by a stream of the engine */

static enum outcome pass(struct quern_progress_threads *threads, bool is_second) {
    enum outcome outcome = ENDS;
    pthread_mutex_lock(&threads->turn);
    if (take_lock(threads)) {
        const bool has_moved = quern_pass_transfers(threads->all), is_awaited = quern_watch_stream_waits(threads->all->waits);
        outcome = has_moved ? MOVED : quern_transfers_are_busy(threads->all) ? BUSY : is_awaited ? AWAITED : IDLE;
        if (is_second && outcome != MOVED) list_sockets(threads);
        pthread_mutex_unlock(&threads->lock);
    }
    pthread_mutex_unlock(&threads->turn);
    return outcome;
}

/* ---- the threads ---- */

/* Passes in vain before a thread sleeps: the other rank often answers at once. */
static int yields_of(const struct quern_progress_threads *threads) { return threads->all->yields / 4; }

/* Nanoseconds of a sleep that nobody ends. */
static int64_t sleep_of(enum outcome outcome, int64_t nap) {
    return outcome == BUSY ? nap : outcome == AWAITED ? QUERN_TRANSFER_SLICE : QUERN_NO_LIMIT;
}

/* What one thread finds, the other one may have to go on with: a connection that takes no more, a carrier that is busy. */
static void *move_within_host(void *user) {
    struct quern_progress_threads *threads = user;
    struct quern_eventcount *eventcount = eventcount_of(threads);
    int64_t nap = LEAST_NAP;
    for (int looks = 0;;) {
        const uint32_t seen = looks >= yields_of(threads) ? quern_prepare_wait(eventcount) : 0;
        const enum outcome outcome = pass(threads, false);
        if (outcome == ENDS) return NULL;
        if (outcome == MOVED) {
            wake_second(threads);
            looks = 0, nap = LEAST_NAP;
        } else if (looks++ < yields_of(threads)) {
            sched_yield();
        } else {
            const bool naps = outcome == BUSY && !threads->has_second;
            quern_futex_wait(&eventcount->count, seen, threads->has_second ? QUERN_NO_LIMIT : sleep_of(outcome, nap));
            looks = naps ? yields_of(threads) : 0;
            if (nap < MOST_NAP) nap *= 2;
        }
    }
}

static void *move_between_hosts(void *user) {
    struct quern_progress_threads *threads = user;
    int64_t nap = LEAST_NAP;
    for (int looks = 0;;) {
        if (looks >= yields_of(threads)) __atomic_store_n(&threads->polls, 1, __ATOMIC_SEQ_CST);
        const enum outcome outcome = pass(threads, true);
        if (outcome == ENDS) return NULL;
        if (outcome == MOVED) {
            looks = 0, nap = LEAST_NAP;
        } else if (looks++ < yields_of(threads)) {
            sched_yield();
        } else {
            uint64_t rung;
            const bool naps = outcome == BUSY;
            const struct timespec sleep = {.tv_nsec = sleep_of(outcome, nap)};
            ppoll(threads->polled_sockets, (nfds_t)threads->polled, outcome == IDLE ? NULL : &sleep, NULL);
            __atomic_store_n(&threads->polls, 0, __ATOMIC_SEQ_CST);
            if (threads->polled_sockets[0].revents && read(threads->bell, &rung, sizeof rung) > 0) nap = LEAST_NAP;
            looks = naps ? yields_of(threads) : 0;
            if (nap < MOST_NAP) nap *= 2;
        }
    }
}

/* ---- those of this process, which end with the library.  A child of fork has neither them nor their groups. ---- */

static struct {
    pthread_mutex_t lock;
    struct quern_progress_threads *first;
} running = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void end_threads(struct quern_progress_threads *threads) {
    __atomic_store_n(&threads->ends, 1, __ATOMIC_SEQ_CST);
    quern_futex_wake(&threads->call);
    wake(threads);
    if (threads->has_first) pthread_join(threads->first, NULL);
    if (threads->has_second) pthread_join(threads->second, NULL);
    threads->has_first = threads->has_second = false;
}

static void end_all(void) {
    pthread_mutex_lock(&running.lock);
    for (; running.first; running.first = running.first->next)
        if (quern_is_own_roster(running.first->all->member->roster)) end_threads(running.first);  /* else forked without handlers */
    pthread_mutex_unlock(&running.lock);
}

static void hold(void) { pthread_mutex_lock(&running.lock); }

static void release(void) { pthread_mutex_unlock(&running.lock); }

static void forget(void) {
    running.first = NULL;
    release();
}

static void watch_forks(void) { pthread_atfork(hold, release, forget); }

static void add(struct quern_progress_threads *threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    quern_on_unload(QUERN_UNLOAD_PROGRESS, end_all);
    pthread_mutex_lock(&running.lock);
    threads->next = running.first;
    running.first = threads;
    pthread_mutex_unlock(&running.lock);
}

static void drop(struct quern_progress_threads *threads) {
    pthread_mutex_lock(&running.lock);
    struct quern_progress_threads **link = &running.first;
    while (*link && *link != threads) link = &(*link)->next;
    if (*link) *link = threads->next;
    pthread_mutex_unlock(&running.lock);
}

/* ---- starting and ending ---- */

/* 0, or the number of an error. */
static int start_thread(pthread_t *thread, bool *is_there, void *(*run)(void *), struct quern_progress_threads *threads) {
    const int core = threads->all->member->progress_core;
    cpu_set_t cores;
    int error = quern_start_thread(thread, run, threads);
    *is_there = !error;
    CPU_ZERO(&cores);
    if (core >= 0) CPU_SET((unsigned)core, &cores);
    return error || core < 0 ? error : pthread_setaffinity_np(*thread, sizeof cores, &cores);
}

/* A CPU rank alone has nothing to move. */
static int start_threads(struct quern_progress_threads *threads) {
    const struct quern_membership *member = threads->all->member;
    int error = 0;
    if (member->ranks > member->here) {
        threads->bell = quern_above_two(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        error = threads->bell < 0 ? errno : start_thread(&threads->second, &threads->has_second, move_between_hosts, threads);
    }
    const bool is_needed = member->here > 1 || (member->device->kind == QUERN_CUDA && !threads->has_second);
    if (is_needed && !error) error = start_thread(&threads->first, &threads->has_first, move_within_host, threads);
    return error;
}

static void free_threads(struct quern_progress_threads *threads) {
    end_threads(threads);
    quern_close_descriptor(&threads->bell);
    pthread_mutex_destroy(&threads->lock);
    pthread_mutex_destroy(&threads->turn);
    free(threads);
}

quern_status quern_start_progress(struct quern_membership *member) {
    struct quern_progress_threads *threads = calloc(1, sizeof *threads);
    if (!threads) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the threads of transfers");
    quern_status status = quern_make_stream_waits(member->transfers);
    if (status != QUERN_OK) {
        free(threads);
        return status;
    }
    threads->all = member->transfers;
    threads->bell = -1;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_mutex_init(&threads->turn, NULL);
    const int error = start_threads(threads);
    if (error) {
        free_threads(threads);
        quern_free_stream_waits(member->transfers);
        if (member->progress_core >= 0)
            return quern_fail(member->device, QUERN_SYSTEM_ERROR, "progress is 1, progress_core is %d: starting a thread there: %s",
                              member->progress_core, strerror(error));
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "progress is 1: starting a thread: %s", strerror(error));
    }
    member->transfers->threads = threads;
    add(threads);
    return QUERN_OK;
}

void quern_stop_progress(struct quern_membership *member) {
    struct quern_progress_threads *threads = member->transfers ? member->transfers->threads : NULL;
    if (!threads) return;
    drop(threads);
    free_threads(threads);
    member->transfers->threads = NULL;
}
