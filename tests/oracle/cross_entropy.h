/*
 * Cross-entropy of one row in double (sums in long double), from the same rounded logits that the kernel sees, and how far a
 * kernel that computes in fp32 may be from it.
 *
 * What a factor of 0 multiplies has no part in the loss, be it infinite: a masked column (-infinity) of weight 0, the label's
 * term when all is smoothed away.
 */
#ifndef ORACLE_CROSS_ENTROPY_H
#define ORACLE_CROSS_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* What a row's label makes of the row. */
enum row_kind { ROW_COUNTED, ROW_IGNORED, ROW_BAD_LABEL };

enum row_kind cross_entropy_row_kind(int64_t label, int64_t ignore_index, int64_t vocab);

/* The options of quern_cross_entropy_args; all zero: none. */
struct cross_entropy_options {
    double label_smoothing, z_loss, softcap;
    const double *class_weights;  /* [vocab] or NULL */
};

/* A value and how far a kernel's may be from it, before it is rounded to its type. */
struct cross_entropy_value {
    double exact, tolerance;
};

struct cross_entropy_exact {
    struct cross_entropy_value loss, lse, log_prob, entropy;
    double largest;         /* y */
    int64_t argmax;         /* the first column with the largest y; -1: nothing but -infinity, or NaN or +infinity */
    double largest_grad;    /* largest magnitude in the gradient */
    double grad_sum;        /* what the gradient of y sums to, by the loss's own invariance: 2 z_loss lse; NaN with a softcap */
    bool infinite;          /* every y is -infinity */
};

/* The outputs and, unless grad is NULL, the gradient [vocab] of a counted row; scale multiplies the gradient. */
struct cross_entropy_exact cross_entropy_exact_row(const double *logits, int64_t vocab, int64_t label,
                                                   const struct cross_entropy_options *options, double scale,
                                                   struct cross_entropy_value *grad);

/* The logit after the softcap (0: none). */
double cross_entropy_capped(double logit, double softcap);

/* Whether a column may be called the largest: it is, or fp32 cannot tell its capped logit from the largest one. */
bool cross_entropy_argmax_is_close(const double *logits, int64_t vocab, int64_t column,
                                   const struct cross_entropy_options *options, const struct cross_entropy_exact *row);

/* Whether a stored output, rounded once to fp32, is the exact one. */
bool cross_entropy_output_is_close(double stored, struct cross_entropy_value value);

/* Whether a stored gradient element is the exact one, rounded once to dtype after fp32 arithmetic. */
bool cross_entropy_grad_is_close(quern_dtype dtype, double stored, struct cross_entropy_value grad,
                                 const struct cross_entropy_exact *row);

#endif
