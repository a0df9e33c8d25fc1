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

/* A pass over a piece. */
struct plain_pass {
    const element *logits;
    float *exponentials;
    struct exponential_bounds bounds;
};

/* One pair, at the given address; returns the sum of its exponentials. */
SPECIALISED total plain_pair(const struct plain_pass *pass, int64_t column, const element *logits, enum reach reach, bool keep) {
    const struct vector_pair x = pair_exponentials(pair_load_element(logits), &pass->bounds, reach);
    if (keep)
        store_pair(pass->exponentials + column, x);
    return total_of(x);
}

/* Groups, whose UNROLL pairs are summed as a tree before they join the sum of the run: few registers, short chains of roundings. */
SPECIALISED total plain_run(const struct plain_pass *pass, int64_t column, int64_t end, enum reach reach, bool keep,
                            struct range *range) {
    total run = {0};
    for (; column < end; column += GROUP) {
        total sums[UNROLL];
        prefetch_ahead(pass->logits + column);
        range_add(range, pass->logits + column, UNROLL);
        for (int k = 0; k < UNROLL; k++) {
            const int64_t here = column + k * PAIR;
            sums[k] = plain_pair(pass, here, pass->logits + here, reach, keep);
        }
        run += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    return run;
}

/* A run in which a low logit turns up is computed again, and those after it compare each logit. */
SPECIALISED struct piece_sums plain_pass(const struct plain_pass *pass, int64_t columns, float lowest, enum reach reach,
                                         bool keep) {
    const int64_t whole = columns / GROUP * GROUP;
    const enum reach careful = reach == CENTRED ? CENTRED : COMPARED;
    struct range range = range_over(lowest);
    total sum = {0}, run = {0};
    int64_t column = 0;
    for (int64_t end; column < whole; column = end) {
        sum += run;
        end = column + RUN < whole ? column + RUN : whole;
        if (reach == IN_REACH)
            run = plain_run(pass, column, end, IN_REACH, keep, &range);
        if (reach == IN_REACH && !range_is_over(&range))
            reach = COMPARED;
        if (reach != IN_REACH)
            run = plain_run(pass, column, end, careful, keep, &range);
    }
    for (; column < columns; column += PAIR) {
        element tail[PAIR];
        const element *logits = pair_or_tail(pass->logits + column, columns - column, tail, MINUS_INFINITY);
        range_add(&range, logits, 1);
        run += plain_pair(pass, column, logits, careful, keep);
    }
    return (struct piece_sums){
        .maximum = range_largest(&range, pass->logits, columns),
        .exponentials = total_value(sum + run),
    };
}

/* One loop for each case, so that none has the cost of another. */
static struct piece_sums plain_sums(const element *logits, int64_t columns, struct exponential_origin origin, float *exponentials) {
    const struct plain_pass pass = {logits, exponentials, bounds_of(origin)};
    const enum reach least = RANGE_FINDS_LOW ? IN_REACH : COMPARED;
    const float lowest = lowest_of(origin);
    if (origin.centre != 0.0f)
        return exponentials ? plain_pass(&pass, columns, lowest, CENTRED, true)
                            : plain_pass(&pass, columns, lowest, CENTRED, false);
    return exponentials ? plain_pass(&pass, columns, lowest, least, true)
                        : plain_pass(&pass, columns, lowest, least, false);
}

#endif
