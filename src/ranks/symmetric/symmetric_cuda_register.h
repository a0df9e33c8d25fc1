/* GPU memory that an engine made itself and registers.  For cuda_transport.c. */
#ifndef QUERN_SYMMETRIC_CUDA_REGISTER_H
#define QUERN_SYMMETRIC_CUDA_REGISTER_H

#include "ranks/symmetric/symmetric_memory.h"

extern const struct quern_symmetric_kind quern_cuda_registration;

#endif
