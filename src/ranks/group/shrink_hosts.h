/* The part of a shrink that is about ranks of several hosts.  For shrink.c. */
#ifndef QUERN_SHRINK_HOSTS_H
#define QUERN_SHRINK_HOSTS_H

#include "ranks/hosts/quorum.h"

/*
 * For the other ranks of a host: the verdict of a round, by the rank that speaks for it.  The second is false: there is none yet.
 */
void quern_publish_verdict(const struct quern_membership *member, uint32_t round, const struct quern_verdict *verdict);
bool quern_read_verdict(const struct quern_membership *member, int speaker, uint32_t round, struct quern_verdict *verdict);

/*
 * Forms the group of the verdict's ranks, up to the last meeting.  Until that has begun, a rank that fails may try again.  The
 * limit is in seconds; the veto is asked while ranks are awaited.
 */
quern_status quern_join_quorum(const struct quern_membership *member, const struct quern_verdict *verdict, double limit,
                               struct quern_veto veto, struct quern_membership **formed);

/*
 * The last meeting.  Who has completed it knows that no other rank of the group will be of another one.  After a failure, here too,
 * nothing is kept.
 */
quern_status quern_seal_quorum(const struct quern_membership *member, struct quern_membership **formed);

#endif
