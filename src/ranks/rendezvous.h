/* The ranks of a group find each other under a name, and make the segment that they share.  For form.c. */
#ifndef QUERN_RENDEZVOUS_H
#define QUERN_RENDEZVOUS_H

#include "ranks/membership.h"

/* How the names begin of groups that are made of another one.  A random number follows. */
#define QUERN_SPLIT "split."
#define QUERN_SHRINK "shrink."

/*
 * Asked while ranks wait for others, unless `ask` is NULL: a failure ends the wait of all ranks with its status and detail.  Of a
 * group that is made of another one, `numbers` has those of its ranks there, which texts have until the group is published.
 */
struct quern_veto {
    quern_status (*ask)(const void *user);
    const void *user;
    const uint16_t *numbers;
};

/*
 * Joins `count` ranks of one thread and waits for all others, under the name and the number of a job.  The memberships have all but
 * their roster and segment, which this fills in.  The others are those of this host: members[0]->here.
 */
quern_status quern_rendezvous(const char *name, uint64_t job, struct quern_veto veto,
                              struct quern_membership *const *members, int count);

/*
 * Completes the roster and gives the ranks their signals.  The rendezvous does so, unless the ranks have a control: then the facts
 * of the ranks of other hosts are still to come.  Fails if the segment is damaged; the caller tells the other ranks.
 */
quern_status quern_seat_members(struct quern_membership *const *members, int count);

#endif
