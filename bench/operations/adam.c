/*
 * Adam over the parameter lists of real models, in several types, and over a great many small tensors next to one tensor of the
 * same size; with a plan, like an engine that takes more than one step.
 *
 * All tensors of a list are consecutive in one buffer per array.  A list that would fit a cache is stored several times, and the
 * steps cycle through the copies.  A round copies the gradients (the measured copy bandwidth), runs the loop with Adam's mix of
 * reads and writes over the same buffers, and takes a step.  Called by main.c.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations/data.h"
#include "operations/operation.h"

enum { SMALL_TENSORS = 10000, SMALL_COUNT = 64, CACHES = 4 };

/* The type of each array. */
static const struct storage {
    const char *name;
    quern_dtype param, grad, m, v, master, copy;
} storages[] = {
    {"all bf16", QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE},
    {"bf16, fp32 master", QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE},
    {"all fp32", QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE},
    {"bf16, remainder", QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_NO_DTYPE},
    {"bf16, e4m3 m, v", QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_NO_DTYPE},
    {"bf16, f16 m, v", QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE},
    {"fp32, bf16 copy", QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_BF16},
};

enum { STORAGES = sizeof storages / sizeof *storages };

struct job {
    struct machine *machine;
    const struct storage *storage;
    struct tensor_list list;
    const char *shape, *peer;
    quern_adam_args args;
    int copies;                      /* of the list */
    int next;                        /* the copy whose turn it is */
    struct optimizer_arrays arrays;  /* of all copies together; the gradients are the second */
    quern_adam_plan **plans;         /* of each copy */
    void *spare;                     /* as large as the gradients */
};

static const struct optimizer_array *gradients(const struct job *job) { return &job->arrays.array[1]; }

static size_t gradient_bytes(const struct job *job) {
    return (size_t)job->arrays.count * quern_dtype_bytes(job->storage->grad);
}

static void copy_gradients(void *context) {
    struct job *job = context;
    machine_copy(job->machine, job->spare, gradients(job)->data, gradient_bytes(job));
}

static void run_mix(void *context) {
    struct job *job = context;
    machine_optimize(job->machine, &job->arrays);
}

static void take_step(void *context) {
    struct job *job = context;
    job->args.plan = job->plans[job->next];
    job->next = (job->next + 1) % job->copies;
    job->args.step++;
    if (quern_adam(job->machine->quern, &job->args, NULL, 0, NULL) != QUERN_OK) machine_fail_call("quern_adam");
}

enum { COPY, MIX, STEP, ACTIVITIES };

static void write_step(const struct job *job, const struct activity *activities) {
    double bytes = adam_bytes(&job->args);
    char explanation[16384];
    quern_adam_explain(job->machine->quern, &job->args, explanation, sizeof explanation);
    struct measurement record = {
        .operation = "adam",
        .pass = "step",
        .dtypes = job->storage->name,
        .elements = job->list.elements,
        .bytes_per_element = bytes,
        .flops_per_element = adam_flops(),
        .explanation = explanation,
        .times = activities[STEP].times,
        .stream = "same mix",
        .copy_bytes_per_second = 2 * (double)gradient_bytes(job) / activities[COPY].times.median,
    };
    if (job->machine->has_loops) record.stream_bytes_per_second = (double)job->arrays.count * bytes / activities[MIX].times.median;
    snprintf(record.shape, sizeof record.shape, "%s", job->shape);
    snprintf(record.peer, sizeof record.peer, "%s", job->peer);
    measurement_write(job->machine, &record);
}

/* ---- memory ---- */

/* The values of an array: plausible in training, so that no result is infinite or subnormal. */
struct part {
    quern_dtype dtype;         /* NO_DTYPE: there is no such array, or it holds the scales of a moment ... */
    quern_dtype scaled;        /* ... in this type, */
    int scale;                 /* all with this one */
    enum access access;
    size_t pointer;            /* the tensor's pointer to its part */
    struct value_range range;
};

enum { PARTS = 8 };

static void list_parts(const struct storage *storage, struct part parts[PARTS]) {
    const quern_dtype m = storage->m, v = storage->v;
    const enum access param_access = storage->master == QUERN_F32 ? ACCESS_WRITE : ACCESS_UPDATE;
    const struct value_range param = {-8, -2, true}, grad = {-12, -6, true}, square = {-24, -12, false};
    const struct value_range code = {-4, 7, true}, positive_code = {-4, 7, false};
    const struct part all[PARTS] = {
        {storage->param, 0, 0, param_access, offsetof(quern_adam_tensor, param), param},
        {storage->grad, 0, 0, ACCESS_READ, offsetof(quern_adam_tensor, grad), grad},
        {m, 0, 0, ACCESS_UPDATE, offsetof(quern_adam_tensor, m), is_scaled(m) ? code : grad},
        {v, 0, 0, ACCESS_UPDATE, offsetof(quern_adam_tensor, v), is_scaled(v) ? positive_code : square},
        {storage->master, 0, 0, ACCESS_UPDATE, offsetof(quern_adam_tensor, master), param},
        {storage->copy, 0, 0, ACCESS_WRITE, offsetof(quern_adam_tensor, copy), param},
        {0, is_scaled(m) ? m : 0, 127 - 12, ACCESS_UPDATE, offsetof(quern_adam_tensor, m_scale), {0, 0, false}},
        {0, is_scaled(v) ? v : 0, 127 - 24, ACCESS_UPDATE, offsetof(quern_adam_tensor, v_scale), {0, 0, false}},
    };
    memcpy(parts, all, sizeof all);
}

static int unit_bytes(const struct part *part) {
    return part->scaled ? 1 : UNIT_ELEMENTS * (int)quern_dtype_bytes(part->dtype);
}

static int64_t tensor_bytes(const struct part *part, int64_t count) {
    return part->scaled ? (count + UNIT_ELEMENTS - 1) / UNIT_ELEMENTS : count * (int64_t)quern_dtype_bytes(part->dtype);
}

/* Points the tensors of one copy of the list to an array, of which *begin bytes belong to the previous copies. */
static void point_into(const struct job *job, quern_adam_tensor *tensors, const struct part *part, char *data, int64_t *begin) {
    for (int64_t i = 0; i < job->list.tensors; i++) {
        void *at = data + *begin;
        memcpy((char *)&tensors[i] + part->pointer, &at, sizeof at);
        *begin += tensor_bytes(part, tensors[i].count);
    }
}

/* The bytes of an array for all copies of the list. */
static int64_t part_bytes(const struct job *job, const struct part *part) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < job->list.tensors; i++) bytes += tensor_bytes(part, job->list.counts[i]);
    return job->copies * bytes;
}

static bool create_arrays(struct job *job, const struct part parts[PARTS]) {
    job->arrays.count = job->copies * job->list.elements;
    for (int i = 0; i < PARTS; i++) {
        const struct part *part = &parts[i];
        if (!part->dtype && !part->scaled) continue;
        void *data = part->scaled ? bytes_create(job->machine, part_bytes(job, part), part->scale)
                                  : values_create(job->machine, part->dtype, job->arrays.count, part->range);
        if (!data) return false;
        job->arrays.array[job->arrays.arrays++] = (struct optimizer_array){data, unit_bytes(part), part->access};
    }
    job->spare = machine_allocate(job->machine, buffer_bytes(gradient_bytes(job)));
    return job->spare;
}

static void create_plans(struct job *job, const struct part parts[PARTS]) {
    int64_t begin[PARTS] = {0};
    quern_adam_tensor *tensors = calloc((size_t)job->list.tensors, sizeof *tensors);
    job->plans = calloc((size_t)job->copies, sizeof *job->plans);
    if (!tensors || !job->plans) machine_fail("out of memory");
    for (int64_t i = 0; i < job->list.tensors; i++) tensors[i].count = job->list.counts[i];
    for (int copy = 0; copy < job->copies; copy++) {
        quern_adam_args args = job->args;
        for (int i = 0, array = 0; i < PARTS; i++)
            if (parts[i].dtype || parts[i].scaled)
                point_into(job, tensors, &parts[i], job->arrays.array[array++].data, &begin[i]);
        args.tensors = tensors;
        args.tensor_count = job->list.tensors;
        if (quern_adam_plan_create(job->machine->quern, &args, &job->plans[copy]) != QUERN_OK)
            machine_fail_call("quern_adam_plan_create");
    }
    free(tensors);
}

static void release(struct job *job) {
    for (int copy = 0; job->plans && copy < job->copies; copy++) quern_adam_plan_destroy(job->plans[copy]);
    for (int i = 0; i < job->arrays.arrays; i++) machine_release(job->machine, job->arrays.array[i].data);
    machine_release(job->machine, job->spare);
    free(job->plans);
}

/* ---- cases ---- */

/* Per element, including the spare gradients, without the scales. */
static size_t stored_bytes(const struct storage *storage) {
    return quern_dtype_bytes(storage->param) + 2 * quern_dtype_bytes(storage->grad) + quern_dtype_bytes(storage->m) +
           quern_dtype_bytes(storage->v) + quern_dtype_bytes(storage->master) + quern_dtype_bytes(storage->copy);
}

static void run_job(struct job *job, const struct plan *plan) {
    struct activity activities[ACTIVITIES] = {
        [COPY] = {.run = copy_gradients, .context = job, .repeatable = true},
        [MIX] = {.run = run_mix, .context = job, .repeatable = true},
        [STEP] = {.run = take_step, .context = job, .repeatable = true},
    };
    machine_measure(job->machine, activities, ACTIVITIES, &plan->patience);
    write_step(job, activities);
}

/* All buffers of its steps; false, with those allocated so far, if there is not enough memory. */
static bool prepare(struct job *job) {
    const struct storage *storage = job->storage;
    job->args = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    job->args.param_dtype = storage->param;
    job->args.grad_dtype = storage->grad;
    job->args.m_dtype = storage->m;
    job->args.v_dtype = storage->v;
    job->args.master_dtype = storage->master;
    job->args.copy_dtype = storage->copy;
    job->args.lr = 1e-5;
    job->args.weight_decay = 0.01;
    job->args.step = 100;
    size_t list_bytes = (size_t)job->list.elements * stored_bytes(storage);
    job->copies = (int)(1 + CACHES * job->machine->cache_bytes / list_bytes);
    struct part parts[PARTS];
    list_parts(storage, parts);
    if (!create_arrays(job, parts)) return false;
    create_plans(job, parts);
    return true;
}

/* Takes ownership of the list. */
static void run_case(struct machine *machine, const struct plan *plan, const struct storage *storage,
                     struct tensor_list list, const char *shape, const char *peer) {
    struct job job = {.machine = machine, .storage = storage, .list = list, .shape = shape, .peer = peer};
    bool complete = prepare(&job);
    for (int i = 0; i < plan->thread_counts && complete; i++) {
        if (!machine_set_threads(machine, plan->threads[i])) exit(EXIT_FAILURE);
        run_job(&job, plan);
    }
    if (!complete) measurement_skip("adam", shape, "not enough memory");
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

static void run_lists(struct machine *machine, const struct plan *plan) {
    enum { USUAL = 3 };  /* storages that are also measured on a large model */
    if (plan->quick) {
        for (int i = 0; i < STORAGES; i++) run_model(machine, plan, &storages[i], "GPT-2 of width 64", 64, 4);
        run_small(machine, plan, SMALL_TENSORS / 10, SMALL_COUNT);
        return;
    }
    for (int i = 0; i < STORAGES; i++) run_model(machine, plan, &storages[i], "GPT-2 124M", 768, 12);
    for (int i = 0; i < USUAL; i++) run_model(machine, plan, &storages[i], "GPT-2 1.5B", 1600, 48);
    run_small(machine, plan, SMALL_TENSORS, SMALL_COUNT);
    run_small(machine, plan, 1, SMALL_TENSORS * SMALL_COUNT);
}

/* ---- taking turns with another program ---- */

/* The list that a record names for its peers. */
static struct tensor_list named_list(const char *name) {
    long long first, second;
    if (sscanf(name, "gpt2 %lld %lld", &first, &second) == 2) return gpt2_tensors(first, second);
    if (sscanf(name, "equal %lld %lld", &first, &second) == 2) return equal_tensors(first, second);
    machine_fail("no list of tensors is called %s", name);
}

static void take_turns(struct machine *machine, const struct plan *plan, const struct options *options) {
    struct job job = {.machine = machine, .list = named_list(options->list)};
    for (int i = 0; i < STORAGES; i++)
        if (strcmp(storages[i].name, options->dtypes) == 0) job.storage = &storages[i];
    if (!job.storage) refuse("--dtypes is '%s': no table has these types of Adam", options->dtypes);
    if (!prepare(&job)) machine_fail("not enough memory");
    if (!machine_set_threads(machine, plan->threads[0])) exit(EXIT_FAILURE);
    for (char turn[8]; fgets(turn, sizeof turn, stdin);) {
        machine_mark(machine, 0);
        take_step(&job);
        machine_mark(machine, 1);
        printf("%.6g\n", machine_seconds(machine, 0, 1));
        fflush(stdout);
    }
    release(&job);
    tensor_list_free(&job.list);
}

static void run(const struct options *options) {
    struct machine machine;
    if (!options->list != !options->dtypes) refuse("--list and --dtypes need each other");
    const struct plan plan = operation_open(&machine, options, QUERN_ADAM);
    if (options->list) {
        take_turns(&machine, &plan, options);
    } else {
        machine_record(&machine);
        run_lists(&machine, &plan);
    }
    machine_close(&machine);
}

/* ---- self-test ---- */

/* Also printed, since quern.h states these. */
static void test_bytes(void) {
    static const struct {
        const char *name;
        quern_dtype state, master;
        double expected;
    } cases[] = {{"all-bf16", QUERN_BF16, QUERN_NO_DTYPE, 14}, {"bf16 with fp32 master", QUERN_BF16, QUERN_F32, 20},
                 {"all-fp32", QUERN_F32, QUERN_NO_DTYPE, 28}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        quern_dtype state = cases[i].state;
        quern_adam_args args = {.param_dtype = state, .grad_dtype = state, .m_dtype = state, .v_dtype = state,
                                .master_dtype = cases[i].master};
        check(cases[i].name, adam_bytes(&args), cases[i].expected);
        state_bytes(cases[i].name, adam_bytes(&args));
    }
}

/* Cases that quern.h does not state: a remainder, scaled types with a byte for 32 elements, all options. */
static void test_further_bytes(void) {
    quern_adam_args args = {.param_dtype = QUERN_BF16, .grad_dtype = QUERN_BF16, .m_dtype = QUERN_BF16, .v_dtype = QUERN_BF16,
                            .master_dtype = QUERN_REMAINDER};
    check("bf16 with a remainder", adam_bytes(&args), 18);
    args.m_dtype = args.v_dtype = QUERN_E4M3;
    check("e4m3 moments with a remainder", adam_bytes(&args), 14 + 4 / 32.0);
    args.copy_dtype = QUERN_E4M3, args.zero_grads = 1, args.amsgrad = 1;
    check("the same with all options", adam_bytes(&args), 14 + 4 / 32.0 + 1 + 2 + 2 + 2 / 32.0);
}

static void test_lists(void) {
    static const struct {
        int64_t width, layers, tensors, parameters;  /* as published checkpoints have them */
    } models[] = {{768, 12, 148, 124439808}, {1600, 48, 580, 1557611200}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct tensor_list list = gpt2_tensors(models[i].width, models[i].layers);
        int64_t sum = 0;
        for (int64_t j = 0; j < list.tensors; j++) sum += list.counts[j];
        check("tensors of GPT-2", (double)list.tensors, (double)models[i].tensors);
        check("parameters of GPT-2", (double)sum, (double)models[i].parameters);
        check("the list's own count", (double)list.elements, (double)sum);
        tensor_list_free(&list);
    }
}

static void test(void) {
    test_bytes();
    test_further_bytes();
    test_lists();
}

const struct subject adam_subject = {"adam", "steps over the tensors of real models, beside a loop with the same reads and writes",
                                     run, test};
