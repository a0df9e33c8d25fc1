/* Chooses the transport between the hosts of a group.  For hosts_transport.c, group.c and hosts.c. */
#ifndef QUERN_HOSTS_CHOICE_H
#define QUERN_HOSTS_CHOICE_H

#include "ranks/membership.h"

/* The transports that a rank allows, as bits of membership->transports. */
enum { QUERN_TRANSPORT_CARRIER = 1, QUERN_TRANSPORT_UCX = 2, QUERN_TRANSPORT_SOCKETS = 4 };

/* Reads quern_hosts_args.transports, which may be NULL.  Returns NULL, or the rest from the first unknown name on. */
const char *quern_read_transports(const quern_hosts_args *hosts, uint32_t *transports);

/* Sockets serve so many ranks of several hosts.  Tests lower the number. */
extern uint32_t quern_most_over_sockets;

/* QUERN_NOT_SUPPORTED: a rank allows sockets alone in a group that is too large for them. */
quern_status quern_check_transports(struct quern_membership *member);

/*
 * Collective: takes the first row of the table that works on all ranks, and writes into the span why not those before it.  With
 * sockets alone nothing is said, since the facts of all ranks have their transports.  QUERN_NOT_SUPPORTED: none works.
 */
quern_status quern_choose_transport(struct quern_membership *member);

#endif
