/*
 * The forward pass of plain kernels over a piece: one loop computes the largest logit, the exponentials and their sum.  Included by
 * cross_entropy_full.h and cross_entropy_parts.h.  It reads each logit from DRAM and writes 4 bytes that stay in the cache.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_PLAIN_H
#define QUERN_CPU_CROSS_ENTROPY_PLAIN_H

#include "kernels/cpu/cross_entropy_pieces.h"

/* Columns that are summed separately before their sum joins that of the piece: this limits a chain of roundings to about 20. */
enum { RUN = 512 };

/* The prefetch distance for logits in the forward pass, in bytes.  It crosses the row's end into the next row. */
enum { AHEAD = 8192, CACHE_LINE = 64 };

static inline void prefetch_ahead(const element *logits) {
    for (size_t byte = 0; byte < GROUP * sizeof(element); byte += CACHE_LINE)
        __builtin_prefetch((const void *)((uintptr_t)logits + AHEAD + byte));
}

/* UNROLL pairs are summed as a tree before they join the sum of a run: few registers, short chains of roundings. */
SPECIALISED struct piece_sums plain_pass(const element *logits, int64_t columns, struct exponential_origin origin,
                                         float *exponentials, bool centred, bool keep) {
    const struct exponential_bounds bounds = bounds_of(origin);
    total sum = {0}, run = {0};
    vector maximum = vector_broadcast(-INFINITY);
    int64_t column = 0;
    for (; column + GROUP <= columns; column += GROUP) {
        prefetch_ahead(logits + column);
        if (column % RUN == 0) {
            sum += run;
            run = (total){0};
        }
        total sums[UNROLL];
        for (int k = 0; k < UNROLL; k++) {
            int64_t here = column + k * PAIR;
            struct vector_pair x = pair_load_element(logits + here);
            maximum = vector_max(maximum, vector_max(x.first, x.second));
            x = pair_exponentials(x, &bounds, centred);
            if (keep)
                store_pair(exponentials + here, x);
            sums[k] = total_of(x);
        }
        run += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (; column < columns; column += PAIR) {
        struct vector_pair x = load_pair(logits + column, columns - column);
        maximum = vector_max(maximum, vector_max(x.first, x.second));
        x = pair_exponentials(x, &bounds, centred);
        if (keep)
            store_pair(exponentials + column, x);
        run += total_of(x);
    }
    return (struct piece_sums){.maximum = vector_reduce_max(maximum), .exponentials = total_value(sum + run)};
}

/* One loop for each case, so that none has the cost of another. */
static struct piece_sums plain_sums(const element *logits, int64_t columns, struct exponential_origin origin, float *exponentials) {
    if (origin.centre != 0.0f)
        return exponentials ? plain_pass(logits, columns, origin, exponentials, true, true)
                            : plain_pass(logits, columns, origin, NULL, true, false);
    return exponentials ? plain_pass(logits, columns, origin, exponentials, false, true)
                        : plain_pass(logits, columns, origin, NULL, false, false);
}

#endif
