/*
 * Two hosts: the barrier and the ragged all-to-all of two ranks beside raw sockets, turn by turn.
 *
 *   quern_bench_hosts RANK ADDRESS PORT     on each host: rank 0 on the one with the address
 *
 * A program of its own, since its ranks are of two hosts.  bench/hosts.sh runs it between two network namespaces.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "quern.h"

enum { TURNS = 15, MOST = 64 << 20, PIECE = 64 << 10 };

static int rank, raw;
static char *out, *in;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void give_up(const char *what) {
    char detail[256] = "";
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "rank %d: %s: %s %s\n", rank, what, strerror(errno), detail);
    exit(EXIT_FAILURE);
}

static void ok(quern_status status, const char *what) {
    if (status != QUERN_OK) give_up(what);
}

/* ---- raw sockets ---- */

static void connect_raw(const char *address, int port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int on = 1;
    raw = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, address, &name.sin_addr) != 1) give_up("the address");
    if (rank == 0) {
        const int listener = raw;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 1)) give_up("listening");
        raw = accept(listener, NULL, NULL);
        close(listener);
    } else {
        for (int i = 0; i < 500 && connect(raw, (struct sockaddr *)&name, sizeof name); i++) usleep(10000);
    }
    setsockopt(raw, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Both directions at once, as fast as one thread can. */
static void move(size_t outgoing, size_t incoming) {
    for (const char *from = out; outgoing || incoming;) {
        const ssize_t sent = outgoing ? send(raw, from, outgoing < PIECE ? outgoing : PIECE, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        if (sent > 0) from += sent, outgoing -= (size_t)sent;
        const ssize_t got = incoming ? recv(raw, in, incoming < PIECE ? incoming : PIECE, MSG_DONTWAIT) : 0;
        if (got > 0) incoming -= (size_t)got;
        if ((sent < 0 && errno != EAGAIN) || (got < 0 && errno != EAGAIN)) give_up("a raw socket");
    }
}

static void ping_pong(size_t bytes) {
    if (rank == 0) move(bytes, 0), move(0, bytes);
    else move(0, bytes), move(bytes, 0);
}

/* ---- the library ---- */

static quern_group *group;
static void *workspace;

static quern_group *join(const char *address, int port) {
    static char meet[64];
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    quern_group *made;
    snprintf(meet, sizeof meet, "%s:%d", address, port);
    args.rank = rank, args.ranks = 2, args.name = "bench", args.timeout = hosts.failure_timeout = 20, args.hosts = &hosts;
    hosts.meet = meet, hosts.secret = "a secret of benchmarks", hosts.secret_bytes = 22, hosts.host_ranks = 1;
    hosts.host = rank ? "b" : "a";
    ok(quern_device_open(QUERN_CPU, 0, &args.device), "opening the CPU");
    ok(quern_prepare(args.device, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL), "preparing");
    ok(quern_set_threads(args.device, 1, NULL, NULL), "threads");
    ok(quern_group_create(&args, 1, &made), "the group");
    ok(quern_symmetric_alloc(&made, 1, &(size_t){2 << 20}, &workspace), "workspace");
    return made;
}

static int32_t offsets[2], sizes[2], places[2];

/* Each rank sends `bytes` to the other, and nothing to itself. */
static quern_ragged_all_to_all_args exchange_of(size_t bytes) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    sizes[1 - rank] = (int32_t)bytes;
    sizes[rank] = 0;
    args.input = out, args.output = in, args.input_rows = args.output_rows = (int64_t)bytes, args.row_bytes = 1;
    args.input_offsets = offsets, args.send_sizes = sizes, args.output_offsets = places, args.recv_sizes = sizes;
    return args;
}

static void meet(size_t bytes) {
    (void)bytes;
    ok(quern_barrier(group, NULL, NULL), "a barrier");
}

static void exchange(size_t bytes) {
    const quern_ragged_all_to_all_args args = exchange_of(bytes);
    ok(quern_ragged_all_to_all(group, &args, workspace, 2 << 20, NULL), "an exchange");
}

static quern_ragged_plan *plan;
static void run_plan(size_t bytes) {
    (void)bytes;
    ok(quern_ragged_plan_run(plan, NULL), "a plan");
}

static void move_both_ways(size_t bytes) { move(bytes, bytes); }

/* ---- turns ---- */

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*what)(size_t), size_t bytes, int times) {
    for (int i = 0; i < times / 10 + 1; i++) what(bytes);
    const double began = now();
    for (int i = 0; i < times; i++) what(bytes);
    return (now() - began) / times;
}

/* The median of the ratios of turns: what disturbs one turn disturbs both of its sides. */
static void compare_in_turns(const char *name, void (*mine)(size_t), void (*other)(size_t), size_t bytes, int times, double goal) {
    double ratios[TURNS], first[TURNS], second[TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        second[turn] = time_of(other, bytes, times);
        first[turn] = time_of(mine, bytes, times);
        ratios[turn] = first[turn] / second[turn];
    }
    qsort(ratios, TURNS, sizeof *ratios, compare);
    qsort(first, TURNS, sizeof *first, compare);
    qsort(second, TURNS, sizeof *second, compare);
    if (rank == 0)
        printf("| %-28s | %9.1f us | %9.1f us | %5.2f | %5.2f |\n", name, first[TURNS / 2] * 1e6, second[TURNS / 2] * 1e6,
               ratios[TURNS / 2], goal);
}

int main(int count, char **words) {
    if (count != 4) return fprintf(stderr, "usage: quern_bench_hosts RANK ADDRESS PORT\n"), EXIT_FAILURE;
    rank = atoi(words[1]);
    out = calloc(1, MOST), in = calloc(1, MOST);
    if (!out || !in) give_up("memory");
    memset(out, 1, MOST);
    connect_raw(words[2], atoi(words[3]) + 1);
    group = join(words[2], atoi(words[3]));
    if (rank == 0) printf("| two hosts | this library | sockets | ratio | goal |\n|---|---:|---:|---:|---:|\n");
    compare_in_turns("barrier, ping-pong", meet, ping_pong, 64, 2000, 1.3);
    compare_in_turns("64 B both ways, ping-pong", exchange, ping_pong, 64, 2000, 1.5);
    for (size_t bytes = 64; bytes <= MOST; bytes *= bytes < 4096 ? 64 : bytes < 1 << 20 ? 256 : 8) {
        char name[64];
        const int times = bytes < 1 << 20 ? 1000 : (int)((16 << 20) / bytes) + 1;
        const quern_ragged_all_to_all_args args = exchange_of(bytes);
        void *const workspaces[] = {workspace};
        ok(quern_ragged_plan_create(&group, 1, &args, workspaces, &(size_t){2 << 20}, &plan), "a plan");
        snprintf(name, sizeof name, "%zu B both ways, plan", bytes);
        compare_in_turns(name, run_plan, move_both_ways, bytes, times, bytes < 1 << 20 ? 0 : 1 / 0.9);
        snprintf(name, sizeof name, "%zu B both ways", bytes);
        compare_in_turns(name, exchange, move_both_ways, bytes, times, bytes < 1 << 20 ? 0 : 1 / 0.9);
        ok(quern_ragged_plan_destroy(plan), "a plan");
    }
    ok(quern_barrier(group, NULL, NULL), "the last barrier");
    return quern_group_destroy(group) != QUERN_OK;
}
