/*
 * Elements of logits: conversions to fp32 vectors and from gradients, for whole pairs of vectors and for the partial pair at the
 * end of a piece; the range of many logits; the type of sums over columns.  The rest of the code is the same for all types.
 * Included by cross_entropy_pieces.h.
 *
 * A source includes this through cross_entropy.h.  For its type of logits it first defines
 *
 *   LOGITS          the suffix of the type's conversions: bf16 for pair_load_bf16
 *   LOGITS_TYPE     the C type of an element, a logit or its gradient
 *   LOGITS_BITS     the bits of an element
 *   MINUS_INFINITY  the element that adds nothing to a sum of exponentials
 *   NOT_A_NUMBER    the element that is stored for NaN
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_ELEMENTS_H
#define QUERN_CPU_CROSS_ENTROPY_ELEMENTS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/exponential_vectors.h"
#include "kernels/cpu/target.h"

#include "kernels/cpu/softcap.h"
#include "kernels/cross_entropy_row.h"
#include "kernels/kernel.h"

typedef LOGITS_TYPE element;

enum { PAIR = 2 * VECTOR_LANES, UNROLL = 4, GROUP = UNROLL * PAIR };

/*
 * For functions that take constant bool arguments, so that each call becomes a separate loop, and for functions inside such loops.
 */
#define SPECIALISED static inline __attribute__((always_inline))

/* The conversions of the logits' type: pair_load_bf16 for bf16. */
#define pair_load_element QUERN_JOIN(pair_load_, LOGITS)
#define pair_store_element QUERN_JOIN(pair_store_, LOGITS)
#define pair_load_beside_element QUERN_JOIN(pair_load_beside_, LOGITS)
#define pair_store_beside_element QUERN_JOIN(pair_store_beside_, LOGITS)

/* The last, partial pair of a piece, padded. */
static inline void fill_tail(element *tail, const element *logits, int64_t columns, element padding) {
    for (int i = 0; i < PAIR; i++)
        tail[i] = padding;
    memcpy(tail, logits, (size_t)columns * sizeof(element));
}

/* Padded with columns that add nothing. */
static struct vector_pair load_tail(const element *logits, int64_t columns) {
    element tail[PAIR];
    fill_tail(tail, logits, columns, MINUS_INFINITY);
    return pair_load_element(tail);
}

static inline float first_lane(vector x) {
    float lanes[VECTOR_LANES];
    vector_store_f32(lanes, x);
    return lanes[0];
}

/* The address of a pair: that of its logits or, of a partial one, of a padded copy. */
SPECIALISED const element *pair_or_tail(const element *logits, int64_t columns, element *tail, element padding) {
    if (columns >= PAIR)
        return logits;
    fill_tail(tail, logits, columns, padding);
    return tail;
}

SPECIALISED struct vector_pair load_pair(const element *logits, int64_t columns) {
    return columns >= PAIR ? pair_load_element(logits) : load_tail(logits, columns);
}

static void store_tail(element *grad, int64_t columns, struct vector_pair x) {
    element tail[PAIR];
    pair_store_element(tail, x);
    memcpy(grad, tail, (size_t)columns * sizeof(element));
}

/* The class weights of a pair of logits: 1 if there are none, 0 beyond the columns. */
static struct vector_pair load_weights(const float *weights, int64_t columns) {
    float tail[PAIR];
    if (weights && columns >= PAIR)
        return pair_load_beside_element(weights);
    for (int i = 0; i < PAIR; i++)
        tail[i] = i >= columns ? 0.0f : weights ? weights[i] : 1.0f;
    return pair_load_beside_element(tail);
}

SPECIALISED void store_pair(float *to, struct vector_pair x) {
    vector_store_f32(to, x.first);
    vector_store_f32(to + VECTOR_LANES, x.second);
}

/* The type of sums over columns. */
#if LOGITS_BITS == 32
typedef vector_wide total;  /* double: the sums of shards then differ from those of whole rows by less than an fp32 shows */

SPECIALISED total total_of(struct vector_pair x) {
    return vector_widen(x.first) + vector_widen(x.second);
}

SPECIALISED total add_products(total sum, struct vector_pair x, struct vector_pair y) {
    return sum + total_of((struct vector_pair){x.first * y.first, x.second * y.second});
}

static inline double total_value(total x) {
    return wide_reduce_add(x);
}
#else
typedef vector total;

SPECIALISED total total_of(struct vector_pair x) {
    return x.first + x.second;
}

SPECIALISED total add_products(total sum, struct vector_pair x, struct vector_pair y) {
    return vector_multiply_add(x.first, y.first, vector_multiply_add(x.second, y.second, sum));
}

static inline double total_value(total x) {
    return vector_reduce_add(x);
}
#endif

#endif
