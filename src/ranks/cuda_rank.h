/* The data of a GPU rank, attached to its membership, and the calls around its launches.  For the GPU code of src/ranks. */
#ifndef QUERN_CUDA_RANK_H
#define QUERN_CUDA_RANK_H

#include "ranks/membership.h"
#include "runtime/cuda_visit.h"

struct quern_cuda_rank {
    struct quern_cuda_rank *next;        /* of this process */
    const struct quern_cuda *cuda;
    CUcontext context;
    int ranks_here;                      /* ranks of the group in this process */
    uint64_t pad[QUERN_RANK_LIMIT];      /* all ranks' pads (src/kernels/collective.h), at the addresses of this process */
    uint64_t multicast_pad;              /* reaches all pads at once; 0: no multicast */
    uint64_t segment;                    /* device address of the segment */
    bool launches_block;                 /* CUDA_LAUNCH_BLOCKING is set */
    int ranks_on_device;                 /* ranks of the group on this GPU: their grids must fit on it together */
    CUevent last;                        /* recorded after the last operation, unless that was captured */
    unsigned long long last_stream;      /* the driver's number of its stream; stream handles are reused, numbers are not */
    bool enqueued;                       /* `last` has been recorded */
    bool captured;                       /* an operation is in a graph, whose launches no event marks */
};

static inline struct quern_cuda_rank *quern_cuda_rank_of(const struct quern_membership *member) { return member->attached; }

/* The state of a launch between enter and leave. */
struct quern_cuda_entry {
    struct quern_cuda_visit visit;
    bool capturing;                      /* the stream is being captured */
};

/*
 * Before a launch on a stream: makes the rank's context current.  The pad serves one operation at a time, so the stream waits for
 * the rank's last operation if that was on another stream.  A captured stream waits for nothing.  On failure there is nothing to
 * leave.
 * Errors: QUERN_INVALID_ARGUMENT (a stream of another device), QUERN_NOT_SUPPORTED (CUDA_LAUNCH_BLOCKING=1 and a thread that has
 * launched for another rank of the group), QUERN_CUDA_ERROR.
 */
quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry);

/* After the launch: records the event, unless the stream is captured, and restores the context. */
quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry);

/* Whether GPU memory can be the way between the ranks: QUERN_NOT_SUPPORTED says why not. */
quern_status quern_cuda_check_device(const struct quern_membership *member);

/* Makes the rank's data, without its pad; the membership has it then. */
quern_status quern_cuda_make_rank(struct quern_membership *member);

/*
 * Waits for the rank's last operation.  `captured`: also for launches of graphs, by waiting for the whole context, which is not
 * possible while a stream of it is being captured: QUERN_INVALID_ARGUMENT.  Other errors are of a context whose work has ended.
 */
quern_status quern_cuda_settle(const struct quern_membership *member, bool captured);

/* Frees the rank's data. */
void quern_cuda_free_rank(struct quern_membership *member);

/* Whether two ranks of a group use the same GPU. */
bool quern_cuda_same_gpu(const struct quern_roster *roster, int a, int b);

/* Whether CUDA_LAUNCH_BLOCKING is set: then a launch waits for its kernel, which may wait for a later launch of the same thread. */
bool quern_cuda_launches_block(void);

#endif
