/* The barrier of ranks on one GPU: chains of it, next to chains of empty kernels.  Called by main.c. */
#include <stdio.h>

#include "harness/cuda.h"
#include "ranks/gpu.h"
#include "ranks/ranks.h"
#include "ranks/rounds.h"

enum { LINKS = 1000, EMULATED_LINKS = 5 };

static void enqueue_barrier(struct gpu *gpu, void *context, int rank, int link) {
    (void)context, (void)link;
    if (quern_barrier(gpu->groups[rank], NULL, gpu->streams[rank]) != QUERN_OK) machine_fail_call("quern_barrier");
}

static void enqueue_nothing(struct gpu *gpu, void *nothing, int rank, int link) {
    (void)link;
    CUDA(cuLaunchKernel(nothing, 1, 1, 1, (unsigned)gpu->ranks, 1, 1, 0, gpu->streams[rank], (void *[]){NULL}, NULL));
}

/* Only medians: a chain has no single rounds. */
static void write_chain(const struct gpu *gpu, const char *name, const double *seconds, int rounds, int links) {
    struct round_times times[MAX_ROUND_TURNS] = {{0}};
    if (rounds > MAX_ROUND_TURNS) rounds = MAX_ROUND_TURNS;
    for (int i = 0; i < rounds; i++) times[i] = (struct round_times){.median = 1e9 * seconds[i], .rounds = links};
    rounds_write_times(name, "on one GPU", gpu->ranks, times, rounds);
}

static void measure(struct gpu *gpu) {
    struct chain chains[] = {{.name = "quern", .enqueue = enqueue_barrier},
                             {.name = "empty kernel", .enqueue = enqueue_nothing, .context = cuda_loop("stream_nothing")}};
    int count = chains[1].context ? 2 : 1, links = gpu->emulated ? EMULATED_LINKS : LINKS;
    int rounds = gpu_measure(gpu, chains, count, links);
    if (gpu->emulated) return;
    for (int i = 0; i < count; i++) write_chain(gpu, chains[i].name, chains[i].seconds, rounds, links);
    if (count < 2) return;
    double inside[MAX_CHAIN_ROUNDS];
    for (int i = 0; i < rounds; i++) inside[i] = chains[0].seconds[i] - chains[1].seconds[i];
    write_chain(gpu, "quern, in the kernel", inside, rounds, links);
}

void measure_barriers_on_gpu(const struct rank_options *options) {
    struct gpu gpu;
    const char *problem = gpu_open(&gpu, options, QUERN_BARRIER);
    if (!problem) {
        measure(&gpu);
        if (gpu.emulated) problem = EMULATED_TIMES;
    }
    if (problem) ranks_skip("barrier", "quern", "on one GPU", options->team.ranks, problem);
    gpu_close(&gpu);
}
