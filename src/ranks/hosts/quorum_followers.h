/* The followers of a host that gathers.  For quorum.c, quorum_coordinator.c and quorum_verdict.c. */
#ifndef QUERN_QUORUM_FOLLOWERS_H
#define QUERN_QUORUM_FOLLOWERS_H

#include "ranks/hosts/quorum_state.h"

/* Opens the port of this host, if it is at coordinator; lets those in who have called. */
void quern_listen_for_followers(struct quern_quorum *quorum);
void quern_serve_followers(struct quern_quorum *quorum);

/* Tells them the verdict. */
void quern_tell_followers(struct quern_quorum *quorum);
void quern_reject_follower(struct quern_quorum *quorum, int host);

#endif
