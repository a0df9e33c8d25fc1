/* The part of a split that is about ranks of several hosts.  For split.c. */
#ifndef QUERN_SPLIT_HOSTS_H
#define QUERN_SPLIT_HOSTS_H

#include "ranks/rendezvous.h"

struct quern_split_wish {
    int32_t colour, key;
};

/* The place of a rank among the ranks of its colour, ordered by key and old rank.  *ranks: their number. */
int quern_place_in_colour(const struct quern_split_wish *wishes, int ranks_before, int rank, int *ranks);

/*
 * Forms the group of a rank's colour, if it has one.  Collective over the parent; a thread has one rank, a CPU.  The veto is asked
 * while ranks are awaited.
 */
quern_status quern_split_hosts(struct quern_membership *member, const struct quern_split_wish *wishes, struct quern_veto veto,
                               struct quern_membership **formed);

#endif
