/*
 * Cross-entropy over special rows: skipped, infinite, NaN; each next to ordinary rows, which must not change.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

/*
 * For every row of the table: several vocab sizes, each reduction, each placement; without options and with all that the row
 * supports; in one call, with the gradient later, and in shards.
 */
static void check_row_everywhere(const struct test_device *device, const struct quern_kernel *row, cross_entropy_edit *change) {
    static const int64_t full[] = {5, 64, 777, 2100}, small[] = {5, 777};
    const int64_t *vocabs = test_is_small() ? small : full;
    for (size_t i = 0; i < (test_is_small() ? COUNT(small) : COUNT(full)); i++) {
        if (vocabs[i] > row->key.cross_entropy.vocab_max) continue;
        for (int k = 0; k < 9; k += (int)test_size(1, 2)) {
            struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = row->key.cross_entropy.logits, .rows = 7, .vocab = vocabs[i], .padding = 2,
                .reduction = (quern_reduction)(k % 3), .placement = (enum placement)(k / 3),
                .labels_dtype = k % 4 < 2 ? QUERN_INT32 : QUERN_INT64, .has_upstream = k == 4, .seed = i + 3);
            /* On the emulator the rows of the table share the cases. */
            const bool is_plain_turn = (k / 2 + i) % 2;
            if (!test_is_small() || is_plain_turn) cross_entropy_check_edited(device, &c, change);
            if (test_is_small() && is_plain_turn) continue;
            cross_entropy_add_options(&c, row, k % 3 == 1);
            c.shards = k % 4 ? (int)(k + i) % 5 : 0;
            c.split = (uint64_t)k;
            c.later = k % 4 == 0;
            cross_entropy_check_edited(device, &c, change);
        }
    }
}

static void check_everywhere(cross_entropy_edit *change) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        OPEN_ROW(device, row);
        check_row_everywhere(&device, row, change);
    }
}
#define TEST_EDIT(suite, name) \
    TEST_EACH(check_everywhere, suite, name, const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs)

/* ---- labels ---- */

TEST_EDIT(cross_entropy_rows, all_ignored) {
    for (int64_t r = 0; r < c->rows; r++) cross_entropy_set_label(c, inputs, r, c->ignore_index);
}

static void spoil_labels(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    bool wide = c->labels_dtype == QUERN_INT64;
    cross_entropy_set_label(c, inputs, 1, c->vocab);
    cross_entropy_set_label(c, inputs, 2, -1);
    cross_entropy_set_label(c, inputs, 4, wide ? INT64_MAX : INT32_MAX);
    cross_entropy_set_label(c, inputs, 5, wide ? INT64_MIN : INT32_MIN);
}

Test(cross_entropy_rows, bad_labels) { check_everywhere(spoil_labels); }

TEST_EDIT(cross_entropy_rows, nothing_but_bad_labels) {
    for (int64_t r = 0; r < c->rows; r++) cross_entropy_set_label(c, inputs, r, c->vocab + r);
}

/*
 * So many rows that warps share the losses, each 1024 rows at a time, and one row more than the blocks that take the rows sum.
 * The last labels are bad.
 */
static void spoil_last_labels(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = c->rows - 3; r < c->rows; r++) cross_entropy_set_label(c, inputs, r, c->vocab);
}

static void spoil_labels_from_the_middle(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = c->rows / 2; r < c->rows; r += 700) cross_entropy_set_label(c, inputs, r, -1);
}

/* Kernels whose blocks count the labels and sum the losses of the call as well. */
static bool serves_call(const struct quern_kernel *row) {
    return test_kind() == QUERN_CUDA && row->cuda.elements && !row->key.cross_entropy.full;
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, labels_and_losses_of_several_warps) {
    const int64_t most = row->cuda.threads / 32 * 2 * 1024, counts[] = {1024, 1025, 2047, most, most + 1};
    const bool has_all = serves_call(row) && row->key.cross_entropy.logits == QUERN_F32;
    for (size_t i = 0; i < (has_all ? COUNT(counts) : 3); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = counts[i], .vocab = 3, .ignored_every = 5,
            .reduction = i % 2 ? QUERN_REDUCTION_MEAN : QUERN_REDUCTION_SUM, .has_weights = row->key.cross_entropy.full,
            .labels_dtype = i % 3 ? QUERN_INT64 : QUERN_INT32);
        cross_entropy_check_edited(device, &c, i % 2 ? spoil_last_labels : spoil_labels_from_the_middle);
    }
}

/*
 * The blocks of rows share the labels in slices of 512, whose numbers a warp gathers 256 at a time.  Bad labels are in the first
 * and the last of them, or in the last row alone.
 */
static void spoil_last_label(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    cross_entropy_set_label(c, inputs, c->rows - 1, c->vocab);
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, labels_of_many_slices) {
    static const int64_t counts[] = {511, 512, 513, 5 * 512, 256 * 512 + 1};
    if (!serves_call(row)) return;
    const bool is_short = row->cuda.threads == 32 && row->key.cross_entropy.logits == QUERN_F32;
    for (size_t i = 0; i < COUNT(counts) - !is_short; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = counts[i], .vocab = 1, .ignored_every = 5,
            .reduction = QUERN_REDUCTION_MEAN, .labels_dtype = i % 2 ? QUERN_INT64 : QUERN_INT32);
        cross_entropy_check_edited(device, &c, i % 2 ? spoil_last_label : spoil_labels_from_the_middle);
    }
}

/*
 * On the emulator the blocks of this order begin while others still count labels, and are interrupted where their threads meet.  A
 * block that takes what it finds has another divisor than the mean's, and a loss that is summed too early lacks rows.
 */
static void check_side_by_side(const struct test_device *device, const struct quern_kernel *row) {
    if (!serves_call(row)) return;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 20, .vocab = 33,
                                                         .ignored_every = 4, .reduction = QUERN_REDUCTION_MEAN, .seed = seed);
        cross_entropy_check_edited(device, &c, spoil_labels);
    }
}

Test(cross_entropy_rows, blocks_side_by_side) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("blocks belong to GPUs");
    setenv("QUERN_EMULATOR_ORDER", "random:7", 1);
    setenv("QUERN_EMULATOR_SMS", "4", 1);
    for_each_cross_entropy_row(check_side_by_side);
}

/* Labels that would look valid to a kernel that reads only their low 32 bits. */
TEST_EDIT(cross_entropy_rows, labels_beyond_32_bits) {
    if (c->labels_dtype != QUERN_INT64) return;
    cross_entropy_set_label(c, inputs, 0, (int64_t)1 << 32);
    cross_entropy_set_label(c, inputs, 3, ((int64_t)1 << 32) + 1);
    cross_entropy_set_label(c, inputs, 6, ((int64_t)1 << 32) - 100);
}

/* ignore_index is compared as 64 bits for any label type. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, every_ignore_index) {
    static const int64_t indices[] = {-100, -1, 0, 3, 63, 64, 1000, INT32_MIN, ((int64_t)1 << 32) + 3, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 2 * COUNT(indices); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = test_size(40, 12), .vocab = 64, .ignore_index = indices[i / 2],
            .labels_dtype = i % 2 ? QUERN_INT32 : QUERN_INT64, .reduction = QUERN_REDUCTION_MEAN);
        bool fits = c.labels_dtype == QUERN_INT64 || (c.ignore_index >= INT32_MIN && c.ignore_index <= INT32_MAX);
        c.ignored_every = fits ? 4 : 0;
        cross_entropy_check_case(device, &c);
    }
}

/* A skipped row's gradient is exactly zero for any content of the row and any upstream gradient. */
TEST_EDIT(cross_entropy_rows, skipped_rows_may_hold_anything) {
    static const double values[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    for (int64_t r = 1; r <= 4; r++) {
        cross_entropy_set_label(c, inputs, r, r % 2 ? c->ignore_index : -7);
        for (int64_t j = 0; j < c->vocab; j += r) cross_entropy_set_logit(c, inputs, r, j, values[(r + j) % 3]);
        inputs->upstream[inputs->upstream_first + r * c->upstream_stride] = r % 2 ? (float)NAN : (float)INFINITY;
    }
}

/* ---- infinities ---- */

/* -infinity in single columns, in whole tiles, at the row's ends, in all columns except one. */
TEST_EDIT(cross_entropy_rows, masked_columns) {
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t label = cross_entropy_get_label(c, inputs, r);
        for (int64_t j = 0; j < c->vocab; j++) {
            bool masked = r == 0   ? j % 3 == 1
                          : r == 1 ? j < c->vocab * 3 / 4
                          : r == 2 ? j > c->vocab / 4
                          : r == 3 ? j / 32 % 2 == 0
                          : r == 4 ? j / 1024 % 2 == 0
                                   : j != label;
            if (masked && j != label) cross_entropy_set_logit(c, inputs, r, j, (double)-INFINITY);
        }
    }
}

/* One logit far above the others, which a kernel that looks at few columns first may not have seen. */
static void raise_one(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t column = (r * 531 + 17) % c->vocab;
        cross_entropy_set_logit(c, inputs, r, column, 3.37 * (double)(r + 1));
    }
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, one_logit_far_above_the_others) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 30, .vocab = 4099,
                                                     .spread = 0.5);
    if (c.vocab > row->key.cross_entropy.vocab_max) c.vocab = row->key.cross_entropy.vocab_max - 1;
    cross_entropy_check_edited(device, &c, raise_one);
}

static void mask_rows(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 1; r < c->rows; r += 2)
        for (int64_t j = 0; j < c->vocab; j++) cross_entropy_set_logit(c, inputs, r, j, (double)-INFINITY);
}

Test(cross_entropy_rows, masked_rows) { check_everywhere(mask_rows); }

/* No column but the label's is above -infinity, and that is so low that its exponential is 0 relative to most origins. */
TEST_EDIT(cross_entropy_rows, a_label_alone_far_below_zero) {
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t label = cross_entropy_get_label(c, inputs, r);
        for (int64_t j = 0; j < c->vocab; j++) cross_entropy_set_logit(c, inputs, r, j, j == label ? -300 : (double)-INFINITY);
    }
}

/*
 * Rows that several blocks of a cluster share and whose sums are computed once more: a logit far above the others, no other logit
 * than the label's, none at all.
 */
static void make_strange(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    cross_entropy_set_logit(c, inputs, 0, c->vocab - 77, 250);
    for (int64_t j = 0; j < c->vocab; j++) {
        cross_entropy_set_logit(c, inputs, 1, j, j == cross_entropy_get_label(c, inputs, 1) ? -300 : (double)-INFINITY);
        cross_entropy_set_logit(c, inputs, 2, j, (double)-INFINITY);
    }
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, strange_rows_of_a_cluster) {
    if (device->kind != QUERN_CUDA || !row->cuda.cluster) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 4,
                                                     .vocab = row->key.cross_entropy.vocab_max / 15);
    cross_entropy_add_options(&c, row, false);
    cross_entropy_check_edited(device, &c, make_strange);
}

/* Infinite rows that no report counts. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, masked_rows_without_a_report) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 5, .vocab = 70,
                                                     .reduction = QUERN_REDUCTION_MEAN, .no_report = true);
    cross_entropy_check_edited(device, &c, mask_rows);
    c.shards = 2;
    cross_entropy_check_edited(device, &c, mask_rows);
}

TEST_EDIT(cross_entropy_rows, masked_labels) {
    for (int64_t r = 1; r < c->rows; r += 2)
        cross_entropy_set_logit(c, inputs, r, cross_entropy_get_label(c, inputs, r), (double)-INFINITY);
}

/* ---- NaN and +infinity: the row is NaN, the others are unchanged ---- */

static void put_in_odd_rows(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, double value) {
    for (int64_t r = 1; r < c->rows; r += 2) {
        int64_t column = r == 1 ? 0 : r == 3 ? c->vocab - 1 : cross_entropy_get_label(c, inputs, r);
        cross_entropy_set_logit(c, inputs, r, column, value);
    }
}

TEST_EDIT(cross_entropy_rows, nan_stays_in_its_row) { put_in_odd_rows(c, inputs, (double)NAN); }

/* The maximum must not lose a NaN among -infinities; this includes a negative NaN. */
TEST_EDIT(cross_entropy_rows, nan_among_infinities) {
    mask_rows(c, inputs);
    for (int64_t r = 1; r < c->rows; r += 2)
        cross_entropy_set_logit(c, inputs, r, (r * 31) % c->vocab, (double)NAN);
}

TEST_EDIT(cross_entropy_rows, positive_infinity_is_nan) { put_in_odd_rows(c, inputs, (double)INFINITY); }

/* NaN or +infinity in every single column in turn: no lane, tail or tile may lose it. */
static void spoil_diagonal(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 0; r < c->rows; r++) cross_entropy_set_logit(c, inputs, r, r, r % 2 ? (double)NAN : (double)INFINITY);
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, nan_in_every_column) {
    const int64_t vocab = test_size(301, 75);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = vocab, .vocab = vocab,
                                                     .offset = 1);
    cross_entropy_check_edited(device, &c, spoil_diagonal);
}

/* The label in every column in turn, where another column has most of the probability. */
static void label_diagonal(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 0; r < c->rows; r++) cross_entropy_set_label(c, inputs, r, r);
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_rows, label_in_every_column) {
    const int64_t vocab = test_size(523, 75);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = vocab, .vocab = vocab,
                                                     .placement = IN_PLACE);
    cross_entropy_check_edited(device, &c, label_diagonal);
}

/* ---- the sum over the rows ---- */

/* Losses are summed in double: in fp32 a loss of 2^24 would swallow all the others, which are log(2) each. */
Test(cross_entropy_rows, small_losses_beside_a_huge_one) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int mean = 0; mean < 2; mean++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = QUERN_F32, .rows = test_size(100000, 3000), .vocab = 2, .placement = NO_GRAD,
            .reduction = mean ? QUERN_REDUCTION_MEAN : QUERN_REDUCTION_SUM);
        OPEN_INPUTS(inputs, &c);
        for (int64_t r = 0; r < c.rows; r++) {
            cross_entropy_set_label(&c, &inputs, r, 0);
            cross_entropy_set_logit(&c, &inputs, r, 0, 0);
            cross_entropy_set_logit(&c, &inputs, r, 1, r ? 0 : 0x1p24);
        }
        OPEN_OUTPUTS(outputs, &device, &c, &inputs);
        const double sum = 0x1p24 + (double)(c.rows - 1) * log(2), expected = mean ? sum / (double)c.rows : sum;
        check(fabs((double)*outputs.loss - expected) <= 1e-7 * expected, "the loss is %.9g instead of %.9g",
              (double)*outputs.loss, expected);
    }
}
