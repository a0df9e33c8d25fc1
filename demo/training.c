/* The steps of a run: batches, learning rates, and the loss over all ranks.  Called by run.c. */
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"
#include "clock.h"
#include "look.h"
#include "memory.h"
#include "model.h"
#include "progress.h"
#include "random.h"
#include "tokenizer.h"

enum { HELD_OUT_BATCHES = 8 };

static const double PEAK_LR = 3e-3;

/* The tokens of one step and, shifted by one, the token that follows each. */
struct batch {
    int32_t *tokens, *labels;
};

/* Warms up over the first twentieth of the steps, then follows a cosine down to a tenth of the peak. */
static double learning_rate(int step, int steps) {
    double warm_up = fmax(1, steps / 20.0);
    if (step <= warm_up) return PEAK_LR * step / warm_up;
    double progress = (step - warm_up) / fmax(1, steps - warm_up);
    return PEAK_LR * (0.55 + 0.45 * cos(3.141592653589793 * progress));
}

/* This rank's sequences of a step, from random positions of tokens [first, end) that depend only on seed and step number. */
static void fill_batch(struct batch *batch, const struct model *model, const struct training *training, int64_t first,
                       int64_t end, uint64_t seed, uint64_t number) {
    int length = model->shape.context;
    for (int s = 0; s < model->sequences; s++) {
        uint64_t sequence = number * (uint64_t)model->shape.batch + (uint64_t)(model->first_sequence + s);
        uint64_t bits = random_bits(seed, sequence);
        const int32_t *from = training->text->encoded + first + (int64_t)(bits % (uint64_t)(end - first - length));
        for (int i = 0; i < length; i++) {
            batch->tokens[s * length + i] = from[i];
            batch->labels[s * length + i] = from[i + 1];
        }
    }
}

static double mean_of_last_tenth(const float *losses, int count) {
    int tenth = (count + 9) / 10;
    double sum = 0;
    for (int i = count - tenth; i < count; i++) sum += losses[i];
    return count > 0 ? sum / tenth : NAN;
}

static bool write_curve(const char *path, const float *losses, int count) {
    FILE *file = fopen(path, "w");
    for (int i = 0; file != NULL && i < count; i++) fprintf(file, "%.6f\n", losses[i]);
    if (file != NULL && !ferror(file) && fclose(file) == 0) return true;
    fprintf(stderr, "language_model: cannot write %s\n", path);
    return false;
}

static struct step_times fastest(struct step_times a, struct step_times b) {
    return (struct step_times){fmin(a.cross_entropy, b.cross_entropy), fmin(a.adam, b.adam), fmin(a.copies, b.copies),
                               fmin(a.whole, b.whole)};
}

/* The ranks agree on the loss and on whether any was interrupted: all stop after the same step.  guessed: NULL in a step. */
static bool agree(struct model *model, float *loss, bool *interrupted, struct guesses *guessed) {
    double sums[MODEL_SUMS] = {*loss, *interrupted};
    if (guessed != NULL) sums[2] = guessed->first, sums[3] = guessed->among_first, sums[4] = guessed->entropy;
    if (!model_sum(model, sums)) return false;
    *loss = (float)sums[0];
    *interrupted = sums[1] > 0;
    if (guessed != NULL) *guessed = (struct guesses){sums[2], sums[3], sums[4]};
    return true;
}

/* The loss, of this rank's rows; in a pipeline only the last rank has any. */
static bool classify(struct model *model, struct backend *backend, const struct batch *batch, bool gradient, float *loss) {
    *loss = 0;
    if (!pipeline_is_last(&model->pipeline)) return true;
    classifier_forward(model, backend->logits);
    if (!backend->cross_entropy(backend, batch->labels, gradient, loss)) return false;
    if (gradient) classifier_backward(model, backend->logits);
    return true;
}

static bool take_step(struct model *model, struct backend *backend, const struct training *training, struct batch *batch,
                      int step, float *loss, bool *interrupted) {
    double start = seconds_now();
    backend->times = (struct step_times){0};
    fill_batch(batch, model, training, 0, training->train_tokens, training->seed, (uint64_t)step);
    if (!look_step(training->looked_at, step)) return false;
    if (!model_forward(model, batch->tokens) || !classify(model, backend, batch, true, loss)) return false;
    *interrupted = *training->interrupted;
    if (!model_backward(model, batch->tokens) || !agree(model, loss, interrupted, NULL)) return false;
    if (!isfinite(*loss)) {
        fprintf(stderr, "language_model: the loss of step %d is %f\n", step, *loss);
        return false;
    }
    if (!backend->adam(backend, step, learning_rate(step, training->steps))) return false;
    backend->times.whole = seconds_now() - start;
    return true;
}

static bool evaluate(struct model *model, struct backend *backend, const struct training *training, struct batch *batch,
                     struct outcome *outcome) {
    struct guesses *sums = &outcome->guessed;
    outcome->guesses = backend->guesses;
    for (int i = 0; i < HELD_OUT_BATCHES; i++) {
        float loss = 0;
        bool interrupted = false;
        fill_batch(batch, model, training, training->train_tokens, training->text->encoded_count, ~training->seed,
                   (uint64_t)i);
        if (!model_forward(model, batch->tokens) || !classify(model, backend, batch, false, &loss)) return false;
        struct guesses guessed = backend->guessed;
        if (!agree(model, &loss, &interrupted, &guessed)) return false;
        outcome->held_out_loss += loss / HELD_OUT_BATCHES;
        *sums = (struct guesses){sums->first + guessed.first / HELD_OUT_BATCHES,
                                 sums->among_first + guessed.among_first / HELD_OUT_BATCHES,
                                 sums->entropy + guessed.entropy / HELD_OUT_BATCHES};
    }
    return true;
}

static bool add_up_bytes(struct model *model, struct exchange_totals *totals) {
    double sums[MODEL_SUMS] = {0};
    for (int purpose = 0; purpose < PURPOSES; purpose++) sums[purpose] = (double)totals->bytes[purpose];
    if (!model_sum(model, sums)) return false;
    for (int purpose = 0; purpose < PURPOSES; purpose++) totals->bytes[purpose] = (int64_t)sums[purpose];
    return true;
}

bool train(struct model *model, struct backend *backend, const struct training *training, struct outcome *outcome) {
    struct batch batch = {
        .tokens = allocate((size_t)model->rows * sizeof(int32_t)),
        .labels = allocate((size_t)model->rows * sizeof(int32_t)),
    };
    float *losses = allocate((size_t)training->steps * sizeof *losses);
    struct progress progress;
    *outcome = (struct outcome){0};
    progress_begin(&progress, training->steps, model->all_rows, training->is_silent);
    if (model->rank != NULL) model->rank->totals = (struct exchange_totals){0};
    double start = seconds_now();
    bool succeeded = true;
    while (succeeded && outcome->steps < training->steps && !outcome->interrupted) {
        float *loss = &losses[outcome->steps];
        succeeded = take_step(model, backend, training, &batch, outcome->steps + 1, loss, &outcome->interrupted);
        if (succeeded) {
            outcome->times = outcome->steps == 0 ? backend->times : fastest(outcome->times, backend->times);
            outcome->steps++;
            progress_step(&progress, outcome->steps, losses[outcome->steps - 1]);
        }
    }
    outcome->seconds = seconds_now() - start;
    outcome->tokens = outcome->steps * model->all_rows;
    if (model->rank != NULL) outcome->totals = model->rank->totals;
    progress_end(&progress);
    if (!training->is_silent) printf("  evaluating on text held out\n");
    fflush(stdout);
    outcome->loss = mean_of_last_tenth(losses, outcome->steps);
    succeeded = succeeded && look_step(training->looked_at, outcome->steps + 1) &&
                evaluate(model, backend, training, &batch, outcome) &&
                add_up_bytes(model, &outcome->totals);
    if (succeeded && training->curve != NULL) succeeded = write_curve(training->curve, losses, outcome->steps);
    free(batch.tokens);
    free(batch.labels);
    free(losses);
    return succeeded;
}
