/* Whether GPUs can serve ranks.  For the creation of groups. */
#ifndef QUERN_CUDA_SUPPORT_H
#define QUERN_CUDA_SUPPORT_H

#include "ranks/membership.h"

/* Whether GPU memory can be the way between the ranks: QUERN_NOT_SUPPORTED says why not. */
quern_status quern_cuda_check_device(const struct quern_membership *member);

/* How many ranks of the group share the rank's GPU in this process; QUERN_NOT_SUPPORTED if they have too few hardware queues. */
int quern_cuda_count_sharers(const struct quern_membership *member);
quern_status quern_cuda_check_queues(const struct quern_membership *member);

/* Whether CUDA_LAUNCH_BLOCKING is set: then a launch waits for its kernel, which may wait for a later launch of the same thread. */
bool quern_cuda_launches_block(void);

#endif
