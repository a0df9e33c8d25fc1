/*
 * Cross-entropy over ordinary rows: every kernel of the target under test, every combination of the options that it supports, many
 * shapes.  Special rows are in test_cross_entropy_rows.c, determinism in test_determinism.c.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include <float.h>

#include "harness/check.h"
#include "harness/cross_entropy_case.h"

static quern_dtype dtype_of(const struct quern_kernel *row) { return row->key.cross_entropy.logits; }
static bool is_full(const struct quern_kernel *row) { return row->key.cross_entropy.full; }

/* ---- the table ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy, every_row_is_reachable) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 1, .vocab = 1,
                                                     .softcap = is_full(row) ? 30 : 0);
    quern_cross_entropy_args args = cross_entropy_args_of(&c);
    char text[4096], chosen[256];
    snprintf(chosen, sizeof chosen, "%s: chosen", row->name);
    quern_cross_entropy_explain(device->quern, &args, text, sizeof text);
    check(strstr(text, chosen), "%s is not chosen:\n%s", row->name, text);
}

/* Every type has a kernel, and at least one that takes any vocab. */
Test(cross_entropy, table_serves_every_dtype_and_vocab) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        int64_t longest = 0;
        for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row))
            if (dtype_of(row) == dtypes[d] && row->key.cross_entropy.vocab_max > longest)
                longest = row->key.cross_entropy.vocab_max;
        check(longest == INT64_MAX, "%s of %s ends at vocab %lld", test_target(), quern_dtype_name(dtypes[d]),
              (long long)longest);
    }
}

/* ---- options ---- */

/* The next of a few choices, from a number that is consumed step by step. */
static int choose(int *n, int choices) {
    const int choice = *n % choices;
    *n /= choices;
    return choice;
}

/* The options of a policy gradient: each with each within 36 cases. */
static void set_policy(struct cross_entropy_case *c, int k) {
    static const float inverses[] = {0, 0.7f, 1, 3};
    c->has_log_prob_grad = k / 4 % 3 == 1;
    c->has_entropy_grad = k / 2 % 3 == 1;
    c->inverse_temperature = inverses[k % 4];
    c->has_temperatures = k % 9 == 4;
}

/* The k-th case: its choices are those of i, and what is below them cycles at other rates. */
static struct cross_entropy_case combination(const struct quern_kernel *row, int i, int k) {
    static const float smoothings[] = {0, 0.1f, 1}, caps[] = {0, 4, 50}, z_losses[] = {0, 1e-2f};
    static const int64_t ignored[] = {-100, 0, 17};
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 6 + k % 2, .vocab = k % 3 ? 150 : 83,
                                                     .seed = (uint64_t)k + 1);
    int n = i;
    c.z_loss = z_losses[choose(&n, 2)];
    c.reduction = (quern_reduction)choose(&n, 3);
    c.placement = (enum placement)choose(&n, 3);
    c.labels_dtype = choose(&n, 2) ? QUERN_INT32 : QUERN_INT64;
    c.ignore_index = ignored[choose(&n, 3)];
    c.has_upstream = choose(&n, 2);
    if (is_full(row)) c.softcap = caps[choose(&n, 3)];
    if (is_full(row)) c.label_smoothing = smoothings[choose(&n, 3)];
    if (is_full(row)) c.has_weights = choose(&n, 2);
    if (is_full(row)) set_policy(&c, k);
    c.ignored_every = 3 + k % 2;
    c.grad_scale = k % 3 ? 0.5f : 1024;
    c.shards = k % 5 > 2 ? 1 + k % 4 : 0;
    c.split = (uint64_t)k;
    c.later = k % 7 == 0;
    c.filled = k % 4;
    c.padding = k % 3;
    c.grad_padding = k % 5;
    c.upstream_stride = k % 11 - 5;
    c.outputs = (unsigned)(k * 7) & (is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE);
    return c;
}

/* A step coprime to the numbers of choices still meets every pair of them. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, every_combination_of_options) {
    const int of_all = 2 * 3 * 3 * 2 * 3 * 2, total = is_full(row) ? of_all * 3 * 3 * 2 : of_all;
    const int step = test_is_small() ? (is_full(row) ? 97 : 5) : is_full(row) ? 11 : 1;
    for (int i = 0; i < total; i += step) {
        const struct cross_entropy_case c = combination(row, i, i / step);
        cross_entropy_check_case(device, &c);
    }
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy, only_what_is_wanted_is_written) {
    for (int i = 0; i < 12; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 5, .vocab = 130, .reduction = (quern_reduction)(i % 3),
            .no_loss = i / 3 % 2, .no_report = i / 6, .placement = i % 2 ? IN_PLACE : OUT_OF_PLACE, .ignored_every = 4);
        cross_entropy_check_case(device, &c);
        c.placement = NO_GRAD;
        cross_entropy_check_case(device, &c);
    }
}

/* No output depends on another being requested. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, each_output_alone) {
    const unsigned known = is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE;
    for (unsigned wanted = 1; wanted <= WANT_EVERYTHING; wanted *= 2) {
        if (!(wanted & known)) continue;
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 5, .vocab = 333, .outputs = wanted, .placement = NO_GRAD, .no_loss = true,
            .no_report = true, .ignored_every = 4);
        cross_entropy_check_case(device, &c);
        c.shards = 2;
        cross_entropy_check_case(device, &c);
    }
}

/* A GPU divides a single long row among its multiprocessors; here its stages run without the one for the gradient. */
Test(cross_entropy, a_long_row_without_its_gradient) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtypes[i], .rows = 1, .vocab = 20011, .placement = NO_GRAD,
                                                         .reduction = QUERN_REDUCTION_MEAN, .outputs = WANT_WHAT_IS_FREE);
        cross_entropy_check_case(&device, &c);
        c.placement = OUT_OF_PLACE;
        cross_entropy_check_case(&device, &c);
    }
}

/* ---- shapes ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy, vocabs_around_every_boundary) {
    static const int64_t vocabs[] = {1,  2,   3,   4,   5,   7,   8,   9,   15,  16,   17,   31,   32,   33,   63,   64,
                                     65, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1023, 1024, 1025, 2047, 2049, 5000};
    for (size_t i = 0; i < COUNT(vocabs) && vocabs[i] <= row->key.cross_entropy.vocab_max; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 3, .vocab = vocabs[i], .placement = i % 2 ? IN_PLACE : OUT_OF_PLACE,
            .reduction = QUERN_REDUCTION_MEAN, .seed = i + 1);
        cross_entropy_check_case(device, &c);
        c.offset = (int64_t)i % 16, c.padding = (int64_t)i % 7, c.grad_padding = (int64_t)i % 3;
        cross_entropy_add_options(&c, row, i % 2);
        c.filled = (int64_t)(i * 5) % 70;
        if (!test_is_small() || i % 3) cross_entropy_check_case(device, &c);
        if (test_is_small() && i % 3) continue;
        c.later = true;
        c.placement = OUT_OF_PLACE;
        cross_entropy_check_case(device, &c);
    }
}

/* One row at the kernel's limit, or well beyond that of the kernels that keep a row on the chip. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, rows_at_and_beyond_the_resident_limit) {
    int64_t longest = row->key.cross_entropy.vocab_max, beyond = test_size(300007, 140003);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = dtype_of(row), .rows = 2, .vocab = longest < beyond ? longest : beyond, .padding = 1,
        .grad_padding = 3, .reduction = QUERN_REDUCTION_NONE, .spread = 3);
    cross_entropy_check_case(device, &c);
    c.placement = IN_PLACE;
    c.seed = 2;
    cross_entropy_check_case(device, &c);
    if (longest == INT64_MAX) return;
    c.vocab = longest + 1;
    quern_cross_entropy_args args = cross_entropy_args_of(&c);
    char text[4096];
    quern_cross_entropy_explain(device->quern, &args, text, sizeof text);
    check(strstr(text, row->name) && !strstr(text, ": chosen"), "a row of %lld columns is accepted:\n%s", (long long)c.vocab,
          text);
}

/* Several parts per row, with the label in each, and enough rows for each worker. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, long_rows_with_options) {
    const int64_t longest = row->key.cross_entropy.vocab_max, wanted = test_size(100003, 20011);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = dtype_of(row), .rows = test_size(3, 9), .vocab = wanted < longest ? wanted : longest, .spread = 3,
        .peak = 2);
    cross_entropy_add_options(&c, row, false);
    cross_entropy_check_case(device, &c);
    c.rows = 1;
    c.placement = IN_PLACE;
    c.softcap = is_full(row) ? 30 : 0;
    c.seed = 2;
    cross_entropy_check_case(device, &c);
}

/* Sums over a million columns must not drift. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, a_million_columns) {
    if (test_is_small() || row->key.cross_entropy.vocab_max < 1000003) return;
    struct cross_entropy_case flat = CROSS_ENTROPY_CASE(
        .logits_dtype = dtype_of(row), .rows = 1, .vocab = 1000003, .spread = 1e-3, .center = 1);
    cross_entropy_check_case(device, &flat);
}

/* Every misalignment of rows and arrays: the stride shifts each row by another remainder. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, every_alignment) {
    for (int64_t offset = 0; offset < 16; offset++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 4, .vocab = 64 + 13 * offset, .offset = offset,
            .padding = offset * 7 % 16, .grad_padding = offset * 3 % 11, .has_upstream = true,
            .placement = offset % 2 ? IN_PLACE : OUT_OF_PLACE,
            .labels_dtype = offset % 3 ? QUERN_INT32 : QUERN_INT64);
        cross_entropy_check_case(device, &c);
        c.vocab = offset + 1;
        c.placement = OUT_OF_PLACE;
        cross_entropy_check_case(device, &c);
    }
}

/* More rows than fit a GPU at once, a block of the label stage, or a CPU thread's part. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, many_rows) {
    static const int64_t full[] = {1, 2, 31, 257, 1023, 1025, 5000}, small[] = {1, 2, 33, 260};
    const int64_t *counts = test_is_small() ? small : full;
    for (size_t i = 0; i < (test_is_small() ? COUNT(small) : COUNT(full)); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = counts[i], .vocab = 19, .ignored_every = 5,
            .reduction = i % 2 ? QUERN_REDUCTION_SUM : QUERN_REDUCTION_MEAN, .labels_dtype = QUERN_INT32);
        cross_entropy_check_case(device, &c);
    }
}

/* In one call, and in steps over one or two shards. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, zero_rows) {
    for (int i = 0; i < 9; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 0, .vocab = 100, .shards = i / 3,
                                                         .reduction = (quern_reduction)(i % 3));
        cross_entropy_check_case(device, &c);
        cross_entropy_add_options(&c, row, i % 2);
        cross_entropy_check_case(device, &c);
    }
}

/* ---- distributions: each option keeps its precision for any range of logits ---- */

/* One at a time, and all: a plain kernel has the first two. */
enum { WITHOUT, Z_LOSS, SMOOTHING, SOFTCAP, WEIGHTS, TEMPERATURE, LOG_PROB, ENTROPY, ALL, OPTIONS };

static int options_of(const struct quern_kernel *row) { return is_full(row) ? OPTIONS : SMOOTHING; }

static void set_option(struct cross_entropy_case *c, int option) {
    c->label_smoothing = option == SMOOTHING || option == ALL ? 0.2f : 0;
    c->z_loss = option == Z_LOSS || option == ALL ? 1e-3f : 0;
    c->softcap = option == SOFTCAP || option == ALL ? 30 : 0;
    c->has_weights = option == WEIGHTS || option == ALL;
    c->inverse_temperature = option == TEMPERATURE ? 3 : option == ALL ? 0.8f : 0;
    c->has_log_prob_grad = option == LOG_PROB || option == ALL;
    c->has_entropy_grad = option == ENTROPY || option == ALL;
}

static const struct distribution {
    double center, spread, peak;
} distributions[] = {
    {0, 1e-3, 0},     /* flat */
    {0, 0, 0},        /* all equal */
    {0, 4, 0},        /* as a trained model's */
    {0, 1, 12},       /* confident */
    {0, 1, 40},       /* so confident that 1 - p is below fp32's resolution */
    {0, 1, 80},
    {0, 1, -30},      /* confidently wrong */
    {1e4, 30, 0},     /* a large common offset; a softcap is saturated */
    {-1e4, 30, 0},
    {1e4, 8, 60},
    {6e4, 30, 0},     /* near the end of f16 */
    {1e6, 3, 0},      /* in fp32, columns differ by less than the rounding of y * log2(e) */
    {-1e10, 1e4, 0},
    {2e38, 1e37, 0},  /* y * log2(e) is infinite */
    {0, 200, 0},      /* one column takes all; a softcap is saturated on both sides */
    {-80, 10, 0},     /* naive exponentials underflow */
    {85, 10, 0},      /* ... or overflow */
    {40, 10, 20},     /* in the bend of a softcap, and beyond */
    {-60, 20, 60},
    {0, 1e-4, 0},     /* a softcap does nothing */
    {150, 10, 0},     /* a whole row far into a softcap: no larger gradient hides how exact the small slopes are */
};

static void check_distribution(const struct test_device *device, const struct quern_kernel *row, size_t i, int option) {
    if (option != WITHOUT && distributions[i].center > 1e30) return;  /* its square and the sum of two are no fp32 */
    for (int64_t vocab = 50; vocab <= test_size(3003, 1060); vocab += 1005) {
        if (test_is_small() && option != WITHOUT && (vocab > 50) == option % 2) continue;
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 4, .vocab = vocab, .center = distributions[i].center,
            .spread = distributions[i].spread, .peak = distributions[i].peak, .seed = i + 1);
        if (option != WITHOUT) c.outputs = is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE;
        set_option(&c, option);
        cross_entropy_check_case(device, &c);
        c.reduction = QUERN_REDUCTION_MEAN;
        if (option == WITHOUT) c.placement = IN_PLACE;
        else c.shards = 3, c.split = i;
        cross_entropy_check_case(device, &c);
    }
}

/* On the emulator the options of a full row share the distributions, and each has one vocab. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, flat_peaked_and_shifted_logits) {
    for (size_t i = 0; i < COUNT(distributions); i++)
        for (int option = WITHOUT; option < options_of(row); option++)
            if (!test_is_small() || !is_full(row) || option == WITHOUT || (option + (int)i) % 5 < 2)
                check_distribution(device, row, i, option);
}

/*
 * Caps whose powers leave the range of fp32, and those next to the bounds beyond which the CPU scales them.  The logits lie before,
 * in and beyond the bend.
 */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, tiny_and_huge_softcaps) {
    static const float caps[] = {0x1p-12f, 0x1.fffffep-13f, 0x1p-20f, 3e-10f, 1e-30f, FLT_MIN, 0x1p-140f,
                                 0x1p12f, 0x1.000002p12f, 1e6f, 1e20f, 1e38f, FLT_MAX};
    for (size_t i = 0; i < COUNT(caps) && is_full(row); i++)
        for (int bend = 0; bend < 3; bend++) {
            if (test_is_small() && ((int)i + bend) % 3) continue;
            const double spread = (double)caps[i] * (bend == 0 ? 0.01 : bend == 1 ? 0.7 : 3);
            struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = dtype_of(row), .rows = 3, .vocab = 150, .softcap = caps[i],
                .spread = spread < 1e-30 ? 1e-30 : spread > 1e4 ? 1e4 : spread, .seed = i + 1, .outputs = WANT_EVERYTHING);
            cross_entropy_check_case(device, &c);
            c.spread = 1, c.peak = 10;  /* far beyond a small cap, and far below a large one */
            cross_entropy_check_case(device, &c);
        }
}

/* All logits are 0 or the smallest of f16, which nevertheless lies in the bend of the cap. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, smallest_logits_under_a_softcap) {
    static const float caps[] = {0x1p-23f, 0x1p-24f, 0x1p-25f};
    for (size_t i = 0; i < COUNT(caps) && is_full(row); i++) {
        const struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 3, .vocab = 150, .softcap = caps[i], .spread = 0x1.8p-26, .seed = i + 1,
            .outputs = WANT_EVERYTHING);
        cross_entropy_check_case(device, &c);
    }
}

/* ---- outputs of full kernels ---- */

/* The maximum occurs at two to four positions; the first one differs from row to row. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, argmax_is_the_first) {
    if (!is_full(row)) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = test_size(300, 60), .vocab = 1100,
                                                     .outputs = WANT_ARGMAX);
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++)
        for (int64_t j = (r * 7) % 500, step = 1 + r * 13 % 600; j < c.vocab; j += step)
            cross_entropy_set_logit(&c, &inputs, r, j, 16);
    for (c.shards = 0; c.shards < 5; c.shards += 2) cross_entropy_check_inputs(device, &c, &inputs);
}

/* Counted rows with weight zero: no division by zero, in the loss or the gradient. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, rows_that_weigh_nothing) {
    if (!is_full(row)) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 4, .vocab = 60, .has_weights = true);
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++) inputs.weights[cross_entropy_get_label(&c, &inputs, r)] = 0;
    for (int i = 0; i < 9; i++) {
        c.reduction = (quern_reduction)(i % 3);
        c.shards = i / 3;
        cross_entropy_check_inputs(device, &c, &inputs);
    }
}

/* ---- the gradient against the kernel's own outputs, without the oracle's formulas ---- */

enum { SLOPES = 21, LABEL = 4 };

static void check_slope(const struct test_device *device, const struct cross_entropy_case *c) {
    const double h = 0x1p-6;
    OPEN_INPUTS(inputs, c);
    /* Row 2j has logit j raised, row 2j + 1 has it lowered, the last row is unchanged. */
    for (int64_t r = 0; r < c->rows; r++) {
        cross_entropy_set_label(c, &inputs, r, LABEL);
        for (int64_t j = 0; j < SLOPES; j++)
            cross_entropy_set_logit(c, &inputs, r, j, (double)(j % 5) / 4 - 0.5 + (j == r / 2 ? (r % 2 ? -h : h) : 0));
    }
    OPEN_OUTPUTS(outputs, device, c, &inputs);
    const double of_log_prob = c->has_log_prob_grad ? (double)*inputs.log_prob_upstream : 0;
    const double of_entropy = c->has_entropy_grad ? (double)*inputs.entropy_upstream : 0;
    for (int64_t j = 0; j < SLOPES; j++) {
        double change = (double)outputs.loss[2 * j] - (double)outputs.loss[2 * j + 1];
        if (c->outputs) change += of_log_prob * ((double)outputs.log_prob[2 * j] - (double)outputs.log_prob[2 * j + 1]);
        if (c->outputs) change += of_entropy * ((double)outputs.entropy[2 * j] - (double)outputs.entropy[2 * j + 1]);
        const double slope = change / (2 * h);
        const double grad = (double)((float *)outputs.grad)[2 * SLOPES * SLOPES + j];
        check(fabs(slope - grad) < 1e-4, "column %d: the gradient is %g, the slope %g [%s]", (int)j, grad, slope,
              cross_entropy_describe(c));
    }
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy, gradient_is_the_slope_of_the_outputs) {
    for (int option = WITHOUT; option < options_of(row) && dtype_of(row) == QUERN_F32; option++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 2 * SLOPES + 1, .vocab = SLOPES,
                                                         .upstream_stride = 0, .outputs = is_full(row) ? WANT_EVERYTHING : 0);
        set_option(&c, option);
        if (c.softcap != 0) c.softcap = 2;
        if (c.inverse_temperature > 1) c.inverse_temperature = 1.5f;  /* the quotient's error grows with its cube */
        if (c.z_loss != 0) c.z_loss = 0.125f;
        check_slope(device, &c);
    }
}

/* ---- temperatures ---- */

/* A row whose temperature is no number above 0 is NaN, and no other row is. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, temperatures_that_are_none) {
    static const float bad[] = {0, -1, NAN, INFINITY, 0x1p-149f};
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 2 * COUNT(bad), .vocab = 70,
                                                     .outputs = WANT_EVERYTHING, .inverse_temperature = 0.25f, .center = -30,
                                                     .has_temperatures = true, .has_entropy_grad = true);
    if (!is_full(row)) return;
    OPEN_INPUTS(inputs, &c);
    for (size_t i = 0; i < COUNT(bad); i++) inputs.temperatures[2 * i] = bad[i];
    for (c.shards = 0; c.shards < 3; c.shards++) cross_entropy_check_inputs(device, &c, &inputs);
    c.softcap = 20;
    cross_entropy_check_inputs(device, &c, &inputs);
}

/* Masked columns and labels: 0 times an infinite distance is not NaN in the gradient of the entropy. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, entropy_of_masked_columns) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 4, .vocab = 700,
                                                     .outputs = WANT_EVERYTHING, .inverse_temperature = 2,
                                                     .has_entropy_grad = true, .has_log_prob_grad = true);
    if (!is_full(row)) return;
    OPEN_INPUTS(inputs, &c);
    for (int64_t j = 0; j < c.vocab; j++) {
        const int64_t first = cross_entropy_get_label(&c, &inputs, 0), second = cross_entropy_get_label(&c, &inputs, 1);
        if (j % 3 && j != first) cross_entropy_set_logit(&c, &inputs, 0, j, -INFINITY);
        if (j != second) cross_entropy_set_logit(&c, &inputs, 1, j, -INFINITY);
        cross_entropy_set_logit(&c, &inputs, 2, j, -INFINITY);
    }
    cross_entropy_set_logit(&c, &inputs, 3, cross_entropy_get_label(&c, &inputs, 3), -INFINITY);
    for (c.shards = 0; c.shards < 4; c.shards += 3) cross_entropy_check_inputs(device, &c, &inputs);
    c.shards = 0, c.softcap = 30, c.inverse_temperature = 4;  /* finite, but too low for an exponential */
    c.ignore_index = cross_entropy_get_label(&c, &inputs, 1);
    cross_entropy_check_inputs(device, &c, &inputs);
}
