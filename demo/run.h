/* One training run: on one rank, or spread over several. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>

#include "demo.h"

struct run_report;

struct run {
    const struct demo *demo;
    bool is_plain;    /* loss and optimizer by plain loops */
    bool is_first;    /* of the program: it shows Quern's log, and generates text at the end */
    int ranks, hosts;
};

/* The run on all its ranks, as threads of this process.  On failure, here as below, false after a message on stderr. */
bool run_threads(const struct run *run, struct run_report *report);

/* One rank's part of the run; rank 0 prints, and fills the report of the run. */
bool run_rank(const struct run *run, int rank, struct run_report *report);

#endif
