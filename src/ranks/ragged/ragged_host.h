/* The ragged all-to-all of CPU ranks, for host_transport.c. */
#ifndef QUERN_RAGGED_HOST_H
#define QUERN_RAGGED_HOST_H

#include "ranks/ragged/ragged_call.h"

extern const struct quern_ragged_transport quern_host_ragged;

#endif
