/*
 * The thread by which a host stays in touch with the others: of the process whose rank speaks for the host.
 *
 * The places of other hosts' ranks in this host's segment mirror their own.  So whatever a rank asks of the segment, whether
 * another lives, what it is doing, whether the group is poisoned and why, has its answer there, as within one host.
 */
#ifndef QUERN_MONITOR_H
#define QUERN_MONITOR_H

#include "ranks/membership.h"

/* Starts it with the connections to the leaders of other hosts, which it then owns; those of other ranks are -1.  False: errno. */
bool quern_start_monitor(const struct quern_membership *member, const int *control);

/* The creation has failed before there was a monitor: tells the others why, over the connections that are there. */
void quern_tell_failure(const struct quern_membership *member, const int *control);

/* If the group is poisoned, waits a moment until the other hosts know why. */
void quern_await_telling(const struct quern_membership *member);

/* A rank has left, and its place says so.  With the last rank of the process the thread ends. */
void quern_leave_monitor(const struct quern_membership *member);

#endif
