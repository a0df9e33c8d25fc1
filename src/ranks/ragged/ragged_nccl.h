/* The ragged all-to-all of GPU ranks of several hosts: see ragged_nccl.c. */
#ifndef QUERN_RAGGED_NCCL_H
#define QUERN_RAGGED_NCCL_H

#include "ranks/ragged/ragged_call.h"

extern const struct quern_ragged_transport quern_nccl_ragged;

#endif
