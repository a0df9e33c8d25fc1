/*
 * A rank of a group of several hosts with a GPU of its own, over the stand-in for NCCL (tests/nccl).  The emulated machine has a
 * GPU for each rank.  The hosts are names at addresses of this machine.
 */
#ifndef HARNESS_NCCL_SIDE_H
#define HARNESS_NCCL_SIDE_H

#include "harness/ranks.h"
#include "runtime/cuda_driver.h"

enum { NCCL_GPUS = 8 };

struct nccl_side {
    struct rank *rank;
    const struct quern_cuda *cuda;
    quern_device *device;
    CUstream stream;
    CUdeviceptr word;        /* of 4 bytes */
    quern_group *group;
};

/* Fails the rank unless a driver call succeeds. */
#define cuda_ok(side, call) nccl_check(side, (side)->cuda->call, #call)
void nccl_check(const struct nccl_side *side, CUresult result, const char *what);

/* The GPU alone, and the group too. */
void nccl_open_gpu(struct nccl_side *side, struct rank *rank, int gpu);
quern_group_args nccl_args(const struct nccl_side *side, double timeout);
void nccl_open(struct nccl_side *side, struct rank *rank, double timeout);

/* Returns the status of quern_group_destroy. */
quern_status nccl_close(struct nccl_side *side);

/* The status of the group as soon as it is not QUERN_OK. */
quern_status nccl_await_status(struct nccl_side *side, double seconds);

/* The machine, and the settings of the stand-in, for ranks that start after this. */
void nccl_set_machine(const char *settings);

/* A function of the stand-in without arguments that returns a number. */
long nccl_ask(const char *name);

#endif
