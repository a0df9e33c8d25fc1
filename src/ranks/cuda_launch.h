/* Around a launch of a GPU rank: its stream, its context, and the mark of its end.  For the GPU code of src/ranks. */
#ifndef QUERN_CUDA_LAUNCH_H
#define QUERN_CUDA_LAUNCH_H

#include "ranks/cuda_rank.h"

/* The state of a launch between enter and leave. */
struct quern_cuda_entry {
    struct quern_cuda_visit visit;       /* the context is made current only when a call needs it */
    bool capturing;                      /* the stream is being captured */
    unsigned long long stream;           /* the driver's number of the stream */
};

/* Whether a stream is of the rank's context.  Errors: QUERN_INVALID_ARGUMENT, QUERN_CUDA_ERROR. */
quern_status quern_cuda_check_stream(const struct quern_membership *member, CUstream stream);

/* Fails for a default stream that ranks of this process share: their work would be in one order. */
quern_status quern_cuda_check_default(const struct quern_membership *member, CUstream stream);

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

/* The same behind a launch of the same operation, which lets it start early if the kernel waits for that. */
CUresult quern_cuda_launch_behind(const struct quern_membership *member, struct quern_cuda_entry *entry,
                                  const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem);

/*
 * Launches one block that waits for words on a stream of the engine's, beside the rank's operations: it does not wait for the last
 * of them, and they do not wait for it.  For any thread.  The end of the rank waits for it, as for a launch of a graph.
 * Errors: as of quern_cuda_enter.
 */
quern_status quern_cuda_launch_beside(const struct quern_membership *member, const struct quern_ready_kernel *ready,
                                      CUstream stream, const void *problem);

/* The number of blocks that move so many bytes; `multiprocessors` of the arguments: the most, 0: the default. */
unsigned quern_cuda_blocks(int multiprocessors, int64_t bytes);

/*
 * The second launch of an operation has failed, and the others, which pass its entry, would wait for this rank at its exit: the
 * group is poisoned.  `operation` and `launch` are words of the reason.
 */
quern_status quern_cuda_fail_between(const struct quern_membership *member, const struct quern_cuda_entry *entry,
                                     const struct quern_ready_kernel *ready, CUresult error, const char *operation,
                                     const char *launch);

/*
 * After the launch: records the event, unless the stream is captured, and restores the context.  Without the event the group is
 * poisoned: the caller cannot know whether the operation has been enqueued.
 */
quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry);

#endif
