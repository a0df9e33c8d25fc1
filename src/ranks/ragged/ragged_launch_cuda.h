/* The launch of the ragged all-to-all of GPU ranks.  For calls and plans. */
#ifndef QUERN_RAGGED_LAUNCH_CUDA_H
#define QUERN_RAGGED_LAUNCH_CUDA_H

#include "kernels/collective_problem.h"
#include "ranks/cuda_launch.h"
#include "ranks/ragged/ragged_call.h"
#include "runtime/cuda_driver.h"

/* The offsets in a workspace.  The header, which peers read, comes first: its place must not differ between ranks. */
struct quern_ragged_layout {
    size_t header;     /* struct quern_ragged_header */
    size_t work;       /* struct quern_ragged_work */
    size_t metadata;   /* four arrays, if they come from host memory */
    size_t receipts;   /* struct quern_ragged_receipt, to find overlaps */
    size_t staging;    /* a copy of the input, if the output overlaps it */
    size_t bytes;
};

/* Has room for all ranks of the group, not only the members.  False: it would be larger than any memory. */
bool quern_ragged_lay_out(const struct quern_ragged_call *call, struct quern_ragged_layout *layout);

/* Checks for GPUs only; fails with call->refused if the call is refused already. */
quern_status quern_ragged_check_cuda(struct quern_ragged_call *call);

/* QUERN_NOT_SUPPORTED if the device has no room any more for the blocks of all ranks. */
quern_status quern_ragged_check_room(const struct quern_ragged_call *call);

/* Fills in all but the metadata and `planned`. */
void quern_ragged_describe(const struct quern_ragged_call *call, const struct quern_ragged_layout *layout,
                           enum quern_collective collective, struct quern_ragged_problem *problem);

struct quern_ragged_launch {
    struct quern_membership *member;
    const struct quern_ready_kernel *ready;
    struct quern_ragged_problem problem;
    unsigned blocks;
    CUdeviceptr staged;      /* the input, copied to the staging before each launch, ... */
    size_t staged_bytes;     /* ... if this is not 0 */
};

/* Between quern_cuda_enter and _leave: launches the entry and the copy. */
quern_status quern_ragged_launch(struct quern_ragged_launch *launch, struct quern_cuda_entry *entry, CUstream stream);

#endif
