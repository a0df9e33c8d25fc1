/* Streams over relays, on the side of a rank: a row of the table in reach.c. */
#ifndef QUERN_RELAYED_H
#define QUERN_RELAYED_H

#include "ranks/hosts/streams.h"

extern const struct quern_stream_row quern_relayed_streams;

#endif
