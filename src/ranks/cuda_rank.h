/* The data of a GPU rank, attached to its membership.  For the GPU code of src/ranks. */
#ifndef QUERN_CUDA_RANK_H
#define QUERN_CUDA_RANK_H

#include "ranks/gpu_room.h"
#include "ranks/membership.h"
#include "runtime/cuda_visit.h"

struct quern_nccl_rank;

struct quern_cuda_rank {
    struct quern_cuda_rank *next;        /* of this process */
    const struct quern_cuda *cuda;
    CUcontext context;
    int ranks_here;                      /* ranks of the group in this process */
    uint64_t pad[QUERN_RANK_LIMIT];      /* all ranks' pads (src/kernels/collective.h), at the addresses of this process */
    uint64_t multicast_pad;              /* reaches all pads at once; 0: no multicast, ... */
    char no_multicast[264];              /* ... and why, for the report */
    uint64_t segment;                    /* device address of the segment */
    bool launches_block;                 /* CUDA_LAUNCH_BLOCKING is set */
    bool shares_context;                 /* other ranks of the group have the same GPU in this process */
    struct quern_gpu_room *room;         /* where its block, and those of ranks of other processes, have room ... */
    int room_taken;                      /* ... in this number */
    CUevent last;                        /* recorded after the last operation, unless that was captured */
    unsigned long long last_stream;      /* the driver's number of its stream; stream handles are reused, numbers are not */
    bool enqueued;                       /* `last` has been recorded */
    struct quern_nccl_rank *nccl;        /* of a group of several hosts: src/ranks/nccl; else NULL */
    int stream_waits;                    /* atomic; streams of the engine that wait for transfers which are not over */
    bool waits;                          /* atomic: it has enqueued a wait for chunks, which may be in front of its call */
    bool unmarked;                       /* atomic: the end of an operation has no event: it is in a graph or a wait for chunks, or
                                            the event has failed */
};

static inline struct quern_cuda_rank *quern_cuda_rank_of(const struct quern_membership *member) { return member->attached; }

/* It stays so until the end.  Any thread may say or ask it. */
static inline void quern_cuda_note_unmarked(struct quern_cuda_rank *rank) {
    __atomic_store_n(&rank->unmarked, true, __ATOMIC_RELAXED);
}

static inline bool quern_cuda_is_unmarked(const struct quern_cuda_rank *rank) {
    return __atomic_load_n(&rank->unmarked, __ATOMIC_RELAXED);
}

/* Fails with the driver's text.  If the error has ended the context, the group is poisoned, so that no rank waits for this one. */
quern_status quern_cuda_rank_fail(const struct quern_membership *member, CUresult error, const char *what);

/* Makes the rank's data, without its pad; the membership has it then. */
quern_status quern_cuda_make_rank(struct quern_membership *member);

/* Whether the driver tells of an error that has ended the rank's context; if so, the group is poisoned. */
quern_status quern_cuda_look(const struct quern_membership *member);

/*
 * Waits for the rank's last operation.  `unmarked`: also for launches of graphs, by waiting for the whole context, which is not
 * possible while a stream of it is being captured: QUERN_INVALID_ARGUMENT.  Other errors are of a context whose work has ended.
 */
quern_status quern_cuda_settle(const struct quern_membership *member, bool unmarked);

/* Frees the rank's data. */
void quern_cuda_free_rank(struct quern_membership *member);

#endif
