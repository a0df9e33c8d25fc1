/*
 * What several suites do with groups of several hosts: barriers that are seen to hold for all shapes, and exchanges that end with a
 * rank.  For suites: it needs Criterion.
 */
#ifndef HARNESS_HOSTS_CASE_H
#define HARNESS_HOSTS_CASE_H

#include "harness/ranks.h"

struct hosts_shape {
    int hosts, ranks;
};

/* The memory that the ranks of a run of shapes share. */
struct hosts_board {
    struct {
        _Alignas(64) int64_t value;
    } of[MOST_RUN_RANKS];
    int64_t counts[2];        /* for the test */
};

/* Runs the function on each shape, in threads and in processes. */
void check_shapes(const struct hosts_shape *shapes, size_t count, rank_function *function, const void *user);

/*
 * Two barriers of these members (NULL: all) around a look at what they have written: no rank is in the next round before all have
 * written in this one.
 */
void meet_members(struct rank *rank, quern_group *group, const int *members, int count, int64_t round);

/*
 * Exchanges slices of two sizes, small ones that travel with the head and large ones, until the last rank has ended, as the detail
 * says in the words of end_the_last, and destroys the group.  Returns the status of that.  The memory of the calls is written and
 * freed if it is the caller's again.
 */
quern_status exchange_until_the_last_ends(struct rank *rank, quern_group *group);

/*
 * Starts processes that each add one to the word at the start of the memory that they share, and then ends some, a bit mask, by
 * SIGKILL or SIGSTOP.  Fails if another one fails.
 */
void end_ranks(struct ranks ranks, unsigned mask, int signal);

/* The same of ranks of as many hosts, whose function makes the call above: the last one ends while they exchange. */
void end_the_last(int ranks, rank_function *function, const struct carrier_choice *carrier, int signal);

#endif
