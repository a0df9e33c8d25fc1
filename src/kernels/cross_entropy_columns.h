/*
 * The problem of the stages around the rows of a cross-entropy that serve columns of them: log-probabilities of the largest and of
 * given ones, divergences from soft targets of given or of all columns, and a gradient of another type.  Included by the host code
 * and by the GPU kernels of these stages, which share the arithmetic, in double.
 */
#ifndef QUERN_CROSS_ENTROPY_COLUMNS_H
#define QUERN_CROSS_ENTROPY_COLUMNS_H

#include "kernels/cross_entropy_row.h"

/* The most of the largest columns of a row: a warp of a GPU keeps one in each thread. */
enum { QUERN_MOST_TOP = 32 };

/* What an outcome adds, summed over the columns of a row or of a part. */
struct quern_divergence_sums {
    double value, slope, targets, probabilities;
};

struct quern_columns_problem {
    struct quern_cross_entropy_problem rows;  /* with stats for all stages but the first, and the caller's upstream gradients */
    int64_t logits_dtype, grad_dtype;  /* quern_dtype */

    /* Lists of each row, counted over all shards; -1: no column.  The first stage writes logits where log-probabilities go. */
    int64_t top_k, given_count;        /* 0: not wanted */
    int64_t *top_ids;                  /* [rows, top_k] */
    float *top_log_probs;
    const int64_t *given_ids;          /* [rows, given_count] */
    float *given_log_probs;

    /* The lists of shards, with logits, which the second stage joins.  shard_count 0: it reads the lists above. */
    int64_t shard_count;
    const int64_t *shard_ids;          /* [shard_count, rows, top_k] */
    const float *shard_logits;
    const float *given_logits;         /* [shard_count, rows, given_count] */

    /* Soft targets. */
    const float *target_probs;         /* [rows, given_count]; NULL: no divergence, or no given columns */
    int32_t of_targets, of_model;      /* a divergence: sum t log(t / q), sum q log(q / t), or half of both from their mean */
    int32_t has_tail;
    float *divergence;                 /* [rows]; NULL: not wanted */
    const float *grad_divergence;      /* as those of the rows; NULL: no gradient */
    int64_t grad_divergence_stride;
    const float *grad_log_prob;        /* of the caller, for the rows above */
    int64_t grad_log_prob_stride;
    float *row_upstream;               /* [rows]: that of log_prob for the gradient kernels, written by the second stage */
    float *own_logits;                 /* [rows, given_count + 1]: of the given columns and the label's, kept by the first stage */
    int32_t has_log_probs;             /* the gradient step: the lists are complete */

    /* Soft targets of all columns. */
    const void *soft_targets;          /* [rows, vocab]; NULL: none */
    int64_t soft_dtype, soft_stride;
    struct quern_divergence_sums *soft_sums;  /* [part_count, rows]: of the columns but the label's, written by the soft stage */
};

/* Gives the stages the problem of the rows that the other kernels have. */
QUERN_FUNCTION void quern_columns_take_rows(struct quern_columns_problem *columns, const struct quern_cross_entropy_problem *rows) {
    columns->rows = *rows;
    columns->rows.grad_log_prob = columns->grad_log_prob;
    columns->rows.grad_log_prob_stride = columns->grad_log_prob_stride;
}

/* Of a column with this y, in fp32; that of the label's column has the bits of the output log_prob. */
QUERN_FUNCTION float quern_row_log_prob(const quern_row_stats *stats, const struct quern_row_values *values, bool is_label,
                                        float y) {
    if (values->is_infinite) return -INFINITY;
    if (isnan(values->sum)) return NAN;
    if (is_label) return (float)(0 - values->of_label);
    return (float)((double)y - stats->origin - values->log_sum);
}

/* ---- divergences ---- */

/* What one outcome adds, with the target t and the model's q: to the divergence, and q times its derivative by q. */
struct quern_divergence_term {
    double value, slope;
};

QUERN_FUNCTION struct quern_divergence_term quern_divergence_of(const struct quern_columns_problem *problem, double t, double q,
                                                                double log_q) {
    const bool has_mean = problem->of_targets && problem->of_model;
    const double log_t = quern_fixed_log(t), log_mean = has_mean ? quern_fixed_log((t + q) / 2) : 0;
    const double of_t = t != 0 ? t * (log_t - (has_mean ? log_mean : log_q)) : 0;
    const double of_q = q != 0 ? q * (log_q - (has_mean ? log_mean : log_t)) : 0;
    struct quern_divergence_term term = {of_t, 0 - t};
    if (has_mean) term.value = (of_t + of_q) / 2, term.slope = of_q / 2;
    else if (problem->of_model) term.value = of_q, term.slope = of_q + q;
    return term;
}

QUERN_FUNCTION void quern_divergence_add(struct quern_divergence_sums *sums, const struct quern_columns_problem *problem, double t,
                                         double log_q) {
    const double q = quern_fixed_exp(log_q);
    const struct quern_divergence_term term = quern_divergence_of(problem, t, q, log_q);
    sums->value += term.value;
    sums->slope += term.slope;
    sums->targets += t;
    sums->probabilities += q;
}

/*
 * The divergence of a row and its gradient with respect to y: that of a listed column is its own slope less its probability times
 * `all`, that of another column its probability times `other`.
 */
struct quern_row_divergence {
    double value, all, other;
};

/* The least probability of a tail, which is a difference of numbers near 1 in fp32. */
#define QUERN_LEAST_TAIL 0x1p-22

/* With a tail all other columns are one more outcome. */
QUERN_FUNCTION struct quern_row_divergence quern_row_divergence(const struct quern_columns_problem *problem,
                                                                struct quern_divergence_sums sums) {
    struct quern_divergence_term tail = {0, 0};
    const double t = fmax(1 - sums.targets, QUERN_LEAST_TAIL), q = fmax(1 - sums.probabilities, QUERN_LEAST_TAIL);
    if (problem->has_tail) tail = quern_divergence_of(problem, t, q, quern_fixed_log(q));
    const double all = sums.slope + tail.slope;
    const struct quern_row_divergence divergence = {sums.value + tail.value, all, tail.slope / q - all};
    return divergence;
}

/* The upstream gradient of a row's divergence, with respect to y. */
QUERN_FUNCTION double quern_row_of_divergence(const struct quern_columns_problem *problem, int64_t row) {
    return (double)problem->grad_divergence[row * problem->grad_divergence_stride] * (double)problem->rows.grad_scale *
           (double)quern_row_inverse_temperature(&problem->rows, row);
}

/* What an upstream gradient of the divergence adds to that of log_prob: other columns get minus it times their probability. */
QUERN_FUNCTION float quern_row_divergence_upstream(const struct quern_columns_problem *problem, int64_t row, double other) {
    const struct quern_cross_entropy_problem *rows = &problem->rows;
    const float of_log_prob = rows->grad_log_prob ? rows->grad_log_prob[row * rows->grad_log_prob_stride] : 0;
    const double of_divergence = (double)problem->grad_divergence[row * problem->grad_divergence_stride];
    return (float)((double)of_log_prob - (of_divergence != 0 ? of_divergence * other : 0));
}

/* A listed column, or the label's. */
struct quern_listed_column {
    bool is_label;
    double target;             /* -1: the column is not listed, but the label's */
    float y, log_prob;
    double weight;             /* class weight */
    double softcap_slope;
};

/* The gradient of such a column, from those of all outputs. */
QUERN_FUNCTION double quern_listed_gradient(const struct quern_columns_problem *problem, int64_t row,
                                            const struct quern_row_gradient *gradient, const quern_row_stats *stats,
                                            const struct quern_row_divergence *divergence,
                                            const struct quern_listed_column *column) {
    const double distance = (double)column->y - stats->origin, q = quern_fixed_exp((double)column->log_prob);
    double of_row = gradient->label, of_divergence = q * divergence->other;
    if (!column->is_label) {
        const double e = column->y > -INFINITY ? quern_fixed_exp(distance) : 0;
        of_row = (e != 0 ? (gradient->factor + gradient->tilt * distance) * e : 0) - gradient->uniform * column->weight;
    }
    if (column->target >= 0)
        of_divergence = quern_divergence_of(problem, column->target, q, (double)column->log_prob).slope -
                        q * divergence->all;
    const double upstream = quern_row_of_divergence(problem, row);
    return (of_row + (upstream != 0 ? upstream * of_divergence : 0)) * column->softcap_slope;
}

#endif
