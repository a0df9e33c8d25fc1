/*
 * A gradient times its upstream gradients on a CPU, in place: 4 bytes for each 16-bit element, none for a row whose factor is 1.
 * Included by the kernels of generated/cross_entropy/.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_UPSTREAM_H
#define QUERN_CPU_CROSS_ENTROPY_UPSTREAM_H

#include "kernels/cpu/cross_entropy_elements.h"

enum { UPSTREAM_BLOCK = 512 };  /* elements, whose values are in fp32 meanwhile */

/*
 * The product as it is rounded to an element next.  For 16 bits it is rounded to odd, so that the element is the exact product
 * rounded once: of an inexact product the neighbour with an odd last bit remains, which is no tie of 16 bits.  A double has all
 * bits of it.
 */
static inline float product_of(float x, float factor) {
    float product = x * factor;
#if LOGITS_BITS < 32
    const double exact = (double)x * (double)factor, found = (double)product;
    uint32_t bits;
    memcpy(&bits, &product, sizeof bits);
    bits -= fabs(found) > fabs(exact) ? 1 : 0;
    bits |= found != exact ? 1 : 0;
    memcpy(&product, &bits, sizeof bits);
#endif
    return product == product ? product : NAN;  /* whose rounding cannot carry into the sign */
}

/* The one that is stored. */
static inline element settled(element x) {
#if LOGITS_BITS < 32
    const int sign = 1 << (LOGITS_BITS - 1);
    return (x & (sign - 1)) > (MINUS_INFINITY & (sign - 1)) ? NOT_A_NUMBER : x;
#else
    return x;
#endif
}

static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/*
 * Whether a product must be computed with care: it may be an inexact tie, it may have underflown (below 2^-100), or it is infinite
 * or NaN.  A factor of up to 11 significant bits, which is not long, has no inexact ones.  Subnormal elements have ties in many
 * places, but the 12 lowest bits of each are 0.
 */
#if LOGITS_BITS < 32
static inline uint32_t is_doubtful(float product, uint32_t is_long) {
    enum { FRACTION = __builtin_ctz(MINUS_INFINITY), HALF = 1 << (22 - FRACTION), LEAST = (129 - (1 << (14 - FRACTION))) << 23 };
    const uint32_t bits = bits_of(product), magnitude = bits & 0x7FFFFFFF;
    const uint32_t is_tie = (bits & (2 * HALF - 1)) == HALF, may_be_tie = ((bits & 0xFFF) == 0) & (magnitude < LEAST);
    const uint32_t is_tiny = (magnitude < 0x0D800000) & (magnitude != 0);
    return (is_long & (is_tie | (may_be_tie & (magnitude != 0)))) | is_tiny | (magnitude >= 0x7F800000);
}
#else
static inline uint32_t is_doubtful(float product, uint32_t is_long) { return (void)product, (void)is_long, 0; }
#endif

static inline uint32_t multiply_values(const float *x, float *products, int64_t count, float factor) {
    const uint32_t is_long = (bits_of(factor) & 0x1FFF) != 0;
    uint32_t careful = 0;
    for (int64_t i = 0; i < count; i++) {
        products[i] = x[i] * factor;
        careful |= is_doubtful(products[i], is_long);
    }
    return careful;
}

/* In the order in which a pair is loaded. */
static void multiply_pairs(element *grad, int64_t pairs, float factor) {
    float x[UPSTREAM_BLOCK], products[UPSTREAM_BLOCK];
    for (int64_t i = 0; i < pairs; i++)
        store_pair(x + i * PAIR, pair_load_element(grad + i * PAIR));
    const uint32_t careful = multiply_values(x, products, pairs * PAIR, factor);
    for (int64_t i = 0; careful && i < pairs * PAIR; i++)
        products[i] = product_of(x[i], factor);
    for (int64_t i = 0; i < pairs; i++)
        pair_store_element(grad + i * PAIR, pair_load_f32(products + i * PAIR));
    for (int64_t i = 0; careful && i < pairs * PAIR; i++)
        grad[i] = settled(grad[i]);
}

static void multiply(element *grad, int64_t columns, float factor) {
    element rest[PAIR] = {0};
    const int64_t whole = columns / PAIR * PAIR;
    for (int64_t i = 0; i < whole; i += UPSTREAM_BLOCK)
        multiply_pairs(grad + i, (whole - i < UPSTREAM_BLOCK ? whole - i : UPSTREAM_BLOCK) / PAIR, factor);
    memcpy(rest, grad + whole, (size_t)(columns - whole) * sizeof *grad);
    multiply_pairs(rest, 1, factor);
    memcpy(grad + whole, rest, (size_t)(columns - whole) * sizeof *grad);
}

/* The padding of the gradient is zero and stays so. */
static void run_upstream(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, left = problem->vocab - first;
    const float factor = problem->grad_loss[row * problem->grad_loss_stride];
    if (factor != 1.0f)
        multiply((element *)problem->grad + row * problem->grad_stride + first,
                 left < QUERN_CPU_PART_COLUMNS ? left : QUERN_CPU_PART_COLUMNS, factor);
}

#endif
