/*
 * Strict labels.  On a CPU a bad label fails the call before anything is written.  On a GPU its row keeps every byte, and all
 * else has the bits of a call without strict labels.  The last layer is in test_linear_cross_entropy.c.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include <inttypes.h>

#include "harness/buffer.h"
#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "harness/told.h"

/* ---- bad labels ---- */

/* Labels that are bad for any vocab of this suite.  The low halves of the last two are good. */
static const int64_t bad_labels[] = {-1, INT32_MIN, INT32_MAX, -101, INT64_MIN, INT64_MAX, (int64_t)1 << 32, -((int64_t)1 << 32)};

static int64_t bad_label(const struct cross_entropy_case *c, int i) {
    const int count = c->labels_dtype == QUERN_INT32 ? 4 : COUNT(bad_labels), place = i % (count + 1);
    return place < count ? bad_labels[place] : c->vocab;
}

/* Makes every second row bad, or the last row alone, and ignores another one.  Returns the first bad row. */
static int64_t spoil(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int i) {
    const int64_t which = i / 4 % 3, first = which == 2 ? c->rows - 1 : which;
    for (int64_t r = first; r < c->rows; r += 2) cross_entropy_set_label(c, inputs, r, bad_label(c, i + (int)(r / 2)));
    cross_entropy_set_label(c, inputs, first ? first - 1 : 1, c->ignore_index);
    return first;
}

/* Without strict labels a line of the log tells of the rows that a call on a CPU skips, or its three steps on one shard. */
static void check_told(const struct test_device *device, quern_cross_entropy_args *args, bool in_steps, const char *expected) {
    static _Alignas(16) char workspace[1 << 16];
    quern_row_stats stats[4];
    told.lines = 0;
    args->stats = in_steps ? stats : NULL;
    quern_set_log(keep_line, NULL, QUERN_LOG_ERROR);
    if (!in_steps) check_ok(quern_cross_entropy(device->quern, args, workspace, sizeof workspace, NULL));
    else {
        check_ok(quern_cross_entropy_stats(device->quern, args, workspace, sizeof workspace, NULL));
        check_ok(quern_cross_entropy_combine(device->quern, args, stats, 1, workspace, sizeof workspace, NULL));
        check_ok(quern_cross_entropy_gradient(device->quern, args, workspace, sizeof workspace, NULL));
    }
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    check(told.lines == (expected != NULL), "%d lines", told.lines);
    check(!expected || !strcmp(told.line, expected), "\"%s\" instead of \"%s\"", told.line, expected);
}

Test(strict_labels, a_cpu_tells_of_skipped_rows) {
    enum { ROWS = 4, VOCAB = 5 };
    static float logits[ROWS * VOCAB], loss[ROWS];
    static const int32_t bad[ROWS] = {1, -100, 5, -7}, good[ROWS] = {0, 4, -100, 2};
    if (test_kind() != QUERN_CPU) cr_skip_test("a GPU counts them in its report");
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT32, .rows = ROWS,
                                                       .vocab = VOCAB, .logits = logits, .grad = logits, .loss = loss);
    for (int i = 0; i < 6; i++) {
        args.reduction = (quern_reduction)(i % 3);
        args.labels = bad;
        check_told(&device, &args, i / 3, "[cpu] cross_entropy: 2 of 4 rows are skipped for their labels; the first is row 2, "
                   "whose label is 5: expected 0 to 4, or ignore_index -100");
        args.labels = good;
        check_told(&device, &args, i / 3, NULL);
    }
}

/* ---- what may not be written ---- */

static void keep(void *output, int64_t row, size_t bytes) {
    if (output) fill_pattern((char *)output + (size_t)row * bytes, bytes);
}

/* Replaces the rows that are kept by what the buffers of a call hold before it. */
static void keep_rows(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                      struct cross_entropy_outputs *outputs) {
    const size_t grad_bytes = (size_t)cross_entropy_grad_stride(c) * quern_dtype_bytes(c->logits_dtype);
    for (int64_t r = 0; r < c->rows; r++) {
        if (!cross_entropy_is_kept(c, inputs, r)) continue;
        if (c->reduction == QUERN_REDUCTION_NONE || c->refused) keep(outputs->loss, c->reduction ? 0 : r, sizeof(float));
        keep(outputs->lse, r, sizeof(float));
        keep(outputs->log_prob, r, sizeof(float));
        keep(outputs->entropy, r, sizeof(float));
        keep(outputs->argmax, r, sizeof(int64_t));
        keep(outputs->stats, r, sizeof(quern_row_stats));
        keep(outputs->grad, r, grad_bytes);
        if (c->placement == IN_PLACE)
            memcpy((char *)outputs->grad + (size_t)r * grad_bytes, (char *)inputs->logits + (size_t)r * grad_bytes, grad_bytes);
    }
    if (c->refused) fill_pattern(&outputs->report, sizeof outputs->report);
}

/* On a CPU the call is refused; on a GPU only the bad rows keep their bytes. */
static void check_bad_rows(const struct test_device *device, struct cross_entropy_case *c, int i) {
    struct cross_entropy_outputs expected CLOSED_BY(cross_entropy_free_outputs), strict CLOSED_BY(cross_entropy_free_outputs);
    char refusal[160];
    OPEN_INPUTS(inputs, c);
    const int64_t first = spoil(c, &inputs, i);
    cross_entropy_run(device, c, &inputs, &expected);
    cross_entropy_compare(c, &inputs, &expected);
    check(expected.report.first_bad_row == first, "the case has no bad row");
    snprintf(refusal, sizeof refusal,
             "args.labels[%" PRId64 "] is %" PRId64 ": expected 0 to %" PRId64 ", or ignore_index %" PRId64, first,
             cross_entropy_get_label(c, &inputs, first), c->vocab - 1, c->ignore_index);
    c->strict = true;
    c->refused = device->kind == QUERN_CPU ? refusal : NULL;
    cross_entropy_run(device, c, &inputs, &strict);
    keep_rows(c, &inputs, &expected);
    cross_entropy_check_same(c, &strict, &expected, "strict labels");
}

/* ---- every kernel, every combination of outputs, steps and types ---- */

enum way { ONE_CALL, GRADIENT_LATER, ONE_SHARD, THREE_SHARDS, WAYS };

static struct cross_entropy_case case_of(const struct quern_kernel *row, int i) {
    static const quern_dtype labels[] = {QUERN_INT32, QUERN_INT64};
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 6 + i % 2,
                                                     .vocab = 61 + i, .padding = i % 4, .outputs = WANT_WHAT_IS_FREE,
                                                     .ignore_index = i % 3 ? -100 : 5, .has_upstream = i % 5 == 1);
    int n = i;
    c.reduction = (quern_reduction)(n % 3), n /= 3;
    c.placement = (enum placement)(n % 3), n /= 3;
    c.labels_dtype = labels[n % 2], n /= 2;
    c.later = n % WAYS == GRADIENT_LATER && c.placement != NO_GRAD;
    c.shards = n % WAYS == ONE_SHARD ? 1 : n % WAYS == THREE_SHARDS ? 3 : 0;
    if (row->key.cross_entropy.full || i % 2) cross_entropy_add_options(&c, row, i % 4 == 1);
    return c;
}

/* A step coprime to the numbers of choices still meets every pair of them. */
TEST_CROSS_ENTROPY_ROWS(strict_labels, a_bad_row_is_not_written) {
    for (int i = 0; i < 3 * 3 * 2 * WAYS; i += (int)test_size(1, 7)) {
        struct cross_entropy_case c = case_of(row, i), portable = c;
        check_bad_rows(device, &c, i);
        cross_entropy_make_portable(&portable);
        check_bad_rows(device, &portable, i);
    }
}

/* Rows of several parts: all blocks of a cluster must leave the row. */
TEST_CROSS_ENTROPY_ROWS(strict_labels, a_bad_row_of_several_parts) {
    const int64_t long_row = 2 * cross_entropy_part_columns(row->key.cross_entropy.logits) + 77;
    const int64_t longest = row->key.cross_entropy.vocab_max;
    for (int i = 0; i < 2; i++) {
        struct cross_entropy_case c = case_of(row, i ? 1 : 3);  /* a sum out of place, the losses in place */
        c.rows = 4;
        c.vocab = long_row < longest ? long_row : longest;
        check_bad_rows(device, &c, i + 3);
    }
}

/*
 * Few long rows, which the library divides among workers.  On a GPU it does so only with all options, and only if the row fits no
 * block that takes rows in turns: here no kernel is named that keeps whole rows.  An emulated GPU needs more workers.
 */
Test(strict_labels, a_bad_row_of_a_split_call) {
    setenv("QUERN_EMULATOR_SMS", "32", 1);
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    char by_parts[64];
    snprintf(by_parts, sizeof by_parts, "cross_entropy_*_st*__%s", test_target());
    OPEN_DEVICE(device, test_kind() == QUERN_CUDA ? by_parts : NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    for (int i = 0; i < 6; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtypes[i % 3], .rows = 4, .vocab = cross_entropy_part_columns(dtypes[i % 3]) + 1001, .filled = 5,
            .reduction = (quern_reduction)(i % 3), .placement = i / 3 ? OUT_OF_PLACE : IN_PLACE,
            .outputs = i % 2 ? WANT_EVERYTHING : WANT_LSE, .softcap = i % 2 ? 30 : 0);
        const long long launches = device.kind == QUERN_CUDA ? cuda_launches() : -1;
        check_bad_rows(&device, &c, i);
        /* Two calls, each with the whole rows, or the labels, the stats, their combination, the gradient and perhaps a sum. */
        const int each = c.softcap != 0 ? 4 + (c.reduction != QUERN_REDUCTION_NONE) : 1;
        if (launches >= 0) check(cuda_launches() - launches == 2 * each, "%lld launches", cuda_launches() - launches);
    }
}

/* ---- good labels ---- */

TEST_CROSS_ENTROPY_ROWS(strict_labels, good_and_ignored_labels_give_the_same_bits) {
    for (int i = 0; i < 72; i += 11) {
        struct cross_entropy_case c = case_of(row, i);
        c.rows = i ? c.rows : 0;
        c.ignored_every = 3;
        OPEN_INPUTS(inputs, &c);
        OPEN_OUTPUTS(expected, device, &c, &inputs);
        c.strict = true;
        OPEN_OUTPUTS(strict, device, &c, &inputs);
        cross_entropy_check_same(&c, &strict, &expected, "strict labels");
    }
}

/* ---- all rows bad ---- */

Test(strict_labels, a_call_of_bad_rows_only) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 3; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 3, .vocab = 70, .strict = true,
                                                         .reduction = (quern_reduction)i, .placement = IN_PLACE);
        OPEN_INPUTS(inputs, &c);
        for (int64_t r = 0; r < c.rows; r++) cross_entropy_set_label(&c, &inputs, r, c.vocab + r);
        c.refused = device.kind == QUERN_CPU ? "args.labels[0] is 70: expected 0 to 69, or ignore_index -100" : NULL;
        OPEN_OUTPUTS(outputs, &device, &c, &inputs);
        check(!memcmp(outputs.grad, inputs.logits, (size_t)cross_entropy_grad_bytes(&c)), "the logits were written");
        const size_t loss_bytes = (size_t)cross_entropy_loss_count(&c) * sizeof(float);
        check(c.reduction && !c.refused ? outputs.loss[0] == 0 : holds_pattern(outputs.loss, loss_bytes), "the loss is %g",
              (double)outputs.loss[0]);
        check(c.refused || (outputs.report.bad_labels == 3 && outputs.report.first_bad_row == 0), "the report counts other rows");
    }
}
