/* The facts that hosts exchange about their ranks, read from and written into a segment.  For bootstrap.c and gather.c. */
#ifndef QUERN_FACTS_H
#define QUERN_FACTS_H

#include "ranks/hosts/handshake.h"
#include "ranks/membership.h"

struct quern_fact {
    int32_t rank, host;
    struct quern_process process;
    int32_t device_kind, device_ordinal;
    unsigned char device_uuid[16];
    struct quern_address address;
    uint32_t transports;             /* of data that it allows: bits of choice.h */
    uint32_t failure_timeout;          /* microseconds: after which it counts a host as lost */
};

/* The facts of all ranks when all have arrived. */
struct quern_roll {
    int32_t hosts;
    unsigned char number[32];  /* of this meeting: random */
    const uint32_t *strangers; /* [QUERN_STRANGERS]; NULL: none were counted */
    struct quern_fact *facts;  /* [ranks] */
};

/* The facts of one rank that has joined; those of all ranks of this host, with their number. */
struct quern_fact quern_read_fact(const struct quern_membership *member, int rank);
int quern_read_own_facts(const struct quern_membership *member, struct quern_fact facts[QUERN_RANK_LIMIT]);

/* Each place of a rank that is elsewhere gets what its host has said. */
void quern_publish_roll(const struct quern_membership *member, const struct quern_roll *roll);

#endif
