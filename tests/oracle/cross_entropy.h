/*
 * Cross-entropy of one row in double (sums in long double), from the rounded logits that the kernel reads, and the possible error
 * of a kernel that computes in fp32.
 *
 * Terms with factor 0 are skipped, even if infinite: a masked column (-infinity) of weight 0, the label's term with full
 * smoothing.
 */
#ifndef ORACLE_CROSS_ENTROPY_H
#define ORACLE_CROSS_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* The kinds of rows, by their labels. */
enum row_kind { ROW_COUNTED, ROW_IGNORED, ROW_BAD_LABEL };

enum row_kind cross_entropy_row_kind(int64_t label, int64_t ignore_index, int64_t vocab);

/* The options of quern_cross_entropy_args; all zero: none. */
struct cross_entropy_options {
    double label_smoothing, z_loss, softcap;
    const double *class_weights;  /* [vocab] or NULL */
    double inverse_temperature;   /* of the row; 0: 1, NaN: the row is NaN */
};

/* What multiplies the gradients of a row's outputs. */
struct cross_entropy_upstream {
    double loss, log_prob, entropy;
};

/* A value and the allowed error of a kernel's value, before the latter is rounded to its type. */
struct cross_entropy_value {
    double exact, tolerance;
};

struct cross_entropy_exact {
    struct cross_entropy_value loss, lse, log_prob, entropy;
    double largest;         /* y */
    int64_t argmax;         /* the first column with the largest y; -1: nothing but -infinity, or NaN or +infinity */
    double largest_grad;    /* largest magnitude in the gradient */
    double grad_sum;        /* what the gradient sums to, by invariance: that of log_prob and entropy to 0, that of the loss to
                               2 z_loss lse; NaN with a softcap */
    bool infinite;          /* every y is -infinity */
};

/* The outputs and, unless grad is NULL, the gradient [vocab] of a counted row. */
struct cross_entropy_exact cross_entropy_exact_row(const double *logits, int64_t vocab, int64_t label,
                                                   const struct cross_entropy_options *options,
                                                   struct cross_entropy_upstream upstream, struct cross_entropy_value *grad);

/* The y of a logit. */
double cross_entropy_y(double logit, const struct cross_entropy_options *options);

/* The logit after the softcap (0: none). */
double cross_entropy_capped(double logit, double softcap);

/* Whether a column may be reported as the largest: it is, or fp32 cannot distinguish its capped logit from the largest one. */
bool cross_entropy_argmax_is_close(const double *logits, int64_t vocab, int64_t column,
                                   const struct cross_entropy_options *options, const struct cross_entropy_exact *row);

/* Whether a stored output is the exact one, within tolerance and rounded once to fp32. */
bool cross_entropy_output_is_close(double stored, struct cross_entropy_value value);

/* Whether a stored gradient element is the exact one, within tolerance and rounded once to dtype after fp32 arithmetic. */
bool cross_entropy_grad_is_close(quern_dtype dtype, double stored, struct cross_entropy_value grad,
                                 const struct cross_entropy_exact *row);

#endif
