/* Symmetric memory of CPU ranks.  For host_transport.c. */
#ifndef QUERN_SYMMETRIC_HOST_H
#define QUERN_SYMMETRIC_HOST_H

#include "ranks/symmetric/symmetric_memory.h"

extern const struct quern_symmetric_kind quern_host_memory, quern_host_registration;

#endif
