/*
 * The range of the logits that a pass has seen: the largest one, and whether all of them are above a bound.  Included by
 * cross_entropy_pieces.h.
 *
 * 16-bit elements are compared by their bits where there are instructions for that, two comparisons for a pair of vectors.  As
 * signed integers, those that are not negative are in order and above the others.  As unsigned integers, negative ones are above
 * the others and in reverse order.  So the largest unsigned one tells how low the logits are, and if there are negative ones only,
 * the least unsigned one is the largest logit.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_RANGE_H
#define QUERN_CPU_CROSS_ENTROPY_RANGE_H

#include "kernels/cpu/cross_entropy_elements.h"

#if LOGITS_BITS == 16 && (QUERN_SIMD512 || QUERN_SIMD256 || QUERN_NEON)

/* Whether a pass that looks for low logits is faster than one that expects them everywhere. */
enum { RANGE_FINDS_LOW = 1 };

enum { ELEMENT_SIGN = 0x8000 };

struct range {
    halves signed_most, unsigned_most;
    halves bound;              /* bits of a negative element: those of one below the bound are larger, as unsigned integers */
};

/* A bound that is not below -1 has no logits above it: they are not looked for. */
static inline struct range range_over(float bound) {
    const halves start = halves_broadcast(ELEMENT_SIGN);
    if (!(bound < -1))
        return (struct range){start, halves_broadcast(0xFFFF), start};
    const vector magnitude = vector_broadcast(-bound);
    element nearest[PAIR];
    pair_store_element(nearest, (struct vector_pair){magnitude, magnitude});
    const halves bits = halves_broadcast((uint16_t)(ELEMENT_SIGN | (nearest[0] - 1)));
    return (struct range){start, bits, bits};
}

SPECIALISED void range_add(struct range *range, const element *logits, int pairs) {
    for (int k = 0; k < pairs; k++) {
        const halves bits = halves_load(logits + k * PAIR);
        range->signed_most = halves_max_signed(range->signed_most, bits);
        range->unsigned_most = halves_max(range->unsigned_most, bits);
    }
}

SPECIALISED void range_join(struct range *range, const struct range *more) {
    range->signed_most = halves_max_signed(range->signed_most, more->signed_most);
    range->unsigned_most = halves_max(range->unsigned_most, more->unsigned_most);
}

SPECIALISED bool range_is_over(const struct range *range) {
    return halves_are_equal(range->unsigned_most, range->bound);
}

/* Whether no logit's magnitude is above that of the bound. */
SPECIALISED bool range_is_within(const struct range *range) {
    const halves most = halves_magnitude(range->bound);
    return range_is_over(range) && halves_are_equal(halves_max_signed(range->signed_most, most), most);
}

static inline float element_value(uint16_t bits) {
    element logits[PAIR];
    halves_store(logits, halves_broadcast(bits));
    return first_lane(pair_load_element(logits).first);
}

/* The largest of these logits, which have been added. */
static inline float range_largest(const struct range *range, const element *logits, int64_t columns) {
    halves least = halves_broadcast(MINUS_INFINITY);
    const uint16_t found = halves_reduce_min(range->signed_most ^ halves_broadcast(0x7FFF)) ^ 0x7FFF;
    if (!(found & ELEMENT_SIGN))
        return element_value(found);
    for (int64_t column = 0; column < columns; column += PAIR) {
        element tail[PAIR];
        least = halves_min(least, halves_load(pair_or_tail(logits + column, columns - column, tail, MINUS_INFINITY)));
    }
    return element_value(halves_reduce_min(least));
}

#else

#if QUERN_SIMD256 || QUERN_NEON
enum { RANGE_FINDS_LOW = 1 };
#else
enum { RANGE_FINDS_LOW = 0 };
#endif

struct range {
    vector largest, least, bound;
};

static inline struct range range_over(float bound) {
    return (struct range){vector_broadcast(-INFINITY), vector_broadcast(INFINITY), vector_broadcast(bound)};
}

SPECIALISED void range_add(struct range *range, const element *logits, int pairs) {
    for (int k = 0; k < pairs; k++) {
        const struct vector_pair x = pair_load_element(logits + k * PAIR);
        range->largest = vector_max(range->largest, vector_max(x.first, x.second));
        range->least = vector_min(range->least, vector_min(x.first, x.second));
    }
}

SPECIALISED void range_join(struct range *range, const struct range *more) {
    range->largest = vector_max(range->largest, more->largest);
    range->least = vector_min(range->least, more->least);
}

SPECIALISED bool range_is_over(const struct range *range) {
    return vector_all_at_most(range->bound, range->least);
}

SPECIALISED bool range_is_within(const struct range *range) {
    return range_is_over(range) && vector_all_at_most(range->largest, -range->bound);
}

static inline float range_largest(const struct range *range, const element *logits, int64_t columns) {
    (void)logits, (void)columns;
    return vector_reduce_max(range->largest);
}

#endif

static float piece_maximum(const element *logits, int64_t columns) {
    struct range range = range_over(0.0f);
    int64_t column = 0;
    for (; column + GROUP <= columns; column += GROUP)
        range_add(&range, logits + column, UNROLL);
    for (; column < columns; column += PAIR) {
        element tail[PAIR];
        range_add(&range, pair_or_tail(logits + column, columns - column, tail, MINUS_INFINITY), 1);
    }
    return range_largest(&range, logits, columns);
}

#endif
