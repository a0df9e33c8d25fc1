#include "oracle/cross_entropy.h"

#include <math.h>

#include "oracle/dtype.h"

/* An fp32 result whose inputs are exact: a few roundings of 2^-24 each. */
#define ARITHMETIC_TOLERANCE 1e-6

/* exp(t) turns the rounding of t = logit - largest into a relative error: half an ulp of t, doubled. */
#define EXPONENT_TOLERANCE 1.2e-7

enum row_kind cross_entropy_row_kind(int64_t label, int64_t ignore_index, int64_t vocab) {
    if (label == ignore_index) return ROW_IGNORED;
    return label < 0 || label >= vocab ? ROW_BAD_LABEL : ROW_COUNTED;
}

static double max_of(const double *logits, int64_t vocab, int64_t left_out) {
    double largest = -INFINITY;
    for (int64_t j = 0; j < vocab; j++)
        if (j != left_out && (logits[j] > largest || isnan(logits[j]))) largest = logits[j];
    return largest;
}

static bool has_nan_or_positive_infinity(const double *logits, int64_t vocab) {
    for (int64_t j = 0; j < vocab; j++)
        if (isnan(logits[j]) || logits[j] == (double)INFINITY) return true;
    return false;
}

static void fill(double *grad, int64_t vocab, double value) {
    for (int64_t j = 0; grad && j < vocab; j++) grad[j] = value;
}

struct cross_entropy_exact cross_entropy_exact_row(const double *logits, int64_t vocab, int64_t label, double scale,
                                                   double *grad) {
    struct cross_entropy_exact row = {.loss = NAN, .largest = NAN};
    if (has_nan_or_positive_infinity(logits, vocab)) {
        fill(grad, vocab, NAN);
        return row;
    }
    row.largest = max_of(logits, vocab, -1);
    if (row.largest == (double)-INFINITY) {
        row.infinite = true;
        row.loss = INFINITY;
        fill(grad, vocab, 0);
        return row;
    }
    long double others = 0;
    for (int64_t j = 0; j < vocab; j++)
        if (j != label) others += (long double)exp(logits[j] - row.largest);
    double own = exp(logits[label] - row.largest);
    double sum = (double)(others + (long double)own);
    if (logits[label] == row.largest) {
        double next = max_of(logits, vocab, label);
        row.gap = isfinite(next) ? row.largest - next : 0;
        row.loss = log1p((double)others);
        row.loss_tolerance = row.loss * (ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * row.gap);
    } else {
        row.loss = log(sum) - (logits[label] - row.largest);
        row.loss_tolerance = row.loss * ARITHMETIC_TOLERANCE;
    }
    for (int64_t j = 0; grad && j < vocab; j++) {
        grad[j] = j == label ? -(double)(others / (long double)sum) * scale : exp(logits[j] - row.largest) / sum * scale;
        row.largest_grad = fmax(row.largest_grad, fabs(grad[j]));
    }
    return row;
}

double cross_entropy_grad_tolerance(double exact, double exponent) {
    return fabs(exact) * (ARITHMETIC_TOLERANCE + (isfinite(exponent) ? EXPONENT_TOLERANCE * exponent : 0));
}

bool cross_entropy_grad_is_close(quern_dtype dtype, double stored, double exact, double exponent,
                                 const struct cross_entropy_exact *row) {
    if (isnan(exact)) return isnan(stored);
    if (isnan(stored)) return false;
    double tolerance = cross_entropy_grad_tolerance(exact, exponent);
    if (dtype == QUERN_F32)
        return fabs(stored - exact) <= fmax(fmax(tolerance, dtype_ulp(dtype, exact)), 4e-7 * row->largest_grad);
    /*
     * Rounding is monotonic: one rounding of a value near the exact one lies between the roundings of the bounds.  Twice the
     * tolerance of fp32, and still far below an ulp: a square of a root rounded to fp32 may be off by so much.
     */
    tolerance *= 2;
    return stored >= dtype_round(dtype, exact - tolerance) && stored <= dtype_round(dtype, exact + tolerance);
}
