/*
 * Communicators of two ranks that no group uses at present.  The next group of the same two processes and GPUs goes on with them,
 * since NCCL takes long to make one.  src/ranks/transfer/nccl_path.h says how both ends agree on which.
 *
 * The process keeps the newest ones, and none of a device that is closed.  Each was made by an id of its own, which both ends know.
 */
#ifndef QUERN_NCCL_CACHE_H
#define QUERN_NCCL_CACHE_H

#include "ranks/nccl/nccl.h"

/* A rank, whatever its number is in a group: the random number of its process, and its GPU. */
struct quern_nccl_end {
    unsigned char process[16], gpu[16];
};

struct quern_nccl_comm {
    ncclComm_t handle;                   /* NULL: none, or aborted */
    ncclUniqueId id;                     /* by which it was made */
    int rank;                            /* 0 or 1: of this end in it */
    struct quern_nccl_end own, other;
};

enum { QUERN_NCCL_KEPT = 16 };           /* an idle one holds buffers on the GPU */
extern int quern_nccl_most_kept;         /* at most QUERN_NCCL_KEPT; tests lower it */

/* Keeps one that is ready and in which nothing is under way.  Aborts the oldest if there are too many. */
void quern_nccl_keep(const struct quern_nccl *nccl, CUcontext context, const struct quern_nccl_comm *comm);

/* Takes one of these two ends, of this id unless it is NULL, the newest first.  False: there is none. */
bool quern_nccl_take(struct quern_nccl_comm *comm, CUcontext context, const ncclUniqueId *id);

#endif
