/* The part of a split that is about ranks of several hosts.  For split.c. */
#ifndef QUERN_SPLIT_HOSTS_H
#define QUERN_SPLIT_HOSTS_H

#include "ranks/rendezvous.h"

struct quern_split_wish {
    int32_t colour, key;
};

/* The ranks of a colour, by their numbers in the group that is split, in the order of their new ones: by key, then by number. */
struct quern_colour {
    int value, ranks;
    const uint16_t *numbers;
};
struct quern_colour quern_list_colour(const struct quern_split_wish *wishes, int all, int value, uint16_t *numbers);
int quern_place_in_colour(const struct quern_colour *colour, int rank);

/*
 * Forms the group of a rank's colour.  Collective over the parent; a thread has one rank, a CPU.  The veto is asked while ranks are
 * awaited.  A rank without a colour attends.
 */
quern_status quern_split_hosts(struct quern_membership *member, const struct quern_colour *colour, struct quern_veto veto,
                               struct quern_membership **formed);
quern_status quern_attend_split(struct quern_membership *member);

#endif
