/* Meetings of ranks of several hosts. */
#ifndef QUERN_SPAN_H
#define QUERN_SPAN_H

#include "ranks/hosts/sendrecv.h"

/* The barrier: within hosts, between one rank of each host, within hosts. */
quern_status quern_span_meet(struct quern_membership *member, const struct quern_meeting *meeting);

/*
 * A meeting in which each rank sends a message to each rank of another host.  The ranks of this host meet in its memory at the same
 * time.  The sendrecv is open, and its parts are there.
 */
quern_status quern_span_sendrecv(struct quern_sendrecv *sendrecv, const struct quern_meeting *meeting);

/* The control of a group of several hosts. */
extern const struct quern_control quern_span_control;

/* Before a handle is destroyed: takes the memory of callers back from the transport.  QUERN_PEER_LOST: some is not given back. */
quern_status quern_settle_span(struct quern_membership *member);

#endif
