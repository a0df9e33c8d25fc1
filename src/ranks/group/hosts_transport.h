/* The transport of CPU ranks of several hosts, for the table in form.c. */
#ifndef QUERN_HOSTS_TRANSPORT_H
#define QUERN_HOSTS_TRANSPORT_H

#include "ranks/membership.h"

extern const struct quern_transport quern_hosts_transport;

#endif
