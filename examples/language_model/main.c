/*
 * Trains a small language model on real text with Quern's kernels, and again with plain loops, and compares the two.
 * What is Quern's is in quern_backend.c; the rest is the engine around it.
 */
#define _POSIX_C_SOURCE 200809L

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "generate.h"
#include "model.h"
#include "options.h"
#include "quern.h"
#include "report.h"
#include "threads.h"
#include "tokenizer.h"
#include "training.h"
#include "words.h"

enum { PROMPT_TOKENS = 8, SAMPLE_TOKENS = 80, INTERRUPTED = 130 };

static const double TRAIN_SHARE = 0.95;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

/* The first Ctrl-C ends the run after the step at hand, the second one ends the program at once. */
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static void print_log_line(void *user, quern_log_level level, const char *line) {
    (void)user;
    (void)level;
    printf("  %s\n", line);
}

struct demo {
    struct options options;
    struct words words;
    struct tokenizer text;
    struct thread_pool *pool;
    struct model_shape shape;
    struct training training;
};

static bool prepare(struct demo *demo) {
    const struct options *options = &demo->options;
    if (!words_read(&demo->words, options->corpus)) {
        fprintf(stderr, "language_model: cannot read %s: %s\nMake it with: python3 examples/language_model/corpus.py %s\n",
                options->corpus, strerror(errno), options->corpus);
        return false;
    }
    tokenizer_learn(&demo->text, &demo->words, (int32_t)options->vocab);
    int64_t train_tokens = (int64_t)(TRAIN_SHARE * (double)demo->text.encoded_count);
    if (demo->text.encoded_count - train_tokens < options->context + PROMPT_TOKENS + 1) {
        fprintf(stderr, "language_model: %s has only %lld tokens\n", options->corpus, (long long)demo->text.encoded_count);
        return false;
    }
    demo->shape = (struct model_shape){
        .vocab = demo->text.vocab, .width = (int)options->width, .layers = (int)options->layers,
        .heads = (int)options->width / 32, .context = (int)options->context, .batch = (int)options->batch,
    };
    demo->training = (struct training){
        .text = &demo->text, .train_tokens = train_tokens, .steps = (int)options->steps, .seed = (uint64_t)options->seed,
        .interrupted = &interrupted,
    };
    openblas_set_num_threads(1);  /* the engine's own threads share out the products */
    demo->pool = threads_start((int)options->threads);
    if (demo->pool == NULL) fprintf(stderr, "language_model: cannot start %lld threads\n", (long long)options->threads);
    return demo->pool != NULL;
}

static void clean_up(struct demo *demo) {
    threads_stop(demo->pool);
    tokenizer_free(&demo->text);
    words_free(&demo->words);
}

static void introduce(const struct demo *demo, int64_t parameter_count) {
    const struct model_shape *shape = &demo->shape;
    printf("Text       %s: %lld bytes, %lld tokens of %d (byte-pair encoding)\n", demo->options.corpus,
           (long long)demo->words.text_bytes, (long long)demo->text.encoded_count, demo->text.vocab);
    printf("Model      transformer of %lld parameters: %d layers, width %d, %d heads; %d x %d tokens a step\n",
           (long long)parameter_count, shape->layers, shape->width, shape->heads, shape->batch, shape->context);
    printf("To beat    a uniform guess %.3f, the tokens' frequencies %.3f\n", log(demo->text.vocab),
           tokenizer_unigram_entropy(&demo->text));
    printf("Threads    %lld; matrix products by OpenBLAS in fp32 on the CPU, in both runs\n\n",
           (long long)demo->options.threads);
}

/* Trains `model` and fills the report; false after a message on stderr. */
static bool run(struct demo *demo, struct model *model, struct backend *backend, struct run_report *report) {
    printf("  %s\n", backend->name);
    if (!train(model, backend, &demo->training, &report->outcome)) return false;
    report->moment_bytes = backend->moment_bytes;
    report->parameter_bytes = backend->parameter_bytes;
    report->logits_bytes = logits_bytes(model->rows, model->shape.vocab, backend->logits.is_bf16);
    report_run(report);
    return true;
}

/* Where the first whole paragraph of the text held out begins: a line's end is a token of its own. */
static int64_t held_out_paragraph(const struct demo *demo) {
    int64_t first = demo->training.train_tokens, last = demo->text.encoded_count - PROMPT_TOKENS;
    for (int64_t i = first; i < last; i++)
        if (demo->text.encoded[i] == '\n') return i + 1;
    return first;
}

static bool run_quern(struct demo *demo, struct run_report *report) {
    const struct options *options = &demo->options;
    struct model model;
    model_create(&model, demo->shape, demo->pool, demo->training.seed);
    introduce(demo, model.parameter_count);
    printf("Quern\n");
    quern_set_log(print_log_line, NULL, QUERN_LOG_INFO);
    struct backend *backend = quern_backend(&model, demo->pool, (int)options->threads, options->device, demo->training.seed);
    bool succeeded = backend != NULL && run(demo, &model, backend, report);
    if (succeeded && !interrupted) {
        printf("  The model writes on (temperature 0.7):\n");
        generate(&model, &demo->text, held_out_paragraph(demo), PROMPT_TOKENS, SAMPLE_TOKENS, demo->training.seed);
    }
    if (backend != NULL) backend->destroy(backend);
    quern_set_log(NULL, NULL, QUERN_LOG_INFO);
    model_free(&model);
    return succeeded;
}

static bool run_plain(struct demo *demo, struct run_report *report) {
    struct model model;
    model_create(&model, demo->shape, demo->pool, demo->training.seed);
    struct backend *backend = plain_backend(&model, demo->pool);
    printf("\nPlain C loops\n");
    bool succeeded = run(demo, &model, backend, report);
    backend->destroy(backend);
    model_free(&model);
    return succeeded;
}

static int finish(bool succeeded) {
    if (interrupted) printf("interrupted\n");
    return interrupted ? INTERRUPTED : succeeded ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct demo demo = {.options = options_parse(argc, argv)};
    struct run_report quern = {0}, plain = {0};
    catch_interrupt();
    bool succeeded = prepare(&demo) && run_quern(&demo, &quern);
    if (succeeded && demo.options.comparison && !interrupted) {
        succeeded = run_plain(&demo, &plain);
        if (succeeded && !interrupted) succeeded = report_comparison(&quern, &plain);
    }
    clean_up(&demo);
    return finish(succeeded);
}
