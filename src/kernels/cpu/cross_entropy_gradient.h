/*
 * The gradient of one part from the values that the forward pass kept.  Included by cross_entropy.h.  Per column it reads 4 bytes
 * of an exponential and, if they are used, 4 bytes of a class weight and the logit, all from the cache.  It writes one element to
 * DRAM, in place or elsewhere.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_GRADIENT_H
#define QUERN_CPU_CROSS_ENTROPY_GRADIENT_H

#include <float.h>

#include "kernels/cpu/cross_entropy_parts.h"

#if LOGITS_BITS == 32
/*
 * The factor of the exponentials, for fp32 gradients: a power of two, and a sum of two floats.  The power is 1 unless the factor is
 * so small that the second float would be subnormal.  Each product is less than a unit in the last place from the exact one.  So
 * rows whose sums differ only in their last bits, as those of shards do, have gradients that are equal or neighbours.
 */
struct factor {
    vector power, high, low;
};

/* Whether the power is used: for a small factor, so that the second float is a normal number. */
static inline bool is_twice(double factor) {
    return fabs(factor) < 0x1p-4;
}

/* The power is at least 2^-126, and the rest at most 2^-24: a product with the power is exact unless the gradient vanishes. */
static inline struct factor factor_of(double factor) {
    double rest = factor * EXPONENTIAL_UNBIAS, power = 1;
    if (is_twice(factor)) {
        int exponent;
        const double mantissa = frexp(factor, &exponent);
        const int of_rest = exponent + 30 < -24 ? exponent + 30 : -24;
        rest = ldexp(mantissa, of_rest);
        power = ldexp(EXPONENTIAL_UNBIAS, exponent - of_rest);
    }
    const float high = (float)rest;
    return (struct factor){vector_broadcast((float)power), vector_broadcast(high), vector_broadcast((float)(rest - (double)high))};
}

static inline vector times_factor(vector x, const struct factor *factor, bool twice) {
    if (twice)
        x *= factor->power;
    return vector_multiply_add(x, factor->high, x * factor->low);
}

#else
/*
 * The factor of the exponentials, rounded once: the factor / 2^EXPONENTIAL_BIAS or, if that is not a normal fp32, two normal
 * factors.  The product with the power is exact unless the gradient vanishes.
 */
struct factor {
    vector power, high;
};

/* Whether both factors are used. */
static inline bool is_twice(double factor) {
    return fabs(factor) * EXPONENTIAL_UNBIAS < FLT_MIN;
}

static inline struct factor factor_of(double factor) {
    if (is_twice(factor))
        return (struct factor){vector_broadcast((float)EXPONENTIAL_UNBIAS * 0x1p-24f), vector_broadcast((float)(factor * 0x1p24))};
    return (struct factor){vector_broadcast(1.0f), vector_broadcast((float)(factor * EXPONENTIAL_UNBIAS))};
}

static inline vector times_factor(vector x, const struct factor *factor, bool twice) {
    if (twice)
        x *= factor->power;
    return x * factor->high;
}
#endif

SPECIALISED struct vector_pair pair_times_factor(const float *exponentials, const struct factor *factor, bool twice) {
    const struct vector_pair x = pair_load_f32(exponentials);
    return (struct vector_pair){times_factor(x.first, factor, twice), times_factor(x.second, factor, twice)};
}

SPECIALISED void plain_products(const float *exponentials, int64_t columns, struct factor factor, element *grad, bool twice) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        const struct vector_pair x = pair_times_factor(exponentials + column, &factor, twice);
        if (column + PAIR <= columns)
            pair_store_element(grad + column, x);
        else
            store_tail(grad + column, columns - column, x);
    }
}

/* What a full kernel's gradient uses beside the exponentials.  If the struct is a constant, so are the branches on it. */
struct beside_wants {
    bool twice;                /* both factors */
    bool softcap, class_weights, uniform;
};

struct beside {
    const element *logits;
    const float *class_weights;
    struct factor factor;
    struct softcap softcap;
    vector uniform;            /* negated; added for each class weight */
    uint64_t far;              /* as in struct quern_kept_piece */
    struct beside_wants wants;
};

/* One pair: (exponential * factor - uniform * weight) * slope. */
SPECIALISED struct vector_pair with_options(const struct beside *beside, const float *exponentials, int64_t column, int64_t columns,
                                            bool near, struct beside_wants wants) {
    struct vector_pair x = pair_times_factor(exponentials + column, &beside->factor, wants.twice);
    if (wants.class_weights) {
        const struct vector_pair weights = load_weights(beside->class_weights + column, columns);
        x.first = vector_multiply_add(beside->uniform, weights.first, x.first);
        x.second = vector_multiply_add(beside->uniform, weights.second, x.second);
    } else if (wants.uniform) {
        x.first += beside->uniform;
        x.second += beside->uniform;
    }
    if (wants.softcap) {
        const struct vector_pair logits = load_pair(beside->logits + column, columns);
        x.first *= near ? softcap_slope(logits.first, &beside->softcap) : softcap_any_slope(logits.first, &beside->softcap);
        x.second *= near ? softcap_slope(logits.second, &beside->softcap) : softcap_any_slope(logits.second, &beside->softcap);
    }
    return x;
}

/* Up to GROUP columns. */
SPECIALISED void write_pairs(const struct beside *beside, const float *exponentials, int64_t column, int64_t columns, element *grad,
                             bool near, struct beside_wants wants) {
    int64_t end = column + columns / PAIR * PAIR;
    for (; column < end; column += PAIR)
        pair_store_element(grad + column, with_options(beside, exponentials, column, PAIR, near, wants));
    columns %= PAIR;
    if (columns)
        store_tail(grad + column, columns, with_options(beside, exponentials, column, columns, near, wants));
}

SPECIALISED void full_products(struct beside beside, const float *exponentials, int64_t columns, element *grad,
                               struct beside_wants wants) {
    for (int64_t column = 0; column < columns; column += GROUP) {
        const int64_t rest = columns - column < GROUP ? columns - column : GROUP;
        if (wants.softcap && beside.far & far_bit(column))
            write_pairs(&beside, exponentials, column, rest, grad, false, wants);
        else
            write_pairs(&beside, exponentials, column, rest, grad, true, wants);
    }
}

/* Separate loops, as for the sums. */
static void full_gradient(const struct beside *beside, const float *exponentials, int64_t columns, element *grad) {
    const struct beside_wants wants = beside->wants, capped = {.softcap = 1}, capped_uniform = {.softcap = 1, .uniform = 1};
    const struct beside_wants capped_weighed = {.softcap = 1, .class_weights = 1};
    if (wants.twice || !wants.softcap)
        full_products(*beside, exponentials, columns, grad, wants);
    else if (wants.class_weights)
        full_products(*beside, exponentials, columns, grad, capped_weighed);
    else if (wants.uniform)
        full_products(*beside, exponentials, columns, grad, capped_uniform);
    else
        full_products(*beside, exponentials, columns, grad, capped);
}

static void fill(element *grad, int64_t column, int64_t end, element value) {
    for (; column < end; column++)
        grad[column] = value;
}

static struct beside beside_piece(const struct row *row, int64_t column, const struct quern_row_gradient *gradient, double factor,
                                  uint64_t far) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    return (struct beside){
        .logits = row->logits + column,
        .class_weights = problem->class_weights ? problem->class_weights + column : NULL,
        .factor = factor_of(factor),
        .softcap = *row->softcap,
        .uniform = vector_broadcast(-(float)gradient->uniform),
        .far = far,
        .wants = {
            .twice = is_twice(factor),
            .softcap = problem->softcap != 0.0f,
            .class_weights = problem->class_weights && gradient->uniform != 0,
            .uniform = gradient->uniform != 0,
        },
    };
}

/* The gradient of one part from its kept values. */
SPECIALISED void write_part(const struct row *row, int64_t part, const struct quern_row_gradient *gradient, struct cursor at,
                            bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    if (gradient->kind != QUERN_GRADIENT_NUMBERS) {
        fill(row->grad, first, end_of_part, gradient->kind == QUERN_GRADIENT_NAN ? NOT_A_NUMBER : 0);
        return;
    }
    double origin = (double)NAN, factor = 0;
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        const struct quern_kept_piece *kept = &row->pieces[at.piece];
        end = piece_end(row, column);
        if (kept->origin != origin) {
            origin = kept->origin;
            factor = exp(origin - gradient->origin) * gradient->factor;
        }
        const float *exponentials = row->exponentials + at.column;
        if (full) {
            const struct beside beside = beside_piece(row, column, gradient, factor, kept->far);
            full_gradient(&beside, exponentials, end - column, row->grad + column);
        } else if (is_twice(factor)) {
            plain_products(exponentials, end - column, factor_of(factor), row->grad + column, true);
        } else {
            plain_products(exponentials, end - column, factor_of(factor), row->grad + column, false);
        }
        at = cursor_after(at, end - column);
    }
    if (first <= row->label && row->label < end_of_part) {
        const vector label = vector_broadcast((float)(gradient->label * (double)first_lane(row->capped.slope)));
        store_tail(row->grad + row->label, 1, (struct vector_pair){label, label});
    }
}

static void write_padding(const struct row *row) {
    fill(row->grad, row->vocab, row->problem->padded_vocab, 0);
}

#endif
