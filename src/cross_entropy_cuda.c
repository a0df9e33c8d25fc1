/*
 * Cross-entropy on a GPU: which stages a call runs, and their launches.
 *
 *   rows                        where there are rows enough for all multiprocessors
 *   stats, combine, gradient    where there are not: one block for each part of each row
 *
 * Both give the same bits.
 */
#include "cross_entropy.h"
#include "dispatch.h"
#include "status.h"

enum { MAX_BLOCKS = 0x7fffffff };  /* in the grid's first dimension; what is left goes to the second */

/* ---- what is to be launched ---- */

struct launch {
    const struct quern_ready_kernel *ready;
    int64_t blocks;
};

/* All stages are found before the first is launched: a missing one must not leave half an answer. */
struct launches {
    struct launch list[5];  /* at most: stats, combine, labels, gradient, reduce */
    int count;
};

static quern_status add(struct launches *launches, const struct quern_cross_entropy_call *call,
                        enum quern_cross_entropy_stage stage, int64_t blocks) {
    struct launch *launch = &launches->list[launches->count];
    quern_status status = quern_cross_entropy_select(call, stage, &launch->ready);
    launch->blocks = blocks;
    if (status == QUERN_OK && blocks) launches->count++;
    return status;
}

static quern_status add_combine(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const int place = launches->count;
    quern_status status = add(launches, call, QUERN_STAGE_COMBINE, call->problem.rows);
    if (place == launches->count) return status;
    const int64_t warps = launches->list[place].ready->kernel->cuda.threads / 32;  /* one for each row */
    launches->list[place].blocks = (call->problem.rows - 1) / warps + 1;
    return status;
}

/* The divisor is needed before the gradient, and where it comes from the stats, after these have been combined. */
static quern_status add_labels(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const bool wanted = (call->phases & QUERN_COUNT_LABELS) && (call->problem.divisor || call->problem.report);
    return wanted ? add(launches, call, QUERN_STAGE_LABELS, 1) : QUERN_OK;
}

static quern_status add_gradient(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return call->problem.grad ? add(launches, call, QUERN_STAGE_GRADIENT, call->problem.rows * call->problem.part_count) : QUERN_OK;
}

static quern_status add_reduce(struct launches *launches, const struct quern_cross_entropy_call *call) {
    const bool wanted = (call->phases & QUERN_SUM_LOSSES) && call->problem.loss;
    return wanted ? add(launches, call, QUERN_STAGE_REDUCE, 1) : QUERN_OK;
}

static quern_status add_stats(struct launches *launches, const struct quern_cross_entropy_call *call) {
    return add(launches, call, QUERN_STAGE_STATS, call->problem.rows * call->problem.part_count);
}

/* ---- the steps ---- */

/* A block for each row would leave multiprocessors idle; QUERN_KERNEL may have asked for one of those kernels all the same. */
static quern_status is_better_split(const struct quern_cross_entropy_call *call, bool *split) {
    const struct quern_ready_kernel *stats;
    *split = false;
    if (call->problem.part_count < 2 || call->problem.rows >= call->device->multiprocessors) return QUERN_OK;
    quern_status status = quern_cross_entropy_select(call, QUERN_STAGE_STATS, &stats);
    *split = status == QUERN_OK && quern_is_named(call->device, stats->kernel);
    return status;
}

static quern_status plan_split(struct launches *launches, struct quern_cross_entropy_call *call) {
    if (!call->problem.stats) call->problem.stats = call->spare_stats;
    quern_status status = add_stats(launches, call);
    if (status == QUERN_OK) status = add_combine(launches, call);
    return status == QUERN_OK ? add_gradient(launches, call) : status;
}

static quern_status plan_whole(struct launches *launches, struct quern_cross_entropy_call *call) {
    bool split;
    quern_status status = is_better_split(call, &split);
    if (status == QUERN_OK) status = add_labels(launches, call);
    if (status == QUERN_OK && (call->phases & QUERN_RUN_ROWS))
        status = split ? plan_split(launches, call) : add(launches, call, QUERN_STAGE_ROWS, call->problem.rows);
    return status == QUERN_OK ? add_reduce(launches, call) : status;
}

static quern_status plan_stats(struct launches *launches, struct quern_cross_entropy_call *call) {
    quern_status status = add_stats(launches, call);
    return status == QUERN_OK ? add_combine(launches, call) : status;
}

static quern_status plan_combine(struct launches *launches, struct quern_cross_entropy_call *call) {
    call->problem.parts = (quern_row_stats *)call->shards;
    call->problem.part_count = call->shard_count;
    if (!call->problem.stats) call->problem.stats = call->spare_stats;
    quern_status status = add_combine(launches, call);
    if (status == QUERN_OK) status = add_labels(launches, call);
    return status == QUERN_OK ? add_reduce(launches, call) : status;
}

static quern_status plan_gradient(struct launches *launches, struct quern_cross_entropy_call *call) {
    quern_status status = add_labels(launches, call);
    return status == QUERN_OK ? add_gradient(launches, call) : status;
}

static quern_status (*const plan_of_step[QUERN_STEPS])(struct launches *, struct quern_cross_entropy_call *) = {
    [QUERN_STEP_WHOLE] = plan_whole,
    [QUERN_STEP_STATS] = plan_stats,
    [QUERN_STEP_COMBINE] = plan_combine,
    [QUERN_STEP_GRADIENT] = plan_gradient,
};

/* ---- launching ---- */

static CUresult launch(const struct quern_cuda *cuda, const struct launch *launch, struct quern_cross_entropy_problem *problem,
                       CUstream stream) {
    const struct quern_kernel *kernel = launch->ready->kernel;
    void *parameters[] = {problem};
    const size_t shared = (size_t)kernel->cuda.shared_per_column * (size_t)problem->vocab + kernel->cuda.shared_fixed;
    const int64_t layers = (launch->blocks - 1) / MAX_BLOCKS + 1, blocks = (launch->blocks - 1) / layers + 1;
    return cuda->launch(launch->ready->function, (unsigned)blocks, (unsigned)layers, 1, kernel->cuda.threads, 1, 1, (unsigned)shared, stream,
                        parameters, NULL);
}

static quern_status launch_all(const struct quern_cuda *cuda, const struct launches *launches,
                               struct quern_cross_entropy_call *call) {
    struct quern_cross_entropy_problem *problem = &call->problem;
    const char *what = "cuMemsetD8Async";
    CUresult error = CUDA_SUCCESS;
    /* The rows add to it, before or after their labels are counted. */
    if (problem->report && (call->phases & QUERN_COUNT_LABELS))
        error = cuda->memory_set_async((CUdeviceptr)(uintptr_t)&problem->report->infinite_rows, 0,
                                       sizeof problem->report->infinite_rows, call->stream);
    for (int i = 0; i < launches->count && error == CUDA_SUCCESS; i++) {
        what = launches->list[i].ready->kernel->name;
        error = launch(cuda, &launches->list[i], problem, call->stream);
    }
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, what);
}

quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call) {
    struct launches launches = {.count = 0};
    const struct quern_cuda *cuda;
    quern_status status = plan_of_step[call->step](&launches, call);
    if (status == QUERN_OK) status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    CUresult error = cuda->context_push(call->device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(call->device, error, "cuCtxPushCurrent");
    status = launch_all(cuda, &launches, call);
    CUcontext popped;
    cuda->context_pop(&popped);
    return status;
}
