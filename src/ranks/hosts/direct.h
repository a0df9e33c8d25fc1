/* Streams over a connection for each pair of ranks: a row of the table in reach.c. */
#ifndef QUERN_DIRECT_H
#define QUERN_DIRECT_H

#include "ranks/hosts/streams.h"

extern const struct quern_stream_row quern_direct_streams;

#endif
