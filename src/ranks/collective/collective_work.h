/* The combinations of a rank in a collective on CPUs, divided among its threads.  For the transports of CPU ranks. */
#ifndef QUERN_COLLECTIVE_WORK_H
#define QUERN_COLLECTIVE_WORK_H

#include "kernels/collective_pieces.h"
#include "ranks/collective/collective_call.h"

/*
 * Combines `count` elements of all inputs into all outputs, of which each begins at the first of them.  The call reduces.  Runs on
 * the calling thread if there is little to do.
 */
void quern_collective_combine(const struct quern_collective_call *call, const struct quern_collective_combination *pieces,
                              int64_t count);

#endif
