/*
 * How a group ends: which ranks are missing, why a rank has aborted it, and after which time.
 *
 * Runs on: ranks.
 */
#include <float.h>

#include "harness/check.h"
#include "harness/ranks.h"
#include "ranks/handles.h"

enum { WORDS = QUERN_MAX_RANKS / 64 };

static bool is_in(const uint64_t *mask, int rank) { return mask[rank / 64] >> rank % 64 & 1; }

/* Exactly the ranks from `first` to `last` are missing; last < first: none. */
static void expect_missing(struct rank *rank, const quern_group *group, int first, int last) {
    uint64_t mask[WORDS + 1] = {~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0};
    rank_ok(rank, quern_group_missing(group, mask, WORDS + 1));
    rank_check(rank, mask[WORDS] == 0, "not all words are written");
    for (int other = 0; other < QUERN_MAX_RANKS; other++) {
        const bool missing = other >= first && other <= last && other < rank->ranks && other != rank->rank;
        rank_check(rank, is_in(mask, other) == missing, "rank %d: %s", other, missing ? "not missing" : "missing");
    }
}

/* ---- limits that end ---- */

/* Waits until these ranks sleep in a barrier. */
static void await_sleepers(struct rank *rank, quern_group *group, int first, int last) {
    const double end = rank_now() + RANK_SOON;
    struct quern_membership *member = rank_member_of(rank, group);
    for (int other = first; other <= last; other++)
        for (; !__atomic_load_n(&member->segment->rank[other].asleep_in_meeting, __ATOMIC_ACQUIRE); rank_sleep(1e-3))
            rank_check(rank, rank_now() < end, "rank %d does not sleep", other);
}

/* The upper half of the ranks does not come, and the limit of rank 0, which comes last, is the first to end. */
static void come_by_half(struct rank *rank, quern_group *group) {
    const int first = rank->ranks / 2;
    expect_missing(rank, group, 1, 0);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank < first) {
        quern_barrier_args args = BARRIER_ARGS(.timeout = rank->rank ? RANK_LIMIT : 0.2);
        if (!rank->rank) await_sleepers(rank, group, 1, first - 1);
        rank_status(rank, quern_barrier(group, &args, NULL), QUERN_PEER_TIMEOUT);
        expect_missing(rank, group, first, rank->ranks - 1);
    }
    rank_line_up(rank);
    expect_missing(rank, group, first, rank->ranks - 1);
    rank_line_up(rank);
}

Test(missing, ranks_that_do_not_come) {
    check_ranks(.kind = RANK_BOTH, .count = 2, .in_group = come_by_half);
    check_ranks(.kind = RANK_BOTH, .count = 5, .in_group = come_by_half);
    check_ranks(.kind = RANK_THREADS, .count = 100, .in_group = come_by_half);
}

/* A poison of a rank that the group does not have. */
TEST_GROUP(missing, none_by_a_rank_that_does_not_exist, .kind = RANK_BOTH, .count = 3) {
    struct quern_membership *member = rank_member_of(rank, group);
    rank_line_up(rank);
    if (rank->rank == 0) {
        memset(quern_place(member->roster, 0)->reason.missing, 0xff, sizeof quern_place(member->roster, 0)->reason.missing);
        member->segment->poison_by = 0x00ff0000 | QUERN_PEER_TIMEOUT;
        __atomic_store_n(&member->segment->poison, QUERN_PEER_TIMEOUT, __ATOMIC_SEQ_CST);
    }
    rank_line_up(rank);
    expect_missing(rank, group, 1, 0);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_TIMEOUT);
    rank_check_detail(rank, "a process that is no rank writes into the group's shared memory");
    rank_line_up(rank);
}

/* What a rank has written there, another process may overwrite. */
TEST_GROUP(missing, never_the_rank_itself_or_more_than_there_are, .kind = RANK_BOTH, .count = 3) {
    struct quern_membership *member;
    quern_barrier_args args = BARRIER_ARGS(.timeout = 0.1);
    rank_line_up(rank);
    if (rank->rank == 0) {
        rank_ok(rank, quern_member_of(group, &member));
        rank_status(rank, quern_barrier(group, &args, NULL), QUERN_PEER_TIMEOUT);
        memset(quern_place(member->roster, 0)->reason.missing, 0xff, sizeof quern_place(member->roster, 0)->reason.missing);
    }
    rank_line_up(rank);
    expect_missing(rank, group, 0, rank->ranks - 1);
    rank_line_up(rank);
}

/* ---- ranks that end or leave ---- */

/* Waits until so many ranks have made this call, once each. */
static void await_all_others(struct rank *rank, int ranks) {
    unsigned *arrived = rank->shared;
    __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < (unsigned)ranks) rank_sleep(1e-3);
}

static void end_or_leave(struct rank *rank, quern_group *group) {
    const bool *by_signal = rank->user;
    const int last = rank->ranks - 1;
    rank_line_up(rank);
    if (rank->rank == last) {
        if (*by_signal) kill(getpid(), SIGKILL);
        return;
    }
    uint64_t mask[WORDS] = {0};
    for (double began = rank_now(); !is_in(mask, last) && rank_now() - began < RANK_SOON; rank_sleep(1e-3))
        rank_ok(rank, quern_group_missing(group, mask, WORDS));
    rank_ok(rank, quern_group_status(group));  /* nobody has waited for it */
    expect_missing(rank, group, last, last);
    await_all_others(rank, last);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_LOST);
    uint64_t word = 0;
    rank_ok(rank, quern_group_missing(group, &word, 1));
    rank_check(rank, word == (uint64_t)1 << last || (word & (uint64_t)1 << last), "%llx is missing", (unsigned long long)word);
}

Test(missing, a_rank_that_leaves) { check_ranks(.kind = RANK_BOTH, .count = 3, .in_group = end_or_leave, .user = &(bool){false}); }

Test(missing, a_rank_that_is_killed) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .in_group = end_or_leave, .user = &(bool){true}, .may_die = 1 << 2);
}

static void ask_wrongly(struct rank *rank, quern_group *group) {
    uint64_t mask[2] = {5, 5};
    rank_refused(rank, quern_group_missing(group, NULL, 2), QUERN_NULL_POINTER, "mask is NULL");
    rank_refused(rank, quern_group_missing(group, mask, 1), QUERN_INVALID_ARGUMENT, "words is 1: expected at least 2 for 65 ranks");
    rank_status(rank, quern_group_missing(group, mask, -1), QUERN_INVALID_ARGUMENT);
    rank_check(rank, mask[0] == 5 && mask[1] == 5, "a refused call wrote the mask");
    rank_ok(rank, quern_barrier(group, NULL, NULL));
}

Test(missing, refuses_short_masks) {
    uint64_t mask[2];
    check_refused(quern_group_missing(NULL, mask, 2), QUERN_NULL_POINTER, "group is NULL");
    check_ranks(.kind = RANK_THREADS, .count = 65, .in_group = ask_wrongly);
}

/* ---- reasons of an abort ---- */

#define TEN(text) text text text text text text text text text text
#define KEPT TEN(TEN("x")) TEN("xxxxxx")  /* of a long reason */

static const struct reason {
    const char *given, *told;  /* `told` is how the detail ends */
} reasons[] = {
    {NULL, "rank 1 has aborted the group"},
    {"", "rank 1 has aborted the group"},
    {"the loss is NaN at step 17", "rank 1 has aborted the group: the loss is NaN at step 17"},
    {"two\nlines\x7f", "rank 1 has aborted the group: two?lines?"},
    {"%s%n%d", "rank 1 has aborted the group: %s%n%d"},
    {KEPT, "rank 1 has aborted the group: " KEPT},
    {TEN(TEN(TEN("x"))), "rank 1 has aborted the group: " KEPT},
};

static bool ends_with(const char *text, const char *end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

TEST_BODY(missing, an_abort_has_a_reason, .kind = RANK_BOTH, .count = 3) {
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char detail[512];
        quern_group *group = rank_group(rank, RANK_LIMIT);
        if (rank->rank == 1) {
            rank_ok(rank, quern_group_abort(group, reasons[i].given));
            rank_ok(rank, quern_group_abort(group, "a second reason"));
        }
        rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_GROUP_ABORTED);
        quern_error_detail(detail, sizeof detail);
        rank_check(rank, ends_with(detail, reasons[i].told), "\"%s\" instead of \"%s\"", detail, reasons[i].told);
        expect_missing(rank, group, 1, 0);
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
    }
}

static const char *const rival_reasons[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"};

struct rival {
    quern_group *group;
    int which;
};

static void *abort_as_rival(void *user) {
    const struct rival *rival = user;
    return quern_group_abort(rival->group, rival_reasons[rival->which]) == QUERN_OK ? NULL : user;
}

/* Two threads abort with one handle: the reason is that of one of them, whole. */
TEST_BODY(missing, two_threads_abort_at_once, .kind = RANK_BOTH, .count = 2) {
    for (int round = 0; round < 50; round++) {
        quern_group *group = rank_group(rank, RANK_LIMIT);
        rank_line_up(rank);  /* an abort would end the creation of the other one */
        struct rival rivals[2] = {{group, 0}, {group, 1}};
        pthread_t threads[2];
        char detail[512];
        for (int i = 0; rank->rank == 0 && i < 2; i++)
            rank_check(rank, pthread_create(&threads[i], NULL, abort_as_rival, &rivals[i]) == 0, "no thread");
        quern_status status = QUERN_OK;
        while (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
        rank_status(rank, status, QUERN_GROUP_ABORTED);
        quern_error_detail(detail, sizeof detail);
        rank_check(rank, ends_with(detail, rival_reasons[0]) || ends_with(detail, rival_reasons[1]), "\"%s\"", detail);
        for (int i = 0; rank->rank == 0 && i < 2; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            rank_check(rank, !failed, "an abort failed");
        }
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
    }
}

/* ---- the limits ---- */

static quern_group *group_with_limits(struct rank *rank, double timeout, double first_timeout) {
    quern_group_args args = rank_group_args(rank, timeout);
    args.first_timeout = first_timeout;
    return rank_create(rank, &args);
}

/*
 * Rank 1 is late for the creation, for memory and for the first barriers of the group and of a part; and then it does not come to a
 * second one, which is not awaited so long.
 */
TEST_RANKS(missing, the_first_call_has_a_limit_of_its_own, .kind = RANK_BOTH, .count = 2) {
    const size_t bytes = 64;
    if (rank->rank) rank_sleep(0.4);
    quern_group *group = group_with_limits(rank, 0.1, RANK_LIMIT), *part;
    if (rank->rank) rank_sleep(0.4);
    rank_allocate(rank, group, bytes);
    rank_ok(rank, quern_group_split(&group, 1, (int[]){0}, (int[]){0}, &part));
    if (rank->rank) rank_sleep(0.4);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank) rank_sleep(0.4);
    rank_ok(rank, quern_barrier(part, NULL, NULL));  /* the part has a first call of its own */
    rank_ok(rank, quern_group_destroy(part));
    while (rank->rank && quern_group_status(group) == QUERN_OK) rank_sleep(1e-3);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_TIMEOUT);
    return quern_group_destroy(group);
}

TEST_BODY(missing, limits_that_are_not_given, .kind = RANK_THREADS, .count = 1) {
    static const double limits[][4] = {  /* timeout, first_timeout, and those that result */
        {0, 0, 60, 60}, {5, 0, 5, 5}, {5, 9, 5, 9}, {0, 9, 60, 9}, {INFINITY, 0, INFINITY, INFINITY}, {5, INFINITY, 5, INFINITY},
        {9, 1, 9, 1}, {DBL_TRUE_MIN, 0, DBL_TRUE_MIN, DBL_TRUE_MIN}, {0.25, 0, 0.25, 0.25}, {60.5, 0, 60.5, 60.5},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        quern_group *group = group_with_limits(rank, limits[i][0], limits[i][1]), *part;
        struct quern_membership *member = rank_member_of(rank, group);
        rank_check(rank, member->timeout == limits[i][3], "limits %zu: %g s at first", i, member->timeout);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_check(rank, member->timeout == limits[i][2], "limits %zu: %g s after the first call", i, member->timeout);
        rank_ok(rank, quern_group_split(&group, 1, (int[]){0}, (int[]){0}, &part));
        rank_ok(rank, quern_member_of(part, &member));
        rank_check(rank, member->timeout == limits[i][3], "limits %zu: %g s at first in a part", i, member->timeout);
        rank_ok(rank, quern_group_destroy(part));
        rank_ok(rank, quern_group_destroy(group));
    }
}
