/* A host that is a follower of another one.  For quorum.c. */
#ifndef QUERN_QUORUM_COORDINATOR_H
#define QUERN_QUORUM_COORDINATOR_H

#include "ranks/hosts/quorum_state.h"

/* Calls better hosts, and becomes a follower of the first that answers; hears the coordinator, and comes back if it is lost. */
void quern_call_coordinators(struct quern_quorum *quorum);
void quern_hear_coordinator(struct quern_quorum *quorum);

#endif
