/* The data of a GPU rank, attached to its membership, and the calls around its launches.  For the GPU code of src/ranks. */
#ifndef QUERN_CUDA_RANK_H
#define QUERN_CUDA_RANK_H

#include "ranks/gpu_room.h"
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
    bool shares_context;                 /* other ranks of the group have the same GPU in this process */
    struct quern_gpu_room *room;         /* where its block, and those of ranks of other processes, have room ... */
    int room_taken;                      /* ... in this number */
    CUevent last;                        /* recorded after the last operation, unless that was captured */
    unsigned long long last_stream;      /* the driver's number of its stream; stream handles are reused, numbers are not */
    bool enqueued;                       /* `last` has been recorded */
    bool unmarked;                       /* the end of an operation has no event: it is in a graph, or the event has failed */
};

static inline struct quern_cuda_rank *quern_cuda_rank_of(const struct quern_membership *member) { return member->attached; }

/* The state of a launch between enter and leave. */
struct quern_cuda_entry {
    struct quern_cuda_visit visit;       /* the context is made current only when a call needs it */
    bool capturing;                      /* the stream is being captured */
    unsigned long long stream;           /* the driver's number of the stream */
};

/*
 * Before a launch on a stream: asks whether it is captured and which stream it is.  Both can change between two calls with one
 * handle, and the driver tells them only when asked; so does it the end of an operation, for which an event is recorded.  A
 * barrier on the stream of the last operation therefore takes four calls of the driver, and an exchange five.  The pad serves one
 * operation at a time, so the stream waits for the rank's last operation if that was on another stream.  A captured stream waits
 * for nothing.  On failure there is nothing to leave.
 * Errors: QUERN_INVALID_ARGUMENT (a stream of another device), QUERN_NOT_SUPPORTED (CUDA_LAUNCH_BLOCKING=1 and a thread that has
 * launched for another rank of the group; a default stream that ranks would share), QUERN_CUDA_ERROR.
 */
quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry);

/* Between both: makes the context current until quern_cuda_leave. */
CUresult quern_cuda_stay(const struct quern_membership *member, struct quern_cuda_entry *entry);

/* Between both: launches a kernel with one parameter, by value. */
CUresult quern_cuda_launch(const struct quern_membership *member, struct quern_cuda_entry *entry,
                           const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem);

/* Fails with the driver's text.  If the error has ended the context, the group is poisoned, so that no rank waits for this one. */
quern_status quern_cuda_rank_fail(const struct quern_membership *member, CUresult error, const char *what);

/*
 * After the launch: records the event, unless the stream is captured, and restores the context.  Without the event the group is
 * poisoned: the caller cannot know whether the operation has been enqueued.
 */
quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry);

/* Whether GPU memory can be the way between the ranks: QUERN_NOT_SUPPORTED says why not. */
quern_status quern_cuda_check_device(const struct quern_membership *member);

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

/* Whether CUDA_LAUNCH_BLOCKING is set: then a launch waits for its kernel, which may wait for a later launch of the same thread. */
bool quern_cuda_launches_block(void);

#endif
