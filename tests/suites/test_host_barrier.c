/*
 * The barrier of CPU ranks (threads and processes): no rank passes it before all have arrived, for any members, any delay and any
 * values of the counters; sleepers are woken at once.
 *
 * Runs on: ranks.
 */
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "os/futex.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "harness/device.h"
#include "harness/random.h"
#include "harness/ranks.h"

/* Every rank's plain, non-atomic value, which the barrier must order. */
struct board {
    _Alignas(64) struct {
        _Alignas(64) int64_t value;
    } of[QUERN_MAX_RANKS];
};

static quern_barrier_args barrier_of(const int *members, int count) {
    return (quern_barrier_args)BARRIER_ARGS(.members = members, .member_count = count);
}

/* Each member writes, barrier, each reads the values of the others; a second barrier precedes the next writes. */
static void exchange_values(struct rank *rank, quern_group *group, const int *members, int count, int64_t value) {
    struct board *board = rank->shared;
    quern_barrier_args args = barrier_of(members, count);
    board->of[rank->rank].value = value;
    rank_ok(rank, quern_barrier(group, &args, NULL));
    for (int i = 0; i < (members ? count : rank->ranks); i++) {
        int peer = members ? members[i] : i;
        int64_t seen = board->of[peer].value;
        rank_check(rank, seen == value, "round %lld: rank %d has written %lld", (long long)value, peer, (long long)seen);
    }
    rank_ok(rank, quern_barrier(group, &args, NULL));
}

/* ---- rounds ---- */

static void meet_often(struct rank *rank, quern_group *group) {
    const int64_t *rounds = rank->user;
    for (int64_t round = 1; round <= *rounds; round++) exchange_values(rank, group, NULL, 0, round);
}

Test(host_barrier, any_number_of_ranks) {
    static const int counts[] = {1, 2, 3, 4, 8, 31, 32, 33, 64, 128};
    for (size_t i = 0; i < COUNT(counts); i++)
        check_ranks(.kind = RANK_BOTH, .count = counts[i], .in_group = meet_often, .user = &(int64_t){5});
}

/* Two barriers per round.  Threads and processes wait in the same way, so only one kind runs the long version. */
static void check_many(int ranks, int64_t barriers) {
    static const int share[] = {[RANK_THREADS] = 1, [RANK_PROCESSES] = 10};
    for (size_t i = 0; i < COUNT(rank_kinds); i++) {
        int64_t rounds = barriers / 2 / share[rank_kinds[i]] / (test_is_small() ? 100 : 1);
        check_ranks(.kind = rank_kinds[i], .count = ranks, .in_group = meet_often, .user = &rounds,
                    .shared_bytes = sizeof(struct board));
    }
}

Test(host_barrier, a_million_times_with_two_ranks) { check_many(2, 1000000); }

Test(host_barrier, a_hundred_thousand_times_with_four_ranks) { check_many(4, 100000); }

/* Far more ranks than cores.  A lost wake-up costs 50 ms: these rounds would take minutes. */
Test(host_barrier, wakes_sleepers) {
    check_ranks(.kind = RANK_BOTH, .count = 12, .in_group = meet_often, .user = &(int64_t){1000});
}

/* ---- sleep, in place of src/os/futex.c ---- */

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };  /* musl's compiler finds no <linux/futex.h> */

/* Whether only a wake ends the sleep of this thread, which otherwise lasts a twentieth of a second, and whether none has come. */
static _Thread_local bool sleeps_until_woken, was_forgotten;

void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds) {
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    if (sleeps_until_woken) limit = (struct timespec){.tv_sec = RANK_SOON};
    const bool ended = syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0) && errno == ETIMEDOUT;
    was_forgotten |= sleeps_until_woken && ended;
}

void quern_futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

/* How rank 0 ends the sleep of the others: by its arrival, or by an abort of its own or of a second thread. */
enum ending { ARRIVES, ABORTS, ABORTS_IN_THREAD };

static void *abort_group(void *group) { return quern_group_abort(group, NULL) == QUERN_OK ? NULL : group; }

static void end_sleep(struct rank *rank, quern_group *group, enum ending ending, int sleepers) {
    char report[1024];
    void *failed;
    pthread_t thread;
    for (int asleep = 0; asleep < sleepers;) {
        quern_group_report(group, report, sizeof report);
        asleep = 0;
        for (const char *at = report; (at = strstr(at, "waits in ")); at++) asleep++;
    }
    if (ending == ABORTS) rank_ok(rank, quern_group_abort(group, NULL));
    if (ending != ABORTS_IN_THREAD) return;
    rank_check(rank, !pthread_create(&thread, NULL, abort_group, group) && !pthread_join(thread, &failed) && !failed, "no abort");
}

/* The others wait in a barrier of the first two ranks; before an abort in a split, or a barrier of all or of all but the last. */
static void sleep_until_the_end(struct rank *rank) {
    static const int first_ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const enum ending ending = *(const enum ending *)rank->user;
    for (int round = 0; round < 12; round++) {
        const int count = ending ? rank->ranks - (round % 3 == 2 && rank->ranks > 2) : 2;
        const quern_barrier_args args = barrier_of(count < rank->ranks ? first_ranks : NULL, count);
        quern_group *group = rank_group(rank, RANK_LIMIT), *part = group;
        rank_line_up(rank);
        if (rank->rank == 0) end_sleep(rank, group, ending, count - 1);
        if (rank->rank < count && (rank->rank || !ending)) {
            sleeps_until_woken = true;
            const quern_status status = ending && round % 3 == 0 ? quern_group_split(&group, 1, (int[]){0}, (int[]){0}, &part)
                                                                 : quern_barrier(group, &args, NULL);
            sleeps_until_woken = false;
            rank_check(rank, !was_forgotten, "nothing has woken it");
            rank_status(rank, status, ending ? QUERN_GROUP_ABORTED : QUERN_OK);
        }
        rank_line_up(rank);
        rank_status(rank, quern_group_status(group), ending ? QUERN_GROUP_ABORTED : QUERN_OK);
        if (ending) rank_ok(rank, quern_group_abort(group, NULL));
        rank_check(rank, part == group, "a failed split wrote");
        rank_ok(rank, quern_group_destroy(group));
    }
}

Test(host_barrier, wakes_sleepers_at_once) {
    static const enum ending endings[] = {ARRIVES, ABORTS, ABORTS_IN_THREAD};
    check_ranks(.kind = RANK_BOTH, .count = 2, .body = sleep_until_the_end, RANKS_EACH(endings));
    check_ranks(.kind = RANK_BOTH, .count = 3, .body = sleep_until_the_end, RANKS_EACH(endings));
    check_ranks(.kind = RANK_BOTH, .count = 9, .body = sleep_until_the_end, .user = &(enum ending){ABORTS});
}

static const uint32_t first[] = {0xFFFFFFF0, 0xFFFFFFFF, 0x7FFFFFF0, 0x80000000};

TEST_RANKS(host_barrier, epochs_wrap_around, .kind = RANK_BOTH, .count = 3, RANKS_EACH(first)) {
    static const int pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.first_epoch = *(const uint32_t *)rank->user;
    quern_group *group = rank_create(rank, &args);
    for (int64_t round = 1; round <= 12; round++) {
        const int *pair = pairs[round % 3];
        exchange_values(rank, group, NULL, 0, 2 * round);
        if (rank->rank == pair[0] || rank->rank == pair[1]) exchange_values(rank, group, pair, 2, 2 * round + 1);
    }
    return quern_group_destroy(group);
}

/* ---- subsets ---- */

/* The members of a round, at least one: the same set on every rank. */
static int draw_members(int ranks, uint64_t round, int members[QUERN_MAX_RANKS]) {
    int count = 0;
    for (int rank = 0; rank < ranks; rank++)
        if (random_bits(7, round * QUERN_MAX_RANKS + (uint64_t)rank) % 3 != 0) members[count++] = rank;
    if (!count) members[count++] = (int)(round % (uint64_t)ranks);
    return count;
}

static void meet_in_random_subsets(struct rank *rank, quern_group *group) {
    const int64_t *rounds = rank->user;
    int members[QUERN_MAX_RANKS];
    for (int64_t round = 1; round <= *rounds; round++) {
        int count = draw_members(rank->ranks, (uint64_t)round, members);
        bool mine = false;
        for (int i = 0; i < count; i++) mine |= members[i] == rank->rank;
        if (mine) exchange_values(rank, group, members, count, round);
    }
}

Test(host_barrier, random_subsets) {
    check_ranks(.kind = RANK_BOTH, .count = 8, .in_group = meet_in_random_subsets, .user = &(int64_t){1200});
    check_ranks(.kind = RANK_BOTH, .count = 40, .in_group = meet_in_random_subsets, .user = &(int64_t){30});
}

/* Rank 2 takes part in no barrier, and later leaves the group. */
TEST_RANKS(host_barrier, never_waits_for_others_than_its_members, .kind = RANK_BOTH, .count = 3) {
    static const int members[] = {0, 1};
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int part = 0; part < 2; part++) {
        rank_line_up(rank);
        if (rank->rank < 2)
            for (int64_t round = 0; round < 300; round++) exchange_values(rank, group, members, 2, 1000 * part + round);
        rank_line_up(rank);
        if (rank->rank == 2) rank_ok(rank, quern_group_destroy(part == 0 ? group : NULL));
    }
    return rank->rank == 2 ? QUERN_OK : quern_group_destroy(group);
}

/* ---- early and late ---- */

static struct quern_meeting barrier_meeting(struct quern_membership *member) {
    return (struct quern_meeting){QUERN_IN_BARRIER, QUERN_PHASE_MEETING, &member->everyone, member->timeout, NULL};
}

/* Rank 0 has arrived, but continues only once rank 1 waits in its next call, which is a different one. */
TEST_GROUP_FOR(host_barrier, a_rank_may_be_a_phase_ahead, for (int ranks = 2; ranks <= 5; ranks += 3), .kind = RANK_BOTH,
               .count = ranks) {
    quern_group *half = NULL;
    struct quern_membership *member = rank_member_of(rank, group);
    for (int round = 0; round < 3; round++) {
        struct quern_meeting meeting = barrier_meeting(member);
        quern_announce(member, &meeting);
        if (rank->rank == 0) rank_sleep(0.05);
        rank_ok(rank, quern_await(member, &meeting));
        rank_ok(rank, quern_group_split(&group, 1, (int[]){round % 2}, (int[]){0}, &half));
        rank_ok(rank, quern_group_destroy(half));
    }
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void count_line(void *user, quern_log_level level, UNUSED const char *line) {
    int *lines = user;
    if (level == QUERN_LOG_ERROR) __atomic_add_fetch(lines, 1, __ATOMIC_RELAXED);
}

/* The others wait asleep and must not report an error. */
TEST_GROUP(host_barrier, waits_for_a_rank_that_is_late, .kind = RANK_BOTH, .count = 4) {
    static int complaints;
    quern_set_log(count_line, &complaints, QUERN_LOG_ERROR);
    exchange_values(rank, group, NULL, 0, 1);
    double worked = processor_seconds();
    if (rank->rank == 1) rank_sleep(1);
    exchange_values(rank, group, NULL, 0, 2);  /* finds a rank that got past the barrier */
    worked = processor_seconds() - worked;
    rank_check(rank, worked < 0.5, "worked %g s of the second it waited", worked);
    rank_check(rank, !complaints, "%d errors logged", complaints);
    rank_line_up(rank);
}

/* ---- missing ranks: test_who.c has what each rank is told ---- */

/* If many ranks are missing, only some are named. */
TEST_GROUP(host_barrier, names_some_of_many_that_did_not_come, .kind = RANK_BOTH, .count = 20) {
    quern_barrier_args args = BARRIER_ARGS(.timeout = 0.2);
    if (rank->rank == 0) {
        rank_refused(rank, quern_barrier(group, &args, NULL), QUERN_PEER_TIMEOUT, "for rank 1 (process ");
        rank_check_detail(rank, "), rank 2 (last epoch 0), rank 3 (last epoch 0)");
        rank_check_detail(rank, " and 16 more");
    }
    rank_line_up(rank);
    rank_status(rank, quern_group_status(group), QUERN_PEER_TIMEOUT);
}

/* A barrier of other members is told from this one by 16 bits, to which every rank of a group contributes. */
Test(host_barrier, members_have_a_digest) {
    enum { SETS = 2 * QUERN_MAX_RANKS };  /* each rank alone, and all ranks but one */
    uint32_t digest[SETS];
    for (int set = 0; set < SETS; set++) {
        uint32_t members[QUERN_RANK_WORDS], others = set < QUERN_MAX_RANKS ? 0 : UINT32_MAX;
        for (int word = 0; word < QUERN_RANK_WORDS; word++) members[word] = others;
        members[set % QUERN_MAX_RANKS / 32] ^= 1u << set % 32;
        digest[set] = quern_members_digest(members);
        check(digest[set] < 1 << 16, "the digest of set %d is %#x", set, digest[set]);
        for (int other = 0; other < set; other++)
            check(digest[set] != digest[other], "sets %d and %d have the digest %#x", set, other, digest[set]);
    }
}

/* ---- arguments ---- */

/* Rank 0 makes every mistake with members, and then the barrier works as usual. */
TEST_GROUP(host_barrier, refuses_bad_members, .kind = RANK_BOTH, .count = 3) {
    static const struct {
        int members[2], count;
        const char *detail;
    } mistakes[] = {
        {{0, 3}, 2, "members[1] is 3: expected a rank from 0 to 2"}, {{-1, 0}, 2, "members[0] is -1: expected a rank from 0 to 2"},
        {{1, 0}, 2, "members[1] is 0 after 1: expected ascending ranks"},
        {{0, 0}, 2, "members[1] is 0 after 0: expected ascending ranks"},
        {{1, 2}, 2, "the 2 members do not include the calling rank, 0"}, {{0}, 0, "args.member_count is 0: expected 1 to 3"},
    };
    for (size_t i = 0; rank->rank == 0 && i < COUNT(mistakes); i++) {
        const quern_barrier_args args = barrier_of(mistakes[i].members, mistakes[i].count);
        rank_refused(rank, quern_barrier(group, &args, NULL), QUERN_INVALID_ARGUMENT, mistakes[i].detail);
    }
    exchange_values(rank, group, NULL, 0, 1);
}

TEST_RANKS(host_barrier, takes_any_limit, .kind = RANK_BOTH, .count = 4) {
    static const double limits[] = {INFINITY, 1e300, 9e9, 1e18};
    quern_group *group = rank_group(rank, limits[rank->rank % 4]);
    for (size_t i = 0; i < COUNT(limits); i++) {
        quern_barrier_args args = BARRIER_ARGS(.timeout = limits[i]);
        if (rank->rank == (int)i) rank_sleep(0.1);
        rank_ok(rank, quern_barrier(group, &args, NULL));
    }
    return quern_group_destroy(group);
}

Test(host_barrier, pads_have_a_size) {
    size_t last = 0;
    for (int ranks = 1; ranks <= QUERN_MAX_RANKS; ranks++) {
        size_t bytes = quern_barrier_bytes(ranks);
        check(bytes >= last && bytes >= (size_t)ranks * 20, "%zu bytes for %d ranks", bytes, ranks);
        last = bytes;
    }
    static const int impossible[] = {0, -1, QUERN_MAX_RANKS + 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(impossible); i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "ranks is %d: expected 1 to 128", impossible[i]);
        check(quern_barrier_bytes(impossible[i]) == 0, "bytes for %d ranks", impossible[i]);
        check(strstr(error_detail(), expected), "%s", error_detail());
    }
}
