/*
 * Cross-entropy with label smoothing, z-loss, softcap, class weights, padding and further outputs: on every row of the table,
 * each with the options that its kernel supports.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include <float.h>
#include <math.h>

#include "harness/check.h"
#include "harness/cross_entropy_case.h"

static bool is_full(const struct quern_kernel *row) {
    return row->key.cross_entropy.full;
}

/* ---- every combination ---- */

/* The next of a few choices, from a number that is consumed step by step. */
static int choose(int *n, int choices) {
    const int choice = *n % choices;
    *n /= choices;
    return choice;
}

static struct cross_entropy_case combination(const struct quern_kernel *row, int i) {
    static const float smoothings[] = {0, 0.1f, 1}, caps[] = {0, 4, 50}, z_losses[] = {0, 1e-2f};
    int n = i;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 6, .vocab = 150,
                                                     .ignored_every = 4, .seed = (uint64_t)i + 1);
    c.z_loss = z_losses[choose(&n, 2)];
    if (is_full(row)) c.softcap = caps[choose(&n, 3)];
    if (is_full(row)) c.label_smoothing = smoothings[choose(&n, 3)];
    if (is_full(row)) c.has_weights = choose(&n, 2);
    c.reduction = (quern_reduction)choose(&n, 3);
    c.placement = (enum placement)choose(&n, 3);
    /* The following options cycle at a different rate. */
    c.shards = i % 5 > 2 ? 1 + i % 4 : 0;
    c.split = (uint64_t)i;
    c.later = i % 7 == 0;
    c.filled = i % 4;
    c.padding = i % 3;
    c.grad_padding = i % 5;
    c.has_upstream = i % 3 == 1;
    c.upstream_stride = i % 11 - 5;
    c.outputs = (unsigned)(i * 7) & (is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE);
    return c;
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, every_combination) {
    const int total = is_full(row) ? 2 * 3 * 3 * 2 * 3 * 3 : 2 * 3 * 3;
    /* A step coprime to the numbers of choices still meets every pair of them. */
    for (int i = 0; i < total; i += test_is_small() && is_full(row) ? 13 : 1) {
        const struct cross_entropy_case c = combination(row, i);
        cross_entropy_check_case(device, &c);
    }
}

/* ---- distributions: each option keeps its precision for any range of logits ---- */

static void set_option(struct cross_entropy_case *c, int option) {
    c->label_smoothing = option == 0 || option == 4 ? 0.2f : 0;
    c->z_loss = option == 1 || option == 4 ? 1e-3f : 0;
    c->softcap = option == 2 || option == 4 ? 30 : 0;
    c->has_weights = option == 3 || option == 4;
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, flat_peaked_and_shifted_logits) {
    static const struct {
        double center, spread, peak;
    } distributions[] = {
        {0, 1e-3, 0},   /* flat */
        {0, 4, 0},      /* as a trained model's */
        {0, 1, 12},     /* confident */
        {0, 1, 40},     /* so confident that 1 - p is below fp32's resolution */
        {0, 1, -30},    /* confidently wrong */
        {1e4, 30, 0},   /* a large common offset; a softcap is saturated */
        {-1e4, 30, 0},
        {40, 10, 20},   /* in the bend of a softcap, and beyond */
        {-60, 20, 60},
        {0, 200, 0},    /* one column dominates; a softcap is saturated on both sides */
        {0, 1e-4, 0},   /* a softcap does nothing */
        {150, 10, 0},   /* a whole row far into a softcap: no larger gradient hides how exact the small slopes are */
        {1e6, 3, 0},    /* a larger offset */
    };
    for (size_t i = 0; i < COUNT(distributions); i++) {
        for (int option = is_full(row) ? 0 : 1; option < (is_full(row) ? 5 : 2); option++) {
            /* On the emulator the rows of the table share the cases. */
            if (test_is_small() && is_full(row) && (option + (int)i) % 5 > 1) continue;
            struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = row->key.cross_entropy.logits, .rows = 4, .vocab = option % 2 ? 50 : test_size(1500, 600),
                .center = distributions[i].center, .spread = distributions[i].spread, .peak = distributions[i].peak,
                .seed = i + 1, .outputs = is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE);
            set_option(&c, option);
            cross_entropy_check_case(device, &c);
            c.shards = 3;
            c.split = i;
            c.reduction = QUERN_REDUCTION_MEAN;
            cross_entropy_check_case(device, &c);
        }
    }
}

/*
 * Caps whose powers leave the range of fp32, and those next to the bounds beyond which the CPU scales them.  The logits lie before,
 * in and beyond the bend.
 */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, tiny_and_huge_softcaps) {
    static const float caps[] = {0x1p-12f, 0x1.fffffep-13f, 0x1p-20f, 3e-10f, 1e-30f, FLT_MIN, 0x1p-140f,
                                 0x1p12f, 0x1.000002p12f, 1e6f, 1e20f, 1e38f, FLT_MAX};
    for (size_t i = 0; i < COUNT(caps) && is_full(row); i++)
        for (int bend = 0; bend < 3; bend++) {
            if (test_is_small() && ((int)i + bend) % 3) continue;
            const double spread = (double)caps[i] * (bend == 0 ? 0.01 : bend == 1 ? 0.7 : 3);
            struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = row->key.cross_entropy.logits, .rows = 3, .vocab = 150, .softcap = caps[i],
                .spread = spread < 1e-30 ? 1e-30 : spread > 1e4 ? 1e4 : spread, .seed = i + 1, .outputs = WANT_EVERYTHING);
            cross_entropy_check_case(device, &c);
            c.spread = 1, c.peak = 10;  /* far beyond a small cap, and far below a large one */
            cross_entropy_check_case(device, &c);
        }
}

/* All logits are 0 or the smallest of f16, which nevertheless lies in the bend of the cap. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, smallest_logits_under_a_softcap) {
    static const float caps[] = {0x1p-23f, 0x1p-24f, 0x1p-25f};
    for (size_t i = 0; i < COUNT(caps) && is_full(row); i++) {
        const struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = 3, .vocab = 150, .softcap = caps[i], .spread = 0x1.8p-26,
            .seed = i + 1, .outputs = WANT_EVERYTHING);
        cross_entropy_check_case(device, &c);
    }
}

/* ---- shapes ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, vocabs_and_alignments) {
    static const int64_t vocabs[] = {1,  2,   3,   4,   5,   7,   8,   9,   15,  16,   17,   31,   33,   63,   64,
                                     65, 127, 128, 129, 255, 257, 511, 513, 1000, 1023, 1025, 2047, 2049, 5000};
    for (size_t i = 0; i < COUNT(vocabs) && vocabs[i] <= row->key.cross_entropy.vocab_max; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = 3, .vocab = vocabs[i], .offset = (int64_t)i % 16,
            .padding = (int64_t)i % 7, .grad_padding = (int64_t)i % 3, .seed = i + 1,
            .placement = i % 2 ? IN_PLACE : OUT_OF_PLACE, .reduction = QUERN_REDUCTION_MEAN);
        cross_entropy_add_options(&c, row, i % 2);
        c.filled = (int64_t)(i * 5) % 70;
        if (!test_is_small() || i % 3) cross_entropy_check_case(device, &c);
        if (test_is_small() && i % 3) continue;
        c.later = true;
        c.placement = OUT_OF_PLACE;
        cross_entropy_check_case(device, &c);
    }
}

/* Several parts per row, with the label in each, and enough rows for each worker. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, long_rows) {
    const int64_t longest = row->key.cross_entropy.vocab_max, wanted = test_size(100003, 20011);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = row->key.cross_entropy.logits, .rows = test_size(3, 9), .vocab = wanted < longest ? wanted : longest,
        .spread = 3, .peak = 2);
    cross_entropy_add_options(&c, row, false);
    cross_entropy_check_case(device, &c);
    c.rows = 1;
    c.placement = IN_PLACE;
    c.softcap = is_full(row) ? 30 : 0;
    c.seed = 2;
    cross_entropy_check_case(device, &c);
}

/* ---- one output at a time: no output depends on another being requested ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, each_output_alone) {
    const unsigned known = is_full(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE;
    for (unsigned wanted = 1; wanted <= WANT_EVERYTHING; wanted *= 2) {
        if (!(wanted & known)) continue;
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = 5, .vocab = 333, .outputs = wanted, .placement = NO_GRAD,
            .no_loss = true, .no_report = true, .ignored_every = 4);
        cross_entropy_check_case(device, &c);
        c.shards = 2;
        cross_entropy_check_case(device, &c);
    }
}

/* ---- argmax: the first of equal maxima ---- */

/* The maximum occurs at two to four positions; the first one differs from row to row. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, argmax_is_the_first) {
    if (!is_full(row)) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits,
                                                     .rows = test_size(300, 60), .vocab = 1100, .outputs = WANT_ARGMAX);
    struct cross_entropy_outputs outputs;
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++)
        for (int64_t j = (r * 7) % 500, step = 1 + r * 13 % 600; j < c.vocab; j += step)
            cross_entropy_set_logit(&c, &inputs, r, j, 16);
    for (c.shards = 0; c.shards < 5; c.shards += 2) {
        cross_entropy_run(device, &c, &inputs, &outputs);
        cross_entropy_compare(&c, &inputs, &outputs);
        cross_entropy_free_outputs(&outputs);
    }
}

/* ---- weights ---- */

/* Counted rows with weight zero: no division by zero, in the loss or the gradient. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, rows_that_weigh_nothing) {
    if (!is_full(row)) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 4, .vocab = 60,
                                                     .has_weights = true);
    struct cross_entropy_outputs outputs;
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++) inputs.weights[cross_entropy_get_label(&c, &inputs, r)] = 0;
    for (int i = 0; i < 9; i++) {
        c.reduction = (quern_reduction)(i % 3);
        c.shards = i / 3;
        cross_entropy_run(device, &c, &inputs, &outputs);
        cross_entropy_compare(&c, &inputs, &outputs);
        cross_entropy_free_outputs(&outputs);
    }
}

/* ---- the gradient against the kernel's own loss, without the oracle's formulas ---- */

enum { SLOPES = 21, LABEL = 4 };

static void check_slope(const struct test_device *device, struct cross_entropy_case *c) {
    const double h = 0x1p-6;
    OPEN_INPUTS(inputs, c);
    /* Row 2j has logit j raised, row 2j + 1 has it lowered, the last row is unchanged. */
    for (int64_t r = 0; r < c->rows; r++) {
        cross_entropy_set_label(c, &inputs, r, LABEL);
        for (int64_t j = 0; j < SLOPES; j++)
            cross_entropy_set_logit(c, &inputs, r, j, (double)(j % 5) / 4 - 0.5 + (j == r / 2 ? (r % 2 ? -h : h) : 0));
    }
    OPEN_OUTPUTS(outputs, device, c, &inputs);
    for (int64_t j = 0; j < SLOPES; j++) {
        const double slope = ((double)outputs.loss[2 * j] - (double)outputs.loss[2 * j + 1]) / (2 * h);
        const double grad = (double)((float *)outputs.grad)[2 * SLOPES * SLOPES + j];
        check(fabs(slope - grad) < 1e-4, "column %d: the gradient is %g, the slope %g [%s]", (int)j, grad, slope,
              cross_entropy_describe(c));
    }
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_options, gradient_is_the_slope_of_the_loss) {
    if (row->key.cross_entropy.logits != QUERN_F32) return;
    for (int option = is_full(row) ? 0 : 1; option < (is_full(row) ? 5 : 2); option++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 2 * SLOPES + 1, .vocab = SLOPES);
        set_option(&c, option);
        if (c.softcap != 0) c.softcap = 2;
        if (c.z_loss != 0) c.z_loss = 0.125f;
        check_slope(device, &c);
    }
}
