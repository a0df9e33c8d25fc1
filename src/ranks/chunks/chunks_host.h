/* Quantised chunks of CPU ranks of one host: a row of the host transport. */
#ifndef QUERN_CHUNKS_HOST_H
#define QUERN_CHUNKS_HOST_H

#include "ranks/chunks/chunks_call.h"

extern const struct quern_chunks_transport quern_host_chunks;

#endif
