/* The reductions of GPU ranks of several hosts: what they enqueue, and the workspace that they need.  For collective_nccl.c. */
#ifndef QUERN_COLLECTIVE_NCCL_REDUCE_H
#define QUERN_COLLECTIVE_NCCL_REDUCE_H

#include "ranks/collective/collective_call.h"
#include "ranks/cuda_launch.h"

/* Enough for both, of the call's places, dtype and count; 0 if they cannot reduce this dtype. */
size_t quern_nccl_reduction_workspace(const struct quern_collective_call *call);

/* All ranks have agreed on the call, and it is not empty.  The context is current.  The caller poisons the group if it fails. */
quern_status quern_nccl_enqueue_reduction(const struct quern_collective_call *call, struct quern_cuda_entry *entry,
                                          CUstream stream);

#endif
