/* What a GPU rank keeps for its group: attached to its membership by the cuda transport. */
#ifndef QUERN_GROUP_CUDA_H
#define QUERN_GROUP_CUDA_H

#include "runtime/cuda_driver.h"
#include "ranks/group.h"

struct quern_cuda_rank {
    const struct quern_cuda *cuda;
    uint64_t pad[QUERN_RANK_LIMIT];      /* all ranks' pads (src/kernels/collective.h), at the addresses of this process */
    uint64_t multicast_pad;              /* reaches all pads at once; 0: no multicast */
    uint64_t segment;                    /* device address of the segment */
    bool launches_block;                 /* CUDA_LAUNCH_BLOCKING is set */
    int ranks_on_device;                 /* ranks of the group that share this GPU: their grids must fit it together */
    CUevent last;                        /* recorded after the last operation, unless that was captured */
    unsigned long long last_stream;      /* the driver's number of its stream; a handle may be given out again */
    bool enqueued;                       /* `last` has been recorded */
};

static inline struct quern_cuda_rank *quern_cuda_rank_of(const struct quern_membership *member) { return member->attached; }

/*
 * Before an operation is launched on a stream: makes the rank's context current, and makes the stream wait for the rank's last
 * operation when that was on another one, since the pad serves one operation at a time.  Pops the context when it fails.
 * *capturing tells whether the stream is being captured; then nothing is made to wait.
 * Errors: QUERN_INVALID_ARGUMENT (a stream of another device), QUERN_NOT_SUPPORTED (CUDA_LAUNCH_BLOCKING=1 and a thread that has
 * launched for another rank of the group), QUERN_CUDA_ERROR.
 */
quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, bool *capturing);

/* After it has been launched: records the event, unless captured, and pops the context. */
quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, bool capturing);

/* ---- the operations (src/ranks/barrier_cuda.c, src/ranks/ragged/ragged_cuda.c) ---- */

struct quern_links;
struct quern_ready_kernel;

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

extern const struct quern_ragged_transport quern_cuda_ragged;

#endif
