/* Shortages of the system for a group of several hosts: descriptors, local ports, memory of sockets. */
#ifndef QUERN_SHORTAGE_H
#define QUERN_SHORTAGE_H

#include <stdbool.h>

#include "ranks/membership.h"

/* Whether an error of socket, accept or connect says so.  It ends the creation for all: another attempt would fail, too. */
bool quern_is_shortage(int error);

/*
 * How many descriptors the connections take that the ranks of this process need, as far as is known: of this rank alone, or of all
 * that have joined; at least, or, when the hosts have met, exactly.
 */
int quern_connections_needed(const struct quern_membership *member);

/* Whether so many descriptors can be opened.  Fails with that number, the limit and how many are open. */
quern_status quern_check_descriptors(const struct quern_membership *member, int needed);

/* Fails after a call with such an error: names the limit, and what the group needs. */
quern_status quern_fail_short(const struct quern_membership *member, const char *call, int error);

#endif
