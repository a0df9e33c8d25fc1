/*
 * Cross-entropy on a GPU: chooses the stages of a call and launches them.  Called by cross_entropy_run.c.
 *
 *   rows                        rows by warps, blocks or clusters that take them in turns, count the labels and sum few losses;
 *                               with all options longer rows, enough for all multiprocessors: a block for each
 *   stats, combine, gradient    fewer long rows: a block for each part of each row
 *   columns, log_probs          before and after these, if lists of columns are wanted
 *   stats, combine, log_probs, gradient, listed    with the gradient of a divergence
 *   soft, wide                  before log_probs and for gradient, with soft targets of all columns; wide also in fp32 for 16 bits
 *
 * Long rows have the same bits either way.
 */
#include "cross_entropy/cross_entropy.h"

#include <stddef.h>

#include "kernels/cross_entropy_tree.h"
#include "os/integers.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"
#include "runtime/walk.h"

enum { MAX_BLOCKS = 0x7fffff00 };  /* in the first dimension of the grid, with room for a cluster; the rest is in the second */

/* ---- the list of launches ---- */

struct launch {
    const struct quern_ready_kernel *ready;
    int64_t blocks;
    int64_t cluster;  /* blocks of a cluster; 1: no clusters */
    size_t shared;
};

/* All stages are found before the first launch, so that a missing one leaves no partial result. */
struct launches {
    struct launch list[9];  /* at most: columns, labels, stats, combine, soft, log_probs, gradient, listed, reduce */
    int count;
};

static quern_status add(struct launches *launches, const struct quern_cross_entropy_call *call,
                        enum quern_cross_entropy_stage stage, int64_t blocks) {
    struct launch *launch = &launches->list[launches->count];
    quern_status status = quern_cross_entropy_select(call, stage, &launch->ready);
    if (status != QUERN_OK || !blocks) return status;
    launch->blocks = blocks;
    launch->cluster = 1;
    launch->shared = (size_t)quern_cross_entropy_shared_bytes(launch->ready->kernel, call->problem.vocab, call->problem.part_count);
    launches->count++;
    return QUERN_OK;
}

/* ---- rows ---- */

/* The fewest blocks that hold a row in this much shared memory each; 0: the largest cluster that has room is too small. */
static int64_t fewest_blocks(const struct quern_cross_entropy_call *call, const struct quern_ready_kernel *ready,
                             int64_t shared_bytes) {
    for (int64_t blocks = 1; blocks <= ready->cluster; blocks *= 2)
        if (quern_cross_entropy_share_bytes(ready->kernel, call->problem.vocab, blocks) <= shared_bytes) return blocks;
    return 0;
}

/* The driver uses 1 KiB of shared memory for each block, in addition to the block's own. */
enum { RESERVED_SHARED_BYTES = 1024 };

/* The blocks of a row.  If possible, two blocks fit on a multiprocessor, so that one computes while the other waits. */
static int64_t blocks_per_row(const struct quern_cross_entropy_call *call, const struct quern_ready_kernel *ready) {
    if (!ready->kernel->cuda.cluster) return 1;
    const int64_t alone = call->device->shared_bytes, paired = (alone + RESERVED_SHARED_BYTES) / 2 - RESERVED_SHARED_BYTES;
    const int64_t blocks = fewest_blocks(call, ready, paired);
    return blocks ? blocks : fewest_blocks(call, ready, alone);
}

/* The multiprocessors that clusters of this size can use.  Each holds one block that has all shared memory. */
static int64_t usable_multiprocessors(const struct quern_cross_entropy_call *call, const struct quern_ready_kernel *ready,
                                      int64_t cluster) {
    const int64_t all = call->device->multiprocessors;
    const int64_t used = cluster > 1 ? cluster * ready->clusters[__builtin_ctzll((uint64_t)cluster)] : all;
    return used < all ? used : all;
}

/* Whether a block has several rows at once. */
static bool takes_short_rows(const struct quern_kernel *kernel) { return kernel->cuda.threads == QUERN_SHORT_ROWS_THREADS; }

/* The turns of all blocks or clusters.  row_of_turn in cross_entropy_short_rows.cuh says which rows a block has in one. */
static int64_t turns_of(const struct quern_kernel *kernel, int64_t rows) {
    if (!takes_short_rows(kernel)) return rows;
    const int64_t apart = kernel->cuda.elements, whole = rows / (apart * QUERN_SHORT_ROWS);
    const int64_t rest = rows % (apart * QUERN_SHORT_ROWS);
    return whole * apart + (rest < apart ? rest : apart);
}

/* Of a multiprocessor: the launch bounds of the kernel. */
static int64_t most_blocks(const struct quern_kernel *kernel) {
    if (takes_short_rows(kernel)) return QUERN_MOST_BLOCKS_OF_SHORT_ROWS;
    return kernel->key.cross_entropy.full ? QUERN_MOST_BLOCKS_OF_FULL_ROWS : QUERN_MOST_BLOCKS_OF_ROWS;
}

/* The rows, or the clusters' worth of them, that the device works on at once: blocks that take turns need not be more. */
static int64_t rows_at_once(const struct quern_cross_entropy_call *call, const struct quern_ready_kernel *ready, int64_t cluster,
                            int64_t shared) {
    const int64_t all = call->device->shared_bytes + RESERVED_SHARED_BYTES, fit = all / (shared + RESERVED_SHARED_BYTES);
    const int64_t most = most_blocks(ready->kernel);
    const int64_t blocks = usable_multiprocessors(call, ready, cluster) * (fit < most ? fit : most);
    return blocks > cluster ? blocks / cluster : 1;
}

static quern_status add_rows(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const int place = launches->count;
    quern_status status = add(launches, call, QUERN_STAGE_ROWS, call->problem.rows);
    if (place == launches->count) return status;
    struct launch *launch = &launches->list[place];
    launch->blocks = turns_of(launch->ready->kernel, call->problem.rows);
    launch->cluster = blocks_per_row(call, launch->ready);
    const struct quern_kernel *kernel = launch->ready->kernel;
    if (kernel->cuda.elements) {
        const bool keeps_rows = quern_cross_entropy_keeps_rows(kernel);
        launch->shared = (size_t)(keeps_rows ? quern_cross_entropy_share_bytes(kernel, call->problem.vocab, launch->cluster)
                                             : call->device->shared_bytes);
        const int64_t most = rows_at_once(call, launch->ready, launch->cluster, (int64_t)launch->shared);
        launch->blocks = launch->blocks < most ? launch->blocks : most;
    }
    launch->blocks *= launch->cluster;
    return status;
}

/* ---- the other stages ---- */

/* A warp for each row. */
static quern_status add_warps(struct launches *launches, const struct quern_cross_entropy_call *call,
                              enum quern_cross_entropy_stage stage) {
    const int place = launches->count;
    const quern_status status = add(launches, call, stage, call->problem.rows);
    if (place == launches->count) return status;
    const int64_t warps = launches->list[place].ready->kernel->cuda.threads / 32;
    launches->list[place].blocks = quern_divide_up(call->problem.rows, warps);
    return status;
}

static quern_status add_combine(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return add_warps(launches, call, call->problem.portable_bits ? QUERN_STAGE_PORTABLE_COMBINE : QUERN_STAGE_COMBINE);
}

static bool counts_labels(const struct quern_cross_entropy_call *call) {
    return (call->tasks & QUERN_COUNT_LABELS) && (call->problem.divisor || call->problem.report);
}

static bool sums_losses(const struct quern_cross_entropy_call *call) {
    return (call->tasks & QUERN_SUM_LOSSES) && call->problem.loss;
}

/* The gradient needs the divisor.  If the divisor depends on the stats, they must be combined first. */
static quern_status add_labels(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return counts_labels(call) ? add(launches, call, QUERN_STAGE_LABELS, 1) : QUERN_OK;
}

static quern_status add_parts(struct launches *launches, const struct quern_cross_entropy_call *call,
                              enum quern_cross_entropy_stage stage) {
    return add(launches, call, stage, call->problem.rows * call->problem.part_count);
}

/* What follows the sums of the rows: the divergence from soft targets of all columns, and the log-probabilities. */
static quern_status add_log_probs(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const quern_status status = quern_cross_entropy_wants_soft(call) ? add_parts(launches, call, QUERN_STAGE_SOFT) : QUERN_OK;
    return status == QUERN_OK ? add_warps(launches, call, QUERN_STAGE_LOG_PROBS) : status;
}

/* That of a divergence needs its log-probabilities. */
static quern_status add_slopes(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const bool is_wide = quern_cross_entropy_wants_soft(call) || quern_cross_entropy_is_wide(call);
    quern_status status = add_log_probs(launches, call);
    if (status == QUERN_OK) status = add_parts(launches, call, is_wide ? QUERN_STAGE_WIDE : QUERN_STAGE_GRADIENT);
    return status == QUERN_OK ? add_warps(launches, call, QUERN_STAGE_LISTED) : status;
}

static quern_status add_gradient(struct launches *launches, struct quern_cross_entropy_call *call) {
    if (!call->problem.grad) return QUERN_OK;
    if (quern_cross_entropy_wants_slopes(call)) return add_slopes(launches, call);
    if (!call->problem.portable_bits)
        return add_parts(launches, call, quern_cross_entropy_is_wide(call) ? QUERN_STAGE_WIDE : QUERN_STAGE_GRADIENT);
    call->problem.portable_bits = QUERN_PORTABLE_GRADIENT;
    return add(launches, call, QUERN_STAGE_PORTABLE, call->problem.rows);
}

static quern_status add_reduce(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return sums_losses(call) ? add(launches, call, QUERN_STAGE_REDUCE, 1) : QUERN_OK;
}

static quern_status add_stats(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return add_parts(launches, call, QUERN_STAGE_STATS);
}

/* ---- the steps ---- */

/*
 * Split rows are read twice.  Without a split, few rows leave multiprocessors idle.  But half of the multiprocessors can use nearly
 * all of the memory bandwidth.  QUERN_KERNEL may demand a kernel of the rows stage.
 */
static quern_status is_better_split(const struct quern_cross_entropy_call *call, bool *split) {
    const struct quern_ready_kernel *rows, *stats;
    /* What lies between the sums and the gradient, or a gradient that the rows stage lacks. */
    *split = quern_cross_entropy_wants_slopes(call) || quern_cross_entropy_is_wide(call);
    if (*split || call->problem.part_count < 2) return QUERN_OK;
    quern_status status = quern_cross_entropy_select(call, QUERN_STAGE_ROWS, &rows);
    if (status == QUERN_OK && rows->kernel->cuda.elements) return QUERN_OK;  /* a row has the same bits among few and many */
    if (status == QUERN_OK) status = quern_cross_entropy_select(call, QUERN_STAGE_STATS, &stats);
    if (status != QUERN_OK || !quern_is_named(call->device, stats->kernel)) return status;
    *split = call->problem.rows < quern_divide_up(call->device->multiprocessors, 2 * blocks_per_row(call, rows));
    return QUERN_OK;
}

static quern_status plan_split(struct launches *launches, struct quern_cross_entropy_call *call) {
    if (!call->problem.stats) call->problem.stats = call->spare_stats;
    quern_status status = add_stats(launches, call);
    if (status == QUERN_OK) status = add_combine(launches, call);
    return status == QUERN_OK ? add_gradient(launches, call) : status;
}

/* What the rows stage does of the other stages, if it has all rows of the call. */
struct further_work {
    bool labels, losses;
};

/* All blocks count labels, of any number of rows.  One of them sums the losses, if these are few enough. */
static quern_status find_further_work(struct quern_cross_entropy_call *call, struct further_work *work) {
    const struct quern_ready_kernel *rows;
    *work = (struct further_work){false, false};
    if (call->tasks != QUERN_ALL_TASKS || !call->problem.rows) return QUERN_OK;
    quern_status status = quern_cross_entropy_select(call, QUERN_STAGE_ROWS, &rows);
    if (status != QUERN_OK || !quern_cross_entropy_serves_call(rows->kernel)) return status;
    const int64_t warps = rows->kernel->cuda.threads / 32;
    work->labels = true;
    work->losses = call->problem.rows <= warps * QUERN_MOST_CHUNKS_OF_WARP * QUERN_ROWS_OF_CHUNK;
    return QUERN_OK;
}

/* Rows that need no labels stage. */
static quern_status plan_alone(struct launches *launches, struct quern_cross_entropy_call *call, bool sums) {
    if (counts_labels(call) || (sums && sums_losses(call))) call->problem.progress = call->progress;
    const quern_status status = add_rows(launches, call);
    return status == QUERN_OK && !sums ? add_reduce(launches, call) : status;
}

/* Whole rows with portable bits. */
static quern_status plan_portable(struct launches *launches, struct quern_cross_entropy_call *call) {
    quern_status status = add_labels(launches, call);
    if (status == QUERN_OK && (call->tasks & QUERN_RUN_ROWS))
        status = add(launches, call, QUERN_STAGE_PORTABLE, call->problem.rows);
    return status == QUERN_OK ? add_reduce(launches, call) : status;
}

static quern_status plan_whole(struct launches *launches, struct quern_cross_entropy_call *call) {
    if (call->problem.portable_bits) return plan_portable(launches, call);
    bool split;
    struct further_work work;
    quern_status status = find_further_work(call, &work);
    if (status == QUERN_OK && work.labels) return plan_alone(launches, call, work.losses);
    if (status == QUERN_OK) status = is_better_split(call, &split);
    if (status == QUERN_OK) status = add_labels(launches, call);
    if (status == QUERN_OK && (call->tasks & QUERN_RUN_ROWS))
        status = split ? plan_split(launches, call) : add_rows(launches, call);
    return status == QUERN_OK ? add_reduce(launches, call) : status;
}

static quern_status plan_stats(struct launches *launches, struct quern_cross_entropy_call *call) {
    if (call->problem.portable_bits) return add(launches, call, QUERN_STAGE_PORTABLE, call->problem.rows);
    quern_status status = add_stats(launches, call);
    return status == QUERN_OK ? add_combine(launches, call) : status;
}

static quern_status plan_combine(struct launches *launches, struct quern_cross_entropy_call *call) {
    call->problem.parts = (quern_row_stats *)call->shards;
    call->problem.part_nodes = quern_cross_entropy_has_nodes(&call->args) ? call->args.nodes : NULL;
    call->problem.part_count = call->shard_count;
    if (!call->problem.stats) call->problem.stats = call->spare_stats;
    quern_status status = call->tasks & QUERN_RUN_ROWS ? add_combine(launches, call) : QUERN_OK;
    if (status == QUERN_OK) status = add_labels(launches, call);
    return status == QUERN_OK ? add_reduce(launches, call) : status;
}

static quern_status plan_gradient(struct launches *launches, struct quern_cross_entropy_call *call) {
    quern_status status = add_labels(launches, call);
    return status == QUERN_OK ? add_gradient(launches, call) : status;
}

static quern_status plan_upstream(struct launches *launches, struct quern_cross_entropy_call *call) {
    return add_parts(launches, call, QUERN_STAGE_UPSTREAM);
}

static quern_status (*const plan_of_step[QUERN_STEPS])(struct launches *, struct quern_cross_entropy_call *) = {
    [QUERN_STEP_WHOLE] = plan_whole,
    [QUERN_STEP_STATS] = plan_stats,
    [QUERN_STEP_COMBINE] = plan_combine,
    [QUERN_STEP_GRADIENT] = plan_gradient,
    [QUERN_STEP_UPSTREAM] = plan_upstream,
};

static quern_status plan(struct launches *launches, struct quern_cross_entropy_call *call) {
    const bool wants_columns = quern_cross_entropy_wants_columns(call), wants_slopes = quern_cross_entropy_wants_slopes(call);
    const bool has_lists = call->columns.top_k || call->columns.given_count;
    const bool reads_logits = has_lists && wants_columns && call->step != QUERN_STEP_COMBINE;
    const bool finishes = wants_columns && !wants_slopes && call->step != QUERN_STEP_STATS;
    quern_status status = QUERN_OK;
    if (reads_logits || wants_slopes) status = add(launches, call, QUERN_STAGE_COLUMNS, call->problem.rows);
    if (status == QUERN_OK) status = plan_of_step[call->step](launches, call);
    if (status == QUERN_OK && finishes) status = add_log_probs(launches, call);
    quern_columns_take_rows(&call->columns, &call->problem);
    return status;
}

/* ---- launching ---- */

/*
 * overlaps: another launch of the call is before this one.  The kernel may start before that has ended, if it waits for it.  The
 * first one must not: what is before it in the stream is the caller's.
 */
static CUresult launch(const struct quern_cuda *cuda, const struct launch *launch, struct quern_cross_entropy_call *call,
                       bool overlaps) {
    const struct quern_ready_kernel *ready = launch->ready;
    const bool of_columns = ready->kernel->key.cross_entropy.stage >= QUERN_STAGE_COLUMNS;
    void *parameters[] = {of_columns ? (void *)&call->columns : &call->problem};
    const int64_t layers = quern_divide_up(launch->blocks, MAX_BLOCKS),
                  clusters = quern_divide_up(launch->blocks / launch->cluster, layers);
    CUlaunchAttribute attributes[2];
    unsigned count = 0;
    if (launch->cluster > 1)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                  .value.cluster_dim = {(unsigned)launch->cluster, 1, 1}};
    if (overlaps && ready->kernel->cuda.waits)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                                  .value.programmatic_stream_serialization_allowed = 1};
    const CUlaunchConfig config = {
        .grid_x = (unsigned)(clusters * launch->cluster), .grid_y = (unsigned)layers, .grid_z = 1,
        .block_x = ready->kernel->cuda.threads, .block_y = 1, .block_z = 1,
        .shared_bytes = (unsigned)launch->shared,
        .stream = call->stream,
        .attributes = attributes,
        .attribute_count = count,
    };
    return cuda->launch_extended(&config, ready->function, parameters, NULL);
}

/*
 * What the blocks of rows leave for each other, and no word of a slice of labels.  Otherwise rows add to the report's count of
 * infinite rows, before or after the labels are counted.
 */
static CUresult set_counts(const struct quern_cuda *cuda, struct quern_cross_entropy_call *call) {
    enum { SUMS = offsetof(struct quern_rows_progress, infinite_rows) };
    const struct quern_cross_entropy_problem *problem = &call->problem;
    if (problem->progress) {
        const size_t bytes = quern_cross_entropy_progress_bytes(counts_labels(call) ? problem->rows : 0);
        return cuda->memory_set_async((CUdeviceptr)(uintptr_t)problem->progress + SUMS, 0, bytes - SUMS, call->stream);
    }
    if (!problem->report || !(call->tasks & QUERN_COUNT_LABELS)) return CUDA_SUCCESS;
    return cuda->memory_set_async((CUdeviceptr)(uintptr_t)&problem->report->infinite_rows, 0, sizeof problem->report->infinite_rows,
                                  call->stream);
}

static quern_status launch_all(const struct quern_cuda *cuda, const struct launches *launches,
                               struct quern_cross_entropy_call *call) {
    const char *what = "cuMemsetD8Async";
    CUresult error = set_counts(cuda, call);
    for (int i = 0; i < launches->count && error == CUDA_SUCCESS; i++) {
        what = launches->list[i].ready->kernel->name;
        error = launch(cuda, &launches->list[i], call, i > 0);
    }
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, what);
}

quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call) {
    struct launches launches = {.count = 0};
    struct quern_cuda_visit visit;
    quern_status status = plan(&launches, call);
    if (status == QUERN_OK) status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    status = launch_all(visit.cuda, &launches, call);
    quern_cuda_end_visit(&visit);
    return status;
}
