/* Starts a process for each rank and waits for all.  Called by main.c with --processes. */
#define _GNU_SOURCE

#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"

struct processes {
    int first, count, running;
    pid_t *ids;             /* 0: has ended */
    sigset_t waited_for, mask_before;
    int signal;             /* the last signal passed on, or 0 */
    bool has_failed;
    double deadline;        /* set once a rank has failed */
};

/*
 * In the new process.  It has a process group of its own, so that Ctrl-C at the terminal reaches it once, through the parent, and
 * it dies with the parent.
 */
static void become_rank(const struct processes *processes, pid_t parent, char **arguments) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, &processes->mask_before, NULL);
    execv("/proc/self/exe", arguments);
    _exit(EXIT_FAILURE);
}

/* The program's name, the rank's options, and the program's own arguments. */
static char **make_arguments(char *rank, const char *const *options, int argc, char **argv) {
    size_t count = 2;
    for (const char *const *option = options; *option != NULL; option++) count++;
    char **arguments = allocate((count + (size_t)argc) * sizeof *arguments), **next = arguments;
    *next++ = argv[0];
    *next++ = rank;
    while (*options != NULL) *next++ = (char *)*options++;
    memcpy(next, argv + 1, (size_t)argc * sizeof *arguments);
    return arguments;
}

static bool start(struct processes *processes, const char *const *options, int argc, char **argv) {
    char rank[32];
    pid_t parent = getpid();
    char **arguments = make_arguments(rank, options, argc, argv);
    bool started = true;
    for (int i = 0; i < processes->count && started; i++) {
        snprintf(rank, sizeof rank, "--rank=%d", processes->first + i);
        pid_t id = fork();
        if (id == 0) become_rank(processes, parent, arguments);
        started = id > 0;
        if (started) processes->ids[processes->running++] = id;
        else fprintf(stderr, "language_model: cannot start a process for rank %d: %s\n", processes->first + i, strerror(errno));
    }
    free(arguments);
    return started;
}

static void signal_all(const struct processes *processes, int signal) {
    for (int rank = 0; rank < processes->count; rank++)
        if (processes->ids[rank] > 0) kill(processes->ids[rank], signal);
}

static void report_end(int rank, pid_t id, int status) {
    if (WIFSIGNALED(status))
        fprintf(stderr, "language_model: rank %d (process %ld) was ended by signal %d (%s)\n", rank, (long)id, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "language_model: rank %d (process %ld) ended with status %d\n", rank, (long)id, WEXITSTATUS(status));
}

static void reap(struct processes *processes, double seconds) {
    int status;
    for (pid_t id; (id = waitpid(-1, &status, WNOHANG)) > 0;) {
        int rank = 0;
        while (processes->ids[rank] != id) rank++;
        processes->ids[rank] = 0;
        processes->running--;
        if (status == 0) continue;
        if (!processes->has_failed) processes->deadline = seconds_now() + seconds;
        processes->has_failed = true;
        if (processes->signal == 0) report_end(processes->first + rank, id, status);
    }
}

/* Kills ranks that did not end after a failure, such as stopped ones. */
static void end_stragglers(struct processes *processes, double seconds) {
    if (!processes->has_failed || processes->running == 0 || seconds_now() < processes->deadline) return;
    fprintf(stderr, "language_model: %d ranks have not ended within %.0f s after the first and are killed\n", processes->running,
            seconds);
    processes->deadline += seconds;
    signal_all(processes, SIGKILL);
}

static void wait_for_all(struct processes *processes, double seconds) {
    while (processes->running > 0) {
        int signal = sigtimedwait(&processes->waited_for, NULL, &(struct timespec){.tv_sec = 1});
        if (signal == SIGINT || signal == SIGTERM) {
            processes->signal = signal;
            signal_all(processes, signal);
        }
        reap(processes, seconds);
        end_stragglers(processes, seconds);
    }
}

static void print_ids(const struct processes *processes) {
    printf("Ranks      %d processes:", processes->count);
    for (int rank = 0; rank < processes->count; rank++) printf(" %ld", (long)processes->ids[rank]);
    putchar('\n');
    fflush(stdout);
}

int processes_run(const struct recruits *recruits, double seconds, int argc, char **argv) {
    struct processes processes = {.first = recruits->first, .count = recruits->count,
                                  .ids = allocate((size_t)recruits->count * sizeof(pid_t))};
    sigemptyset(&processes.waited_for);
    sigaddset(&processes.waited_for, SIGCHLD);
    sigaddset(&processes.waited_for, SIGINT);
    sigaddset(&processes.waited_for, SIGTERM);
    sigprocmask(SIG_BLOCK, &processes.waited_for, &processes.mask_before);
    bool started = start(&processes, recruits->options, argc, argv);
    if (started) print_ids(&processes);
    else signal_all(&processes, SIGKILL);
    wait_for_all(&processes, seconds);
    sigprocmask(SIG_SETMASK, &processes.mask_before, NULL);
    free(processes.ids);
    return processes.signal != 0 ? 128 + processes.signal : started && !processes.has_failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
