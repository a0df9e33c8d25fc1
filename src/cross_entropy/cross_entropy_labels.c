/*
 * Strict labels: a bad label is an error.  A CPU reads all labels here, before a call starts.  On a GPU the kernels leave the row
 * as it is and count it in the report, which must be there.  Called by cross_entropy.c and linear_cross_entropy.c.
 */
#include "cross_entropy/cross_entropy.h"

#include "kernels/cross_entropy_row.h"
#include "runtime/status.h"

static bool has_bad_label(const struct quern_cross_entropy_problem *problem, int64_t row) {
    return quern_row_label(problem, row) < 0 && !quern_row_is_ignored(problem, row);
}

static quern_status check_labels(const struct quern_cross_entropy_call *call) {
    const struct quern_cross_entropy_problem *problem = &call->problem;
    int64_t row = 0;
    while (row < problem->rows && !has_bad_label(problem, row)) row++;
    if (row == problem->rows) return QUERN_OK;
    return quern_fail(call->device, QUERN_INVALID_ARGUMENT, "args.labels[%lld] is %lld: expected 0 to %lld, or ignore_index %lld",
                      (long long)row, (long long)quern_row_given_label(problem, row), (long long)problem->global_vocab - 1,
                      (long long)problem->ignore_index);
}

/* The steps that write no report leave it to combine to tell. */
static quern_status check_report(const struct quern_cross_entropy_call *call) {
    const bool tells = call->step == QUERN_STEP_WHOLE || call->step == QUERN_STEP_COMBINE;
    if (!tells || !call->args.rows || call->args.report) return QUERN_OK;
    return quern_fail(call->device, QUERN_NULL_POINTER,
                      "args.report is NULL: expected a report, in which a GPU tells of bad labels if strict_labels is 1");
}

quern_status quern_cross_entropy_check_labels(const struct quern_cross_entropy_call *call) {
    if (!call->args.strict_labels || call->step == QUERN_STEP_UPSTREAM) return QUERN_OK;
    return call->device->kind == QUERN_CPU ? check_labels(call) : check_report(call);
}
