/* Cross-entropy on a GPU, for cross_entropy_run.c. */
#ifndef QUERN_CROSS_ENTROPY_CUDA_H
#define QUERN_CROSS_ENTROPY_CUDA_H

#include "cross_entropy/cross_entropy_call.h"

quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call);

#endif
