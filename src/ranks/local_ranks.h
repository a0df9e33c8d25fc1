/* The GPU ranks of this process, of all groups. */
#ifndef QUERN_LOCAL_RANKS_H
#define QUERN_LOCAL_RANKS_H

#include "ranks/cuda_rank.h"

/* From here on, tasks of runtime/idle.h wait for the rank's operations. */
void quern_enter_local_rank(struct quern_cuda_rank *rank, const struct quern_membership *member);
void quern_leave_local_rank(struct quern_cuda_rank *rank);

#endif
