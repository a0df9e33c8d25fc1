/* The thread pool of the CPU device.  Called by the operations to spread their work. */
#define _GNU_SOURCE
#include "runtime/threads.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/cpu_quota.h"
#include "os/futex.h"
#include "os/nodes.h"
#include "os/unload.h"
#include "runtime/device.h"
#include "runtime/log.h"

enum { MAX_THREADS = 1024 };

static int smaller(int a, int b) { return a < b ? a : b; }

/* QUERN_THREADS or, without it, one for each core that the process can keep busy, as long as it can. */
static struct quern_crew default_crew(void) {
    static uint32_t told;
    const int wanted = quern_variable_number("QUERN_THREADS", MAX_THREADS, &told);
    return (struct quern_crew){.threads = smaller(wanted ? wanted : quern_usable_cores(), MAX_THREADS), .follows_quota = !wanted};
}

/*
 * One job.  Threads take its indices one at a time.  A part of them belongs to each NUMA node; its threads begin with it, the same
 * in each call of an operation, so that pages which a call touches first are near the threads that use them next.
 */
struct job {
    void (*task)(void *context, int64_t index);
    void *context;
    int64_t tasks;
    int parts;
    struct {
        _Alignas(64) int64_t next;  /* atomic: the first index that no thread has taken */
        int64_t end;
    } part[QUERN_NODE_LIMIT];
};

/*
 * The pool: one for the process, one job at a time.  A worker that has finished a job looks for the next one for a while before it
 * sleeps, and a caller looks whether the last workers have finished.  So jobs that follow each other closely, the stages of a call
 * for instance, need no system call.
 */
static struct {
    pthread_mutex_t busy;      /* held by the thread that runs the job */
    pthread_mutex_t lock;      /* protects the devices and the crew */
    quern_device *devices;     /* open CPU devices: the workers end with the last one */
    struct quern_crew crew_of_new;  /* of devices that open; threads 0: the default */
    uintptr_t crew;            /* atomic: counts dismissals: workers of an earlier crew end */
    pid_t process;             /* that started the crew */
    struct quern_nodes nodes;  /* of the crew; at most 1: nothing depends on them */
    int threads_on[QUERN_NODE_LIMIT];
    int workers;               /* of the crew */
    pthread_t worker[MAX_THREADS];
    struct job *job;           /* to be read by workers that have a seat */
    int core;                  /* atomic: on which the caller was when it posted the job */
    uint32_t posted;           /* atomic: counts jobs and dismissals; workers without a job wait for it to change */
    uint32_t sleepers;         /* atomic: workers that sleep on it, or are about to */
    uint32_t gate;             /* atomic: SEAT for each worker that may still join the job, INSIDE for each that has, and AWAITED */
    int cores;                 /* on which the workers may run */
    int quota;                 /* cores, rounded up, as last read */
    int64_t quota_ends;        /* when it is read again */
    int spins;                 /* atomic; 0: fewer cores than threads, so that one that spins keeps another from its work */
} pool = {
    .busy = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

enum { INSIDE = 1, SEAT = MAX_THREADS, AWAITED = 1 << 30 };  /* the caller sleeps until no worker is inside */

/* How long a worker looks for a job, and a caller for the end of one: briefly, since an interrupted worker may need its core. */
enum { WORKER_SPIN = 50000, CALLER_SPIN = 10000 };

#define SLEEP_NANOSECONDS 3600000000000  /* a wait that is repeated */
#define QUOTA_NANOSECONDS 1000000000     /* from one look at the quota to the next, which takes some 50 us */

/* ---- waiting ---- */

static bool is_posted(uint32_t seen) { return __atomic_load_n(&pool.posted, __ATOMIC_RELAXED) != seen; }

static bool is_empty(uint32_t unused) {
    (void)unused;
    return !(__atomic_load_n(&pool.gate, __ATOMIC_ACQUIRE) & (SEAT - 1));
}

/* Whether something comes true within so many nanoseconds. */
static bool comes_soon(bool (*is_true)(uint32_t argument), uint32_t argument, int64_t nanoseconds) {
    enum { LOOKS = 32 };  /* between two looks at the clock: about a microsecond */
    if (is_true(argument)) return true;
    if (!__atomic_load_n(&pool.spins, __ATOMIC_RELAXED)) return false;
    for (const int64_t end = quern_now() + nanoseconds; quern_now() < end;)
        for (int look = 0; look < LOOKS; look++) {
            quern_pause();
            if (is_true(argument)) return true;
        }
    return false;
}

/* Either the system sees the new count, or the thread that counts sees the sleeper. */
static void await_post(uint32_t seen) {
    if (comes_soon(is_posted, seen, WORKER_SPIN)) return;
    __atomic_fetch_add(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    while (!is_posted(seen)) quern_futex_wait(&pool.posted, seen, SLEEP_NANOSECONDS);
    __atomic_fetch_sub(&pool.sleepers, 1, __ATOMIC_RELAXED);
}

static void post(void) {
    __atomic_fetch_add(&pool.posted, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST)) quern_futex_wake(&pool.posted);
}

/* ---- the gate ---- */

static void open_gate(struct job *job, int seats) {
    pool.job = job;
    __atomic_store_n(&pool.core, sched_getcpu(), __ATOMIC_RELAXED);
    __atomic_store_n(&pool.gate, (uint32_t)seats * SEAT, __ATOMIC_RELEASE);
    post();
}

/* Takes a seat; false: there is none, since no job runs or the pool is larger than the device's threads. */
static bool enter_job(void) {
    uint32_t gate = __atomic_load_n(&pool.gate, __ATOMIC_RELAXED);
    while (gate % AWAITED >= SEAT)
        if (__atomic_compare_exchange_n(&pool.gate, &gate, gate - SEAT + INSIDE, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void leave_job(void) {
    if (__atomic_sub_fetch(&pool.gate, INSIDE, __ATOMIC_RELEASE) == AWAITED) quern_futex_wake(&pool.gate);
}

/* Removes the seats and waits for those inside.  A worker that comes later finds no seat, so the job may be freed. */
static void close_gate(void) {
    __atomic_fetch_and(&pool.gate, SEAT - 1, __ATOMIC_RELAXED);
    if (comes_soon(is_empty, 0, CALLER_SPIN)) return;
    uint32_t gate = __atomic_or_fetch(&pool.gate, AWAITED, __ATOMIC_RELAXED);
    for (; !is_empty(0); gate = __atomic_load_n(&pool.gate, __ATOMIC_RELAXED))
        if (gate != AWAITED) quern_futex_wait(&pool.gate, gate, SLEEP_NANOSECONDS);
}

/* ---- the crew ---- */

static void begin_default_environment(fenv_t *engines) {
    fegetenv(engines);
    fesetenv(FE_DFL_ENV);
}

/* Takes the indices of its own node first, then those that other nodes have not yet begun. */
static void work_on(struct job *job, int node) {
    fenv_t environment;
    begin_default_environment(&environment);
    for (int i = 0; i < job->parts; i++) {
        const int part = (node + i) % job->parts;
        int64_t index;
        while ((index = __atomic_fetch_add(&job->part[part].next, 1, __ATOMIC_RELAXED)) < job->part[part].end)
            job->task(job->context, index);
    }
    fesetenv(&environment);
}

/* Divides the indices among nodes by their cores; nodes 0: all are of one part. */
static void divide(struct job *job, const int *cores, int nodes) {
    int64_t all = 0, before = 0;
    for (int node = 0; node < nodes; node++) all += cores[node];
    job->parts = nodes ? nodes : 1;
    job->part[0].next = 0, job->part[job->parts - 1].end = job->tasks;
    for (int node = 0; node < nodes - 1; node++) {
        before += cores[node];
        job->part[node].end = job->part[node + 1].next = (int64_t)((__int128)job->tasks * before / all);
    }
}

static int node_of_caller(void) {
    const int core = sched_getcpu(), node = core < 0 || core >= QUERN_CORE_LIMIT ? 0 : pool.nodes.of_core[core];
    return node < pool.nodes.count ? node : 0;
}

/* The node that has the fewest threads for its cores. */
static int choose_node(void) {
    const int *cores = pool.nodes.cores, *threads = pool.threads_on;
    int best = 0;
    for (int node = 1; node < pool.nodes.count; node++)
        if ((threads[node] + 1) * cores[best] < (threads[best] + 1) * cores[node]) best = node;
    return best;
}

/*
 * Where all cores are busy the scheduler may wake a worker on the caller's core, on which it would only hold up the caller.  It
 * then moves to another core of those that it may use.
 */
static void leave_core_of_caller(void) {
    const int core = __atomic_load_n(&pool.core, __ATOMIC_RELAXED);
    struct quern_cores all, others;
    if (core < 0 || core >= QUERN_CORE_LIMIT || sched_getcpu() != core || !quern_read_cores(&all)) return;
    others = all;
    others.word[core / 64] &= ~((uint64_t)1 << core % 64);
    if (quern_count_cores(&others) == 0 || sched_setaffinity(0, sizeof others, (cpu_set_t *)&others) != 0) return;
    sched_setaffinity(0, sizeof all, (cpu_set_t *)&all);
}

/* Where a worker stays: on a node. */
enum { ANYWHERE = QUERN_NODE_LIMIT, PLACES };

/* The count is read before the seats are looked for, so that a job that is posted in between is not missed. */
static void *worker(void *argument) {
    const uintptr_t crew = (uintptr_t)argument / PLACES;
    const int place = (int)((uintptr_t)argument % PLACES), node = place == ANYWHERE ? 0 : place;
    if (place != ANYWHERE) quern_stay_on_node(node);
    for (;;) {
        const uint32_t seen = __atomic_load_n(&pool.posted, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&pool.crew, __ATOMIC_RELAXED) != crew) break;
        leave_core_of_caller();
        if (enter_job()) {
            work_on(pool.job, node);
            leave_job();
        }
        await_post(seen);
    }
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
    __atomic_fetch_add(&pool.crew, 1, __ATOMIC_RELAXED);
    post();
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

static void meet_nodes(void) {
    quern_read_nodes(&pool.nodes);
    memset(pool.threads_on, 0, sizeof pool.threads_on);
    pool.threads_on[node_of_caller()] = 1;
}

/* Starts workers until there are `wanted`.  They block all signals, which go to the engine's own threads. */
static void grow_pool(int wanted) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool.process = getpid();
    pool.cores = quern_usable_cores();
    quern_on_unload(QUERN_UNLOAD_THREADS, unload_pool);
    if (!pool.workers) meet_nodes();
    while (pool.workers < wanted) {
        const int node = choose_node();
        void *argument = (void *)(pool.crew * PLACES + (uintptr_t)(pool.nodes.count > 1 ? node : ANYWHERE));
        if (pthread_create(&pool.worker[pool.workers], NULL, worker, argument) != 0) break;  /* slower, but the same result */
        pool.workers++, pool.threads_on[node]++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A forked child has no workers, and its copies of the locks may be held for ever.  So it starts a new pool. */
static void forget_pool(void) {
    pthread_mutex_init(&pool.busy, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pool.workers = 0;
    pool.sleepers = pool.gate = 0;
    pool.quota_ends = 0;
}

/* While the process forks no other thread changes the list of devices, which the child keeps. */
static void hold_pool(void) { pthread_mutex_lock(&pool.lock); }
static void release_pool(void) { pthread_mutex_unlock(&pool.lock); }

static void watch_forks(void) { pthread_atfork(hold_pool, release_pool, forget_pool); }

/* ---- the devices ---- */

int quern_threads_of(const quern_device *device) { return __atomic_load_n(&device->crew.threads, __ATOMIC_RELAXED); }

/* With the lock, under which no process forks: the child would wait for the second change. */
static void set_crew(quern_device *device, const struct quern_crew *crew) {
    __atomic_fetch_add(&device->crew_changes, 1, __ATOMIC_RELAXED);
    const struct quern_crew usual = crew->threads ? *crew : default_crew();
    __atomic_store_n(&device->crew.threads, usual.threads, __ATOMIC_RELEASE);
    __atomic_store_n(&device->crew.follows_quota, usual.follows_quota, __ATOMIC_RELEASE);
    __atomic_store_n(&device->crew.hook, crew->hook, __ATOMIC_RELEASE);
    __atomic_store_n(&device->crew.user, crew->user, __ATOMIC_RELEASE);
    __atomic_fetch_add(&device->crew_changes, 1, __ATOMIC_RELEASE);
}

/* A hook and its user of one change. */
static struct quern_crew crew_of(const quern_device *device) {
    for (;;) {
        const uint32_t seen = __atomic_load_n(&device->crew_changes, __ATOMIC_ACQUIRE);
        const struct quern_crew crew = {.threads = __atomic_load_n(&device->crew.threads, __ATOMIC_ACQUIRE),
                                        .follows_quota = __atomic_load_n(&device->crew.follows_quota, __ATOMIC_ACQUIRE),
                                        .hook = __atomic_load_n(&device->crew.hook, __ATOMIC_ACQUIRE),
                                        .user = __atomic_load_n(&device->crew.user, __ATOMIC_ACQUIRE)};
        if (seen % 2 == 0 && __atomic_load_n(&device->crew_changes, __ATOMIC_RELAXED) == seen) return crew;
        quern_pause();
    }
}

void quern_threads_set(quern_device *device, int threads, quern_parallel_for hook, void *user) {
    const struct quern_crew crew = {.threads = threads, .hook = hook, .user = user};
    pthread_mutex_lock(&pool.lock);
    if (device) set_crew(device, &crew);
    else pool.crew_of_new = crew;
    pthread_mutex_unlock(&pool.lock);
}

void quern_threads_enter(quern_device *device) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&pool.lock);
    set_crew(device, &pool.crew_of_new);
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

/* Whoever lowers a quota lets the process run on.  More threads than it allows would be stopped together for most of a period. */
static void read_quota(void) {
    const int64_t now = quern_now();
    if (now < pool.quota_ends) return;
    pool.quota = quern_quota_cores();
    pool.quota_ends = now + QUOTA_NANOSECONDS;
}

static void run_on_pool(struct job *job, const struct quern_crew *crew) {
    int threads = job->tasks < crew->threads ? (int)job->tasks : crew->threads;
    read_quota();
    if (crew->follows_quota) threads = smaller(threads, pool.quota);
    pthread_mutex_lock(&pool.lock);
    if (pool.workers < threads - 1) grow_pool(threads - 1);
    __atomic_store_n(&pool.spins, pool.workers < smaller(pool.cores, pool.quota), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool.lock);
    divide(job, pool.nodes.cores, pool.nodes.count);
    open_gate(job, threads - 1);
    work_on(job, node_of_caller());
    close_gate();
}

static void run_hooked_task(void *context, int64_t index) {
    const struct job *job = context;
    fenv_t environment;
    begin_default_environment(&environment);
    job->task(job->context, index);
    fesetenv(&environment);
}

void quern_run_tasks(const quern_device *device, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct job job;  /* its parts are set by those that need them */
    job.task = task, job.context = context, job.tasks = tasks;
    const struct quern_crew crew = crew_of(device);
    if (crew.hook) {
        crew.hook(crew.user, tasks, run_hooked_task, &job);
    } else if (tasks > 1 && crew.threads > 1 && pthread_mutex_trylock(&pool.busy) == 0) {
        run_on_pool(&job, &crew);
        pthread_mutex_unlock(&pool.busy);
    } else {
        divide(&job, NULL, 0);
        work_on(&job, 0);  /* another thread uses the pool: this one works alone, with the same result */
    }
}
