/* Checks of the metadata of a ragged all-to-all on the host: for CPU ranks, and for plans of GPU ranks. */
#ifndef QUERN_RAGGED_CHECK_H
#define QUERN_RAGGED_CHECK_H

#include "ranks/ragged/ragged_call.h"

/*
 * Checks one rank's metadata (in host memory) on its own: signs, ranges of the input.  False: *report has the first fault.
 * The rest (what sender and receiver must agree on) needs the peers' metadata: quern_ragged_check_receives.
 */
bool quern_ragged_check_sends(const struct quern_ragged_call *call, struct quern_slice_report *report);

/* What a sender tells a receiver of one slice; in the receiver's inbox at [sender's place * updates + update]. */
struct quern_ragged_notice {
    int64_t output_offset;  /* rows */
    int64_t size;           /* rows */
    int64_t source;         /* CPU: bytes from the beginning of where the receiver fetches it, if the sender does not deliver it */
};

/*
 * Checks what this rank receives against what it expects: inbox as above.  False: *report has the first fault.  order has room for
 * quern_ragged_entries(call) numbers if overlaps are to be looked for; else it may be NULL.
 */
bool quern_ragged_check_receives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox, int64_t *order,
                                 struct quern_slice_report *report);

/* The buffer of a plan that was freed since the plan was made: "workspace", "input" or "output"; NULL: none. */
const char *quern_ragged_find_freed(const struct quern_ragged_call *call);

#endif
