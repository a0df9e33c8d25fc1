/* The clock that times waits.  For src/ranks and src/runtime. */
#ifndef QUERN_CLOCK_H
#define QUERN_CLOCK_H

#include <stdint.h>

int64_t quern_now(void);  /* CLOCK_MONOTONIC, nanoseconds */

/* Of nanoseconds, for texts: in whole milliseconds. */
static inline double quern_seconds(int64_t nanoseconds) { return (double)(nanoseconds / 1000000) / 1000.0; }

#endif
