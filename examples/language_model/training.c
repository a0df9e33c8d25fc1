#include "training.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "clock.h"
#include "memory.h"
#include "model.h"
#include "progress.h"
#include "random.h"
#include "tokenizer.h"

enum { HELD_OUT_BATCHES = 8 };

static const double PEAK_LR = 3e-3;

/* The tokens of one step and, shifted by one, what each should be followed by. */
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

/* Sequences from random places of tokens [first, end), chosen by seed and number alone. */
static void fill_batch(struct batch *batch, const struct model *model, const struct training *training, int64_t first,
                       int64_t end, uint64_t seed, uint64_t number) {
    int length = model->shape.context;
    for (int s = 0; s < model->shape.batch; s++) {
        uint64_t bits = random_bits(seed, number * (uint64_t)model->shape.batch + (uint64_t)s);
        const int32_t *from = training->text->encoded + first + (int64_t)(bits % (uint64_t)(end - first - length));
        for (int i = 0; i < length; i++) {
            batch->tokens[s * length + i] = from[i];
            batch->labels[s * length + i] = from[i + 1];
        }
    }
}

/* What is kept of every step. */
struct record {
    float loss;
    struct step_times times;
};

static double mean_of_last_tenth(const struct record *records, int count) {
    int tenth = (count + 9) / 10;
    double sum = 0;
    for (int i = count - tenth; i < count; i++) sum += records[i].loss;
    return count > 0 ? sum / tenth : NAN;
}

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The time that a tenth of the steps undercut, of one member of their times, given by its offset. */
static double lower_decile(const struct record *records, int count, size_t member) {
    double *values = allocate((size_t)count * sizeof *values);
    for (int i = 0; i < count; i++) memcpy(&values[i], (const char *)&records[i].times + member, sizeof *values);
    qsort(values, (size_t)count, sizeof *values, ascending);
    double result = count > 0 ? values[count / 10] : 0;
    free(values);
    return result;
}

static struct step_times fast_times(const struct record *records, int count) {
    return (struct step_times){
        .cross_entropy = lower_decile(records, count, offsetof(struct step_times, cross_entropy)),
        .adam = lower_decile(records, count, offsetof(struct step_times, adam)),
        .copies = lower_decile(records, count, offsetof(struct step_times, copies)),
        .whole = lower_decile(records, count, offsetof(struct step_times, whole)),
    };
}

static bool take_step(struct model *model, struct backend *backend, const struct training *training, struct batch *batch,
                      int step, struct record *record) {
    double start = seconds_now();
    backend->times = (struct step_times){0};
    fill_batch(batch, model, training, 0, training->train_tokens, training->seed, (uint64_t)step);
    model_forward(model, batch->tokens);
    classifier_forward(model, backend->logits);
    if (!backend->cross_entropy(backend, batch->labels, true, &record->loss)) return false;
    classifier_backward(model, backend->logits);
    model_backward(model, batch->tokens);
    if (!isfinite(record->loss)) {
        fprintf(stderr, "language_model: the loss of step %d is %f\n", step, record->loss);
        return false;
    }
    if (!backend->adam(backend, step, learning_rate(step, training->steps))) return false;
    record->times = backend->times;
    record->times.whole = seconds_now() - start;
    return true;
}

static bool evaluate(struct model *model, struct backend *backend, const struct training *training, struct batch *batch,
                     double *mean) {
    *mean = 0;
    for (int i = 0; i < HELD_OUT_BATCHES; i++) {
        float loss = 0;
        fill_batch(batch, model, training, training->train_tokens, training->text->encoded_count, ~training->seed,
                   (uint64_t)i);
        model_forward(model, batch->tokens);
        classifier_forward(model, backend->logits);
        if (!backend->cross_entropy(backend, batch->labels, false, &loss)) return false;
        *mean += loss / HELD_OUT_BATCHES;
    }
    return true;
}

bool train(struct model *model, struct backend *backend, const struct training *training, struct outcome *outcome) {
    struct batch batch = {
        .tokens = allocate((size_t)model->rows * sizeof(int32_t)),
        .labels = allocate((size_t)model->rows * sizeof(int32_t)),
    };
    struct record *records = allocate((size_t)training->steps * sizeof *records);
    struct progress progress;
    *outcome = (struct outcome){0};
    progress_begin(&progress, training->steps, model->rows);
    double start = seconds_now();
    bool succeeded = true;
    while (succeeded && outcome->steps < training->steps && !*training->interrupted) {
        succeeded = take_step(model, backend, training, &batch, outcome->steps + 1, &records[outcome->steps]);
        if (succeeded) {
            outcome->steps++;
            progress_step(&progress, outcome->steps, records[outcome->steps - 1].loss);
        }
    }
    outcome->seconds = seconds_now() - start;
    progress_end(&progress);
    outcome->loss = mean_of_last_tenth(records, outcome->steps);
    outcome->times = fast_times(records, outcome->steps);
    succeeded = succeeded && evaluate(model, backend, training, &batch, &outcome->held_out_loss);
    free(batch.tokens);
    free(batch.labels);
    free(records);
    return succeeded;
}
