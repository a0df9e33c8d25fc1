/*
 * Times the rounds of barriers that take turns.  Every contender is timed by this code, whichever program it is in, and beside it
 * the ping-pong, since how far two cores are from each other changes with where a virtual machine's cores happen to be.
 *
 * A turn times batches of rounds, between two looks at the clock, for the typical time, then single rounds, for the rare long ones.
 * The ranks need no other means to agree on its end: rank 0 says which batch is the last before it comes to that batch's last
 * round, and the others see it after.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_CONTENDERS = 8, MAX_ROUND_TURNS = 50 };

struct contender {
    const char *name;
    void (*meet)(void *context);  /* one round */
    void *context;                /* of this rank */
};

struct rounds;  /* what the ranks share: memory that all of them see, zeroed */

size_t rounds_bytes(int ranks);

/* Every rank calls this with the same contenders; each has so many turns of so many seconds. */
void rounds_run(struct rounds *rounds, int rank, int ranks, const struct contender *contenders, int count, int turns,
                double seconds);

/* Nanoseconds of one round in one turn, as the slowest rank saw it. */
struct round_times {
    double median;                       /* of the batches */
    double single_median, p99, longest;  /* of single rounds, which contain a look at the clock */
    int64_t rounds;                      /* of the rank that had fewest */
};

/* After all ranks have returned: a line for each contender; kind is "threads" or "processes". */
void rounds_write(const struct rounds *rounds, const char *kind, int ranks, const struct contender *contenders, int count,
                  int turns);

/* One contender's line, of times that were measured in another way. */
void rounds_write_times(const char *contender, const char *kind, int ranks, const struct round_times *times, int turns);

#endif
