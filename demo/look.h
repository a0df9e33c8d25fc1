/* Looking inside the first run: a trace of the program, and a dump of one step of each rank. */
#ifndef LOOK_H
#define LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* What the command line asks for. */
struct look {
    const char *trace;   /* a file; NULL: none */
    const char *dump;    /* a folder; NULL: none */
    int64_t dump_step;
};

/*
 * The trace of a process, which is named after its rank unless that is 0, as the folder of a rank's dump is: FILE.3.  On failure,
 * here as below, false after a message on stderr.  A trace that has not begun ends without one.
 */
bool look_begin_trace(const struct look *look, int rank);
bool look_end_trace(const struct look *look);

bool look_dump_at(const struct look *look, quern_device *device, int rank);

/* A step begins; steps count from 1.  device NULL: nothing is looked at. */
bool look_step(quern_device *device, int64_t step);

#endif
