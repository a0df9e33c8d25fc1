/* The monotonic clock.  Called by all files that measure time. */
#define _POSIX_C_SOURCE 200809L

#include "clock.h"

#include <time.h>

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
