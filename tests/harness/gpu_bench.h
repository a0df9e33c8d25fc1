/*
 * The memory of GPU ranks that one thread drives: a rank_bench for each, whose pools are private and symmetric memory of its
 * device, and what ragged all-to-alls need.
 */
#ifndef HARNESS_GPU_BENCH_H
#define HARNESS_GPU_BENCH_H

#include "harness/cuda.h"
#include "harness/gpu_group.h"
#include "harness/rank_bench.h"

struct gpu_bench {
    struct gpu_group *group;
    size_t pool_bytes, workspace_bytes;
    struct rank rank[MOST_GPU_RANKS];            /* outside of a run */
    struct rank_bench of[MOST_GPU_RANKS];        /* none of these moves */
    void *workspace[MOST_GPU_RANKS];             /* symmetric */
};

/* Without workspaces if they have no bytes. */
void gpu_bench_open(struct gpu_bench *bench, struct gpu_group *group, size_t pool_bytes, size_t workspace_bytes);
void gpu_bench_close(struct gpu_bench *bench);

/* A group and its bench, also with workspaces if ragged all-to-alls are prepared; OPEN_BENCH declares both. */
void gpu_bench_begin(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options);
void gpu_bench_close_all(struct gpu_bench *bench);
#define OPEN_BENCH(...) \
    struct gpu_group group; \
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all); \
    gpu_bench_begin(&bench, &group, __VA_ARGS__)

/* Another group, which is not poisoned, with memory of its own. */
void gpu_bench_renew(struct gpu_bench *bench);

#endif
