/* A carrier that counts what its rank sends over another one, and ends its rank at a message. */
#ifndef HARNESS_COUNTED_CARRIER_H
#define HARNESS_COUNTED_CARRIER_H

#include "harness/ranks.h"

struct counted_carrier {
    const quern_carrier *carrier;
    uint64_t bytes;                  /* that this rank has sent */
    unsigned messages, dies_at;      /* which this rank has begun; 0: it lives */
};

/* The group of all these ranks over their carrier, which is counted from now on. */
quern_group *counted_carrier_group(struct counted_carrier *counted, struct rank *rank, double timeout);

#endif
