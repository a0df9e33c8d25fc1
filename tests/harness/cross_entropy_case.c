#include "harness/cross_entropy_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/cross_entropy.h"
#include "oracle/dtype.h"

/* Seeds of the kinds of random numbers within one case. */
enum { LOGITS = 1, LABELS = 2, UPSTREAM = 3 };

/* ---- shapes ---- */

int64_t cross_entropy_logits_stride(const struct cross_entropy_case *c) {
    return c->vocab + c->padding;
}

int64_t cross_entropy_grad_stride(const struct cross_entropy_case *c) {
    return c->vocab + (c->placement == IN_PLACE ? c->padding : c->grad_padding);
}

static size_t logits_bytes(const struct cross_entropy_case *c) {
    return (size_t)(c->rows * cross_entropy_logits_stride(c)) * quern_dtype_bytes(c->logits_dtype);
}

static size_t grad_bytes(const struct cross_entropy_case *c) {
    return (size_t)(c->rows * cross_entropy_grad_stride(c)) * quern_dtype_bytes(c->logits_dtype);
}

static int64_t loss_count(const struct cross_entropy_case *c) {
    return c->reduction == QUERN_REDUCTION_NONE ? c->rows : 1;
}

static const char *describe(const struct cross_entropy_case *c) {
    static char text[512];
    snprintf(text, sizeof text,
             "%s %s, %" PRId64 " x %" PRId64 " (+%" PRId64 ", +%" PRId64 "), reduction %d, placement %d, ignore %" PRId64
             ", upstream %d x %" PRId64 ", offset %" PRId64 ", logits %g + %g * normal + %g at the label",
             quern_dtype_name(c->logits_dtype), quern_dtype_name(c->labels_dtype), c->rows, c->vocab, c->padding,
             c->grad_padding, c->reduction, c->placement, c->ignore_index, c->has_upstream, c->upstream_stride, c->offset,
             c->center, c->spread, c->peak);
    return text;
}

/* ---- inputs ---- */

void cross_entropy_set_logit(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t column, double value) {
    dtype_store(c->logits_dtype, inputs->logits, row * cross_entropy_logits_stride(c) + column, value);
}

void cross_entropy_set_label(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t label) {
    if (c->labels_dtype == QUERN_INT32) ((int32_t *)inputs->labels)[row] = (int32_t)label;
    else ((int64_t *)inputs->labels)[row] = label;
}

int64_t cross_entropy_get_label(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row) {
    return c->labels_dtype == QUERN_INT32 ? ((int32_t *)inputs->labels)[row] : ((int64_t *)inputs->labels)[row];
}

/* The first row has the first label and the last row the last one; the others are random. */
static int64_t make_label(const struct cross_entropy_case *c, int64_t row) {
    if (c->ignored_every && row % c->ignored_every == c->ignored_every - 1) return c->ignore_index;
    if (row == 0) return 0;
    if (row == c->rows - 1) return c->vocab - 1;
    return random_below(c->seed * 8 + LABELS, (uint64_t)row, c->vocab);
}

static void make_row(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row) {
    int64_t label = make_label(c, row);
    cross_entropy_set_label(c, inputs, row, label);
    for (int64_t j = 0; j < c->vocab; j++) {
        double noise = random_normal(c->seed * 8 + LOGITS, (uint64_t)(row * c->vocab + j));
        cross_entropy_set_logit(c, inputs, row, j, c->center + c->spread * noise + (j == label ? c->peak : 0));
    }
}

static void make_upstream(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    int64_t span = c->rows > 0 ? (c->rows - 1) * llabs(c->upstream_stride) : 0;
    inputs->upstream_count = span + 1;
    inputs->upstream_first = c->upstream_stride < 0 ? span : 0;
    inputs->upstream = malloc((size_t)inputs->upstream_count * sizeof(float));
    check(inputs->upstream, "no memory");
    fill_pattern(inputs->upstream, (size_t)inputs->upstream_count * sizeof(float));
    for (int64_t r = 0; r < c->rows; r++)
        inputs->upstream[inputs->upstream_first + r * c->upstream_stride] =
            (float)(0.25 + random_normal(c->seed * 8 + UPSTREAM, c->upstream_stride ? (uint64_t)r : 0));
}

void cross_entropy_make_inputs(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    *inputs = (struct cross_entropy_inputs){
        .logits = malloc(logits_bytes(c) + 1),
        .labels = malloc((size_t)c->rows * quern_dtype_bytes(c->labels_dtype) + 1),
    };
    check(inputs->logits && inputs->labels, "no memory");
    fill_pattern(inputs->logits, logits_bytes(c));
    for (int64_t r = 0; r < c->rows; r++) make_row(c, inputs, r);
    make_upstream(c, inputs);
}

void cross_entropy_free_inputs(struct cross_entropy_inputs *inputs) {
    free(inputs->logits);
    free(inputs->labels);
    free(inputs->upstream);
}

/* ---- the call ---- */

struct buffers {
    struct buffer logits, labels, grad, loss, upstream, report, workspace;
};

quern_cross_entropy_args cross_entropy_args_of(const struct cross_entropy_case *c) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = c->logits_dtype;
    args.labels_dtype = c->labels_dtype;
    args.reduction = c->reduction;
    args.rows = c->rows;
    args.vocab = c->vocab;
    args.logits_stride = c->padding ? cross_entropy_logits_stride(c) : 0;
    args.ignore_index = c->ignore_index;
    args.grad_stride = c->placement == OUT_OF_PLACE && c->grad_padding ? cross_entropy_grad_stride(c) : 0;
    args.grad_loss_stride = c->upstream_stride;
    args.grad_scale = c->grad_scale;
    return args;
}

static void open_buffers(const struct test_device *device, const struct cross_entropy_case *c,
                         const struct cross_entropy_inputs *inputs, struct buffers *b) {
    size_t element = quern_dtype_bytes(c->logits_dtype), label = quern_dtype_bytes(c->labels_dtype);
    size_t offset = (size_t)c->offset;
    buffer_open(&b->logits, device, logits_bytes(c), offset * element, inputs->logits);
    buffer_open(&b->labels, device, (size_t)c->rows * label, offset * label, inputs->labels);
    buffer_open(&b->grad, device, c->placement == OUT_OF_PLACE ? grad_bytes(c) : 0, offset * element, NULL);
    buffer_open(&b->loss, device, (size_t)loss_count(c) * sizeof(float), offset * sizeof(float), NULL);
    buffer_open(&b->upstream, device, (size_t)inputs->upstream_count * sizeof(float), offset * sizeof(float),
                inputs->upstream);
    buffer_open(&b->report, device, sizeof(quern_cross_entropy_report), offset * 8, NULL);
}

static void close_buffers(struct buffers *b) {
    struct buffer *all[] = {&b->logits, &b->labels, &b->grad, &b->loss, &b->upstream, &b->report, &b->workspace};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buffer_close(all[i]);
}

static void call(const struct test_device *device, const struct cross_entropy_case *c,
                 const struct cross_entropy_inputs *inputs, struct buffers *b) {
    quern_cross_entropy_args args = cross_entropy_args_of(c);
    args.logits = b->logits.data;
    args.labels = b->labels.data;
    args.grad = c->placement == NO_GRAD ? NULL : c->placement == IN_PLACE ? b->logits.data : b->grad.data;
    args.loss = c->no_loss ? NULL : b->loss.data;
    args.grad_loss = c->has_upstream ? (float *)b->upstream.data + inputs->upstream_first : NULL;
    args.report = c->no_report ? NULL : b->report.data;
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, &args, &bytes));
    buffer_open(&b->workspace, device, bytes, 16, NULL);
    quern_status status = quern_cross_entropy(device->quern, &args, bytes ? b->workspace.data : NULL, bytes, device->stream);
    check(status == QUERN_OK, "%s: %s [%s]", quern_status_string(status), error_detail(), describe(c));
}

static void *copy_of(struct buffer *buffer) {
    void *copy = malloc(buffer->bytes + 1);
    check(copy, "no memory");
    memcpy(copy, buffer_read(buffer), buffer->bytes);
    return copy;
}

static void check_unchanged(const struct cross_entropy_case *c, struct buffer *buffer, const void *before,
                            const char *name) {
    check(!buffer->bytes || !memcmp(buffer_read(buffer), before, buffer->bytes), "%s was changed [%s]", name, describe(c));
}

static void check_padding(const struct cross_entropy_case *c, const void *grad) {
    size_t element = quern_dtype_bytes(c->logits_dtype);
    size_t stride = (size_t)cross_entropy_grad_stride(c), vocab = (size_t)c->vocab;
    for (size_t r = 0; r < (size_t)c->rows; r++)
        check(holds_pattern((const char *)grad + (r * stride + vocab) * element, (stride - vocab) * element),
              "padding of row %zu was written [%s]", r, describe(c));
}

void cross_entropy_run(const struct test_device *device, const struct cross_entropy_case *c,
                       const struct cross_entropy_inputs *inputs, struct cross_entropy_outputs *outputs) {
    struct buffers b;
    open_buffers(device, c, inputs, &b);
    call(device, c, inputs, &b);
    *outputs = (struct cross_entropy_outputs){
        .grad = c->placement == NO_GRAD ? NULL : copy_of(c->placement == IN_PLACE ? &b.logits : &b.grad),
        .loss = copy_of(&b.loss),
    };
    memcpy(&outputs->report, buffer_read(&b.report), sizeof outputs->report);
    check_unchanged(c, &b.labels, inputs->labels, "labels");
    check_unchanged(c, &b.upstream, inputs->upstream, "grad_loss");
    if (c->placement != IN_PLACE) check_unchanged(c, &b.logits, inputs->logits, "logits");
    if (c->no_loss) check(holds_pattern(outputs->loss, b.loss.bytes), "an unwanted loss was written");
    if (c->no_report) check(holds_pattern(&outputs->report, b.report.bytes), "an unwanted report was written");
    if (outputs->grad) check_padding(c, outputs->grad);
    close_buffers(&b);
}

void cross_entropy_free_outputs(struct cross_entropy_outputs *outputs) {
    free(outputs->grad);
    free(outputs->loss);
}

/* ---- the comparison ---- */

struct expected {
    quern_cross_entropy_report report;
    double loss, loss_tolerance;   /* of all rows */
    double *logits, *grad;         /* [vocab], of one row */
};

static quern_cross_entropy_report count_rows(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs) {
    quern_cross_entropy_report report = {.first_bad_row = -1};
    for (int64_t r = 0; r < c->rows; r++) {
        switch (cross_entropy_row_kind(cross_entropy_get_label(c, inputs, r), c->ignore_index, c->vocab)) {
        case ROW_COUNTED: report.counted_rows++; break;
        case ROW_IGNORED: report.ignored_rows++; break;
        case ROW_BAD_LABEL:
            if (report.bad_labels++ == 0) report.first_bad_row = r;
        }
    }
    return report;
}

static bool loss_is_close(double stored, double exact, double tolerance) {
    if (isnan(exact)) return isnan(stored);
    if (isinf(exact)) return stored == exact;
    return fabs(stored - exact) <= fmax(tolerance, dtype_ulp(QUERN_F32, exact));
}

static double stored_grad(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs, int64_t row,
                          int64_t column) {
    return dtype_load(c->logits_dtype, outputs->grad, row * cross_entropy_grad_stride(c) + column);
}

static void compare_skipped_row(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs,
                                int64_t row) {
    if (c->reduction == QUERN_REDUCTION_NONE && !c->no_loss)
        check(outputs->loss[row] == 0, "row %" PRId64 " is skipped but its loss is %g [%s]", row, (double)outputs->loss[row],
              describe(c));
    for (int64_t j = 0; outputs->grad && j < c->vocab; j++)
        check(stored_grad(c, outputs, row, j) == 0, "row %" PRId64 " is skipped but its gradient in column %" PRId64
              " is %g [%s]", row, j, stored_grad(c, outputs, row, j), describe(c));
}

static void compare_grad(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs, int64_t row,
                         int64_t label, const struct cross_entropy_exact *exact, const struct expected *expected) {
    double sum = 0, allowed = 0;
    for (int64_t j = 0; j < c->vocab; j++) {
        double stored = stored_grad(c, outputs, row, j);
        double exponent = j == label ? exact->gap : exact->largest - expected->logits[j];
        check(cross_entropy_grad_is_close(c->logits_dtype, stored, expected->grad[j], exponent, exact),
              "gradient of row %" PRId64 ", column %" PRId64 " is %.9g instead of %.9g [%s]", row, j, stored,
              expected->grad[j], describe(c));
        sum += stored;
        allowed += dtype_ulp(c->logits_dtype, expected->grad[j]) / 2;
        allowed += cross_entropy_grad_tolerance(expected->grad[j], exponent);
    }
    check(isnan(exact->loss) || fabs(sum) <= allowed,
          "gradient of row %" PRId64 " sums to %g, more than %g [%s]", row, sum, allowed, describe(c));
}

static void compare_counted_row(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                                const struct cross_entropy_outputs *outputs, int64_t row, struct expected *expected) {
    double scale = (double)c->grad_scale;
    if (c->has_upstream) scale *= (double)inputs->upstream[inputs->upstream_first + row * c->upstream_stride];
    if (c->reduction == QUERN_REDUCTION_MEAN) scale /= (double)expected->report.counted_rows;
    for (int64_t j = 0; j < c->vocab; j++)
        expected->logits[j] = dtype_load(c->logits_dtype, inputs->logits, row * cross_entropy_logits_stride(c) + j);
    int64_t label = cross_entropy_get_label(c, inputs, row);
    struct cross_entropy_exact exact =
        cross_entropy_exact_row(expected->logits, c->vocab, label, scale, outputs->grad ? expected->grad : NULL);

    expected->loss += exact.loss;
    expected->loss_tolerance += exact.loss_tolerance;
    expected->report.infinite_rows += exact.infinite;
    if (c->reduction == QUERN_REDUCTION_NONE && !c->no_loss)
        check(loss_is_close((double)outputs->loss[row], exact.loss, exact.loss_tolerance),
              "loss of row %" PRId64 " is %.9g instead of %.9g [%s]", row, (double)outputs->loss[row], exact.loss,
              describe(c));
    if (outputs->grad) compare_grad(c, outputs, row, label, &exact, expected);
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
          expected->infinite_rows, describe(c));
}

static void compare_total(const struct cross_entropy_case *c, const struct cross_entropy_outputs *outputs,
                          const struct expected *expected) {
    double divisor = c->reduction == QUERN_REDUCTION_MEAN && expected->report.counted_rows
                   ? (double)expected->report.counted_rows : 1;
    double tolerance = (expected->loss_tolerance + 1e-6 * fabs(expected->loss)) / divisor;
    check(loss_is_close((double)outputs->loss[0], expected->loss / divisor, tolerance), "loss is %.9g instead of %.9g [%s]",
          (double)outputs->loss[0], expected->loss / divisor, describe(c));
}

void cross_entropy_compare(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                           const struct cross_entropy_outputs *outputs) {
    struct expected expected = {
        .report = count_rows(c, inputs),
        .logits = malloc((size_t)c->vocab * sizeof(double)),
        .grad = malloc((size_t)c->vocab * sizeof(double)),
    };
    check(expected.logits && expected.grad, "no memory");
    for (int64_t r = 0; r < c->rows; r++) {
        if (cross_entropy_row_kind(cross_entropy_get_label(c, inputs, r), c->ignore_index, c->vocab) == ROW_COUNTED)
            compare_counted_row(c, inputs, outputs, r, &expected);
        else
            compare_skipped_row(c, outputs, r);
    }
    if (c->reduction != QUERN_REDUCTION_NONE && !c->no_loss) compare_total(c, outputs, &expected);
    if (!c->no_report) compare_report(c, &outputs->report, &expected.report);
    free(expected.logits);
    free(expected.grad);
}

void cross_entropy_check_case(const struct test_device *device, const struct cross_entropy_case *c) {
    struct cross_entropy_inputs inputs;
    struct cross_entropy_outputs outputs;
    cross_entropy_make_inputs(c, &inputs);
    cross_entropy_run(device, c, &inputs, &outputs);
    cross_entropy_compare(c, &inputs, &outputs);
    cross_entropy_free_outputs(&outputs);
    cross_entropy_free_inputs(&inputs);
}

void cross_entropy_check_same(const struct cross_entropy_case *c, const struct cross_entropy_outputs *a,
                              const struct cross_entropy_outputs *b, const char *what) {
    check(!memcmp(a->loss, b->loss, (size_t)loss_count(c) * sizeof(float)), "%s: another loss [%s]", what, describe(c));
    check(!a->grad || !memcmp(a->grad, b->grad, grad_bytes(c)), "%s: another gradient [%s]", what, describe(c));
    check(!memcmp(&a->report, &b->report, sizeof a->report), "%s: another report [%s]", what, describe(c));
}
