/* A call of one of the cross-entropy functions, checked and with its workspace laid out, on its way to a device. */
#ifndef QUERN_CROSS_ENTROPY_H
#define QUERN_CROSS_ENTROPY_H

#include <stdbool.h>

#include "device.h"
#include "dispatch.h"
#include "problem.h"
#include "quern.h"

enum quern_cross_entropy_step {
    QUERN_STEP_WHOLE,     /* quern_cross_entropy */
    QUERN_STEP_STATS,     /* quern_cross_entropy_stats, ... */
    QUERN_STEP_COMBINE,
    QUERN_STEP_GRADIENT,
    QUERN_STEPS
};

struct quern_cross_entropy_call {
    quern_device *device;
    enum quern_cross_entropy_step step;
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

/* ---- src/cross_entropy_arguments.c ---- */

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

/* ---- the devices ---- */

/* How many parts a row's sums are made of. */
int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args);

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call);   /* src/cross_entropy_cpu.c */
quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call);  /* src/cross_entropy_cuda.c */

#endif
