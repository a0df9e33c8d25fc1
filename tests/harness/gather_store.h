/*
 * An all-gather for groups of several hosts, over memory that the ranks of a test share (struct rank).  One gatherer a rank, which
 * all its groups use in the same order.
 */
#ifndef HARNESS_GATHER_STORE_H
#define HARNESS_GATHER_STORE_H

#include "harness/ranks.h"

enum { GATHER_RANKS = 8, GATHER_BYTES = 1024 };

struct gather_store {
    unsigned arrived, calls[GATHER_RANKS];
    unsigned char parts[2][GATHER_RANKS][GATHER_BYTES];  /* of the last two gathers, so that a slow rank still finds its own */
};

struct gatherer {
    struct rank *rank;       /* whose shared memory is, or begins with, the store */
    int fault;               /* for the test */
    unsigned rounds;
};

/* A callback of quern_group_args, whose user is the gatherer. */
static inline int gather_all(void *user, const void *mine, size_t bytes, void *all) {
    struct gatherer *gatherer = user;
    struct gather_store *store = gatherer->rank->shared;
    const unsigned ranks = (unsigned)gatherer->rank->ranks, round = gatherer->rounds++;
    rank_check(gatherer->rank, bytes <= GATHER_BYTES, "%zu bytes", bytes);
    memcpy(store->parts[round % 2][gatherer->rank->rank], mine, bytes);
    store->calls[gatherer->rank->rank]++;
    __atomic_add_fetch(&store->arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&store->arrived, __ATOMIC_ACQUIRE) < (round + 1) * ranks) rank_sleep(1e-4);
    for (unsigned rank = 0; rank < ranks; rank++) memcpy((char *)all + rank * bytes, store->parts[round % 2][rank], bytes);
    return 0;
}

#endif
