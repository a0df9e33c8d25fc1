/* One run on all its ranks: opens device, model and backend of each, trains, and closes them.  Called by main.c. */
#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"
#include "generate.h"
#include "hosts.h"
#include "look.h"
#include "memory.h"
#include "quern.h"
#include "report.h"
#include "threads.h"

enum { PROMPT_TOKENS = 8, SAMPLE_TOKENS = 80 };

/* The objects of one rank. */
struct part {
    struct thread_pool *pool;
    int threads;
    struct device device;
    struct rank rank;
    struct model model;
    struct backend *backend;
};

static bool start_threads(struct part *part, const struct run *run) {
    const struct options *options = &run->demo->options;
    int share = (int)options->threads / (options->pipeline ? (int)options->ranks : run->ranks);  /* the same in both runs */
    part->threads = share > 0 ? share : 1;
    part->pool = threads_start(part->threads);
    if (part->pool == NULL) fprintf(stderr, "language_model: cannot start %d threads\n", part->threads);
    return part->pool != NULL;
}

static bool has_group(const struct run *run) { return run->demo->shape.experts > 0 || run->ranks > 1; }

/* The device and, in a group, the other ranks. */
static bool join(struct part *part, const struct run *run, int rank) {
    const struct options *options = &run->demo->options;
    unsigned operations = (run->is_plain ? 0 : BACKEND_OPERATIONS) | (has_group(run) ? EXCHANGE_OPERATIONS : 0) |
                          (has_group(run) && options->tensor_parallel > 0 ? CHUNK_OPERATIONS : 0);
    struct device_choice choice = device_of_rank(options->device, rank);
    struct meeting meeting = {.rank = rank, .ranks = run->ranks, .name = run->demo->group, .timeout = (double)options->timeout,
                              .share_gpu = choice.is_cuda && run->ranks > choice.gpus};
    if (operations != 0 && !device_open(&part->device, choice, part->pool, part->threads, operations)) return false;
    if (!has_group(run)) return true;
    bool joined = (run->hosts == 1 || hosts_settle(&meeting, options)) && rank_join(&part->rank, &part->device, &meeting);
    free(meeting.secret);
    return joined;
}

static bool open_part(struct part *part, const struct run *run, int rank) {
    const struct demo *demo = run->demo;
    struct rank *joined = has_group(run) ? &part->rank : NULL;
    if (!start_threads(part, run) || !join(part, run, rank) ||
        !model_create(&part->model, demo->shape, part->pool, joined, demo->training.seed))
        return false;
    part->backend = run->is_plain ? plain_backend(&part->model, part->pool, demo->options.optimizer)
                                  : quern_backend(&part->model, part->pool, &part->device, demo->options.optimizer,
                                                  demo->training.seed);
    return part->backend != NULL;
}

static void close_part(struct part *part) {
    if (part->backend != NULL) part->backend->destroy(part->backend);
    model_free(&part->model);
    rank_leave(&part->rank);
    device_close(&part->device);
    threads_stop(part->pool);
}

/* The start of the first whole paragraph of the held-out text: a line's end is a token of its own. */
static int64_t held_out_paragraph(const struct demo *demo) {
    int64_t first = demo->training.train_tokens, last = demo->text.encoded_count - PROMPT_TOKENS;
    for (int64_t i = first; i < last; i++)
        if (demo->text.encoded[i] == '\n') return i + 1;
    return first;
}

static bool train_part(struct part *part, const struct run *run, struct run_report *report) {
    struct training training = run->demo->training;
    training.is_silent = part->rank.rank > 0;
    if (training.is_silent || !run->is_first) training.curve = NULL;
    if (run->is_first) training.looked_at = part->device.quern;
    if (!training.is_silent)
        printf("  %lld parameters; %s\n", (long long)part->model.random_count, part->backend->name);
    if (!train(&part->model, part->backend, &training, &report->outcome) || !model_is_consistent(&part->model)) return false;
    report->moment_bytes = part->backend->moment_bytes;
    report->parameter_bytes = part->backend->parameter_bytes;
    report->logits_bytes = logits_bytes(part->model.rows, part->model.shape.vocab, part->backend->logits.is_bf16);
    if (!training.is_silent) report_run(report, &part->model);
    return true;
}

static _Thread_local bool shows_log;

static void print_log_line(void *user, quern_log_level level, const char *line) {
    (void)user;
    (void)level;
    if (shows_log) printf("  %s\n", line);
}

bool run_rank(const struct run *run, int rank, struct run_report *report) {
    const struct demo *demo = run->demo;
    struct part part = {.rank = {.rank = rank}};
    shows_log = rank == 0;
    quern_set_log(run->is_first ? print_log_line : NULL, NULL, QUERN_LOG_INFO);
    if (rank == 0) report_title(run);
    const struct look look = run->is_first ? demo->options.look : (struct look){0};
    const bool is_first_here = rank == 0 || demo->options.rank >= 0;  /* of this process */
    if (is_first_here && !look_begin_trace(&look, rank)) return false;
    bool succeeded = open_part(&part, run, rank) && look_dump_at(&look, part.device.quern, rank) && train_part(&part, run, report);
    if (succeeded && run->is_first && !demo->options.pipeline && !report->outcome.interrupted)
        succeeded = generate(&part.model, &demo->text, held_out_paragraph(demo), PROMPT_TOKENS, SAMPLE_TOKENS, demo->training.seed);
    close_part(&part);
    return (!is_first_here || look_end_trace(&look)) && succeeded;
}

/* A rank's thread. */
struct runner {
    const struct run *run;
    int rank;
    bool succeeded;
    struct run_report report;
    pthread_t thread;
};

static void *run_on_thread(void *argument) {
    struct runner *runner = argument;
    runner->succeeded = run_rank(runner->run, runner->rank, &runner->report);
    return NULL;
}

bool run_threads(const struct run *run, struct run_report *report) {
    struct runner *runners = allocate((size_t)run->ranks * sizeof *runners);
    bool succeeded = true;
    int started = 0;
    while (started < run->ranks && succeeded) {
        runners[started] = (struct runner){.run = run, .rank = started};
        succeeded = pthread_create(&runners[started].thread, NULL, run_on_thread, &runners[started]) == 0;
        if (succeeded) started++;
        else fprintf(stderr, "language_model: cannot start a thread for rank %d\n", started);
    }
    for (int rank = 0; rank < started; rank++) {
        pthread_join(runners[rank].thread, NULL);
        succeeded = succeeded && runners[rank].succeeded;
    }
    *report = runners[0].report;
    free(runners);
    return succeeded;
}
