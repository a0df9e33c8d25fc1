/* Connects a rank with all ranks of other hosts, and the leaders of hosts with each other.  For hosts.c. */
#ifndef QUERN_MESH_H
#define QUERN_MESH_H

#include "ranks/hosts/listener.h"
#include "ranks/membership.h"
#include "ranks/rendezvous.h"

struct quern_mesh {
    struct quern_membership *member;       /* with a span */
    struct quern_listener *listener;               /* of this rank, with the key of the meeting */
    int64_t began, deadline;
    int *control;                          /* [ranks]: connections to the leaders of other hosts; NULL: this rank does not speak */
    struct quern_veto veto;                /* asked while ranks are awaited */
};

/* All connections, or an error: QUERN_PEER_TIMEOUT names those that are missing. */
quern_status quern_make_mesh(const struct quern_mesh *mesh);

/* The lowest rank of a host. */
int quern_host_leader(const struct quern_roster *roster, int host);

#endif
