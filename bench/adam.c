/*
 * Adam over the parameter lists of real models, and over very many small tensors beside one tensor of the same size.
 *
 * All tensors of a list lie one after the other in one buffer per array.  A list that would fit a cache is there several
 * times, and the steps go around the copies.  A round copies the gradients (the measured copy bandwidth), runs the loop with
 * Adam's mix of reads and writes over the same buffers, and takes a step.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "models.h"
#include "record.h"
#include "traffic.h"
#include "values.h"

enum { SMALL_TENSORS = 10000, SMALL_COUNT = 64, CACHES = 4 };

/* What is stored in which type. */
static const struct storage {
    const char *name;
    quern_dtype param, grad, m, v, master;
} storages[] = {
    {"all bf16", QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE},
    {"bf16, fp32 master", QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32},
    {"all fp32", QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE},
};

struct job {
    struct machine *machine;
    const struct storage *storage;
    struct tensor_list list;
    const char *shape, *peer;
    quern_adam_args args;
    int copies;  /* of the list */
    int next;    /* the copy whose turn it is */
    struct optimizer_arrays arrays;  /* of all copies together */
    quern_adam_tensor *tensors;      /* of all copies */
    void *spare;                     /* as large as the gradients */
};

static void copy_gradients(void *context) {
    struct job *job = context;
    machine_copy(job->machine, job->spare, job->arrays.grad, (size_t)job->arrays.count * job->arrays.grad_bytes);
}

static void run_mix(void *context) {
    struct job *job = context;
    machine_optimize(job->machine, &job->arrays);
}

static void take_step(void *context) {
    struct job *job = context;
    job->args.tensors = job->tensors + job->next * job->list.tensors;
    job->next = (job->next + 1) % job->copies;
    job->args.step++;
    if (quern_adam(job->machine->quern, &job->args, NULL, 0, NULL) == QUERN_OK) return;
    char detail[1000];
    quern_error_detail(detail, sizeof detail);
    machine_fail("quern_adam: %s", detail);
}

enum { COPY, MIX, STEP, ACTIVITIES };

static void write_record(struct job *job, const struct activity *activities, int rounds) {
    const struct optimizer_arrays *arrays = &job->arrays;
    int bytes = adam_bytes(&job->args);
    struct record record = {
        .operation = "adam",
        .pass = "step",
        .dtypes = job->storage->name,
        .elements = job->list.elements,
        .bytes_per_element = bytes,
        .flops_per_element = adam_flops(),
        .rounds = rounds,
        .kernel_time = &activities[STEP],
        .stream = "same mix",
        .copy_bytes_per_second = 2 * (double)arrays->count * (double)arrays->grad_bytes / activities[COPY].median,
    };
    if (job->machine->has_loops) record.stream_bytes_per_second = (double)arrays->count * bytes / activities[MIX].median;
    snprintf(record.shape, sizeof record.shape, "%s", job->shape);
    snprintf(record.peer, sizeof record.peer, "%s", job->peer);
    char explanation[16384];
    quern_adam_explain(job->machine->quern, &job->args, explanation, sizeof explanation);
    record_kernel(&record, explanation);
    record_write(job->machine, &record);
}

/* ---- memory ---- */

static char *at(void *array, int64_t element, size_t element_bytes) {
    return array ? (char *)array + (size_t)element * element_bytes : NULL;
}

static void place_tensors(struct job *job) {
    const struct optimizer_arrays *arrays = &job->arrays;
    int64_t begin = 0;
    for (int64_t i = 0; i < job->copies * job->list.tensors; i++) {
        job->tensors[i] = (quern_adam_tensor){
            .param = at(arrays->param, begin, arrays->param_bytes),
            .grad = at(arrays->grad, begin, arrays->grad_bytes),
            .m = at(arrays->m, begin, arrays->m_bytes),
            .v = at(arrays->v, begin, arrays->v_bytes),
            .master = (float *)at(arrays->master, begin, sizeof(float)),
            .count = job->list.counts[i % job->list.tensors],
        };
        begin += job->tensors[i].count;
    }
}

static const char *allocate(struct job *job) {
    const struct storage *storage = job->storage;
    int64_t count = job->copies * job->list.elements;
    job->arrays = (struct optimizer_arrays){
        .param = values_create(job->machine, storage->param, count, (struct value_range){-8, -2, true}),
        .grad = values_create(job->machine, storage->grad, count, (struct value_range){-12, -6, true}),
        .m = values_create(job->machine, storage->m, count, (struct value_range){-12, -6, true}),
        .v = values_create(job->machine, storage->v, count, (struct value_range){-24, -12, false}),
        .count = count,
        .param_bytes = quern_dtype_bytes(storage->param),
        .grad_bytes = quern_dtype_bytes(storage->grad),
        .m_bytes = quern_dtype_bytes(storage->m),
        .v_bytes = quern_dtype_bytes(storage->v),
    };
    if (storage->master)
        job->arrays.master = values_create(job->machine, storage->master, count, (struct value_range){-8, -2, true});
    job->spare = machine_allocate(job->machine, buffer_bytes((size_t)count * job->arrays.grad_bytes));
    job->tensors = malloc((size_t)(job->copies * job->list.tensors) * sizeof *job->tensors);
    if (!job->tensors) machine_fail("out of memory");
    place_tensors(job);
    const struct optimizer_arrays *arrays = &job->arrays;
    bool complete = arrays->param && arrays->grad && arrays->m && arrays->v && (arrays->master || !storage->master);
    return complete && job->spare ? NULL : "not enough memory";
}

static void release(struct job *job) {
    void *memory[] = {job->arrays.param, job->arrays.grad, job->arrays.m, job->arrays.v, job->arrays.master, job->spare};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) machine_release(job->machine, memory[i]);
    free(job->tensors);
}

/* ---- cases ---- */

static size_t stored_bytes(const struct storage *storage) {
    return quern_dtype_bytes(storage->param) + 2 * quern_dtype_bytes(storage->grad) + quern_dtype_bytes(storage->m) +
           quern_dtype_bytes(storage->v) + quern_dtype_bytes(storage->master);
}

static void run_job(struct job *job, const struct plan *plan) {
    struct activity activities[ACTIVITIES] = {
        [COPY] = {.run = copy_gradients, .context = job, .repeatable = true},
        [MIX] = {.run = run_mix, .context = job, .repeatable = true},
        [STEP] = {.run = take_step, .context = job, .repeatable = true},
    };
    write_record(job, activities, measure(job->machine, activities, ACTIVITIES, &plan->patience));
}

/* Takes over the list. */
static void run_case(struct machine *machine, const struct plan *plan, const struct storage *storage,
                     struct tensor_list list, const char *shape, const char *peer) {
    struct job job = {.machine = machine, .storage = storage, .list = list, .shape = shape, .peer = peer,
                      .args = QUERN_ADAM_ARGS_INIT};
    job.args.param_dtype = storage->param;
    job.args.grad_dtype = storage->grad;
    job.args.m_dtype = storage->m;
    job.args.v_dtype = storage->v;
    job.args.master_dtype = storage->master;
    job.args.tensor_count = list.tensors;
    job.args.lr = 1e-5;
    job.args.weight_decay = 0.01;
    job.args.step = 100;
    size_t list_bytes = (size_t)list.elements * stored_bytes(storage);
    job.copies = (int)(1 + CACHES * machine->cache_bytes / list_bytes);
    const char *problem = allocate(&job);
    for (int i = 0; i < plan->thread_counts && !problem; i++) {
        if (!machine_set_threads(machine, plan->threads[i])) exit(EXIT_FAILURE);
        run_job(&job, plan);
    }
    if (problem) record_skipped("adam", shape, problem);
    release(&job);
    tensor_list_free(&list);
}

/* GPT-2 of a width with as many of its layers as the memory of a case allows. */
static void run_model(struct machine *machine, const struct plan *plan, const struct storage *storage, const char *name,
                      int64_t width, int64_t layers) {
    int64_t kept = layers;
    struct tensor_list list = gpt2_tensors(width, kept);
    while (kept > 1 && (size_t)list.elements * stored_bytes(storage) > plan->case_bytes) {
        tensor_list_free(&list);
        list = gpt2_tensors(width, --kept);
    }
    char shape[80], peer[80];
    if (kept == layers)
        snprintf(shape, sizeof shape, "%s, %lld tensors", name, (long long)list.tensors);
    else
        snprintf(shape, sizeof shape, "%s, %lld of %lld layers", name, (long long)kept, (long long)layers);
    snprintf(peer, sizeof peer, "gpt2 %lld %lld", (long long)width, (long long)kept);
    run_case(machine, plan, storage, list, shape, peer);
}

static void run_small(struct machine *machine, const struct plan *plan, int64_t tensors, int64_t count) {
    char shape[80], peer[80];
    snprintf(shape, sizeof shape, "%lld x %lld", (long long)tensors, (long long)count);
    snprintf(peer, sizeof peer, "equal %lld %lld", (long long)tensors, (long long)count);
    run_case(machine, plan, &storages[0], equal_tensors(tensors, count), shape, peer);
}

void bench_adam(struct machine *machine, const struct plan *plan) {
    enum { STORAGES = sizeof storages / sizeof *storages };
    if (plan->quick) {
        for (int i = 0; i < STORAGES; i++) run_model(machine, plan, &storages[i], "GPT-2 of width 64", 64, 4);
        run_small(machine, plan, SMALL_TENSORS / 10, SMALL_COUNT);
        return;
    }
    for (int i = 0; i < STORAGES; i++) run_model(machine, plan, &storages[i], "GPT-2 124M", 768, 12);
    for (int i = 0; i < STORAGES; i++) run_model(machine, plan, &storages[i], "GPT-2 1.5B", 1600, 48);
    run_small(machine, plan, SMALL_TENSORS, SMALL_COUNT);
    run_small(machine, plan, 1, SMALL_TENSORS * SMALL_COUNT);
}
