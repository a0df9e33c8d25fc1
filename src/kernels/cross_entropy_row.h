/*
 * Arithmetic on one row of a cross-entropy, in double: it merges the sums of the row's parts and derives loss, outputs and gradient
 * from them.  The CPU kernels, their host code (src/cross_entropy/cross_entropy_cpu.c) and the GPU kernels with portable bits
 * include it, so that every path to a row gives the same bits.
 */
#ifndef QUERN_CROSS_ENTROPY_ROW_H
#define QUERN_CROSS_ENTROPY_ROW_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "kernels/functions.h"
#include "kernels/problem.h"
#include "kernels/public.h"

#ifdef __CUDACC__
#define QUERN_HAS_PORTABLE_BITS(problem) true
#define QUERN_ADD_ONE(counter) atomicAdd((unsigned long long *)(counter), 1ull)
#else
#define QUERN_HAS_PORTABLE_BITS(problem) (problem)->portable_bits
#define QUERN_ADD_ONE(counter) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED)
#endif

/* ---- sums ---- */

/* Sums over no columns: the initial value, and the stats of a skipped row. */
QUERN_FUNCTION quern_row_stats quern_row_nothing(void) {
    quern_row_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.origin = (double)-INFINITY, stats.label_value = -INFINITY, stats.argmax = -1;
    return stats;
}

/* Rescales the sums to another origin.  Without an origin there are no exponentials, and distances are counted from 0. */
QUERN_FUNCTION void quern_row_move(quern_row_stats *stats, double origin) {
    if (stats->origin == origin) return;
    if (stats->origin == (double)-INFINITY) {
        if (stats->weights != 0) stats->weighted -= origin * stats->weights;
    } else {
        const double distance = stats->origin - origin, factor = exp(distance);
        stats->moment = factor * (stats->moment + distance * stats->others);
        stats->others *= factor;
        stats->weighted += distance * stats->weights;
    }
    stats->origin = origin;
}

/* Takes what is no sum from the stats of later columns.  The first of equal maxima is kept. */
QUERN_FUNCTION void quern_row_take(quern_row_stats *stats, const quern_row_stats *more) {
    if (more->argmax >= 0 && (stats->argmax < 0 || more->maximum > stats->maximum)) {
        stats->argmax = more->argmax;
        stats->maximum = more->maximum;
    }
    if (more->has_label) {
        stats->label_value = more->label_value;
        stats->label_weight = more->label_weight;
        stats->has_label = 1;
    }
}

/* Adds the sums of later columns. */
QUERN_FUNCTION void quern_row_add(quern_row_stats *stats, quern_row_stats more) {
    const double origin = stats->origin > more.origin ? stats->origin : more.origin;
    quern_row_move(stats, origin);
    quern_row_move(&more, origin);
    stats->others += more.others;
    stats->weighted += more.weighted;
    stats->moment += more.moment;
    stats->weights += more.weights;
    quern_row_take(stats, &more);
}

/* ---- labels ---- */

QUERN_FUNCTION int64_t quern_row_given_label(const struct quern_cross_entropy_problem *problem, int64_t row) {
    return problem->labels_are_int64 ? ((const int64_t *)problem->labels)[row] : ((const int32_t *)problem->labels)[row];
}

QUERN_FUNCTION bool quern_row_is_ignored(const struct quern_cross_entropy_problem *problem, int64_t row) {
    return quern_row_given_label(problem, row) == problem->ignore_index;
}

/* The label's column among all columns, or -1 for a skipped row. */
QUERN_FUNCTION int64_t quern_row_label(const struct quern_cross_entropy_problem *problem, int64_t row) {
    const int64_t label = quern_row_given_label(problem, row);
    return label == problem->ignore_index || label < 0 || label >= problem->global_vocab ? -1 : label;
}

/* ---- options of a row ---- */

/* What multiplies a row's logits, after the softcap; NaN if it is not above 0 and finite, which makes the row NaN. */
QUERN_FUNCTION float quern_row_inverse_temperature(const struct quern_cross_entropy_problem *problem, int64_t row) {
    const float given = problem->inverse_temperatures ? problem->inverse_temperatures[row] : 1;
    const float inverse = problem->inverse_temperature * given;
    return inverse > 0 && inverse <= FLT_MAX ? inverse : NAN;
}

/* ---- results of a row's sums ---- */

struct quern_row_values {
    double label;      /* exp(the label's y - origin) */
    double sum;        /* of exp(y - origin) over all columns; NaN when any y is NaN or +infinity */
    double log_sum;    /* lse - origin */
    double of_label;   /* lse - the label's y; without cancellation for a row that is confident of its label */
    bool is_infinite;  /* every y is -infinity */
};

/* distance: of the label's y from the origin. */
QUERN_FUNCTION void quern_row_add_logs(struct quern_row_values *values, const quern_row_stats *stats, double distance) {
    values->log_sum = stats->label_value == stats->origin ? log1p(stats->others) : log(values->sum);
    values->of_label = values->log_sum - distance;
}

/* The same with portable bits.  The label's y is no origin then. */
QUERN_FUNCTION void quern_row_add_portable_logs(struct quern_row_values *values, const quern_row_stats *stats, double distance) {
    const bool is_confident = values->label >= stats->others;
    values->of_label = is_confident ? quern_fixed_log1p(stats->others / values->label) : quern_fixed_log(values->sum) - distance;
    values->log_sum = is_confident ? distance + values->of_label : quern_fixed_log(values->sum);
}

QUERN_FUNCTION struct quern_row_values quern_row_values(const struct quern_cross_entropy_problem *problem,
                                                       const quern_row_stats *stats) {
    struct quern_row_values values = {0, 0, 0, 0, false};
    const double distance = (double)stats->label_value - (stats->origin == (double)-INFINITY ? 0 : stats->origin);
    values.is_infinite = stats->origin == (double)-INFINITY && !isnan(stats->others) && !isnan(stats->label_value);
    if (stats->has_label && !values.is_infinite)
        values.label = QUERN_HAS_PORTABLE_BITS(problem) ? quern_fixed_exp(distance) : exp(distance);
    values.sum = stats->others + values.label;
    if (QUERN_HAS_PORTABLE_BITS(problem))
        quern_row_add_portable_logs(&values, stats, distance);
    else
        quern_row_add_logs(&values, stats, distance);
    return values;
}

/* The product, with 0 times infinity = 0: a term with weight 0 is skipped. */
QUERN_FUNCTION double quern_row_product(double weight, double value) { return weight != 0 ? weight * value : 0; }

QUERN_FUNCTION double quern_row_loss(const struct quern_cross_entropy_problem *problem, const quern_row_stats *stats,
                                    const struct quern_row_values *values) {
    const double smoothing = (double)problem->label_smoothing, lse = stats->origin + values->log_sum;
    const double of_all = stats->weights * values->log_sum - stats->weighted;
    return quern_row_product((1 - smoothing) * (double)stats->label_weight, values->of_label) +
           quern_row_product(smoothing / (double)problem->global_vocab, of_all) +
           quern_row_product((double)problem->z_loss, lse * lse);
}

/* With portable bits the label's y is no origin: its distance must not cancel in a confident row. */
QUERN_FUNCTION double quern_row_entropy(const struct quern_cross_entropy_problem *problem, const quern_row_stats *stats,
                                       const struct quern_row_values *values) {
    const double distance = (double)stats->label_value - stats->origin;
    const bool is_confident = QUERN_HAS_PORTABLE_BITS(problem) && values->label >= stats->others;
    const double entropy = is_confident
                               ? values->of_label + (distance * stats->others - stats->moment) / values->sum
                               : values->log_sum - (stats->moment + quern_row_product(values->label, distance)) / values->sum;
    return entropy < 0 ? 0 : entropy;
}

/* Writes the outputs of a row from its sums, their values and its label, which is -1 for a skipped row. */
QUERN_FUNCTION void quern_row_finish(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t label,
                                    const quern_row_stats *stats, const struct quern_row_values *values) {
    double loss = 0, lse = 0, log_prob = 0, entropy = 0;
    int64_t argmax = -1;
    if (label >= 0 && values->is_infinite) {
        if (problem->report) QUERN_ADD_ONE(&problem->report->infinite_rows);
        loss = (double)INFINITY, lse = log_prob = (double)-INFINITY;
    } else if (label >= 0 && isnan(values->sum)) {
        loss = lse = log_prob = entropy = (double)NAN;
    } else if (label >= 0) {
        loss = quern_row_loss(problem, stats, values);
        lse = stats->origin + values->log_sum, log_prob = 0 - values->of_label, argmax = stats->argmax;
        if (problem->entropy) entropy = quern_row_entropy(problem, stats, values);
    }
    if (problem->row_loss) problem->row_loss[row] = (float)loss;
    if (problem->lse) problem->lse[row] = (float)lse;
    if (problem->log_prob) problem->log_prob[row] = (float)log_prob;
    if (problem->entropy) problem->entropy[row] = (float)entropy;
    if (problem->argmax) problem->argmax[row] = argmax;
}

/* ---- the gradient ---- */

/*
 * The gradient of a row with respect to its logits before the softcap: (factor + tilt * (y - origin)) * exp(y - origin) - uniform *
 * class weight, except at the label's column.
 */
enum quern_gradient_kind { QUERN_GRADIENT_ZERO, QUERN_GRADIENT_NAN, QUERN_GRADIENT_NUMBERS };

struct quern_row_gradient {
    enum quern_gradient_kind kind;
    double origin, factor, tilt, uniform;
    double label;
};

/* From the gradient with respect to y. */
QUERN_FUNCTION struct quern_row_gradient quern_row_cooled(struct quern_row_gradient gradient, double inverse_temperature) {
    gradient.factor *= inverse_temperature;
    gradient.tilt *= inverse_temperature;
    gradient.uniform *= inverse_temperature;
    gradient.label *= inverse_temperature;
    return gradient;
}

/* What multiplies the derivatives of a row's outputs. */
struct quern_row_upstream {
    double loss, log_prob, entropy;
};

QUERN_FUNCTION struct quern_row_upstream quern_row_upstream(const struct quern_cross_entropy_problem *problem, int64_t row) {
    const double scale = (double)problem->grad_scale;
    struct quern_row_upstream upstream = {scale, 0, 0};
    if (problem->grad_loss) upstream.loss *= (double)problem->grad_loss[row * problem->grad_loss_stride];
    if (problem->divisor) upstream.loss = *problem->divisor != 0 ? upstream.loss / *problem->divisor : 0;
    if (problem->grad_log_prob)
        upstream.log_prob = scale * (double)problem->grad_log_prob[row * problem->grad_log_prob_stride];
    if (problem->grad_entropy) upstream.entropy = scale * (double)problem->grad_entropy[row * problem->grad_entropy_stride];
    return upstream;
}

/* Adds the gradient of the label's log_prob. */
QUERN_FUNCTION void quern_row_add_log_prob(struct quern_row_gradient *gradient, const quern_row_stats *stats,
                                          const struct quern_row_values *values, double upstream) {
    gradient->factor -= upstream / values->sum;
    gradient->label += upstream * (stats->others / values->sum);
}

/*
 * Adds that of the entropy, p * (mean of y - y).  The label's is taken from the distances of the other columns, so that it does not
 * cancel if the model is confident.
 */
QUERN_FUNCTION void quern_row_add_entropy(struct quern_row_gradient *gradient, const quern_row_stats *stats,
                                         const struct quern_row_values *values, double upstream) {
    const double distance = values->label != 0 ? (double)stats->label_value - stats->origin : 0;
    const double mean = (stats->moment + values->label * distance) / values->sum;
    gradient->tilt = -upstream / values->sum;
    gradient->factor += upstream * mean / values->sum;
    gradient->label += upstream * (values->label / values->sum) * ((stats->moment - distance * stats->others) / values->sum);
}

/* label: -1 for a skipped row. */
QUERN_FUNCTION struct quern_row_gradient quern_row_gradient(const struct quern_cross_entropy_problem *problem, int64_t row,
                                                           int64_t label, const quern_row_stats *stats,
                                                           const struct quern_row_values *values) {
    struct quern_row_gradient gradient = {QUERN_GRADIENT_ZERO, stats->origin, 0, 0, 0, 0};
    if (label < 0) return gradient;
    const struct quern_row_upstream upstream = quern_row_upstream(problem, row);
    if (isnan(values->sum) || isnan(upstream.loss) || isnan(upstream.log_prob) || isnan(upstream.entropy))
        gradient.kind = QUERN_GRADIENT_NAN;
    const bool divides_by_zero = problem->divisor && *problem->divisor == 0;
    if (gradient.kind == QUERN_GRADIENT_NAN || values->is_infinite) return gradient;
    if (divides_by_zero && upstream.log_prob == 0 && upstream.entropy == 0) return gradient;
    const double smoothing = (double)problem->label_smoothing, uniform = smoothing / (double)problem->global_vocab;
    const double own = (1 - smoothing) * (double)stats->label_weight, probability = values->label / values->sum;
    const double of_lse = 2 * (double)problem->z_loss * (stats->origin + values->log_sum);
    gradient.kind = QUERN_GRADIENT_NUMBERS;
    gradient.factor = (own + uniform * stats->weights + of_lse) / values->sum * upstream.loss;
    gradient.uniform = uniform * upstream.loss;
    gradient.label = (uniform * (stats->weights * probability - (double)stats->label_weight) + of_lse * probability -
                      own * (stats->others / values->sum)) * upstream.loss;
    if (upstream.log_prob != 0) quern_row_add_log_prob(&gradient, stats, values, upstream.log_prob);
    if (upstream.entropy != 0) quern_row_add_entropy(&gradient, stats, values, upstream.entropy);
    return quern_row_cooled(gradient, (double)quern_row_inverse_temperature(problem, row));
}

/* ---- exponentials times a factor ---- */

/* Exponentials are kept times 2^QUERN_EXPONENTIAL_BIAS, so that they are not subnormal. */
enum { QUERN_EXPONENTIAL_BIAS = 96 };
#define QUERN_EXPONENTIAL_UNBIAS 0x1p-96

/*
 * What multiplies a kept exponential: first the power, which is 1 unless one of the others could be subnormal; then high, or high
 * and low.  A product with the power is exact unless the gradient vanishes.
 */
struct quern_factor {
    float power, high, low;
    double multiple;             /* of the factor in high and low */
};

/* Whether the power is used.  magnitude: of the factor; has_rest: for fp32 gradients, whose second float is a normal number. */
QUERN_FUNCTION bool quern_is_small_factor(double magnitude, bool has_rest) {
    return has_rest ? magnitude < 0x1p-4 : magnitude * QUERN_EXPONENTIAL_UNBIAS < (double)FLT_MIN;
}

/*
 * For fp32 gradients the factor is a sum of two floats.  Each product is less than a unit in the last place from the exact one.  So
 * rows whose sums differ only in their last bits, as those of shards do, have gradients that are equal or neighbours.  The power is
 * at least 2^-126, and the rest at most 2^-24.
 */
QUERN_FUNCTION struct quern_factor quern_factor_of(double value, double magnitude, bool has_rest) {
    struct quern_factor factor = {1, 0, 0, QUERN_EXPONENTIAL_UNBIAS};
    if (quern_is_small_factor(magnitude, has_rest)) {
        const int exponent = !has_rest || magnitude == 0 ? 0 : (int)(quern_bits_of(magnitude) >> 52) - 1022;
        const int of_rest = !has_rest ? 24 : exponent + 30 < -24 ? exponent + 30 : -24;
        factor.power = (float)quern_times_power(QUERN_EXPONENTIAL_UNBIAS, exponent - of_rest);
        factor.multiple = quern_times_power(1, of_rest - exponent);
    }
    factor.high = (float)(value * factor.multiple);
    factor.low = (float)(value * factor.multiple - (double)factor.high);
    return factor;
}

#endif
