/* The end of a rank with transfers of GPU memory within one host.  For test_transfer_cuda.c and test_transfer_staged.c. */
#ifndef HARNESS_GPU_TRANSFER_H
#define HARNESS_GPU_TRANSFER_H

#include "harness/nccl_side.h"
#include "harness/transfer_case.h"

/* Whose memory the items have: symmetric; of cuMemAlloc, which other processes do not reach; or both in turn. */
enum gpu_memory { GPU_SYMMETRIC, GPU_PRIVATE, GPU_MIXED };

/* A rank with its GPU and symmetric memory, of which the items take pieces. */
struct gpu_end {
    struct nccl_side side;    /* first: nccl_put and nccl_get take an end, too */
    enum gpu_memory memory;
    char *arena;
    size_t used;
    unsigned made;            /* items */
};

enum { GPU_ARENA = 24 << 20 };

/* The GPUs are in another order than the ranks. */
void gpu_end_open(struct gpu_end *end, struct rank *rank, enum gpu_memory memory, double limit);
quern_status gpu_end_close(struct gpu_end *end);

/* Where the items of transfer_run_case are. */
struct transfer_place gpu_end_place(struct gpu_end *end);

#endif
