/*
 * The classifier: logits [rows, vocab] = hidden transpose(embedding), and back.  Its logits are fp32, or bf16 at half the
 * memory; the products themselves are always fp32.
 */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include <stdbool.h>
#include <stdint.h>

struct model;

struct logits {
    bool is_bf16;
    void *data;  /* the logits; after the loss, their gradient */
};

static inline int64_t logits_bytes(int64_t rows, int64_t vocab, bool is_bf16) {
    return rows * vocab * (is_bf16 ? 2 : 4);
}

/* The model's hidden state to logits. */
void classifier_forward(struct model *model, struct logits logits);

/* The gradient of the logits to hidden_grad and to the embedding's gradient, both overwritten. */
void classifier_backward(struct model *model, struct logits gradient);

/* The fp32 logits [vocab] of one row. */
void classifier_row(struct model *model, int64_t row, float *logits);

#endif
