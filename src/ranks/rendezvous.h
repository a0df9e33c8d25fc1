/* The ranks of a group find each other under a name, and make and release the segment that they share.  For group.c. */
#ifndef QUERN_RENDEZVOUS_H
#define QUERN_RENDEZVOUS_H

#include "ranks/membership.h"

/*
 * Joins `count` ranks of one thread and waits for all others.  The memberships have all but their segment, which this fills in.
 * A poisoned parent (NULL: none) ends the wait.
 */
quern_status quern_rendezvous(const char *name, uint32_t first_epoch, const struct quern_membership *parent,
                              struct quern_membership *const *members, int count);

/* Unmaps the segment when no rank of this process uses it any more. */
void quern_release_segment(struct quern_segment *segment);

#endif
