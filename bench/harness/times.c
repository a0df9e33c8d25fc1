/* The clock, and medians and quartiles.  Called by all files that measure time. */
#define _POSIX_C_SOURCE 200809L
#include "harness/times.h"

#include <stdlib.h>
#include <time.h>

int64_t clock_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void times_sort(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
}

struct times times_summary(double *seconds, int rounds) {
    times_sort(seconds, rounds);
    return (struct times){
        .median = 0.5 * (seconds[(rounds - 1) / 2] + seconds[rounds / 2]),
        .low = seconds[rounds / 4],
        .high = seconds[(3 * rounds - 1) / 4],
        .rounds = rounds,
    };
}
