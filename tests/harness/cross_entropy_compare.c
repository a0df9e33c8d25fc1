/* Compares the outputs of a case of harness/cross_entropy_case.h with the oracle or with another run. */
#include <inttypes.h>

#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "oracle/dtype.h"

/* ---- with the oracle ---- */

struct expected {
    quern_cross_entropy_report report;
    double divisor;                    /* of the mean: the weights of the counted rows' labels */
    struct cross_entropy_options options;
    double loss, loss_tolerance;       /* of all rows */
    double *logits, *weights;          /* [vocab]: of one row; of the classes */
    struct cross_entropy_value *grad;  /* [vocab], of one row */
};

/* The state of the comparison for one row. */
struct place {
    const struct cross_entropy_case *c;
    const struct cross_entropy_outputs *outputs;
    int64_t row, label;
};

static double stored_grad(const struct place *place, int64_t column) {
    return dtype_load(cross_entropy_grad_dtype(place->c), place->outputs->grad,
                      place->row * cross_entropy_grad_stride(place->c) + column);
}

/* The per-row outputs; the loss is one of them if it is not reduced. */
enum { LOSS, LSE, LOG_PROB, ENTROPY, OUTPUTS };
static const char *const output_names[OUTPUTS] = {"loss", "lse", "log_prob", "entropy"};

static const float *output_of(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs, int which) {
    const bool has_loss = c->reduction == QUERN_REDUCTION_NONE && !c->no_loss;
    const float *all[OUTPUTS] = {has_loss ? outputs->loss : NULL, outputs->lse, outputs->log_prob, outputs->entropy};
    return all[which];
}

static void count_rows(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, struct expected *expected) {
    quern_cross_entropy_report *report = &expected->report;
    report->first_bad_row = -1;
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t label = cross_entropy_get_label(c, inputs, r);
        switch (cross_entropy_row_kind(label, c->ignore_index, c->vocab)) {
        case ROW_COUNTED:
            report->counted_rows++;
            expected->divisor += c->has_weights ? (double)inputs->weights[label] : 1;
            break;
        case ROW_IGNORED: report->ignored_rows++; break;
        case ROW_BAD_LABEL:
            if (report->bad_labels++ == 0) report->first_bad_row = r;
        }
    }
}

static void compare_skipped_stats(const struct place *place, const quern_row_stats *stats) {
    const quern_row_stats skipped = {.origin = (double)-INFINITY, .label_value = -INFINITY, .argmax = -1};
    check(!memcmp(stats, &skipped, sizeof skipped), "row %" PRId64 " is skipped, but its stats are others [%s]", place->row,
          cross_entropy_describe(place->c));
}

static void compare_skipped_row(const struct place *place) {
    const struct cross_entropy_case *c = place->c;
    const int64_t row = place->row;
    for (int i = 0; i < OUTPUTS; i++) {
        const float *stored = output_of(c, place->outputs, i);
        check(!stored || stored[row] == 0, "row %" PRId64 " is skipped but its %s is %g [%s]", row, output_names[i],
              (double)stored[row], cross_entropy_describe(c));
    }
    check(!place->outputs->argmax || place->outputs->argmax[row] == -1, "row %" PRId64 " is skipped but has an argmax [%s]", row,
          cross_entropy_describe(c));
    if (place->outputs->stats) compare_skipped_stats(place, &place->outputs->stats[row]);
    for (int64_t j = 0; place->outputs->grad && j < c->vocab; j++)
        check(stored_grad(place, j) == 0, "row %" PRId64 " is skipped but its gradient in column %" PRId64 " is %g [%s]", row, j,
              stored_grad(place, j), cross_entropy_describe(c));
}

static void compare_grad(const struct place *place, const struct cross_entropy_exact *exact, const struct expected *expected) {
    const quern_dtype dtype = cross_entropy_grad_dtype(place->c);
    double sum = 0, allowed = 0;
    for (int64_t j = 0; j < place->c->vocab; j++) {
        const double stored = stored_grad(place, j);
        check(cross_entropy_grad_is_close(dtype, stored, expected->grad[j], exact),
              "gradient of row %" PRId64 " (label %" PRId64 "), column %" PRId64 " is %.9g instead of %.9g +- %.2g [%s]",
              place->row, place->label, j, stored, expected->grad[j].exact, expected->grad[j].tolerance,
              cross_entropy_describe(place->c));
        sum += stored;
        allowed += dtype_ulp(dtype, expected->grad[j].exact) / 2 + expected->grad[j].tolerance;
    }
    check(isnan(exact->grad_sum) || isinf(sum) || fabs(sum - exact->grad_sum) <= allowed,
          "gradient of row %" PRId64 " sums to %g instead of %g, beyond %g [%s]", place->row, sum, exact->grad_sum, allowed,
          cross_entropy_describe(place->c));
}

/* The value of the sums for any origin; if they are infinite or NaN, the outputs show it. */
static void compare_stats(const struct place *place, const struct cross_entropy_exact *exact, const struct expected *expected) {
    const quern_row_stats *stats = &place->outputs->stats[place->row];
    const double y = cross_entropy_y(expected->logits[place->label], &expected->options);
    const double lse = stats->origin + log(stats->others + exp((double)stats->label_value - stats->origin));
    check(stats->has_label == 1, "row %" PRId64 " has lost its label [%s]", place->row, cross_entropy_describe(place->c));
    if (!isfinite(exact->largest)) return;
    const double above = stats->origin - exact->largest, most = 1 + log((double)place->c->vocab);
    const double rounding = expected->options.inverse_temperature != 1 ? 2.4e-7 * fabs(exact->largest) : 0;
    check(above >= -1 - rounding && above <= most + rounding, "row %" PRId64 ": origin %g, largest %g [%s]",
          place->row, stats->origin, exact->largest, cross_entropy_describe(place->c));
    check(cross_entropy_output_is_close(lse, exact->lse), "row %" PRId64 ": the stats' sums give lse %.9g instead of %.9g [%s]",
          place->row, lse, exact->lse.exact, cross_entropy_describe(place->c));
    check(cross_entropy_output_is_close((double)stats->label_value, (struct cross_entropy_value){y, 2.4e-7 * fabs(y)}),
          "row %" PRId64 ": label_value %.9g instead of %.9g [%s]", place->row, (double)stats->label_value, y,
          cross_entropy_describe(place->c));
    check((double)stats->label_weight == (expected->weights ? expected->weights[place->label] : 1),
          "row %" PRId64 ": label_weight %g [%s]", place->row, (double)stats->label_weight, cross_entropy_describe(place->c));
}

static void compare_outputs(const struct place *place, const struct cross_entropy_exact *exact, const struct expected *expected) {
    const struct cross_entropy_value values[OUTPUTS] = {exact->loss, exact->lse, exact->log_prob, exact->entropy};
    for (int i = 0; i < OUTPUTS; i++) {
        const float *stored = output_of(place->c, place->outputs, i);
        if (!stored) continue;
        check(cross_entropy_output_is_close((double)stored[place->row], values[i]),
              "%s of row %" PRId64 " is %.9g instead of %.9g +- %.2g [%s]", output_names[i], place->row,
              (double)stored[place->row], values[i].exact, values[i].tolerance, cross_entropy_describe(place->c));
    }
    if (place->outputs->argmax)
        check(cross_entropy_argmax_is_close(expected->logits, place->c->vocab, place->outputs->argmax[place->row],
                                            &expected->options, exact),
              "argmax of row %" PRId64 " is %" PRId64 " instead of %" PRId64 " [%s]", place->row,
              place->outputs->argmax[place->row], exact->argmax, cross_entropy_describe(place->c));
    if (place->outputs->stats) compare_stats(place, exact, expected);
}

static struct cross_entropy_upstream upstream_of(const struct place *place, const struct cross_entropy_inputs *inputs,
                                                 const struct expected *expected) {
    const struct cross_entropy_case *c = place->c;
    const double scale = (double)c->grad_scale;
    const int64_t at = inputs->upstream_first + place->row * c->upstream_stride;
    struct cross_entropy_upstream upstream = {.loss = scale};
    if (c->has_upstream) upstream.loss *= (double)inputs->upstream[at];
    if (c->reduction == QUERN_REDUCTION_MEAN) upstream.loss = expected->divisor != 0 ? upstream.loss / expected->divisor : 0;
    if (c->has_log_prob_grad) upstream.log_prob = scale * (double)inputs->log_prob_upstream[at];
    if (c->has_entropy_grad) upstream.entropy = scale * (double)inputs->entropy_upstream[at];
    return upstream;
}

static double inverse_temperature_of(const struct place *place, const struct cross_entropy_inputs *inputs) {
    const struct cross_entropy_case *c = place->c;
    const float inverse = (c->inverse_temperature != 0 ? c->inverse_temperature : 1)
                        * (c->has_temperatures ? inputs->temperatures[place->row] : 1);
    return inverse > 0 && isfinite(inverse) ? (double)inverse : (double)NAN;
}

/* Compares a counted row; the gradient goes to expected->grad. */
static struct cross_entropy_exact exact_row(const struct place *place, const struct cross_entropy_inputs *inputs,
                                            struct expected *expected) {
    const struct cross_entropy_case *c = place->c;
    for (int64_t j = 0; j < c->vocab; j++) expected->logits[j] = cross_entropy_get_logit(c, inputs, place->row, j);
    expected->options.inverse_temperature = inverse_temperature_of(place, inputs);
    return cross_entropy_exact_row(expected->logits, c->vocab, place->label, &expected->options,
                                   upstream_of(place, inputs, expected), place->outputs->grad ? expected->grad : NULL);
}

static void compare_counted_row(const struct place *place, const struct cross_entropy_inputs *inputs, struct expected *expected) {
    const struct cross_entropy_exact exact = exact_row(place, inputs, expected);
    expected->loss += exact.loss.exact;
    expected->loss_tolerance += exact.loss.tolerance;
    expected->report.infinite_rows += exact.infinite;
    compare_outputs(place, &exact, expected);
    if (place->outputs->grad) compare_grad(place, &exact, expected);
}

static void compare_report(const struct cross_entropy_case *c, const quern_cross_entropy_report *got,
                           const quern_cross_entropy_report *expected) {
    check(got->counted_rows == expected->counted_rows && got->ignored_rows == expected->ignored_rows
              && got->bad_labels == expected->bad_labels && got->first_bad_row == expected->first_bad_row
              && got->infinite_rows == expected->infinite_rows,
          "report says counted %" PRId64 ", ignored %" PRId64 ", bad %" PRId64 " from %" PRId64 ", infinite %" PRId64
          " instead of %" PRId64 ", %" PRId64 ", %" PRId64 " from %" PRId64 ", %" PRId64 " [%s]",
          got->counted_rows, got->ignored_rows, got->bad_labels, got->first_bad_row, got->infinite_rows,
          expected->counted_rows, expected->ignored_rows, expected->bad_labels, expected->first_bad_row,
          expected->infinite_rows, cross_entropy_describe(c));
}

static void compare_total(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs,
                          const struct expected *expected) {
    double divisor = 1, loss = expected->loss;
    if (c->reduction == QUERN_REDUCTION_MEAN && expected->divisor != 0) divisor = expected->divisor;
    if (c->reduction == QUERN_REDUCTION_MEAN && expected->divisor == 0) loss = 0;
    const struct cross_entropy_value value = {loss / divisor, (expected->loss_tolerance + 1e-6 * fabs(loss)) / divisor};
    check(cross_entropy_output_is_close((double)outputs->loss[0], value), "loss is %.9g instead of %.9g [%s]",
          (double)outputs->loss[0], value.exact, cross_entropy_describe(c));
}

static void open_expected(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                          struct expected *expected) {
    *expected = (struct expected){
        .options = {(double)c->label_smoothing, (double)c->z_loss, (double)c->softcap, NULL, 0},
        .logits = malloc((size_t)c->vocab * sizeof(double)),
        .weights = c->has_weights ? malloc((size_t)c->vocab * sizeof(double)) : NULL,
        .grad = malloc((size_t)c->vocab * sizeof *expected->grad),
    };
    check(expected->logits && expected->grad && (expected->weights || !c->has_weights), "no memory");
    for (int64_t j = 0; c->has_weights && j < c->vocab; j++) expected->weights[j] = (double)inputs->weights[j];
    expected->options.class_weights = expected->weights;
    count_rows(c, inputs, expected);
}

static void close_expected(struct expected *expected) {
    free(expected->logits);
    free(expected->weights);
    free(expected->grad);
}

void cross_entropy_compare(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                           const struct cross_entropy_outputs *outputs) {
    struct expected expected;
    open_expected(c, inputs, &expected);
    for (int64_t r = 0; r < c->rows; r++) {
        const struct place place = {c, outputs, r, cross_entropy_get_label(c, inputs, r)};
        if (cross_entropy_row_kind(place.label, c->ignore_index, c->vocab) == ROW_COUNTED)
            compare_counted_row(&place, inputs, &expected);
        else
            compare_skipped_row(&place);
    }
    if (c->reduction != QUERN_REDUCTION_NONE && !c->no_loss) compare_total(c, outputs, &expected);
    if (!c->no_report) compare_report(c, &outputs->report, &expected.report);
    close_expected(&expected);
}

void cross_entropy_check_inputs(const struct test_device *device, const struct cross_entropy_case *c,
                                const struct cross_entropy_inputs *inputs) {
    OPEN_OUTPUTS(outputs, device, c, inputs);
    cross_entropy_compare(c, inputs, &outputs);
}

void cross_entropy_check_edited(const struct test_device *device, const struct cross_entropy_case *c, cross_entropy_edit *edit) {
    OPEN_INPUTS(inputs, c);
    if (edit) edit(c, &inputs);
    cross_entropy_check_inputs(device, c, &inputs);
}

void cross_entropy_check_case(const struct test_device *device, const struct cross_entropy_case *c) {
    cross_entropy_check_edited(device, c, NULL);
}

/* ---- with another run ---- */

static void check_same_bytes(const struct cross_entropy_case *c, const void *a, const void *b, size_t bytes, const char *what,
                             const char *name) {
    check(!a || !b || !memcmp(a, b, bytes), "%s: another %s [%s]", what, name, cross_entropy_describe(c));
}

void cross_entropy_check_same(const struct cross_entropy_case *c, const struct cross_entropy_outputs *a,
                              const struct cross_entropy_outputs *b, const char *what) {
    const size_t rows = (size_t)c->rows;
    check_same_bytes(c, a->loss, b->loss, (size_t)cross_entropy_loss_count(c) * sizeof(float), what, "loss");
    check_same_bytes(c, a->lse, b->lse, rows * sizeof(float), what, "lse");
    check_same_bytes(c, a->log_prob, b->log_prob, rows * sizeof(float), what, "log_prob");
    check_same_bytes(c, a->entropy, b->entropy, rows * sizeof(float), what, "entropy");
    check_same_bytes(c, a->argmax, b->argmax, rows * sizeof(int64_t), what, "argmax");
    check_same_bytes(c, a->stats, b->stats, rows * sizeof(quern_row_stats), what, "row of stats");
    check_same_bytes(c, a->grad, b->grad, (size_t)cross_entropy_grad_bytes(c), what, "gradient");
    check_same_bytes(c, &a->report, &b->report, sizeof a->report, what, "report");
}

void cross_entropy_check_row_alone(const struct test_device *device, const struct cross_entropy_case *c,
                                   const struct cross_entropy_inputs *inputs, const struct cross_entropy_outputs *all, int64_t row,
                                   int64_t offset, enum placement placement) {
    const int64_t element = (int64_t)quern_dtype_bytes(cross_entropy_grad_dtype(c));
    struct cross_entropy_case one = *c;
    struct cross_entropy_inputs part = *inputs;
    one.rows = 1, one.offset = offset, one.placement = placement;
    part.logits = (char *)inputs->logits + row * cross_entropy_logits_stride(c) * (int64_t)quern_dtype_bytes(c->logits_dtype);
    part.labels = (char *)inputs->labels + row * (int64_t)quern_dtype_bytes(c->labels_dtype);
    part.temperatures = inputs->temperatures + row;
    part.upstream_count = 1;
    OPEN_OUTPUTS(alone, device, &one, &part);
    struct cross_entropy_outputs expected = {.loss = all->loss + row, .report = alone.report};
    expected.grad = (char *)all->grad + row * cross_entropy_grad_stride(c) * element;
    if (all->lse) expected.lse = all->lse + row;
    if (all->log_prob) expected.log_prob = all->log_prob + row;
    if (all->entropy) expected.entropy = all->entropy + row;
    if (all->argmax) expected.argmax = all->argmax + row;
    if (all->stats) expected.stats = all->stats + row;
    cross_entropy_check_same(&one, &alone, &expected, "a row alone");
}

/*
 * Within one ulp of the value, or of the terms whose difference it is: the tolerance is 10^-6 of their magnitudes, an ulp at most
 * 2^-23 of them.  On GPUs 16 ulps: twice the tolerance, since sums are made in another order and relative to another origin.
 */
static bool are_near(quern_dtype dtype, double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    const double ulp = dtype_ulp(dtype, fmax(fabs(a), fabs(b))), units = test_kind() == QUERN_CPU ? 1 : 16;
    return fabs(a - b) <= fmax(dtype == QUERN_F32 ? units * ulp : ulp, units * 0x1p-23 / 1e-6 * tolerance);
}

static void check_near_outputs(const struct place *place, const struct cross_entropy_outputs *other,
                               const struct cross_entropy_exact *exact, const char *what) {
    const struct cross_entropy_value values[OUTPUTS] = {exact->loss, exact->lse, exact->log_prob, exact->entropy};
    for (int i = 0; i < OUTPUTS; i++) {
        const float *x = output_of(place->c, place->outputs, i), *y = output_of(place->c, other, i);
        check(!x || !y || are_near(QUERN_F32, (double)x[place->row], (double)y[place->row], values[i].tolerance),
              "%s: %s of row %" PRId64 " is %.9g and %.9g [%s]", what, output_names[i], place->row, (double)x[place->row],
              (double)y[place->row], cross_entropy_describe(place->c));
    }
}

static void check_near_grad(const struct place *place, const struct cross_entropy_outputs *other, const struct expected *expected,
                            const char *what) {
    const struct place there = {place->c, other, place->row, place->label};
    for (int64_t j = 0; j < place->c->vocab; j++) {
        const double x = stored_grad(place, j), y = stored_grad(&there, j);
        check(are_near(cross_entropy_grad_dtype(place->c), x, y, expected->grad[j].tolerance),
              "%s: gradient of row %" PRId64 " (label %" PRId64 "), column %" PRId64 " is %.9g and %.9g [%s]", what, place->row,
              place->label, j, x, y, cross_entropy_describe(place->c));
    }
}

void cross_entropy_check_near(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                              const struct cross_entropy_outputs *a, const struct cross_entropy_outputs *b, const char *what) {
    struct expected expected;
    open_expected(c, inputs, &expected);
    for (int64_t r = 0; r < c->rows; r++) {
        const struct place place = {c, a, r, cross_entropy_get_label(c, inputs, r)};
        if (cross_entropy_row_kind(place.label, c->ignore_index, c->vocab) != ROW_COUNTED) continue;
        const struct cross_entropy_exact exact = exact_row(&place, inputs, &expected);
        check_near_outputs(&place, b, &exact, what);
        if (a->grad && b->grad) check_near_grad(&place, b, &expected, what);
    }
    check(c->reduction == QUERN_REDUCTION_NONE || are_near(QUERN_F32, (double)a->loss[0], (double)b->loss[0], 0),
          "%s: loss is %.9g and %.9g [%s]", what, (double)a->loss[0], (double)b->loss[0], cross_entropy_describe(c));
    check_same_bytes(c, a->argmax, b->argmax, (size_t)c->rows * sizeof(int64_t), what, "argmax");
    check_same_bytes(c, &a->report, &b->report, sizeof a->report, what, "report");
    close_expected(&expected);
}
