/*
 * UCX as the transport between hosts: what is said where it is not there, what it leaves of the process as it is, and ranks that
 * end. The other suites of hosts run over it too: the configurations of tests/runner/devices.py.
 *
 * Runs on: ranks.
 */
#include <dlfcn.h>

#include "harness/check.h"
#include "harness/hosts_case.h"

static const struct {
    const char *name, *value;
} settings[] = {{"UCX_MEM_EVENTS", "n"}, {"UCX_HANDLE_ERRORS", "none"}, {"UCX_DEBUG_SIGNO", "0"}, {"UCX_VFS_ENABLE", "n"},
                {"UCX_LOG_LEVEL", "fatal"}};

static void set_environment(void) { for (size_t i = 0; i < COUNT(settings); i++) setenv(settings[i].name, settings[i].value, 1); }

/* ---- without it ---- */

struct lack {
    const char *name, *value;  /* of the environment, besides the settings; the value NULL: it is not set */
    const char *text;
};

static const struct lack lacks[] = {
    {"QUERN_UCX", "/nowhere/libucp.so.0", "no UCX at /nowhere/libucp.so.0: install libucx0, or name its file in QUERN_UCX ("},
    {"QUERN_UCX", "libm.so.6", "libm.so.6 has no function ucp_get_version: expected UCX 1.12 or newer"},
    {"UCX_MEM_EVENTS", NULL, "UCX_MEM_EVENTS is not set: UCX is not loaded into a process without UCX_MEM_EVENTS=n"},
    {"UCX_HANDLE_ERRORS", "bt", "UCX_HANDLE_ERRORS is \"bt\": UCX is not loaded into a process without UCX_HANDLE_ERRORS=none"},
    {"UCX_DEBUG_SIGNO", "", "UCX_DEBUG_SIGNO is \"\""},
    {"UCX_VFS_ENABLE", "y", "UCX_VFS_ENABLE is \"y\""},
    {"UCX_LOG_LEVEL", NULL, "UCX_LOG_LEVEL is not set"},
};

TEST_RANKS(hosts_ucx, reasons_without_it, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, RANKS_EACH(lacks)) {
    const struct lack *lack = rank->user;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_group *group;
    char report[4096];
    set_environment();
    if (lack->value) setenv(lack->name, lack->value, 1);
    else unsetenv(lack->name);
    hosts->carrier = NULL;
    hosts->transports = "ucx";
    rank_status(rank, quern_group_create(&args, 1, &group), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "no transport for data between the hosts: ucx: rank 0: ");
    rank_check_detail(rank, lack->text);
    args.name = strcat(strcpy(report, rank->name), ".b");
    hosts->transports = "sockets,ucx";
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_check_report(rank, group, "hosts 0 and 1: sockets, since");
    rank_check_report(rank, group, lack->text);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/* ---- with it ---- */

static bool has_ucx(void) { return dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL) != NULL; }

/* In a child, since a library that is loaded stays. */
static quern_status look_for_it(UNUSED struct rank *rank) {
    set_environment();
    return has_ucx() ? QUERN_OK : QUERN_NOT_SUPPORTED;
}

static bool is_missing(void) {
    if (!ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 1, .function = look_for_it})) return false;
    cr_skip_test("there is no libucp.so.0: install libucx0");
    return true;
}

static quern_group *group_over_ucx(struct rank *rank, double timeout) {
    quern_group_args args = rank_group_args(rank, timeout);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    set_environment();
    hosts->carrier = NULL;
    hosts->transports = "ucx";
    quern_group *group = rank_create(rank, &args);
    rank_check_report(rank, group, "hosts 0 and 1: ucx, since");
    return group;
}

/* Rank 1 has no network device, so that no rank of another host can be reached from it or reach it: all go on to the next way. */
TEST_BODY_FOR(hosts_ucx, a_rank_without_a_device, if (!is_missing()) for (int ranks = 2; ranks < 5; ranks += 2),
              .kind = RANK_PROCESSES, .count = ranks, .hosts = ranks) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    char name[100];
    set_environment();
    if (rank->rank == 1) setenv("UCX_NET_DEVICES", "nowhere0", 1);
    hosts->carrier = NULL;
    hosts->transports = "ucx,sockets";
    quern_group *group = rank_create(rank, &args);
    rank_check_report(rank, group, "hosts 0 and 1: sockets, since");
    rank_check_report(rank, group, "ucx: rank 0: ucp_ep_create for rank 1: Destination is unreachable: expected a running device");
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_destroy(group));
    args.name = strcat(strcpy(name, rank->name), ".b");
    hosts->transports = "ucx";
    rank_refuse_group(rank, &args, QUERN_NOT_SUPPORTED, "no transport for data between the hosts: ucx: rank 0: ucp_ep_create for "
                                                        "rank 1: Destination is unreachable");
}

/* The signals that the process handles, threads and descriptors are as before; UCX itself stays mapped. */
TEST_BODY_FOR(hosts_ucx, leaves_the_process_as_it_is, if (!is_missing()), .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    struct sigaction before[32], after;
    const unsigned char *mmap_code = dlsym(RTLD_DEFAULT, "mmap");
    unsigned char code[16];
    int descriptors = 0, threads = 0;
    memcpy(code, mmap_code, sizeof code);
    for (int i = 1; i < 32; i++) sigaction(i, NULL, &before[i]);
    for (int round = 0; round < 3; round++) {
        quern_group *group = group_over_ucx(rank, 20);
        for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_group_destroy(group));
        rank_line_up(rank);
        if (!round) {
            rank_sleep(0.2);  /* a thread that was joined is seen for a moment */
            descriptors = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
        const int open = count_settled("/proc/self/fd", descriptors), running = count_settled("/proc/self/task", threads);
        rank_check(rank, open == descriptors && running <= threads, "%d descriptors and %d threads before, now %d and %d",
                   descriptors, threads, open, running);
    }
    for (int i = 1; i < 32; i++) {
        sigaction(i, NULL, &after);
        rank_check(rank, after.sa_handler == before[i].sa_handler, "signal %d has another handler", i);
    }
    rank_check(rank, memcmp(code, mmap_code, sizeof code) == 0, "mmap was changed");
}

static quern_status exchange_and_lose(struct rank *rank) {
    rank_ok(rank, exchange_until_the_last_ends(rank, group_over_ucx(rank, 60)));
    rank_sleep(0.2);  /* whatever UCX may still do */
    return QUERN_OK;
}

Test(hosts_ucx, a_process_that_is_killed) {
    if (is_missing()) return;
    for (int i = 0; i < 4; i++) end_the_last(3, exchange_and_lose, NULL, SIGKILL);
}

Test(hosts_ucx, a_host_that_is_stopped) {
    if (is_missing()) return;
    for (int i = 0; i < 2; i++) end_the_last(3, exchange_and_lose, NULL, SIGSTOP);
}
