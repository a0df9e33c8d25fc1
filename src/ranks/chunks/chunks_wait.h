/* The wait for chunks on the host.  For the transports of CPU ranks. */
#ifndef QUERN_CHUNKS_WAIT_H
#define QUERN_CHUNKS_WAIT_H

#include "ranks/membership.h"

/* A function of struct quern_chunks_transport. */
quern_status quern_chunks_wait(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value,
                               double timeout, void *stream);

#endif
