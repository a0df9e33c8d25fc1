/*
 * A stand-in for the carrier of an engine, as MPI is one: messages between the ranks of a test, over sockets of its own.  It is
 * stricter than MPI: it ends the process if two messages of a pair have one tag at the same time, if a request is used after its
 * end, or if the memory of a message changes while it is under way.  It delays all ends at random, delivers in any order, and fails
 * and hangs on demand.
 */
#ifndef HARNESS_CARRIER_H
#define HARNESS_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

enum { CARRIER_RANKS = 66 };

/* What ranks_start gives all ranks. */
struct carrier_choice {
    bool borrows, alone;      /* alone: its functions are for one thread at a time */
    uint64_t longest, tags;   /* 0: 100,000; 1,024 */
    int culprit;              /* the rank with a fault: ... */
    int fails_at, hangs_at;   /* ... the n-th message that it begins fails at once; is never over; 0: none */
    int breaks_at;            /* ... the end of the n-th is a failure */
    bool keeps;               /* ... it gives no message back that is cancelled */
    int late;                 /* ... what it receives comes so many milliseconds later */
};

/* Made before the ranks are: a socket for each pair.  Ends the program if it cannot be made. */
struct carrier_net {
    int socket[CARRIER_RANKS][CARRIER_RANKS];
    int ranks;
};
void carrier_net_open(struct carrier_net *net, int ranks);
void carrier_net_close(const struct carrier_net *net);

/* The end of one rank, with a carrier for each of its groups: the n-th of a rank meets the n-th of the others. */
struct carrier_end;
struct carrier_end *carrier_open(const struct carrier_net *net, const struct carrier_choice *choice, int rank);
const quern_carrier *carrier_for_group(struct carrier_end *end);  /* as long as the end */
void carrier_close(struct carrier_end *end);

/*
 * The messages that were begun so far; those of them that are not over; and those that have come here and that nobody has received.
 */
int carrier_count(const struct carrier_end *end);
int carrier_under_way(const struct carrier_end *end);
int carrier_unclaimed(struct carrier_end *end);

/* What the environment variable QUERN_TEST_CARRIER asks of all suites of hosts: "borrows" or "copies"; NULL: nothing. */
const struct carrier_choice *carrier_of_environment(void);

#endif
