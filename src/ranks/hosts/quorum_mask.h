/* Masks of ranks of a group that is shrunk across hosts, and which are a quorum.  For the roll call and shrink_hosts.c. */
#ifndef QUERN_QUORUM_MASK_H
#define QUERN_QUORUM_MASK_H

#include "ranks/membership.h"

bool quern_mask_has(const uint32_t mask[QUERN_GROUP_WORDS], int rank);
int quern_mask_count(const uint32_t mask[QUERN_GROUP_WORDS]);

/* Whether all of them are ranks of the group and, unless host is -1, of this host. */
bool quern_mask_is_of(const struct quern_membership *member, const uint32_t mask[QUERN_GROUP_WORDS], int host);

/* More than half of the ranks, or half of them with rank 0: two such sets have a rank in common. */
bool quern_is_quorum(const uint32_t living[QUERN_GROUP_WORDS], int ranks);

#endif
