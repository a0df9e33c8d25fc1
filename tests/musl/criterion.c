/*
 * Runs the tests of a suite and writes a report in TAP, like Criterion.  Linked with each suite that is built for musl, and by
 * `./quern gpu` where there is no Criterion.
 *
 *   test_NAME [-j1] [--tap=FILE] [--filter SUITE/TEST] [--skip=SUITE/TEST]... [--timeout SECONDS]
 */
#define _GNU_SOURCE
#include "criterion/criterion.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PASSED = 0, FAILED = 1, SKIPPED = 77 };

static struct criterion_test *first, **last = &first;

/* What the command line says. */
static struct {
    const char *filter;
    char **words;
    double timeout;
    FILE *report;
} run = {.filter = "*", .timeout = 1800};

void criterion_register(struct criterion_test *test) {
    *last = test;
    last = &test->next;
}

void criterion_end(int failed, const char *file, int line, const char *format, ...) {
    va_list list;
    printf("%s:%d: %s: ", file, line, failed ? "failed" : "skipped");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    fflush(stdout);
    _exit(failed ? FAILED : SKIPPED);
}

/* Its own limit, or that of its suite, or that of all. */
static double limit_of(const struct criterion_test *test) {
    if (test->options.timeout > 0) return test->options.timeout;
    for (const struct criterion_test *other = first; other; other = other->next)
        if (!other->run && !strcmp(other->suite, test->suite)) return other->options.timeout;
    return run.timeout;
}

static void run_child(const struct criterion_test *test, const sigset_t *signals) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  /* its group is its own: who kills that of the suite does not reach it */
    sigprocmask(SIG_SETMASK, signals, NULL);
    test->run();
    fflush(stdout);
    _exit(PASSED);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Waits for the child, or kills it and its children when the time has passed. */
static int await(pid_t child, double seconds, const sigset_t *end) {
    const struct timespec slice = {.tv_sec = 1};
    const double began = now();
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now() - began > seconds) {
            printf("no end after %g seconds\n", seconds);
            kill(-child, SIGKILL);
        }
        sigtimedwait(end, NULL, &slice);
    }
    kill(-child, SIGKILL);  /* processes that the test has left */
    return status;
}

static int run_test(const struct criterion_test *test) {
    sigset_t end, before;
    sigemptyset(&end);
    sigaddset(&end, SIGCHLD);
    sigprocmask(SIG_BLOCK, &end, &before);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) run_child(test, &before);
    if (child > 0) setpgid(child, child);
    int status = child < 0 ? -1 : await(child, limit_of(test), &end);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int result = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
    if (status >= 0 && WIFSIGNALED(status)) printf("signal %d: %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (result != PASSED && result != SKIPPED) printf("failed: %s::%s\n", test->suite, test->name);
    if (run.report)
        fprintf(run.report, "%s - %s::%s%s\n", result == PASSED || result == SKIPPED ? "ok" : "not ok", test->suite, test->name,
                result == SKIPPED ? " # SKIP" : "");
    return result;
}

static bool is_named(const struct criterion_test *test, const char *glob) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", test->suite, test->name ? test->name : "");
    return test->run && fnmatch(glob, name, 0) == 0;
}

static const char skip[] = "--skip=";

static bool is_skipped(const struct criterion_test *test) {
    for (char **word = run.words; *word; word++)
        if (!strncmp(*word, skip, sizeof skip - 1) && is_named(test, *word + sizeof skip - 1)) return true;
    return false;
}

/* The value of an option, `--name=value` or `--name value`; NULL: another option. */
static const char *value_of(const char *name, char ***word) {
    size_t length = strlen(name);
    if (strncmp(**word, name, length)) return NULL;
    if ((**word)[length] == '=') return **word + length + 1;
    return (**word)[length] == 0 && (*word)[1] ? *++*word : NULL;
}

static void read_options(char **words) {
    run.words = words;
    for (char **word = words + 1; *word; word++) {
        const char *value;
        if ((value = value_of("--tap", &word))) {
            run.report = fopen(value, "w");
        } else if ((value = value_of("--filter", &word))) {
            run.filter = value;
        } else if ((value = value_of("--timeout", &word))) {
            run.timeout = strtod(value, NULL);
        } else if (strcmp(*word, "-j1") != 0 && strncmp(*word, skip, sizeof skip - 1) != 0) {
            fprintf(stderr, "%s: unknown option %s\n", words[0], *word);
            exit(2);
        }
    }
}

int main(int count, char **words) {
    (void)count;
    int results[3] = {0};  /* passed, failed, skipped */
    read_options(words);
    for (const struct criterion_test *test = first; test; test = test->next) {
        if (!is_named(test, run.filter) || is_skipped(test)) continue;
        int result = run_test(test);
        results[result == PASSED ? 0 : result == SKIPPED ? 2 : 1]++;
    }
    if (run.report) fclose(run.report);
    printf("%d passed, %d failed, %d skipped\n", results[0], results[1], results[2]);
    return results[1] != 0;
}
