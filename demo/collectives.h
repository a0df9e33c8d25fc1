/* The collectives of Quern on buffers of the engine: all-gather, all-reduce and reduce-scatter. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "ranks.h"

/* One of them, again and again. */
struct collective {
    struct rank *rank;
    enum purpose purpose;
    quern_dtype dtype;
    struct mirrored workspace;
};

/* Collective: every rank creates its collectives in the same order.  count: the largest of a run, as in quern_collective_args. */
bool collective_create(struct collective *collective, struct rank *rank, enum purpose purpose, quern_dtype dtype, int64_t count);
void collective_free(struct collective *collective);

/* values [count], in memory of rank_memory_create, becomes the sum over the ranks, the same bits on each. */
bool all_reduce(struct collective *collective, const struct mirrored *values, int64_t count);

/*
 * parts [ranks, stride], in memory of rank_memory_create, and sum [stride]: of the elements [first, first + count) of this rank's
 * part the sum over the ranks goes to the same elements of sum.  Others may be written meanwhile.
 */
struct slice {
    int64_t first, count, stride;
};
bool reduce_scatter(struct collective *collective, const struct mirrored *parts, const struct mirrored *sum, struct slice slice);

/* All-gather of one row per rank, of a multiple of 4 bytes. */
struct gather {
    struct collective collective;
    struct mirrored own;    /* this rank's row: filled in before a run */
    struct mirrored rows;   /* [ranks], after it */
};

bool gather_create(struct gather *gather, struct rank *rank, enum purpose purpose, size_t row_bytes);
void gather_free(struct gather *gather);
bool gather_run(struct gather *gather);

/* values[i] becomes its sum over the ranks, the same bits on each; the rows must be of `count` doubles. */
bool gather_sum(struct gather *gather, double *values, int count);

#endif
