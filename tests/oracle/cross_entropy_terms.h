/*
 * The largest term, in magnitude, of the sum that each output of a row of cross-entropy is: an error of a unit in the last place of
 * that term is no error of the arithmetic, however small the result.  In double, from the header's formulas.
 */
#ifndef ORACLE_CROSS_ENTROPY_TERMS_H
#define ORACLE_CROSS_ENTROPY_TERMS_H

#include <stdint.h>

#include "oracle/cross_entropy.h"

struct cross_entropy_terms {
    double loss, lse, log_prob, entropy;
};

/* The terms of a counted row with finite logits and, in grad [vocab], those of its gradient. */
struct cross_entropy_terms cross_entropy_largest_terms(const double *logits, int64_t vocab, int64_t label,
                                                       const struct cross_entropy_options *options, double *grad);

#endif
