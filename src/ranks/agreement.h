/* Agreement of all ranks of a group, on the host: whether all have succeeded, and else which rank failed and why. */
#ifndef QUERN_AGREEMENT_H
#define QUERN_AGREEMENT_H

#include "ranks/membership.h"

/* The vote of one rank. */
struct quern_vote {
    int32_t status;     /* quern_status */
    int32_t unused;
    uint64_t value;     /* for the caller */
    char reason[240];   /* why it failed */
};

/* A vote, with the calling thread's detail as its reason. */
struct quern_vote quern_make_vote(quern_status status);

/*
 * Collective over the group.  votes[i] is the vote of members[i].  If any rank has failed, every rank fails with the status of the
 * lowest failed rank and the detail "rank 2: REASON".  The group stays usable.  all (may be NULL): [ranks] the votes of all.
 * Other errors: those of quern_exchange.
 */
quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation,
                         const struct quern_vote *votes, struct quern_vote *all);

#endif
