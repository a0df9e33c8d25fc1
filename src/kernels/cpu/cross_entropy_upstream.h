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

/* In the order in which a pair is loaded. */
static void multiply_pairs(element *grad, int64_t pairs, float factor) {
    float x[UPSTREAM_BLOCK];
    for (int64_t i = 0; i < pairs; i++)
        store_pair(x + i * PAIR, pair_load_element(grad + i * PAIR));
    for (int64_t i = 0; i < pairs * PAIR; i++)
        x[i] = product_of(x[i], factor);
    for (int64_t i = 0; i < pairs; i++)
        pair_store_element(grad + i * PAIR, pair_load_f32(x + i * PAIR));
    for (int64_t i = 0; i < pairs * PAIR; i++)
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
