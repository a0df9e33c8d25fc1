/*
 * The two operations that the demo compares, behind one interface: the loss with the gradient of the logits, and the
 * optimizer.  Quern computes them in bf16 on any device, plain loops in fp32 on the CPU.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "classifier.h"
#include "quern.h"

struct device;
struct model;
struct thread_pool;

/* AdamW's constants, the same for both. */
#define ADAM_BETA1 0.9
#define ADAM_EPSILON 1e-8
#define ADAM_WEIGHT_DECAY 0.1

/* The choices of a run. */
struct optimizer {
    double beta2;
    quern_dtype moments;         /* of m and v: F32 or BF16; plain loops use F32 */
    quern_rounding v_rounding;
};

/* Seconds of one step.  Copies: between host and device, 0 when they share their memory. */
struct step_times {
    double cross_entropy, adam, copies, whole;
};

/* How a model guesses the next tokens of a text: parts of all rows of all ranks, or their mean. */
struct guesses {
    double first, among_first;   /* rows whose label has the largest logit, or one of the largest GUESSES */
    double entropy;              /* of the distribution */
};
enum { GUESSES = 5 };

struct backend {
    char name[224];
    struct logits logits;
    struct step_times times;  /* of the current step: each operation sets its own time and adds its copies */
    bool guesses;             /* each loss without a gradient also sets: */
    struct guesses guessed;
    int64_t moment_bytes;                        /* m and v */
    int64_t parameter_bytes;                     /* the parameters with their master copy */

    /*
     * The part of these rows in the mean loss over the rows of all ranks, for logits against labels [rows]; with `gradient`, the
     * logits become their gradient.
     */
    bool (*cross_entropy)(struct backend *backend, const int32_t *labels, bool gradient, float *loss);
    /* Computes the next parameters from the model's gradients; step counts from 1. */
    bool (*adam)(struct backend *backend, int64_t step, double lr);
    void (*destroy)(struct backend *backend);
};

/* On a device that is prepared for BACKEND_OPERATIONS and outlives it; NULL after a message on stderr if memory is short. */
struct backend *quern_backend(struct model *model, struct thread_pool *pool, struct device *device, struct optimizer optimizer,
                              uint64_t seed);
#define BACKEND_OPERATIONS (QUERN_CROSS_ENTROPY | QUERN_ADAM)

/* For a model on a single rank. */
struct backend *plain_backend(struct model *model, struct thread_pool *pool, struct optimizer optimizer);

#endif
