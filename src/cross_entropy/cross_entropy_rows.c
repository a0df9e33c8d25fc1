/*
 * What the stages ask of a call: a part of its rows, which is served after others, and whether lists of columns are wanted.
 * Called by both backends and linear_cross_entropy.c.
 */
#include "cross_entropy/cross_entropy.h"

#include "runtime/dtype.h"

static void *at_row(const void *matrix, int64_t row, int64_t stride, size_t bytes) {
    return matrix ? (char *)matrix + row * stride * (int64_t)bytes : NULL;
}

static void skip_columns(struct quern_columns_problem *columns, int64_t rows) {
    columns->top_ids = at_row(columns->top_ids, rows, columns->top_k, sizeof(int64_t));
    columns->top_log_probs = at_row(columns->top_log_probs, rows, columns->top_k, sizeof(float));
    columns->given_ids = at_row(columns->given_ids, rows, columns->given_count, sizeof(int64_t));
    columns->given_log_probs = at_row(columns->given_log_probs, rows, columns->given_count, sizeof(float));
    columns->target_probs = at_row(columns->target_probs, rows, columns->given_count, sizeof(float));
    columns->soft_targets = at_row(columns->soft_targets, rows, columns->soft_stride,
                                   quern_dtype_bytes((quern_dtype)columns->soft_dtype));
    columns->divergence = at_row(columns->divergence, rows, 1, sizeof(float));
    columns->grad_divergence = at_row(columns->grad_divergence, rows, columns->grad_divergence_stride, sizeof(float));
    columns->grad_log_prob = at_row(columns->grad_log_prob, rows, columns->grad_log_prob_stride, sizeof(float));
}

void quern_cross_entropy_skip_rows(struct quern_cross_entropy_call *call, int64_t rows) {
    struct quern_cross_entropy_problem *problem = &call->problem;
    skip_columns(&call->columns, rows);
    const size_t logit = (size_t)problem->logits_bytes, label = problem->labels_are_int64 ? sizeof(int64_t) : sizeof(int32_t);
    problem->rows -= rows;
    problem->logits = at_row(problem->logits, rows, problem->logits_stride, logit);
    problem->grad = at_row(problem->grad, rows, problem->grad_stride, quern_dtype_bytes(call->args.grad_dtype));
    problem->labels = at_row(problem->labels, rows, 1, label);
    problem->grad_loss = at_row(problem->grad_loss, rows, problem->grad_loss_stride, sizeof(float));
    problem->grad_log_prob = at_row(problem->grad_log_prob, rows, problem->grad_log_prob_stride, sizeof(float));
    problem->grad_entropy = at_row(problem->grad_entropy, rows, problem->grad_entropy_stride, sizeof(float));
    problem->inverse_temperatures = at_row(problem->inverse_temperatures, rows, 1, sizeof(float));
    problem->row_loss = at_row(problem->row_loss, rows, 1, sizeof(float));
    problem->lse = at_row(problem->lse, rows, 1, sizeof(float));
    problem->log_prob = at_row(problem->log_prob, rows, 1, sizeof(float));
    problem->entropy = at_row(problem->entropy, rows, 1, sizeof(float));
    problem->argmax = at_row(problem->argmax, rows, 1, sizeof(int64_t));
}

/* ---- lists of columns ---- */

bool quern_cross_entropy_wants_columns(const struct quern_cross_entropy_call *call) {
    const bool takes_part = call->step != QUERN_STEP_GRADIENT && call->step != QUERN_STEP_UPSTREAM;
    const bool is_wanted = call->columns.top_k || call->columns.given_count || call->columns.divergence;
    return takes_part && (call->tasks & QUERN_RUN_ROWS) && (is_wanted || quern_cross_entropy_wants_soft(call));
}

bool quern_cross_entropy_wants_soft(const struct quern_cross_entropy_call *call) {
    return (call->tasks & QUERN_RUN_ROWS) && call->columns.soft_targets;
}

bool quern_cross_entropy_is_wide(const struct quern_cross_entropy_call *call) {
    return call->problem.grad && call->args.grad_dtype != call->args.logits_dtype;
}

bool quern_cross_entropy_wants_slopes(const struct quern_cross_entropy_call *call) {
    return (call->tasks & QUERN_RUN_ROWS) && call->columns.row_upstream;
}

void quern_cross_entropy_place_upstream(struct quern_cross_entropy_call *call) {
    if (!call->columns.row_upstream) return;
    call->problem.grad_log_prob = call->columns.row_upstream;
    call->problem.grad_log_prob_stride = 1;
}
