/* The memory of a group that its GPUs' kernels write to.  For GPU ranks. */
#ifndef QUERN_REGISTERED_SEGMENT_H
#define QUERN_REGISTERED_SEGMENT_H

#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

/* One call for each rank of this process; after the last one the registration ends when the process is idle (runtime/idle.h). */
CUresult quern_register_segment(const struct quern_cuda *cuda, const struct quern_membership *member);
void quern_unregister_segment(const struct quern_segment *segment);

/* The other rank of the group for which this thread has launched; -1: none, and it is remembered that it launches for this one. */
int quern_claim_launch(const struct quern_membership *member);

#endif
