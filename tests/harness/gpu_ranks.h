/*
 * Ranks on GPUs: in several processes, with several threads in each, and several ranks per thread.  They run in the processes of
 * harness/ranks.h, so that no hang and no broken context outlives its case.
 */
#ifndef HARNESS_GPU_RANKS_H
#define HARNESS_GPU_RANKS_H

#include "runtime/cuda_driver.h"
#include "harness/ranks.h"

enum { MOST_PER_THREAD = 8 };

struct gpu_layout {
    int processes, threads, ranks;  /* ranks of one thread, threads of one process */
    int gpus;                       /* rank r has GPU r % gpus; several ranks on one share it */
    uint32_t first_epoch;
    double timeout;                 /* seconds; 0: 20 */
    int askers;                     /* the first ranks, which ask for multicast; 0: all do */
};

/* The ranks of one thread. */
struct gpu_team {
    struct rank *rank;              /* for checks; rank->rank is the process */
    const struct gpu_layout *layout;
    int first, count, all;          /* its ranks are first, first + 1, ...; of so many */
    const struct quern_cuda *cuda;
    quern_device *device[MOST_PER_THREAD];
    CUcontext context[MOST_PER_THREAD];
    CUstream stream[MOST_PER_THREAD];
    quern_group *group[MOST_PER_THREAD];
};

typedef void gpu_function(struct gpu_team *team);

struct gpu_case {
    struct gpu_layout layout;
    gpu_function *function;
    const void *user;
};

/* A rank_function: in each of layout.processes processes, runs the case that rank->user points to, with a group. */
quern_status gpu_run_case(struct rank *rank);

/* The devices alone, and the group alone: for cases without a group, whose layout is passed in rank->user too. */
void gpu_open(struct gpu_team *team);
quern_status gpu_join(struct gpu_team *team);
void gpu_close(struct gpu_team *team);

/* Fails the rank unless a driver call succeeds; the rank's context is current afterwards. */
void gpu_use(struct gpu_team *team, int i);
#define gpu_ok(team, call) gpu_check(team, (team)->cuda->call, #call, __LINE__)
void gpu_check(struct gpu_team *team, CUresult result, const char *call, int line);

/* A driver function that the library does not use; NULL if the driver does not have it. */
void *gpu_symbol(const char *name);

/* A barrier of all ranks of the group; the host waits for it. */
void gpu_meet(struct gpu_team *team);
void gpu_synchronize(struct gpu_team *team, int i);

/* Device memory through any address, accessed from team rank i: written, and checked to be all `value`. */
void gpu_fill(struct gpu_team *team, int i, const void *address, int value, size_t bytes);
void gpu_check_bytes(struct gpu_team *team, int i, const void *address, int value, size_t bytes, const char *what);

#endif
