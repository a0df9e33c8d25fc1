/*
 * The ragged all-to-all between ranks on one GPU, next to copies of the same bytes on the same streams at the same time: the
 * driver's, and the loop of stream.cu.  Only the forms of the call that a graph can capture are measured.  Called by main.c.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/cuda.h"
#include "ranks/gpu.h"
#include "ranks/ranks.h"

enum { LINKS = 16, EMULATED_LINKS = 3, MAX_GPU_SETS = 8 };
enum { THREADS = 256, VECTOR = 16, VECTORS = 4 };  /* of stream_copy */

/* The exchange in a number of updates. */
struct variant {
    struct slices slices;
    struct slice_metadata metadata[MAX_TURN_RANKS], on_device[MAX_TURN_RANKS];
    void *workspaces[MAX_TURN_RANKS];   /* of the calls */
    void *plan_workspaces[MAX_GPU_SETS][MAX_TURN_RANKS];
    size_t workspace_bytes[MAX_TURN_RANKS];
    quern_ragged_plan *plans[MAX_GPU_SETS][MAX_TURN_RANKS];
};

struct job {
    struct gpu *gpu;
    int sets;
    size_t set_bytes;
    char *inputs[MAX_TURN_RANKS], *outputs[MAX_TURN_RANKS];
    struct variant whole, split;
    void *loop;
};

/* The context of a chain. */
struct part {
    struct job *job;
    struct variant *variant;
};

static quern_ragged_all_to_all_args arguments(const struct job *job, const struct variant *variant, int rank, int set) {
    size_t at = (size_t)set * job->set_bytes;
    return slices_arguments(&variant->slices, &variant->metadata[rank], job->inputs[rank] + at, job->outputs[rank] + at);
}

/* ---- links of chains ---- */

static void enqueue_plan(struct gpu *gpu, void *context, int rank, int link) {
    const struct part *part = context;
    quern_ragged_plan *plan = part->variant->plans[link % part->job->sets][rank];
    if (quern_ragged_plan_run(plan, gpu->streams[rank]) != QUERN_OK) machine_fail_call("quern_ragged_plan_run");
}

static void enqueue_call(struct gpu *gpu, void *context, int rank, int link) {
    const struct part *part = context;
    struct variant *variant = part->variant;
    quern_ragged_all_to_all_args args = arguments(part->job, variant, rank, link % part->job->sets);
    args.metadata_on_device = 1;
    args.input_offsets = variant->on_device[rank].input_offsets;
    args.send_sizes = variant->on_device[rank].send_sizes;
    args.output_offsets = variant->on_device[rank].output_offsets;
    args.recv_sizes = variant->on_device[rank].recv_sizes;
    if (quern_ragged_all_to_all(gpu->groups[rank], &args, variant->workspaces[rank], variant->workspace_bytes[rank],
                                gpu->streams[rank]) != QUERN_OK)
        machine_fail_call("quern_ragged_all_to_all");
}

static void enqueue_copy(struct gpu *gpu, void *context, int rank, int link) {
    const struct job *job = ((struct part *)context)->job;
    size_t at = (size_t)(link % job->sets) * job->set_bytes;
    CUDA(cuMemcpyDtoDAsync_v2((uintptr_t)job->outputs[rank] + at, (uintptr_t)job->inputs[rank] + at, job->set_bytes,
                              gpu->streams[rank]));
}

static void enqueue_loop(struct gpu *gpu, void *context, int rank, int link) {
    const struct job *job = ((struct part *)context)->job;
    size_t at = (size_t)(link % job->sets) * job->set_bytes;
    char *to = job->outputs[rank] + at, *from = job->inputs[rank] + at;
    unsigned long long vectors = job->set_bytes / VECTOR, block = THREADS * VECTORS, blocks = (vectors + block - 1) / block;
    CUDA(cuLaunchKernel(job->loop, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, gpu->streams[rank],
                        (void *[]){&to, &from, &vectors}, NULL));
}

/* ---- buffers ---- */

static void allocate_symmetric(struct job *job, size_t bytes, void **pointers) {
    size_t all[MAX_TURN_RANKS];
    for (int rank = 0; rank < job->gpu->ranks; rank++) all[rank] = bytes;
    if (quern_symmetric_alloc(job->gpu->groups, job->gpu->ranks, all, pointers) != QUERN_OK)
        machine_fail_call("quern_symmetric_alloc");
}

static void free_symmetric(struct job *job, void **pointers) {
    for (int rank = 0; rank < job->gpu->ranks; rank++)
        if (quern_symmetric_free(job->gpu->groups[rank], pointers[rank], job->gpu->streams[rank]) != QUERN_OK)
            machine_fail_call("quern_symmetric_free");
}

static void fill_inputs(struct job *job) {
    uint64_t *host = malloc(job->set_bytes);
    if (!host) machine_fail("out of memory");
    for (int rank = 0; rank < job->gpu->ranks; rank++) {
        job->inputs[rank] = machine_allocate(&job->gpu->machine, (size_t)job->sets * job->set_bytes);
        if (!job->inputs[rank]) machine_fail("not enough memory on the GPU");
        for (int set = 0; set < job->sets; set++) {
            slices_fill(&job->whole.slices, rank, set, host);
            machine_upload(&job->gpu->machine, job->inputs[rank] + (size_t)set * job->set_bytes, host, job->set_bytes);
        }
    }
    free(host);
}

static void upload_metadata(struct job *job, struct variant *variant, int rank) {
    size_t count = (size_t)variant->slices.ranks * (size_t)variant->slices.updates, bytes = 4 * count * sizeof(int32_t);
    int32_t *all = machine_allocate(&job->gpu->machine, bytes);
    if (!all) machine_fail("not enough memory on the GPU");
    machine_upload(&job->gpu->machine, all, variant->metadata[rank].input_offsets, bytes);
    variant->on_device[rank] = (struct slice_metadata){all, all + count, all + 2 * count, all + 3 * count};
}

static void create_plans(struct job *job, struct variant *variant, int set) {
    quern_ragged_all_to_all_args args[MAX_TURN_RANKS];
    allocate_symmetric(job, variant->workspace_bytes[0], variant->plan_workspaces[set]);
    for (int rank = 0; rank < job->gpu->ranks; rank++) args[rank] = arguments(job, variant, rank, set);
    if (quern_ragged_plan_create(job->gpu->groups, job->gpu->ranks, args, variant->plan_workspaces[set], variant->workspace_bytes,
                                 variant->plans[set]) != QUERN_OK)
        machine_fail_call("quern_ragged_plan_create");
}

static void prepare_variant(struct job *job, struct variant *variant, int updates) {
    variant->slices = job->gpu->options->slices;
    variant->slices.updates = updates;
    for (int rank = 0; rank < job->gpu->ranks; rank++) {
        variant->metadata[rank] = slices_metadata(&variant->slices, rank);
        if (!variant->metadata[rank].input_offsets) machine_fail("out of memory");
        upload_metadata(job, variant, rank);
        quern_ragged_all_to_all_args args = arguments(job, variant, rank, 0);
        if (quern_ragged_all_to_all_workspace(job->gpu->groups[rank], &args, &variant->workspace_bytes[rank]) != QUERN_OK)
            machine_fail_call("quern_ragged_all_to_all_workspace");
    }
    allocate_symmetric(job, variant->workspace_bytes[0], variant->workspaces);
    for (int set = 0; set < job->sets; set++) create_plans(job, variant, set);
}

static void release_variant(struct job *job, struct variant *variant) {
    for (int rank = 0; rank < job->gpu->ranks; rank++) {
        for (int set = 0; set < job->sets; set++)
            if (quern_ragged_plan_destroy(variant->plans[set][rank]) != QUERN_OK) machine_fail_call("quern_ragged_plan_destroy");
        machine_release(&job->gpu->machine, variant->on_device[rank].input_offsets);
        slices_free(&variant->metadata[rank]);
    }
    for (int set = 0; set < job->sets; set++) free_symmetric(job, variant->plan_workspaces[set]);
    free_symmetric(job, variant->workspaces);
}

/* ---- measuring ---- */

/* An exchange that delivers wrong bytes is not timed. */
static void check_output(struct job *job, struct part *part, const struct chain *chain) {
    struct gpu *gpu = job->gpu;
    uint64_t *host = malloc(job->set_bytes);
    if (!host) machine_fail("out of memory");
    for (int rank = 0; rank < gpu->ranks; rank++)
        CUDA(cuMemsetD8Async((uintptr_t)job->outputs[rank], 0, job->set_bytes, gpu->streams[rank]));
    gpu_wait(gpu);
    for (int rank = 0; rank < gpu->ranks; rank++) chain->enqueue(gpu, part, rank, 0);
    gpu_wait(gpu);
    for (int rank = 0; rank < gpu->ranks; rank++) {
        CUDA(cuMemcpyDtoHAsync_v2(host, (uintptr_t)job->outputs[rank], job->set_bytes, gpu->streams[rank]));
        CUDA(cuStreamSynchronize(gpu->streams[rank]));
        int64_t wrong = slices_wrong(&part->variant->slices, rank, 0, host);
        if (wrong) machine_fail("%s, rank %d: %lld words of the output are wrong", chain->name, rank, (long long)wrong);
    }
    free(host);
}

static void measure(struct job *job) {
    struct gpu *gpu = job->gpu;
    struct part whole = {job, &job->whole}, split = {job, &job->split};
    struct chain chains[] = {{.name = "quern plan", .enqueue = enqueue_plan, .context = &whole},
                             {.name = "quern", .enqueue = enqueue_call, .context = &whole},
                             {.name = "memcpy", .enqueue = enqueue_copy, .context = &whole},
                             {.name = "quern plan", .enqueue = enqueue_plan, .context = &split},
                             {.name = "quern", .enqueue = enqueue_call, .context = &split},
                             {.name = "streaming copy", .enqueue = enqueue_loop, .context = &whole}};
    int count = 5 + (job->loop != NULL);
    for (int i = 0; i < count; i++)
        if (strncmp(chains[i].name, "quern", 5) == 0) check_output(job, chains[i].context, &chains[i]);
    int rounds = gpu_measure(gpu, chains, count, gpu->emulated ? EMULATED_LINKS : LINKS);
    for (int i = 0; i < count && !gpu->emulated; i++) {
        bool again = chains[i].context == &split && split.variant->slices.updates == 1;
        struct times times = times_summary(chains[i].seconds, rounds);
        if (!again) slices_write(chains[i].name, "on one GPU", &((struct part *)chains[i].context)->variant->slices, &times);
    }
}

static int choose_sets(const struct gpu *gpu, const struct rank_options *options) {
    int sets = gpu->emulated ? 2 : slices_sets(&options->slices, gpu->machine.cache_bytes);
    return sets < MAX_GPU_SETS ? sets : MAX_GPU_SETS;
}

void measure_exchange_on_gpu(const struct rank_options *options) {
    struct gpu gpu;
    const char *problem = gpu_open(&gpu, options, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL);
    if (!problem) {
        struct job job = {.gpu = &gpu, .sets = choose_sets(&gpu, options), .set_bytes = slices_bytes(&options->slices)};
        job.loop = cuda_loop("stream_copy");
        job.whole.slices = options->slices;
        fill_inputs(&job);
        allocate_symmetric(&job, (size_t)job.sets * job.set_bytes, (void **)job.outputs);
        prepare_variant(&job, &job.whole, 1);
        prepare_variant(&job, &job.split, options->slices.updates);
        measure(&job);
        release_variant(&job, &job.split);
        release_variant(&job, &job.whole);
        free_symmetric(&job, (void **)job.outputs);
        for (int rank = 0; rank < gpu.ranks; rank++) machine_release(&gpu.machine, job.inputs[rank]);
        if (gpu.emulated) problem = EMULATED_TIMES;
    }
    if (problem) ranks_skip("ragged_all_to_all", "quern", "on one GPU", options->team.ranks, problem);
    gpu_close(&gpu);
}
