/* Reads the monotonic clock.  Called by the waits and reports of src/ranks. */
#define _POSIX_C_SOURCE 200809L
#include "os/clock.h"

#include <time.h>

int64_t quern_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
