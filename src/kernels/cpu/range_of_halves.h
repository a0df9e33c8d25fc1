/*
 * The largest and smallest of many f16 or bf16 logits, computed from their bits.  Included by cross_entropy_elements.h, after the
 * vectors of a target that has `halves`.
 *
 * The bits of positive numbers have the order of the numbers, those of negative ones the opposite order.  So the largest number is
 * the largest of the signed integers or, if all numbers are negative, the smallest of the unsigned ones.  The smallest number, if
 * it is negative, is the largest of the unsigned ones.  That takes three instructions for a vector of 16-bit integers, without a
 * conversion.
 */
#ifndef QUERN_CPU_RANGE_OF_HALVES_H
#define QUERN_CPU_RANGE_OF_HALVES_H

#include <stdint.h>

struct range {
    halves top, bottom, least;
};

/* minus_infinity: its bits, the maximum of an empty range. */
static inline struct range range_nothing(uint16_t minus_infinity) {
    return (struct range){halves_broadcast(0x8000), halves_broadcast(0), halves_broadcast(minus_infinity)};
}

static inline __attribute__((always_inline)) void range_join(struct range *range, const struct range *more) {
    range->top = halves_max_signed(range->top, more->top);
    range->bottom = halves_max(range->bottom, more->bottom);
    range->least = halves_min(range->least, more->least);
}

/* Two vectors' worth of logits. */
static inline __attribute__((always_inline)) void range_add(struct range *range, const uint16_t *from) {
    const halves bits = halves_load(from);
    range_join(range, &(struct range){bits, bits, bits});
}

/* The bits of the largest value. */
static inline uint16_t range_largest(const struct range *range) {
    uint16_t top[2 * VECTOR_LANES], least[2 * VECTOR_LANES];
    halves_store(top, range->top);
    halves_store(least, range->least);
    for (int i = 1; i < 2 * VECTOR_LANES; i++) {
        top[0] = (int16_t)top[i] > (int16_t)top[0] ? top[i] : top[0];
        least[0] = least[i] < least[0] ? least[i] : least[0];
    }
    return top[0] < 0x8000 ? top[0] : least[0];
}

/* Whether no magnitude exceeds the limit, which is given as bits. */
static inline int range_is_within(const struct range *range, uint16_t limit) {
    return halves_all_at_most(range->top, halves_broadcast(limit), range->bottom, halves_broadcast(limit | 0x8000));
}

#endif
