/*
 * What the GPU ranks of a process share, without a driver: tasks that wait until no launch is under way and nothing is pending, and
 * the thread that watches groups, while the process forks.
 */
#include <stdatomic.h>
#include <time.h>

#include "harness/standard.h"
#include "race/race.h"
#include "ranks/watch.h"
#include "runtime/idle.h"

enum { THREADS = 4, ROUNDS = 2000, GROUPS = 400, FORKS = 20 };

static void run_threads(void *(*function)(void *number)) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, function, (void *)i));
    for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL); }

/* ---- launches and tasks ---- */

/* Plain memory: of a launch, like the data of a rank, and read by the check. */
static struct {
    _Alignas(64) int is_pending;
} launched[THREADS];
static atomic_int launching, running, ended;

static bool any_pending(void) {
    bool any = false;
    CHECK(!atomic_load(&launching));
    for (int i = 0; i < THREADS; i++) any |= launched[i].is_pending;
    return any;
}

static void end_task(struct quern_idle_task *task) {
    CHECK(atomic_fetch_add(&running, 1) == 0);  /* one at a time */
    CHECK(!atomic_load(&launching) && !any_pending());
    nap();
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&ended, 1);
    free(task);
}

static void queue(void (*run)(struct quern_idle_task *task)) {
    struct quern_idle_task *task = calloc(1, sizeof *task);
    CHECK(task);
    task->run = run;
    quern_when_idle(task);
}

static void queue_task(void) { queue(end_task); }

/* What a rank's thread does: a launch, after which something is pending; later nothing is; now and then a task. */
static void *launch_and_queue(void *number) {
    const size_t i = (size_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        quern_begin_launching();
        atomic_fetch_add(&launching, 1);
        CHECK(!atomic_load(&running));
        launched[i].is_pending = round % 2;
        atomic_fetch_sub(&launching, 1);
        quern_end_launching();
        if (round % 4 == (int)i) queue_task();
    }
    quern_begin_launching();
    launched[i].is_pending = 0;
    quern_end_launching();
    return NULL;
}

static void launches_and_tasks(void) {
    quern_set_pending_check(any_pending);
    run_threads(launch_and_queue);
    queue_task();  /* brings the others to their end */
    CHECK(atomic_load(&ended) == THREADS * ROUNDS / 4 + 1);
    quern_set_pending_check(NULL);
}

/* A task that is queued within a launch runs at the next call after its end. */
static void a_task_within_a_launch(void) {
    quern_set_pending_check(any_pending);
    const int before = atomic_load(&ended);
    quern_begin_launching();
    queue_task();
    CHECK(atomic_load(&ended) == before);
    quern_end_launching();
    queue_task();
    CHECK(atomic_load(&ended) == before + 2);
    quern_set_pending_check(NULL);
}

static atomic_bool entered;

static void *launch_once(void *unused) {
    quern_begin_launching();
    atomic_store(&entered, true);
    quern_end_launching();
    return unused;
}

/* Time enough for the launch of another thread to begin, if it does not wait. */
static void outlast_a_launch(struct quern_idle_task *task) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, launch_once, NULL));
    for (int look = 0; look < 2000; look++) {
        CHECK(!atomic_load(&entered));
        nap();
    }
    CHECK(!pthread_detach(thread));
    free(task);
}

static void a_launch_within_a_task(void) {
    atomic_store(&entered, false);
    queue(outlast_a_launch);
    while (!atomic_load(&entered)) nap();
}

/* ---- watched groups ---- */

/* A group of two ranks of this process. */
static struct quern_roster *make_roster(void) {
    struct quern_roster *roster = calloc(1, sizeof *roster);
    CHECK(roster);
    roster->ranks = 2;
    for (int rank = 0; rank < 2; rank++) roster->peer[rank].is_here = true;
    roster->segment = calloc(1, (size_t)quern_segment_bytes(2, 2));
    CHECK(roster->segment);
    return roster;
}

static bool is_told(const struct quern_roster *roster, int rank) {
    return __atomic_load_n(&roster->segment->gone[0], __ATOMIC_ACQUIRE) >> rank & 1;
}

/* Each group is freed as soon as nobody watches it. */
static void *watch_groups(void *number) {
    for (int round = 0; round < GROUPS; round++) {
        struct quern_roster *roster = make_roster();
        CHECK(quern_watch(roster) && quern_watch(roster));
        __atomic_store_n(&roster->segment->rank[1].state, QUERN_RANK_LEFT, __ATOMIC_RELEASE);
        for (int look = 0; round % 20 == 0 && !is_told(roster, 1); look++) {
            CHECK(look < 1000000);
            nap();
        }
        CHECK(!is_told(roster, 0));
        quern_unwatch(roster);
        if ((round + (int)(size_t)number) % 3 == 0) nap();
        quern_unwatch(roster);
        free(roster->segment);
        free(roster);
    }
    return NULL;
}

static void watched_groups(void) { run_threads(watch_groups); }

/* ---- forks ---- */

static void *fork_and_watch(void *number) {
    if (number) return watch_groups(number);
    for (int round = 0; round < FORKS; round++) {
        int status = -1;
        const pid_t child = fork();
        if (!child) {
            alarm(600);
            exit(EXIT_SUCCESS);  /* with the destructors, which join the thread where there is one */
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    }
    return NULL;
}

static void forks(void) { run_threads(fork_and_watch); }

const struct scene idle_scenes[] = {{"launches_and_tasks", launches_and_tasks},
                                    {"a_task_within_a_launch", a_task_within_a_launch},
                                    {"a_launch_within_a_task", a_launch_within_a_task},
                                    {"watched_groups", watched_groups},
                                    {"forks", forks},
                                    {NULL, NULL}};
