/* Overlaps between the arrays of a list of tensors, and of other buffers of a call with them.  For all of src/adam. */
#ifndef QUERN_ADAM_APART_H
#define QUERN_ADAM_APART_H

#include "adam/adam_list.h"
#include "runtime/ranges.h"

/*
 * A call without a plan checks all pairs of arrays if the list has at most this many, since it allocates no memory.  Otherwise it
 * checks only the arrays within each tensor, and the other buffers of the call among themselves.
 */
enum { QUERN_CHECKED_ARRAYS = 512 };

/* The other buffers of a call: control, results, workspace. */
enum { QUERN_OTHER_RANGES = 8 };

/* Fails if two tensors share memory that the arguments write, or another buffer shares memory with them or with one another. */
quern_status quern_adam_check_apart(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list,
                                    const struct quern_range *others, int count);

/* The same for a list of any length.  Allocates memory while it works. */
quern_status quern_adam_check_long_apart(const quern_device *device, const quern_adam_args *args,
                                         const struct quern_adam_list *list, const struct quern_range *others, int count);

/* The memory of all arrays of a plan, in pieces that do not touch or differ in access. */
struct quern_adam_piece {
    uintptr_t begin, end;
    bool written;
};

/* Allocates room for the ranges of a list, for QUERN_OTHER_RANGES more, and for as many again that the sorting uses. */
quern_status quern_adam_allocate_ranges(const quern_device *device, int64_t arrays, struct quern_range **ranges);

/* Joins ranges that are sorted and apart. */
quern_status quern_adam_join(const quern_device *device, const struct quern_range *ranges, int64_t count,
                             struct quern_adam_pieces *pieces);

/* Checks the tensors of a plan against each other and stores their pieces in the plan. */
quern_status quern_adam_keep_pieces(struct quern_adam_plan *plan);

/* Checks other buffers of a call against the pieces of a plan, and against each other. */
quern_status quern_adam_check_against_pieces(const quern_device *device, const struct quern_adam_pieces *pieces,
                                             const struct quern_range *others, int count);
quern_status quern_adam_check_against_plan(const quern_device *device, const struct quern_adam_plan *plan,
                                           const struct quern_range *others, int count);

#endif
