/* The way over relays, on the side of a rank: a row of the table in reach.c. */
#ifndef QUERN_RELAYED_H
#define QUERN_RELAYED_H

#include "ranks/hosts/way.h"

extern const struct quern_way quern_relayed_way;

#endif
