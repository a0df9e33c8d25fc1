/*
 * Hosts that are network namespaces: the same groups over a network of its own, whose cables can be pulled.  Needs root and ip;
 * else the tests are skipped with the reason.  test_hosts.c has loopback addresses as hosts.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/gather_store.h"
#include "harness/network.h"
#include "harness/ragged_case.h"

static struct network network;

static void need_network(void) {
    if (!network_put_up(&network)) cr_skip_test("no network namespaces here: they need root and the ip command");
}

static void move_in(struct rank *rank) { network_move_in(rank, rank->user); }

static quern_status lose_the_cable(struct rank *rank);

static void run_ranks(int hosts, int ranks, rank_function *function) {
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = ranks, .hosts = hosts, .function = function,
                                                  .user = &network, .watches_heartbeat = function == lose_the_cable,
                                                  .shared_bytes = sizeof(struct gather_store)});
    if (wrong) network_take_down(&network);
    check(!wrong, "%s", wrong);
}

/* ---- barriers and exchanges ---- */

static quern_status exchange(struct rank *rank) {
    move_in(rank);
    struct rank_bench bench CLOSED_BY(rank_bench_close);
    rank_bench_open(&bench, rank, RANK_LIMIT, 5 << 19);
    for (int i = 0; i < 10; i++) {
        ragged_run_cases(&bench, &(struct ragged_batch){.first = 61000 + (uint64_t)i, .cases = 1});
        rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    }
    rank_check_report(rank, bench.group, "host 1 at 10.79.0.2: ranks");
    rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    return QUERN_OK;
}

Test(hosts_network, exchanges) {
    need_network();
    run_ranks(2, 2, exchange);
    run_ranks(2, 5, exchange);
    run_ranks(3, 6, exchange);
    network_take_down(&network);
}

/* ---- hosts that meet by an all-gather, each at an address that the others can reach ---- */

/* Each host has another address, which comes first and to which the others have no route. */
static quern_status meet_by_gather(struct rank *rank) {
    struct gatherer gatherer = {.rank = rank};
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    move_in(rank);
    hosts->meet = NULL;
    hosts->all_gather = gather_all;
    hosts->all_gather_user = &gatherer;
    quern_group *group = rank_create(rank, &args);
    for (int i = 0; i < 5; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_check_report(rank, group, rank_host(rank, rank->rank) == 1 ? "host 2 at 10.79.0.3: " : "host 1 at 10.79.0.2: ");
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    quern_group *smaller = NULL;  /* the hosts meet again where they reach each other */
    rank_ok(rank, quern_group_shrink(&group, 1, &smaller));
    rank_ok(rank, quern_group_destroy(group));
    for (int i = 0; i < 5; i++) rank_ok(rank, quern_barrier(smaller, NULL, NULL));
    return quern_group_destroy(smaller);
}

Test(hosts_network, an_all_gather_finds_addresses) {
    need_network();
    bool good = true;
    for (int host = 1; host <= NETWORK_HOSTS; host++) {
        const char *name = network.host[host - 1];
        good &= network_command("ip -n %s addr flush dev eth0 && ip -n %s addr add 172.31.%d.1/24 dev eth0 && "
                                "ip -n %s addr add 10.79.0.%d/24 dev eth0", name, name, host, name, host) == 0;
    }
    check(good, "no second network");
    run_ranks(3, 4, meet_by_gather);
    network_take_down(&network);
}

/* ---- a bad network: a narrow one that drops what does not fit; delay, loss, packets that overtake each other ---- */

static const char *const qualities[] = {"tbf rate 100mbit burst 16kb latency 1ms", "netem delay 10ms 3ms",
                                        "netem delay 2ms loss 2%",
                                        "netem delay 5ms reorder 25% 50%", "netem delay 3ms duplicate 5%"};

/* On the cables of all hosts. */
static bool spoil_network(const char *quality) {
    bool good = true;
    for (int host = 0; host < NETWORK_HOSTS && good; host++)
        good = network_command("ip netns exec %s tc qdisc replace dev eth0 root %s", network.host[host], quality) == 0;
    return good;
}

static quern_status work_on(struct rank *rank) {
    move_in(rank);
    struct rank_bench bench CLOSED_BY(rank_bench_close);
    rank_bench_open(&bench, rank, RANK_LIMIT, 5 << 19);
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        ragged_run_cases(&bench, &(struct ragged_batch){.first = 62000 + (uint64_t)i, .cases = 1});
        rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    }
    quern_group *child;
    rank_ok(rank, quern_group_split(&bench.group, 1, &(int){rank->rank % 2}, &(int){0}, &child));
    for (int i = 0; i < 3; i++) rank_ok(rank, quern_barrier(child, NULL, NULL));
    rank_ok(rank, quern_group_destroy(child));
    rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    return QUERN_OK;
}

Test(hosts_network, a_bad_network) {
    need_network();
    int spoilt = 0;
    for (size_t i = 0; i < sizeof qualities / sizeof *qualities; i++) {
        if (!spoil_network(qualities[i])) continue;  /* many kernels have no netem */
        run_ranks(3, 4, work_on);
        spoilt++;
    }
    network_take_down(&network);
    if (!spoilt) cr_skip_test("no tc here, or a kernel without tbf and netem");
}

/* ---- a cable that is pulled ---- */

/* Which host loses its cable. */
struct cut {
    struct network network;  /* first */
    int host;
};

static quern_status lose_the_cable(struct rank *rank) {
    move_in(rank);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 0) rank_check(rank, network_set_cable(rank->user, rank->hosts - 1, false), "the cable cannot be pulled");
    quern_status status = QUERN_OK;
    while (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_refused(rank, status, QUERN_PEER_LOST, "its host is silent");
    rank_check_detail(rank, "on host 10.79.0.");
    return quern_group_destroy(group);
}

Test(hosts_network, a_pulled_cable) {
    need_network();
    run_ranks(2, 2, lose_the_cable);
    check(network_set_cable(&network, 1, true), "the cable cannot be put in");
    run_ranks(3, 5, lose_the_cable);
    network_take_down(&network);
}

/*
 * The ranks on both sides of a pulled cable shrink their group.  One side alone goes on: that with more than half of the ranks, or
 * with half of them and rank 0.
 */
static quern_status shrink_on_both_sides(struct rank *rank) {
    const struct cut *cut = rank->user;
    const int host = cut->host;
    move_in(rank);
    quern_group *group = rank_group(rank, 8), *new = NULL;
    int side = 0;
    for (int other = 0; other < rank->ranks; other++)
        side += (rank_host(rank, other) == host) == (rank_host(rank, rank->rank) == host);
    const bool has_rank_0 = (rank_host(rank, 0) == host) == (rank_host(rank, rank->rank) == host);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 0) rank_check(rank, network_set_cable(&cut->network, host, false), "the cable cannot be pulled");
    quern_status status = QUERN_OK;
    while (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_status(rank, status, QUERN_PEER_LOST);
    if (2 * side > rank->ranks || (2 * side == rank->ranks && has_rank_0)) {
        rank_ok(rank, quern_group_shrink(&group, 1, &new));
        rank_check(rank, quern_group_size(new) == side, "%d ranks go on: expected %d", quern_group_size(new), side);
        for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(new, NULL, NULL));
    } else {
        rank_refused(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_LOST, "ranks have answered within");
        rank_check(rank, !new, "a handle was written");
    }
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

Test(hosts_network, a_group_that_is_cut_goes_on_on_one_side) {
    static const struct {
        int hosts, ranks, host;
    } cuts[] = {{2, 4, 1}, {3, 5, 2}, {3, 6, 0}};
    need_network();
    struct cut cut = {.network = network};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        cut.host = cuts[i].host;
        const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = cuts[i].ranks, .hosts = cuts[i].hosts,
                                                      .function = shrink_on_both_sides, .user = &cut, .watches_heartbeat = true});
        if (wrong) network_take_down(&network);
        check(!wrong, "host %d of %d is cut off: %s", cuts[i].host, cuts[i].hosts, wrong);
        check(network_set_cable(&network, cut.host, true), "the cable cannot be put in");
    }
    network_take_down(&network);
}
