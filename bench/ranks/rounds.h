/*
 * Times the rounds of barriers that take turns.  This code times every contender, in any program, and next to it the ping-pong,
 * since the distance between two cores depends on where a virtual machine's cores currently run.
 *
 * A turn times batches of rounds, between two readings of the clock, for the typical time, then single rounds, for the rare long
 * ones. The ranks need no other means to agree on its end: rank 0 announces the last batch before that batch's last round, and
 * the others read it afterwards.
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

/* Every rank calls this with the same contenders; each gets this number of turns of this length. */
void rounds_run(struct rounds *rounds, int rank, int ranks, const struct contender *contenders, int count, int turns,
                double seconds);

/* Nanoseconds of one round in one turn, as seen by the slowest rank. */
struct round_times {
    double median;                       /* of the batches */
    double single_median, p99, longest;  /* of single rounds, which contain a look at the clock */
    int64_t rounds;                      /* of the rank that had fewest */
};

/* After all ranks have returned: a line for each contender; kind is "threads" or "processes". */
void rounds_write(const struct rounds *rounds, const char *kind, int ranks, const struct contender *contenders, int count,
                  int turns);

/* One contender's line, for times that were measured in another way. */
void rounds_write_times(const char *contender, const char *kind, int ranks, const struct round_times *times, int turns);

#endif
