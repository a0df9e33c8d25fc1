/* The guests of a host that gathers.  For quorum.c, quorum_home.c and quorum_verdict.c. */
#ifndef QUERN_QUORUM_GUESTS_H
#define QUERN_QUORUM_GUESTS_H

#include "ranks/hosts/quorum_state.h"

/* Opens the port of this host, if it is at home; lets those in who have called. */
void quern_listen_for_guests(struct quern_quorum *quorum);
void quern_serve_guests(struct quern_quorum *quorum);

/* Tells them the verdict. */
void quern_tell_guests(struct quern_quorum *quorum);
void quern_send_guest_away(struct quern_quorum *quorum, int host);

#endif
