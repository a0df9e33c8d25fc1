/*
 * Times activities of several ranks that take turns, round after round: each starts on all ranks together and ends when the last
 * rank is done.  Used by every program that moves bytes between ranks.
 */
#ifndef TURNS_H
#define TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/times.h"

enum { MAX_TURNS = 8, MAX_TURN_RANKS = 16 };

/* One activity; run(context, set) moves the bytes of one set of buffers. */
struct turn {
    const char *name;
    void (*run)(void *context, int set);
};

/* The arguments of every rank. */
struct turn_list {
    const struct turn *turns;
    int count;
    int sets;         /* number of buffers, which the runs cycle through */
    double seconds;   /* for all activities together */
    void *context;
};

struct turns;  /* what the ranks share: memory that all of them see, zeroed */

size_t turns_bytes(void);

/* Every rank calls this. */
void turns_run(struct turns *turns, int rank, int ranks, const struct turn_list *list);

/* After all ranks have returned. */
struct times turns_times(const struct turns *turns, int ranks, int turn);

#endif
