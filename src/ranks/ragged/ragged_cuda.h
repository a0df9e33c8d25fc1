/* The ragged all-to-all of GPU ranks, for cuda_transport.c. */
#ifndef QUERN_RAGGED_CUDA_H
#define QUERN_RAGGED_CUDA_H

#include "ranks/ragged/ragged_call.h"

extern const struct quern_ragged_transport quern_cuda_ragged;

#endif
