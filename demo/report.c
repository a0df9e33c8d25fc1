/* Prints the results of a run and compares two runs.  Called by main.c and run.c. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "blas.h"
#include "mixture.h"

static const double LOSS_TOLERANCE = 0.02, RANKS_LOSS_TOLERANCE = 0.01;

enum { LISTED_EXPERTS = 16 };

void report_introduction(const struct demo *demo) {
    const struct model_shape *shape = &demo->shape;
    const struct options *options = &demo->options;
    printf("Text       %s: %lld bytes, %lld tokens of %d (byte-pair encoding)\n",
           strcmp(options->corpus, OWN_CORPUS) == 0 ? "documents of this repository, demo/text.xz" : options->corpus,
           (long long)demo->words.text_bytes, (long long)demo->text.encoded_count, demo->text.vocab);
    printf("Model      transformer: %d layers, width %d, %d heads; %d x %d tokens a step\n", shape->layers, shape->width,
           shape->heads, shape->batch, shape->context);
    if (shape->experts > 0) printf("Experts    %d in each layer, %d of them for a token\n", shape->experts, CHOICES);
    if (shape->tensor_parallel)
        printf("Parts      %lld of each MLP, one per rank; rows between ranks in E4M3, their gradients in E5M2\n",
               (long long)options->tensor_parallel);
    printf("To beat    a uniform guess %.3f, the tokens' frequencies %.3f\n", log(demo->text.vocab),
           tokenizer_unigram_entropy(&demo->text));
    printf("Threads    %lld; matrix products by %s in fp32 on the CPU, in both runs\n", (long long)options->threads, blas_name());
}

void report_title(const struct run *run) {
    const struct options *options = &run->demo->options;
    if (options->ranks == 0) printf("\n%s\n", run->is_plain ? "Plain C loops" : "Quern");
    else if (run->ranks == 1) printf("\nOne rank\n");
    else if (run->hosts > 1) printf("\n%d ranks on %d hosts, each a process\n", run->ranks, run->hosts);
    else if (options->hosts > 1) printf("\n%d ranks on one host, each a thread\n", run->ranks);
    else printf("\n%d ranks, each a %s\n", run->ranks, options->processes ? "process" : "thread");
}

/* The fraction of a block's tokens that each of its experts had. */
static void print_loads(const struct mixture *mixture, int block) {
    int experts = mixture->dispatch.experts;
    int64_t sum = 0, least = mixture->loads[0], most = 0;
    for (int e = 0; e < experts; e++) {
        sum += mixture->loads[e];
        least = mixture->loads[e] < least ? mixture->loads[e] : least;
        most = mixture->loads[e] > most ? mixture->loads[e] : most;
    }
    double percent = 100 / fmax(1, (double)sum);
    printf("  load of the experts of layer %d, even %.1f %%: %.1f to %.1f", block + 1, 100.0 / experts, percent * (double)least,
           percent * (double)most);
    for (int e = 0; e < experts && experts <= LISTED_EXPERTS; e++)
        printf("%s%.1f", e == 0 ? " (" : " ", percent * (double)mixture->loads[e]);
    printf("%s\n", experts <= LISTED_EXPERTS ? ")" : "");
}

static double share(const struct outcome *outcome, enum purpose purpose) {
    return 100 * outcome->totals.seconds[purpose] / outcome->seconds;
}

static double megabytes_per_step(const struct outcome *outcome, enum purpose purpose) {
    return (double)outcome->totals.bytes[purpose] / 1e6 / outcome->steps;
}

/* What goes between ranks with the tokens. */
static const char *tokens_of(const struct model_shape *shape) {
    return shape->experts > 0 ? "dispatch and combine" : shape->tensor_parallel ? "sums of the MLPs' parts" : "residuals";
}

static void report_exchange(const struct outcome *outcome, const struct model *model) {
    printf("  %.0f tokens/s; between ranks %.3f MB of tokens a step, %.3f MB of gradients\n",
           (double)outcome->tokens / outcome->seconds, megabytes_per_step(outcome, TOKENS), megabytes_per_step(outcome, GRADIENTS));
    printf("  time, waiting included: %s %.1f %%, sums of gradients %.1f %%, sums of losses %.1f %%\n", tokens_of(&model->shape),
           share(outcome, TOKENS), share(outcome, GRADIENTS), share(outcome, NUMBERS));
    if (model->parallel.rank != NULL)
        printf("  chunks: cast and gathered %.1f %% of the time beside the products, which waited %.1f %%; %.3f MB a step\n",
               share(outcome, CHUNKS), share(outcome, WAITS), megabytes_per_step(outcome, CHUNKS));
    for (int b = 0; b < model->shape.layers && model->shape.experts > 0; b++) print_loads(model->blocks[b].mixture, b);
}

void report_run(const struct run_report *run, const struct model *model) {
    if (run->outcome.steps == 0) {
        printf("  no step was completed\n");
        return;
    }
    printf("  %d steps in %.1f s: loss %.3f over the last tenth, %.3f on text held out\n", run->outcome.steps,
           run->outcome.seconds, run->outcome.loss, run->outcome.held_out_loss);
    const struct guesses *guessed = &run->outcome.guessed;
    if (run->outcome.guesses)
        printf("  of the tokens held out %.1f %% are the model's first guess, %.1f %% among its first %d; entropy %.3f\n",
               100 * guessed->first, 100 * guessed->among_first, GUESSES, guessed->entropy);
    const struct step_times *times = &run->outcome.times;
    printf("  fastest step %.1f ms; fastest ", 1e3 * times->whole);
    if (pipeline_is_last(&model->pipeline)) printf("loss and gradient %.2f ms, ", 1e3 * times->cross_entropy);
    printf("Adam %.2f ms", 1e3 * times->adam);
    if (times->copies > 0) printf(", copies between host and device %.2f ms", 1e3 * times->copies);
    printf("\n");
    if (model->rank != NULL) report_exchange(&run->outcome, model);
}

static void print_row(const char *what, double quern, double plain, const char *note) {
    printf("  %-38s %10.3f %12.3f   %s\n", what, quern, plain, note);
}

/* why: said of a ratio below 1. */
static void print_ratio_row(const char *what, double quern, double plain, double ratio, const char *why) {
    char note[128];
    snprintf(note, sizeof note, "%.2fx%s%s", ratio, ratio < 1 ? ": " : "", ratio < 1 ? why : "");
    print_row(what, quern, plain, note);
}

static double apart(double a, double b) {
    return fabs(a - b) / fabs(b);
}

static void print_loss_row(const char *what, double quern, double plain) {
    char note[48];
    snprintf(note, sizeof note, "%.2f %% apart", 100 * apart(quern, plain));
    print_row(what, quern, plain, note);
}

static void print_time(const char *what, double quern, double plain, const char *why) {
    print_ratio_row(what, 1e3 * quern, 1e3 * plain, plain / quern, why);
}

static void print_times(const struct step_times *quern, const struct step_times *plain) {
    print_time("loss and gradient, ms (fastest of all)", quern->cross_entropy, plain->cross_entropy,
               "these logits take little time beside a call");
    print_time("Adam, ms (fastest of all)", quern->adam, plain->adam, "rounding v to bf16 stochastically costs arithmetic");
    print_time("both, ms", quern->cross_entropy + quern->adam, plain->cross_entropy + plain->adam, "see above");
    if (quern->copies > 0) print_row("copies between host and device, ms", 1e3 * quern->copies, 0, "");
    print_time("whole step with matrix products, ms", quern->whole, plain->whole,
               "mostly products of one BLAS, in runs one after the other");
}

static void print_memory(const char *what, int64_t quern, int64_t plain) {
    print_ratio_row(what, (double)quern / 1e6, (double)plain / 1e6, (double)plain / (double)quern,
                    "an fp32 master is beside the bf16 values");
}

static bool are_close(const struct run_report *a, const struct run_report *b, double tolerance) {
    double distance = fmax(apart(a->outcome.loss, b->outcome.loss), apart(a->outcome.held_out_loss, b->outcome.held_out_loss));
    if (distance <= tolerance) return true;
    fflush(stdout);
    fprintf(stderr, "language_model: the two runs reach losses %.2f %% apart; %.0f %% is allowed\n", 100 * distance,
            100 * tolerance);
    return false;
}

bool report_comparison(const struct run_report *quern, const struct run_report *plain) {
    printf("\n  %-38s %10s %12s\n", "", "Quern", "plain loops");
    print_loss_row("loss, last tenth of the steps", quern->outcome.loss, plain->outcome.loss);
    print_loss_row("loss, text held out", quern->outcome.held_out_loss, plain->outcome.held_out_loss);
    print_times(&quern->outcome.times, &plain->outcome.times);
    print_memory("Adam's m and v, MB", quern->moment_bytes, plain->moment_bytes);
    print_memory("parameters, Quern's with master, MB", quern->parameter_bytes, plain->parameter_bytes);
    print_memory("logits and their gradient, MB", quern->logits_bytes, plain->logits_bytes);

    return are_close(quern, plain, LOSS_TOLERANCE);
}

/* Chunks are cast and gathered beside the products. */
static void print_chunk_rows(const struct outcome *a, const struct outcome *b) {
    char note[40];
    print_row("cast and gather, % of the time", share(a, CHUNKS), share(b, CHUNKS), "beside the products");
    print_row("waiting for chunks and sums, % of time", share(a, WAITS), share(b, WAITS), "");
    snprintf(note, sizeof note, "%.3f less than in fp32", (sizeof(float) - 1) * megabytes_per_step(a, CHUNKS));
    print_row("chunks between ranks, MB a step", megabytes_per_step(a, CHUNKS), megabytes_per_step(b, CHUNKS), note);
}

static void print_exchange_rows(const struct outcome *a, const struct outcome *b, const struct options *options) {
    const char *tokens = options->pipeline ? "residuals between ranks, % of the time"
                       : options->tensor_parallel > 0 ? "sums of the MLPs' parts, % of the time"
                       : "dispatch and combine, % of the time";
    double first = (double)a->tokens / a->seconds, second = (double)b->tokens / b->seconds;
    print_ratio_row("thousand tokens per second", first / 1e3, second / 1e3, first / second,
                    "the ranks share these cores and also exchange tokens and sums");
    if (options->tensor_parallel > 0) print_chunk_rows(a, b);
    print_row(tokens, share(a, TOKENS), share(b, TOKENS),
              options->tensor_parallel > 0 ? "beside the products" : "waiting included");
    print_row(options->pipeline ? "embedding's gradient, % of the time" : "sums of gradients, % of the time", share(a, GRADIENTS),
              share(b, GRADIENTS), "");
    print_row("tokens between ranks, MB a step", megabytes_per_step(a, TOKENS), megabytes_per_step(b, TOKENS), "");
    print_row("gradients between ranks, MB a step", megabytes_per_step(a, GRADIENTS), megabytes_per_step(b, GRADIENTS), "");
}

bool report_ranks(const struct run_report *many, const struct run_report *one, const struct options *options) {
    char heading[32];
    const struct outcome *a = &many->outcome, *b = &one->outcome;
    snprintf(heading, sizeof heading, "%d ranks", (int)options->ranks);
    printf("\n  %-38s %10s %12s\n", "", heading, "one rank");
    print_loss_row("loss, last tenth of the steps", a->loss, b->loss);
    print_loss_row("loss, text held out", a->held_out_loss, b->held_out_loss);
    print_exchange_rows(a, b, options);
    printf("\nloss %.4f against %.4f with one rank (%.2f %% apart)\n", a->loss, b->loss, 100 * apart(a->loss, b->loss));
    return are_close(many, one, RANKS_LOSS_TOLERANCE);
}

bool report_same(const struct run_report *many, const struct run_report *one, const struct options *options) {
    char first[48];
    const struct outcome *a = &many->outcome, *b = &one->outcome;
    const char *second = options->pipeline ? "one rank" : "one host";
    const bool same = a->loss == b->loss && a->held_out_loss == b->held_out_loss;
    if (options->hosts > 1) snprintf(first, sizeof first, "%d hosts", (int)options->hosts);
    else snprintf(first, sizeof first, "%d ranks", (int)options->ranks);
    printf("\n  %-38s %10s %12s\n", "", first, second);
    print_loss_row("loss, last tenth of the steps", a->loss, b->loss);
    print_loss_row("loss, text held out", a->held_out_loss, b->held_out_loss);
    print_exchange_rows(a, b, options);
    printf("\nloss %.4f on %s, %s on %s\n", a->loss, first, same ? "the same bits" : "and another", second);
    fflush(stdout);
    if (!same)
        fprintf(stderr, "language_model: the losses are %.17g and %.17g, on text held out %.17g and %.17g; they must be equal\n",
                a->loss, b->loss, a->held_out_loss, b->held_out_loss);
    return same;
}
