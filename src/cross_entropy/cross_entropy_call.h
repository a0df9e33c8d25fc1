/* A checked call of a cross-entropy function, with its workspace laid out.  For all of src/cross_entropy. */
#ifndef QUERN_CROSS_ENTROPY_CALL_H
#define QUERN_CROSS_ENTROPY_CALL_H

#include <stdbool.h>

#include "kernels/problem.h"
#include "quern.h"
#include "runtime/device.h"

/* Which public function is called.  A step runs one kernel or several, each for a stage (enum quern_cross_entropy_stage). */
enum quern_cross_entropy_step {
    QUERN_STEP_WHOLE,     /* quern_cross_entropy */
    QUERN_STEP_STATS,     /* quern_cross_entropy_stats, ... */
    QUERN_STEP_COMBINE,
    QUERN_STEP_GRADIENT,
    QUERN_STEP_UPSTREAM,
    QUERN_STEPS
};

/* The tasks of a step.  A call for a chunk of rows runs only the second; a call for all rows runs the others once. */
enum { QUERN_COUNT_LABELS = 1, QUERN_RUN_ROWS = 2, QUERN_SUM_LOSSES = 4, QUERN_ALL_TASKS = 7 };

struct quern_cross_entropy_call {
    quern_device *device;
    enum quern_cross_entropy_step step;
    unsigned tasks;                     /* QUERN_ALL_TASKS or a subset */
    quern_cross_entropy_args args;       /* with defaults filled in */
    const quern_row_stats *shards;       /* combine: [shard_count, rows] */
    int64_t shard_count;
    void *stream;
    bool is_full;                        /* an option is on that only full kernels implement */
    struct quern_cross_entropy_problem problem;
    quern_row_stats *spare_stats;        /* [rows], if the caller wants no stats and a stage needs them; not for gradients */
    struct quern_rows_progress *progress;  /* GPU: for problem.progress */
    char *scratch;                       /* CPU: [workers, scratch_bytes], each at a multiple of 64 */
    size_t scratch_bytes;
    int threads;                         /* CPU: of the device when the call began, of which the workspace is */
    int64_t workers;
};

#endif
