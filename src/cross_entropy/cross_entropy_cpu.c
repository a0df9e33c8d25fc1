/* Cross-entropy on a CPU.  Kernels read the logits; this file handles labels, parts and losses.  Called by cross_entropy_run.c. */
#include "cross_entropy/cross_entropy_cpu.h"

#include "cross_entropy/cross_entropy_select.h"
#include "kernels/cross_entropy_row.h"
#include "runtime/status.h"
#include "runtime/threads.h"

/* ---- labels and losses ---- */

static double weight_of(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t label) {
    if (problem->weights_in_stats) return (double)problem->stats[row].label_weight;
    return problem->class_weights ? (double)problem->class_weights[label - problem->first_column] : 1;
}

/* The mean's divisor and the report. */
static void count_labels(const struct quern_cross_entropy_problem *problem) {
    quern_cross_entropy_report report = {.first_bad_row = -1};
    double weights = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const int64_t label = quern_row_label(problem, row);
        if (label >= 0) {
            report.counted_rows++;
            if (problem->divisor) weights += weight_of(problem, row, label);
        } else if (quern_row_is_ignored(problem, row)) {
            report.ignored_rows++;
        } else {
            if (!report.bad_labels++) report.first_bad_row = row;
        }
    }
    if (problem->divisor) *problem->divisor = weights;
    if (problem->report) *problem->report = report;
}

/* Sums the losses in the order of the rows, so that the result does not depend on the threads. */
static void reduce_losses(const struct quern_cross_entropy_problem *problem) {
    double sum = 0;
    for (int64_t row = 0; row < problem->rows; row++) sum += (double)problem->row_loss[row];
    if (problem->divisor) sum = *problem->divisor != 0 ? sum / *problem->divisor : 0;
    *problem->loss = (float)sum;
}

/* ---- dividing the work ---- */

/* A number of items; each worker gets a contiguous range. */
struct work {
    const struct quern_cross_entropy_call *call;
    const struct quern_cross_entropy_problem *problem;
    const struct quern_kernel *kernel;  /* NULL: none is needed */
    void (*run)(const struct work *work, int64_t first, int64_t end, void *scratch);
    int64_t count, workers;
};

static void run_share(void *context, int64_t worker) {
    const struct work *work = context;
    const int64_t share = work->count / work->workers, rest = work->count % work->workers;
    const int64_t first = worker * share + (worker < rest ? worker : rest);
    work->run(work, first, first + share + (worker < rest), work->call->scratch + (size_t)worker * work->call->scratch_bytes);
}

static void run_work(struct work work) {
    const int64_t most = work.kernel ? work.call->workers : work.call->device->threads;
    work.workers = work.count < most ? work.count : most;
    quern_run_tasks(work.call->device, work.workers, run_share, &work);
}

/* ---- the stages ---- */

static void run_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    work->kernel->cpu.cross_entropy_rows(work->problem, first, end, scratch);
}

/* Items are (row, part) pairs; the parts of a row are neighbours. */
static void run_parts(const struct work *work, int64_t first, int64_t end, void *scratch) {
    const int64_t parts = work->problem->part_count;
    for (int64_t i = first; i < end; i++) work->kernel->cpu.cross_entropy_part(work->problem, i / parts, i % parts, scratch);
}

/* Combines the parts of each row, or its shards, in their order. */
static void combine_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    const struct quern_cross_entropy_problem *problem = work->problem;
    for (int64_t row = first; row < end; row++) {
        quern_row_stats stats = problem->parts[row];
        for (int64_t part = 1; part < problem->part_count; part++)
            quern_row_add(&stats, problem->parts[part * problem->rows + row]);
        problem->stats[row] = stats;
    }
}

static void finish_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    for (int64_t row = first; row < end; row++)
        quern_row_finish(work->problem, row, quern_row_label(work->problem, row), &work->problem->stats[row]);
}

/* ---- the steps ---- */

/* The kernels of a step; NULL: not needed. */
struct kernels {
    const struct quern_kernel *rows, *stats, *gradient;
};

/* Few rows are split into parts, so that all workers have work.  With a gradient each part is then read twice. */
static bool is_split(const struct quern_cross_entropy_call *call) {
    const struct quern_cross_entropy_problem *problem = &call->problem;
    return problem->part_count > 1 && (problem->grad ? 2 : 1) * problem->rows <= call->device->threads;
}

static quern_status find_kernel(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage, bool is_needed,
                                const struct quern_kernel **kernel) {
    const struct quern_ready_kernel *ready;
    *kernel = NULL;
    if (!is_needed) return QUERN_OK;
    const quern_status status = quern_cross_entropy_select(call, stage, &ready);
    if (status == QUERN_OK) *kernel = ready->kernel;
    return status;
}

/* Finds all kernels before the first one runs, so that a missing one leaves no partial result. */
static quern_status find_kernels(const struct quern_cross_entropy_call *call, struct kernels *kernels) {
    const bool is_whole = call->step == QUERN_STEP_WHOLE, split = is_whole && is_split(call);
    quern_status status = find_kernel(call, QUERN_STAGE_ROWS, is_whole && !split, &kernels->rows);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_STATS, split || call->step == QUERN_STEP_STATS, &kernels->stats);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_GRADIENT, (split && call->problem.grad) || call->step == QUERN_STEP_GRADIENT,
                             &kernels->gradient);
    return status;
}

static void sum_rows(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem,
                     const struct kernels *kernels) {
    run_work((struct work){call, problem, kernels->stats, run_parts, problem->rows * problem->part_count, 0});
    run_work((struct work){call, problem, NULL, combine_rows, problem->rows, 0});
}

static void write_gradients(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem,
                            const struct kernels *kernels) {
    run_work((struct work){call, problem, kernels->gradient, run_parts, problem->rows * problem->part_count, 0});
}

static void run_whole(const struct quern_cross_entropy_call *call, const struct kernels *kernels) {
    struct quern_cross_entropy_problem problem = call->problem;
    if ((call->tasks & QUERN_COUNT_LABELS) && (problem.divisor || problem.report)) count_labels(&problem);
    if ((call->tasks & QUERN_RUN_ROWS) && kernels->rows) {
        run_work((struct work){call, &problem, kernels->rows, run_rows, problem.rows, 0});
    } else if (call->tasks & QUERN_RUN_ROWS) {
        if (!problem.stats) problem.stats = call->spare_stats;
        sum_rows(call, &problem, kernels);
        run_work((struct work){call, &problem, NULL, finish_rows, problem.rows, 0});
        if (kernels->gradient) write_gradients(call, &problem, kernels);
    }
    if ((call->tasks & QUERN_SUM_LOSSES) && problem.loss) reduce_losses(&problem);
}

static void run_combine(const struct quern_cross_entropy_call *call) {
    struct quern_cross_entropy_problem problem = call->problem;
    problem.parts = (quern_row_stats *)call->shards;
    problem.part_count = call->shard_count;
    if (!problem.stats) problem.stats = call->spare_stats;
    run_work((struct work){call, &problem, NULL, combine_rows, problem.rows, 0});
    if (problem.divisor || problem.report) count_labels(&problem);
    run_work((struct work){call, &problem, NULL, finish_rows, problem.rows, 0});
    if (problem.loss) reduce_losses(&problem);
}

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call) {
    struct kernels kernels;
    const quern_status status = find_kernels(call, &kernels);
    if (status != QUERN_OK) return status;
    switch (call->step) {
    case QUERN_STEP_WHOLE:
        run_whole(call, &kernels);
        break;
    case QUERN_STEP_STATS:
        sum_rows(call, &call->problem, &kernels);
        break;
    case QUERN_STEP_COMBINE:
        run_combine(call);
        break;
    default:
        if (call->problem.divisor) count_labels(&call->problem);
        write_gradients(call, &call->problem, &kernels);
    }
    return QUERN_OK;
}
