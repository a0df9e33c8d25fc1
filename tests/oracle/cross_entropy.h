/*
 * Cross-entropy of one row in double (sums in long double), from the same rounded logits that the kernel sees, and how far a
 * kernel that computes in fp32 may be from it.
 */
#ifndef ORACLE_CROSS_ENTROPY_H
#define ORACLE_CROSS_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* What a row's label makes of the row. */
enum row_kind { ROW_COUNTED, ROW_IGNORED, ROW_BAD_LABEL };

enum row_kind cross_entropy_row_kind(int64_t label, int64_t ignore_index, int64_t vocab);

struct cross_entropy_exact {
    double loss;            /* +infinity: nothing but -infinity, or the label's logit is; NaN: NaN or +infinity in the row */
    double loss_tolerance;
    double largest;         /* logit */
    double largest_grad;    /* largest magnitude in the gradient */
    double gap;             /* from the label's logit down to the next one, where the label's is the largest; else 0 */
    bool infinite;          /* all logits are -infinity */
};

/* The loss and, unless grad is NULL, the gradient [vocab] of a counted row; scale multiplies the gradient. */
struct cross_entropy_exact cross_entropy_exact_row(const double *logits, int64_t vocab, int64_t label, double scale,
                                                   double *grad);

/*
 * How far fp32 arithmetic may be from an exact gradient element.  exponent is how far the exponentials' arguments that
 * decide about it are from 0: largest - logit, or the row's gap for the label's element.
 */
double cross_entropy_grad_tolerance(double exact, double exponent);

/* Whether a stored gradient element is the exact one, rounded once to dtype after fp32 arithmetic. */
bool cross_entropy_grad_is_close(quern_dtype dtype, double stored, double exact, double exponent,
                                 const struct cross_entropy_exact *row);

#endif
