/*
 * The communicator of a GPU rank of a group of several hosts, and the bounds of everything that is done in it.
 *
 * NCCL takes one thread at a time in a communicator, ncclCommAbort included, so every call is made under a lock.  The communicator
 * does not block: the thread that enqueues asks until the call has ended, and sees the poison, the limit and ranks that have gone.
 * What runs on the stream is watched by a thread of the rank, which ends it by ncclCommAbort.
 */
#ifndef QUERN_NCCL_RANK_H
#define QUERN_NCCL_RANK_H

#include "ranks/nccl/nccl_state.h"

/* Makes the rank's data, without the communicator.  The membership has its quern_cuda_rank.  On failure nothing is kept. */
quern_status quern_nccl_make_rank(struct quern_membership *member);

/*
 * Makes the communicator of all ranks by the id that rank 0 has drawn, and returns when NCCL says that it is ready.  Poisons the
 * group if it does not become so in the group's limit.
 */
quern_status quern_nccl_connect(struct quern_membership *member, const ncclUniqueId *id);

/* Starts the thread that watches what is enqueued. */
quern_status quern_nccl_watch(struct quern_membership *member);

/* QUERN_NOT_SUPPORTED: a replay is not known to the library, so nothing could bound its wait. */
quern_status quern_nccl_refuse_capture(const struct quern_membership *member);

/* Enqueues a call.  The context is current.  Errors poison the group. */
quern_status quern_nccl_enqueue(struct quern_membership *member, const struct quern_nccl_call *call);

/* Ends the watcher and the communicator, in order if the other ranks come within a second, and frees the data. */
void quern_nccl_free_rank(struct quern_membership *member);

#endif
