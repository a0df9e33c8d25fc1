/* Collectives of GPU ranks that one thread drives: fills their memory, runs a call, and compares every byte of it. */
#ifndef HARNESS_GPU_COLLECTIVE_H
#define HARNESS_GPU_COLLECTIVE_H

#include "harness/collective_case.h"
#include "harness/gpu_bench.h"

struct gpu_collective_case {
    enum collective_operation operation;
    quern_dtype dtype;
    quern_combination combination;
    int64_t count;
    int root;
    uint64_t members;            /* bit mask; 0: all ranks */
    bool in_place;
    bool is_private;             /* all buffers in private memory, each rank's elsewhere: small calls */
    int multiprocessors;
    uint64_t seed;               /* of the places and the values */
};

/* The buffers of one rank's call, in bytes from the beginning of a pool. */
struct gpu_collective_buffers {
    int input_pool, output_pool;
    int64_t input, output, input_bytes, output_bytes;
};

/* Fills all pools of all ranks with values of the case's dtype; the expected contents are the same. */
void gpu_collective_fill(struct gpu_bench *bench, const struct gpu_collective_case *c, uint64_t call);

/* Applies the call to the expected contents. */
void gpu_collective_expect(struct gpu_bench *bench, const struct gpu_collective_case *c);

struct gpu_collective_buffers gpu_collective_place(const struct gpu_bench *bench, const struct gpu_collective_case *c,
                                                   int rank);

/* The arguments of a rank.  `members` has room for all ranks. */
quern_collective_args gpu_collective_arguments(const struct gpu_bench *bench, const struct gpu_collective_case *c, int rank,
                                               int *members);

/* Makes a call on a rank's stream. */
quern_status gpu_collective_call(const struct gpu_bench *bench, enum collective_operation operation, int rank,
                                 const quern_collective_args *args);

/* Makes the call of every member. */
void gpu_collective_enqueue(const struct gpu_bench *bench, const struct gpu_collective_case *c);

/* Waits, and compares all pools of all ranks, byte for byte. */
void gpu_collective_compare(const struct gpu_bench *bench, const struct gpu_collective_case *c, const char *when);

/* All steps. */
void gpu_collective_run(struct gpu_bench *bench, const struct gpu_collective_case *c);

#endif
