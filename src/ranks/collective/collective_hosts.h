/* The collectives of CPU ranks of several hosts: a row of the transport of several hosts. */
#ifndef QUERN_COLLECTIVE_HOSTS_H
#define QUERN_COLLECTIVE_HOSTS_H

#include "ranks/collective/collective_call.h"

extern const struct quern_collective_transport quern_hosts_collective;

#endif
