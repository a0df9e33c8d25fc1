/* The collectives of GPU ranks of several hosts: a row of the transport over NCCL. */
#ifndef QUERN_COLLECTIVE_NCCL_H
#define QUERN_COLLECTIVE_NCCL_H

#include "ranks/collective/collective_call.h"

extern const struct quern_collective_transport quern_nccl_collective;

#endif
