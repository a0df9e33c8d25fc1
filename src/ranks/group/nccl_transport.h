/* The transport of GPU ranks of several hosts: see nccl_transport.c. */
#ifndef QUERN_NCCL_TRANSPORT_H
#define QUERN_NCCL_TRANSPORT_H

#include "ranks/membership.h"

extern const struct quern_transport quern_nccl_transport;

#endif
