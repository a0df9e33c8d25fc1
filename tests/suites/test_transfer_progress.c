/*
 * Transfers that threads of the library move (quern_group_args.progress) while the ranks make no call: within a host, between
 * hosts, and both.  The suites of transfers run with these threads, too (QUERN_TEST_PROGRESS); here is what needs them.
 *
 * Runs on: ranks.
 */
#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>

#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/transfer_pair.h"

/* More than one pass of a thread copies; more than the buffers of the system hold.  Through a carrier less. */
static int64_t much(void) { return carrier_of_environment() ? 1 << 20 : 5 << 20; }
static int64_t very_much(void) { return carrier_of_environment() ? 1 << 20 : 14 << 20; }

/* ---- ranks that compute ---- */

static unsigned char byte_of(int from, int to, int round) { return (unsigned char)(1 + from * 16 + to * 2 + round); }

/* What a rank has with another one. */
struct exchange {
    unsigned char *out, *in;
    int64_t bytes;
};

static void fill(const struct rank *rank, const struct exchange *exchange, int peer, int round) {
    memset(exchange->out, byte_of(rank->rank, peer, round), (size_t)exchange->bytes);
    memset(exchange->in, 0, (size_t)exchange->bytes);
}

/* The bytes come in their order. */
static void await_bytes(struct rank *rank, const struct exchange *exchange, int peer, int round) {
    const unsigned char expected = byte_of(peer, rank->rank, round), *in = exchange->in;
    while (__atomic_load_n(&in[exchange->bytes - 1], __ATOMIC_ACQUIRE) != expected) rank_sleep(1e-3);
    rank_check(rank, in[0] == expected && memcmp(in, in + 1, (size_t)exchange->bytes - 1) == 0, "the bytes differ");
}

/* Each rank below `senders` sends to all.  Between the starts and the look at what has come no rank makes a call. */
static void exchange_without_calls(struct rank *rank, quern_group *group, int64_t bytes, int senders) {
    struct exchange exchanges[8];
    quern_transfer_item items[16];
    int64_t count = 0;
    const bool sends = rank->rank < senders;
    for (int peer = 0; peer < rank->ranks; peer++) {
        struct exchange *exchange = &exchanges[peer];
        *exchange = (struct exchange){malloc((size_t)bytes), malloc((size_t)bytes), bytes};
        if (peer == rank->rank) continue;
        if (sends) items[count++] = transfer_item(0, peer, 3, exchange->out, bytes);
        if (peer < senders) items[count++] = transfer_item(1, peer, 3, exchange->in, bytes);
    }
    quern_transfer *transfer = transfer_prepare(rank, group, 5, items, count);
    for (int round = 0; round < 2; round++) {
        for (int peer = 0; peer < rank->ranks; peer++) fill(rank, &exchanges[peer], peer, round);
        rank_line_up(rank);
        if (sends) rank_ok(rank, quern_transfer_start(transfer, NULL));
        rank_line_up(rank);
        if (!sends) rank_ok(rank, quern_transfer_start(transfer, NULL));
        for (int peer = 0; peer < senders; peer++)
            if (peer != rank->rank) await_bytes(rank, &exchanges[peer], peer, round);
        rank_line_up(rank);
        rank_ok(rank, quern_transfer_wait(transfer, 0));
    }
    rank_ok(rank, quern_transfer_destroy(transfer));
    for (int peer = 0; peer < rank->ranks; peer++) free(exchanges[peer].out), free(exchanges[peer].in);
}

/* What goes one way only is answered by nothing that would wake the sender; nor does it wake a receiver that has started later. */
static void compute(struct rank *rank, quern_group *group) {
    const int64_t sizes[] = {1, 4096, 70000, much()};
    for (size_t i = 0; i < COUNT(sizes); i++) exchange_without_calls(rank, group, sizes[i], rank->ranks);
    exchange_without_calls(rank, group, very_much(), 1);
}

Test(transfer_progress, ranks_of_one_host_compute) {
    for (int ranks = 2; ranks <= 3; ranks++) check_ranks(.kind = RANK_ALL, .count = ranks, .progress = true, .in_group = compute);
}

/* Hosts of one rank each have no thread for their own, those of two have both. */
Test(transfer_progress, hosts_compute) {
    static const int ranks[] = {2, 3, 4};
    for (size_t i = 0; i < COUNT(ranks); i++)
        check_ranks(.kind = RANK_BOTH, .count = ranks[i], .hosts = 2, .progress = true, .in_group = compute);
}

/* One rank alone has the threads: it receives while it computes, and what it sends needs the calls of the other one only. */
TEST_RANKS_FOR(transfer_progress, one_rank_alone_has_threads, for (int hosts = 0; hosts <= 2; hosts += 2),
               .kind = hosts ? RANK_BOTH : RANK_ALL, .count = 2, .hosts = hosts) {
    struct rank own = *rank;
    own.progress = rank->rank == 0;
    quern_group *group = rank_group(&own, RANK_LIMIT);
    const struct exchange exchange = {malloc((size_t)much()), malloc((size_t)much()), much()};
    const quern_transfer_item items[] = {transfer_item(0, !rank->rank, 3, exchange.out, much()),
                                         transfer_item(1, !rank->rank, 3, exchange.in, much())};
    quern_transfer *transfer = transfer_prepare(rank, group, 5, items, 2);
    fill(rank, &exchange, !rank->rank, 0);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_start(transfer, NULL));
    if (rank->rank) rank_ok(rank, quern_transfer_wait(transfer, 0));
    await_bytes(rank, &exchange, !rank->rank, 0);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    rank_ok(rank, quern_transfer_destroy(transfer));
    free(exchange.out), free(exchange.in);
    return quern_group_destroy(group);
}

/* ---- groups that are made of others ---- */

static quern_status split(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *child;
    rank_ok(rank, quern_group_split(&group, 1, &(int){0}, &(int){-rank->rank}, &child));
    struct rank turned = *rank;
    turned.rank = quern_group_rank(child);
    rank_check(rank, turned.rank == rank->ranks - 1 - rank->rank, "rank %d", turned.rank);
    exchange_without_calls(&turned, child, 70000, rank->ranks);
    rank->lined_up = turned.lined_up;
    rank_ok(rank, quern_group_destroy(child));
    return quern_group_destroy(group);
}

static quern_status shrink(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *smaller;
    rank_line_up(rank);
    rank_ok(rank, quern_group_abort(group, "the test's reason"));
    rank_ok(rank, quern_group_shrink(&group, 1, &smaller));
    rank_ok(rank, quern_group_destroy(group));
    exchange_without_calls(rank, smaller, 70000, rank->ranks);
    return quern_group_destroy(smaller);
}

Test(transfer_progress, is_inherited) {
    rank_function *const functions[] = {split, shrink};
    for (size_t i = 0; i < COUNT(functions); i++)
        for (int hosts = 0; hosts <= 2; hosts += 2)
            check_ranks(.kind = RANK_BOTH, .count = 3, .hosts = hosts, .progress = true, .function = functions[i]);
}

/* ---- the threads ---- */

enum { MOST_THREADS = 64 };

/* Fills in the numbers of the threads of this process. */
static int list_threads(pid_t *threads) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *entry; folder && count < MOST_THREADS && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') threads[count++] = (pid_t)atoi(entry->d_name);
    if (folder) closedir(folder);
    return count;
}

static bool was_there(const pid_t *threads, int count, pid_t thread) {
    for (int i = 0; i < count; i++)
        if (threads[i] == thread) return true;
    return false;
}

/* Whether it sleeps in this call of the system, whose argument of this number, a time limit, is NULL. */
static bool sleeps_in(pid_t thread, long call, int argument) {
    char path[64], line[256] = "", *at = line;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)thread);
    FILE *file = fopen(path, "r");
    const bool is_read = file && fgets(line, sizeof line, file);
    if (file) fclose(file);
    if (!is_read || strtol(line, &at, 10) != call) return false;
    unsigned long value = 1;
    for (int i = 0; i <= argument; i++) value = strtoul(at, &at, 16);
    return value == 0;
}

/* Threads that were not there before, and that sleep without a limit. */
static int count_sleepers(const pid_t *before, int count) {
    pid_t now[MOST_THREADS];
    const int all = list_threads(now);
    int sleepers = 0;
    for (int i = 0; i < all; i++)
        sleepers += !was_there(before, count, now[i]) && (sleeps_in(now[i], SYS_futex, 3) || sleeps_in(now[i], SYS_ppoll, 2));
    return sleepers;
}

/* One for the ranks of the host, and one for those of others: before the first transfer, and when all are over. */
static quern_status sleep_without_limit(struct rank *rank) {
    pid_t before[MOST_THREADS];
    const int count = list_threads(before), here = rank->hosts ? rank->ranks / rank->hosts : rank->ranks;
    const int expected = (here > 1) + (here < rank->ranks);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    while (count_sleepers(before, count) != expected) rank_sleep(1e-3);
    exchange_without_calls(rank, group, 70000, rank->ranks);
    while (count_sleepers(before, count) != expected) rank_sleep(1e-3);
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    rank_check(rank, count_settled("/proc/self/task", count + 2) == count + 2, "threads are left");
    return QUERN_OK;
}

Test(transfer_progress, threads_sleep_while_nothing_is_started) {
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .progress = true, .function = sleep_without_limit);
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .progress = true, .function = sleep_without_limit);
    check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .progress = true, .function = sleep_without_limit);
}

/* The last processor on which the process may run. */
static int last_core(void) {
    cpu_set_t cores;
    int core = CPU_SETSIZE - 1;
    sched_getaffinity(0, sizeof cores, &cores);
    while (!CPU_ISSET((unsigned)core, &cores)) core--;
    return core;
}

TEST_RANKS(transfer_progress, threads_run_on_their_core, .kind = RANK_PROCESSES, .count = 2) {
    pid_t before[MOST_THREADS], now[MOST_THREADS];
    const int count = list_threads(before), core = last_core();
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    int found = 0;
    args.progress = 1, args.progress_core = core;
    quern_group *group = rank_create(rank, &args);
    const int all = list_threads(now);
    for (int i = 0; i < all; i++) {
        cpu_set_t cores;
        if (was_there(before, count, now[i])) continue;
        sched_getaffinity(now[i], sizeof cores, &cores);
        rank_check(rank, CPU_COUNT(&cores) == 1 && CPU_ISSET((unsigned)core, &cores), "a thread may run elsewhere");
        found++;
    }
    rank_check(rank, found == 1, "%d threads", found);
    exchange_without_calls(rank, group, 70000, rank->ranks);
    return quern_group_destroy(group);
}

/* Rank 1 asks for a processor that is not there.  Rank 0 has its group, and hears why it is of no use. */
TEST_RANKS(transfer_progress, a_thread_that_cannot_start, .kind = RANK_BOTH, .count = 2) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_group *group = NULL;
    args.progress = 1, args.progress_core = rank->rank ? 1023 : -1;
    quern_status status = quern_group_create(&args, 1, &group);
    if (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_refused(rank, status, QUERN_SYSTEM_ERROR, "rank 1: progress is 1, progress_core is 1023: starting a thread there: ");
    rank_check(rank, !rank->rank || !group, "there is a group");
    return quern_group_destroy(group);
}

/* ---- what has no threads ---- */

TEST_RANKS(transfer_progress, a_carrier_for_one_thread, .kind = RANK_PROCESSES, .count = 2, .hosts = 2,
           .carrier = &(const struct carrier_choice){.alone = true}) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_group *group;
    args.progress = 1;
    rank_refused(rank, quern_group_create(&args, 1, &group), QUERN_NOT_SUPPORTED,
                 "of stand-in (carrier.threads is 0): expected 1, or ");
    rank_hosts_args(&args)->transports = "sockets";
    rank_ok(rank, quern_group_create(&args, 1, &group));
    exchange_without_calls(rank, group, 70000, rank->ranks);
    return quern_group_destroy(group);
}

/* A child has no threads to join when it exits, and leaves those of its parent alone. */
TEST_GROUP(transfer_progress, a_child_of_fork, .kind = RANK_PROCESSES, .count = 2, .progress = true) {
    exchange_without_calls(rank, group, 70000, rank->ranks);
    int state = 0;
    const pid_t child = fork();
    if (!child) {
        quern_transfer_args none = QUERN_TRANSFER_ARGS_INIT;
        quern_transfer *transfer;
        exit(quern_transfer_prepare(group, &none, &transfer) == QUERN_INVALID_ARGUMENT ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    rank_check(rank, child > 0 && waitpid(child, &state, 0) == child && state == 0, "the child ended with %d", state);
    exchange_without_calls(rank, group, 70000, rank->ranks);
}
