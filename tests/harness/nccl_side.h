/*
 * A rank of a group of several hosts with a GPU of its own, over the stand-in for NCCL (tests/nccl).  The emulated machine has a
 * GPU for each rank.  The hosts are names at addresses of this machine.
 */
#ifndef HARNESS_NCCL_SIDE_H
#define HARNESS_NCCL_SIDE_H

#include "harness/ranks.h"
#include "runtime/cuda_driver.h"

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

/* The same with a limit that does not end, and the end of it: a test whose ranks have a side. */
void nccl_begin(struct rank *rank, struct nccl_side *side);
void nccl_end(struct rank *rank, struct nccl_side *side);
#define TEST_SIDE(...) TEST_WITH(struct nccl_side, side, nccl_begin, nccl_end, __VA_ARGS__)
#define TEST_SIDE_FOR(...) TEST_WITH_FOR(struct nccl_side, side, nccl_begin, nccl_end, __VA_ARGS__)

/* A barrier of all ranks, whose end this one waits for. */
void nccl_meet(const struct nccl_side *side);

/* Memory of the GPU of a side; copies between it and the host, on the side's stream, and on another one. */
void *nccl_allocate(void *side, int64_t bytes);
void nccl_release(void *side, void *memory);
void *nccl_map(void *side, int64_t bytes, int kinds);  /* of cuMemCreate, with handles of these kinds, in whole pages of 2 MiB */
void nccl_unmap(void *side, void *memory);
void nccl_put(void *side, void *to, const void *from, int64_t bytes);
void nccl_get(void *side, void *to, const void *from, int64_t bytes);

/* A function of the driver that the library does not use. */
void *nccl_symbol(const char *name);

/* Calls a function of the host in stream order. */
void nccl_enqueue(const struct nccl_side *side, CUstream stream, void (*function)(void *user), void *user);

/* The side's stream is captured between both; the second one forgets the graph, or returns what can be launched and ended. */
void nccl_begin_capture(const struct nccl_side *side);
void nccl_end_capture(const struct nccl_side *side);
void nccl_drop_capture(const struct nccl_side *side);  /* the former, also if the capture has become invalid */
void *nccl_take_graph(const struct nccl_side *side);
void nccl_take_graphs(const struct nccl_side *side, void *executables[], int count);  /* several of one graph */
void nccl_launch_graph(const struct nccl_side *side, void *executable);
void nccl_end_graph(const struct nccl_side *side, void *executable);

/* Returns the status of quern_group_destroy. */
quern_status nccl_close(struct nccl_side *side);

/* The status of the group as soon as it is not QUERN_OK. */
quern_status nccl_await_status(struct nccl_side *side, double seconds);

/* A function of the stand-in without arguments that returns a number. */
long nccl_ask(const char *name);

/* The bytes that this process has sent to a rank so far. */
long nccl_bytes_to(int rank);

#endif
