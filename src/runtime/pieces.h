/* The memory of the arrays of a list, to find overlaps of other buffers with them.  For operations that have plans. */
#ifndef QUERN_PIECES_H
#define QUERN_PIECES_H

#include <stdbool.h>

#include "runtime/ranges.h"

/*
 * A call without a plan checks all pairs of arrays if the list has at most this many, since it allocates no memory.  Otherwise it
 * checks only the arrays within each tensor, and the other buffers of the call among themselves.
 */
enum { QUERN_CHECKED_ARRAYS = 512 };

/* The other buffers of a call: control, results, workspace. */
enum { QUERN_OTHER_RANGES = 8 };

/* The memory of all arrays of a plan, in pieces that do not touch or differ in access. */
struct quern_piece {
    uintptr_t begin, end;
    bool written;
};

struct quern_pieces {
    struct quern_piece *list;
    int64_t count;
};

/* Allocates room for the ranges of a list, for QUERN_OTHER_RANGES more, and for as many again that the sorting uses. */
quern_status quern_allocate_ranges(const quern_device *device, int64_t arrays, struct quern_range **ranges);

/* Joins ranges that are sorted and apart. */
quern_status quern_join_ranges(const quern_device *device, const struct quern_range *ranges, int64_t count,
                               struct quern_pieces *pieces);

/* Checks other buffers of a call against the pieces of a plan, and against each other. */
quern_status quern_check_against_pieces(const quern_device *device, const struct quern_pieces *pieces,
                                        const struct quern_range *others, int count);

#endif
