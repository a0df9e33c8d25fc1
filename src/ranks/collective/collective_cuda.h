/* The collectives of GPU ranks of one host, for cuda_transport.c. */
#ifndef QUERN_COLLECTIVE_CUDA_H
#define QUERN_COLLECTIVE_CUDA_H

#include "ranks/collective/collective_call.h"

extern const struct quern_collective_transport quern_cuda_collective;

#endif
