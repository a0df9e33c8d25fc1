/*
 * Cross-entropy: the forward pass, loss with gradient in place, the same with label smoothing, z-loss, softcap and class weights,
 * and the gradient alone, later, from the values that the forward pass saved per row.
 *
 * A round restores the logits from a pristine copy, which is the measured copy bandwidth, then reads them (loop), runs the
 * forward pass, updates them in place (loop) and runs the kernels in place, each after another update in place, so that all of
 * them start with the cache full of modified lines.  Called by main.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "operations/data.h"
#include "operations/operation.h"

/* The tokens of one micro-batch; on a CPU fewer, so that the logits far exceed its caches but take little time. */
enum { MOST_ROWS = 8192, CPU_LOGITS_BYTES = 256 << 20 };

static const struct shape {
    quern_dtype dtype;
    int64_t vocab;
    int64_t rows;  /* 0: limited by memory only */
} shapes[] = {
    {QUERN_BF16, 32000, 0},  {QUERN_BF16, 32768, 0}, {QUERN_BF16, 50257, 0}, {QUERN_BF16, 128256, 0},
    {QUERN_BF16, 262144, 0}, {QUERN_F16, 32768, 0},  {QUERN_F32, 32768, 0},  {QUERN_F32, 128256, 0},
    {QUERN_BF16, 262144, 8}, {QUERN_BF16, 1 << 20, 1},
};

static const struct shape quick_shapes[] = {{QUERN_BF16, 32768, 0}, {QUERN_F32, 50257, 0}, {QUERN_BF16, 262144, 1}};

struct job {
    struct machine *machine;
    quern_cross_entropy_args args;
    void *pristine, *logits, *labels, *loss, *weights, *stats, *workspace;
    size_t logits_bytes, workspace_bytes;
};

static void restore(void *context) {
    struct job *job = context;
    machine_copy(job->machine, job->logits, job->pristine, job->logits_bytes);
}

static void read_logits(void *context) {
    struct job *job = context;
    machine_read(job->machine, job->logits, job->logits_bytes);
}

static void update_logits(void *context) {
    struct job *job = context;
    machine_update(job->machine, job->logits, job->logits_bytes);
}

static void run(struct job *job, const quern_cross_entropy_args *args) {
    if (quern_cross_entropy(job->machine->quern, args, job->workspace, job->workspace_bytes, NULL) != QUERN_OK)
        machine_fail_call("quern_cross_entropy");
}

/* The values that a training engine saves for its backward pass. */
static quern_cross_entropy_args forward_args(const struct job *job) {
    quern_cross_entropy_args args = job->args;
    args.stats = job->stats;
    return args;
}

static quern_cross_entropy_args gradient_args(const struct job *job) {
    quern_cross_entropy_args args = job->args;
    args.grad = job->logits;
    return args;
}

static quern_cross_entropy_args options_args(const struct job *job) {
    quern_cross_entropy_args args = gradient_args(job);
    args.label_smoothing = 0.1f;
    args.z_loss = 1e-4f;
    args.softcap = 30;
    args.class_weights = job->weights;
    return args;
}

static quern_cross_entropy_args later_args(const struct job *job) {
    quern_cross_entropy_args args = gradient_args(job);
    args.stats = job->stats;
    return args;
}

static void forward(void *context) {
    const quern_cross_entropy_args args = forward_args(context);
    run(context, &args);
}

static void forward_and_gradient(void *context) {
    const quern_cross_entropy_args args = gradient_args(context);
    run(context, &args);
}

static void with_options(void *context) {
    const quern_cross_entropy_args args = options_args(context);
    run(context, &args);
}

static void gradient_later(void *context) {
    const struct job *job = context;
    const quern_cross_entropy_args args = later_args(job);
    if (quern_cross_entropy_gradient(job->machine->quern, &args, job->workspace, job->workspace_bytes, NULL) != QUERN_OK)
        machine_fail_call("quern_cross_entropy_gradient");
}

/* In the order of a round.  Each kernel in place finds pristine logits, then modified cache lines from an update in place. */
enum {
    RESTORE, READ, FORWARD, UPDATE_BEFORE, UPDATE, GRADIENT,
    RESTORE_FOR_OPTIONS, UPDATE_FOR_OPTIONS, OPTIONS, RESTORE_FOR_LATER, UPDATE_FOR_LATER, LATER, ACTIVITIES
};

/* The reported results, each from its activity. */
static const struct pass {
    const char *name;
    int activity;
    bool in_place;
    quern_cross_entropy_args (*args)(const struct job *job);
} passes[] = {
    {"forward", FORWARD, false, forward_args},
    {"forward + gradient", GRADIENT, true, gradient_args},
    {"forward + gradient, options", OPTIONS, true, options_args},
    {"gradient later", LATER, true, later_args},
};

static void write_pass(const struct job *job, const struct pass *pass, const struct activity *activities) {
    const quern_cross_entropy_args args = pass->args(job);
    char explanation[16384];
    quern_cross_entropy_explain(job->machine->quern, &args, explanation, sizeof explanation);
    struct measurement record = {
        .operation = "cross_entropy",
        .pass = pass->name,
        .dtypes = quern_dtype_name(args.logits_dtype),
        .elements = args.rows * args.vocab,
        .bytes_per_element = cross_entropy_bytes(args.logits_dtype, pass->in_place),
        .flops_per_element = cross_entropy_flops(pass->in_place),
        .explanation = explanation,
        .times = activities[pass->activity].times,
        .stream = pass->in_place ? "in place" : "read",
        .copy_bytes_per_second = 2 * (double)job->logits_bytes / activities[RESTORE].times.median,
        .plain_seconds = pass->activity == OPTIONS ? activities[GRADIENT].times.median : 0,
    };
    if (job->machine->has_loops && pass->in_place)
        record.stream_bytes_per_second = 2 * (double)job->logits_bytes / activities[UPDATE].times.median;
    else if (job->machine->has_loops)
        record.stream_bytes_per_second = (double)job->logits_bytes / activities[READ].times.median;
    snprintf(record.shape, sizeof record.shape, "%lld x %lld", (long long)args.rows, (long long)args.vocab);
    snprintf(record.peer, sizeof record.peer, "%lld %lld", (long long)args.rows, (long long)args.vocab);
    measurement_write(job->machine, &record);
}

static const char *allocate(struct job *job) {
    const quern_cross_entropy_args *args = &job->args;
    int64_t elements = args->rows * args->vocab;
    job->logits_bytes = buffer_bytes((size_t)elements * quern_dtype_bytes(args->logits_dtype));
    job->pristine = values_create(job->machine, args->logits_dtype, elements, (struct value_range){-3, 3, true});
    job->logits = machine_allocate(job->machine, job->logits_bytes);
    job->labels = labels_create(job->machine, args->rows, args->vocab);
    job->loss = machine_allocate(job->machine, sizeof(float) * (size_t)args->rows);
    job->weights = values_create(job->machine, QUERN_F32, args->vocab, (struct value_range){0.5, 1.5, false});
    job->stats = machine_allocate(job->machine, sizeof(quern_row_stats) * (size_t)args->rows);
    job->args.logits = job->logits;
    job->args.labels = job->labels;
    job->args.loss = job->loss;
    bool enough = job->pristine && job->logits && job->labels && job->loss && job->weights && job->stats;
    return enough ? NULL : "not enough memory";
}

static void release(struct job *job) {
    void *memory[] = {job->pristine, job->logits, job->labels, job->loss, job->weights, job->stats};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) machine_release(job->machine, memory[i]);
}

static const char *allocate_workspace(struct job *job, char *detail, size_t detail_bytes) {
    const quern_cross_entropy_args args = options_args(job);  /* needs the largest workspace */
    if (quern_cross_entropy_workspace(job->machine->quern, &args, &job->workspace_bytes) != QUERN_OK) {
        quern_error_detail(detail, detail_bytes);
        return detail;
    }
    job->workspace = machine_allocate(job->machine, job->workspace_bytes + 1);
    return job->workspace ? NULL : "not enough memory";
}

/* With the machine's current number of threads. */
static const char *run_job(struct job *job, const struct plan *plan) {
    static char detail[1000];
    const char *problem = allocate_workspace(job, detail, sizeof detail);
    if (problem) return problem;
    struct activity activities[ACTIVITIES] = {
        [RESTORE] = {.run = restore},
        [READ] = {.run = read_logits},
        [FORWARD] = {.run = forward},
        [UPDATE_BEFORE] = {.run = update_logits},
        [UPDATE] = {.run = update_logits},
        [GRADIENT] = {.run = forward_and_gradient},
        [RESTORE_FOR_OPTIONS] = {.run = restore},
        [UPDATE_FOR_OPTIONS] = {.run = update_logits},
        [OPTIONS] = {.run = with_options},
        [RESTORE_FOR_LATER] = {.run = restore},
        [UPDATE_FOR_LATER] = {.run = update_logits},
        [LATER] = {.run = gradient_later},
    };
    for (int i = 0; i < ACTIVITIES; i++) activities[i].context = job;
    machine_measure(job->machine, activities, ACTIVITIES, &plan->patience);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) write_pass(job, &passes[i], activities);
    machine_release(job->machine, job->workspace);
    job->workspace = NULL;
    return NULL;
}

static int64_t choose_rows(const struct machine *machine, const struct plan *plan, const struct shape *shape) {
    if (shape->rows) return shape->rows;
    size_t bytes = plan->case_bytes / 2;
    if (machine->info.kind == QUERN_CPU && bytes > CPU_LOGITS_BYTES) bytes = CPU_LOGITS_BYTES;
    int64_t rows = (int64_t)(bytes / quern_dtype_bytes(shape->dtype)) / shape->vocab;
    return rows < 1 ? 1 : rows < MOST_ROWS ? rows : MOST_ROWS;
}

static void run_shape(struct machine *machine, const struct plan *plan, const struct shape *shape) {
    struct job job = {.machine = machine, .args = QUERN_CROSS_ENTROPY_ARGS_INIT};
    job.args.logits_dtype = shape->dtype;
    job.args.labels_dtype = QUERN_INT64;
    job.args.rows = choose_rows(machine, plan, shape);
    job.args.vocab = shape->vocab;
    const char *problem = allocate(&job);
    for (int i = 0; i < plan->thread_counts && !problem; i++) {
        if (!machine_set_threads(machine, plan->threads[i])) exit(EXIT_FAILURE);
        problem = run_job(&job, plan);
    }
    char text[80];
    snprintf(text, sizeof text, "%lld x %lld %s", (long long)job.args.rows, (long long)job.args.vocab,
             quern_dtype_name(shape->dtype));
    if (problem) measurement_skip("cross_entropy", text, problem);
    release(&job);
}

static void run_shapes(const struct options *options) {
    struct machine machine;
    const struct plan plan = operation_open(&machine, options, QUERN_CROSS_ENTROPY);
    size_t count = plan.quick ? sizeof quick_shapes / sizeof *quick_shapes : sizeof shapes / sizeof *shapes;
    machine_record(&machine);
    for (size_t i = 0; i < count; i++) run_shape(&machine, &plan, &(plan.quick ? quick_shapes : shapes)[i]);
    machine_close(&machine);
}

static void test_bytes(void) {
    check("bf16 logit, forward", cross_entropy_bytes(QUERN_BF16, false), 2);
    check("bf16 logit, forward and gradient", cross_entropy_bytes(QUERN_BF16, true), 4);
    check("fp32 logit, forward and gradient", cross_entropy_bytes(QUERN_F32, true), 8);
    state_bytes("bf16:", cross_entropy_bytes(QUERN_BF16, true));
}

const struct subject cross_entropy_subject = {"cross_entropy", "kernels beside plain loops over the same logits", run_shapes,
                                              test_bytes};
