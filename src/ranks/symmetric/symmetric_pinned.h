/* Symmetric memory of GPU ranks in host memory, where GPUs cannot reach each other's.  For cuda_transport.c. */
#ifndef QUERN_SYMMETRIC_PINNED_H
#define QUERN_SYMMETRIC_PINNED_H

#include "ranks/symmetric/symmetric_memory.h"

extern const struct quern_symmetric_kind quern_pinned_memory, quern_pinned_registration;

#endif
