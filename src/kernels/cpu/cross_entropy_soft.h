/*
 * The divergence of a row from soft targets of all its columns, on a CPU: the sums of one part, and what each column adds to the
 * gradient.  Included by the kernels of generated/cross_entropy/.  Per column it reads a logit and a target, and stores 4 bytes for
 * the gradient kernel, which stay in the cache.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_SOFT_H
#define QUERN_CPU_CROSS_ENTROPY_SOFT_H

#include "kernels/cpu/cross_entropy_full.h"
#include "kernels/cpu/cross_entropy_kept.h"
#include "kernels/cpu/logarithm.h"

/* What the columns of a row share, as vectors. */
struct soft_row {
    vector lse;
    vector scale;              /* undoes the bias of an exponential, and the rounding of lse */
    bool of_targets, of_model;
};

/* As struct quern_divergence_term, of a vector of columns. */
struct soft_terms {
    vector value, slope;
};

/* A term whose factor is 0 is 0; NaN stays. */
static inline __attribute__((always_inline)) vector product_unless_zero(vector factor, vector x) {
    return vector_if_above(factor, vector_broadcast(0.0f), factor * x, factor);
}

/* y: of a column that does not exist -infinity, whose target t is 0.  A function, since its code has a size, too. */
static __attribute__((noinline)) struct soft_terms soft_terms(const struct soft_row *row, vector y, vector t) {
    const vector log_q = y - row->lse, least = vector_broadcast(-87.0f);  /* whose exponential is a normal number */
    struct soft_terms terms = {vector_broadcast(0.0f), vector_broadcast(0.0f) - t};
    if (!row->of_model) {
        terms.value = product_unless_zero(t, vector_log(t) - log_q);
        return terms;
    }
    const vector q = exponential(log_q, vector_broadcast(EXPONENTIAL_ROUND), least) * row->scale;
    if (!row->of_targets) {
        terms.value = product_unless_zero(q, log_q - vector_log(t));
        terms.slope = terms.value + q;
        return terms;
    }
    const vector inverse_mean = 2.0f / vector_max(vector_broadcast(FLT_MIN), t + q);  /* finite beside a subnormal t */
    const vector of_q = product_unless_zero(q, vector_log(q * inverse_mean));
    terms.value = 0.5f * (product_unless_zero(t, vector_log(t * inverse_mean)) + of_q);
    terms.slope = 0.5f * of_q;
    return terms;
}

SPECIALISED struct vector_pair load_targets(const struct quern_soft_part *soft, int64_t column, int64_t columns) {
    const element *targets = (const element *)soft->targets + column;
    element tail[PAIR];
    if (soft->are_f32)
        return load_weights((const float *)soft->targets + column, columns);
    return pair_load_element(pair_or_tail(targets, columns, tail, 0));
}

/* first: the column with which the part begins.  addends: of the piece; NULL: not wanted. */
static void add_soft_piece(const struct row *row, const struct soft_row *of, struct quern_soft_part *soft, float *addends,
                           int64_t first, int64_t column, int64_t end) {
    const vector upstream = vector_broadcast(soft->upstream);
    const struct full_wants wants = {.softcap = row->problem->softcap != 0.0f,
                                     .temperature = row->softcap->inverse_temperature != 1.0f};
    total value = {0}, slope = {0};
    for (; column < end; column += PAIR) {
        const int64_t columns = end - column;
        const struct vector_pair y = value_of(row->softcap, load_pair(row->logits + column, columns), columns, wants);
        const struct vector_pair t = load_targets(soft, column - first, columns);
        const struct soft_terms a = soft_terms(of, y.first, t.first), b = soft_terms(of, y.second, t.second);
        value += total_of((struct vector_pair){a.value, b.value});
        slope += total_of((struct vector_pair){a.slope, b.slope});
        if (!addends)
            continue;
        store_pair(addends, (struct vector_pair){upstream * a.slope, upstream * b.slope});
        addends += PAIR;
    }
    soft->value += total_value(value);
    soft->slope += total_value(slope);
}

/* The distances of the kernel are from lse as an fp32 number.  delta: what that is too small. */
static void correct_sums(struct quern_soft_part *soft, double delta) {
    if (!isfinite(soft->slope))
        return;
    if (!soft->of_model) {
        soft->value -= soft->slope * delta;
    } else if (!soft->of_targets) {
        const double moved = (soft->slope - soft->value) * delta;
        soft->value -= moved;
        soft->slope -= moved;
    }
}

static void run_soft(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t part,
                     const struct quern_kept_values *kept) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS;
    const struct softcap softcap = softcap_of(problem, index, true);
    const struct row row = row_at(problem, &softcap, index, quern_row_label(problem, index), kept->values);
    const float lse = (float)kept->soft->lse;
    const double delta = kept->soft->lse - (double)lse;
    const struct soft_row of = {vector_broadcast(lse), vector_broadcast((float)(EXPONENTIAL_UNBIAS * exp(-delta))),
                                kept->soft->of_targets, kept->soft->of_model};
    struct cursor at = cursor_of_part(kept->of_row ? part : 0);
    kept->soft->value = kept->soft->slope = 0;
    for (int64_t column = first, end; column < part_end(&row, part); column = piece_next(&row, end)) {
        end = piece_end(&row, column);
        add_soft_piece(&row, &of, kept->soft, kept->addends ? kept->addends + at.column : NULL, first, column, end);
        at = cursor_after(at, end - column);
    }
    correct_sums(kept->soft, delta);
}

#endif
