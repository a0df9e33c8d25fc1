/*
 * The bounds of accuracy and the limits that the header states: shards against the whole, the entropy, a loss with and without the
 * entropy beside it, and random bits after 2^32 steps.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam, cross_entropy.
 */
#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "oracle/cross_entropy_terms.h"
#include "oracle/dtype.h"

/* ---- the rows of a case, in double ---- */

struct doubles {
    struct cross_entropy_options options;
    double *logits, *weights, *terms;
    struct cross_entropy_value *grad;
};

static struct doubles open_doubles(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs) {
    const size_t vocab = (size_t)c->vocab;
    struct doubles d = {.logits = calloc(vocab, sizeof(double)), .weights = calloc(vocab, sizeof(double)),
                        .terms = calloc(vocab, sizeof(double)), .grad = calloc(vocab, sizeof *d.grad)};
    for (size_t j = 0; c->has_weights && j < vocab; j++) d.weights[j] = (double)inputs->weights[j];
    d.options = (struct cross_entropy_options){(double)c->label_smoothing, (double)c->z_loss, (double)c->softcap,
                                               c->has_weights ? d.weights : NULL, 0};
    return d;
}

static void close_doubles(struct doubles *d) { free(d->logits), free(d->weights), free(d->terms), free(d->grad); }

static void load_row(struct doubles *d, const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t r) {
    for (int64_t j = 0; j < c->vocab; j++) d->logits[j] = cross_entropy_get_logit(c, inputs, r, j);
}

/* ---- several shards ---- */

/*
 * Units in the last place of the largest term, as the header states; a 16-bit gradient is rounded once more.  A GPU computes an
 * exponential of 2^-126 from an exponent that is known to 2^-18, and takes smaller ones as 0.
 */
static double bound_of(bool is_gradient) { return test_kind() == QUERN_CPU ? 4 : is_gradient ? 96 : 16; }

/* Below it an exponential is so far from the row's origin that its error has doubled. */
#define SMALL_GRADIENT 1e-30

static void check_term(const struct cross_entropy_case *c, const char *name, int64_t r, double a, double b, double term,
                       quern_dtype dtype) {
    const double units = bound_of(!strcmp(name, "gradient")) * (fmax(fabs(a), fabs(b)) < SMALL_GRADIENT ? 2 : 1);
    const double magnitude = fmax(fabs(a), fabs(b)), rounding = dtype == QUERN_F32 ? 0 : dtype_ulp(dtype, magnitude);
    const double flushed = test_kind() == QUERN_CPU || strcmp(name, "gradient") ? 0 : 0x1p-125;
    check(fabs(a - b) <= units * dtype_ulp(QUERN_F32, fmax(term, magnitude)) + rounding + flushed,
          "%s of row %lld is %.9g in shards and %.9g as a whole, with a term of %g [%s]", name, (long long)r, a, b, term,
          cross_entropy_describe(c));
}

static void check_shards(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                         const struct cross_entropy_outputs *shards, const struct cross_entropy_outputs *whole) {
    struct doubles d = open_doubles(c, inputs);
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t label = cross_entropy_get_label(c, inputs, r);
        load_row(&d, c, inputs, r);
        const struct cross_entropy_terms terms = cross_entropy_largest_terms(d.logits, c->vocab, label, &d.options, d.terms);
        const struct {
            const char *name;
            const float *a, *b;
            double term;
        } outputs[] = {{"loss", shards->loss, whole->loss, terms.loss}, {"lse", shards->lse, whole->lse, terms.lse},
                       {"log_prob", shards->log_prob, whole->log_prob, terms.log_prob},
                       {"entropy", shards->entropy, whole->entropy, terms.entropy}};
        for (size_t i = 0; i < COUNT(outputs); i++)
            if (outputs[i].a) check_term(c, outputs[i].name, r, (double)outputs[i].a[r], (double)outputs[i].b[r],
                                         fmax(1, outputs[i].term), QUERN_F32);
        for (int64_t j = 0; j < c->vocab; j++) {
            const int64_t i = r * cross_entropy_grad_stride(c) + j;
            check_term(c, "gradient", r, dtype_load(c->logits_dtype, shards->grad, i), dtype_load(c->logits_dtype, whole->grad, i),
                       d.terms[j], c->logits_dtype);
        }
    }
    close_doubles(&d);
}

/* The last two have an lse near 0 and gradients near the smallest normal number. */
TEST_CROSS_ENTROPY_ROWS(bounds, shards_differ_by_few_units_of_the_largest_term) {
    static const struct {
        int64_t rows, vocab;
        double spread;
        uint64_t seed, split;
    } cases[] = {{300, 10, 2, 1, 0}, {300, 10, 8, 2, 0}, {300, 300, 2, 3, 0}, {2000, 3, 2, 116, 16}, {2000, 10, 40, 133, 33}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = test_size(cases[i].rows, 20), .vocab = cases[i].vocab,
            .spread = cases[i].spread, .outputs = WANT_WHAT_IS_FREE, .seed = cases[i].seed);
        if (row->key.cross_entropy.full) cross_entropy_add_options(&c, row, true);
        OPEN_INPUTS(inputs, &c);
        OPEN_OUTPUTS(whole, device, &c, &inputs);
        for (c.shards = 2; c.shards <= 7; c.shards += 5) {
            c.split = cases[i].split + (uint64_t)c.shards;
            OPEN_OUTPUTS(shards, device, &c, &inputs);
            check_shards(&c, &inputs, &shards, &whole);
        }
    }
}

/* ---- the entropy ---- */

/* Of the larger of 1 and the entropy, as the header states. */
#define ENTROPY_BOUND 4e-7

/* Rows from an even distribution to one that leaves 1e-15 to the other columns. */
static void check_entropies_of(const struct test_device *device, struct cross_entropy_case *c) {
    double least = 1;
    OPEN_INPUTS(inputs, c);
    for (int64_t r = 0; r < c->rows; r++)
        cross_entropy_set_logit(c, &inputs, r, r % c->vocab, 60.0 * (double)r / (double)c->rows);
    OPEN_OUTPUTS(outputs, device, c, &inputs);
    struct doubles d = open_doubles(c, &inputs);
    for (int64_t r = 0; r < c->rows; r++) {
        load_row(&d, c, &inputs, r);
        const int64_t label = cross_entropy_get_label(c, &inputs, r);
        const double exact = cross_entropy_exact_row(d.logits, c->vocab, label, &d.options,
                                                     (struct cross_entropy_upstream){.loss = 1}, d.grad).entropy.exact;
        check(fabs((double)outputs.entropy[r] - exact) <= ENTROPY_BOUND * fmax(1, exact),
              "row %lld: entropy %.9g instead of %.9g [%s]", (long long)r, (double)outputs.entropy[r], exact,
              cross_entropy_describe(c));
        least = fmin(least, exact);
    }
    check(least < 1e-12, "no row is confident: the smallest entropy is %g", least);
    close_doubles(&d);
}

TEST_CROSS_ENTROPY_ROWS(bounds, entropy_is_accurate_where_it_is_small) {
    if (!row->key.cross_entropy.full) return;
    for (int64_t vocab = 10; vocab <= 1000; vocab *= 10) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = test_size(400, 30), .vocab = vocab, .spread = 2,
            .outputs = WANT_ENTROPY);
        check_entropies_of(device, &c);
        c.portable = true;
        check_entropies_of(device, &c);
    }
}

/* Confident rows, in which the terms of the entropy cancel. */
TEST_CROSS_ENTROPY_ROWS(bounds, no_entropy_is_negative) {
    if (!row->key.cross_entropy.full) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = test_size(2000, 200),
                                                     .vocab = 10, .spread = 3, .outputs = WANT_ENTROPY, .placement = NO_GRAD);
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++)
        cross_entropy_set_logit(&c, &inputs, r, r % c.vocab, 20 + 100.0 * (double)r / (double)c.rows);
    for (c.shards = 0; c.shards < 6; c.shards += 5) {
        OPEN_OUTPUTS(outputs, device, &c, &inputs);
        for (int64_t r = 0; r < c.rows; r++)
            check(!signbit(outputs.entropy[r]), "row %lld: entropy %g [%s]", (long long)r, (double)outputs.entropy[r],
                  cross_entropy_describe(&c));
    }
}

/* ---- a loss with the entropy beside it ---- */

/* The options that have loops of their own. */
TEST_CROSS_ENTROPY_ROWS(bounds, the_entropy_changes_no_bit_of_the_loss) {
    static const struct {
        float smoothing, softcap;
        bool weights;
    } options[] = {{0, 0, false}, {0.1f, 0, false}, {0.1f, 0, true}, {0.1f, 30, false}, {0.1f, 30, true}};
    if (!row->key.cross_entropy.full) return;
    for (size_t i = 0; i < COUNT(options); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(
            .logits_dtype = row->key.cross_entropy.logits, .rows = test_size(4000, 30), .vocab = 100, .spread = 4,
            .label_smoothing = options[i].smoothing, .softcap = options[i].softcap, .has_weights = options[i].weights,
            .outputs = WANT_LSE | WANT_LOG_PROB | WANT_ARGMAX);
        OPEN_INPUTS(inputs, &c);
        OPEN_OUTPUTS(without, device, &c, &inputs);
        c.outputs |= WANT_ENTROPY;
        OPEN_OUTPUTS(with, device, &c, &inputs);
        cross_entropy_check_same(&c, &with, &without, "the entropy beside it");
    }
}

/* ---- random bits ---- */

/* All arenas after a step of one problem; a step so late that the bias corrections are 1. */
static void step_at(struct adam_problem *after, const struct test_device *device, const struct adam_problem *before, int64_t step) {
    adam_copy(after, before);
    after->args.step = step;
    adam_run(device, after);
}

Test(bounds, random_bits_repeat_after_2_to_the_32_steps) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const int64_t count = 3000, step = 1000000000;
    static const int sooner[] = {0, 1, 8, 16, 24, 31};
    struct adam_problem before, first, later;
    OPEN_ROW(device, row);
    quern_adam_args args = adam_args_of(row);
    adam_make(&before, &args, &count, 1);
    step_at(&first, &device, &before, step);
    step_at(&later, &device, &before, step + ((int64_t)1 << 32));
    adam_check_same(&later, &first, "2^32 steps later");
    adam_free(&later);
    for (size_t i = 0; i < COUNT(sooner); i++) {
        step_at(&later, &device, &before, step + ((int64_t)1 << sooner[i]));
        check(memcmp(later.arena[ARENA_PARAM], first.arena[ARENA_PARAM], first.bytes[ARENA_PARAM]),
              "the same bits 2^%d steps later", sooner[i]);
        adam_free(&later);
    }
    adam_free(&before), adam_free(&first);
}

