/* Computes the terms of a row of cross-entropy.  cross_entropy_terms.h documents the function. */
#include "oracle/cross_entropy_terms.h"

#include <math.h>

static double weight(const struct cross_entropy_options *options, int64_t column) {
    return options->class_weights ? options->class_weights[column] : 1;
}

static double largest(double a, double b) { return fmax(fabs(a), fabs(b)); }

/* d cap * tanh(x / cap) / d x */
static double slope(double logit, double cap) {
    if (cap == 0) return 1;
    const double t = tanh(logit / cap);
    return 1 - t * t;
}

struct cross_entropy_terms cross_entropy_largest_terms(const double *logits, int64_t vocab, int64_t label,
                                                       const struct cross_entropy_options *options, double *grad) {
    double top = (double)-INFINITY, sum = 0, mean = 0, weights = 0, weighted = 0;
    for (int64_t j = 0; j < vocab; j++) top = fmax(top, cross_entropy_capped(logits[j], options->softcap));
    for (int64_t j = 0; j < vocab; j++) sum += exp(cross_entropy_capped(logits[j], options->softcap) - top);
    const double lse = top + log(sum);
    for (int64_t j = 0; j < vocab; j++) {
        const double y = cross_entropy_capped(logits[j], options->softcap);
        mean += exp(y - lse) * y;
        weights += weight(options, j);
        weighted += weight(options, j) * y;
    }
    const double own = (1 - options->label_smoothing) * weight(options, label), share = options->label_smoothing / (double)vocab;
    const double label_y = cross_entropy_capped(logits[label], options->softcap), label_terms = largest(lse, label_y);
    const double factor = own + share * weights + 2 * options->z_loss * fabs(lse);
    for (int64_t j = 0; j < vocab; j++) {
        const double p = exp(cross_entropy_capped(logits[j], options->softcap) - lse);
        grad[j] = slope(logits[j], options->softcap) *
                  fmax(p * factor, fmax(j == label ? own : 0, share * weight(options, j)));
    }
    return (struct cross_entropy_terms){
        .loss = fmax(own * label_terms, fmax(share * largest(lse * weights, weighted), options->z_loss * lse * lse)),
        .lse = largest(top, lse - top), .log_prob = label_terms, .entropy = largest(lse, mean)};
}
