/*
 * The oracle of cross-entropy against closed forms, against a second implementation of the formula of quern.h, and its gradient
 * against finite differences of its loss.
 *
 * Runs on: oracle.
 */
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/cross_entropy.h"
#include "oracle/dtype.h"

static const struct cross_entropy_options plain = {0};
static const struct cross_entropy_upstream once = {.loss = 1}, twice = {.loss = 2};

/* ---- closed forms ---- */

Test(cross_entropy_oracle, two_columns_are_the_logistic_loss) {
    for (double gap = -30; gap <= 700; gap += 0.37) {
        const double logits[] = {gap, 0};
        struct cross_entropy_value grad[2];
        struct cross_entropy_exact row = cross_entropy_exact_row(logits, 2, 0, &plain, once, grad);
        double loss = gap >= 0 ? log1p(exp(-gap)) : -gap + log1p(exp(gap)), other = 1 / (1 + exp(gap));
        check(fabs(row.loss.exact - loss) <= 1e-14 * loss, "loss at %g: %g, not %g", gap, row.loss.exact, loss);
        check(fabs(grad[1].exact - other) <= 1e-14 * other, "gradient at %g: %g, not %g", gap, grad[1].exact, other);
        check(fabs(grad[0].exact + other) <= 1e-14 * other, "label's gradient at %g: %g, not %g", gap, grad[0].exact, -other);
    }
}

/* The entropy of two columns, down to where 1 - p is below double's resolution. */
Test(cross_entropy_oracle, entropy_of_two_columns) {
    for (double gap = 0; gap <= 700; gap += 0.37) {
        const double logits[] = {gap, 0};
        const double other = 1 / (1 + exp(gap)), entropy = other * (gap + log1p(exp(-gap))) + log1p(exp(-gap)) * (1 - other);
        for (int64_t label = 0; label < 2; label++) {
            struct cross_entropy_exact row = cross_entropy_exact_row(logits, 2, label, &plain, once, NULL);
            const double tolerance = label == 0 ? 1e-13 * entropy : 1e-14;
            check(fabs(row.entropy.exact - entropy) <= tolerance, "at %g: %g, not %g", gap, row.entropy.exact, entropy);
        }
    }
}

/* All columns equal: the loss is log vocab for any value, and every option has its closed form. */
Test(cross_entropy_oracle, flat_rows) {
    static const double values[] = {0, 1, -7, 1e4, -1e4};
    enum { VOCAB = 11 };
    const struct cross_entropy_options options = {.label_smoothing = 0.25, .z_loss = 0.125};
    for (size_t i = 0; i < COUNT(values); i++) {
        double logits[VOCAB];
        struct cross_entropy_value grad[VOCAB];
        for (int j = 0; j < VOCAB; j++) logits[j] = values[i];
        struct cross_entropy_exact row = cross_entropy_exact_row(logits, VOCAB, 3, &options, twice, grad);
        const double lse = values[i] + log(VOCAB), loss = log(VOCAB) + 0.125 * lse * lse;
        check(fabs(row.loss.exact - loss) <= 1e-15 * loss + 1e-14, "%g: loss %g, not %g", values[i], row.loss.exact, loss);
        check(fabs(row.entropy.exact - log(VOCAB)) <= 1e-14, "%g: entropy %g", values[i], row.entropy.exact);
        check(row.argmax == 0, "%g: argmax %d", values[i], (int)row.argmax);
        const double z = 0.25 * lse / VOCAB, other = 2 * (1.0 / VOCAB - 0.25 / VOCAB + z);
        check(fabs(grad[0].exact - other) <= 1e-12, "%g: gradient %g, not %g", values[i], grad[0].exact, other);
        check(fabs(grad[3].exact - (other - 1.5)) <= 1e-12, "%g: label's gradient %g", values[i], grad[3].exact);
    }
}

/* ---- the formula of quern.h again, term by term and without scaling: accurate enough where no value is large ---- */

enum { VOCAB = 37 };

static double loss_by_definition(const double *x, int64_t label, const struct cross_entropy_options *o) {
    double y[VOCAB], sum = 0, smoothed = 0;
    for (int j = 0; j < VOCAB; j++) {
        y[j] = o->softcap > 0 ? o->softcap * tanh(x[j] / o->softcap) : x[j];
        if (o->inverse_temperature > 0) y[j] *= o->inverse_temperature;
        sum += exp(y[j]);
    }
    const double lse = log(sum), w = o->class_weights ? o->class_weights[label] : 1;
    for (int j = 0; j < VOCAB; j++) smoothed += (o->class_weights ? o->class_weights[j] : 1) * (lse - y[j]);
    return (1 - o->label_smoothing) * w * (lse - y[label]) + o->label_smoothing / VOCAB * smoothed + o->z_loss * lse * lse;
}

static const double weights[VOCAB] = {0.5, 1, 0, 2, 0.25, 1.5, 1, 1, 3, 0.125, 1, 0, 1, 1, 2, 1, 0.5, 1, 1, 1,
                                      4, 1,   1, 1, 0.75, 1, 1, 0, 2, 1, 1, 1, 0.5, 1, 1, 1, 1.25};

/* Each option alone, each pair, and all of them; smoothing and softcap also at the ends of their ranges. */
static const struct cross_entropy_options options[] = {
    {0, 0, 0, 0, 0},          {0.1, 0, 0, 0, 0},     {1, 0, 0, 0, 0},      {0, 1e-2, 0, 0, 0},        {0, 0, 3, 0, 0},
    {0, 0, 50, 0, 0},         {0, 0, 0, weights, 0}, {0.1, 1e-2, 0, 0, 0}, {0.1, 0, 3, 0, 0},         {0.3, 0, 0, weights, 0},
    {0, 1e-2, 3, 0, 0},       {0, 1e-2, 0, weights, 0}, {0, 0, 3, weights, 0}, {0.1, 1e-2, 3, 0, 0},  {0.9, 1e-2, 0, weights, 0},
    {0.2, 0, 5, weights, 0},  {0, 0.5, 5, weights, 0},  {0.1, 1e-4, 30, weights, 0}, {1, 1, 1, weights, 0},
    {0, 0, 0, 0, 0.5},        {0.2, 1e-2, 5, weights, 2},
};

static void make_logits(double *logits, double spread, double peak, int64_t label) {
    for (int j = 0; j < VOCAB; j++) logits[j] = spread * random_normal(11, (uint64_t)j) + (j == label ? peak : 0);
}

Test(cross_entropy_oracle, loss_is_the_formula) {
    double logits[VOCAB];
    for (size_t i = 0; i < COUNT(options); i++) {
        for (int64_t label = 0; label < VOCAB; label += 4) {
            make_logits(logits, 3, (double)label / 4, label);
            const double loss = cross_entropy_exact_row(logits, VOCAB, label, &options[i], once, NULL).loss.exact;
            const double defined = loss_by_definition(logits, label, &options[i]);
            check(fabs(loss - defined) <= 1e-12 * (1 + fabs(defined)), "options %zu, label %d: %g, not %g", i, (int)label, loss,
                  defined);
        }
    }
}

/* What a gradient with these upstream gradients is the slope of. */
static double sum_of_outputs(const double *logits, int64_t label, const struct cross_entropy_options *with,
                             struct cross_entropy_upstream upstream) {
    const struct cross_entropy_exact row = cross_entropy_exact_row(logits, VOCAB, label, with, once, NULL);
    return upstream.loss * row.loss.exact + upstream.log_prob * row.log_prob.exact + upstream.entropy * row.entropy.exact;
}

Test(cross_entropy_oracle, gradient_is_the_slope_of_the_outputs) {
    static const struct cross_entropy_upstream upstreams[] = {{.loss = 1.5}, {1.5, 0.7, -0.9}, {0, 0, 1}};
    const double h = 1e-5;
    double logits[VOCAB];
    struct cross_entropy_value grad[VOCAB];
    for (size_t i = 0; i < COUNT(options); i++) {
        for (int64_t label = 0; label < VOCAB; label += 6) {
            const struct cross_entropy_upstream upstream = upstreams[label / 6 % 3];
            make_logits(logits, 2, label % 4 ? 0 : 9, label);
            cross_entropy_exact_row(logits, VOCAB, label, &options[i], upstream, grad);
            for (int j = 0; j < VOCAB; j++) {
                const double x = logits[j];
                logits[j] = x + h;
                const double above = sum_of_outputs(logits, label, &options[i], upstream);
                logits[j] = x - h;
                const double below = sum_of_outputs(logits, label, &options[i], upstream);
                logits[j] = x;
                const double slope = (above - below) / (2 * h);
                check(fabs(slope - grad[j].exact) < 1e-8 * (1 + fabs(slope)), "options %zu, label %d, column %d: %g, not %g", i,
                      (int)label, j, grad[j].exact, slope);
            }
        }
    }
}

/* The other outputs, by their definitions; a common offset of all logits changes only lse and z-loss. */
Test(cross_entropy_oracle, outputs_are_their_definitions) {
    double logits[VOCAB], moved[VOCAB];
    for (size_t i = 0; i < COUNT(options); i++) {
        for (int64_t label = 0; label < VOCAB; label += 5) {
            double sum = 0, entropy = 0;
            make_logits(logits, 2, 0, label);
            struct cross_entropy_exact row = cross_entropy_exact_row(logits, VOCAB, label, &options[i], once, NULL);
            for (int j = 0; j < VOCAB; j++) sum += exp(cross_entropy_y(logits[j], &options[i]));
            const double lse = log(sum);
            for (int j = 0; j < VOCAB; j++) {
                const double log_prob = cross_entropy_y(logits[j], &options[i]) - lse;
                entropy -= exp(log_prob) * log_prob;
                check(logits[j] <= logits[row.argmax], "argmax");
            }
            check(fabs(row.lse.exact - lse) < 1e-13, "lse");
            check(fabs(row.log_prob.exact - (cross_entropy_y(logits[label], &options[i]) - lse)) < 1e-13, "log_prob");
            check(fabs(row.entropy.exact - entropy) < 1e-13, "entropy");
            if (options[i].softcap > 0 || options[i].z_loss > 0) continue;
            for (int j = 0; j < VOCAB; j++) moved[j] = logits[j] + 4096;
            struct cross_entropy_exact far = cross_entropy_exact_row(moved, VOCAB, label, &options[i], once, NULL);
            check(fabs(far.loss.exact - row.loss.exact) < 1e-10 && fabs(far.entropy.exact - row.entropy.exact) < 1e-10, "offset");
        }
    }
}

/* ---- special rows ---- */

Test(cross_entropy_oracle, infinite_rows) {
    const double infinite[] = {(double)-INFINITY, (double)-INFINITY, (double)-INFINITY};
    const struct cross_entropy_options all = {0.1, 1e-2, 0, NULL, 0};
    struct cross_entropy_value grad[3];
    for (int i = 0; i < 2; i++) {
        struct cross_entropy_exact row = cross_entropy_exact_row(infinite, 3, 1, i ? &all : &plain, once, grad);
        check(row.infinite && row.loss.exact == (double)INFINITY && row.lse.exact == (double)-INFINITY && row.argmax == -1
                  && row.log_prob.exact == (double)-INFINITY && row.entropy.exact == 0 && grad[0].exact == 0 && grad[1].exact == 0,
              "all -infinity");
    }
}

Test(cross_entropy_oracle, masked_columns) {
    const double logits[] = {0, (double)-INFINITY, 0}, weights_of[] = {1, 0, 1};
    const struct cross_entropy_options smooth = {0.5, 0, 0, NULL, 0}, weighted = {0.5, 0, 0, weights_of, 0};
    const struct cross_entropy_options all = {1, 0, 0, weights_of, 0};
    struct cross_entropy_value grad[3];
    struct cross_entropy_exact row = cross_entropy_exact_row(logits, 3, 1, &plain, once, grad);
    check(!row.infinite && row.loss.exact == (double)INFINITY && grad[0].exact == 0.5 && grad[1].exact == -1, "the label is");
    row = cross_entropy_exact_row(logits, 3, 0, &smooth, once, grad);
    check(row.loss.exact == (double)INFINITY && fabs(grad[1].exact + 0.5 / 3) < 1e-15, "another is, smoothed");
    check(fabs(row.entropy.exact - log(2)) < 1e-15, "entropy %g", row.entropy.exact);
    row = cross_entropy_exact_row(logits, 3, 0, &weighted, once, grad);
    check(fabs(row.loss.exact - (0.5 + 0.5 / 3 * 2) * log(2)) < 1e-15 && grad[1].exact == 0, "another is, of weight 0");
    row = cross_entropy_exact_row(logits, 3, 1, &all, once, grad);
    check(fabs(row.loss.exact - 2.0 / 3 * log(2)) < 1e-15, "the label is, of weight 0");
}

Test(cross_entropy_oracle, rows_of_nan) {
    const double with_nan[] = {0, 1, (double)NAN}, with_infinity[] = {0, (double)INFINITY, 1};
    struct cross_entropy_value grad[3];
    for (int i = 0; i < 2; i++) {
        struct cross_entropy_exact row = cross_entropy_exact_row(i ? with_nan : with_infinity, 3, 1, &plain, once, grad);
        check(isnan(row.loss.exact) && isnan(row.lse.exact) && isnan(row.log_prob.exact) && isnan(row.entropy.exact)
                  && row.argmax == -1 && isnan(grad[0].exact) && isnan(grad[1].exact), "NaN");
    }
}

/* A softcap makes infinities finite, with slope 0. */
Test(cross_entropy_oracle, capped_infinities) {
    const double logits[] = {(double)INFINITY, 0, (double)-INFINITY};
    const struct cross_entropy_options capped = {0, 0, 2, NULL, 0};
    struct cross_entropy_value grad[3];
    struct cross_entropy_exact row = cross_entropy_exact_row(logits, 3, 1, &capped, once, grad);
    check(fabs(row.lse.exact - log(exp(2) + 1 + exp(-2))) < 1e-15 && row.argmax == 0, "lse %g", row.lse.exact);
    check(grad[0].exact == 0 && grad[2].exact == 0 && grad[1].exact < 0, "gradient");
}

Test(cross_entropy_oracle, one_column) {
    const double alone[] = {5};
    const struct cross_entropy_options smooth = {0.5, 0, 0, NULL, 0}, z = {0, 0.5, 0, NULL, 0};
    struct cross_entropy_value grad[1];
    struct cross_entropy_exact row = cross_entropy_exact_row(alone, 1, 0, &plain, once, grad);
    check(row.loss.exact == 0 && grad[0].exact == 0 && row.entropy.exact == 0 && row.lse.exact == 5, "plain");
    row = cross_entropy_exact_row(alone, 1, 0, &smooth, once, grad);
    check(row.loss.exact == 0 && grad[0].exact == 0, "smoothed");
    row = cross_entropy_exact_row(alone, 1, 0, &z, once, grad);
    check(row.loss.exact == 12.5 && grad[0].exact == 5, "z-loss");
}

/* ---- the comparison must be sharp: errors that other projects' tests accept fail here ---- */

Test(cross_entropy_oracle, comparison_is_sharp) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    double logits[1000];
    struct cross_entropy_value grad[1000];
    for (int j = 0; j < 1000; j++) logits[j] = random_normal(12, (uint64_t)j);
    struct cross_entropy_exact row = cross_entropy_exact_row(logits, 1000, 3, &plain, once, grad);
    for (int d = 0; d < 3; d++) {
        double right = dtype_round(dtypes[d], grad[5].exact), ulp = dtype_ulp(dtypes[d], grad[5].exact);
        check(cross_entropy_grad_is_close(dtypes[d], right, grad[5], &row), "the right value fails");
        check(!cross_entropy_grad_is_close(dtypes[d], 0, grad[5], &row), "zero passes");
        check(!cross_entropy_grad_is_close(dtypes[d], (double)NAN, grad[5], &row), "NaN passes");
        check(!cross_entropy_grad_is_close(dtypes[d], grad[5].exact * 1.01, grad[5], &row), "1 %% more passes");
        if (dtypes[d] != QUERN_F32)
            check(!cross_entropy_grad_is_close(dtypes[d], right + ulp, grad[5], &row), "another rounding passes");
    }
}

/* With all options the tolerances are at most a hundred-thousandth of the outputs and of the largest gradient. */
Test(cross_entropy_oracle, tolerances_are_small) {
    double logits[VOCAB];
    struct cross_entropy_value grad[VOCAB];
    for (size_t i = 0; i < COUNT(options); i++) {
        make_logits(logits, 3, 0, 7);
        struct cross_entropy_exact row = cross_entropy_exact_row(logits, VOCAB, 7, &options[i], once, grad);
        const struct cross_entropy_value values[] = {row.loss, row.lse, row.log_prob, row.entropy};
        for (size_t k = 0; k < COUNT(values); k++)
            check(values[k].tolerance <= 1e-5 * fabs(values[k].exact), "options %zu: %zu is %g +- %g", i, k, values[k].exact,
                  values[k].tolerance);
        for (int j = 0; j < VOCAB; j++)
            check(grad[j].tolerance <= 1e-5 * row.largest_grad, "options %zu: column %d +- %g", i, j, grad[j].tolerance);
    }
}
