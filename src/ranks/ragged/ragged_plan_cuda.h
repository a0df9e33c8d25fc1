/* Plans of the ragged all-to-all of GPU ranks: three functions of the transport's row, which is in ragged_cuda.c. */
#ifndef QUERN_RAGGED_PLAN_CUDA_H
#define QUERN_RAGGED_PLAN_CUDA_H

#include "ranks/ragged/ragged_call.h"

quern_status quern_cuda_plan_create(struct quern_ragged_call *calls, int count, void **states);
quern_status quern_cuda_plan_run(void *state, void *stream);
quern_status quern_cuda_plan_destroy(void *state);

#endif
