/* A monotonic clock. */
#ifndef CLOCK_H
#define CLOCK_H

/* Seconds since some fixed moment. */
double seconds_now(void);

#endif
