/* The clock that times waits.  For src/ranks and src/runtime. */
#ifndef QUERN_CLOCK_H
#define QUERN_CLOCK_H

#include <stdint.h>

int64_t quern_now(void);  /* CLOCK_MONOTONIC, nanoseconds */

#endif
