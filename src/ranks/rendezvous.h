/* The ranks of a group find each other under a name, and make the segment that they share.  For group.c. */
#ifndef QUERN_RENDEZVOUS_H
#define QUERN_RENDEZVOUS_H

#include "ranks/membership.h"

/*
 * Joins `count` ranks of one thread and waits for all others, under the name and the number of a job.  The memberships have all but
 * their roster and segment, which this fills in.  A poisoned parent (NULL: none) ends the wait.
 */
quern_status quern_rendezvous(const char *name, uint64_t job, const struct quern_membership *parent,
                              struct quern_membership *const *members, int count);

#endif
