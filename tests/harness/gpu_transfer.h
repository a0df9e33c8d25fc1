/* The end of a rank with transfers of GPU memory within one host.  For test_transfer_cuda.c and test_transfer_staged.c. */
#ifndef HARNESS_GPU_TRANSFER_H
#define HARNESS_GPU_TRANSFER_H

#include "harness/nccl_side.h"
#include "harness/transfer_case.h"

/* Whose memory the items have: symmetric; of cuMemAlloc, which other processes do not reach; or both in turn. */
enum gpu_memory { GPU_SYMMETRIC, GPU_PRIVATE, GPU_MIXED };

/* A rank with its GPU and symmetric memory, of which the items take pieces. */
struct gpu_end {
    struct nccl_side side;
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

/* Memory of the rank's GPU that is not symmetric. */
void *gpu_end_allocate(struct gpu_end *end, int64_t bytes);
void gpu_end_release(struct gpu_end *end, void *memory);

/* Copies between the host and the GPU: on the rank's stream; on one of its own. */
void gpu_end_put(struct gpu_end *end, void *to, const void *from, int64_t bytes);
void gpu_end_get(struct gpu_end *end, void *to, const void *from, int64_t bytes);

/* Enqueues a function of the host. */
void gpu_end_call(const struct gpu_end *end, CUstream stream, void (*function)(void *user), void *user);

#endif
