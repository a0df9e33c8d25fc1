/*
 * Tests that run in several ways between the ranks: with a connection for each pair of ranks of two hosts, over the relays of the
 * hosts, within a host, over NCCL.  For suites.
 */
#ifndef HARNESS_WAYS_H
#define HARNESS_WAYS_H

#include "harness/check.h"
#include "harness/rank_bench.h"
#include "ranks/segment.h"

#define TEST_BOTH_WAYS(suite, name, ...) \
    static void suite##_##name(void); \
    Test(suite, name, ##__VA_ARGS__) { suite##_##name(); } \
    Test(suite, name##_relayed, ##__VA_ARGS__) { \
        quern_most_direct = 0; \
        suite##_##name(); \
    } \
    static void suite##_##name(void)

/*
 * On CPUs: threads and processes of one host, of two hosts that are connected, and of two that are relayed.  On emulated GPUs:
 * processes of two hosts, over NCCL.
 */
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

/* As TEST_RANKS. */
#define BOTH_WAYS_RANKS(suite, name, ...) \
    static quern_status suite##_##name##_of_rank(struct rank *rank); \
    TEST_BOTH_WAYS(suite, name) { check_ranks(.function = suite##_##name##_of_rank, __VA_ARGS__); } \
    static quern_status suite##_##name##_of_rank(struct rank *rank)

#endif
