/*
 * Symmetric memory under the memory limit of a control group: a status, and no signal.  Threads and waits by the cores that the
 * process may use.  The numbers are read from trees of files that the test makes, and from control groups where it may make one.  A
 * frequent signal only delays the call.
 *
 * Runs on: ranks.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness/check.h"
#include "harness/ranks.h"
#include "os/cpu_quota.h"
#include "os/memory_room.h"
#include "ranks/handles.h"
#include "runtime/threads.h"

/* ---- trees of files ---- */

static char tree[64];

/* Writes a file below the tree, and makes the directories that lead to it. */
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", tree, name);
    for (char *slash = path + strlen(tree) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0700);
    }
    check(write_file(O_CREAT | O_TRUNC, path, text, strlen(text)), "%s was not written", path);
}

static void begin_tree(void) {
    strcpy(tree, "/tmp/quern.limits.XXXXXX");
    check(mkdtemp(tree), "no directory");
}

static int remove_one(const char *path, UNUSED const struct stat *status, UNUSED int kind, UNUSED struct FTW *where) {
    return remove(path);
}

static void end_tree(void) { nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static void with_tree(void (*body)(void)) {
    begin_tree();
    body();
    end_tree();
}
#define TEST_TREE(suite, name) TEST_EACH(with_tree, suite, name, void)

static uint64_t number_of(const char *directory) {
    char path[512];
    struct stat status = {0};
    snprintf(path, sizeof path, "%s/%s", tree, directory);
    check(stat(path, &status) == 0, "no %s", path);
    return (uint64_t)status.st_ino;
}

static const char *membership_file(void) {
    static char path[128];
    snprintf(path, sizeof path, "%s/membership", tree);
    return path;
}

static void expect_number(uint64_t number, const char *directory) {
    check(number == (directory ? number_of(directory) : 0), "another group than %s", directory ? directory : "none");
}

/* `directory` NULL: no group has a limit. */
static void expect_group(int64_t room, const char *directory) {
    const struct quern_control_group group = quern_control_group_of(membership_file(), tree);
    check(group.room == room, "room %lld: expected %lld", (long long)group.room, (long long)room);
    expect_number(group.number, directory);
}

TEST_TREE(memory_limits, of_version_2) {
    put("membership", "0::/a/b\n");
    expect_group(INT64_MAX, NULL);
    put("a/b/memory.max", "max\n");
    put("a/b/memory.current", "1000\n");
    expect_group(INT64_MAX, NULL);
    put("a/b/memory.max", "5000\n");
    expect_group(4000, "a/b");
    put("a/b/memory.stat", "anon 700\nactive_file 1\ninactive_file 300\nworkingset_x 9\n");
    expect_group(4300, "a/b");
    put("a/memory.max", "9000\n");
    put("a/memory.current", "8000\n");
    expect_group(1000, "a");
    put("memory.max", "500\n");
    put("memory.current", "600\n");
    expect_group(0, ".");
}

TEST_TREE(memory_limits, of_version_2_beside_version_1) {
    put("membership", "1:name=systemd:/x\n0::/a\n");
    put("unified/a/memory.max", "5000\n");
    put("unified/a/memory.current", "1\n");
    expect_group(4999, "unified/a");
}

TEST_TREE(memory_limits, of_version_1) {
    put("membership", "9:name=systemd:/a/b\n5:cpu,cpuacct:/c\n4:hugetlb,memory:/a/b\n3:memoryx:/d\n0::/\n");
    put("memory/d/memory.limit_in_bytes", "1\n");
    put("memory/d/memory.usage_in_bytes", "1\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/memory.usage_in_bytes", "1024\n");
    expect_group(9223372036854771712 - 1024, "memory");
    put("memory/a/memory.limit_in_bytes", "8192\n");
    put("memory/a/memory.usage_in_bytes", "4096\n");
    expect_group(4096, "memory/a");
    put("memory/a/memory.stat", "inactive_file 4000\ntotal_inactive_file 1000\n");
    expect_group(5096, "memory/a");
    put("memory/a/b/memory.limit_in_bytes", "100\n");
    put("memory/a/b/memory.usage_in_bytes", "60\n");
    put("memory/a/b/memory.stat", "total_inactive_file 100\n");
    expect_group(100, "memory/a/b");
}

/* In a container the directory of the group may be out of sight: its mount is the group. */
TEST_TREE(memory_limits, of_a_container) {
    put("membership", "4:memory:/docker/0123\n0::/../../elsewhere\n");
    put("memory/memory.limit_in_bytes", "8192\n");
    put("memory/memory.usage_in_bytes", "4096\n");
    expect_group(4096, "memory");
    put("memory.max", "4000\n");
    put("memory.current", "0\n");
    expect_group(4000, ".");
}

TEST_TREE(memory_limits, of_files_that_say_nothing) {
    static const char *const memberships[] = {"", "\n\n", ":", "0:", "0::", "4:memory", "4:memory:", "0::relative\n", ":::::\n"};
    expect_group(INT64_MAX, NULL);
    put("memory.max", "-5\n");
    put("memory.current", "x\n");
    for (size_t i = 0; i < sizeof memberships / sizeof *memberships; i++) {
        put("membership", memberships[i]);
        expect_group(INT64_MAX, NULL);
    }
    char longest[3000] = "0::/";
    memset(longest + 4, 'a', sizeof longest - 5);
    longest[sizeof longest - 1] = 0;
    put("membership", longest);
    expect_group(INT64_MAX, NULL);
}

/* ---- quotas of processor time ---- */

/* `directory` NULL: no group has a quota. */
static void expect_quota(uint32_t thousandths, const char *directory) {
    const struct quern_cpu_quota quota = quern_cpu_quota_of(membership_file(), tree);
    check(quota.thousandths == thousandths, "%u thousandths of a core: expected %u", quota.thousandths, thousandths);
    expect_number(quota.number, directory);
}

TEST_TREE(memory_limits, quota_of_version_2) {
    put("membership", "0::/a/b\n");
    expect_quota(UINT32_MAX, NULL);
    put("a/b/cpu.max", "max 100000\n");
    expect_quota(UINT32_MAX, NULL);
    put("a/b/cpu.max", "150000 100000\n");
    expect_quota(1500, "a/b");
    put("a/cpu.max", "5000 20000\n");
    expect_quota(250, "a");
    put("cpu.max", "1000 1000000\n");
    expect_quota(1, ".");
    put("cpu.max", "x y\n");
    expect_quota(250, "a");
}

TEST_TREE(memory_limits, quota_of_version_1) {
    put("membership", "5:cpu,cpuacct:/a/b\n4:cpuset:/c\n3:memory:/d\n0::/\n");
    put("cpu/c/cpu.cfs_quota_us", "1\n");
    put("cpu/c/cpu.cfs_period_us", "1000\n");
    put("cpu/a/b/cpu.cfs_quota_us", "-1\n");
    put("cpu/a/b/cpu.cfs_period_us", "100000\n");
    expect_quota(UINT32_MAX, NULL);
    put("cpu/a/b/cpu.cfs_quota_us", "50000\n");
    expect_quota(500, "cpu/a/b");
    put("cpu/a/cpu.cfs_quota_us", "40000\n");
    put("cpu/a/cpu.cfs_period_us", "100000\n");
    expect_quota(400, "cpu/a");
    put("unified/cpu.max", "30000 100000\n");
    expect_quota(300, "unified");
}

/* ---- cores ---- */

/* A machine of the test, whose control groups are in the tree.  Its threads are on the first of the cores that they may use. */
static struct {
    int possible;        /* processors, for which a mask must have bits; 0: the machine is the real one */
    int first, count;    /* those that the process may use */
    int left, returned;  /* atomic: how often a thread has left the first one, and may use it again */
    uint64_t bound;      /* atomic: where a thread may run that has left it for the first time, of the cores below 64 */
    int seconds;         /* by which its clock is ahead of the real one */
} machine;

/* These take the places of the C library's. */

int open(const char *path, int flags, ...) {
    static const char membership[] = "/proc/self/cgroup", mount[] = "/sys/fs/cgroup", nodes[] = "/sys/devices/system/node";
    char other[1400];
    va_list list;
    va_start(list, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    const char *below = machine.possible && !strcmp(path, membership) ? "/membership" : NULL;
    if (machine.possible && !strncmp(path, mount, strlen(mount))) below = path + strlen(mount);
    if (machine.possible && !strncmp(path, nodes, strlen(nodes))) below = path + strlen(nodes);
    snprintf(other, sizeof other, "%s%s", tree, below ? below : "");
    if (below) path = other;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int status = (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_sec += machine.seconds;
    return status;
}

int sched_getcpu(void) {
    unsigned core = 0;
    return machine.possible ? machine.first : syscall(SYS_getcpu, &core, NULL, NULL) == 0 ? (int)core : -1;
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    memset(set, 0, bytes);
    if (!machine.possible) return syscall(SYS_sched_getaffinity, process, bytes, set) < 0 ? -1 : 0;
    errno = EINVAL;
    if (process || (size_t)machine.possible > 8 * bytes) return -1;
    for (int core = machine.first; core < machine.first + machine.count; core++)
        ((unsigned char *)set)[core / 8] |= (unsigned char)(1 << core % 8);
    return 0;
}

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) {
    if (!machine.possible) return (int)syscall(SYS_sched_setaffinity, process, bytes, set);
    if (process || bytes != QUERN_CORE_LIMIT / 8) return -1;  /* another thread, or not all cores */
    const bool has_first = ((const unsigned char *)set)[machine.first / 8] >> machine.first % 8 & 1;
    const int before = __atomic_fetch_add(has_first ? &machine.returned : &machine.left, 1, __ATOMIC_RELAXED);
    if (!has_first && !before) __atomic_store_n(&machine.bound, *(const uint64_t *)set, __ATOMIC_RELAXED);
    return 0;
}

static int threads_of_a_device(void) {
    OPEN_CPU(device);
    return info_of(device).multiprocessors;
}

/* Quota of the period of 100,000 us of the process's group or one above it; 0: there is none. */
static void put_quota(int quota, bool second, bool above) {
    char text[64];
    put("membership", second ? "0::/a/b\n" : "5:cpu,cpuacct:/a/b\n");
    snprintf(text, sizeof text, !second ? "%d\n" : quota ? "%d 100000\n" : "max 100000\n", quota ? quota : -1);
    put(second ? above ? "a/cpu.max" : "a/b/cpu.max" : above ? "cpu/a/cpu.cfs_quota_us" : "cpu/a/b/cpu.cfs_quota_us", text);
    if (!second) put(above ? "cpu/a/cpu.cfs_period_us" : "cpu/a/b/cpu.cfs_period_us", "100000\n");
}

/* One for each core that the process may use, but not more than the quota, rounded up; at most 1,024. */
Test(memory_limits, a_device_has_a_thread_for_each_core_that_the_process_can_keep_busy) {
    static const int possible[] = {64, 1024, 1025, 8192, 8193}, counts[] = {1, 2, 7, 64, 1025},
                     quotas[] = {0, 1000, 100000, 100001, 150000, 690000, 200000000};
    enum { POSSIBLE = sizeof possible / sizeof *possible, COUNTS = sizeof counts / sizeof *counts,
           QUOTAS = sizeof quotas / sizeof *quotas };
    unsetenv("QUERN_THREADS");
    for (int i = 0; i < POSSIBLE * COUNTS * QUOTAS * 4; i++) {
        const int quota = quotas[i / 4 % QUOTAS], count = counts[i / 4 / QUOTAS % COUNTS];
        machine.possible = possible[i / 4 / QUOTAS / COUNTS];
        if (count > machine.possible) continue;
        machine.count = count, machine.first = machine.possible - count;
        begin_tree();
        put_quota(quota, i & 1, i & 2);
        /* Of more than a Linux can have, the online ones are taken. */
        const long cores = machine.possible > 8192 ? sysconf(_SC_NPROCESSORS_ONLN) : count;
        const long time = quota ? (quota + 99999) / 100000 : cores, least = time < cores ? time : cores;
        const int threads = threads_of_a_device();
        check(threads == (least < 1024 ? least : 1024), "%d of %d processors, a quota of %d us (%d): %d threads", count,
              machine.possible, quota, i & 3, threads);
        end_tree();
    }
}

static void meet_the_worker(void *context, UNUSED int64_t index) {
    int *here = context;
    __atomic_fetch_add(here, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(here, __ATOMIC_RELAXED) < 2) rank_sleep(1e-3);
}

/* Whether two threads share a job.  The first waits for the other for ever, or for a while. */
enum { ALONE = 1001 };  /* odd */
struct meeting {
    int here;  /* atomic: those that have begun; ALONE is added when one gives up */
    bool must_meet;
};

static void meet(void *context, UNUSED int64_t index) {
    struct meeting *meeting = context;
    __atomic_fetch_add(&meeting->here, 1, __ATOMIC_RELAXED);
    for (int look = 0; (meeting->must_meet || look < 10000) && __atomic_load_n(&meeting->here, __ATOMIC_RELAXED) % 2; look++)
        sched_yield();
    if (__atomic_load_n(&meeting->here, __ATOMIC_RELAXED) % 2) __atomic_fetch_add(&meeting->here, ALONE, __ATOMIC_RELAXED);
}

static bool two_work(const quern_device *device, bool must_meet) {
    struct meeting meeting = {.must_meet = must_meet};
    quern_run_tasks(device, 2, meet, &meeting);
    return meeting.here < ALONE;
}

/* The default number of threads follows the quota of a running process, down and up; a number that the engine sets does not. */
Test(memory_limits, a_quota_that_changes_later) {
    for (int set = 0; set < 2; set++) {
        quern_device *device;
        unsetenv("QUERN_THREADS");
        begin_tree();
        machine.possible = 64, machine.first = 62, machine.count = 2;
        put_quota(200000, true, false);
        check_ok(quern_device_open(QUERN_CPU, 0, &device));
        if (set) check_ok(quern_set_threads(device, 2, NULL, NULL));
        check(two_work(device, true), "one thread works under a quota of two cores");
        put_quota(100000, true, false);
        machine.seconds += 2;
        check(two_work(device, set) == set, "%s threads under a quota of one core", set ? "fewer" : "two");
        put_quota(0, true, false);
        machine.seconds += 2;
        check(two_work(device, true), "one thread works without a quota");
        quern_device_close(device);
        machine.possible = 0;
        end_tree();
    }
}

/* ---- nodes ---- */

/* Which thread took each index of a job.  Each of the two takes its first before either takes a second. */
struct taken {
    pthread_t caller;
    int begun;  /* atomic */
    bool by_caller[16];
};

static void take(void *context, int64_t index) {
    struct taken *taken = context;
    taken->by_caller[index] = pthread_equal(pthread_self(), taken->caller);
    const int before = __atomic_fetch_add(&taken->begun, 1, __ATOMIC_RELAXED);
    while (before < 2 && __atomic_load_n(&taken->begun, __ATOMIC_RELAXED) < 2) sched_yield();
}

/*
 * Two threads, the caller's on the core machine.first, the other one bound to a mask of cores; 0: to none.  Nodes 0 and 1 have
 * these cores; empty: there is no such node.
 */
static void expect_first(int callers, int workers, uint64_t bound, const char *node0, const char *node1) {
    quern_device *device;
    struct taken taken = {.caller = pthread_self()};
    begin_tree();
    put_quota(0, true, false);
    if (*node0) put("node0/cpulist", node0);
    if (*node1) put("node1/cpulist", node1);
    machine.left = machine.returned = 0;
    check_ok(quern_device_open(QUERN_CPU, 0, &device));
    check_ok(quern_set_threads(device, 2, NULL, NULL));
    quern_run_tasks(device, 16, take, &taken);
    quern_device_close(device);
    end_tree();
    if (!bound && taken.by_caller[workers]) callers = 1, workers = 0;
    check(taken.by_caller[callers] && !taken.by_caller[workers], "nodes of %s and %s, caller on core %d: it should begin at %d",
          node0, node1, machine.first, callers);
    check(machine.left == machine.returned + !!bound && (!bound || machine.bound == bound),
          "%d times away from the caller's core, %d times back; bound to %llx", machine.left, machine.returned,
          (unsigned long long)machine.bound);
}

/* A thread begins at the first index of its node, and the worker stays on the node that has fewer threads for its cores. */
Test(memory_limits, threads_begin_with_the_work_of_their_node) {
    machine.possible = 64, machine.count = 8;
    machine.first = 8, expect_first(0, 4, 0xfc00, "0-9\n", "10-17,40\n");  /* of eight cores two are on node 0 */
    machine.first = 32, expect_first(8, 0, (uint64_t)15 << 34, "34-37\n", "0-33,38-63\n");
    expect_first(0, 1, 0, "", "");
    expect_first(0, 1, 0, "0-63\n", "");
    expect_first(0, 1, 0, "0-38\n", "");  /* the system does not say where core 39 is */
    machine.possible = 0;
}

Test(memory_limits, a_worker_leaves_a_core_with_a_large_number) {
    static const int firsts[] = {0, 63, 1023, 1024, 8190};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        quern_device *device;
        int here = 0;
        check_ok(quern_device_open(QUERN_CPU, 0, &device));
        check_ok(quern_set_threads(device, 2, NULL, NULL));
        machine.possible = 8192, machine.first = firsts[i], machine.count = 2, machine.left = machine.returned = 0;
        quern_run_tasks(device, 2, meet_the_worker, &here);
        quern_device_close(device);
        machine.possible = 0;
        check(machine.left && machine.left == machine.returned, "core %d: left %d times, %d returns", firsts[i], machine.left,
              machine.returned);
    }
}

/* Ranks that have a core each poll, whatever the numbers of the cores are. */
static void poll_on_far_cores(struct rank *rank, quern_group *group) {
    struct quern_membership *member = rank_member_of(rank, group);
    rank_check(rank, member->roster->is_crowded == (machine.count < rank->ranks), "%d cores: %d", machine.count,
               member->roster->is_crowded);
}

TEST_TREE(memory_limits, ranks_with_a_core_each_poll) {
    static const int firsts[] = {0, 1022, 1024, 8190};
    for (size_t i = 0; i < 2 * sizeof firsts / sizeof *firsts; i++) {
        machine.possible = 8192, machine.first = firsts[i / 2], machine.count = 1 + (int)i % 2;
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .in_group = poll_on_far_cores);
    }
    machine.possible = 0;
}

/* ---- a control group ---- */

enum { LIMIT_MIB = 48 };

static char group[128];

/* Makes a group below `mount` with a limit.  False: the test may not, or the directory is no such controller. */
static bool make_group(const char *mount, const char *limit, const char *value) {
    char path[192];
    snprintf(group, sizeof group, "%s/quern.%d", mount, (int)getpid());
    if (access(mount, W_OK) != 0 || mkdir(group, 0700) != 0) return false;
    snprintf(path, sizeof path, "%s/%s", group, limit);
    if (access(path, W_OK) == 0 && write_file(O_TRUNC, path, value, strlen(value))) return true;
    rmdir(group);
    return false;
}

static bool enter_group(void) {
    char path[192], process[32];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    snprintf(process, sizeof process, "%d", (int)getpid());
    return write_file(O_TRUNC, path, process, strlen(process));
}

static void remove_group(void) { for (int attempt = 0; attempt < 100 && rmdir(group) != 0; attempt++) rank_sleep(0.02); }

static quern_status allocate(quern_group *group_of, size_t mib, char **memory) {
    const size_t bytes = mib << 20;
    return quern_symmetric_alloc(&group_of, 1, &bytes, (void **)memory);
}

/* The system would kill a rank that fills more than the limit. */
static void ask_for_too_much(struct rank *rank) {
    char *memory;
    rank_check(rank, enter_group(), "the control group was not entered");
    quern_group *ranks = rank_group(rank, RANK_LIMIT);
    rank_refused(rank, allocate(ranks, 300, &memory), QUERN_OUT_OF_MEMORY, "its memory limit leaves");
    rank_status(rank, allocate(ranks, 30, &memory), QUERN_OUT_OF_MEMORY);  /* 60 together */
    rank_check_detail(rank, "ask for 62914560 bytes together");
    rank_ok(rank, allocate(ranks, 8, &memory));
    memset(memory, 1, 8 << 20);
    rank_ok(rank, quern_barrier(ranks, NULL, NULL));
    rank_status(rank, allocate(ranks, 20, &memory), QUERN_OUT_OF_MEMORY);  /* what is in use counts */
    rank_ok(rank, quern_group_destroy(ranks));
}

/* The limit of one rank's group is not that of the others. */
static void ask_beside_a_limit(struct rank *rank) {
    char *memory;
    rank_check(rank, rank->rank || enter_group(), "the control group was not entered");
    quern_group *ranks = rank_group(rank, RANK_LIMIT);
    const size_t much = (size_t)90 << 20, little = 1 << 20;
    rank_ok(rank, quern_symmetric_alloc(&ranks, 1, rank->rank ? &much : &little, (void **)&memory));
    memset(memory, 1, rank->rank ? much : little);
    rank_ok(rank, quern_barrier(ranks, NULL, NULL));
    rank_status(rank, quern_symmetric_alloc(&ranks, 1, rank->rank ? &little : &much, (void **)&memory), QUERN_OUT_OF_MEMORY);
    rank_check_detail(rank, "its memory limit leaves");
    rank_ok(rank, quern_group_destroy(ranks));
}

Test(memory_limits, of_ranks) {
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%d", LIMIT_MIB << 20);
    if (!make_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", bytes) && !make_group("/sys/fs/cgroup", "memory.max", bytes))
        cr_skip_test("no control group of memory can be made here");
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .body = ask_for_too_much);
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .body = ask_beside_a_limit);
    remove_group();
}

/* The first two ranks have one core together, the third is not in their group. */
static void poll_in_short_time(struct rank *rank) {
    rank_check(rank, rank->rank == 2 || enter_group(), "the control group was not entered");
    quern_group *ranks = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, ranks);
    rank_check(rank, member->roster->is_crowded && member->polls.spins < 100, "%d spins", member->polls.spins);
    for (int i = 0; i < 100; i++) rank_ok(rank, quern_barrier(ranks, NULL, NULL));
    rank_ok(rank, quern_group_destroy(ranks));
}

static int count_cores(void) {
    struct quern_cores cores;
    quern_read_cores(&cores);
    return quern_count_cores(&cores);
}

/* A rank has a core of its own, by its quota. */
static void poll_in_enough_time(struct rank *rank) {
    rank_check(rank, rank->rank || enter_group(), "the control group was not entered");
    quern_group *ranks = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, ranks);
    rank_check(rank, member->polls.spins > 100 || count_cores() < 2, "%d spins", member->polls.spins);
    rank_ok(rank, quern_group_destroy(ranks));
}

Test(memory_limits, ranks_that_are_short_of_time_do_not_poll) {
    if (!make_group("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000") &&
        !make_group("/sys/fs/cgroup", "cpu.max", "100000 100000"))
        cr_skip_test("no control group of processor time can be made here");
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .body = poll_in_short_time);
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .body = poll_in_short_time);
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .body = poll_in_enough_time);
    remove_group();
}

/* ---- signals, and a system that lacks the call ---- */

static int refusal;  /* 0: none */
static off_t interrupted_above = INT64_MAX;
static int interruptions;

int fallocate(int file, int mode, off_t offset, off_t bytes);

/* Takes the place of the C library's.  It fails, or a signal arrives whenever it works on more than some bytes at a time. */
int fallocate(int file, int mode, off_t offset, off_t bytes) {
    if (refusal) {
        errno = refusal;
        return -1;
    }
    if (bytes <= interrupted_above) return (int)syscall(SYS_fallocate, file, mode, offset, bytes);
    interruptions++;
    errno = EINTR;
    return -1;
}

/* It takes smaller pieces until one ends between two signals. */
TEST_BODY(memory_limits, frequent_signals_only_delay, .kind = RANK_PROCESSES, .count = 1) {
    char *memory;
    quern_group *ranks = rank_group(rank, RANK_LIMIT);
    interrupted_above = 1 << 20;
    rank_ok(rank, allocate(ranks, 100, &memory));
    rank_check(rank, interruptions > 0 && interruptions < 20, "%d interruptions", interruptions);
    rank_ok(rank, quern_group_destroy(ranks));
}

/* Memory that is there: as many pages as the part has are in the file, though nobody has used one. */
TEST_BODY(memory_limits, a_system_without_the_call, .kind = RANK_PROCESSES, .count = 2) {
    static const struct {
        int reason;
        quern_status status;
    } cases[] = {{EOPNOTSUPP, QUERN_OK}, {ENOSYS, QUERN_OK}, {EPERM, QUERN_SYSTEM_ERROR}, {ENOSPC, QUERN_OUT_OF_MEMORY}};
    enum { MIB = 3, PAGES = MIB << 8 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char is_there[PAGES];
        char *memory;
        int there = 0;
        quern_group *ranks = rank_group(rank, RANK_LIMIT);
        refusal = cases[i].reason;
        rank_status(rank, allocate(ranks, MIB, &memory), cases[i].status);
        if (cases[i].status == QUERN_OK) {
            rank_check(rank, mincore(memory, (size_t)MIB << 20, is_there) == 0, "no answer of mincore");
            for (int page = 0; page < PAGES; page++) there += is_there[page] & 1;
            rank_check(rank, there == PAGES, "%d of %d pages are there", there, PAGES);
        } else {
            rank_check_detail(rank, strerror(cases[i].reason));
        }
        refusal = 0;
        rank_ok(rank, quern_group_destroy(ranks));
    }
}
