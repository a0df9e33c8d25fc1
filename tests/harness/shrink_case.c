/* Shrinks groups and uses what is left.  shrink_case.h documents the functions. */
#include "harness/shrink_case.h"

#include <time.h>

#include "harness/ragged_case.h"
#include "harness/transfer_case.h"
#include "ranks/handles.h"

int shrink_case_rounds(int usual) {
    const char *wanted = getenv("QUERN_TEST_SHRINKS");
    return wanted ? atoi(wanted) : usual;
}

void shrink_case_die_after(double seconds) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9) + 1}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL)) raise(SIGKILL);
}

quern_group *shrink_case_group(struct rank *rank, double limit) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    member->first_timeout = limit;
    return group;
}

static bool is_quorum(unsigned living, int ranks) {
    const int twice = 2 * __builtin_popcount(living);
    return twice > ranks || (twice == ranks && living & 1);
}

void shrink_case_use(struct rank *rank, quern_group *group) {
    struct rank as_new = *rank;
    struct rank_bench bench;
    as_new.rank = quern_group_rank(group);
    as_new.ranks = quern_group_size(group);
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_bench_take(&bench, &as_new, group, 5 << 19);
    for (uint64_t i = 0; i < 3; i++) {
        ragged_run_cases(&bench, &(struct ragged_batch){.first = 81000 + i, .cases = 1});
    }
    transfer_run_case(&as_new, group, 82000, &(struct transfer_choice){.lists = 1, .items = 12, .largest = 9000, .rounds = 2});
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_bench_close(&bench);
}

void shrink_case_check(struct rank *rank, const quern_group *group, unsigned living) {
    rank_check(rank, quern_group_size(group) == __builtin_popcount(living), "the group has %d ranks: expected those of %#x",
               quern_group_size(group), living);
    rank_check(rank, quern_group_rank(group) == __builtin_popcount(living & ((1u << rank->rank) - 1)), "rank %d of %#x is %d",
               rank->rank, living, quern_group_rank(group));
}

quern_status shrink_case_run(struct rank *rank, quern_group *group, unsigned living) {
    quern_group *new = NULL;
    char counts[64];
    if (!is_quorum(living, rank->ranks)) {
        rank_status(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_LOST);
        snprintf(counts, sizeof counts, "%d of the %d ranks have answered within", __builtin_popcount(living), rank->ranks);
        rank_check_detail(rank, counts);
        snprintf(counts, sizeof counts, " s: %d are required", rank->ranks / 2 + 1);
        rank_check_detail(rank, counts);
        rank_check(rank, !new, "a handle was written");
        return quern_group_destroy(group);
    }
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    shrink_case_check(rank, new, living);
    rank_ok(rank, quern_group_destroy(group));
    shrink_case_use(rank, new);
    return QUERN_OK;
}
