/*
 * A job that starts again under the same name while ranks of an earlier attempt still form a group, or end.
 *
 * Runs on: ranks.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/segment.h"

/* ---- the number of the job ---- */

static quern_status create(struct rank *rank, uint64_t job, double timeout, quern_group **group) {
    quern_group_args args = rank_group_args(rank, timeout);
    args.job = job;
    return quern_group_create(&args, 1, group);
}

/* Even and odd ranks are of two attempts, whose numbers have one lower half: each has the places that the other needs. */
TEST_RANKS(attempts, ranks_of_two_numbers_do_not_meet, .kind = RANK_BOTH, .count = 6) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.job = rank->rank % 2 ? UINT64_MAX : UINT32_MAX;
    args.rank = rank->rank / 2, args.ranks = rank->ranks / 2;
    quern_group *group = rank_create(rank, &args);
    rank_check(rank, quern_group_rank(group) == rank->rank / 2, "another rank");
    for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

TEST_RANKS(attempts, ranks_that_miss_each_other_meet_later, .kind = RANK_BOTH, .count = 2) {
    quern_group *group = NULL;
    rank_status(rank, create(rank, (uint64_t)rank->rank, 0.3, &group), QUERN_PEER_TIMEOUT);
    rank_line_up(rank);
    rank_ok(rank, create(rank, 7, 20, &group));
    return quern_group_destroy(group);
}

/* ---- a rank that is taken ---- */

/* Rank 0 has a place that rank 1 asks for, too; it is killed, and then rank 2 comes.  These words are shared. */
struct turns {
    unsigned asks, is_killed;
};

static quern_status wait_for_an_end(struct rank *rank) {
    struct turns *turns = rank->shared;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.ranks = 2, args.rank = rank->rank == 2;
    while (rank->rank == 2 && !__atomic_load_n(&turns->is_killed, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
    if (rank->rank == 1) {
        char path[128];
        rank_meeting_place(path, sizeof path, rank->name);
        struct quern_segment *segment = ranks_find_forming(path, 1);
        rank_check(rank, segment, "rank 0 does not come to %s", path);
        munmap(segment, sizeof *segment);
        __atomic_store_n(&turns->asks, 1, __ATOMIC_RELEASE);
    }
    quern_group *group = rank_create(rank, &args);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

Test(attempts, a_place_is_free_when_its_process_has_ended) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 3, .function = wait_for_an_end,
                                                       .shared_bytes = 4096});
    struct turns *turns = ranks_shared(run);
    ranks_await_count(run, &turns->asks, 1);
    rank_sleep(0.3);
    kill(ranks_process(run, 0), SIGKILL);
    siginfo_t end;
    check(waitid(P_PID, (id_t)ranks_process(run, 0), &end, WEXITED | WNOWAIT) == 0, "rank 0 has not ended");
    __atomic_store_n(&turns->is_killed, 1, __ATOMIC_RELEASE);
    const char *wrong = ranks_wait(run, (bool[]){true, false, false});
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

/* ---- remnants of other attempts ---- */

/* Files beside that of attempt 7 at one name, and whether the maker of that file removes them. */
static const struct remnant {
    const char *form;  /* of the name, for the user and the name of the group */
    enum { OLD, NEW, HELD, LINK, FOREIGN } kind;
    bool is_removed;
} remnants[] = {
    {"quern.%u.6.%s", OLD, true},        {"quern.%u.18446744073709551615.%s", OLD, true}, {"quern.%u.0.%s", OLD, true},
    {"quern.%u.5.%s", NEW, false},       {"quern.%u.4.%s", HELD, false},                  {"quern.%u.3.%s", LINK, false},
    {"quern.%u.2.%s", FOREIGN, false},   {"quern.%u..%s", OLD, false},                    {"quern.%u.6-%s", OLD, false},
    {"quern.%u.6x.%s", OLD, false},      {"quern.%u.6.%s.a", OLD, false},                 {"quern.%u.6.a.%s", OLD, false},
    {"quern.%u7.6.%s", OLD, false},      {"quern.%u.6.%s ", HELD, false},
    /* Of groups that were made of others, which nobody makes again. */
    {"quern.%u.0.split.%s", OLD, true},  {"quern.%u.0.shrink.%s", OLD, true},             {"quern.%u.6.splits.%s", OLD, false},
    {"quern.%u.6.split.%s", HELD, false}, {"quern.%u.6.shrink.%s", NEW, false},
};

enum { REMNANTS = sizeof remnants / sizeof *remnants };

static void name_remnant(char path[128], const struct remnant *remnant, const char *name) {
    char form[64];
    snprintf(form, sizeof form, "/dev/shm/%s", remnant->form);
    snprintf(path, 128, form, (unsigned)geteuid(), name);
}

/* Returns the descriptor of a file that is held, else -1. */
static int make_remnant(const char *path, const struct remnant *remnant) {
    if (remnant->kind == LINK) {
        check(symlink("/dev/shm/quern.nowhere", path) == 0, "no link %s", path);
        return -1;
    }
    const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    check(descriptor >= 0 && (remnant->kind == NEW || ftruncate(descriptor, 4096) == 0), "no file %s", path);
    check(remnant->kind != FOREIGN || fchown(descriptor, 12345, (gid_t)-1) == 0, "no other owner of %s", path);
    if (remnant->kind == HELD && flock(descriptor, LOCK_SH) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/* Only root can make a file of another user. */
static bool is_possible(const struct remnant *remnant) { return remnant->kind != FOREIGN || geteuid() == 0; }

static void create_alone(const char *name, uint64_t job) {
    quern_group *group;
    OPEN_CPU(device);
    quern_group_args args = GROUP_ARGS(.ranks = 1, .name = name, .device = device, .job = job);
    check_ok(quern_group_create(&args, 1, &group));
    check_ok(quern_group_destroy(group));
}

static void check_remnants(uint64_t job) {
    char name[48], path[128];
    int held[REMNANTS];
    struct stat file;
    snprintf(name, sizeof name, "remnants.%d.%d", (int)getpid(), (int)job);
    for (int i = 0; i < REMNANTS; i++) {
        name_remnant(path, &remnants[i], name);
        held[i] = is_possible(&remnants[i]) ? make_remnant(path, &remnants[i]) : -1;
    }
    create_alone(name, job);
    for (int i = 0; i < REMNANTS; i++) {
        name_remnant(path, &remnants[i], name);
        const bool may_go = job ? remnants[i].is_removed : strstr(remnants[i].form, ".0.") != NULL;  /* 0: its own name */
        const bool remains = lstat(path, &file) == 0, expected = is_possible(&remnants[i]) && !may_go;
        if (remains) unlink(path);
        if (held[i] >= 0) close(held[i]);
        check(remains == expected, "job %d: %s %s", (int)job, path, remains ? "remains" : "was removed");
    }
}

/* An attempt without a number does not know that others at its name are over. */
Test(attempts, remove_what_dead_ones_have_left) {
    check_remnants(7);
    check_remnants(0);
}

/* ---- attempts without a pause ---- */

enum { RANKS = 3, ATTEMPTS = 60 };

struct attempt {
    const char *name;
    uint64_t job;
    unsigned *arrived;             /* ranks that have met, shared with them */
    char (*failure)[256];          /* of a rank; shared with them */
    pid_t process[RANKS];
};

/* A rank of a job: it works until it is killed. */
static void work(const struct attempt *attempt, int rank) {
    quern_device *device;
    quern_group *group = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK || quern_prepare(device, QUERN_BARRIER) != QUERN_OK) _exit(2);
    quern_group_args args = GROUP_ARGS(.rank = rank, .ranks = RANKS, .name = attempt->name, .device = device, .timeout = RANK_LIMIT,
                                       .job = attempt->job);
    if (quern_group_create(&args, 1, &group) != QUERN_OK || quern_barrier(group, NULL, NULL) != QUERN_OK) {
        quern_error_detail(attempt->failure[rank], sizeof *attempt->failure);
        _exit(3);
    }
    __atomic_add_fetch(attempt->arrived, 1, __ATOMIC_RELEASE);
    while (quern_barrier(group, NULL, NULL) == QUERN_OK) continue;
    _exit(EXIT_SUCCESS);
}

static void begin(struct attempt *attempt) {
    *attempt->arrived = 0;
    memset(attempt->failure, 0, RANKS * sizeof *attempt->failure);
    for (int rank = 0; rank < RANKS; rank++) {
        attempt->process[rank] = fork();
        if (attempt->process[rank] == 0) work(attempt, rank);
        check(attempt->process[rank] > 0, "no process");
    }
}

static void kill_all(const struct attempt *attempt) {
    for (int rank = 0; rank < RANKS; rank++) kill(attempt->process[rank], SIGKILL);
}

static void expect_success(const struct attempt *attempt, int number) {
    for (double began = rank_now(); __atomic_load_n(attempt->arrived, __ATOMIC_ACQUIRE) < RANKS; rank_sleep(1e-4)) {
        for (int rank = 0; rank < RANKS; rank++)
            check(!attempt->failure[rank][0], "attempt %d, rank %d: %s", number, rank, attempt->failure[rank]);
        check(rank_now() - began < RANK_SOON, "attempt %d has not begun", number);
    }
}

static void end_all(void) { while (waitpid(-1, NULL, 0) > 0) continue; }

static int count_files(const char *name) {
    int count = 0;
    DIR *directory = opendir("/dev/shm");
    check(directory, "no /dev/shm");
    for (struct dirent *entry; (entry = readdir(directory));) count += strstr(entry->d_name, name) != NULL;
    closedir(directory);
    return count;
}

/*
 * Half of the attempts are killed within five milliseconds, on their way into the group, and no attempt waits for the end of
 * another.  What they leave is removed by those that follow.
 */
Test(attempts, a_job_starts_again_without_a_pause) {
    char name[48];
    snprintf(name, sizeof name, "attempts.%d", (int)getpid());
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "no memory");
    const char *wanted = getenv("QUERN_TEST_RESTARTS");
    const int attempts = wanted ? atoi(wanted) : ATTEMPTS;
    for (int number = 0; number < attempts; number++) {
        static unsigned none;
        char lost[RANKS][256];
        struct attempt doomed = {.name = name, .job = 2 * (uint64_t)number + 1, .arrived = &none, .failure = lost};
        struct attempt good = {.name = name, .job = 2 * (uint64_t)number + 2, .arrived = shared,
                               .failure = (char (*)[256])((char *)shared + 64)};
        begin(&doomed);
        rank_sleep(5e-3 * random_uniform(2026, (uint64_t)number));
        kill_all(&doomed);
        begin(&good);
        expect_success(&good, number);
        kill_all(&good);
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    }
    end_all();
    rank_sleep(2.1);  /* so long an empty file counts as one that is being made */
    struct attempt last = {.name = name, .job = 1, .arrived = shared, .failure = (char (*)[256])((char *)shared + 64)};
    begin(&last);
    expect_success(&last, attempts);
    kill_all(&last);
    end_all();
    check(count_files(name) == 0, "%d files are left", count_files(name));
    munmap(shared, 4096);
}
