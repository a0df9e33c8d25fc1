/* Kernels in which GPU ranks meet: what every launch needs, and the barrier itself. */
#ifndef QUERN_BARRIER_CUDA_H
#define QUERN_BARRIER_CUDA_H

#include "kernels/collective_problem.h"
#include "ranks/membership.h"
#include "runtime/device.h"

/* Fills in the arguments by which a kernel meets a set of ranks. */
void quern_cuda_link(const struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                     double timeout, struct quern_links *links);

/*
 * The same for a kernel that meets nobody and takes this rank for rank 0 of a group of its own, with a pad of such a group.  It
 * sees the poison of the group, of any size, and can end it.
 */
void quern_cuda_link_alone(const struct quern_membership *member, const struct quern_rank_set *set,
                           enum quern_collective collective, double timeout, uint64_t pad, struct quern_links *links);

/* Records for quern_group_report that an operation is about to be enqueued. */
void quern_cuda_report(struct quern_membership *member, uint32_t tag);

quern_status quern_cuda_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

/*
 * For a rank that has refused its arguments: meets the others at the entry of their operation and tells them.  Does nothing on a
 * stream that is being captured, since the refusal must not be replayed.
 */
quern_status quern_cuda_refuse(struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                               double timeout, void *stream);

#endif
