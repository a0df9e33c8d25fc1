/*
 * GPU ranks that have gone while others wait for them in kernels: processes that end, ranks that leave, and the thread that sees
 * it.
 *
 * Runs on: every emulated; kernels of barrier, ragged_all_to_all.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "harness/gpu_group.h"
#include "harness/gpu_ranks.h"
#include "os/futex.h"
#include "ranks/handles.h"
#include "ranks/watch.h"

/* Seconds: the limit of every wait, and the time in which an end is noticed, on a busy machine. */
static const double LIMIT = 60, SOON = 40;

/* ---- processes ---- */

struct shared {
    double killed, ended;
    uint32_t waits;   /* atomic: rank 0 waits in its kernel */
};

static struct shared *shared_of(const struct gpu_team *team) { return team->rank->shared; }

/* Rank 0 of the first team waits for rank 1, of the other process. */
static void wait_for_rank_1(struct gpu_team *team) {
    struct shared *shared = shared_of(team);
    rank_ok(team->rank, quern_barrier(team->group[0], NULL, team->stream[0]));
    __atomic_store_n(&shared->waits, 1, __ATOMIC_RELEASE);
    gpu_synchronize(team, 0);
    shared->ended = rank_now();
    rank_status(team->rank, quern_group_status(team->group[0]), QUERN_PEER_LOST);
    rank_check_detail(team->rank, "quern_barrier: rank 0 waited on its GPU for rank 1 (process ");
    rank_check_detail(team->rank, "): gone, since its process has ended or its group was destroyed");
    uint64_t missing = 0;
    rank_ok(team->rank, quern_group_missing(team->group[0], &missing, 1));
    rank_check(team->rank, missing == 2, "ranks %#llx are missing", (unsigned long long)missing);
}

/* How rank 1 ends: an engine exits so, without any cleaning. */
enum way_out { IS_KILLED, DIES_BETWEEN_LAUNCHES, EXITS };

static void lose_rank_1(struct gpu_team *team) {
    const enum way_out way = *(const enum way_out *)team->rank->user;
    gpu_open(team);
    rank_ok(team->rank, gpu_join(team));
    gpu_meet(team);
    if (team->rank->rank == 1 && way == IS_KILLED) pause();
    if (team->rank->rank == 1 && way == EXITS) shared_of(team)->killed = rank_now(), exit(EXIT_SUCCESS);
    if (team->rank->rank == 1) raise(SIGKILL);
    if (way == DIES_BETWEEN_LAUNCHES) {
        rank_sleep(0.3);
        rank_ok(team->rank, quern_group_status(team->group[0]));  /* no rank has waited for it */
        shared_of(team)->killed = rank_now();
    }
    wait_for_rank_1(team);
    gpu_close(team);
}

/* Two processes, each with a GPU. */
static void run_pair(enum way_out way, const char *expected) {
    const struct gpu_case chosen = {.layout = {.processes = 2, .threads = 1, .ranks = 1, .gpus = 2, .timeout = LIMIT},
                                    .function = lose_rank_1, .user = &way};
    const bool kill_rank_1 = way == IS_KILLED;
    static const bool may_die[] = {false, true};
    char machine[32];
    const char *given = getenv("QUERN_EMULATOR");
    const int length = (int)strcspn(given ? given : "9.0", ",");
    snprintf(machine, sizeof machine, "%.*s,%.*s", length, given ? given : "9.0", length, given ? given : "9.0");
    setenv("QUERN_EMULATOR", machine, 1);
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .function = gpu_run_case,
                                                       .user = &chosen, .shared_bytes = sizeof(struct shared), .limit = 2 * LIMIT});
    struct shared *shared = ranks_shared(run);
    while (kill_rank_1 && !__atomic_load_n(&shared->waits, __ATOMIC_ACQUIRE) && !ranks_have_ended(run)) rank_sleep(0.01);
    if (kill_rank_1) {
        rank_sleep(0.5);
        shared->killed = rank_now();
        kill(ranks_process(run, 1), SIGKILL);
    }
    const char *wrong = ranks_wait(run, may_die);
    check(wrong && expected ? !strncmp(wrong, expected, strlen(expected)) && !strstr(wrong, "rank 0") : !wrong, "%s", wrong);
    const double took = shared->ended - shared->killed;
    check(took > -1 && took < SOON, "the kernel ended %g s after rank 1", took);
    ranks_close(run);
}

Test(gone_cuda, a_process_is_killed_while_a_kernel_waits) { run_pair(IS_KILLED, NULL); }
Test(gone_cuda, a_process_dies_between_launches) { run_pair(DIES_BETWEEN_LAUNCHES, NULL); }
Test(gone_cuda, a_process_exits_with_its_group) { run_pair(EXITS, "processes rank 1 of 2: ended with exit status 0"); }

/* ---- ranks that leave ---- */

/* Of three ranks one leaves: the others go on without it, until one waits for it. */
static void run_leaving(bool multicast) {
    OPEN_GROUP(group, .ranks = 3, .timeout = LIMIT, .machine.multicast = multicast);
    gpu_group_barrier(&group, ~0ull);
    gpu_group_synchronize(&group);
    gpu_group_leave(&group, 2);
    rank_sleep(5e-3 * QUERN_WATCH_MILLISECONDS);
    for (int round = 0; round < 3; round++) gpu_group_barrier(&group, 3);
    gpu_group_expect(&group, QUERN_OK, NULL);
    const double began = rank_now();
    for (int rank = 0; rank < 2; rank++) check_ok(quern_barrier(group.group[rank], NULL, group.device[rank].stream));
    gpu_group_synchronize(&group);
    check(rank_now() - began < SOON, "the kernels ended after %g s", rank_now() - began);
    gpu_group_expect(&group, QUERN_PEER_LOST, " waited on its GPU for rank 2 (process ");
}

Test(gone_cuda, a_rank_that_has_left_is_missed_when_it_is_awaited) { run_leaving(false); }
Test(gone_cuda, a_rank_that_has_left_is_missed_with_multicast) { run_leaving(true); }

/* Its signal arrived before: the rank that runs late passes. */
Test(gone_cuda, a_rank_that_has_come_and_left_is_not_missed) {
    OPEN_GROUP(group, .ranks = 2, .timeout = LIMIT);
    for (int round = 0; round < 20; round++) {
        gpu_group_barrier(&group, ~0ull);
        device_use(&group.device[1]);
        device_synchronize(&group.device[1]);
        gpu_group_leave(&group, 1);
        rank_sleep(2e-3 * QUERN_WATCH_MILLISECONDS);
        gpu_group_expect(&group, QUERN_OK, NULL);
        gpu_group_leave(&group, 0);
        gpu_group_create(&group, LIMIT, 0);
    }
}

/* ---- how soon ---- */

/* Between two looks the watcher sleeps here, in place of src/os/futex.c: the looks that have not seen an end are counted. */
static struct {
    const struct quern_segment *segment;    /* atomic: of the group that rank 1 has left */
    int misses;                             /* atomic */
    int64_t longest;                        /* atomic: nanoseconds between two looks */
} looks;

static bool is_told(const struct quern_segment *segment) { return __atomic_load_n(&segment->gone[0], __ATOMIC_ACQUIRE) >> 1 & 1; }

void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds) {
    const struct quern_segment *segment = __atomic_load_n(&looks.segment, __ATOMIC_ACQUIRE);
    if (segment && !is_told(segment)) __atomic_add_fetch(&looks.misses, 1, __ATOMIC_RELAXED);
    if (segment && nanoseconds > looks.longest) __atomic_store_n(&looks.longest, nanoseconds, __ATOMIC_RELAXED);
    syscall(SYS_futex, word, FUTEX_WAIT, value, &(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL, 0);
}

void quern_futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

/* Of the looks only the one that was under way may have missed the end.  What kernels look at is the word that the watcher sets. */
Test(gone_cuda, kernels_are_told_within_10_ms) {
    struct quern_membership *member;
    OPEN_GROUP(group, .ranks = 2, .timeout = LIMIT);
    for (int round = 0; round < 11; round++) {
        rank_sleep(1e-3 * round);  /* at any time between two looks */
        check_ok(quern_member_of(group.group[0], &member));
        gpu_group_leave(&group, 1);
        looks.misses = 0;
        __atomic_store_n(&looks.segment, member->segment, __ATOMIC_RELEASE);
        for (const double left = rank_now(); !is_told(member->segment) && rank_now() - left < SOON;) rank_sleep(1e-4);
        check(is_told(member->segment) && looks.misses <= 1, "%d looks have missed the end of a rank", looks.misses);
        __atomic_store_n(&looks.segment, NULL, __ATOMIC_RELEASE);
        gpu_group_leave(&group, 0);
        gpu_group_create(&group, LIMIT, 0);
    }
    check(looks.longest > 0 && 2 * looks.longest <= 10000000, "%g ms between two looks", 1e-6 * (double)looks.longest);
}

/* ---- the thread ---- */

static int count_threads(void) { return count_entries("/proc/self/task") - 2; }

/* A joined thread is listed for a moment. */
static void expect_threads(int expected) {
    const int count = count_settled("/proc/self/task", expected + 2) - 2;
    check(count == expected, "%d threads, expected %d", count, expected);
}

Test(gone_cuda, the_watcher_lives_as_long_as_the_groups) {
    struct gpu_group group;
    gpu_group_open(&group, .ranks = 2);
    const int with = count_threads();
    quern_group *further;
    quern_group_args args = GROUP_ARGS(.ranks = 1, .device = group.device[0].quern);
    check_ok(quern_group_create(&args, 1, &further));
    expect_threads(with);
    gpu_group_destroy(&group);
    expect_threads(with);
    check_ok(quern_group_destroy(further));
    expect_threads(with - 1);
    gpu_group_create(&group, 0, 0);
    expect_threads(with);
    gpu_group_close(&group);
    expect_threads(with - 1);
}

/* A child has no watcher, and ends as others do; the parent's goes on. */
Test(gone_cuda, a_forked_child_has_no_watcher) {
    OPEN_GROUP(group, .ranks = 2, .timeout = LIMIT);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        exit(count_threads() == 1 ? EXIT_SUCCESS : EXIT_FAILURE);  /* with all destructors */
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, "status %d", status);
    gpu_group_leave(&group, 1);
    check_ok(quern_barrier(group.group[0], NULL, group.device[0].stream));
    gpu_group_expect(&group, QUERN_PEER_LOST, "");
}
