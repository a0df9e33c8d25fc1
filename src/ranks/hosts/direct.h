/* The way of a connection for each pair of ranks: a row of the table in reach.c. */
#ifndef QUERN_DIRECT_H
#define QUERN_DIRECT_H

#include "ranks/hosts/way.h"

extern const struct quern_way quern_direct_way;

#endif
