/*
 * A small transformer (pre-norm, causal attention, squared ReLU, the embedding shared with the classifier) with its forward and
 * backward pass.  It ends at the last hidden state: classifier.h has the classifier, the backend has the loss.
 *
 * With experts, each block has a mixture of experts in place of its MLP, and the model may be spread over ranks: each rank has
 * its part of a step's sequences and of every block's experts, and a copy of everything else (the shared parameters).  With tensor
 * parallelism it has a part of every MLP instead of experts: see tensor_parallel.h.  Else ranks are a pipeline: see pipeline.h.
 */
#ifndef MODEL_H
#define MODEL_H

#include "collectives.h"
#include "pipeline.h"
#include "tensor_parallel.h"

struct mixture;
struct thread_pool;

struct model_shape {
    int vocab, width, layers, heads;
    int context;  /* tokens per sequence */
    int batch;    /* sequences per step, of all ranks */
    int experts;  /* per block; 0: one dense MLP instead */
    bool tensor_parallel;  /* if there are several ranks, each has a part of every MLP */
};

/* Positions in the list of tensors; those of each block follow, then two per expert. */
enum { EMBEDDING, POSITIONS, FIRST_OF_BLOCKS };

/* The parameters of one tensor inside the model's arrays. */
struct tensor {
    int64_t offset, count;  /* count 0: on another rank */
    int64_t first_random;   /* which random numbers its initial values are, wherever it lives */
    int64_t row, random_row;  /* the values of a row, and the random numbers: more if other ranks have parts of the row */
    double deviation;       /* of its initial values */
};

struct block {
    struct tensor qkv, output;
    struct tensor up, down;    /* the dense MLP, */
    struct tensor router;      /* or the mixture of experts */
    struct mixture *mixture;
    /* Kept by the forward pass for the backward pass: */
    float *in, *in_norm, *in_inverse_rms, *qkv_out, *weights, *attended;
    float *middle, *middle_norm, *middle_inverse_rms, *up_out, *activated;
};

struct model {
    struct model_shape shape;
    struct thread_pool *pool;
    struct rank *rank;             /* NULL: of a single one */
    struct pipeline pipeline;      /* all blocks, unless the ranks have different layers */
    struct tensor_parallel parallel;
    bool has_replicas;             /* the shared parameters are on all ranks, which have different sequences */
    int sequences, first_sequence; /* this rank's of a step */
    int64_t rows, all_rows;        /* tokens of one step: of this rank, of all */

    int tensor_count;
    struct tensor *tensors;        /* indexed from EMBEDDING on */
    int64_t parameter_count;
    int64_t shared_count;          /* leading parameters that several ranks have: all but experts and parts of MLPs; in a pipeline
                                      the embedding */
    int64_t random_count;
    float *parameters;             /* read by the matrix products */
    float *gradients;              /* as long */
    struct mirrored gradients_memory;
    struct collective gradient_sum;
    struct gather sums;            /* of a few numbers */

    struct block *blocks;
    float *last, *hidden, *last_inverse_rms;               /* the last residual and its normalisation */
    float *hidden_grad;                                    /* filled by the classifier */
    float *residual_grad, *row_grad, *wide_grad, *weights_grad;  /* scratch of the backward pass */
};

/*
 * All functions below are collective over the ranks and return false after a message on stderr on failure; on a single rank none
 * can fail.  The same seed gives the same model for any number of ranks.  model_free also frees what a failed model_create
 * leaves.
 */
bool model_create(struct model *model, struct model_shape shape, struct thread_pool *pool, struct rank *rank, uint64_t seed);
void model_free(struct model *model);

/* From tokens [rows] to hidden [rows, width], which the last rank of a pipeline has. */
bool model_forward(struct model *model, const int32_t *tokens);

/*
 * From hidden_grad to gradients.  The classifier's part of the embedding's gradient is already in place and is added to.  The
 * gradients of the shared parameters become sums over all ranks' tokens; those of experts and parts of MLPs are such sums already.
 */
bool model_backward(struct model *model, const int32_t *tokens);

enum { MODEL_SUMS = PURPOSES };

/* values[i] becomes its sum over the ranks. */
bool model_sum(struct model *model, double values[MODEL_SUMS]);

/* Whether the shared parameters have the same bits on all ranks; if not, false after a message on stderr. */
bool model_is_consistent(struct model *model);

#endif
