/* The quantised chunks of GPU ranks of one host, for cuda_transport.c. */
#ifndef QUERN_CHUNKS_CUDA_H
#define QUERN_CHUNKS_CUDA_H

#include "ranks/chunks/chunks_call.h"

extern const struct quern_chunks_transport quern_cuda_chunks;

#endif
