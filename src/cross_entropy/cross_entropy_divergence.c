/*
 * Divergences of the rows from soft targets of given columns, on a CPU, and their gradient.  Called by cross_entropy_cpu.c: between
 * the sums of a row and its gradient, whose kernels take what the divergence adds to the columns that have no target, and after it.
 */
#include "cross_entropy/cross_entropy.h"

#include <math.h>

#include "runtime/dtype.h"
#include "runtime/storage.h"

static struct quern_row_divergence divergence_of(const struct quern_columns_problem *problem, int64_t row) {
    struct quern_divergence_sums sums = {0, 0, 0, 0};
    for (int64_t i = row * problem->given_count; i < (row + 1) * problem->given_count; i++) {
        const double t = (double)problem->target_probs[i], log_q = (double)problem->given_log_probs[i], q = quern_fixed_exp(log_q);
        const struct quern_divergence_term term = quern_divergence_of(problem, t, q, log_q);
        sums.value += term.value, sums.slope += term.slope, sums.targets += t, sums.probabilities += q;
    }
    return quern_row_divergence(problem, sums);
}

static struct quern_row_values values_of(const struct quern_columns_problem *problem, int64_t row) {
    const quern_row_stats stats = problem->rows.stats[row];
    return quern_row_values(&problem->rows, &stats);
}

static double value_of(const struct quern_columns_problem *problem, int64_t row, double divergence) {
    const struct quern_row_values values = values_of(problem, row);
    if (quern_row_label(&problem->rows, row) < 0) return 0;
    return values.is_infinite ? (double)INFINITY : isnan(values.sum) ? (double)NAN : divergence;
}

void quern_cross_entropy_find_divergence(const struct quern_columns_problem *problem, int64_t row) {
    const struct quern_row_divergence divergence = divergence_of(problem, row);
    if (problem->divergence) problem->divergence[row] = (float)value_of(problem, row, divergence.value);
    if (problem->row_upstream) problem->row_upstream[row] = quern_row_divergence_upstream(problem, row, divergence.other);
}

/* ---- the gradient ---- */

void quern_cross_entropy_keep_logits(const struct quern_columns_problem *problem, int64_t row) {
    const struct quern_cross_entropy_problem *rows = &problem->rows;
    const quern_dtype dtype = (quern_dtype)problem->logits_dtype;
    const size_t bytes = quern_dtype_bytes(dtype);
    const char *logits = (const char *)rows->logits + (size_t)(row * rows->logits_stride) * bytes;
    const int64_t count = problem->given_count, label = quern_row_label(rows, row);
    for (int64_t i = 0; i <= count; i++) {
        const int64_t id = i < count ? problem->given_ids[row * count + i] : label;
        float *const logit = &problem->own_logits[row * (count + 1) + i];
        *logit = -INFINITY;
        if (id >= rows->first_column && id - rows->first_column < rows->vocab)
            quern_storage_widen(dtype, logits + (size_t)(id - rows->first_column) * bytes, NULL, 1, logit);
    }
}

/* A row whose listed columns and label get their gradient, after the kernels have written that of the others. */
struct listed_row {
    const struct quern_columns_problem *problem;
    int64_t row, label;
    quern_row_stats stats;
    struct quern_row_values values;
    struct quern_row_gradient gradient;
    struct quern_row_divergence divergence;
};

static void write_column(const struct listed_row *listed, int64_t id, double target, float logit) {
    const struct quern_columns_problem *problem = listed->problem;
    const struct quern_cross_entropy_problem *rows = &problem->rows;
    const int64_t column = id - rows->first_column;
    const quern_dtype dtype = (quern_dtype)problem->logits_dtype;
    if (id < rows->first_column || column >= rows->vocab) return;
    const float y = quern_cross_entropy_y(rows, listed->row, logit);
    const double ratio = rows->softcap != 0 ? cosh((double)logit / (double)rows->softcap) : 1;
    const struct quern_listed_column one = {
        .is_label = id == listed->label, .target = target, .y = y,
        .log_prob = quern_row_log_prob(&listed->stats, &listed->values, id == listed->label, y),
        .weight = rows->class_weights ? (double)rows->class_weights[column] : 1, .softcap_slope = 1 / (ratio * ratio)};
    const float value = (float)quern_listed_gradient(problem, listed->row, &listed->gradient, &listed->stats, &listed->divergence,
                                                     &one);
    char *grad = (char *)rows->grad + (size_t)(listed->row * rows->grad_stride + column) * quern_dtype_bytes(dtype);
    quern_storage_narrow(dtype, &value, 1, false, grad, NULL);
}

void quern_cross_entropy_write_listed(const struct quern_columns_problem *problem, int64_t row) {
    struct listed_row listed = {.problem = problem, .row = row, .label = quern_row_label(&problem->rows, row),
                                .stats = problem->rows.stats[row], .values = values_of(problem, row),
                                .divergence = divergence_of(problem, row)};
    const int64_t count = problem->given_count;
    listed.gradient = quern_row_gradient(&problem->rows, row, listed.label, &listed.stats, &listed.values);
    if (listed.values.is_infinite || isnan(listed.values.sum)) return;  /* a skipped row has the stats of no columns */
    if (listed.gradient.kind == QUERN_GRADIENT_NAN) return;
    const float *logits = problem->own_logits + row * (count + 1);
    write_column(&listed, listed.label, -1, logits[count]);
    for (int64_t i = 0; i < count; i++)
        write_column(&listed, problem->given_ids[row * count + i], (double)problem->target_probs[row * count + i], logits[i]);
}
