/*
 * How a group of several hosts ends: a process or a host that is killed, a host that is stopped, a rank that leaves, aborts, does
 * not arrive, or forks.  Every rank that waits gets the status and the name in time, on every host.
 *
 * Runs on: ranks.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "harness/check.h"
#include "harness/hosts_case.h"
#include "harness/rank_bench.h"
#include "ranks/hosts/hosts.h"

/* What all ranks do: meet, then meet again and again until that fails as it must. */
struct end {
    quern_status status;
    const char *detail[2];
    int by;                   /* the rank that ends */
};

static void meet_until_the_end(struct rank *rank, quern_group *group) {
    const struct end *end = rank->user;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    __atomic_add_fetch((unsigned *)rank->shared, 1, __ATOMIC_ACQ_REL);
    quern_status status = QUERN_OK;
    while (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_status(rank, status, end->status);
    for (size_t i = 0; i < COUNT(end->detail) && end->detail[i]; i++) rank_check_detail(rank, end->detail[i]);
    rank_status(rank, quern_barrier(group, NULL, NULL), end->status);
    rank_status(rank, quern_group_status(group), end->status);
    uint64_t missing[2];
    rank_ok(rank, quern_group_missing(group, missing, 2));
    rank_check(rank, missing[0] >> end->by & 1, "missing is %llx, without rank %d", (unsigned long long)missing[0], end->by);
}

/* Sends a signal to some of the ranks' processes. */
static void end_by_signal(int hosts, int ranks, unsigned mask, int signal, struct end end) {
    end_ranks((struct ranks){.count = ranks, .hosts = hosts, .in_group = meet_until_the_end, .user = &end}, mask, signal);
}

/* ---- deaths ---- */

Test(hosts_ends, a_killed_process) {
    end_by_signal(2, 2, 2, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 1 (process", "has ended"}, 1});
    end_by_signal(2, 2, 1, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 0 (process", "has ended"}, 0});
    end_by_signal(2, 4, 8, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 3 (process", "has ended"}, 3});
    end_by_signal(3, 3, 4, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 2 (process", "has ended"}, 2});
    end_by_signal(3, 6, 8, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 3 (process", "has ended"}, 3});
}

Test(hosts_ends, a_killed_leader) {
    end_by_signal(2, 4, 4, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank ", "has ended"}, 2});
    end_by_signal(2, 4, 1, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank ", "has ended"}, 0});
}

Test(hosts_ends, a_killed_host) {
    end_by_signal(2, 4, 12, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank 2 (process", "on host 127.0.0."}, 2});
    end_by_signal(4, 8, 3, SIGKILL, (struct end){QUERN_PEER_LOST, {"rank ", "has ended"}, 0});
}

Test(hosts_ends, a_stopped_host) {
    end_by_signal(2, 2, 2, SIGSTOP, (struct end){QUERN_PEER_LOST, {"rank 1 (process", "its host is silent"}, 1});
    end_by_signal(2, 4, 12, SIGSTOP, (struct end){QUERN_PEER_LOST, {"rank 2 (process", "its host is silent"}, 2});
    end_by_signal(3, 3, 1, SIGSTOP, (struct end){QUERN_PEER_LOST, {"rank 0 (process", "its host is silent"}, 0});
}

/* Ends the connections to the other host that neither calls nor transfers have: that of the monitors. */
static int cut_monitors(const struct quern_membership *member, int peer) {
    struct sockaddr_in other;
    int cut = 0;
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        socklen_t bytes = sizeof other;
        if (descriptor == member->net->socket[peer] || descriptor == member->net->transfers[peer]) continue;
        if (getpeername(descriptor, (struct sockaddr *)&other, &bytes) != 0 || other.sin_family != AF_INET) continue;
        cut += shutdown(descriptor, SHUT_RDWR) == 0;
    }
    return cut;
}

/* Both ranks live and reach each other, but neither would hear of the other's end: no call of them both succeeds. */
TEST_GROUP(hosts_ends, a_cut_connection_of_monitors, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .met = true) {
    const int peer = !rank->rank;
    uint64_t missing[2] = {0, 0};
    if (rank->rank == 0) rank_check(rank, cut_monitors(rank_member_of(rank, group), peer) > 0, "no connection of monitors");
    for (int i = 0; i < 60000 && !missing[0]; i++) {
        rank_sleep(0.01);
        rank_ok(rank, quern_group_missing(group, missing, 2));
    }
    rank_line_up(rank);
    rank_refused(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_LOST, "is lost: its connection has ended");
}

/* Nobody waits: the mask and the report know it, and the group is not poisoned before somebody does. */
static void look_idly(struct rank *rank, quern_group *group) {
    unsigned *ready = rank->shared;
    uint64_t missing[2] = {0, 0};
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    __atomic_add_fetch(ready, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; i < 60000 && !(missing[0] >> 1 & 1); i++) {
        rank_sleep(0.01);
        rank_ok(rank, quern_group_missing(group, missing, 2));
    }
    rank_check(rank, missing[0] == 2, "missing is %llx", (unsigned long long)missing[0]);
    rank_check_report(rank, group, "has ended");
    rank_ok(rank, quern_group_status(group));
    __atomic_add_fetch(ready, 1, __ATOMIC_ACQ_REL);  /* a rank that leaves is missing, too */
    while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) < 3 + 2) rank_sleep(1e-3);
}

Test(hosts_ends, an_idle_group_knows_who_is_missing) {
    end_ranks((struct ranks){.count = 3, .hosts = 3, .in_group = look_idly}, 1 << 1, SIGKILL);
}

/* ---- leaving, aborting, staying away ---- */

enum how { LEAVES, ABORTS, STAYS_AWAY };

/* A rank that parts, and what the others get of it in a barrier or an all-reduce. */
static const struct parting {
    bool reduces;
    int hosts, ranks;
    enum how how;
    int by;
    quern_status status;
    const char *detail, *more;
} partings[] = {
    {false, 2, 2, LEAVES, 1, QUERN_PEER_LOST, "rank 1 (process", "has destroyed its group"},
    {false, 2, 4, LEAVES, 3, QUERN_PEER_LOST, "rank 3 (process", "has destroyed its group"},
    {false, 3, 3, LEAVES, 0, QUERN_PEER_LOST, "rank 0 (process", "has destroyed its group"},
    {false, 2, 2, ABORTS, 0, QUERN_GROUP_ABORTED, "rank 0 has aborted the group: it is Friday", ""},
    {false, 3, 6, ABORTS, 5, QUERN_GROUP_ABORTED, "rank 5 has aborted the group: it is Friday", ""},
    {false, 2, 2, STAYS_AWAY, 1, QUERN_PEER_TIMEOUT, "rank 1 (process", "waited "},
    {false, 2, 4, STAYS_AWAY, 3, QUERN_PEER_TIMEOUT, "rank 3 (process", "waited "},
    {true, 2, 4, LEAVES, 3, QUERN_PEER_LOST, "rank 3 (process", ""},
    {true, 2, 4, LEAVES, 0, QUERN_PEER_LOST, "rank 0 (process", ""},
    {true, 2, 4, ABORTS, 1, QUERN_GROUP_ABORTED, "it is Friday", ""},
    {true, 2, 4, STAYS_AWAY, 3, QUERN_PEER_TIMEOUT, "rank 3 (process", "waited "},
    {true, 2, 4, STAYS_AWAY, 2, QUERN_PEER_TIMEOUT, "rank 2 (process", "waited "},
};

static quern_status meet_or_reduce(const struct rank_bench *bench, bool reduces, double timeout) {
    float input[4] = {0}, output[4];
    const quern_barrier_args barrier = BARRIER_ARGS(.timeout = timeout);
    const quern_collective_args sum = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 4, .input = input, .output = output,
                                                      .timeout = timeout);
    return reduces ? quern_all_reduce(bench->group, &sum, bench->workspace, BENCH_POOL, NULL)
                   : quern_barrier(bench->group, &barrier, NULL);
}

/* The limit that ends first is that of the rank which waits for the absent one: the last of its host, or the only other one. */
TEST_BENCH_FOR(hosts_ends, ranks_that_part, for (size_t i = 0; i < COUNT(partings); i++), .kind = RANK_BOTH,
               .count = partings[i].ranks, .hosts = partings[i].hosts, .user = &partings[i]) {
    const struct parting *parting = rank->user;
    const bool stays_away = parting->how == STAYS_AWAY;
    rank_ok(rank, meet_or_reduce(bench, parting->reduces, RANK_LIMIT));
    rank_line_up(rank);
    if (rank->rank == parting->by) {
        if (!stays_away) rank_sleep(0.2);
        if (parting->how == ABORTS) rank_ok(rank, quern_group_abort(bench->group, "it is Friday"));
        if (stays_away) rank_line_up(rank);
        if (parting->how != LEAVES) rank_status(rank, quern_group_status(bench->group), parting->status);
        return;
    }
    const double limit = stays_away && rank->rank == parting->by - 1 ? 0.5 : RANK_LIMIT;
    rank_refused(rank, meet_or_reduce(bench, parting->reduces, limit), parting->status, parting->detail);
    rank_check_detail(rank, parting->more);
    if (stays_away) rank_line_up(rank);
}

/* ---- forks, descriptors, threads ---- */

/* A child that lives on must not hide the end of its parent. */
static void fork_and_die(struct rank *rank, quern_group *group) {
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 1) {
        pid_t child = fork();
        if (child == 0) {
            if (quern_barrier(group, NULL, NULL) != QUERN_INVALID_ARGUMENT) _exit(EXIT_FAILURE);
            pause();
            _exit(EXIT_SUCCESS);
        }
        *(pid_t *)rank->shared = child;
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_line_up(rank);
        raise(SIGKILL);
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_LOST);
}

Test(hosts_ends, a_forked_child_does_not_hide_its_parents_end) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .in_group = fork_and_die});
    const char *wrong = ranks_wait(run, (bool[]){false, true});
    const pid_t child = *(pid_t *)ranks_shared(run);
    if (child > 0) kill(child, SIGKILL);
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

static int count_inherited(void) {
    int count = 0;
    for (int file = 3; file < 256; file++) {
        const int flags = fcntl(file, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

/* Nothing is left of a group, and nothing of it passes to a program that is executed. */
TEST_BODY(hosts_ends, nothing_is_left_of_a_group, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    const int files = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task"), inherited = count_inherited();
    for (int round = 0; round < 5; round++) {
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        args.job = (uint64_t)round + 1;
        quern_group *group = rank_create(rank, &args);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        if (!rank->transports)  /* UCX lets its own pass */
            rank_check(rank, count_inherited() == inherited, "%d descriptors pass to another program",
                       count_inherited() - inherited);
        rank_line_up(rank);  /* an abort overtakes the last messages of a barrier */
        if (round % 2 && !rank->transports) quern_group_abort(group, NULL);  /* after which a worker is left to UCX */
        rank_ok(rank, quern_group_destroy(group));
        rank_check(rank, count_entries("/proc/self/fd") == files, "%d descriptors, before %d", count_entries("/proc/self/fd"),
                   files);
        const int left = count_settled("/proc/self/task", threads);
        rank_check(rank, left == threads, "%d threads, before %d", left, threads);
    }
}
