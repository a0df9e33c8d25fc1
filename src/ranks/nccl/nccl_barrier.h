/* The barrier of GPU ranks of several hosts.  For src/ranks/group/nccl_transport.c. */
#ifndef QUERN_NCCL_BARRIER_H
#define QUERN_NCCL_BARRIER_H

#include "ranks/membership.h"

quern_status quern_nccl_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

#endif
