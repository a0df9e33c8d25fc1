/* The state of an allocation on GPUs, and the way of its handles to other processes.  For it and for its multicast. */
#ifndef QUERN_SYMMETRIC_CUDA_STATE_H
#define QUERN_SYMMETRIC_CUDA_STATE_H

#include "ranks/descriptors.h"
#include "ranks/symmetric/gpu_mapping.h"

/* Which ranks have freed their part. */
struct quern_ledger {
    uint32_t has_freed[QUERN_RANK_LIMIT];  /* atomic */
};

struct quern_cuda_part {
    CUmemGenericAllocationHandle handle;
    bool has_handle;             /* until all is settled, or, if it is bound to a multicast object, until the end */
    struct quern_cuda_mapping mapping;
};

struct quern_cuda_memory_state {
    struct quern_local_gpus gpus;
    int listener;                                    /* -1: none */
    int received[QUERN_DESCRIPTOR_TAGS];             /* -1: none */
    struct quern_ledger *ledger;                     /* atomic; NULL: all ranks are in one process */
    struct quern_roster *roster;                     /* a rank that has ended will not free its part */

    CUmemGenericAllocationHandle multicast;
    bool has_multicast;
    size_t multicast_bytes;
    bool joined[QUERN_RANK_LIMIT], bound[QUERN_RANK_LIMIT];  /* GPUs and parts of this process */
    CUdevice device[QUERN_RANK_LIMIT];               /* of the ranks of this process */
    struct quern_cuda_mapping multicast_mapping;

    struct quern_cuda_part part[];                   /* [ranks] */
};

static inline struct quern_cuda_memory_state *quern_cuda_state_of(const struct quern_symmetric_memory *memory) {
    return __atomic_load_n((struct quern_cuda_memory_state **)&memory->state, __ATOMIC_ACQUIRE);
}

/* The kinds of handles that the ranks need. */
int quern_cuda_handle_types(const struct quern_membership *member);

/* A descriptor of the memory behind a handle, which the caller closes; -1 after a failure. */
quern_status quern_export_handle(const struct quern_membership *member, const struct quern_cuda *cuda,
                                 CUmemGenericAllocationHandle handle, int *descriptor);

/* Imports the memory behind a received descriptor, and closes the descriptor. */
quern_status quern_import_handle(const struct quern_membership *member, struct quern_cuda_memory_state *state, int tag,
                                 const char *whose, CUmemGenericAllocationHandle *handle);

#endif
