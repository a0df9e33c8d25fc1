/* The lines of JSON that the programs write, one for each measurement. */
#ifndef LINES_H
#define LINES_H

#include "rounds.h"
#include "slices.h"
#include "turns.h"

/* kind: "threads", "processes", "on one GPU". */
void write_barrier(const char *contender, const char *kind, int ranks, const struct round_times *times, int turns);

/* All contenders of rounds_run, in their order. */
void write_barriers(const struct rounds *rounds, const char *kind, int ranks, const struct contender *contenders, int count,
                    int turns);

void write_exchange(const char *contender, const char *kind, const struct slices *slices, const struct turn_times *times);

/* What could not be measured, with the reason. */
void write_skipped(const char *operation, const char *contender, const char *kind, int ranks, const char *why);

#endif
