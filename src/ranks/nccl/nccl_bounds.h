/* Bounds of a wait for other ranks in NCCL: poison, ranks that have gone, errors of the communicator, the limit. */
#ifndef QUERN_NCCL_BOUNDS_H
#define QUERN_NCCL_BOUNDS_H

#include "ranks/nccl/nccl_state.h"

/* The wait. */
struct quern_nccl_wait {
    const char *what;                     /* "ncclCommInitRankConfig" */
    const struct quern_rank_set *set;
    int64_t began, limit;                 /* nanoseconds */
    uint32_t tag, number;                 /* of the call: which ranks are behind it */
};

/* Nanoseconds; a limit beyond all times is none. */
int64_t quern_nccl_limit(double seconds);

/* Not QUERN_OK: the group is poisoned, by this call or before. */
quern_status quern_nccl_check_gone(const struct quern_membership *member, const struct quern_nccl_wait *wait);
quern_status quern_nccl_check_limit(const struct quern_membership *member, const struct quern_nccl_wait *wait, int64_t now);

/* Asks NCCL, with the lock held: *is_ready says whether the call in progress has ended. */
quern_status quern_nccl_ask(const struct quern_nccl_rank *rank, const char *what, bool *is_ready);

/* Poisons the group with an error of NCCL. */
quern_status quern_nccl_poison(const struct quern_nccl_rank *rank, ncclResult_t result, const char *what);

/*
 * This rank has agreed to a call and then failed in it, with the thread's detail, and the others wait for its messages: poisons the
 * group, unless it is poisoned already.  Returns the status, with the same detail.
 */
quern_status quern_nccl_fail_inside(const struct quern_membership *member, quern_status status);

/* Ends the communicator, with the lock held: what runs in it ends too. */
void quern_nccl_abort(struct quern_nccl_rank *rank);

#endif
