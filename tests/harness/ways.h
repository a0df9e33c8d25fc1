/* Tests that run in several ways between the ranks: within a host, between two hosts, over NCCL.  For suites. */
#ifndef HARNESS_WAYS_H
#define HARNESS_WAYS_H

#include "harness/check.h"
#include "harness/rank_bench.h"

/* On CPUs: threads and processes of one host, and of two.  On emulated GPUs: processes of two hosts, over NCCL. */
void check_each_way_of(struct ranks ranks);
#define check_each_way(...) check_each_way_of((struct ranks){__VA_ARGS__})

/* A test whose ranks have a bench, in each way. */
#define TEST_EACH_WAY(suite, name, ...) \
    static void suite##_##name##_with(struct rank *rank, struct rank_bench *bench); \
    static quern_status suite##_##name##_of_rank(struct rank *rank) { \
        struct rank_bench bench CLOSED_BY(rank_bench_close); \
        rank_bench_begin(rank, &bench); \
        suite##_##name##_with(rank, &bench); \
        return QUERN_OK; \
    } \
    Test(suite, name) { check_each_way(.function = suite##_##name##_of_rank, __VA_ARGS__); } \
    static void suite##_##name##_with(struct rank *rank, struct rank_bench *bench)

#endif
