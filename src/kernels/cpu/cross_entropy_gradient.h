/*
 * The gradient of one part from the values that the forward pass kept.  Included by cross_entropy.h.  Per column it reads 4 bytes
 * of an exponential and, if they are used, 4 bytes each of a slope and a class weight, all from the cache.  It writes one element
 * to DRAM.
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

SPECIALISED void plain_products(const float *exponentials, int64_t columns, struct factor factor, element *grad, bool twice) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = pair_load_f32(exponentials + column);
        x.first = times_factor(x.first, &factor, twice);
        x.second = times_factor(x.second, &factor, twice);
        if (column + PAIR <= columns)
            pair_store_element(grad + column, x);
        else
            store_tail(grad + column, columns - column, x);
    }
}

/* The inputs of a full kernel's gradient beside the exponentials; the pointers may be NULL. */
struct beside {
    const float *slopes, *class_weights;
    float uniform;             /* subtracted for each class weight */
    bool is_ordered;           /* whole pairs have been loaded by load_beside_weights() */
};

/* One pair, from its exponentials times their factor: (that - uniform * weight) * slope. */
SPECIALISED struct vector_pair with_options(struct vector_pair x, int64_t column, int64_t columns, const struct beside *beside,
                                            bool ordered) {
    const vector uniform = vector_broadcast(-beside->uniform);
    if (beside->class_weights) {
        const float *at = beside->class_weights + column;
        const struct vector_pair weights = ordered && columns >= PAIR ? load_whole_weights(at) : load_weights(at, columns);
        x.first = vector_multiply_add(uniform, weights.first, x.first);
        x.second = vector_multiply_add(uniform, weights.second, x.second);
    } else if (beside->uniform != 0.0f) {
        x.first += uniform;
        x.second += uniform;
    }
    if (beside->slopes) {
        const struct vector_pair slopes = pair_load_f32(beside->slopes + column);
        x.first *= slopes.first;
        x.second *= slopes.second;
    }
    return x;
}

SPECIALISED void full_products(const float *exponentials, int64_t columns, struct factor factor, const struct beside *beside,
                               element *grad, bool twice, bool ordered) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = pair_load_f32(exponentials + column);
        x.first = times_factor(x.first, &factor, twice);
        x.second = times_factor(x.second, &factor, twice);
        x = with_options(x, column, columns - column, beside, ordered);
        if (column + PAIR > columns)
            store_tail(grad + column, columns - column, x);
        else if (ordered)
            store_beside_weights(grad + column, x);
        else
            pair_store_element(grad + column, x);
    }
}

SPECIALISED void piece_gradient(const float *exponentials, int64_t columns, double factor, const struct beside *beside,
                                element *grad, bool full) {
    const struct factor factors = factor_of(factor);
    if (full && is_twice(factor))
        full_products(exponentials, columns, factors, beside, grad, true, beside->is_ordered);
    else if (full && beside->is_ordered)
        full_products(exponentials, columns, factors, beside, grad, false, true);
    else if (full)
        full_products(exponentials, columns, factors, beside, grad, false, false);
    else if (is_twice(factor))
        plain_products(exponentials, columns, factors, grad, true);
    else
        plain_products(exponentials, columns, factors, grad, false);
}

static void fill(element *grad, int64_t column, int64_t end, element value) {
    for (; column < end; column++)
        grad[column] = value;
}

/* The gradient of one part from its kept values. */
SPECIALISED void write_part(const struct row *row, int64_t part, const struct quern_row_gradient *gradient, struct cursor at,
                            bool full) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    if (gradient->kind != QUERN_GRADIENT_NUMBERS) {
        fill(row->grad, first, end_of_part, gradient->kind == QUERN_GRADIENT_NAN ? NOT_A_NUMBER : 0);
        return;
    }
    double origin = (double)NAN, factor = 0;
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        end = piece_end(row, column);
        if (row->origins[at.piece] != origin) {
            origin = row->origins[at.piece];
            factor = exp(origin - gradient->origin) * gradient->factor;
        }
        const struct beside beside = {
            .slopes = row->slopes ? row->slopes + at.column : NULL,
            .class_weights = problem->class_weights && gradient->uniform != 0 ? problem->class_weights + column : NULL,
            .uniform = (float)gradient->uniform,
            .is_ordered = has_weights_beside(problem),
        };
        piece_gradient(row->exponentials + at.column, end - column, factor, &beside, row->grad + column, full);
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
