/* The arguments of the collective kernels of GPU ranks.  For collective_cuda.c. */
#ifndef QUERN_COLLECTIVE_LAUNCH_CUDA_H
#define QUERN_COLLECTIVE_LAUNCH_CUDA_H

#include "kernels/collective_problem.h"
#include "ranks/collective/collective_call.h"

/* Whether what a rank sends to one member fits its slot: the call is one launch, and others do not reach its memory. */
bool quern_collective_fits_slots(const struct quern_collective_call *call);

/* Fills in all but `stage`. */
void quern_collective_fill_problem(const struct quern_collective_call *call, struct quern_collective_problem *problem);

#endif
