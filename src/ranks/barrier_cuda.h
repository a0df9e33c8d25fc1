/* Kernels in which GPU ranks meet: what every launch needs, and the barrier itself. */
#ifndef QUERN_BARRIER_CUDA_H
#define QUERN_BARRIER_CUDA_H

#include "kernels/collective_problem.h"
#include "ranks/membership.h"
#include "runtime/device.h"

/* What a kernel must know to meet a set of ranks. */
void quern_cuda_link(const struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                     double timeout, struct quern_links *links);

/* For quern_group_report: an operation is about to be enqueued. */
void quern_cuda_report(struct quern_membership *member, uint32_t tag);

/*
 * How many blocks of a kernel one rank may launch, so that those of all ranks on its GPU run at once: blocks wait for blocks of
 * other ranks.  The rank's context is current.  QUERN_NOT_SUPPORTED when there is not even one for each.
 */
quern_status quern_cuda_room(const struct quern_membership *member, const struct quern_ready_kernel *ready, int *blocks);

quern_status quern_cuda_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

/*
 * A rank that has refused its arguments meets the others where their operation begins, to tell them.  In a stream that is being
 * captured it does nothing: the refusal must not be replayed.
 */
quern_status quern_cuda_refuse(struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                               double timeout, void *stream);

#endif
