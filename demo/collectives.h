/* All-gather and all-reduce, made of ragged all-to-alls. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "exchange.h"

/* All-gather of one row per rank. */
struct gather {
    struct exchange exchange;
    struct mirrored own;    /* this rank's row: filled in before a run */
    struct mirrored rows;   /* [ranks], after it */
};

bool gather_create(struct gather *gather, struct rank *rank, enum purpose purpose, size_t row_bytes);
void gather_free(struct gather *gather);
bool gather_run(struct gather *gather);

/* values[i] becomes its sum over the ranks, the same bits on each; the rows must be of `count` doubles. */
bool gather_sum(struct gather *gather, double *values, int count);

/*
 * All-reduce: each rank gets its slice of all ranks' values (reduce-scatter), adds them in the order of the ranks, and sends the
 * sum to all (all-gather).  The order is fixed, so every rank gets the same bits.
 */
struct all_reduce {
    struct exchange scatter, gather;
    int64_t first, slice;   /* of this rank */
    int64_t count;
    struct mirrored parts;  /* [ranks, slice] */
    struct mirrored sum;    /* [slice] */
};

bool all_reduce_create(struct all_reduce *reduce, struct rank *rank, int64_t count);
void all_reduce_free(struct all_reduce *reduce);

/* values: fp32, in memory of rank_memory_create; becomes the sum over the ranks. */
bool all_reduce_run(struct all_reduce *reduce, const struct mirrored *values);

#endif
