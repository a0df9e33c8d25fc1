/* The transport of threads and processes of one host, for the table in group.c. */
#ifndef QUERN_HOST_TRANSPORT_H
#define QUERN_HOST_TRANSPORT_H

#include "ranks/membership.h"

extern const struct quern_transport quern_host_transport;

#endif
