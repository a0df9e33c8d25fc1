/* Ranks as threads or processes, and the library's side of them.  Called by barrier.c, exchange.c and the ranks on a GPU. */
#define _GNU_SOURCE
#include "ranks/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/times.h"
#include "ranks/ranks.h"

enum { MAX_RANKS = 128, REASON_BYTES = 1000 };

const char *const team_kind_names[] = {[TEAM_THREADS] = "threads", [TEAM_PROCESSES] = "processes"};

/* Shared with the ranks: the message of the first one to fail. */
static struct reason {
    int claimed;
    char text[REASON_BYTES];
} *reason;

struct seat {
    const struct team *team;
    void (*body)(void *context, int rank);
    void *context;
    int rank;
    pthread_t thread;
};

void *team_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void team_release(void *memory, size_t bytes) {
    if (memory) munmap(memory, bytes);
}

void team_fail(const char *format, ...) {
    if (__atomic_exchange_n(&reason->claimed, 1, __ATOMIC_RELAXED) == 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(reason->text, sizeof reason->text, format, list);
        va_end(list);
    }
    _exit(EXIT_FAILURE);
}

/* ---- inside the children ---- */

static void *take_seat(void *argument) {
    const struct seat *seat = argument;
    cores_bind(seat->rank, seat->team->ranks, seat->team->cores);
    seat->body(seat->context, seat->rank);
    return NULL;
}

static void run_threads(struct seat *seats) {
    int ranks = seats[0].team->ranks;
    for (int rank = 1; rank < ranks; rank++)
        if (pthread_create(&seats[rank].thread, NULL, take_seat, &seats[rank]) != 0) team_fail("cannot start a thread");
    take_seat(&seats[0]);
    for (int rank = 1; rank < ranks; rank++) pthread_join(seats[rank].thread, NULL);
}

/* A child dies with its parent. */
static pid_t start_child(struct seat *seats, int rank, const sigset_t *signals) {
    pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, signals, NULL);
    if (seats[0].team->kind == TEAM_THREADS)
        run_threads(seats);
    else
        take_seat(&seats[rank]);
    _exit(EXIT_SUCCESS);
}

/* ---- in the parent, which sleeps while the children work ---- */

/* The message for a child that has failed without a message of its own. */
static bool describe_end(int status) {
    if (WIFSIGNALED(status)) snprintf(reason->text, sizeof reason->text, "a rank ended with signal %d", WTERMSIG(status));
    return false;
}

/* Waits until all children have ended and removes each from the list; false once one has failed, or at the limit. */
static bool await_children(pid_t *children, int count, const sigset_t *child_ended, double limit) {
    int64_t deadline = clock_nanoseconds() + (int64_t)(1e9 * limit);
    for (;;) {
        int left = 0, status;
        for (int i = 0; i < count; i++) {
            if (children[i] && waitpid(children[i], &status, WNOHANG) == children[i]) {
                children[i] = 0;
                if (status != 0) return describe_end(status);
            }
            left += children[i] != 0;
        }
        if (left == 0) return true;
        int64_t rest = deadline - clock_nanoseconds();
        if (rest <= 0) {
            snprintf(reason->text, sizeof reason->text, "did not end within %.0f seconds", limit);
            return false;
        }
        struct timespec patience = {rest / 1000000000, rest % 1000000000};
        sigtimedwait(child_ended, NULL, &patience);
    }
}

static void end_children(const pid_t *children, int count) {
    for (int i = 0; i < count; i++)
        if (children[i]) kill(children[i], SIGKILL);
    for (int i = 0; i < count; i++)
        if (children[i]) waitpid(children[i], NULL, 0);
}

static bool run_children(struct seat *seats, const struct team *team) {
    pid_t children[MAX_RANKS] = {0};
    int count = team->kind == TEAM_THREADS ? 1 : team->ranks;
    sigset_t child_ended, signals;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, &signals);
    bool well = true;
    for (int i = 0; i < count && well; i++) {
        children[i] = start_child(seats, i, &signals);
        if (children[i] > 0) continue;
        children[i] = 0;
        snprintf(reason->text, sizeof reason->text, "cannot start a process");
        well = false;
    }
    well = well && await_children(children, count, &child_ended, team->limit);
    end_children(children, count);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return well;
}

const char *team_run(const struct team *team, void (*body)(void *context, int rank), void *context) {
    struct seat seats[MAX_RANKS];
    if (team->ranks < 1 || team->ranks > MAX_RANKS) return "so many ranks are not provided for";
    if (!reason && !(reason = team_memory(sizeof *reason))) return "not enough memory";
    *reason = (struct reason){0};
    for (int rank = 0; rank < team->ranks; rank++) seats[rank] = (struct seat){team, body, context, rank, 0};
    fflush(NULL);  /* else every child would print a copy of the buffered output */
    return run_children(seats, team) ? NULL : reason->text[0] ? reason->text : "a rank failed";
}

/* ---- the options ---- */

struct rank_options rank_options_of(const struct options *options) {
    struct rank_options asked = {
        .all = options,
        .team = {TEAM_PROCESSES, (int)options->ranks, (int)options->cores, options->limit},
        .slices = {(int)options->ranks, (int)options->updates, options->rows, options->row_bytes},
        .gpu = strncmp(options->device, "cuda", 4) == 0,
    };
    if (strcmp(options->kind, team_kind_names[TEAM_THREADS]) == 0)
        asked.team.kind = TEAM_THREADS;
    else if (strcmp(options->kind, team_kind_names[TEAM_PROCESSES]) != 0)
        refuse("--kind is '%s': expected threads or processes", options->kind);
    return asked;
}

/* ---- the library ---- */

void library_name(char name[LIBRARY_NAME_BYTES]) {
    static int names;
    snprintf(name, LIBRARY_NAME_BYTES, "bench.%ld.%d", (long)getpid(), names++);
}

void library_fail(const char *call) {
    char detail[800];
    quern_error_detail(detail, sizeof detail);
    team_fail("%s: %s", call, detail);
}

struct library_rank *library_join(const char *name, int rank, int ranks, int threads, unsigned operations) {
    struct library_rank *member = calloc(1, sizeof *member);
    if (!member) team_fail("out of memory");
    if (quern_device_open(QUERN_CPU, 0, &member->device) != QUERN_OK) library_fail("quern_device_open");
    if (quern_set_threads(member->device, threads, NULL, NULL) != QUERN_OK) library_fail("quern_set_threads");
    if (quern_prepare(member->device, operations) != QUERN_OK) library_fail("quern_prepare");
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.rank = rank;
    args.ranks = ranks;
    args.name = name;
    args.device = member->device;
    args.timeout = LIBRARY_SECONDS;
    if (quern_group_create(&args, 1, &member->group) != QUERN_OK) library_fail("quern_group_create");
    return member;
}

void library_leave(struct library_rank *member) {
    if (quern_group_destroy(member->group) != QUERN_OK) library_fail("quern_group_destroy");
    quern_device_close(member->device);
    free(member);
}

int library_threads(int ranks, int cores) {
    return cores > ranks ? cores / ranks : 1;
}
