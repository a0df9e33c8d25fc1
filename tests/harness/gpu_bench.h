/*
 * The memory of GPU ranks that one thread drives: of each a private and a symmetric pool on its device, what they must hold, and
 * what ragged all-to-alls need.
 */
#ifndef HARNESS_GPU_BENCH_H
#define HARNESS_GPU_BENCH_H

#include "harness/cuda.h"
#include "harness/gpu_group.h"
#include "harness/rank_bench.h"

struct gpu_bench {
    struct gpu_group *group;
    size_t pool_bytes, workspace_bytes;
    unsigned char *pool[MOST_GPU_RANKS][POOLS];       /* in the devices' memory */
    unsigned char *expected[MOST_GPU_RANKS][POOLS];   /* on the host */
    void *workspace[MOST_GPU_RANKS];                  /* symmetric */
    cuda_pointer metadata[MOST_GPU_RANKS];            /* of as many bytes */
    int multiprocessors;                              /* for the arguments of ragged all-to-alls; 0 */
};

/* Without workspaces and metadata if they have no bytes. */
void gpu_bench_open(struct gpu_bench *bench, struct gpu_group *group, size_t pool_bytes, size_t workspace_bytes);
void gpu_bench_close(struct gpu_bench *bench);

/* The same with the bench's group. */
void gpu_bench_close_all(struct gpu_bench *bench);

/* Writes what is expected of a pool to the device, on the rank's stream. */
void gpu_bench_write(const struct gpu_bench *bench, int rank, int pool, size_t bytes);

/* Compares both pools of a rank, byte for byte; the text says after what. */
void gpu_bench_compare(const struct gpu_bench *bench, int rank, size_t bytes, const char *when);

#endif
