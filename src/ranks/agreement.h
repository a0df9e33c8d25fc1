/* Agreement of all ranks of a group, on the host: whether all have succeeded, and else which rank failed and why. */
#ifndef QUERN_AGREEMENT_H
#define QUERN_AGREEMENT_H

#include "ranks/membership.h"

/* Makes the next vote of the rank: whether its step succeeded, the calling thread's detail if not, and a value for the caller. */
void quern_cast_vote(struct quern_membership *member, quern_status status, uint64_t value);

/*
 * Collective over the group.  Every one of the members has cast its vote.  If any rank has failed, every rank fails with the status
 * of the lowest failed rank and the detail "rank 2: REASON".  The group stays usable.  members[0]->heard then holds the votes of
 * all ranks.  Other errors: those of quern_exchange.
 */
quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation);

/* Agrees after a step that stops at the first failure of a thread: members[at] votes with `status`, the others with QUERN_OK. */
quern_status quern_agree_at(struct quern_membership *const *members, int count, enum quern_collective operation, int at,
                            quern_status status);

#endif
