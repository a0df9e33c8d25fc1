/* Before a collective of GPU ranks of several hosts: whether its members have made the same call.  For collective_nccl.c. */
#ifndef QUERN_COLLECTIVE_NCCL_AGREE_H
#define QUERN_COLLECTIVE_NCCL_AGREE_H

#include "ranks/collective/collective_call.h"

/*
 * Collective over the members, on the host.  A member that refuses its arguments (call->refused, and its thread's detail) gets its
 * own error, and the others get the status of the lowest such member, with the detail "rank 2: REASON".  If arguments differ, all
 * get QUERN_PEER_MISMATCH.  In both cases the group stays usable.  Other errors poison it.
 */
quern_status quern_nccl_agree_on_call(struct quern_collective_call *call);

#endif
