/* The collectives of CPU ranks of one host, for host_transport.c. */
#ifndef QUERN_COLLECTIVE_HOST_H
#define QUERN_COLLECTIVE_HOST_H

#include "ranks/collective/collective_call.h"

extern const struct quern_collective_transport quern_host_collective;

#endif
