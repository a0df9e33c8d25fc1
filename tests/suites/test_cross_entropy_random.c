/*
 * Cross-entropy with random options, shapes and rows, against the oracle: thousands of cases with fixed seeds, each named in full
 * when it fails.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "harness/random.h"

/* From 1 to 2^bits; each power of two is equally likely. */
static int64_t any_size(struct dice *dice, int64_t bits) {
    const int64_t power = (int64_t)1 << below(dice, bits);
    return power + below(dice, power) + (power > 1 ? below(dice, 2) : 0);
}

static void draw_shape(struct dice *dice, struct cross_entropy_case *c, int64_t longest) {
    c->vocab = any_size(dice, test_size(12, 11));
    if (chance(dice, 40)) c->vocab = 5000 + below(dice, test_size(70000, 15000));
    if (c->vocab > longest) c->vocab = longest;
    c->rows = c->vocab > 5000 ? 1 + below(dice, 3) : 1 + below(dice, 9);
    c->filled = chance(dice, 2) ? below(dice, 40) : 0;
    c->padding = chance(dice, 2) ? below(dice, 9) : 0;
    c->grad_padding = below(dice, 5);
    c->offset = below(dice, 17);
}

static void draw_call(struct dice *dice, struct cross_entropy_case *c) {
    c->labels_dtype = chance(dice, 2) ? QUERN_INT32 : QUERN_INT64;
    c->reduction = (quern_reduction)below(dice, 3);
    c->placement = chance(dice, 5) ? NO_GRAD : chance(dice, 2) ? IN_PLACE : OUT_OF_PLACE;
    c->ignore_index = chance(dice, 3) ? below(dice, c->vocab) : -100;
    c->ignored_every = chance(dice, 2) ? 1 + below(dice, 5) : 0;
    c->has_upstream = chance(dice, 2);
    c->upstream_stride = below(dice, 9) - 4;
    c->grad_scale = chance(dice, 2) ? 1 : (float)ldexp(1 + random_uniform(dice->seed, dice->thrown++), (int)below(dice, 12) - 4);
    c->shards = chance(dice, 2) ? 0 : 1 + (int)below(dice, MOST_SHARDS);
    c->split = (uint64_t)below(dice, 1000);
    c->later = chance(dice, 3);
    c->no_loss = chance(dice, 9);
    c->no_report = chance(dice, 9);
}

static void draw_options(struct dice *dice, struct cross_entropy_case *c, bool full) {
    static const float caps[] = {0.5f, 3, 15, 30, 50, 1000};
    c->z_loss = chance(dice, 2) ? 0 : (float)ldexp(1, -(int)below(dice, 16));
    c->outputs = (unsigned)below(dice, WANT_EVERYTHING + 1) & WANT_WHAT_IS_FREE;
    if (!full) return;
    c->label_smoothing = chance(dice, 2) ? 0 : chance(dice, 5) ? 1 : (float)random_uniform(dice->seed, dice->thrown++);
    c->softcap = chance(dice, 2) ? 0 : caps[below(dice, (int64_t)COUNT(caps))];
    c->has_weights = chance(dice, 2);
    c->outputs |= (unsigned)below(dice, WANT_EVERYTHING + 1);
    c->wide_grad = c->placement == OUT_OF_PLACE && chance(dice, 3);
}

static void draw_logits(struct dice *dice, struct cross_entropy_case *c) {
    static const double centers[] = {0, 0, 0, 1, -7, 85, -300, 1e4}, spreads[] = {2, 2, 4, 0, 1e-3, 30, 150};
    static const double peaks[] = {0, 0, 0, 3, 15, 50, -20};
    c->center = centers[below(dice, (int64_t)COUNT(centers))];
    c->spread = spreads[below(dice, (int64_t)COUNT(spreads))];
    c->peak = peaks[below(dice, (int64_t)COUNT(peaks))];
    c->seed = dice->seed;
}

static struct cross_entropy_case draw(struct dice *dice, const struct quern_kernel *row) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits);
    draw_shape(dice, &c, row->key.cross_entropy.vocab_max);
    draw_call(dice, &c);
    draw_options(dice, &c, row->key.cross_entropy.full);
    draw_logits(dice, &c);
    return c;
}

/* A few rows become special: -infinity, NaN or infinity in some columns, or an invalid label. */
static void edit(struct dice *dice, const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    static const double values[] = {(double)-INFINITY, (double)-INFINITY, (double)-INFINITY, (double)NAN, (double)INFINITY};
    for (int64_t r = 0; r < c->rows; r++) {
        if (!chance(dice, 4)) continue;
        const double value = values[below(dice, (int64_t)COUNT(values))];
        const int64_t first = below(dice, c->vocab), end = chance(dice, 4) ? c->vocab : first + below(dice, c->vocab - first) + 1;
        for (int64_t j = chance(dice, 4) ? 0 : first; j < end; j++) cross_entropy_set_logit(c, inputs, r, j, value);
        if (chance(dice, 5)) cross_entropy_set_label(c, inputs, r, chance(dice, 2) ? -1 : c->vocab + below(dice, 1000));
    }
}

static void check_random(const struct test_device *device, const struct quern_kernel *row, uint64_t seed) {
    struct dice dice = {seed, 0};
    struct cross_entropy_case c = draw(&dice, row);
    OPEN_INPUTS(inputs, &c);
    edit(&dice, &c, &inputs);
    cross_entropy_check_inputs(device, &c, &inputs);
    cross_entropy_make_portable(&c);
    cross_entropy_check_inputs(device, &c, &inputs);
}

Test(cross_entropy_random, agrees_with_the_oracle) {
    int rows = 0, wanted = (int)test_size(2400, 120), place = 0;
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) rows++;
    check(rows > 0, "%s has no row", test_target());
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row), place++) {
        OPEN_ROW(device, row);
        for (int i = 0; i < (wanted + rows - 1) / rows; i++) check_random(&device, row, (uint64_t)(1000 * place + i + 1));
    }
}
