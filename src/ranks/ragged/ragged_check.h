/* Checks of the metadata of a ragged all-to-all on the host: for CPU ranks, and for plans of GPU ranks. */
#ifndef QUERN_RAGGED_CHECK_H
#define QUERN_RAGGED_CHECK_H

#include "ranks/ragged/ragged_call.h"

/*
 * Checks a rank's own metadata, in host memory: signs, and ranges of the input.  False: *report has the first fault.
 * quern_ragged_check_receives checks the rest, for which it needs the metadata of the peers.
 */
bool quern_ragged_check_sends(const struct quern_ragged_call *call, struct quern_slice_report *report);

/* A sender's message to a receiver about one slice; in the receiver's inbox at [sender's place * updates + update]. */
struct quern_ragged_notice {
    int64_t output_offset;  /* rows */
    int64_t size;           /* rows */
    int64_t source;         /* CPU: the offset in bytes at which the receiver fetches the slice, if it does */
};

/*
 * Checks the notices in the inbox against the metadata of this rank.  False: *report has the first fault.  order is scratch for
 * quern_ragged_entries(call) numbers if overlaps are checked; else it may be NULL.
 */
bool quern_ragged_check_receives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox, int64_t *order,
                                 struct quern_slice_report *report);

/* The buffer of a plan that was freed since the plan was made: "workspace", "input" or "output"; NULL: none. */
const char *quern_ragged_find_freed(const struct quern_ragged_call *call);

#endif
