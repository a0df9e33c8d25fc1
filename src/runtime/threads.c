/* The thread pool of the CPU device.  Called by the operations to spread their work. */
#define _GNU_SOURCE
#include "runtime/threads.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/unload.h"
#include "runtime/device.h"

enum { MAX_THREADS = 1024 };

int quern_default_threads(void) {
    const char *value = getenv("QUERN_THREADS");
    long wanted = value ? strtol(value, NULL, 10) : 0;
    if (wanted >= 1) return wanted > MAX_THREADS ? MAX_THREADS : (int)wanted;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

/* One job.  Threads take its indices one at a time. */
struct job {
    void (*task)(void *context, int64_t index);
    void *context;
    int64_t tasks;
    int64_t next;  /* atomic: the first index that no thread has taken */
    int seats;     /* workers that may still join, since the pool may be larger than the device's threads; under the pool's lock */
};

/* The pool: one for the process, one job at a time. */
static struct {
    pthread_mutex_t busy;      /* held by the thread that runs the job */
    pthread_mutex_t lock;      /* protects everything below */
    pthread_cond_t wake, idle;
    quern_device *devices;     /* open CPU devices: the workers end with the last one */
    uintptr_t crew;            /* counts dismissals: workers of an earlier crew end */
    pid_t process;             /* that started the crew */
    int workers;               /* of the crew */
    pthread_t worker[MAX_THREADS];
    int active;                /* workers inside the current job */
    uint64_t generation;       /* counts jobs, so that a worker enters each at most once */
    struct job *job;
} pool = {
    .busy = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .idle = PTHREAD_COND_INITIALIZER,
};

static void work_on(struct job *job) {
    fenv_t environment;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    for (;;) {
        int64_t index = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (index >= job->tasks) break;
        job->task(job->context, index);
    }
    fesetenv(&environment);
}

static void *worker(void *argument) {
    const uintptr_t crew = (uintptr_t)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.crew == crew && (!pool.job || pool.generation == seen)) pthread_cond_wait(&pool.wake, &pool.lock);
        if (pool.crew != crew) break;
        seen = pool.generation;
        struct job *job = pool.job;
        if (job->seats == 0) continue;
        job->seats--;
        pool.active++;
        pthread_mutex_unlock(&pool.lock);
        work_on(job);
        pthread_mutex_lock(&pool.lock);
        if (--pool.active == 0) pthread_cond_signal(&pool.idle);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/*
 * Releases the lock, ends the workers and waits until they have ended.  Another thread may start a new crew meanwhile.  The child
 * of the system call, unlike that of fork(), has a copy of the crew without its threads, so it does not wait.
 */
static void dismiss_workers(void) {
    pthread_t dismissed[MAX_THREADS];
    int count = pool.workers && pool.process == getpid() ? pool.workers : 0;
    memcpy(dismissed, pool.worker, (size_t)count * sizeof *dismissed);
    pool.workers = 0;
    pool.crew++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < count; i++) pthread_join(dismissed[i], NULL);
}

/* No call runs at dlclose.  At exit one may, on another thread: the workers are left to it and end with the process. */
static void unload_pool(void) {
    if (pthread_mutex_trylock(&pool.busy) != 0) return;
    pthread_mutex_lock(&pool.lock);
    dismiss_workers();
    pthread_mutex_unlock(&pool.busy);
}

/* Starts workers until there are `wanted`.  They block all signals, which go to the engine's own threads. */
static void grow_pool(int wanted) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool.process = getpid();
    quern_on_unload(QUERN_UNLOAD_THREADS, unload_pool);
    while (pool.workers < wanted) {
        void *crew = (void *)pool.crew;
        if (pthread_create(&pool.worker[pool.workers], NULL, worker, crew) != 0) break;  /* slower, but the same result */
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A forked child has no workers, and its copies of the locks may be held for ever.  So it starts a new pool. */
static void forget_pool(void) {
    pthread_mutex_init(&pool.busy, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.idle, NULL);
    pool.workers = pool.active = 0;
    pool.job = NULL;
}

/* While the process forks no other thread changes the list of devices, which the child keeps. */
static void hold_pool(void) { pthread_mutex_lock(&pool.lock); }
static void release_pool(void) { pthread_mutex_unlock(&pool.lock); }

static void watch_forks(void) { pthread_atfork(hold_pool, release_pool, forget_pool); }

/* ---- the devices ---- */

void quern_threads_enter(quern_device *device) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&pool.lock);
    device->next = pool.devices;
    if (device->next) device->next->previous = device;
    pool.devices = device;
    pthread_mutex_unlock(&pool.lock);
}

void quern_threads_leave(quern_device *device) {
    pthread_mutex_lock(&pool.lock);
    *(device->previous ? &device->previous->next : &pool.devices) = device->next;
    if (device->next) device->next->previous = device->previous;
    if (pool.devices)
        pthread_mutex_unlock(&pool.lock);
    else
        dismiss_workers();
}

quern_device *quern_threads_device(void) {
    pthread_mutex_lock(&pool.lock);
    quern_device *device = pool.devices;
    pthread_mutex_unlock(&pool.lock);
    return device;
}

/* ---- a job ---- */

static void run_on_pool(struct job *job, int threads) {
    pthread_mutex_lock(&pool.lock);
    if (pool.workers < threads - 1) grow_pool(threads - 1);
    job->seats = threads - 1;
    pool.job = job;
    pool.generation++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);

    work_on(job);

    pthread_mutex_lock(&pool.lock);
    pool.job = NULL;  /* a worker that wakes now finds no job, so the job may be freed */
    while (pool.active) pthread_cond_wait(&pool.idle, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void run_hooked_task(void *context, int64_t index) {
    struct job *job = context;
    struct job one = {.task = job->task, .context = job->context, .tasks = index + 1, .next = index};
    work_on(&one);
}

void quern_run_tasks(const quern_device *device, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct job job = {.task = task, .context = context, .tasks = tasks};
    if (device->hook) {
        device->hook(device->hook_user, tasks, run_hooked_task, &job);
    } else if (tasks > 1 && device->threads > 1 && pthread_mutex_trylock(&pool.busy) == 0) {
        run_on_pool(&job, device->threads < tasks ? device->threads : (int)tasks);
        pthread_mutex_unlock(&pool.busy);
    } else {
        work_on(&job);  /* another thread uses the pool: this one works alone, with the same result */
    }
}
