/*
 * Collectives of CPU ranks of several hosts that end: ranks die, stop or lose their cable.  test_hosts_collective.c has the values,
 * test_collective_mistakes.c what is refused, test_hosts_ends.c ranks that leave, abort or stay away.
 *
 * Runs on: ranks.
 */
#include "harness/collective_case.h"
#include "harness/counted_carrier.h"
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/network.h"
#include "ranks/collective/collective.h"
#include "ranks/hosts/hosts.h"

enum { POOL = 5 << 20 };

/* ---- ranks that end ---- */

/* Calls of all operations, small and large, until one fails, as it must. */
static quern_status run_until(struct rank_bench *bench, int most) {
    enum { LARGE = 40000, SMALL = 20 };
    struct rank *rank = bench->rank;
    SCOPED float *input = zeroed((size_t)rank->ranks * sizeof *input * LARGE);
    SCOPED float *output = zeroed((size_t)rank->ranks * sizeof *output * LARGE);
    quern_status status = QUERN_OK;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .input = input, .output = output);
    for (int round = 0; round < most && status == QUERN_OK; round++) {
        args.count = round / 4 % 2 ? SMALL : LARGE;
        status = collective_functions[round % 4](bench->group, &args, bench->workspace, POOL, NULL);
    }
    rank_check(rank, status != QUERN_OK, "no call has failed");
    rank_status(rank, quern_barrier(bench->group, NULL, NULL), status);
    const double ended = rank_now();
    rank_ok(rank, quern_group_destroy(bench->group));
    rank_check(rank, rank_now() - ended < RANK_SOON, "destroying took %g s", rank_now() - ended);
    return status;
}

struct death {
    unsigned at;
    int by;
    const char *detail;
};

static void die_at(struct rank *rank) {
    const struct death *death = rank->user;
    struct counted_carrier counter = {.carrier = NULL};
    struct rank_bench bench;
    rank_bench_take(&bench, rank, counted_carrier_group(&counter, rank, RANK_LIMIT), POOL);
    rank_line_up(rank);
    counter.messages = 0;
    if (rank->rank == death->by) counter.dies_at = death->at;
    rank_refused(rank, run_until(&bench, 1000), QUERN_PEER_LOST, death->detail);
}

/* At messages of the first calls: in the entry, in each step, in small calls.  Without rank 2 its host has no leader. */
Test(hosts_collective_ends, a_rank_dies_at_any_message) {
    static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};
    for (unsigned at = 1; at < (unsigned)test_size(60, 30); at += 1 + at / 6) {
        const struct death death = {at, at % 2 ? 3 : 2, at % 2 ? "rank 3 (process " : " has ended"};
        const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .body = die_at,
                                                      .user = &death, .carrier = at % 3 ? &borrows : &copies,
                                                      .may_die = 1u << death.by});
        check(!wrong, "at message %u: %s", at, wrong);
    }
}

static const struct carrier_choice fails_later = {.borrows = true, .culprit = 1, .fails_at = 70};

/* A call that fails in one of its steps, here or at the other rank, sends less than one that succeeds. */
TEST_GROUP(hosts_collective_ends, no_step_follows_one_that_fails, .kind = RANK_BOTH, .count = 2, .hosts = 2,
           .carrier = &fails_later) {
    enum { LARGE = 40000 };
    const uint32_t *sent = &rank_member_of(rank, group)->net->sent[!rank->rank];
    SCOPED float *input = zeroed(LARGE * sizeof *input), *output = zeroed(LARGE * sizeof *output);
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = LARGE, .input = input, .output = output);
    uint32_t whole = 0, before;
    quern_status status;
    quern_most_workspace = 16 << 10;
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    void *workspace = rank_allocate(rank, group, POOL);
    while (before = *sent, (status = quern_all_reduce(group, &args, workspace, POOL, NULL)) == QUERN_OK) whole = *sent - before;
    rank_refused(rank, status, QUERN_SYSTEM_ERROR, "stand-in: ");
    rank_check(rank, *sent - before < whole, "%u messages, %u of a whole call", *sent - before, whole);
}

static quern_status run_until_the_last_ends(struct rank *rank) {
    struct rank_bench bench;
    char lost[40];
    rank_bench_open(&bench, rank, RANK_LIMIT, POOL);
    __atomic_add_fetch((unsigned *)rank->shared, 1, __ATOMIC_ACQ_REL);
    rank_status(rank, run_until(&bench, INT32_MAX), QUERN_PEER_LOST);
    snprintf(lost, sizeof lost, "rank %d (process ", rank->ranks - 1);
    rank_check_detail(rank, lost);
    rank_check_detail(rank, rank->user);
    return QUERN_OK;
}

Test(hosts_collective_ends, a_process_that_is_killed) {
    for (int ranks = 2; ranks < 5; ranks++) end_the_last(ranks, run_until_the_last_ends, NULL, SIGKILL);
}

Test(hosts_collective_ends, a_host_that_is_stopped) {
    for (int ranks = 2; ranks < 4; ranks++) end_the_last(ranks, run_until_the_last_ends, NULL, SIGSTOP);
}

/* ---- a workspace that only some have ---- */

/* Rank 1 has freed the memory that rank 0 takes as its workspace.  Rank 2 is of another host. */
TEST_GROUP(hosts_collective_ends, a_workspace_that_another_rank_has_freed, .kind = RANK_PROCESSES, .count = 3, .hosts = 2) {
    enum { LARGE = 40000 };
    static float values[LARGE], sums[LARGE];
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = LARGE, .input = values, .output = sums);
    void *kept, *freed;
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){POOL}, &kept));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){POOL}, &freed));
    if (rank->rank == 1) rank_ok(rank, quern_symmetric_free(group, freed, NULL));
    rank_refused(rank, quern_all_reduce(group, &args, rank->rank == 0 ? freed : kept, POOL, NULL), QUERN_PEER_MISMATCH,
                 "the workspace of rank 0 is not in symmetric memory that rank 1 has mapped of it");
}

/* ---- a cable that is pulled ---- */

/* The last host loses its cable between two calls, or in one: nothing arrives any more, and no connection says so. */
static void run_until_the_cable_is_pulled(struct rank *rank) {
    const struct network *network = rank->user;
    struct rank_bench bench;
    network_move_in(rank, network);
    rank_bench_open(&bench, rank, RANK_LIMIT, POOL);
    rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 0) rank_check(rank, network_set_cable(network, rank->hosts - 1, false), "the cable cannot be pulled");
    const double began = rank_now();
    rank_status(rank, run_until(&bench, INT32_MAX), QUERN_PEER_LOST);
    rank_check(rank, rank_now() - began < RANK_SOON, "noticed after %g s", rank_now() - began);
    rank_check_detail(rank, "its host is silent");
}

Test(hosts_collective_ends, a_pulled_cable) {
    static const struct hosts_shape far_shapes[] = {{2, 2}, {3, 5}};
    struct network network;
    const char *wrong = NULL;
    if (!network_put_up(&network)) cr_skip_test("no network namespaces here: they need root and the ip command");
    for (size_t i = 0; i < COUNT(far_shapes) && !wrong; i++) {
        wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = far_shapes[i].ranks, .hosts = far_shapes[i].hosts,
                                          .user = &network, .body = run_until_the_cable_is_pulled, .watches_heartbeat = true});
        if (!network_set_cable(&network, far_shapes[i].hosts - 1, true)) wrong = "the cable cannot be put in";
    }
    network_take_down(&network);
    check(!wrong, "%s", wrong);
}
