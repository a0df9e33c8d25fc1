/*
 * Tests that run in several ways between the ranks: within a host, between two hosts, over NCCL, over a fabric, and on GPUs
 * of one host.  For suites.
 */
#ifndef HARNESS_WAYS_H
#define HARNESS_WAYS_H

#include "harness/check.h"
#include "harness/gpu_bench.h"

/* A test for the ranks that one thread drives. */
typedef void way_function(struct rank *rank, struct rank_bench *bench);

/*
 * On CPUs: threads and processes of one host, and of two.  On GPUs: all ranks by one thread, if `operations` says what they need;
 * and, where one configuration of emulated GPUs is enough for it, processes of two hosts, over NCCL and, with `operations`, over a
 * fabric.
 */
void check_each_way_of(struct ranks ranks, way_function *function);

/* A test whose ranks have a bench, in each way. */
#define TEST_EACH_WAY(suite, name, ...) \
    static way_function suite##_##name##_with; \
    static quern_status suite##_##name##_of_rank(struct rank *rank) { \
        struct rank_bench bench CLOSED_BY(rank_bench_close); \
        rank_bench_begin(rank, &bench); \
        suite##_##name##_with(rank, &bench); \
        return QUERN_OK; \
    } \
    Test(suite, name) { \
        check_each_way_of((struct ranks){.function = suite##_##name##_of_rank, __VA_ARGS__}, suite##_##name##_with); \
    } \
    static void suite##_##name##_with(__attribute__((unused)) struct rank *rank, struct rank_bench *bench)

#endif
