/* The GPUs of this process, and the mapping of memory for all of them: for allocations and for registrations. */
#ifndef QUERN_GPU_MAPPING_H
#define QUERN_GPU_MAPPING_H

#include "ranks/symmetric/symmetric_memory.h"

/* The GPUs of this process's ranks, each once.  Their contexts are retained until the close. */
struct quern_local_gpus {
    const struct quern_cuda *cuda;
    int count;
    CUdevice device[QUERN_RANK_LIMIT];
    CUcontext context[QUERN_RANK_LIMIT];
};

quern_status quern_open_local_gpus(const struct quern_membership *member, struct quern_local_gpus *gpus);
void quern_close_local_gpus(struct quern_local_gpus *gpus);

/* Memory behind a driver's handle, mapped in this process. */
struct quern_cuda_mapping {
    CUdeviceptr address;   /* 0: none reserved */
    size_t bytes;
    bool mapped;
};

/* Reserves addresses and maps a handle's memory for all GPUs of the process; `whose` is for the detail: "the part of rank 3". */
quern_status quern_map_for_all(const struct quern_membership *member, const struct quern_local_gpus *gpus,
                               CUmemGenericAllocationHandle handle, size_t bytes, const char *whose,
                               struct quern_cuda_mapping *mapping);

/* Opens mapped memory to all GPUs of the process. */
quern_status quern_give_access(const struct quern_membership *member, const struct quern_local_gpus *gpus, CUdeviceptr address,
                               size_t bytes, const char *whose);

void quern_unmap(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping);    /* keeps the addresses */
void quern_unreserve(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping);

/* "the part of rank 3" */
struct quern_whose {
    char text[32];
};
struct quern_whose quern_part_of(int rank);

/* Functions of quern_symmetric_kind that are the same for all GPU memory. */
quern_status quern_cuda_take(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                             const struct quern_membership *member);
quern_status quern_cuda_record(const struct quern_membership *member, void *stream, struct quern_symmetric_use *use);
bool quern_cuda_has_ended(const struct quern_symmetric_use *use);
void quern_cuda_await(const struct quern_symmetric_use *use);
void quern_cuda_erase(struct quern_symmetric_use *use);

#endif
