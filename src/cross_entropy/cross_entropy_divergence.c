/*
 * Divergences of the rows from soft targets of given or of all columns, on a CPU, and their gradient.  Called by
 * cross_entropy_cpu.c: between the sums of a row and its gradient, whose kernels take what the divergence adds to the columns that
 * have no target of their own, and after it.
 */
#include "cross_entropy/cross_entropy.h"

#include <math.h>

#include "os/integers.h"
#include "runtime/dtype.h"
#include "runtime/storage.h"

static struct quern_row_values values_of(const struct quern_columns_problem *problem, int64_t row) {
    const quern_row_stats stats = problem->rows.stats[row];
    return quern_row_values(&problem->rows, &stats);
}

/* ---- soft targets of all columns ---- */

static const char *soft_target_at(const struct quern_columns_problem *problem, int64_t row, int64_t column) {
    const size_t bytes = quern_dtype_bytes((quern_dtype)problem->soft_dtype);
    return (const char *)problem->soft_targets + (size_t)(row * problem->soft_stride + column) * bytes;
}

static double target_of_label(const struct quern_columns_problem *problem, int64_t row) {
    const char *code = soft_target_at(problem, row, quern_row_label(&problem->rows, row));
    float target;
    quern_storage_widen((quern_dtype)problem->soft_dtype, code, NULL, 1, &target);
    return (double)target;
}

/* Whether a row has a divergence that is a number. */
static bool diverges(const struct quern_columns_problem *problem, int64_t row, const struct quern_row_values *values) {
    return quern_row_label(&problem->rows, row) >= 0 && !values->is_infinite && !isnan(values->sum);
}

bool quern_cross_entropy_soft_part(const struct quern_columns_problem *problem, int64_t row, int64_t part, float *room,
                                   struct quern_soft_part *soft) {
    const struct quern_row_values values = values_of(problem, row);
    const int64_t first = part * QUERN_CPU_PART_COLUMNS;
    const int64_t columns = quern_smaller(problem->rows.vocab - first, QUERN_CPU_PART_COLUMNS);
    const quern_dtype dtype = (quern_dtype)problem->soft_dtype;
    const char *targets = soft_target_at(problem, row, first);
    if (!diverges(problem, row, &values)) return false;
    if (room) quern_storage_widen(dtype, targets, NULL, columns, room);
    *soft = (struct quern_soft_part){
        .targets = room ? (const void *)room : targets, .are_f32 = room || dtype == QUERN_F32,
        .of_targets = problem->of_targets, .of_model = problem->of_model,
        .lse = problem->rows.stats[row].origin + values.log_sum,
        .upstream = problem->grad_divergence ? (float)quern_row_of_divergence(problem, row) : 0};
    return true;
}

static struct quern_divergence_sums soft_sums_of(const struct quern_columns_problem *problem, int64_t row) {
    const struct quern_row_values values = values_of(problem, row);
    struct quern_divergence_sums sums = {0, 0, 0, 0};
    if (!diverges(problem, row, &values)) return sums;
    for (int64_t part = 0; part < problem->rows.part_count; part++) {
        const struct quern_divergence_sums *more = &problem->soft_sums[part * problem->rows.rows + row];
        sums.value += more->value, sums.slope += more->slope;
    }
    quern_divergence_add(&sums, problem, target_of_label(problem, row), 0 - values.of_label);
    return sums;
}

/* ---- the divergence ---- */

static struct quern_divergence_sums listed_sums_of(const struct quern_columns_problem *problem, int64_t row) {
    struct quern_divergence_sums sums = {0, 0, 0, 0};
    for (int64_t i = row * problem->given_count; i < (row + 1) * problem->given_count; i++)
        quern_divergence_add(&sums, problem, (double)problem->target_probs[i], (double)problem->given_log_probs[i]);
    return sums;
}

static struct quern_row_divergence divergence_of(const struct quern_columns_problem *problem, int64_t row) {
    return quern_row_divergence(problem, problem->soft_targets ? soft_sums_of(problem, row) : listed_sums_of(problem, row));
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
    const quern_dtype dtype = (quern_dtype)problem->grad_dtype;
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
    if (!diverges(problem, row, &listed.values)) return;
    if (listed.gradient.kind == QUERN_GRADIENT_NAN) return;
    const float *logits = problem->own_logits + row * (count + 1);
    write_column(&listed, listed.label, problem->soft_targets ? target_of_label(problem, row) : -1, logits[count]);
    for (int64_t i = 0; i < count && problem->target_probs; i++)
        write_column(&listed, problem->given_ids[row * count + i], (double)problem->target_probs[row * count + i], logits[i]);
}
