/*
 * Trains a small language model on real text with Quern's kernels, then again with plain loops (or first on several ranks, then
 * on one), and compares the two runs.  README.md says which files call Quern; the rest is the engine around it.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas.h"
#include "demo.h"
#include "hosts.h"
#include "processes.h"
#include "report.h"
#include "run.h"

enum { LEAST_HELD_OUT = 16, GRACE_SECONDS = 5, INTERRUPTED = 130 };

static const double TRAIN_SHARE = 0.95;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

/* The first Ctrl-C ends the run after the current step, the second one ends the program at once. */
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static bool prepare(struct demo *demo) {
    const struct options *options = &demo->options;
    if (!blas_open()) return false;
    if (!device_resolve(&demo->options.device, options->processes ? (int)options->ranks : 1, options->rank <= 0)) return false;
    if (!words_read(&demo->words, options->corpus)) {
        fprintf(stderr, "language_model: cannot read %s: %s\n", options->corpus, strerror(errno));
        if (strcmp(options->corpus, OWN_CORPUS) == 0) fprintf(stderr, "Make it with: python3 demo/corpus.py " OWN_CORPUS "\n");
        return false;
    }
    tokenizer_learn(&demo->text, &demo->words, (int32_t)options->vocab);
    int64_t train_tokens = (int64_t)(TRAIN_SHARE * (double)demo->text.encoded_count);
    if (demo->text.encoded_count - train_tokens < options->context + LEAST_HELD_OUT) {
        fprintf(stderr, "language_model: %s has only %lld tokens\n", options->corpus, (long long)demo->text.encoded_count);
        return false;
    }
    demo->shape = (struct model_shape){
        .vocab = demo->text.vocab, .width = (int)options->width, .layers = (int)options->layers,
        .heads = (int)options->width / 32, .context = (int)options->context, .batch = (int)options->batch,
        .experts = (int)options->experts, .tensor_parallel = options->tensor_parallel > 0,
    };
    demo->training = (struct training){
        .text = &demo->text, .train_tokens = train_tokens, .steps = (int)options->steps, .seed = (uint64_t)options->seed,
        .interrupted = &interrupted, .curve = options->curve,
    };
    if (options->group != NULL) snprintf(demo->group, sizeof demo->group, "%s", options->group);
    else snprintf(demo->group, sizeof demo->group, "language_model.%ld", (long)getpid());
    return true;
}

static void clean_up(struct demo *demo) {
    tokenizer_free(&demo->text);
    words_free(&demo->words);
}

static bool compare(const struct demo *demo, const struct run_report *first) {
    const struct options *options = &demo->options;
    const bool same_ranks = options->hosts > 1 && !options->pipeline;
    struct run run = {.demo = demo, .ranks = same_ranks ? (int)options->ranks : 1, .hosts = 1, .is_plain = options->ranks == 0};
    struct run_report second;
    if (!run_threads(&run, &second)) return false;
    if (interrupted) return true;
    if (options->hosts > 1 || options->pipeline) return report_same(first, &second, options);
    return run.is_plain ? report_comparison(first, &second) : report_ranks(first, &second, options);
}

/* A process that is one of several ranks runs its part of the first run; rank 0 also does the second run. */
static bool train_and_compare(const struct demo *demo) {
    const struct options *options = &demo->options;
    bool talks = options->rank <= 0, compares = talks && options->comparison && options->ranks != 1;
    struct run run = {.demo = demo, .is_first = true, .ranks = options->ranks > 0 ? (int)options->ranks : 1,
                      .hosts = (int)options->hosts};
    struct run_report report = {0};
    if (talks) report_introduction(demo);
    bool succeeded = options->rank >= 0 ? run_rank(&run, (int)options->rank, &report) : run_threads(&run, &report);
    return succeeded && (!compares || interrupted || compare(demo, &report));
}

static int finish(bool succeeded, bool talks) {
    if (interrupted && talks) printf("interrupted\n");
    return interrupted ? INTERRUPTED : succeeded ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The ranks of this program's host, or of all hosts. */
static int run_processes(const struct options *options, int argc, char **argv) {
    const int ranks = (int)options->ranks, hosts = (int)options->hosts, host = (int)options->host;
    struct invitation invitation;
    char group[64] = "--group=language_model";
    if (host < 0) snprintf(group, sizeof group, "--group=language_model.%ld", (long)getpid());
    if (!hosts_invite(&invitation, options)) return EXIT_FAILURE;
    const char *const own[] = {group, invitation.options[0], invitation.options[1], NULL};
    const int first = host < 0 ? 0 : host_first_rank(host, ranks, hosts);
    const int end = host < 0 ? ranks : host_first_rank(host + 1, ranks, hosts);
    const struct recruits recruits = {.first = first, .count = end - first, .options = own};
    const int status = processes_run(&recruits, (double)options->timeout + GRACE_SECONDS, argc, argv);
    if (host > 0 && status == EXIT_SUCCESS) printf("host %d has done its part; host 0 shows the result\n", host);
    return status;
}

int main(int argc, char **argv) {
    struct demo demo = {.options = options_parse(argc, argv)};
    const struct options *options = &demo.options;
    if (options->processes && options->rank < 0) return run_processes(options, argc, argv);
    catch_interrupt();
    bool succeeded = prepare(&demo) && train_and_compare(&demo);
    clean_up(&demo);
    return finish(succeeded, options->rank <= 0);
}
