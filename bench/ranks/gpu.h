/*
 * Ranks that share one GPU, all driven by this thread: one stream each, and chains of operations that run on all streams at once.
 * A chain is one graph per stream, so it contains no host time; it starts behind a delay, so that all graphs are launched before
 * it starts.
 */
#ifndef GPU_H
#define GPU_H

#include "harness/machine.h"
#include "ranks/team.h"
#include "ranks/turns.h"

struct gpu {
    const struct rank_options *options;
    struct machine machine;
    bool emulated;
    int ranks;
    quern_group *groups[MAX_TURN_RANKS];
    void *streams[MAX_TURN_RANKS], *done[MAX_TURN_RANKS];
    void *start, *end;
    char *delay;  /* source of the copies that delay the start while the host launches */
};

enum { MAX_CHAIN_ROUNDS = 200 };

/* A chain: one operation many times in a row. */
struct chain {
    const char *name;
    void (*enqueue)(struct gpu *gpu, void *context, int rank, int link);
    void *context;
    void *graphs[MAX_TURN_RANKS];
    double seconds[MAX_CHAIN_ROUNDS];  /* of one link; result */
};

/* Opens the GPU and its ranks; NULL, or why nothing can be measured.  Later failures end the program with a message. */
const char *gpu_open(struct gpu *gpu, const struct rank_options *options, unsigned operations);
void gpu_close(struct gpu *gpu);

/* The chains take turns until each has run for the options' seconds; returns the number of rounds. */
int gpu_measure(struct gpu *gpu, struct chain *chains, int count, int links);

/* Waits for all streams, and ends the program if a rank of the library has an error. */
void gpu_wait(struct gpu *gpu);

/* The reason why nothing is recorded from an emulated GPU. */
#define EMULATED_TIMES "works, but the GPU is emulated: its times mean nothing"

/* One case each.  On an emulated GPU they only check that the operation works. */
void measure_barriers_on_gpu(const struct rank_options *options);
void measure_exchange_on_gpu(const struct rank_options *options);

#endif
