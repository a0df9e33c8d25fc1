/*
 * Cross-entropy over ordinary rows: every kernel of the target under test, every combination of options, many shapes.
 * Special rows are in test_cross_entropy_rows.c, determinism in test_determinism.c.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include <math.h>

#include "harness/check.h"
#include "harness/cross_entropy_case.h"

static quern_dtype dtype_of(const struct quern_kernel *row) {
    return row->key.cross_entropy.logits;
}

/* ---- the table ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy, every_row_is_reachable) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 1, .vocab = 1,
                                                     .softcap = row->key.cross_entropy.full ? 30 : 0);
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

TEST_CROSS_ENTROPY_ROWS(cross_entropy, every_combination_of_options) {
    static const quern_dtype labels[] = {QUERN_INT32, QUERN_INT64};
    static const int64_t ignored[] = {-100, 0, 17};
    static const struct {
        bool given;
        int64_t stride;
    } upstream[] = {{false, 1}, {true, 1}, {true, 0}, {true, 3}, {true, -2}};
    int reductions = QUERN_REDUCTION_MEAN + 1, placements = NO_GRAD + 1;
    int total = 2 * reductions * placements * (int)COUNT(ignored) * (int)COUNT(upstream);
    /* A step coprime to the numbers of choices still meets every pair of them. */
    for (int i = 0; i < total; i += test_is_small() ? 7 : 1) {
        int n = i;
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = dtype_of(row), .rows = 7, .vocab = 83, .seed = 5);
        c.labels_dtype = labels[n % 2], n /= 2;
        c.reduction = (quern_reduction)(n % reductions), n /= reductions;
        c.placement = (enum placement)(n % placements), n /= placements;
        c.ignore_index = ignored[n % (int)COUNT(ignored)], n /= (int)COUNT(ignored);
        c.has_upstream = upstream[n].given;
        c.upstream_stride = upstream[n].stride;
        c.grad_scale = i % 3 ? 0.5f : 1024;
        c.ignored_every = 3;
        c.padding = i % 4;
        c.grad_padding = i % 5;
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

/* Sums over a million columns must not drift. */
static void check_huge_vocab(const struct test_device *device, const struct quern_kernel *row) {
    if (row->key.cross_entropy.vocab_max < 1000003) return;
    struct cross_entropy_case flat = CROSS_ENTROPY_CASE(
        .logits_dtype = dtype_of(row), .rows = 1, .vocab = 1000003, .spread = 1e-3, .center = 1);
    cross_entropy_check_case(device, &flat);
}

Test(cross_entropy, a_million_columns) {
    if (test_is_small()) cr_skip_test("a million columns take too long on the emulator");
    for_each_cross_entropy_row(check_huge_vocab);
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

TEST_CROSS_ENTROPY_ROWS(cross_entropy, zero_rows) {
    for (int reduction = 0; reduction <= QUERN_REDUCTION_MEAN; reduction++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = dtype_of(row), .rows = 0, .vocab = 100, .reduction = (quern_reduction)reduction);
        cross_entropy_check_case(device, &c);
    }
}

/* ---- distributions ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy, flat_peaked_and_shifted_logits) {
    static const struct {
        double center, spread, peak;
    } distributions[] = {
        {0, 1e-3, 0},     /* flat */
        {0, 0, 0},        /* all equal */
        {0, 4, 0},        /* as a trained model's */
        {0, 1, 12},       /* confident */
        {0, 1, 40},       /* so confident that 1 - p is below fp32's resolution */
        {0, 1, 80},
        {0, 1, -30},      /* confidently wrong */
        {1e4, 30, 0},     /* large common offset */
        {-1e4, 30, 0},
        {1e4, 8, 60},
        {6e4, 30, 0},     /* near the end of f16 */
        {1e6, 3, 0},      /* in fp32, columns differ by less than the rounding of y * log2(e) */
        {-1e10, 1e4, 0},
        {2e38, 1e37, 0},  /* y * log2(e) is infinite */
        {0, 200, 0},      /* one column takes all */
        {-80, 10, 0},     /* naive exponentials underflow */
        {85, 10, 0},      /* ... or overflow */
    };
    for (size_t i = 0; i < COUNT(distributions); i++) {
        for (int64_t vocab = 50; vocab <= test_size(3003, 1060); vocab += 1005) {
            struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = dtype_of(row), .rows = 4, .vocab = vocab, .center = distributions[i].center,
                .spread = distributions[i].spread, .peak = distributions[i].peak, .seed = i + 1);
            cross_entropy_check_case(device, &c);
            c.reduction = QUERN_REDUCTION_MEAN;
            c.placement = IN_PLACE;
            cross_entropy_check_case(device, &c);
        }
    }
}

/* The gradient against the kernel's own loss, without the oracle's formulas. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy, gradient_is_the_slope_of_the_loss) {
    if (dtype_of(row) != QUERN_F32) return;
    enum { VOCAB = 21, LABEL = 4 };
    /* Row 2j has logit j raised, row 2j + 1 has it lowered, the last row is unchanged. */
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 2 * VOCAB + 1, .vocab = VOCAB);
    OPEN_INPUTS(inputs, &c);
    const double h = 0x1p-7;
    for (int64_t r = 0; r < c.rows; r++) {
        cross_entropy_set_label(&c, &inputs, r, LABEL);
        for (int64_t j = 0; j < VOCAB; j++) {
            double moved = j == r / 2 ? (r % 2 ? -h : h) : 0;
            cross_entropy_set_logit(&c, &inputs, r, j, (double)(j % 5) / 4 - 0.5 + moved);
        }
    }
    OPEN_OUTPUTS(outputs, device, &c, &inputs);
    for (int64_t j = 0; j < VOCAB; j++) {
        double slope = ((double)outputs.loss[2 * j] - (double)outputs.loss[2 * j + 1]) / (2 * h);
        double grad = (double)((float *)outputs.grad)[2 * VOCAB * VOCAB + j];
        check(fabs(slope - grad) < 6e-5, "column %lld: the gradient is %g, the slope %g", (long long)j, grad, slope);
    }
}
