/* Opens the ranks of one GPU and times chains on their streams.  Called by gpu_barrier.c and gpu_exchange.c. */
#include "ranks/gpu.h"

#include "harness/cuda.h"

enum { DELAY_BYTES = 512 << 20, LEAST_ROUNDS = 5 };

static void join_group(struct gpu *gpu) {
    char name[LIBRARY_NAME_BYTES];
    quern_group_args args[MAX_TURN_RANKS];
    library_name(name);
    for (int rank = 0; rank < gpu->ranks; rank++) {
        args[rank] = (quern_group_args)QUERN_GROUP_ARGS_INIT;
        args[rank].rank = rank;
        args[rank].ranks = gpu->ranks;
        args[rank].name = name;
        args[rank].device = gpu->machine.quern;
        args[rank].timeout = LIBRARY_SECONDS;
        args[rank].share_gpu = 1;
    }
    if (quern_group_create(args, gpu->ranks, gpu->groups) != QUERN_OK) machine_fail_call("quern_group_create");
}

const char *gpu_open(struct gpu *gpu, const struct rank_options *options, unsigned operations) {
    *gpu = (struct gpu){.options = options, .ranks = options->team.ranks};
    if (gpu->ranks > MAX_TURN_RANKS) return "so many ranks are not provided for";
    if (!machine_open(&gpu->machine, options->all->device, options->all->loops, operations)) return "the GPU cannot be opened";
    gpu->emulated = cuda_is_emulated();
    CUDA(cuEventCreate(&gpu->start, 0));
    CUDA(cuEventCreate(&gpu->end, 0));
    for (int rank = 0; rank < gpu->ranks; rank++) {
        CUDA(cuStreamCreate(&gpu->streams[rank], CUDA_STREAM_NON_BLOCKING));
        CUDA(cuEventCreate(&gpu->done[rank], 0));
    }
    join_group(gpu);
    gpu->delay = gpu->emulated ? NULL : machine_allocate(&gpu->machine, 2 * (size_t)DELAY_BYTES);
    return gpu->delay || gpu->emulated ? NULL : "not enough memory";
}

void gpu_close(struct gpu *gpu) {
    for (int rank = 0; rank < gpu->ranks; rank++) {
        if (gpu->groups[rank] && quern_group_destroy(gpu->groups[rank]) != QUERN_OK) machine_fail_call("quern_group_destroy");
        if (gpu->streams[rank]) CUDA(cuStreamDestroy_v2(gpu->streams[rank]));
        if (gpu->done[rank]) CUDA(cuEventDestroy_v2(gpu->done[rank]));
    }
    if (!gpu->machine.quern) return;
    machine_release(&gpu->machine, gpu->delay);
    machine_close(&gpu->machine);
}

void gpu_wait(struct gpu *gpu) {
    for (int rank = 0; rank < gpu->ranks; rank++) CUDA(cuStreamSynchronize(gpu->streams[rank]));
    for (int rank = 0; rank < gpu->ranks; rank++)
        if (quern_group_status(gpu->groups[rank]) != QUERN_OK) machine_fail_call("quern_group_status");
}

/* ---- chains ---- */

static void capture(struct gpu *gpu, struct chain *chain, int links) {
    for (int rank = 0; rank < gpu->ranks; rank++) {
        void *graph;
        CUDA(cuStreamBeginCapture_v2(gpu->streams[rank], CUDA_CAPTURE_RELAXED));
        for (int link = 0; link < links; link++) chain->enqueue(gpu, chain->context, rank, link);
        CUDA(cuStreamEndCapture(gpu->streams[rank], &graph));
        CUDA(cuGraphInstantiateWithFlags(&chain->graphs[rank], graph, 0));
        CUDA(cuGraphDestroy(graph));
    }
}

static double run(struct gpu *gpu, struct chain *chain, int links) {
    void **streams = gpu->streams;
    float milliseconds;
    if (gpu->delay)
        CUDA(cuMemcpyDtoDAsync_v2((uintptr_t)gpu->delay, (uintptr_t)gpu->delay + DELAY_BYTES, DELAY_BYTES, streams[0]));
    CUDA(cuEventRecord(gpu->start, streams[0]));
    for (int rank = 1; rank < gpu->ranks; rank++) CUDA(cuStreamWaitEvent(streams[rank], gpu->start, 0));
    for (int rank = 0; rank < gpu->ranks; rank++) {
        CUDA(cuGraphLaunch(chain->graphs[rank], streams[rank]));
        CUDA(cuEventRecord(gpu->done[rank], streams[rank]));
    }
    for (int rank = 1; rank < gpu->ranks; rank++) CUDA(cuStreamWaitEvent(streams[0], gpu->done[rank], 0));
    CUDA(cuEventRecord(gpu->end, streams[0]));
    gpu_wait(gpu);
    CUDA(cuEventElapsedTime(&milliseconds, gpu->start, gpu->end));
    return 1e-3 * (double)milliseconds / links;
}

int gpu_measure(struct gpu *gpu, struct chain *chains, int count, int links) {
    for (int i = 0; i < count; i++) {
        capture(gpu, &chains[i], links);
        run(gpu, &chains[i], links);
    }
    int64_t end = clock_nanoseconds() + (int64_t)(1e9 * gpu->options->all->seconds * count);
    int round = 0;
    while (round < MAX_CHAIN_ROUNDS && (round < LEAST_ROUNDS || clock_nanoseconds() < end)) {
        for (int i = 0; i < count; i++) chains[i].seconds[round] = run(gpu, &chains[i], links);
        round++;
    }
    for (int i = 0; i < count; i++)
        for (int rank = 0; rank < gpu->ranks; rank++) CUDA(cuGraphExecDestroy(chains[i].graphs[rank]));
    return round;
}
