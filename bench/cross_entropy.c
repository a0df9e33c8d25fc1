/*
 * Cross-entropy: the forward pass, and loss with gradient in place.
 *
 * A round restores the logits from a pristine copy, which is the measured copy bandwidth, then reads them (loop), runs the
 * forward pass, updates them in place (loop) and runs the kernel in place.  The loop in place runs twice, the first time
 * untimed, so that both in-place activities find the cache full of somebody's unwritten lines.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "record.h"
#include "traffic.h"
#include "values.h"

/* As many tokens as one micro-batch has; on a CPU fewer, so that the logits are far larger than its caches but soon done. */
enum { MOST_ROWS = 8192, CPU_LOGITS_BYTES = 256 << 20 };

static const struct shape {
    quern_dtype dtype;
    int64_t vocab;
} shapes[] = {
    {QUERN_BF16, 32000}, {QUERN_BF16, 32768}, {QUERN_BF16, 50257}, {QUERN_BF16, 128256}, {QUERN_BF16, 262144},
    {QUERN_F16, 32768},  {QUERN_F32, 32768},
};

static const struct shape quick_shapes[] = {{QUERN_BF16, 32768}, {QUERN_F32, 50257}};

struct job {
    struct machine *machine;
    quern_cross_entropy_args args;
    void *pristine, *logits, *labels, *loss, *workspace;
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

static void run(struct job *job, void *grad) {
    job->args.grad = grad;
    if (quern_cross_entropy(job->machine->quern, &job->args, job->workspace, job->workspace_bytes, NULL) == QUERN_OK) return;
    char detail[1000];
    quern_error_detail(detail, sizeof detail);
    machine_fail("quern_cross_entropy: %s", detail);
}

static void forward(void *context) {
    run(context, NULL);
}

static void forward_and_gradient(void *context) {
    struct job *job = context;
    run(job, job->logits);
}

enum { RESTORE, READ, FORWARD, UPDATE_BEFORE, UPDATE, GRADIENT, ACTIVITIES };

static void write_record(struct job *job, bool gradient, const struct activity *activities, int rounds) {
    const quern_cross_entropy_args *args = &job->args;
    struct record record = {
        .operation = "cross_entropy",
        .pass = gradient ? "forward + gradient" : "forward",
        .dtypes = quern_dtype_name(args->logits_dtype),
        .elements = args->rows * args->vocab,
        .bytes_per_element = cross_entropy_bytes(args->logits_dtype, gradient),
        .flops_per_element = cross_entropy_flops(gradient),
        .rounds = rounds,
        .kernel_time = &activities[gradient ? GRADIENT : FORWARD],
        .stream = gradient ? "in place" : "read",
        .copy_bytes_per_second = 2 * (double)job->logits_bytes / activities[RESTORE].median,
    };
    if (job->machine->has_loops && gradient)
        record.stream_bytes_per_second = 2 * (double)job->logits_bytes / activities[UPDATE].median;
    else if (job->machine->has_loops)
        record.stream_bytes_per_second = (double)job->logits_bytes / activities[READ].median;
    snprintf(record.shape, sizeof record.shape, "%lld x %lld", (long long)args->rows, (long long)args->vocab);
    snprintf(record.peer, sizeof record.peer, "%lld %lld", (long long)args->rows, (long long)args->vocab);
    char explanation[16384];
    job->args.grad = gradient ? job->logits : NULL;
    quern_cross_entropy_explain(job->machine->quern, args, explanation, sizeof explanation);
    record_kernel(&record, explanation);
    record_write(job->machine, &record);
}

static const char *allocate(struct job *job) {
    const quern_cross_entropy_args *args = &job->args;
    int64_t elements = args->rows * args->vocab;
    job->logits_bytes = buffer_bytes((size_t)elements * quern_dtype_bytes(args->logits_dtype));
    job->pristine = values_create(job->machine, args->logits_dtype, elements, (struct value_range){-3, 3, true});
    job->logits = machine_allocate(job->machine, job->logits_bytes);
    job->labels = labels_create(job->machine, args->rows, args->vocab);
    job->loss = machine_allocate(job->machine, sizeof(float) * (size_t)args->rows);
    job->args.logits = job->logits;
    job->args.labels = job->labels;
    job->args.loss = job->loss;
    return job->pristine && job->logits && job->labels && job->loss ? NULL : "not enough memory";
}

static void release(struct job *job) {
    void *memory[] = {job->pristine, job->logits, job->labels, job->loss};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) machine_release(job->machine, memory[i]);
}

static const char *allocate_workspace(struct job *job, char *detail, size_t detail_bytes) {
    job->args.grad = job->logits;
    if (quern_cross_entropy_workspace(job->machine->quern, &job->args, &job->workspace_bytes) != QUERN_OK) {
        quern_error_detail(detail, detail_bytes);
        return detail;
    }
    job->workspace = machine_allocate(job->machine, job->workspace_bytes + 1);
    return job->workspace ? NULL : "not enough memory";
}

/* With the threads that the machine now has. */
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
    };
    for (int i = 0; i < ACTIVITIES; i++) activities[i].context = job;
    int rounds = measure(job->machine, activities, ACTIVITIES, &plan->patience);
    write_record(job, false, activities, rounds);
    write_record(job, true, activities, rounds);
    machine_release(job->machine, job->workspace);
    job->workspace = NULL;
    return NULL;
}

static int64_t choose_rows(const struct machine *machine, const struct plan *plan, const struct shape *shape) {
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
    if (problem) record_skipped("cross_entropy", text, problem);
    release(&job);
}

void bench_cross_entropy(struct machine *machine, const struct plan *plan) {
    size_t count = plan->quick ? sizeof quick_shapes / sizeof *quick_shapes : sizeof shapes / sizeof *shapes;
    for (size_t i = 0; i < count; i++) run_shape(machine, plan, &(plan->quick ? quick_shapes : shapes)[i]);
}
