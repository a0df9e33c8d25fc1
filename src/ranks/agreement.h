/* How the ranks of a group learn on the host whether all of them have succeeded so far, and what failed where. */
#ifndef QUERN_AGREEMENT_H
#define QUERN_AGREEMENT_H

#include "ranks/membership.h"

/* What a rank says. */
struct quern_verdict {
    int32_t status;     /* quern_status */
    int32_t unused;
    uint64_t value;     /* anything the others should know */
    char reason[240];   /* of a failure */
};

/* A verdict with the calling thread's detail as its reason. */
struct quern_verdict quern_make_verdict(quern_status status);

/*
 * Collective over the group.  verdicts[i] is of members[i].  When any rank has failed, every rank fails with the status of the
 * lowest such rank and the detail "rank 2: REASON"; the group stays usable.  all (may be NULL): [ranks] everyone's verdict.
 * Errors of its own: those of quern_exchange.
 */
quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation,
                         const struct quern_verdict *verdicts, struct quern_verdict *all);

#endif
