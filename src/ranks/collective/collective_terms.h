/* What the members of a collective tell each other of their calls, and whether they agree.  For the rows of several hosts. */
#ifndef QUERN_COLLECTIVE_TERMS_H
#define QUERN_COLLECTIVE_TERMS_H

#include "ranks/collective/collective_call.h"

struct quern_collective_terms {
    uint64_t seal;                        /* of all that follows: ranks act on it, so it must be what the rank has written */
    int32_t status;                       /* quern_status: not QUERN_OK: the rank refuses its arguments, and nothing below is set */
    int32_t operation;                    /* enum quern_collective */
    int64_t dtype, combination, count, root;
    uint64_t workspace_id;                /* its place in symmetric memory */
    int64_t workspace_offset;
};

/* Writes what this rank says. */
void quern_write_collective_terms(const struct quern_collective_call *call, struct quern_collective_terms *terms);

/* Whether they are as a rank has sealed them. */
bool quern_collective_terms_are_sealed(const struct quern_collective_terms *terms);

/*
 * Fails on all members alike: with the refusal of the lowest one that refuses its arguments, else with the first difference between
 * the lowest member and another one.  A rank that refuses keeps its own status and detail.  reason(user, place) is that of a refusal.
 */
quern_status quern_compare_collective_terms(const struct quern_collective_call *call, const struct quern_collective_terms *terms,
                                            const char *(*reason)(void *user, int place), void *user);

#endif
