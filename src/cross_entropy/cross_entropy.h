/* Cross-entropy and the last layer: the call that their files share, and the functions of each file. */
#ifndef QUERN_ROOM_CROSS_ENTROPY_H
#define QUERN_ROOM_CROSS_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/cross_entropy_kept.h"
#include "kernels/cross_entropy_columns.h"
#include "kernels/kernel.h"
#include "kernels/problem.h"
#include "quern.h"
#include "runtime/device.h"
#include "runtime/dispatch.h"
#include "runtime/look.h"
#include "runtime/ranges.h"

/* ---- A BLAS that is opened at run time: one table of functions for each kind of device ---- */

struct quern_blas_kind {
    const char *const *libraries;  /* the usual names, best first; the list ends with NULL */

    /* Finds its functions in an open library.  *state is the data of this kind. */
    quern_status (*attach)(quern_device *device, void *library, const char *name, void **state);
    quern_status (*multiply)(quern_device *device, void *state, const quern_gemm_args *args, void *stream);
    void (*detach)(quern_device *device, void *state);
};

/* ---- A checked call of a cross-entropy function, with its workspace laid out ---- */

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
    int64_t shard_count;                 /* combine, and the last layer; 0: it has the whole vocab */
    void *stream;
    bool is_full;                        /* an option is on that only full kernels implement */
    struct quern_cross_entropy_problem problem;
    struct quern_columns_problem columns;  /* without its rows, which are those of the problem when a stage runs */
    float *maxima;                       /* CPU: [rows, part_count, QUERN_CPU_PART_PIECES], for the largest columns; NULL: none */
    quern_row_stats *spare_stats;        /* [rows], if the caller wants no stats and a stage needs them; not for gradients */
    struct quern_rows_progress *progress;  /* GPU: for problem.progress */
    char *scratch;                       /* CPU: [workers, scratch_bytes], each at a multiple of 64 */
    size_t scratch_bytes;
    size_t addends, widened;             /* CPU: of soft targets, offsets in a worker's scratch; 0: not needed */
    int threads;                         /* CPU: of the device when the call began, of which the workspace is */
    int64_t workers;
};

/* ---- blas_cpu.c: the BLAS of a CPU, for blas.c ---- */

extern const struct quern_blas_kind quern_cpu_blas;

/* ---- blas_cuda.c: the BLAS of a GPU, for blas.c ---- */

extern const struct quern_blas_kind quern_cuda_blas;

/* ---- cross_entropy_answers.c: the known answers of the kernels of cross-entropy ---- */

struct quern_known_answers;

extern const struct quern_known_answers quern_cross_entropy_answers;

/* ---- cross_entropy_arguments.c: checks of the arguments of cross-entropy ---- */

/* Fills in the defaults and checks everything but pointers: enough to compute the size of the workspace. */
quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args);

/* The buffers that a step uses, without the workspace, and room for those of the layer. */
enum { QUERN_CROSS_ENTROPY_RANGES = 32 };
struct quern_cross_entropy_ranges {
    struct quern_range list[QUERN_CROSS_ENTROPY_RANGES];
    int count;
};

/* Checks the arguments of one step after they have passed the above, and lists its buffers for quern_check_apart. */
quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call,
                                            struct quern_cross_entropy_ranges *ranges);

/* Only lists the buffers. */
void quern_cross_entropy_list_ranges(const struct quern_cross_entropy_call *call, struct quern_cross_entropy_ranges *ranges);

/* Whether the steps exchange nodes beside stats: portable bits of shards. */
bool quern_cross_entropy_has_nodes(const quern_cross_entropy_args *args);
/* Of a row's nodes, and with the entropy of its moments behind them; 0: it has none. */
size_t quern_cross_entropy_node_bytes(const quern_cross_entropy_args *args);

/* The most shards of which buffers can hold what the steps exchange, and the largest of these buffers. */
int64_t quern_cross_entropy_most_shards(const quern_cross_entropy_args *args, const char **largest);

/* Whether an option is on that only full kernels implement. */
bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args);

/* ---- cross_entropy_columns.c: the largest and the given columns of a row on a CPU ---- */

/* Writes the lists, with logits.  maxima: [part_count, QUERN_CPU_PART_PIECES], the largest logit of each piece; NULL: not known. */
void quern_cross_entropy_find_columns(const struct quern_columns_problem *problem, int64_t row, const float *maxima);

/* Joins the lists of shards, and writes log-probabilities.  The stats of the row are known. */
void quern_cross_entropy_finish_columns(const struct quern_columns_problem *problem, int64_t row);

/* The y of a logit. */
float quern_cross_entropy_y(const struct quern_cross_entropy_problem *rows, int64_t row, float logit);

/* ---- cross_entropy_divergence.c: the divergence of a row from its soft targets on a CPU, in the order of the calls ---- */

/*
 * What a kernel needs for the soft targets of a part of a row; false: the row has no divergence.  room: for the targets as fp32
 * numbers, if the kernel does not take their type; else NULL.
 */
bool quern_cross_entropy_soft_part(const struct quern_columns_problem *problem, int64_t row, int64_t part, float *room,
                                   struct quern_soft_part *soft);

/* Keeps the logits of the given columns and the label's, before the gradient may replace them. */
void quern_cross_entropy_keep_logits(const struct quern_columns_problem *problem, int64_t row);

/* Writes the divergence, and what it adds to the row's upstream gradients.  The log-probabilities are known. */
void quern_cross_entropy_find_divergence(const struct quern_columns_problem *problem, int64_t row);

/* Writes the gradient of the given columns that have targets, and the label's, after that of the others. */
void quern_cross_entropy_write_listed(const struct quern_columns_problem *problem, int64_t row);

/* ---- cross_entropy_cpu.c: cross-entropy on a CPU, for cross_entropy_run.c ---- */

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call);

/* ---- cross_entropy_cuda.c: cross-entropy on a GPU, for cross_entropy_run.c ---- */

quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call);

/* ---- cross_entropy_labels.c: the check of strict labels ---- */

/* With strict labels: a CPU needs good labels in all rows, a GPU a report.  The call is filled in and has not started. */
quern_status quern_cross_entropy_check_labels(const struct quern_cross_entropy_call *call);

/* ---- cross_entropy_run.c: the workspace, the fields and the run of a call ---- */

/* The bytes of workspace of a step.  The arguments have passed the checks. */
size_t quern_cross_entropy_needs(const quern_device *device, int threads, enum quern_cross_entropy_step step,
                                 const quern_cross_entropy_args *args);

/* Fills in the rest of a call that has its device, step and checked arguments.  The workspace is as large as needed. */
void quern_cross_entropy_fill(struct quern_cross_entropy_call *call, void *workspace);

/* Runs the tasks of an initialised call on its device. */
quern_status quern_cross_entropy_run(struct quern_cross_entropy_call *call);

/* ---- cross_entropy_rows.c ---- */

/* Moves the pointers of a call's problems past its first rows, but not those of the workspace: stats and parts. */
void quern_cross_entropy_skip_rows(struct quern_cross_entropy_call *call, int64_t rows);

/* Whether lists of columns are wanted, and the step takes part in them. */
bool quern_cross_entropy_wants_columns(const struct quern_cross_entropy_call *call);

/* Whether the step adds the gradient of a divergence. */
bool quern_cross_entropy_wants_slopes(const struct quern_cross_entropy_call *call);

/* Whether the step finds a divergence from soft targets of all columns, or its gradient. */
bool quern_cross_entropy_wants_soft(const struct quern_cross_entropy_call *call);

/* Whether the step writes an fp32 gradient of 16-bit logits. */
bool quern_cross_entropy_is_wide(const struct quern_cross_entropy_call *call);

/* The rows of a call take what a divergence adds to their upstream gradients from the workspace. */
void quern_cross_entropy_place_upstream(struct quern_cross_entropy_call *call);

/* ---- cross_entropy_select.c: the choice of a kernel for a stage of a call ---- */

/* A kernel for one stage of the call. */
quern_status quern_cross_entropy_select(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage,
                                        const struct quern_ready_kernel **chosen);

/* The walk past the kernels of the rows stage, as text. */
size_t quern_cross_entropy_explain_call(const struct quern_cross_entropy_call *call, char *buffer, size_t bytes);

/* The number of parts into which a device divides a row. */
int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args);

/* ---- cross_entropy_shared.c ---- */

/*
 * What the host has to know of a GPU kernel: the shared memory of its blocks, and what they do.  For the selection, the launches
 * and the known answers.
 */

/* The dynamic shared memory of a block that keeps a number of columns, divided into a number of parts. */
int64_t quern_cross_entropy_shared_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t parts);

/* The same for a kernel that divides a row by columns, in equal shares but for the last, among so many blocks. */
int64_t quern_cross_entropy_share_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t blocks);

/* Whether a kernel of whole rows keeps them on the chip, so that it reads them once. */
bool quern_cross_entropy_keeps_rows(const struct quern_kernel *kernel);

/*
 * Whether the blocks of a kernel of whole rows also count the labels and sum the losses (row_progress.cuh).  Full kernels do not:
 * they have no registers to spare.
 */
bool quern_cross_entropy_serves_call(const struct quern_kernel *kernel);

/* The bytes of struct quern_rows_progress with the words of so many labels. */
size_t quern_cross_entropy_progress_bytes(int64_t rows);

/* ---- cross_entropy_show.c: what calls of cross-entropy show of their tensors to those who look: see runtime/look.h ---- */

extern const struct quern_view quern_cross_entropy_views[QUERN_STEPS];  /* of a struct quern_cross_entropy_call */

/* ---- linear_cross_entropy_arguments.c: checks of the arguments of the last layer ---- */

/* Fills in the defaults, the rows of a chunk among them, and checks everything but pointers. */
quern_status quern_linear_cross_entropy_check(const quern_device *device, const quern_linear_cross_entropy_args *given,
                                              quern_linear_cross_entropy_args *args);

/* Whether sums of d_weight over several chunks are rounded at their end. */
bool quern_linear_cross_entropy_has_sums(const quern_linear_cross_entropy_args *args);

/* The pointers of the layer, without those of its loss. */
quern_status quern_linear_cross_entropy_check_pointers(const quern_device *device, const quern_linear_cross_entropy_args *args);

/* All buffers.  The hidden states and their gradient may be one matrix: d_weight is computed before it is overwritten. */
quern_status quern_linear_cross_entropy_check_apart(const struct quern_cross_entropy_call *loss,
                                                    const quern_linear_cross_entropy_args *args, const void *workspace,
                                                    size_t bytes);

#endif
