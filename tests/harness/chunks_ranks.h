/* Runs cases of quantised chunks between CPU ranks, each with a thread that reads chunks as they come.  Needs no Criterion. */
#ifndef HARNESS_CHUNKS_RANKS_H
#define HARNESS_CHUNKS_RANKS_H

#include "harness/chunks_case.h"
#include "harness/ranks.h"

/* The memory of a rank, for any number of cases. */
struct chunks_bench {
    struct rank *rank;
    quern_group *group;
    unsigned char *pool, *expected;   /* symmetric memory, and its contents after a call */
    int64_t pool_bytes;
};

/* Collective. */
void chunks_bench_open(struct chunks_bench *bench, struct rank *rank, double timeout, int64_t pool_bytes);
void chunks_bench_close(struct chunks_bench *bench);

/* Random cases one after the other: their seeds, their number, and the threads and the pool of a rank (0: one, 128 KiB). */
struct chunks_batch {
    uint64_t first;
    int cases;
    struct chunks_choice choice;
    int threads;
    int64_t pool_bytes;
};

/* A rank_function; its user is a batch. */
quern_status chunks_run_batch(struct rank *rank);

#endif
