/*
 * The relay of a host: two threads in the process of the leader, which move frames between the rings of the host's ranks and the
 * connections to the relays of other hosts.  They never wait for a rank.
 */
#ifndef QUERN_RELAY_H
#define QUERN_RELAY_H

#include "ranks/membership.h"

/* Starts it with the connections to the leaders of other hosts, which it then owns; those of other ranks are -1.  False: errno. */
bool quern_start_relay(struct quern_roster *roster, const int *sockets);

/*
 * A rank has left, and its place says so.  With the last rank of the process the relay ends: when the other ranks of the host have
 * left, too, or a second later, and when what they have said has gone out.
 */
void quern_leave_relay(const struct quern_membership *member);

#endif
