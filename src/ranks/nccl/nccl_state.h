/*
 * The communicator of a GPU rank of a group of several hosts, and what is enqueued in it.  Types, for src/ranks/nccl and for the
 * calls that go over NCCL.
 */
#ifndef QUERN_NCCL_STATE_H
#define QUERN_NCCL_STATE_H

#include <pthread.h>

#include "ranks/cuda_rank.h"
#include "ranks/nccl/nccl.h"

struct quern_nccl_rank;
struct quern_nccl_pair;

/* A collective call that is enqueued as one group of NCCL. */
struct quern_nccl_call {
    enum quern_collective collective;
    const struct quern_rank_set *set;
    double timeout;                /* seconds, from the time at which the stream has come to it */
    CUstream stream;
    ncclResult_t (*add)(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call);  /* between start and end */
    const void *user;
    bool goes_on;                  /* a further group of the last call */
};

/* One that the stream has not finished. */
struct quern_nccl_operation {
    CUevent begun, ended;
    int64_t limit;                 /* nanoseconds */
    int64_t began;                 /* when the watcher has seen `begun`; 0: it has not */
    uint32_t tag, number;          /* of the call, as the report has them: to find those that are behind */
    struct quern_rank_set set;
};

enum { QUERN_NCCL_PENDING = 16 };

struct quern_nccl_rank {
    struct quern_membership *member;
    const struct quern_nccl *nccl;
    pthread_mutex_t lock;
    ncclComm_t comm;               /* NULL: aborted */
    struct quern_nccl_operation operations[QUERN_NCCL_PENDING];
    uint32_t first, next;          /* those that the stream has not finished: [first, next), modulo the number */
    uint32_t calls;                /* of all ranks, so far */
    CUdeviceptr pad;               /* of a group of this rank alone, in which kernels of the library meet nobody */
    CUdeviceptr words;             /* behind it, [1 + ranks] of 32 bits, 0: what barriers send, and where they receive */
    pthread_t watcher;
    bool is_watched;
    struct quern_nccl_pair *pairs; /* atomic; of transfers: nccl_pair.h */
    struct quern_nccl_rank *next_watched;  /* of this process */
    uint32_t ends;                 /* atomic, a futex: the watcher shall end */
};

static inline struct quern_nccl_rank *quern_nccl_rank_of(const struct quern_membership *member) {
    return quern_cuda_rank_of(member)->nccl;
}

#endif
