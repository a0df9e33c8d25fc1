/*
 * Times activities that take turns: round after round, each of them once, so that a kernel and the loops it is compared with
 * see the same machine, also while other programs come and go.
 */
#ifndef TIMING_H
#define TIMING_H

#include "machine.h"

struct activity {
    void (*run)(void *context);
    void *context;
    bool repeatable;  /* may run several times in a row: short ones then do, to be longer than the clock's error */
    double median, low, high;  /* result: seconds of one run, with the quartiles of the rounds */
};

struct patience {
    double seconds;   /* how long the rounds go on, per activity on average */
    int least_rounds;
};

/* Returns how many rounds were timed, after one round that was not. */
int measure(const struct machine *machine, struct activity *activities, int count, const struct patience *patience);

#endif
