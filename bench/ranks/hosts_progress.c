/*
 * Transfers of ranks that make no call while the bytes move (quern_group_args.progress), beside ranks that wait for them: within a
 * host, over sockets and over MPI, turn by turn.  A rank without calls sleeps 1 ms between two looks at its last byte, as one whose
 * work is on another processor.  Called by hosts_mpi.c.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ranks/hosts_ways.h"

enum { WAITS, WAITS_BESIDE_THREADS, MAKES_NO_CALL, SIDES };

static quern_transfer *transfers[SIDES];
static volatile char *last;
static char round;

static void look(void) {
    hosts_in[HOSTS_MOST - 1] = 0;
    hosts_out[HOSTS_MOST - 1] = round = (char)(round % 100 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static double time_side(int side) {
    look();
    const double began = MPI_Wtime();
    hosts_ok(quern_transfer_start(transfers[side], NULL), "a start");
    while (side == MAKES_NO_CALL && *last != round) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (side != MAKES_NO_CALL) hosts_ok(quern_transfer_wait(transfers[side], 0), "a wait");
    const double seconds = MPI_Wtime() - began;
    MPI_Barrier(MPI_COMM_WORLD);
    if (side == MAKES_NO_CALL) hosts_ok(quern_transfer_wait(transfers[side], 0), "a wait");
    return seconds;
}

/* Both ways.  The columns: seconds of each side, and of the first one over those of the last one. */
static void compare_way(const char *name, quern_group *without, quern_group *with) {
    quern_group *const groups[SIDES] = {without, with, with};
    double seconds[SIDES][HOSTS_TURNS], ratios[HOSTS_TURNS];
    const quern_transfer_item items[] = {{.receive = 0, .peer = 1 - hosts_rank, .memory = hosts_out, .bytes = HOSTS_MOST},
                                         {.receive = 1, .peer = 1 - hosts_rank, .memory = hosts_in, .bytes = HOSTS_MOST}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = items, args.item_count = 2;
    for (int side = 0; side < SIDES; side++) {
        args.key = (uint64_t)side;
        hosts_ok(quern_transfer_prepare(groups[side], &args, &transfers[side]), "a list");
        time_side(side);
    }
    for (int turn = 0; turn < HOSTS_TURNS; turn++) {
        for (int side = 0; side < SIDES; side++) seconds[side][turn] = time_side(side);
        ratios[turn] = seconds[WAITS][turn] / seconds[MAKES_NO_CALL][turn];
    }
    for (int side = 0; side < SIDES; side++) hosts_ok(quern_transfer_destroy(transfers[side]), "the end of a transfer");
    if (hosts_rank) return;
    printf("| %s |", name);
    for (int side = 0; side < SIDES; side++) printf(" %.1f ms |", hosts_median(seconds[side]) * 1e3);
    printf(" %.2f |\n", hosts_median(ratios));
}

void compare_progress(void) {
    static const struct {
        const char *name;
        enum hosts_way way;
    } rows[] = {{"within a host", HOSTS_NONE}, {"over sockets", HOSTS_SOCKETS}, {"over MPI", HOSTS_MPI}};
    last = &hosts_in[HOSTS_MOST - 1];
    if (hosts_rank == 0)
        printf("\n| 64 MiB both ways | both wait | both wait beside threads | neither makes a call | the first over the last |\n"
               "|---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        quern_group *without = hosts_join(rows[i].way, 0), *with = hosts_join(rows[i].way, 1);
        compare_way(rows[i].name, without, with);
        hosts_ok(quern_group_destroy(with), "the end");
        hosts_ok(quern_group_destroy(without), "the end");
    }
}
