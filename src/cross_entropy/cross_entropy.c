/* The cross-entropy functions: check, lay out the workspace, hand the call to its device. */
#include "cross_entropy/cross_entropy.h"

#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/explain.h"
#include "runtime/pack_format.h"
#include "runtime/status.h"

/* ---- choosing kernels ---- */

/* What selects a kernel. */
struct request {
    quern_dtype logits;
    enum quern_cross_entropy_stage stage;
    bool full;
    int64_t vocab, parts;
    int64_t shared_bytes;  /* of the device; a row made for a larger sibling may ask for more */
};

int64_t quern_cross_entropy_shared_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t parts) {
    return kernel->cuda.shared_per_column * columns + kernel->cuda.shared_per_part * parts + kernel->cuda.shared_fixed;
}

static bool refused(const struct quern_kernel *kernel, const void *context, struct quern_text *why) {
    const struct request *request = context;
    struct quern_text nobody = quern_text_begin(NULL, 0);
    if (!why) why = &nobody;
    if (kernel->key.cross_entropy.stage != request->stage) {
        quern_text_add(why, "computes another stage");
        return true;
    }
    if (kernel->key.cross_entropy.logits != request->logits) {
        quern_text_add(why, "logits are %s, the request has %s", quern_dtype_name(kernel->key.cross_entropy.logits),
                       quern_dtype_name(request->logits));
        return true;
    }
    if (request->full && !kernel->key.cross_entropy.full) {
        quern_text_add(why, "knows no label smoothing, softcap, class weights, entropy and argmax");
        return true;
    }
    int64_t longest = kernel->key.cross_entropy.vocab_max;
    if (request->vocab > longest) {
        quern_text_add(why, "holds a vocab of up to %lld on the chip, the request has %lld", (long long)longest,
                       (long long)request->vocab);
        return true;
    }
    const int64_t cluster = kernel->cuda.cluster;
    if (kernel->cuda.shared_per_column
        && quern_cross_entropy_shared_bytes(kernel, request->vocab, request->parts) > request->shared_bytes) {
        quern_text_add(why, "keeps a row in shared memory, of which a block has %lld bytes here: too few for a vocab of %lld",
                       (long long)request->shared_bytes, (long long)request->vocab);
        return true;
    }
    if (cluster
        && quern_cross_entropy_shared_bytes(kernel, 0, (request->parts + cluster - 1) / cluster) > request->shared_bytes) {
        quern_text_add(why, "keeps a row in the shared memory of %lld blocks, which have %lld bytes each here: too few for a vocab of %lld",
                       (long long)cluster, (long long)request->shared_bytes, (long long)request->vocab);
        return true;
    }
    return false;
}

/* The stages that touch no logits have one kernel for all. */
static enum quern_row_role role(const struct quern_kernel *kernel) {
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    return stage == QUERN_STAGE_ROWS ? QUERN_ROW_SELECTED_BY_NAME
                                     : stage > QUERN_STAGE_GRADIENT ? QUERN_ROW_INDISPENSABLE : QUERN_ROW_FOLLOWS_TARGET;
}

static bool covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    return kernel->key.cross_entropy.logits == other->key.cross_entropy.logits &&
           kernel->key.cross_entropy.stage == other->key.cross_entropy.stage &&
           kernel->key.cross_entropy.full == other->key.cross_entropy.full &&
           kernel->key.cross_entropy.vocab_max >= other->key.cross_entropy.vocab_max;
}

static const char *pack_fault(const struct quern_pack_row *row) {
    if (row->stage < QUERN_STAGE_ROWS || row->stage > QUERN_STAGE_REDUCE) return "an unknown stage";
    if ((row->stage <= QUERN_STAGE_GRADIENT) != quern_is_float((quern_dtype)row->dtypes[0])) return "an unknown dtype";
    if (row->full != 0 && row->full != 1) return "an unknown set of options";
    if (row->cluster > 16 || (row->cluster & (row->cluster - 1))) return "a wrong number of blocks in a cluster";
    return NULL;
}

const struct quern_operation quern_cross_entropy_operation = {
    .table = quern_cross_entropy_kernels, .role = role, .covers = covers, .pack_fault = pack_fault, .refused = refused};

static struct request state_request(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage) {
    const bool touches_logits = stage <= QUERN_STAGE_GRADIENT;
    return (struct request){touches_logits ? call->args.logits_dtype : QUERN_NO_DTYPE, stage, touches_logits && call->is_full,
                            call->args.vocab, quern_cross_entropy_parts(call->device, &call->args), call->device->shared_bytes};
}

quern_status quern_cross_entropy_select(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage,
                                        const struct quern_ready_kernel **chosen) {
    const struct request request = state_request(call, stage);
    return quern_select(call->device, QUERN_CROSS_ENTROPY, &request, chosen);
}

/* ---- workspace: what a call needs beside its arguments ---- */

struct layout {
    size_t divisor;        /* offset of the mean's divisor */
    size_t row_loss;       /* of the rows' losses, when they are to be summed */
    size_t stats;          /* of the rows' stats, where the caller wants none */
    size_t parts;          /* of the stats of the rows' parts */
    size_t scratch;        /* of the first worker's scratch (CPU) */
    size_t scratch_bytes;  /* of one worker */
    int64_t workers;
    size_t total;
};

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Sets aside room in the workspace, whose offset it returns. */
static size_t set_aside(struct layout *layout, size_t bytes) {
    size_t offset = layout->total;
    layout->total += round_up(bytes);
    return offset;
}

int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args) {
    const int64_t columns = device->kind == QUERN_CPU ? QUERN_CPU_PART_COLUMNS
                                                      : QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(args->logits_dtype);
    return args->vocab / columns + (args->vocab % columns != 0);
}

static bool is_mean(const quern_cross_entropy_args *args) { return args->reduction == QUERN_REDUCTION_MEAN; }

static bool is_reduced(enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    return args->reduction != QUERN_REDUCTION_NONE && (step == QUERN_STEP_WHOLE || step == QUERN_STEP_COMBINE);
}

static void lay_out_scratch(const quern_device *device, const quern_cross_entropy_args *args, struct layout *layout) {
    const int64_t tasks = args->rows * quern_cross_entropy_parts(device, args);
    layout->workers = tasks < device->threads ? tasks : device->threads;
    layout->scratch_bytes = (size_t)quern_cross_entropy_scratch_bytes(args->vocab, args->softcap);
    /* The caller's workspace is 16-byte aligned and the scratch is wanted 64-byte aligned. */
    layout->scratch = set_aside(layout, (size_t)layout->workers * layout->scratch_bytes + (layout->workers ? 64 : 0));
}

static struct layout lay_out(const quern_device *device, enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    struct layout layout = {0};
    const size_t rows = (size_t)args->rows;
    const int64_t parts = step == QUERN_STEP_WHOLE || step == QUERN_STEP_STATS ? quern_cross_entropy_parts(device, args) : 0;
    if (is_mean(args) && step != QUERN_STEP_STATS) layout.divisor = set_aside(&layout, sizeof(double));
    if (is_reduced(step, args)) layout.row_loss = set_aside(&layout, sizeof(float) * rows);
    if (step != QUERN_STEP_GRADIENT) layout.stats = set_aside(&layout, sizeof(quern_row_stats) * rows);
    layout.parts = set_aside(&layout, sizeof(quern_row_stats) * rows * (size_t)parts);
    if (device->kind == QUERN_CPU && step != QUERN_STEP_COMBINE) lay_out_scratch(device, args, &layout);
    return layout;
}

/* ---- a call ---- */

size_t quern_cross_entropy_needs(const quern_device *device, enum quern_cross_entropy_step step, const quern_cross_entropy_args *args) {
    return lay_out(device, step, args).total;
}

/* Where something lies in the workspace, which is NULL when nothing does. */
static void *inside(char *workspace, size_t offset) {
    return workspace ? workspace + offset : NULL;
}

/* Pointers that a step has no use for are NULL. */
static void state_problem(struct quern_cross_entropy_call *call, const struct layout *layout, char *workspace) {
    const quern_cross_entropy_args *args = &call->args;
    const enum quern_cross_entropy_step step = call->step;
    const bool reduced = is_reduced(step, args), tells = step == QUERN_STEP_WHOLE || step == QUERN_STEP_COMBINE;
    float *row_loss = reduced ? inside(workspace, layout->row_loss) : args->loss;
    call->problem = (struct quern_cross_entropy_problem){
        .logits = args->logits,
        .logits_stride = args->logits_stride,
        .grad = step == QUERN_STEP_WHOLE || step == QUERN_STEP_GRADIENT ? args->grad : NULL,
        .grad_stride = args->grad_stride,
        .labels = args->labels,
        .labels_are_int64 = args->labels_dtype == QUERN_INT64,
        .ignore_index = args->ignore_index,
        .rows = args->rows,
        .vocab = args->vocab,
        .padded_vocab = args->padded_vocab,
        .first_column = args->first_column,
        .global_vocab = args->global_vocab,
        .grad_loss = args->grad_loss,
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
        .report = tells ? args->report : NULL,
    };
}

void quern_cross_entropy_state(struct quern_cross_entropy_call *call, void *workspace) {
    const struct layout layout = lay_out(call->device, call->step, &call->args);
    state_problem(call, &layout, workspace);
    call->is_full = quern_cross_entropy_is_full(&call->args);
    call->spare_stats = inside(workspace, layout.stats);
    call->scratch = (char *)round_up((size_t)workspace + layout.scratch);
    call->scratch_bytes = layout.scratch_bytes;
    call->workers = layout.workers;
}

quern_status quern_cross_entropy_run(struct quern_cross_entropy_call *call) {
    return call->device->kind == QUERN_CPU ? quern_cross_entropy_on_cpu(call) : quern_cross_entropy_on_cuda(call);
}

static quern_status run(struct quern_cross_entropy_call *call, const quern_cross_entropy_args *given, void *workspace,
                        size_t workspace_bytes) {
    if (!call->device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_status status = quern_cross_entropy_check(call->device, given, &call->args);
    if (status == QUERN_OK) status = quern_cross_entropy_check_step(call);
    if (status == QUERN_OK)
        status = quern_check_workspace(call->device, workspace, workspace_bytes,
                                       quern_cross_entropy_needs(call->device, call->step, &call->args));
    if (status == QUERN_OK) status = quern_check_stream(call->device, call->stream);
    if (status != QUERN_OK) return status;
    call->phases = QUERN_WHOLE_STEP;
    quern_cross_entropy_state(call, workspace);
    return quern_cross_entropy_run(call);
}

/* ---- the public functions ---- */

quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *given, size_t *bytes) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_cross_entropy_args args;
    quern_status status = quern_cross_entropy_check(device, given, &args);
    if (status != QUERN_OK) return status;
    *bytes = 0;
    for (int step = 0; step < QUERN_STEPS; step++) {
        size_t needed = quern_cross_entropy_needs(device, (enum quern_cross_entropy_step)step, &args);
        if (needed > *bytes) *bytes = needed;
    }
    return QUERN_OK;
}

quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *args, void *workspace, size_t workspace_bytes,
                                 void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_WHOLE, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_stats(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                       size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_STATS, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_combine(quern_device *device, const quern_cross_entropy_args *args, const quern_row_stats *shards,
                                         int64_t shard_count, void *workspace, size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_COMBINE, .shards = shards,
                                            .shard_count = shard_count, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

quern_status quern_cross_entropy_gradient(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                          size_t workspace_bytes, void *stream) {
    struct quern_cross_entropy_call call = {.device = device, .step = QUERN_STEP_GRADIENT, .stream = stream};
    return run(&call, args, workspace, workspace_bytes);
}

size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *given, char *buffer, size_t bytes) {
    struct quern_cross_entropy_call call = {.device = (quern_device *)device};
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || quern_cross_entropy_check(device, given, &call.args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    call.is_full = quern_cross_entropy_is_full(&call.args);
    const struct request request = state_request(&call, QUERN_STAGE_ROWS);
    return quern_explain(device, QUERN_CROSS_ENTROPY, &request, buffer, bytes);
}
