/* The decision of a shrink between hosts.  For quorum.c. */
#ifndef QUERN_QUORUM_VERDICT_H
#define QUERN_QUORUM_VERDICT_H

#include "ranks/hosts/quorum_state.h"

/* Finds the hosts that have ended; whether each host has come, or is one of these. */
void quern_find_gone_hosts(struct quern_quorum *quorum);
bool quern_has_all_followers(const struct quern_quorum *quorum);

/* Decides which of the ranks that have answered continue. */
quern_status quern_decide_quorum(struct quern_quorum *quorum);

#endif
