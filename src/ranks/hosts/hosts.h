/* Creates a group whose ranks are of several hosts, or may be: quern_group_args.hosts is not NULL. */
#ifndef QUERN_HOSTS_H
#define QUERN_HOSTS_H

#include "ranks/rendezvous.h"

/*
 * Lets a rank meet those of its host in shared memory and, through the leaders of the hosts, all others, and connects it with
 * them. The membership has all but its roster and segment.  If it has a roster after a failure, the caller leaves the group.
 */
quern_status quern_meet_hosts(const quern_group_args *args, const char *name, struct quern_veto veto,
                              struct quern_membership *member);

#endif
