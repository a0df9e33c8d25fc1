/* The clock that all threads and processes of a host share. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

int64_t clock_nanoseconds(void);

#endif
