/*
 * Groups of CPU ranks of several hosts: barriers, exchanges, and what is refused.  The hosts are names at addresses of this
 * machine, so that they share neither memory nor anything else but TCP.  test_hosts_ends.c has deaths, and test_hosts_rejected.c
 * attacks.
 *
 * Runs on: ranks.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "os/address.h"
#include "ranks/hosts/hosts.h"
#include "ranks/membership.h"

static const struct hosts_shape shapes[] = {{2, 2}, {2, 4}, {3, 5}, {4, 9}, {2, 3}, {3, 3}, {4, 4}, {2, 8}, {5, 5}};

static void check_hosts(rank_function *function, const void *user) { check_shapes(shapes, COUNT(shapes), function, user); }

/* ---- barriers ---- */

static quern_status meet_often(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int64_t round = 1; round <= 40; round++) {
        if (random_below(7, (uint64_t)(round * 64 + rank->rank), 4) == 0) rank_sleep(1e-3);
        meet_members(rank, group, NULL, 0, round);
    }
    return quern_group_destroy(group);
}

Test(hosts, barriers_wait_for_all_ranks) { check_hosts(meet_often, NULL); }

static quern_status meet_all_and_some(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int64_t round = 1; round <= 60; round++) {
        int members[QUERN_MAX_RANKS], count = 0;
        bool is_member = false;
        for (int other = 0; other < rank->ranks; other++)
            if (random_below(9, (uint64_t)(round * 64 + other), 3)) {
                members[count++] = other;
                is_member |= other == rank->rank;
            }
        meet_members(rank, group, NULL, 0, 2 * round);
        if (is_member) meet_members(rank, group, members, count, 2 * round + 1);
    }
    return quern_group_destroy(group);
}

Test(hosts, barriers_of_all_and_some_ranks) { check_hosts(meet_all_and_some, NULL); }

TEST_RANKS(hosts, counters_wrap_around, .kind = RANK_THREADS, .count = 4, .hosts = 2, .shared_bytes = sizeof(struct hosts_board)) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.first_epoch = UINT32_MAX - 5;
    quern_group *group = rank_create(rank, &args);
    for (int64_t round = 1; round <= 10; round++) meet_members(rank, group, NULL, 0, round);
    return quern_group_destroy(group);
}

/* ---- exchanges ---- */

/* Of any slices, of small ones, and by plans. */
Test(hosts, random_exchanges) {
    const int cases = (int)test_size(15, 5);
    const struct ragged_batch batches[] = {
        {.first = 51000, .cases = cases},
        {.first = 52000, .cases = cases, .choice = {.everyone = true, .largest = 3, .row_bytes = 12, .updates = 1}},
        {.first = 53000, .cases = (int)test_size(6, 3), .is_plan = true, .choice.everyone = true},
    };
    for (size_t i = 0; i < COUNT(batches); i++) check_hosts(ragged_run_batch, &batches[i]);
}

/* Both directions have more than the buffers of the system hold, so a rank that only sent would wait for ever. */
TEST_GROUP(hosts, both_directions_move_at_once, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    enum { BYTES = 24 << 20 };
    struct rank_exchange exchange;
    SCOPED unsigned char *input = zeroed(2 * (size_t)BYTES), *output = zeroed(2 * BYTES);
    for (size_t i = 0; i < 2 * (size_t)BYTES; i++) input[i] = (unsigned char)(i * 7 + i / 251 + (size_t)rank->rank);
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, BYTES, 1));
    rank_ok(rank, rank_exchange_run(group, &exchange));
    for (size_t sender = 0; sender < 2; sender++)
        for (size_t i = 0; i < BYTES; i++) {
            const size_t source = (size_t)rank->rank * BYTES + i;
            rank_check(rank, output[sender * BYTES + i] == (unsigned char)(source * 7 + source / 251 + sender),
                       "byte %zu of rank %zu", i, sender);
        }
}

/* Of slices that do not travel with the metadata; test_ragged_mistakes.c has small ones, and what each rank is told. */
TEST_GROUP(hosts, mistakes_about_large_slices_write_nothing, .kind = RANK_BOTH, .count = 4, .hosts = 2) {
    enum { ROWS = 2, ROW_BYTES = 4096, BYTES = 4 * ROWS * ROW_BYTES };
    static const struct {
        int rank, array;  /* input_offsets, both sizes, output_offsets */
        int32_t value;
        quern_status status;
    } mistakes[] = {{3, 1, 1, QUERN_PEER_MISMATCH}, {0, 1, 9, QUERN_INVALID_SHAPE}, {2, 0, -4, QUERN_INVALID_SHAPE},
                    {1, 2, 1000, QUERN_INVALID_SHAPE}};
    struct rank_exchange exchange;
    int32_t *const arrays[] = {exchange.from, exchange.sizes, exchange.to};
    SCOPED unsigned char *input = zeroed(BYTES), *output = zeroed(BYTES);
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, ROWS, ROW_BYTES));
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        rank_exchange_set(rank, &exchange, ROWS);
        if (rank->rank == mistakes[i].rank) arrays[mistakes[i].array][0] = mistakes[i].value;
        memset(output, 7, BYTES);
        rank_status(rank, rank_exchange_run(group, &exchange), mistakes[i].status);
        for (size_t at = 0; at < BYTES; at++) rank_check(rank, output[at] == 7, "mistake %zu wrote byte %zu", i, at);
        rank_exchange_set(rank, &exchange, ROWS);
        rank_ok(rank, rank_exchange_run(group, &exchange));
    }
}

/* ---- what groups of several hosts have and have not ---- */

TEST_GROUP(hosts, symmetric_memory_is_of_a_host, .kind = RANK_BOTH, .count = 5, .hosts = 2) {
    void *memory, *peer;
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){4096}, &memory));
    *(int *)memory = rank->rank;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    for (int other = 0; other < rank->ranks; other++)
        if (rank_host(rank, other) == rank_host(rank, rank->rank)) {
            rank_ok(rank, quern_symmetric_peer(group, memory, other, &peer));
            rank_check(rank, *(int *)peer == other, "rank %d has %d", other, *(int *)peer);
        } else {
            rank_refused(rank, quern_symmetric_peer(group, memory, other, &peer), QUERN_NOT_SUPPORTED, "is of another host");
        }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_symmetric_free(group, memory, NULL));
}

TEST_GROUP(hosts, the_report_names_hosts_and_transports, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    uint64_t missing[2] = {1, 1};
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    const char *const expected[] = {"rank 0: process ", "rank 3: process ", "on host 127.0.0.", "host 0 at 127.0.0.",
                                    ": ranks 0, 1\n", ": ranks 2, 3\n",
                                    rank->transports ? "hosts 0 and 1: ucx, since host memory does not reach"
                                    : rank->carrier  ? "hosts 0 and 1: stand-in, since host memory does not reach"
                                                     : "hosts 0 and 1: sockets, since host memory does not reach"};
    for (size_t i = 0; i < COUNT(expected); i++) rank_check_report(rank, group, expected[i]);
    rank_ok(rank, quern_group_missing(group, missing, 2));
    rank_check(rank, !missing[0] && !missing[1], "missing %llx", (unsigned long long)missing[0]);
    rank_check(rank, quern_group_rank(group) == rank->rank && quern_group_size(group) == 4, "rank and size");
    rank_ok(rank, quern_barrier(group, NULL, NULL));
}

/* ---- IPv6 ---- */

/* The loopback address of IPv6 is one, so all hosts have it. */
static bool choose_port(char place[32]) {
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t bytes = sizeof name;
    const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = probe >= 0 && bind(probe, (struct sockaddr *)&name, bytes) == 0 &&
                      getsockname(probe, (struct sockaddr *)&name, &bytes) == 0;
    if (probe >= 0) close(probe);
    snprintf(place, 32, "[::1]:%d", ntohs(name.sin6_port));
    return good;
}

static quern_status meet_over_six(struct rank *rank) {
    rank->meet = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int64_t round = 1; round <= 10; round++) meet_members(rank, group, NULL, 0, round);
    rank_check_report(rank, group, "host 0 at ::1: ranks 0, 1\n");
    rank_check_report(rank, group, "host 1 at ::1: ranks 2, 3\n");
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_destroy(group));
    struct ragged_batch batch = {.first = 54000, .cases = 4};
    rank->user = &batch;
    return ragged_run_batch(rank);
}

static void miss_the_place_of_six(struct rank *rank) {
    quern_group_args args = rank_group_args(rank, 0.5);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    hosts->meet = rank->user;
    if (rank->rank == 0) return;
    rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, hosts->meet);
}

Test(hosts, over_ipv6) {
    static char place[32];
    if (!choose_port(place)) cr_skip_test("no IPv6 here: [::1] cannot be bound");
    check_ranks(.kind = RANK_BOTH, .count = 4, .hosts = 2, .function = meet_over_six, .user = place,
                .shared_bytes = sizeof(struct hosts_board));
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .body = miss_the_place_of_six, .user = place);
}

/* One host that meets over the network has a plain group. */
TEST_RANKS(hosts, one_host, .kind = RANK_PROCESSES, .count = 2, .hosts = 1) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    void *memory, *peer;
    hosts->host = NULL;
    quern_group *group = rank_create(rank, &args);
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){64}, &memory));
    rank_ok(rank, quern_symmetric_peer(group, memory, 1 - rank->rank, &peer));
    return quern_group_destroy(group);
}

/* ---- ports, and connections that idle ---- */

/* Consecutive ports below those that the system gives to others, of which the first is taken. */
static int take_port(int ports, struct quern_ports *range) {
    for (uint16_t first = (uint16_t)(10000 + getpid() % 10000); first < 32000; first = (uint16_t)(first + ports)) {
        int taken[16], free = 0;
        for (int i = 0; i < ports; i++) {
            const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(first + i))};
            taken[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            free += taken[i] >= 0 && bind(taken[i], (const struct sockaddr *)&name, sizeof name) == 0;
        }
        for (int i = 1; i < ports; i++) close(taken[i]);
        if (free == ports && listen(taken[0], 1) == 0) {
            *range = (struct quern_ports){first, (uint16_t)(first + ports - 1)};
            return taken[0];
        }
        close(taken[0]);
    }
    check(false, "no free ports");
    return -1;
}

/* How many sockets for datagrams this process has, all at ports of the range; UCX has others. */
static int count_datagrams(struct rank *rank, const struct quern_ports *range) {
    int count = 0;
    for (int file = 3; file < 256; file++) {
        struct sockaddr_in name;
        int type = 0;
        socklen_t bytes = sizeof type, room = sizeof name;
        if (getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_DGRAM) continue;
        rank_check(rank, getsockname(file, (struct sockaddr *)&name, &room) == 0 && name.sin_family == AF_INET, "another family");
        const uint16_t port = ntohs(name.sin_port);
        rank_check(rank, port >= range->first && port <= range->last, "datagrams at port %d", port);
        count++;
    }
    return count;
}

static quern_status listen_in_range(struct rank *rank) {
    const struct quern_ports *range = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    for (int other = 0; other < rank->ranks; other++) {
        const uint16_t port = member->roster->peer[other].address.port;
        rank_check(rank, port > range->first && port <= range->last, "rank %d has port %d", other, port);
        for (int before = 0; before < other; before++)
            rank_check(rank, port != member->roster->peer[before].address.port, "ranks %d and %d: port %d", before, other, port);
    }
    const int leader = member->roster->leader_of[member->roster->peer[rank->rank].host];
    const int expected = leader == rank->rank, datagrams = rank->transports ? expected : count_datagrams(rank, range);
    rank_check(rank, datagrams == expected, "%d sockets for datagrams: expected %d", datagrams, expected);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

static quern_status find_no_port(struct rank *rank) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    rank_refuse_group(rank, &args, QUERN_SYSTEM_ERROR, "no port is free, of QUERN_PORTS");
    return QUERN_OK;
}

/* Four ranks need four ports, and three are one too few. */
Test(hosts, listeners_have_ports_of_a_range) {
    for (int ports = 5; ports >= 4; ports--) {
        struct quern_ports range;
        char text[32];
        const int taken = take_port(ports, &range);
        snprintf(text, sizeof text, "%d-%d", range.first, range.last);
        setenv("QUERN_PORTS", text, 1);
        check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = ports == 5 ? listen_in_range : find_no_port,
                    .user = &range);
        close(taken);
    }
}

static void refuse_ports(struct rank *rank) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    char detail[100];
    snprintf(detail, sizeof detail, "QUERN_PORTS is \"%s\": expected FIRST-LAST", (const char *)rank->user);
    rank_refuse_group(rank, &args, QUERN_INVALID_ARGUMENT, detail);
}

Test(hosts, ports_that_are_none) {
    static const char *const wrong[] = {"4711",   "4711-",      "-4711",      "4712-4711", "0-4711",
                                        "4711-0", "4711-65536", "4711-4712x", "a-b",       "1-2-3"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        setenv("QUERN_PORTS", wrong[i], 1);
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .body = refuse_ports, .user = wrong[i]);
    }
}

static int option_of(int socket_, int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    return getsockopt(socket_, level, name, &value, &bytes) == 0 ? value : -1;
}

/* Every connection with another host, and for longer than a host may be silent. */
TEST_GROUP(hosts, connections_are_kept_alive, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    int connections = 0;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    for (int file = 3; file < 256 && !rank->transports; file++) {  /* UCX has sockets of its own */
        struct sockaddr_in name;
        socklen_t bytes = sizeof name;
        if (getpeername(file, (struct sockaddr *)&name, &bytes) != 0 || name.sin_family != AF_INET) continue;
        connections++;
        rank_check(rank, option_of(file, SOL_SOCKET, SO_KEEPALIVE) == 1, "descriptor %d is not kept alive", file);
        const int first = option_of(file, IPPROTO_TCP, TCP_KEEPIDLE), next = option_of(file, IPPROTO_TCP, TCP_KEEPINTVL);
        rank_check(rank, first <= 300 && first + next * option_of(file, IPPROTO_TCP, TCP_KEEPCNT) > 3600, "%d s, then %d s", first,
                   next);
    }
    const bool leads = rank->rank % 2 == 0;
    rank_check(rank, connections == (rank->transports ? 0 : 4 + leads),
               "%d connections: expected two for each pair, and one of monitors", connections);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
}

/* ---- arguments ---- */

Test(hosts, illegal_arguments) {
    quern_group *group;
    OPEN_CPU(device);
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    static const char meet[] = "127.0.0.2:4711", secret[] = "0123456789abcdef";
    quern_group_args good = GROUP_ARGS(.ranks = 2, .device = device, .timeout = 0.1, .hosts = &hosts);
    const struct {
        const char *detail;
        quern_status status;
        const char *meet, *secret;
        size_t secret_bytes;
        int host_ranks;
        const char *name, *host;
    } cases[] = {
        {"hosts.meet is NULL", QUERN_NULL_POINTER, NULL, secret, 16, 1, "a", NULL},
        {"meet is no address", QUERN_INVALID_ARGUMENT, "localhost:1", secret, 16, 1, "a", NULL},
        {"meet is no address", QUERN_INVALID_ARGUMENT, "127.0.0.2", secret, 16, 1, "a", NULL},
        {"secret is NULL", QUERN_NULL_POINTER, meet, NULL, 16, 1, "a", NULL},
        {"secret_bytes is 15: expected at least 16", QUERN_INVALID_ARGUMENT, meet, secret, 15, 1, "a", NULL},
        {"host_ranks is 0: expected 1 to 2", QUERN_INVALID_ARGUMENT, meet, secret, 16, 0, "a", NULL},
        {"host_ranks is 3: expected 1 to 2", QUERN_INVALID_ARGUMENT, meet, secret, 16, 3, "a", NULL},
        {"name is NULL", QUERN_NULL_POINTER, meet, secret, 16, 1, NULL, NULL},
        {"host is not 1 to 15", QUERN_INVALID_ARGUMENT, meet, secret, 16, 1, "a", "0123456789abcdef"},
        {"host is not 1 to 15", QUERN_INVALID_ARGUMENT, meet, secret, 16, 1, "a", "a/b"},
        {"listening at 192.0.2.1:4711", QUERN_SYSTEM_ERROR, "192.0.2.1:4711", secret, 16, 1, "a", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        quern_group_args args = good;
        args.name = cases[i].name;
        hosts.meet = cases[i].meet, hosts.secret = cases[i].secret, hosts.secret_bytes = cases[i].secret_bytes;
        hosts.host_ranks = cases[i].host_ranks, hosts.host = cases[i].host;
        const quern_status status = quern_group_create(&args, 1, &group);
        const bool right = status == cases[i].status && strstr(error_detail(), cases[i].detail);
        check(right || (i + 1 == COUNT(cases) && status == QUERN_SYSTEM_ERROR), "case %zu: %s: %s", i, quern_status_string(status),
              error_detail());
    }
    quern_group_args args = good;
    args.name = "illegal", hosts.size = sizeof hosts;
    check(quern_group_create(&args, 1, &group) == QUERN_INVALID_STRUCT_SIZE && strstr(error_detail(), "quern_hosts_args"), "%s",
          error_detail());
}

Test(hosts, illegal_failure_timeout) {
    static const double illegal[] = {0.1999, 3600.5, -1, INFINITY, -INFINITY, NAN};
    quern_group *group;
    OPEN_CPU(device);
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    quern_group_args args = GROUP_ARGS(.ranks = 1, .name = "silent", .device = device, .timeout = 20);
    hosts.meet = "127.0.0.2:4711", hosts.secret = "0123456789abcdef", hosts.secret_bytes = 16, hosts.host_ranks = 1;
    for (size_t i = 0; i < COUNT(illegal); i++) {
        args.hosts = &hosts, hosts.failure_timeout = illegal[i];
        const quern_status status = quern_group_create(&args, 1, &group);
        char words[120];
        snprintf(words, sizeof words, "failure_timeout is %g: expected seconds, 0.2 to 3600, or 0 for 10", illegal[i]);
        check(status == QUERN_INVALID_ARGUMENT && strstr(error_detail(), words), "%g: %s: %s", illegal[i],
              quern_status_string(status), error_detail());
        args.hosts = NULL;  /* one host has no heartbeats */
        check_ok(quern_group_create(&args, 1, &group));
        check_ok(quern_group_destroy(group));
    }
}

/* ---- limits ---- */

TEST_BODY(hosts, at_most_512_ranks_and_128_of_a_host, .kind = RANK_THREADS, .count = 1, .hosts = 1) {
    static const struct {
        int ranks, host_ranks;
        quern_status status;
        const char *detail;
    } asked[] = {{513, 1, QUERN_INVALID_ARGUMENT, "ranks is 513: expected 1 to 512"},
                 {512, 129, QUERN_INVALID_ARGUMENT, "host_ranks is 129: expected 1 to 128"},
                 {65, 2, QUERN_NOT_SUPPORTED, "65 ranks of several hosts: sockets serve up to 64; set carrier"},
                 {64, 2, QUERN_PEER_TIMEOUT, "and 47 more, of which 1 are of this host"}};
    for (size_t i = 0; i < COUNT(asked); i++) {
        quern_group_args args = rank_group_args(rank, 0.2);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        args.ranks = asked[i].ranks, hosts->host_ranks = asked[i].host_ranks, args.job = i + 1;
        hosts->carrier = NULL, hosts->transports = NULL;
        rank_refuse_group(rank, &args, asked[i].status, asked[i].detail);
    }
}

/* All places of a host are taken, as far as a rank can see that comes later: it gets none, and not that of another rank. */
TEST_BODY(hosts, a_host_has_no_more_places_than_it_says, .kind = RANK_PROCESSES, .count = 2, .hosts = 1) {
    quern_group_args args = rank_group_args(rank, rank->rank ? RANK_LIMIT : 10);  /* the time in which rank 1 comes */
    quern_hosts_args *hosts = rank_hosts_args(&args);
    char path[300], name[128];
    args.ranks = 8, hosts->host_ranks = 2;
    if (rank->rank == 0) {
        rank_refuse_group(rank, &args, QUERN_PEER_MISMATCH, "host_ranks is 2, and so many other ranks of this host have come");
        return;
    }
    snprintf(name, sizeof name, "%s@a", rank->name);
    rank_meeting_place(path, sizeof path, name);
    struct quern_segment *segment = ranks_find_forming(path, 1);
    rank_check(rank, segment, "nobody comes to %s", path);
    __atomic_store_n(&segment->seated, 2, __ATOMIC_SEQ_CST);
    rank_refuse_group(rank, &args, QUERN_PEER_MISMATCH, "host_ranks is 2, and so many other ranks of this host have come");
    munmap(segment, sizeof *segment);
}

/* ---- what a group costs ---- */

static unsigned messages_of(const struct quern_membership *member) {
    unsigned sent = 0;
    for (int rank = 0; rank < member->ranks; rank++) sent += member->net->sent[rank];
    return sent;
}

/* The descriptors of all ranks are of one process: both ends of each connection. */
static int count_descriptors(const struct rank *rank, const struct quern_membership *member) {
    int count = rank->hosts * (rank->hosts - 1) + 2 * rank->hosts;  /* of monitors; sockets for datagrams, and segments */
    for (int other = 0; other < rank->ranks; other++)
        for (int peer = 0; peer < rank->ranks; peer++)
            count += 2 * (member->roster->peer[other].host != member->roster->peer[peer].host);  /* for calls; for transfers */
    return count;
}

static const struct hosts_shape costs[] = {{2, 5}, {3, 6}, {4, 9}};

/* In a barrier only leaders send, a message in each of log2(hosts) rounds. */
TEST_RANKS_FOR(hosts, barriers_and_descriptors_are_as_few_as_documented, for (size_t i = 0; i < COUNT(costs); i++),
               .kind = RANK_THREADS, .count = costs[i].ranks, .hosts = costs[i].hosts, .shared_bytes = sizeof(struct hosts_board)) {
    struct hosts_board *board = rank->shared;
    rank_line_up(rank);
    if (rank->rank == 0) board->counts[0] = count_entries("/proc/self/fd");
    rank_line_up(rank);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 0) board->counts[1] = count_entries("/proc/self/fd");
    const unsigned before = messages_of(member);
    for (int round = 0; round < 10; round++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    const unsigned sent = messages_of(member) - before;
    const bool leads = member->roster->host_leader == rank->rank;
    int rounds = 0;
    while (1 << rounds < rank->hosts) rounds++;
    rank_check(rank, sent == (leads ? 10 * (unsigned)rounds : 0), "%u messages in 10 barriers", sent);
    rank_line_up(rank);
    const int more = (int)(board->counts[1] - board->counts[0]), expected = count_descriptors(rank, member);
    rank_check(rank, more == expected || rank->transports, "%d descriptors more: expected %d", more, expected);
    rank_line_up(rank);
    return quern_group_destroy(group);
}

/* A listener at all addresses sees its callers of IPv4 as addresses of IPv6, which hosts without IPv6 could not call. */
Test(hosts, an_address_of_IPv4_on_a_socket_of_IPv6) {
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(4711),
                                  .sin6_addr.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 77, [14] = 0, [15] = 1}};
    struct sockaddr_storage name = {0};
    struct quern_address address;
    char text[QUERN_ADDRESS_TEXT];
    memcpy(&name, &mapped, sizeof mapped);
    check(quern_address_in(&name, &address), "it is none");
    quern_address_write(&address, true, text);
    check(strcmp(text, "10.77.0.1:4711") == 0, "it is %s", text);
    mapped.sin6_addr.s6_addr[10] = 0;
    memcpy(&name, &mapped, sizeof mapped);
    check(quern_address_in(&name, &address) && address.version == 6, "%d", address.version);
}
