/*
 * The meeting of hosts.  One rank of each host speaks for it: it brings the facts of its ranks to the host of rank 0, which hands
 * the facts of all ranks to all hosts when it has them.  Each host writes what it gets into the places of its own segment, where
 * its ranks read it.
 */
#ifndef QUERN_BOOTSTRAP_H
#define QUERN_BOOTSTRAP_H

#include "os/address.h"
#include "ranks/hosts/listener.h"
#include "ranks/rendezvous.h"

struct quern_bootstrap {
    struct quern_membership *member;             /* the leader */
    struct quern_address place;                  /* where the hosts meet */
    const unsigned char *key;
    int64_t began, deadline;
    struct quern_listener *listener;                     /* at the place, of the host of rank 0 */
    struct quern_veto veto;                      /* asked while hosts are awaited */
};

/* The leader of this host among the ranks that have joined: the lowest.  Fails with the status of all hosts. */
quern_status quern_bootstrap_hosts(const struct quern_bootstrap *bootstrap);

/* Moves exactly so many bytes before the deadline.  False: errno says why, or 0 if the other side has hung up. */
bool quern_send_all(int socket, const void *data, size_t bytes, int64_t deadline);
bool quern_receive_all(int socket, void *data, size_t bytes, int64_t deadline);

#endif
