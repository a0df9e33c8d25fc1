/*
 * A small transformer (pre-norm, causal attention, squared ReLU, the embedding shared with the classifier) with its forward
 * and backward pass.  It ends at the last hidden state: the classifier and the loss are classifier.h's and the backend's.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

struct thread_pool;

struct model_shape {
    int vocab, width, layers, heads;
    int context;  /* tokens per sequence */
    int batch;    /* sequences per step */
};

/* The parameters of one tensor inside the model's arrays. */
struct tensor {
    int64_t offset, count;
    double deviation;  /* of its initial values */
};

struct block {
    struct tensor qkv, output, up, down;
    /* What the forward pass keeps for the way back: */
    float *in, *in_norm, *in_inverse_rms, *qkv_out, *weights, *attended;
    float *middle, *middle_norm, *middle_inverse_rms, *up_out, *activated;
};

struct model {
    struct model_shape shape;
    struct thread_pool *pool;
    int64_t rows;              /* tokens of one step */

    int tensor_count;
    struct tensor *tensors;    /* all of them: the embedding, the positions, four per block */
    int64_t parameter_count;
    float *parameters;         /* what the matrix products read */
    float *gradients;          /* as long */

    struct block *blocks;
    float *last, *hidden, *last_inverse_rms;               /* the last residual and its normalisation */
    float *hidden_grad;                                    /* filled by the classifier */
    float *residual_grad, *row_grad, *wide_grad, *weights_grad;  /* scratch of the backward pass */
};

void model_create(struct model *model, struct model_shape shape, struct thread_pool *pool, uint64_t seed);
void model_free(struct model *model);

/* tokens [rows] to hidden [rows, width]. */
void model_forward(struct model *model, const int32_t *tokens);

/* hidden_grad to gradients; the classifier's share of the embedding's gradient is already there and is added to. */
void model_backward(struct model *model, const int32_t *tokens);

static inline struct tensor *model_embedding(struct model *model) {
    return &model->tensors[0];
}

#endif
