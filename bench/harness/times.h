/* The clock that all threads and processes of a host share, and the summary of repeated times.  Used by every program here. */
#ifndef TIMES_H
#define TIMES_H

#include <stdint.h>

int64_t clock_nanoseconds(void);

/* Seconds of one run: the median of the rounds, with the quartiles. */
struct times {
    double median, low, high;
    int rounds;
};

/* Sorts the values. */
void times_sort(double *values, int count);
struct times times_summary(double *seconds, int rounds);

#endif
