/* Times all-to-alls and copies.  Called by exchange.c and mpi.c. */
#include "ranks/turns.h"

#include <math.h>
#include <stdbool.h>

#include "ranks/ranks.h"

enum { MAX_ROUNDS = 400, LEAST_ROUNDS = 5, MAX_REPEATS = 1000 };

#define SHORT_NANOSECONDS 1e6  /* an activity that is shorter runs several times in a row */

struct turns {
    struct gate gate;
    bool enough;             /* written by rank 0 before a gate */
    int repeats[MAX_TURNS];  /* likewise */
    int rounds;              /* likewise */
    struct {
        int64_t start[MAX_TURN_RANKS], end[MAX_TURN_RANKS];
    } at[MAX_TURNS][MAX_ROUNDS];
};

size_t turns_bytes(void) {
    return sizeof(struct turns);
}

/* From the first rank's start to the last rank's end. */
static double round_nanoseconds(const struct turns *turns, int ranks, int turn, int round) {
    int64_t start = INT64_MAX, end = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (turns->at[turn][round].start[rank] < start) start = turns->at[turn][round].start[rank];
        if (turns->at[turn][round].end[rank] > end) end = turns->at[turn][round].end[rank];
    }
    return (double)(end - start) / turns->repeats[turn];
}

static void repeat(const struct turn_list *list, int turn, int times, int *next_set) {
    for (int i = 0; i < times; i++) {
        list->turns[turn].run(list->context, *next_set);
        *next_set = (*next_set + 1) % list->sets;
    }
}

/*
 * A short activity that comes to every set again finds it as it left it itself, and not as the one before it did: a copy past the
 * caches would leave the outputs in memory, and the exchange after it would pay for that.
 */
static void run_round(struct turns *turns, int rank, int ranks, const struct turn_list *list, int round, int *next_set) {
    for (int turn = 0; turn < list->count; turn++) {
        if (turns->repeats[turn] > list->sets) repeat(list, turn, list->sets, next_set);
        gate_pass(&turns->gate, ranks);
        turns->at[turn][round].start[rank] = clock_nanoseconds();
        repeat(list, turn, turns->repeats[turn], next_set);
        turns->at[turn][round].end[rank] = clock_nanoseconds();
    }
    gate_pass(&turns->gate, ranks);
}

/* Rank 0 decides, by the first round, which is not counted. */
static void choose_repeats(struct turns *turns, int ranks, int count) {
    for (int turn = 0; turn < count; turn++) {
        double wanted = ceil(SHORT_NANOSECONDS / (round_nanoseconds(turns, ranks, turn, 0) + 1));
        turns->repeats[turn] = wanted > MAX_REPEATS ? MAX_REPEATS : (int)wanted;
    }
}

void turns_run(struct turns *turns, int rank, int ranks, const struct turn_list *list) {
    int next_set = 0;
    if (rank == 0)
        for (int turn = 0; turn < list->count; turn++) turns->repeats[turn] = 1;
    gate_pass(&turns->gate, ranks);
    run_round(turns, rank, ranks, list, 0, &next_set);
    if (rank == 0) choose_repeats(turns, ranks, list->count);
    gate_pass(&turns->gate, ranks);
    int64_t end = clock_nanoseconds() + (int64_t)(1e9 * list->seconds);
    for (int round = 0; !turns->enough; round++) {
        run_round(turns, rank, ranks, list, round, &next_set);
        if (rank == 0) {
            turns->rounds = round + 1;
            turns->enough = turns->rounds == MAX_ROUNDS || (turns->rounds >= LEAST_ROUNDS && clock_nanoseconds() >= end);
        }
        gate_pass(&turns->gate, ranks);
    }
}

struct times turns_times(const struct turns *turns, int ranks, int turn) {
    double seconds[MAX_ROUNDS];
    for (int round = 0; round < turns->rounds; round++) seconds[round] = 1e-9 * round_nanoseconds(turns, ranks, turn, round);
    return times_summary(seconds, turns->rounds);
}
