/* The largest and smallest of many logits as fp32.  Included by cross_entropy_elements.h, after the vectors of the target. */
#ifndef QUERN_CPU_RANGE_OF_FLOATS_H
#define QUERN_CPU_RANGE_OF_FLOATS_H

#include <math.h>

struct range {
    vector largest, least;
};

static inline struct range range_nothing(void) {
    return (struct range){vector_broadcast(-INFINITY), vector_broadcast(INFINITY)};
}

static inline __attribute__((always_inline)) void range_join(struct range *range, const struct range *more) {
    range->largest = vector_max(range->largest, more->largest);
    range->least = vector_min(range->least, more->least);
}

static inline __attribute__((always_inline)) void range_add(struct range *range, struct vector_pair x) {
    range->largest = vector_max(range->largest, vector_max(x.first, x.second));
    range->least = vector_min(range->least, vector_min(x.first, x.second));
}

static inline float range_largest(const struct range *range) { return vector_reduce_max(range->largest); }

/* Whether no magnitude exceeds the limit. */
static inline int range_is_within(const struct range *range, float limit) {
    return vector_all_at_most(vector_max(range->largest, -range->least), vector_broadcast(limit));
}

#endif
