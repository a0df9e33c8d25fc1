/* A host that is a guest of another one.  For quorum.c. */
#ifndef QUERN_QUORUM_HOME_H
#define QUERN_QUORUM_HOME_H

#include "ranks/hosts/quorum_state.h"

/* Calls better hosts, and becomes a guest of the first that answers; hears the home, and comes back if it is lost. */
void quern_call_homes(struct quern_quorum *quorum);
void quern_hear_home(struct quern_quorum *quorum);

#endif
