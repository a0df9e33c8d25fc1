/* Chooses the way of data between the hosts of a group.  For hosts_transport.c, group.c and hosts.c. */
#ifndef QUERN_HOSTS_WALK_H
#define QUERN_HOSTS_WALK_H

#include "ranks/membership.h"

/* The ways that a rank allows, as bits of membership->ways. */
enum { QUERN_WAY_CARRIER = 1, QUERN_WAY_UCX = 2, QUERN_WAY_SOCKETS = 4 };

/* Reads quern_hosts_args.transports, which may be NULL.  Returns NULL, or the rest from the first unknown name on. */
const char *quern_read_ways(const quern_hosts_args *hosts, uint32_t *ways);

/* Sockets serve so many ranks of several hosts.  Tests lower the number. */
extern uint32_t quern_most_over_sockets;

/* QUERN_NOT_SUPPORTED: a rank allows sockets alone in a group that is too large for them. */
quern_status quern_check_ways(struct quern_membership *member);

/*
 * Collective: takes the first row of the table that works on all ranks, and writes into the span why not those before it.  With
 * sockets alone nothing is said, since the facts of all ranks have their ways.  QUERN_NOT_SUPPORTED: none works.
 */
quern_status quern_choose_way(struct quern_membership *member);

#endif
