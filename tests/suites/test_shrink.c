/*
 * The living ranks of a group form a new one: after failures, and while further ranks end.
 *
 * Runs on: ranks.
 */
#include <sys/resource.h>

#include "harness/check.h"
#include "harness/random.h"
#include "harness/shrink_case.h"
#include "ranks/handles.h"

/* The new group has these ranks of the old one (a bit mask), in their order, and works. */
static void expect_group(struct rank *rank, quern_group *group, unsigned living) {
    shrink_case_check(rank, group, living);
    for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
}

static quern_group *shrink(struct rank *rank, quern_group *group) {
    quern_group *new = NULL;
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    return new;
}

/* ---- ranks that have gone before ---- */

/* The highest rank begins, and the others wait in a barrier.  A second shrink is refused. */
TEST_RANKS_FOR(shrink, a_group_of_which_all_live, for (int ranks = 1; ranks <= 5; ranks++), .kind = RANK_BOTH, .count = ranks) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *again = NULL;
    if (rank->rank < rank->ranks - 1)
        rank_refused(rank, quern_barrier(group, NULL, NULL), QUERN_GROUP_ABORTED, "it is being shrunk");
    quern_group *new = shrink(rank, group);
    expect_group(rank, new, (1u << rank->ranks) - 1);
    rank_refused(rank, quern_group_shrink(&group, 1, &again), QUERN_INVALID_ARGUMENT, "was shrunk before");
    rank_check(rank, !again, "a handle was written");
    rank_ok(rank, quern_group_destroy(group));
    expect_group(rank, new, (1u << rank->ranks) - 1);
    return quern_group_destroy(new);
}

/* The ranks of the mask that the test passes leave or are killed, those that are odd by destroying their handles. */
static quern_status go_or_shrink(struct rank *rank) {
    const unsigned gone = *(const unsigned *)rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (gone >> rank->rank & 1) {
        if (rank->kind == RANK_PROCESSES && rank->rank % 2 == 0) raise(SIGKILL);
        return quern_group_destroy(group);
    }
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_LOST);
    quern_group *new = shrink(rank, group);
    expect_group(rank, new, ((1u << rank->ranks) - 1) & ~gone);
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

static void check_gone(enum rank_kind kind, int count, unsigned gone) {
    const char *wrong = ranks_run(&(struct ranks){.kind = kind, .count = count, .function = go_or_shrink, .user = &gone,
                                                  .may_die = kind == RANK_PROCESSES ? gone & 0x55 : 0});
    check(!wrong, "%d ranks without %#x: %s", count, gone, wrong);
}

Test(shrink, without_those_that_have_gone) {
    for (size_t i = 0; i < sizeof rank_kinds / sizeof *rank_kinds; i++)
        for (int count = 2; count <= 4; count++)
            for (unsigned gone = 1; gone + 1 < 1u << count; gone++) check_gone(rank_kinds[i], count, gone);
}

/* Rank 1 does not come in time.  It learns so, and does not wait, which it would for long. */
TEST_RANKS(shrink, without_one_that_comes_too_late, .kind = RANK_BOTH, .count = 4) {
    static const double limit = 5;  /* the time in which the others come */
    unsigned *have_shrunk = rank->shared;
    quern_group *group = shrink_case_group(rank, rank->rank == 1 ? RANK_LIMIT : limit), *new = NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        while (__atomic_load_n(have_shrunk, __ATOMIC_ACQUIRE) < (unsigned)rank->ranks - 1) rank_sleep(1e-3);
        const double began = rank_now();
        rank_refused(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_TIMEOUT, "without this one, which came too late");
        rank_check(rank, !new && rank_now() - began < RANK_SOON, "a handle or a wait of %g s", rank_now() - began);
    } else {
        const double began = rank_now();
        new = shrink(rank, group);
        rank_check(rank, rank->rank || rank_now() - began > limit / 2, "rank 1 was awaited for %g s", rank_now() - began);
        __atomic_add_fetch(have_shrunk, 1, __ATOMIC_ACQ_REL);
        expect_group(rank, new, ((1u << rank->ranks) - 1) & ~2u);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

/* Rank 2 cannot open a file: the others do not wait for it. */
TEST_RANKS(shrink, without_one_that_fails, .kind = RANK_PROCESSES, .count = 4) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    struct rlimit before, none;
    rank_check(rank, getrlimit(RLIMIT_NOFILE, &before) == 0, "no limit of files");
    none = (struct rlimit){0, before.rlim_max};
    if (rank->rank == 2) {
        setrlimit(RLIMIT_NOFILE, &none);
        rank_status(rank, quern_group_shrink(&group, 1, &new), QUERN_SYSTEM_ERROR);
        setrlimit(RLIMIT_NOFILE, &before);
        rank_check(rank, !new, "a handle was written");
    } else {
        new = shrink(rank, group);
        expect_group(rank, new, ((1u << rank->ranks) - 1) & ~4u);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

/* ---- ranks that are killed meanwhile ---- */

enum { CROWD = 6, ROUNDS = 60 };

struct doom {
    unsigned victims;       /* a bit mask */
    double after[CROWD];    /* seconds from the begin of the first shrink */
};

/* Shrinks until only those are left whom nobody kills. */
static quern_status outlive(struct rank *rank) {
    const struct doom *doom = rank->user;
    const unsigned living = ((1u << rank->ranks) - 1) & ~doom->victims;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (doom->victims >> rank->rank & 1) shrink_case_die_after(doom->after[rank->rank]);
    for (quern_status status = QUERN_PEER_LOST; status != QUERN_OK || quern_group_size(group) > __builtin_popcount(living);) {
        quern_group *new = shrink(rank, group);
        rank_ok(rank, quern_group_destroy(group));
        group = new;
        do status = quern_barrier(group, NULL, NULL);
        while (status == QUERN_OK && quern_group_size(group) > __builtin_popcount(living));
        rank_check(rank, status == QUERN_OK || status == QUERN_PEER_LOST || status == QUERN_GROUP_ABORTED, "%s",
                   quern_status_string(status));
    }
    expect_group(rank, group, living);
    return quern_group_destroy(group);
}

static void outlive_round(uint64_t round) {
    struct doom doom = {0};
    for (int rank = 0; rank < CROWD; rank++) {
        const bool is_killed = rank != (int)(round % CROWD) && random_uniform(round, (uint64_t)rank) < 0.5;
        doom.victims |= (unsigned)is_killed << rank;
        doom.after[rank] = 0.02 * pow(random_uniform(round, (uint64_t)(CROWD + rank)), 3);
    }
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = CROWD, .function = outlive, .user = &doom,
                                                  .may_die = doom.victims});
    check(!wrong, "round %d: %s", (int)round, wrong);
}

Test(shrink, while_others_are_killed) {
    for (int round = 0; round < shrink_case_rounds(ROUNDS); round++) outlive_round((uint64_t)round);
}

/* ---- what the new group has of the old one ---- */

TEST_RANKS_FOR(shrink, keeps_the_limits, for (int hosts = 0; hosts <= 2; hosts += 2), .kind = hosts ? RANK_PROCESSES : RANK_BOTH,
               .count = 3, .hosts = hosts) {
    quern_group_args args = rank_group_args(rank, 5);
    args.first_timeout = rank->rank ? RANK_LIMIT : INFINITY;
    if (rank->hosts) rank_hosts_args(&args)->failure_timeout = 33.3;
    quern_group *group = rank_create(rank, &args);
    rank_line_up(rank);  /* a shrink ends a creation that another rank has not left yet */
    quern_group *new = shrink(rank, group);
    struct quern_membership *member = rank_member_of(rank, new);
    rank_check(rank, member->timeout == args.first_timeout, "%g s at first", member->timeout);
    rank_check(rank, !rank->hosts || member->failure_timeout == 33300000, "a silence of %u us", member->failure_timeout);
    rank_ok(rank, quern_barrier(new, NULL, NULL));
    rank_check(rank, member->timeout == 5, "%g s after the first call", member->timeout);
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

/* Odd and even ranks are groups of their own, which do not learn of each other's change. */
TEST_GROUP(shrink, a_part_of_a_group, .kind = RANK_BOTH, .count = 6) {
    quern_group *part = NULL;
    rank_ok(rank, quern_group_split(&group, 1, (int[]){rank->rank % 2}, (int[]){0}, &part));
    if (rank->rank == 2) rank_ok(rank, quern_group_destroy(part));
    quern_group *new = rank->rank == 2 ? NULL : rank->rank % 2 ? part : shrink(rank, part);
    if (rank->rank % 2 == 0 && rank->rank != 2) rank_ok(rank, quern_group_destroy(part));
    if (new) expect_group(rank, new, rank->rank % 2 ? 0x2a : 0x11);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_destroy(new));
}

/* ---- refusals ---- */

TEST_RANKS(shrink, refuses_wrong_arguments, .kind = RANK_BOTH, .count = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *twice[2] = {group, group}, *none[1] = {NULL};
    rank_status(rank, quern_group_shrink(&group, 1, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_group_shrink(NULL, 1, none), QUERN_NULL_POINTER);
    rank_status(rank, quern_group_shrink(none, 1, none), QUERN_NULL_POINTER);
    rank_status(rank, quern_group_shrink(twice, 2, twice), QUERN_INVALID_ARGUMENT);
    rank_status(rank, quern_group_shrink(twice, 0, twice), QUERN_INVALID_ARGUMENT);
    rank_line_up(rank);
    rank_ok(rank, quern_barrier(group, NULL, NULL));  /* nothing was done */
    quern_group *new = shrink(rank, group);
    rank_ok(rank, quern_group_destroy(group));
    rank_status(rank, quern_group_shrink(&group, 1, twice), QUERN_INVALID_ARGUMENT);
    return quern_group_destroy(new);
}

/* Words that no rank writes: the call ends, and no rank has a group with one that has another. */
TEST_BODY(shrink, words_that_others_have_written, .kind = RANK_BOTH, .count = 3) {
    for (uint32_t seed = 0; seed < 30; seed++) {
        quern_group *group = shrink_case_group(rank, 0.3), *new = NULL;
        struct quern_membership *member = rank_member_of(rank, group);
        rank_line_up(rank);
        const uint32_t scribbled = (uint32_t)(4294967296.0 * random_uniform(77, seed)) >> (seed % 4 * 8);
        if (rank->rank == 0) quern_place(member->roster, (int)(seed % 3))->shrink = scribbled;
        rank_line_up(rank);
        const quern_status status = quern_group_shrink(&group, 1, &new);
        rank_check(rank, (status == QUERN_OK) == (new != NULL), "seed %u: %s and a handle", seed, quern_status_string(status));
        if (new) rank_check(rank, quern_group_size(new) <= rank->ranks, "seed %u: %d ranks", seed, quern_group_size(new));
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
        rank_ok(rank, quern_group_destroy(new));
    }
}
