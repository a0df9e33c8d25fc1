/*
 * Two hosts whose ranks MPI has launched: barriers and exchanges of two groups, one over MPI and one over sockets, beside those of
 * MPI itself, turn by turn; transfers and collectives of these and of a third one over UCX, where that is.  bench/hosts.sh runs it
 * between two network namespaces.  With an argument: the table of that name alone; that of transfers without calls, "progress", needs
 * threads in MPI and is made only then.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/hosts_ways.h"

enum { PLAN_WORKSPACE = 2 << 20 };

static int32_t offsets[2], sizes[2], places[2];
static int zeros[2], counts[2];

static quern_ragged_all_to_all_args exchange_of(size_t bytes) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    sizes[1 - hosts_rank] = counts[1 - hosts_rank] = (int)bytes;
    args.input = hosts_out, args.output = hosts_in, args.input_rows = args.output_rows = (int64_t)bytes, args.row_bytes = 1;
    args.input_offsets = offsets, args.send_sizes = sizes, args.output_offsets = places, args.recv_sizes = sizes;
    return args;
}

static void make_plan(struct way *way, size_t bytes) {
    const quern_ragged_all_to_all_args args = exchange_of(bytes);
    hosts_ok(quern_ragged_plan_create(&way->group, 1, &args, &way->workspace, &(size_t){PLAN_WORKSPACE}, &way->plan), "a plan");
}

static void free_plan(struct way *way) { hosts_ok(quern_ragged_plan_destroy(way->plan), "a plan"); }

static void barrier_over_mpi(void) { hosts_ok(quern_barrier(over_mpi.group, NULL, NULL), "a barrier"); }
static void barrier_over_sockets(void) { hosts_ok(quern_barrier(over_sockets.group, NULL, NULL), "a barrier"); }
static void barrier_of_mpi(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void run_over_mpi(void) { hosts_ok(quern_ragged_plan_run(over_mpi.plan, NULL), "a run"); }
static void run_over_sockets(void) { hosts_ok(quern_ragged_plan_run(over_sockets.plan, NULL), "a run"); }
static void exchange_of_mpi(void) {
    MPI_Alltoallv(hosts_out, counts, zeros, MPI_BYTE, hosts_in, counts, zeros, MPI_BYTE, MPI_COMM_WORLD);
}

static void transfer_over(const struct way *way) {
    hosts_ok(quern_transfer_start(way->transfer, NULL), "a start");
    hosts_ok(quern_transfer_wait(way->transfer, 0), "a transfer");
}

static void transfer_over_mpi(void) { transfer_over(&over_mpi); }
static void transfer_over_ucx(void) { transfer_over(&over_ucx); }
static void transfer_over_sockets(void) { transfer_over(&over_sockets); }
static void sendrecv_of_mpi(void) {
    const int other = 1 - hosts_rank, bytes = counts[other];
    MPI_Sendrecv(hosts_out, bytes, MPI_BYTE, other, 0, hosts_in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Both ways. */
static void prepare_transfer(struct way *way, size_t bytes) {
    const quern_transfer_item items[] = {{.receive = 0, .peer = 1 - hosts_rank, .memory = hosts_out, .bytes = (int64_t)bytes},
                                         {.receive = 1, .peer = 1 - hosts_rank, .memory = hosts_in, .bytes = (int64_t)bytes}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = items, args.item_count = 2;
    counts[1 - hosts_rank] = (int)bytes;
    if (way->group) hosts_ok(quern_transfer_prepare(way->group, &args, &way->transfer), "a list");
}

/* Medians of turns, and of the ratios of MPI's time to the others': what disturbs one turn disturbs all of its sides. */
static void compare_in_turns(const char *name, void (*first)(void), void (*second)(void), void (*of_mpi)(void), int times) {
    double seconds[3][HOSTS_TURNS], ratios[2][HOSTS_TURNS];
    for (int turn = 0; turn < HOSTS_TURNS; turn++) {
        seconds[2][turn] = hosts_time(of_mpi, times);
        seconds[0][turn] = hosts_time(first, times);
        seconds[1][turn] = hosts_time(second, times);
        for (int i = 0; i < 2; i++) ratios[i][turn] = seconds[2][turn] / seconds[i][turn];
    }
    if (hosts_rank) return;
    printf("| %s |", name);
    for (int i = 0; i < 3; i++) printf(" %.1f us |", hosts_median(seconds[i]) * 1e6);
    for (int i = 0; i < 2; i++) printf(" %.2f |", hosts_median(ratios[i]));
    printf("\n");
}

/* Medians of turns. */
static void compare_transfers(size_t bytes, int times) {
    void (*const sides[])(void) = {transfer_over_mpi, over_ucx.group ? transfer_over_ucx : NULL, transfer_over_sockets, sendrecv_of_mpi};
    struct way *const ways[] = {&over_mpi, &over_ucx, &over_sockets};
    double seconds[4][HOSTS_TURNS];
    for (int i = 0; i < 3; i++) prepare_transfer(ways[i], bytes);
    for (int turn = 0; turn < HOSTS_TURNS; turn++)
        for (int i = 0; i < 4; i++) seconds[i][turn] = sides[i] ? hosts_time(sides[i], times) : 0;
    if (hosts_rank == 0) printf("| transfer of %zu B; MPI_Sendrecv |", bytes);
    for (int i = 0; i < 4 && hosts_rank == 0; i++) printf(sides[i] ? " %.1f us |" : " – |", hosts_median(seconds[i]) * 1e6);
    if (hosts_rank == 0) printf("\n");
    for (int i = 0; i < 3; i++) hosts_ok(quern_transfer_destroy(ways[i]->transfer), "the end of a transfer"), ways[i]->transfer = NULL;
}

static void compare_all_transfers(void) {
    if (hosts_rank == 0)
        printf("\n| two hosts, both ways | Quern over MPI | over UCX | over sockets | MPI itself |\n|---|---:|---:|---:|---:|\n");
    compare_transfers(64, 300);
    compare_transfers(64 << 10, 100);
    compare_transfers(HOSTS_MOST, 1);
}

static void compare_exchanges(void) {
    if (hosts_rank == 0)
        printf("| two hosts, both ways | Quern over MPI | Quern over sockets | MPI itself | MPI's time to the first | to the second |\n"
               "|---|---:|---:|---:|---:|---:|\n");
    compare_in_turns("barrier", barrier_over_mpi, barrier_over_sockets, barrier_of_mpi, 1000);
    for (size_t bytes = 64; bytes <= HOSTS_MOST; bytes *= bytes < 1 << 20 ? 16 : 8) {
        const int times = bytes < 1 << 20 ? 300 : (int)((16 << 20) / bytes) + 1;
        char name[64];
        make_plan(&over_mpi, bytes);
        make_plan(&over_sockets, bytes);
        snprintf(name, sizeof name, "%zu B, a plan; MPI_Alltoallv", bytes);
        compare_in_turns(name, run_over_mpi, run_over_sockets, exchange_of_mpi, times);
        free_plan(&over_mpi);
        free_plan(&over_sockets);
    }
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*compare)(void);
    } tables[] = {{"exchanges", compare_exchanges}, {"transfers", compare_all_transfers}, {"collectives", compare_collectives}};
    int level;
    const bool has_threads = count == 2 && strcmp(words[1], "progress") == 0;
    MPI_Init_thread(&count, &words, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &level);
    hosts_open();
    if (has_threads) compare_progress();
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (count < 2 || strcmp(words[1], tables[i].name) == 0) tables[i].compare();
    hosts_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
