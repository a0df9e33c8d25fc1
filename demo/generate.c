/* Continues a held-out text with tokens drawn from the model.  Called by run.c after the training. */
#include "generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classifier.h"
#include "memory.h"
#include "model.h"
#include "random.h"
#include "tokenizer.h"

enum { LINE_WIDTH = 96 };

static const double TEMPERATURE = 0.7;

/* A token drawn from the softmax of logits / TEMPERATURE. */
static int32_t draw(const float *logits, int32_t vocab, double uniform) {
    double maximum = logits[0], sum = 0;
    for (int32_t i = 1; i < vocab; i++) {
        if (logits[i] > maximum) maximum = logits[i];  /* gcc 12 for aarch64 fails to compile fmax here */
    }
    for (int32_t i = 0; i < vocab; i++) sum += exp((logits[i] - maximum) / TEMPERATURE);
    double left = uniform * sum;
    for (int32_t i = 0; i < vocab; i++) {
        left -= exp((logits[i] - maximum) / TEMPERATURE);
        if (left <= 0) return i;
    }
    return vocab - 1;
}

/* The token after `written`.  The model sees the last tokens that fit its context; later rows cannot affect earlier ones. */
static bool next_token(struct model *model, const int32_t *written, int count, int32_t *window, float *logits,
                       double uniform, int32_t *next) {
    int seen = count < model->shape.context ? count : model->shape.context;
    memcpy(window, written + count - seen, (size_t)seen * sizeof *window);
    if (!model_forward(model, window)) return false;
    classifier_row(model, seen - 1, logits);
    *next = draw(logits, model->shape.vocab, uniform);
    return true;
}

static void print_wrapped(const struct tokenizer *text, const int32_t *tokens, int count, int *column) {
    for (int i = 0; i < count; i++) {
        struct token token = text->tokens[tokens[i]];
        for (int32_t j = 0; j < token.length; j++) {
            char c = token.bytes[j];
            bool breaks = c == '\n' || (c == ' ' && *column >= LINE_WIDTH - 10);
            if (breaks) printf("\n    ");
            else putchar(c >= ' ' && c <= '~' ? c : '?');  /* an untrained model also draws bytes that are not text */
            *column = breaks ? 0 : *column + 1;
        }
    }
}

static void print_text(const struct tokenizer *text, const int32_t *written, int prompt_count, int count) {
    int column = 0;
    printf("  The model continues the text (temperature %.1f):\n    ", TEMPERATURE);
    print_wrapped(text, written, prompt_count, &column);
    printf(" |");
    print_wrapped(text, written + prompt_count, count, &column);
    putchar('\n');
}

bool generate(struct model *model, const struct tokenizer *text, int64_t first, int prompt_count, int count, uint64_t seed) {
    int32_t *written = allocate((size_t)(prompt_count + count) * sizeof *written);
    int32_t *window = allocate((size_t)model->rows * sizeof *window);
    float *logits = allocate((size_t)model->shape.vocab * sizeof *logits);
    struct model one_sequence = *model;  /* the same parameters and scratch, the first sequence only */
    one_sequence.sequences = 1;
    one_sequence.rows = model->shape.context;

    memcpy(written, text->encoded + first, (size_t)prompt_count * sizeof *written);
    bool succeeded = true;
    for (int i = prompt_count; i < prompt_count + count && succeeded; i++)
        succeeded = next_token(&one_sequence, written, i, window, logits, random_uniform(seed, (uint64_t)i), &written[i]);
    if (succeeded && (model->rank == NULL || model->rank->rank == 0)) print_text(text, written, prompt_count, count);
    free(written);
    free(window);
    free(logits);
    return succeeded;
}
