/* A call of one of the cross-entropy functions, checked and with its workspace laid out, on its way to a device. */
#ifndef QUERN_CROSS_ENTROPY_H
#define QUERN_CROSS_ENTROPY_H

#include <stdbool.h>

#include "runtime/device.h"
#include "runtime/dispatch.h"
#include "kernels/problem.h"
#include "quern.h"

enum quern_cross_entropy_step {
    QUERN_STEP_WHOLE,     /* quern_cross_entropy */
    QUERN_STEP_STATS,     /* quern_cross_entropy_stats, ... */
    QUERN_STEP_COMBINE,
    QUERN_STEP_GRADIENT,
    QUERN_STEPS
};

/* What runs of a step: a call for some of the rows leaves the first and the last to one for all. */
enum { QUERN_COUNT_LABELS = 1, QUERN_RUN_ROWS = 2, QUERN_SUM_LOSSES = 4, QUERN_WHOLE_STEP = 7 };

struct quern_cross_entropy_call {
    quern_device *device;
    enum quern_cross_entropy_step step;
    unsigned phases;                     /* QUERN_WHOLE_STEP, or some of it */
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

/* ---- src/cross_entropy/cross_entropy_arguments.c ---- */

/* Fills in the defaults and checks everything but pointers: enough to tell the workspace. */
quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args);

/* Checks what one step needs of arguments that passed the above. */
quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call);

/* Whether an option is on that only full kernels know. */
bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args);

/* ---- choosing kernels ---- */

/* A kernel for one stage of the call. */
quern_status quern_cross_entropy_select(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage,
                                        const struct quern_ready_kernel **chosen);

/* The dynamic shared memory of a GPU kernel's block that keeps so many columns, which are so many parts. */
int64_t quern_cross_entropy_shared_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t parts);

/* ---- a call in pieces, for src/cross_entropy/linear_cross_entropy.c ---- */

/* The workspace of a step; the arguments have passed the checks. */
size_t quern_cross_entropy_needs(const quern_device *device, enum quern_cross_entropy_step step, const quern_cross_entropy_args *args);

/* Fills in what a call hands to its kernels, from its device, step and checked arguments; the workspace is as large as needed. */
void quern_cross_entropy_state(struct quern_cross_entropy_call *call, void *workspace);

/* Runs the phases of a call that has been stated. */
quern_status quern_cross_entropy_run(struct quern_cross_entropy_call *call);

/* ---- the devices ---- */

/* How many parts a row's sums are made of. */
int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args);

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call);   /* src/cross_entropy/cross_entropy_cpu.c */
quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call);  /* src/cross_entropy/cross_entropy_cuda.c */

#endif
