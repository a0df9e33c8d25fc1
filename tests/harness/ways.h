/* Tests that run twice: with a connection for each pair of ranks of two hosts, and over the relays of the hosts.  For suites. */
#ifndef HARNESS_WAYS_H
#define HARNESS_WAYS_H

#include "harness/check.h"
#include "harness/ranks.h"
#include "ranks/segment.h"

#define TEST_BOTH_WAYS(suite, name, ...) \
    static void suite##_##name(void); \
    Test(suite, name, ##__VA_ARGS__) { suite##_##name(); } \
    Test(suite, name##_relayed, ##__VA_ARGS__) { \
        quern_most_direct = 0; \
        suite##_##name(); \
    } \
    static void suite##_##name(void)

/* As TEST_RANKS. */
#define BOTH_WAYS_RANKS(suite, name, ...) \
    static quern_status suite##_##name##_of_rank(struct rank *rank); \
    TEST_BOTH_WAYS(suite, name) { check_ranks(.function = suite##_##name##_of_rank, __VA_ARGS__); } \
    static quern_status suite##_##name##_of_rank(struct rank *rank)

#endif
