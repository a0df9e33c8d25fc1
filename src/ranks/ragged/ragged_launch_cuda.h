/* The launch of the ragged all-to-all of GPU ranks: what calls and plans have in common. */
#ifndef QUERN_RAGGED_LAUNCH_CUDA_H
#define QUERN_RAGGED_LAUNCH_CUDA_H

#include "kernels/collective_problem.h"
#include "ranks/ragged/ragged_call.h"
#include "runtime/cuda_driver.h"

/* Where the parts of a workspace begin.  What peers read comes first, where it does not depend on what differs between ranks. */
struct quern_ragged_layout {
    size_t header;     /* struct quern_ragged_header */
    size_t work;       /* struct quern_ragged_work */
    size_t metadata;   /* four arrays, when they come from host memory */
    size_t receipts;   /* struct quern_ragged_receipt, to look for overlaps */
    size_t staging;    /* a copy of the input, when the output overlaps it */
    size_t bytes;
};

/* For all ranks of the group, whoever takes part.  False: it would be larger than any memory. */
bool quern_ragged_lay_out(const struct quern_ragged_call *call, struct quern_ragged_layout *layout);

/* What of the arguments only matters to GPUs; and the refusal, if there has been one before. */
quern_status quern_ragged_check_cuda(struct quern_ragged_call *call);

/* All but the metadata, and whether there is a plan. */
void quern_ragged_describe(const struct quern_ragged_call *call, const struct quern_ragged_layout *layout,
                           enum quern_collective collective, struct quern_ragged_problem *problem);

/* How many blocks to launch for about so many bytes.  In the rank's context. */
quern_status quern_ragged_blocks(const struct quern_ragged_call *call, int64_t bytes, unsigned *blocks);

struct quern_ragged_launch {
    struct quern_membership *member;
    const struct quern_ready_kernel *ready;
    struct quern_ragged_problem problem;
    unsigned blocks;
    CUdeviceptr staged;      /* where the input is copied from before each launch, ... */
    size_t staged_bytes;     /* ... if it is */
};

/* In the rank's context. */
quern_status quern_ragged_launch(const struct quern_ragged_launch *launch, CUstream stream);

#endif
