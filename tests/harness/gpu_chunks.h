/*
 * Quantised chunks of GPU ranks that one thread drives: makes the memory of a case, runs a call, and compares every byte.
 *
 * On a second stream of each rank the chunks can be copied as soon as they are ready, so that one that is announced too early is
 * found.
 */
#ifndef HARNESS_GPU_CHUNKS_H
#define HARNESS_GPU_CHUNKS_H

#include "harness/chunks_case.h"
#include "harness/cuda.h"
#include "harness/gpu_group.h"

enum { GPU_CHUNKS_MOST = 40 };

/* The memory of a group, for any number of calls. */
struct gpu_chunks {
    struct gpu_group *group;
    size_t pool_bytes;                         /* of each rank's memory, of both kinds */
    unsigned char *symmetric[GPU_CHUNKS_MOST]; /* of each rank, in its device's memory */
    unsigned char *input[GPU_CHUNKS_MOST], *seen[GPU_CHUNKS_MOST], *results[GPU_CHUNKS_MOST], *workspace[GPU_CHUNKS_MOST];
    void *second[GPU_CHUNKS_MOST];             /* streams */
};

void gpu_chunks_open(struct gpu_chunks *bench, struct gpu_group *group, size_t pool_bytes);
void gpu_chunks_close(struct gpu_chunks *bench);

/* Writes the inputs and fills the outputs with rubbish and the words with 0. */
void gpu_chunks_fill(struct gpu_chunks *bench, const struct chunks_case *c);

/* The arguments of a rank; `order` has room for the chunks. */
quern_quantize_chunks_args gpu_chunks_arguments(const struct gpu_chunks *bench, const struct chunks_case *c, int rank,
                                                uint32_t value, int *order);

quern_status gpu_chunks_call(const struct gpu_chunks *bench, int rank, const quern_quantize_chunks_args *args);

/* Enqueues on each rank's second stream, for all chunks in an order of its own: a wait for it, and a copy. */
void gpu_chunks_poll(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value);

/* Makes the call of every member. */
void gpu_chunks_enqueue(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value);

/* Waits for both streams of all ranks. */
void gpu_chunks_synchronize(const struct gpu_chunks *bench);

/* Compares outputs, words, guards and results; and what the second stream has seen. */
void gpu_chunks_compare(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value, bool polled);

/* All steps. */
void gpu_chunks_run(struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value, bool polled);

#endif
