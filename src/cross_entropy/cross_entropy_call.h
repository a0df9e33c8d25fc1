/* A call of one of the cross-entropy functions: checked, with its workspace laid out, ready for a device. */
#ifndef QUERN_CROSS_ENTROPY_CALL_H
#define QUERN_CROSS_ENTROPY_CALL_H

#include <stdbool.h>

#include "kernels/problem.h"
#include "quern.h"
#include "runtime/device.h"

enum quern_cross_entropy_step {
    QUERN_STEP_WHOLE,     /* quern_cross_entropy */
    QUERN_STEP_STATS,     /* quern_cross_entropy_stats, ... */
    QUERN_STEP_COMBINE,
    QUERN_STEP_GRADIENT,
    QUERN_STEPS
};

/* What runs of a step: a call for some of the rows leaves the first and the last to one for all. */
enum { QUERN_COUNT_LABELS = 1, QUERN_RUN_ROWS = 2, QUERN_SUM_LOSSES = 4, QUERN_ALL_TASKS = 7 };

struct quern_cross_entropy_call {
    quern_device *device;
    enum quern_cross_entropy_step step;
    unsigned tasks;                     /* QUERN_ALL_TASKS, or some of it */
    quern_cross_entropy_args args;       /* defaults filled in */
    const quern_row_stats *shards;       /* combine: [shard_count, rows] */
    int64_t shard_count;
    void *stream;
    bool is_full;                        /* an option is on that only full kernels know */
    struct quern_cross_entropy_problem problem;
    quern_row_stats *spare_stats;        /* [rows], where the caller wants no stats and a stage needs them; not of a gradient */
    char *scratch;                       /* CPU: [workers, scratch_bytes], each at a multiple of 64 */
    size_t scratch_bytes;
    int64_t workers;
};

#endif
