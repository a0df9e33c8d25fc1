/* Cross-entropy on a CPU: kernels touch the logits; labels, parts and losses are seen to here. */
#include <math.h>

#include "cross_entropy.h"
#include "status.h"
#include "threads.h"

/* ---- labels ---- */

static int64_t label_of(const struct quern_cross_entropy_problem *problem, int64_t row) {
    return problem->labels_are_int64 ? ((const int64_t *)problem->labels)[row] : ((const int32_t *)problem->labels)[row];
}

static double weight_of(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t label) {
    if (problem->weights_in_stats) return problem->stats[row].label_weight;
    return problem->class_weights ? problem->class_weights[label - problem->first_column] : 1;
}

/* The mean's divisor and the report. */
static void count_labels(const struct quern_cross_entropy_problem *problem) {
    quern_cross_entropy_report report = {.first_bad_row = -1};
    double weights = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        int64_t label = label_of(problem, row);
        if (label == problem->ignore_index) {
            report.ignored_rows++;
        } else if (label >= 0 && label < problem->global_vocab) {
            report.counted_rows++;
            if (problem->divisor) weights += weight_of(problem, row, label);
        } else {
            if (!report.bad_labels++) report.first_bad_row = row;
        }
    }
    if (problem->divisor) *problem->divisor = weights;
    if (problem->report) *problem->report = report;
}

/* In the order of the rows, so that the sum does not depend on the threads. */
static void reduce_losses(const struct quern_cross_entropy_problem *problem) {
    double sum = 0;
    for (int64_t row = 0; row < problem->rows; row++) sum += problem->row_loss[row];
    if (problem->divisor) sum = *problem->divisor != 0 ? sum / *problem->divisor : 0;
    *problem->loss = (float)sum;
}

/* ---- rows ---- */

struct tasks {
    const struct quern_cross_entropy_call *call;
    const struct quern_kernel *kernel;
    int64_t workers;
};

static void run_rows(void *context, int64_t worker) {
    const struct tasks *tasks = context;
    const struct quern_cross_entropy_call *call = tasks->call;
    int64_t rows = call->problem.rows, share = rows / tasks->workers, rest = rows % tasks->workers;
    int64_t first = worker * share + (worker < rest ? worker : rest);
    tasks->kernel->cpu.cross_entropy_rows(&call->problem, first, first + share + (worker < rest),
                                          call->scratch + (size_t)worker * call->scratch_bytes);
}

static quern_status run_whole(struct quern_cross_entropy_call *call) {
    const struct quern_ready_kernel *rows;
    quern_status status = quern_cross_entropy_select(call, QUERN_STAGE_ROWS, &rows);
    if (status != QUERN_OK) return status;
    const struct quern_cross_entropy_problem *problem = &call->problem;
    struct tasks tasks = {call, rows->kernel, problem->rows < call->workers ? problem->rows : call->workers};
    if (problem->divisor || problem->report) count_labels(problem);
    quern_run_tasks(call->device, tasks.workers, run_rows, &tasks);
    if (problem->loss) reduce_losses(problem);
    return QUERN_OK;
}

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call) {
    if (call->step == QUERN_STEP_WHOLE) return run_whole(call);
    return quern_fail(call->device, QUERN_NOT_SUPPORTED, "to be written");
}
