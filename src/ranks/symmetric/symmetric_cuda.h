/* Symmetric memory of GPU ranks that quern_symmetric_alloc makes.  For cuda_transport.c. */
#ifndef QUERN_SYMMETRIC_CUDA_H
#define QUERN_SYMMETRIC_CUDA_H

#include "ranks/symmetric/symmetric_memory.h"

extern const struct quern_symmetric_kind quern_cuda_memory;

#endif
