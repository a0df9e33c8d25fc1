/* Who is awaited in a roll call, and who goes on.  For quorum.c. */
#ifndef QUERN_QUORUM_VERDICT_H
#define QUERN_QUORUM_VERDICT_H

#include "ranks/hosts/quorum_state.h"

/* Finds the hosts that have ended; whether each host has come, or is one of these. */
void quern_find_gone_hosts(struct quern_quorum *quorum);
bool quern_has_all_guests(const struct quern_quorum *quorum);

/* Who goes on, of those that have come. */
quern_status quern_decide_quorum(struct quern_quorum *quorum);

#endif
