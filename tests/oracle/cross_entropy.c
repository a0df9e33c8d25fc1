/* Computes cross-entropy of one row with error bounds.  cross_entropy.h documents the functions. */
#include "oracle/cross_entropy.h"

#include <math.h>
#include <stdlib.h>

#include "oracle/dtype.h"

/* An fp32 result whose inputs are exact: a few roundings of 2^-24 each. */
#define ARITHMETIC_TOLERANCE 1e-6

/* exp(t) turns the rounding of t = y - largest into a relative error: half an ulp of t, doubled. */
#define EXPONENT_TOLERANCE 1.2e-7

/*
 * A capped logit is a quotient, a hyperbolic tangent good to two roundings, and a product: four halves of an fp32 ulp.  A
 * temperature alone is fewer: a product, and log2(e) times it.
 */
#define SOFTCAP_TOLERANCE 2.4e-7

enum row_kind cross_entropy_row_kind(int64_t label, int64_t ignore_index, int64_t vocab) {
    if (label == ignore_index) return ROW_IGNORED;
    return label < 0 || label >= vocab ? ROW_BAD_LABEL : ROW_COUNTED;
}

double cross_entropy_capped(double logit, double softcap) { return softcap != 0 ? softcap * tanh(logit / softcap) : logit; }

static double inverse_temperature(const struct cross_entropy_options *options) {
    return options->inverse_temperature == 0 ? 1 : options->inverse_temperature;
}

double cross_entropy_y(double logit, const struct cross_entropy_options *options) {
    return inverse_temperature(options) * cross_entropy_capped(logit, options->softcap);
}

/* Whether y is another number than the logit. */
static bool is_rounded(const struct cross_entropy_options *options) {
    return options->softcap != 0 || inverse_temperature(options) != 1;
}

/* A product in which 0 cancels even infinities and NaN. */
static double part(double factor, double value) { return factor == 0 ? 0 : factor * value; }

/* ---- the quantities of a row after a pass over its logits ---- */

struct row {
    const struct cross_entropy_options *options;
    const double *x;
    double *y;
    int64_t vocab, label;
    int64_t argmax;
    double largest;
    double gap;                /* from the label's y down to the next one, where the label's is the largest; else 0 */
    double others, sum;        /* of exp(y - largest): without and with the label's column */
    double log_sum;            /* of that sum */
    double log_prob;           /* of the label */
    double weights, weight_magnitudes;
    double smoothed;           /* sum of w * -log p: every term is positive where the weights are */
    double smoothed_magnitude;
    double moment, spread;     /* sums of p * (largest - y) and p * (largest - y)^2 */
    double mean_magnitude;     /* sum of p * |y|: what a capped logit's error does to the normaliser */
    double others_magnitude;   /* the same over the columns but the label's, by their own sum */
    double weighted_magnitude; /* sum of |w| * |y| */
    double surprise_magnitude; /* sum of p * -log p * |y| */
};

static double weight(const struct row *row, int64_t column) {
    return row->options->class_weights ? row->options->class_weights[column] : 1;
}

static double exponential(const struct row *row, int64_t column) { return exp(row->y[column] - row->largest); }

/* -log p of a column; the label's own is computed from the others where it is the largest. */
static double surprise(const struct row *row, int64_t column) {
    return column == row->label ? -row->log_prob : row->log_sum - (row->y[column] - row->largest);
}

/* Computes y and its maximum; false if a NaN or +infinity makes the row NaN. */
static bool cap(struct row *row) {
    row->largest = (double)-INFINITY;
    row->argmax = -1;
    for (int64_t j = 0; j < row->vocab; j++) {
        row->y[j] = cross_entropy_y(row->x[j], row->options);
        if (isnan(row->y[j]) || row->y[j] == (double)INFINITY) return false;
        if (row->y[j] > row->largest) row->largest = row->y[j], row->argmax = j;
    }
    return true;
}

static void sum_exponentials(struct row *row) {
    long double others = 0;
    double next = (double)-INFINITY, own = exponential(row, row->label);
    for (int64_t j = 0; j < row->vocab; j++) {
        if (j == row->label) continue;
        others += (long double)exponential(row, j);
        next = fmax(next, row->y[j]);
    }
    const bool is_largest = row->y[row->label] == row->largest;
    row->gap = is_largest && isfinite(next) ? row->largest - next : 0;
    row->others = (double)others;
    row->sum = (double)(others + (long double)own);
    row->log_sum = is_largest ? log1p(row->others) : log(row->sum);
    row->log_prob = is_largest ? -row->log_sum : row->y[row->label] - row->largest - row->log_sum;
}

static void sum_terms(struct row *row) {
    long double smoothed = 0, weights = 0, moment = 0;
    for (int64_t j = 0; j < row->vocab; j++) {
        const double w = weight(row, j), p = exponential(row, j) / row->sum, down = row->largest - row->y[j];
        const double magnitude = is_rounded(row->options) ? fabs(row->y[j]) : 0;
        weights += (long double)w;
        row->weight_magnitudes += fabs(w);
        smoothed += (long double)part(w, surprise(row, j));
        row->smoothed_magnitude += part(fabs(w), surprise(row, j));
        moment += (long double)part(p, down);
        row->spread += part(p, down * down);
        row->mean_magnitude += part(p, magnitude);
        if (j != row->label && row->others > 0) row->others_magnitude += part(exponential(row, j) / row->others, magnitude);
        row->weighted_magnitude += fabs(w) * magnitude;
        row->surprise_magnitude += part(p, surprise(row, j) * magnitude);
    }
    row->weights = (double)weights;
    row->smoothed = (double)smoothed;
    row->moment = (double)moment;
}

/* ---- outputs ---- */

/*
 * The sum's relative error becomes an absolute error of its logarithm; the largest logit is added exactly and the result rounded
 * once.
 */
static struct cross_entropy_value lse_of(const struct row *row) {
    const double lse = row->largest + row->log_sum;
    return (struct cross_entropy_value){
        lse, EXPONENT_TOLERANCE * fabs(lse) + ARITHMETIC_TOLERANCE * fmax(1, row->log_sum)
                 + SOFTCAP_TOLERANCE * row->mean_magnitude};
}

/*
 * If the label is the largest, this is -log1p of the other columns' sum and keeps its relative error, however small it is;
 * otherwise it is at least log 2 and consists of two terms of one sign.
 */
static struct cross_entropy_value log_prob_of(const struct row *row) {
    const double magnitude = fabs(row->log_prob), y = is_rounded(row->options) ? fabs(row->y[row->label]) : 0;
    if (row->y[row->label] < row->largest)
        return (struct cross_entropy_value){row->log_prob, ARITHMETIC_TOLERANCE * magnitude
                                                               + SOFTCAP_TOLERANCE * (y + row->mean_magnitude)};
    return (struct cross_entropy_value){
        row->log_prob, (ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * row->gap) * magnitude
                           + SOFTCAP_TOLERANCE * row->others / row->sum * (y + row->others_magnitude)};
}

/*
 * log(sum) + sum of p * (largest - y): all terms are positive.  The error of each p is that of its exponent, its own factor; that
 * of the sum is relative to the entropy if the label is the largest, else absolute.  An error of y changes it by p * (-log p -
 * entropy).
 */
static struct cross_entropy_value entropy_of(const struct row *row) {
    const double entropy = row->log_sum + row->moment;
    const bool is_largest = row->y[row->label] == row->largest;
    return (struct cross_entropy_value){
        entropy, ARITHMETIC_TOLERANCE * (is_largest ? 2 * entropy : 1 + entropy) + EXPONENT_TOLERANCE * row->spread
                     + SOFTCAP_TOLERANCE * (row->surprise_magnitude + entropy * row->mean_magnitude)};
}

/* The three terms of the loss, each with the error of its operands. */
static struct cross_entropy_value loss_of(const struct row *row, const struct cross_entropy_exact *exact) {
    const struct cross_entropy_options *options = row->options;
    const double own = (1 - options->label_smoothing) * weight(row, row->label), z = options->z_loss;
    const double share = options->label_smoothing / (double)row->vocab, lse = exact->lse.exact;
    const double smoothed = ARITHMETIC_TOLERANCE * (row->smoothed_magnitude + row->weight_magnitudes)
                          + SOFTCAP_TOLERANCE * (row->weight_magnitudes * row->mean_magnitude + row->weighted_magnitude);
    return (struct cross_entropy_value){
        part(own, -row->log_prob) + part(share, row->smoothed) + part(z, lse * lse),
        part(fabs(own), exact->log_prob.tolerance) + part(share, smoothed)
            + part(z, 2 * fabs(lse) * exact->lse.tolerance + ARITHMETIC_TOLERANCE * lse * lse)};
}

/* ---- the gradient ---- */

/*
 * The relative error of the softcap's derivative: cosh turns the rounding of its argument into a relative error.  If exp(-2 |x /
 * cap|), a quarter of it, is below the normal fp32 range, 0 is accepted too.
 */
static struct cross_entropy_value slope_of(const struct row *row, int64_t column) {
    if (row->options->softcap == 0) return (struct cross_entropy_value){1, 0};
    const double u = row->x[column] / row->options->softcap, slope = isfinite(u) ? 1 / cosh(u) / cosh(u) : 0;
    return (struct cross_entropy_value){
        slope, slope > 0x1p-124 ? slope * (ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * 2 * fabs(u)) : 0x1p-124};
}

/* A probability's relative error, from its exponent and from the logits that were capped. */
static double probability_tolerance(const struct row *row, int64_t column) {
    const double y = is_rounded(row->options) ? fabs(row->y[column]) + row->mean_magnitude : 0;
    return ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * (row->largest - row->y[column]) + SOFTCAP_TOLERANCE * y;
}

/*
 * p * ((1 - e) w[label] + e / vocab * sum of w + 2 z lse) - (1 - e) w[label] at the label - e / vocab * w, each term's error
 * relative to its own magnitude; the label's first and third are one term, from the sum over the other columns.
 */
static struct cross_entropy_value grad_of_capped(const struct row *row, int64_t column, struct cross_entropy_value lse) {
    const struct cross_entropy_options *options = row->options;
    const double own = (1 - options->label_smoothing) * weight(row, row->label), z = 2 * options->z_loss;
    const double share = options->label_smoothing / (double)row->vocab, w = weight(row, column);
    const double p = exponential(row, column) / row->sum;
    double factor = share * row->weights + z * lse.exact;
    double magnitude = share * row->weight_magnitudes + z * fabs(lse.exact), exact = 0, tolerance = 0;
    if (column == row->label) {
        const double rest = row->others / row->sum;
        exact = -own * rest;
        tolerance = fabs(exact) * (ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * row->gap
                                   + SOFTCAP_TOLERANCE * (row->others_magnitude + row->mean_magnitude));
    } else {
        factor += own;
        magnitude += fabs(own);
    }
    exact += p * factor - share * w;
    tolerance += part(p, probability_tolerance(row, column) * magnitude + z * lse.tolerance)
               + ARITHMETIC_TOLERANCE * share * fabs(w);
    return (struct cross_entropy_value){exact, tolerance};
}

/* That of log_prob: the label's from the sum over the other columns. */
static struct cross_entropy_value log_prob_grad(const struct row *row, int64_t column) {
    if (column == row->label) {
        const double rest = row->others / row->sum;
        return (struct cross_entropy_value){rest, rest * (ARITHMETIC_TOLERANCE + EXPONENT_TOLERANCE * row->gap
                                                          + SOFTCAP_TOLERANCE * (row->others_magnitude + row->mean_magnitude))};
    }
    const double p = exponential(row, column) / row->sum;
    return (struct cross_entropy_value){-p, part(p, probability_tolerance(row, column))};
}

/*
 * That of the entropy in a column c: p[c] * sum of p[j] * (y[j] - y[c]).  A kernel subtracts two sums, whose terms are distances
 * from an origin at most 2 + log_sum above the largest y.
 */
static struct cross_entropy_value entropy_grad(const struct row *row, int64_t column) {
    const double p = exponential(row, column) / row->sum, down = row->largest - row->y[column];
    if (p == 0) return (struct cross_entropy_value){0, 0};
    const double y = is_rounded(row->options) ? fabs(row->y[column]) : 0, mean = down - row->moment, most = down + 2 + row->log_sum;
    const double terms = 4 * ARITHMETIC_TOLERANCE * (row->moment + most)
                       + 2 * EXPONENT_TOLERANCE * (row->spread + most * row->moment)
                       + 2 * SOFTCAP_TOLERANCE * (row->surprise_magnitude + row->mean_magnitude * (2 * most + row->moment) + y);
    return (struct cross_entropy_value){p * mean, p * (terms + probability_tolerance(row, column) * fabs(mean))};
}

/* The same for the largest column, if it is the label's: the distances from it do not cancel. */
static struct cross_entropy_value confident_entropy_grad(const struct row *row) {
    const double p = exponential(row, row->label) / row->sum;
    long double sum = 0, tolerance = 0;
    for (int64_t j = 0; j < row->vocab; j++) {
        const double of = exponential(row, j) / row->sum, down = row->largest - row->y[j];
        if (j == row->label || of == 0) continue;
        sum += (long double)(of * down);
        tolerance += (long double)(of * ((down + 1) * (ARITHMETIC_TOLERANCE + probability_tolerance(row, j))
                                         + (is_rounded(row->options) ? 2 * SOFTCAP_TOLERANCE * fabs(row->largest) : 0)));
    }
    return (struct cross_entropy_value){-p * (double)sum, p * ((double)tolerance
                                        + probability_tolerance(row, row->label) * (double)sum)};
}

static void fill(struct cross_entropy_value *grad, int64_t vocab, double value) {
    for (int64_t j = 0; grad && j < vocab; j++) grad[j] = (struct cross_entropy_value){value, 0};
}

static void add_product(struct cross_entropy_value *sum, struct cross_entropy_value value, double factor) {
    sum->exact += value.exact * factor;
    sum->tolerance += value.tolerance * fabs(factor);
}

static void make_gradient(const struct row *row, struct cross_entropy_exact *exact, struct cross_entropy_upstream upstream,
                          struct cross_entropy_value *grad) {
    const double inverse = inverse_temperature(row->options);
    for (int64_t j = 0; j < row->vocab; j++) {
        const struct cross_entropy_value slope = slope_of(row, j);
        struct cross_entropy_value of_y = {0, 0};
        add_product(&of_y, grad_of_capped(row, j, exact->lse), upstream.loss);
        if (upstream.log_prob != 0) add_product(&of_y, log_prob_grad(row, j), upstream.log_prob);
        const bool confident = j == row->label && row->y[j] == row->largest;
        if (upstream.entropy != 0)
            add_product(&of_y, confident ? confident_entropy_grad(row) : entropy_grad(row, j), upstream.entropy);
        grad[j].exact = of_y.exact * slope.exact * inverse;
        grad[j].tolerance = (of_y.tolerance * slope.exact + fabs(of_y.exact) * slope.tolerance) * inverse;
        exact->largest_grad = fmax(exact->largest_grad, fabs(grad[j].exact));
    }
}

/* ---- rows ---- */

static const struct cross_entropy_value not_a_number = {(double)NAN, 0}, minus_infinity = {(double)-INFINITY, 0};

static struct cross_entropy_exact row_of_nan(void) {
    return (struct cross_entropy_exact){.loss = not_a_number, .lse = not_a_number, .log_prob = not_a_number,
                                        .entropy = not_a_number, .largest = (double)NAN, .argmax = -1, .grad_sum = (double)NAN};
}

static struct cross_entropy_exact infinite_row(void) {
    return (struct cross_entropy_exact){.loss = {(double)INFINITY, 0}, .lse = minus_infinity, .log_prob = minus_infinity,
                                        .largest = (double)-INFINITY, .argmax = -1, .infinite = true};
}

struct cross_entropy_exact cross_entropy_exact_row(const double *logits, int64_t vocab, int64_t label,
                                                   const struct cross_entropy_options *options,
                                                   struct cross_entropy_upstream upstream, struct cross_entropy_value *grad) {
    struct row row = {.options = options, .x = logits, .vocab = vocab, .label = label,
                      .y = malloc((size_t)vocab * sizeof(double))};
    struct cross_entropy_exact exact;
    if (!row.y) abort();
    if (!cap(&row)) {
        exact = row_of_nan();
        fill(grad, vocab, (double)NAN);
    } else if (row.argmax < 0) {
        exact = infinite_row();
        fill(grad, vocab, 0);
    } else {
        sum_exponentials(&row);
        sum_terms(&row);
        exact = (struct cross_entropy_exact){.lse = lse_of(&row), .log_prob = log_prob_of(&row), .entropy = entropy_of(&row),
                                             .largest = row.largest, .argmax = row.argmax};
        exact.loss = loss_of(&row, &exact);
        exact.grad_sum = options->softcap != 0 ? (double)NAN : 2 * options->z_loss * exact.lse.exact * upstream.loss;
        exact.grad_sum *= inverse_temperature(options);
        if (grad) make_gradient(&row, &exact, upstream, grad);
    }
    free(row.y);
    return exact;
}

/* ---- comparisons ---- */

bool cross_entropy_argmax_is_close(const double *logits, int64_t vocab, int64_t column,
                                   const struct cross_entropy_options *options, const struct cross_entropy_exact *row) {
    if (column == row->argmax) return true;
    if (options->softcap == 0 || row->argmax < 0 || column < 0 || column >= vocab) return false;
    return cross_entropy_y(logits[column], options) >= row->largest - 2 * SOFTCAP_TOLERANCE * fabs(row->largest);
}

bool cross_entropy_output_is_close(double stored, struct cross_entropy_value value) {
    if (isnan(value.exact)) return isnan(stored);
    if (isinf(value.exact)) return stored == value.exact;
    return fabs(stored - value.exact) <= fmax(value.tolerance, dtype_ulp(QUERN_F32, value.exact));
}

bool cross_entropy_grad_is_close(quern_dtype dtype, double stored, struct cross_entropy_value grad,
                                 const struct cross_entropy_exact *row) {
    if (isnan(grad.exact)) return isnan(stored);
    if (isnan(stored)) return false;
    if (dtype == QUERN_F32)
        return fabs(stored - grad.exact) <= fmax(fmax(grad.tolerance, dtype_ulp(dtype, grad.exact)), 4e-7 * row->largest_grad);
    /*
     * Rounding is monotonic: the rounding of a value near the exact one lies between the roundings of the bounds.  Twice the
     * tolerance of fp32, still far below an ulp: the square of a root rounded to fp32 may have such an error.
     */
    return stored >= dtype_round(dtype, grad.exact - 2 * grad.tolerance)
        && stored <= dtype_round(dtype, grad.exact + 2 * grad.tolerance);
}
