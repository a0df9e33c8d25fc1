/*
 * Lays out the workspace of a cross-entropy call and runs the call on its device.  Called by cross_entropy.c and
 * linear_cross_entropy.c.
 */
#include "cross_entropy/cross_entropy.h"

#include "kernels/cross_entropy_scratch.h"
#include "kernels/cross_entropy_tree.h"
#include "os/integers.h"
#include "runtime/dtype.h"

/* ---- workspace ---- */

enum { ALIGNMENT = 64 };

struct layout {
    size_t divisor;        /* offset of the mean's divisor */
    size_t row_loss;       /* of the rows' losses, if they are to be summed */
    size_t progress;       /* of the rows stage (GPU) */
    size_t stats;          /* of the rows' stats, if the caller wants none */
    size_t parts;          /* of the stats of the rows' parts */
    size_t part_nodes;     /* of their nodes, if the steps exchange them (CPU) */
    size_t row_upstream;   /* of the upstream gradients of the rows, if those of a divergence may be added */
    size_t own_logits;     /* of the logits of columns with soft targets, likewise */
    size_t soft_sums;      /* of the sums over soft targets of all columns */
    size_t maxima;         /* of the pieces of the rows, if the largest columns are wanted (CPU) */
    size_t scratch;        /* of the first worker's scratch (CPU) */
    size_t scratch_bytes;  /* of one worker */
    size_t addends, widened;  /* in the scratch, for soft targets of all columns; 0: not needed */
    int64_t workers;
    size_t total;
};

/* Reserves bytes of the workspace and returns their offset. */
static size_t set_aside(struct layout *layout, size_t bytes) {
    size_t offset = layout->total;
    layout->total += quern_round_up(bytes, ALIGNMENT);
    return offset;
}

static bool is_mean(const quern_cross_entropy_args *args) { return args->reduction == QUERN_REDUCTION_MEAN; }

static bool is_reduced(enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    return args->reduction != QUERN_REDUCTION_NONE && (step == QUERN_STEP_WHOLE || step == QUERN_STEP_COMBINE);
}

/* Whether a divergence from soft targets of all columns may be wanted: pointers may be unknown when the workspace is sized. */
static bool may_have_soft(enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    return args->soft_targets_dtype && (step == QUERN_STEP_WHOLE || step == QUERN_STEP_GRADIENT);
}

/* The same of the gradient of a divergence. */
static bool may_have_slopes(enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    return may_have_soft(step, args) || (args->given_count > 0 && (step == QUERN_STEP_WHOLE || step == QUERN_STEP_GRADIENT));
}

/* The kernels take soft targets of the logits' type and of fp32. */
static size_t widened_bytes(const quern_cross_entropy_args *args) {
    const bool is_taken = args->soft_targets_dtype == args->logits_dtype || args->soft_targets_dtype == QUERN_F32;
    return is_taken ? 0 : sizeof(float) * (size_t)quern_smaller(args->vocab, QUERN_CPU_PART_COLUMNS);
}

static void add_soft_scratch(const quern_cross_entropy_args *args, struct layout *layout) {
    layout->addends = layout->scratch_bytes;
    layout->scratch_bytes += quern_round_up(sizeof(float) * (size_t)quern_cross_entropy_scratch_columns(args->vocab), ALIGNMENT);
    layout->widened = widened_bytes(args) ? layout->scratch_bytes : 0;
    layout->scratch_bytes += quern_round_up(widened_bytes(args), ALIGNMENT);
}

static void lay_out_scratch(const quern_device *device, int threads, enum quern_cross_entropy_step step,
                            const quern_cross_entropy_args *args, struct layout *layout) {
    const int64_t tasks = args->rows * quern_cross_entropy_parts(device, args);
    layout->workers = quern_smaller(tasks, threads);
    layout->scratch_bytes = (size_t)quern_cross_entropy_scratch_bytes(args->vocab);
    if (may_have_soft(step, args)) add_soft_scratch(args, layout);
    /* The caller's workspace is 16-byte aligned and the scratch must be 64-byte aligned. */
    layout->scratch = set_aside(layout, (size_t)layout->workers * layout->scratch_bytes + (layout->workers ? 64 : 0));
}

static struct layout lay_out(const quern_device *device, int threads, enum quern_cross_entropy_step step,
                             const quern_cross_entropy_args *args) {
    struct layout layout = {0};
    const size_t rows = (size_t)args->rows;
    const int64_t all_parts = quern_cross_entropy_parts(device, args);
    const int64_t parts = step == QUERN_STEP_WHOLE || step == QUERN_STEP_STATS ? all_parts : 0;
    if (step == QUERN_STEP_UPSTREAM) return layout;
    if (is_mean(args) && step != QUERN_STEP_STATS) layout.divisor = set_aside(&layout, sizeof(double));
    if (is_reduced(step, args)) layout.row_loss = set_aside(&layout, sizeof(float) * rows);
    if (device->kind == QUERN_CUDA && step == QUERN_STEP_WHOLE && rows)
        layout.progress = set_aside(&layout, quern_cross_entropy_progress_bytes(args->rows));
    if (step != QUERN_STEP_GRADIENT) layout.stats = set_aside(&layout, sizeof(quern_row_stats) * rows);
    layout.parts = set_aside(&layout, sizeof(quern_row_stats) * rows * (size_t)parts);
    if (device->kind == QUERN_CPU && step == QUERN_STEP_STATS && quern_cross_entropy_has_nodes(args))
        layout.part_nodes = set_aside(&layout, quern_cross_entropy_node_bytes(args) * rows * (size_t)parts);
    if (may_have_slopes(step, args)) {
        layout.row_upstream = set_aside(&layout, sizeof(float) * rows);
        layout.own_logits = set_aside(&layout, sizeof(float) * rows * (size_t)(args->given_count + 1));
    }
    if (may_have_soft(step, args))
        layout.soft_sums = set_aside(&layout, sizeof(struct quern_divergence_sums) * rows * (size_t)all_parts);
    if (device->kind == QUERN_CPU && args->top_k)
        layout.maxima = set_aside(&layout, sizeof(float) * rows * (size_t)parts * QUERN_CPU_PART_PIECES);
    if (device->kind == QUERN_CPU && step != QUERN_STEP_COMBINE) lay_out_scratch(device, threads, step, args, &layout);
    return layout;
}

/* ---- a call ---- */

size_t quern_cross_entropy_needs(const quern_device *device, int threads, enum quern_cross_entropy_step step,
                                 const quern_cross_entropy_args *args) {
    return lay_out(device, threads, step, args).total;
}

/* An address in the workspace, which is NULL if it has no bytes. */
static void *inside(char *workspace, size_t offset) {
    return workspace ? workspace + offset : NULL;
}

/* What a GPU leaves unwritten in a row whose label is bad.  The losses in the workspace are summed, with 0 for such a row. */
static int32_t kept_of_bad_rows(const quern_cross_entropy_args *args, bool reduced) {
    if (!args->strict_labels) return 0;
    return QUERN_KEPT_OUTPUTS | QUERN_KEPT_GRAD | (reduced ? 0 : QUERN_KEPT_LOSS);
}

/* Pointers that a step does not use are NULL. */
static void fill_problem(struct quern_cross_entropy_call *call, const struct layout *layout, char *workspace) {
    const quern_cross_entropy_args *args = &call->args;
    const enum quern_cross_entropy_step step = call->step;
    const bool reduced = is_reduced(step, args), tells = step == QUERN_STEP_WHOLE || step == QUERN_STEP_COMBINE;
    const bool gives_nodes = step == QUERN_STEP_STATS && quern_cross_entropy_has_nodes(args);
    const bool has_grad = args->grad && step != QUERN_STEP_STATS && step != QUERN_STEP_COMBINE;
    float *row_loss = reduced ? inside(workspace, layout->row_loss) : args->loss;
    call->problem = (struct quern_cross_entropy_problem){
        .logits = args->logits,
        .logits_stride = args->logits_stride,
        .grad = has_grad ? args->grad : NULL,
        .grad_stride = args->grad_stride,
        .labels = args->labels,
        .labels_are_int64 = args->labels_dtype == QUERN_INT64,
        .ignore_index = args->ignore_index,
        .rows = args->rows,
        .vocab = args->vocab,
        .padded_vocab = args->padded_vocab,
        .first_column = args->first_column,
        .global_vocab = args->global_vocab,
        .grad_loss = has_grad ? args->grad_loss : NULL,
        .grad_loss_stride = args->grad_loss_stride,
        .grad_scale = args->grad_scale,
        .reduction = (int32_t)args->reduction,
        .z_loss = args->z_loss,
        .label_smoothing = args->label_smoothing,
        .softcap = args->softcap,
        .class_weights = args->class_weights,
        .row_loss = tells && args->loss ? row_loss : NULL,
        .lse = tells ? args->lse : NULL,
        .log_prob = tells ? args->log_prob : NULL,
        .entropy = args->entropy,
        .argmax = args->argmax,
        .stats = args->stats,
        .parts = inside(workspace, layout->parts),
        .part_count = quern_cross_entropy_parts(call->device, args),
        .is_final = step != QUERN_STEP_STATS,
        .loss = reduced ? args->loss : NULL,
        .divisor = is_mean(args) && step != QUERN_STEP_STATS ? inside(workspace, layout->divisor) : NULL,
        .weights_in_stats = args->class_weights && (step == QUERN_STEP_COMBINE || step == QUERN_STEP_GRADIENT),
        .kept_of_bad_rows = kept_of_bad_rows(args, reduced),
        .report = tells ? args->report : NULL,
        .inverse_temperature = args->inverse_temperature,
        .wants_moment = args->entropy || args->grad_entropy,
        .inverse_temperatures = args->inverse_temperatures,
        .grad_log_prob = has_grad ? args->grad_log_prob : NULL,
        .grad_log_prob_stride = args->grad_log_prob_stride,
        .grad_entropy = has_grad ? args->grad_entropy : NULL,
        .grad_entropy_stride = args->grad_entropy_stride,
        .portable_bits = args->bits == QUERN_BITS_PORTABLE ? QUERN_PORTABLE_ROWS : 0,
        .nodes = gives_nodes ? args->nodes : NULL,
        .part_nodes = gives_nodes && call->device->kind == QUERN_CPU ? inside(workspace, layout->part_nodes) : NULL,
        .logits_bytes = (int64_t)quern_dtype_bytes(args->logits_dtype),
    };
}

/* The gradient step has lists that are complete, and only their divergence is of interest. */
static struct quern_columns_problem columns_of(const struct quern_cross_entropy_call *call, const struct layout *layout,
                                               char *workspace) {
    const quern_cross_entropy_args *args = &call->args;
    const bool is_later = call->step == QUERN_STEP_GRADIENT;
    const bool slopes = may_have_slopes(call->step, args) && args->grad_divergence && call->problem.grad;
    const bool soft = may_have_soft(call->step, args) && (slopes || (args->divergence && !is_later));
    const bool finds = call->step == QUERN_STEP_WHOLE || (call->step == QUERN_STEP_COMBINE && !args->soft_targets_dtype);
    return (struct quern_columns_problem){
        .logits_dtype = (int64_t)args->logits_dtype,
        .grad_dtype = (int64_t)args->grad_dtype,
        .top_k = is_later ? 0 : args->top_k,
        .given_count = args->given_count,
        .top_ids = args->top_ids,
        .top_log_probs = args->top_log_probs,
        .given_ids = args->given_ids,
        .given_log_probs = args->given_log_probs,
        .shard_count = call->step == QUERN_STEP_COMBINE ? call->shard_count : 0,
        .shard_ids = args->shard_top_ids,
        .shard_logits = args->shard_top_logits,
        .given_logits = args->shard_given_logits,
        .target_probs = args->target_probs,
        .of_targets = args->divergence_kind != QUERN_KL_REVERSE,
        .of_model = args->divergence_kind != QUERN_KL_FORWARD,
        .has_tail = args->has_tail,
        .divergence = finds ? args->divergence : NULL,
        .grad_divergence = slopes ? args->grad_divergence : NULL,
        .grad_divergence_stride = args->grad_divergence_stride,
        .grad_log_prob = call->problem.grad_log_prob,
        .grad_log_prob_stride = args->grad_log_prob_stride,
        .row_upstream = slopes ? inside(workspace, layout->row_upstream) : NULL,
        .own_logits = slopes ? inside(workspace, layout->own_logits) : NULL,
        .has_log_probs = is_later,
        .soft_targets = soft ? args->soft_targets : NULL,
        .soft_dtype = (int64_t)args->soft_targets_dtype,
        .soft_stride = args->soft_targets_stride,
        .soft_sums = soft ? inside(workspace, layout->soft_sums) : NULL,
    };
}

void quern_cross_entropy_fill(struct quern_cross_entropy_call *call, void *workspace) {
    const struct layout layout = lay_out(call->device, call->threads, call->step, &call->args);
    fill_problem(call, &layout, workspace);
    call->is_full = quern_cross_entropy_is_full(&call->args);
    call->spare_stats = inside(workspace, layout.stats);
    call->progress = inside(workspace, layout.progress);
    call->columns = columns_of(call, &layout, workspace);
    call->maxima = call->device->kind == QUERN_CPU && call->args.top_k ? inside(workspace, layout.maxima) : NULL;
    const bool needs_stats = quern_cross_entropy_wants_columns(call) || quern_cross_entropy_is_wide(call);
    if (needs_stats && call->step != QUERN_STEP_STATS && !call->problem.stats) call->problem.stats = call->spare_stats;
    call->scratch = (char *)quern_round_up((size_t)workspace + layout.scratch, ALIGNMENT);
    call->scratch_bytes = layout.scratch_bytes;
    call->addends = layout.addends;
    call->widened = layout.widened;
    call->workers = layout.workers;
}

quern_status quern_cross_entropy_run(struct quern_cross_entropy_call *call) {
    quern_cross_entropy_place_upstream(call);
    return call->device->kind == QUERN_CPU ? quern_cross_entropy_on_cpu(call) : quern_cross_entropy_on_cuda(call);
}
