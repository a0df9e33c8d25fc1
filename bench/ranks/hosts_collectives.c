/*
 * Collectives of two hosts over MPI, UCX and sockets beside those of MPI itself, turn by turn.  Called by hosts_mpi.c.
 *
 * The root of a broadcast alternates, so that no rank runs ahead of the other one.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "ranks/hosts_ways.h"

enum { MPI_ITSELF = 3, SIDES };

typedef quern_status collective(quern_group *group, const quern_collective_args *args, void *workspace, size_t bytes, void *stream);

/* What is timed. */
static const struct way *way;
static int floats;                      /* of the largest buffer */
static size_t workspace_bytes;
static int root;

static quern_collective_args arguments_of(int count) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.count = count, args.input = hosts_out, args.output = hosts_in, args.root = root;
    return args;
}

static void run(collective *call, int count) {
    const quern_collective_args args = arguments_of(count);
    hosts_ok(call(way->group, &args, way->workspace, workspace_bytes, NULL), "a collective");
}

static void all_reduce(void) { run(quern_all_reduce, floats); }
static void all_gather(void) { run(quern_all_gather, floats / 2); }
static void reduce_scatter(void) { run(quern_reduce_scatter, floats / 2); }
static void broadcast(void) {
    run(quern_broadcast, floats);
    root = 1 - root;
}

static void all_reduce_of_mpi(void) { MPI_Allreduce(hosts_out, hosts_in, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void all_gather_of_mpi(void) {
    MPI_Allgather(hosts_out, floats / 2, MPI_FLOAT, hosts_in, floats / 2, MPI_FLOAT, MPI_COMM_WORLD);
}
static void reduce_scatter_of_mpi(void) {
    MPI_Reduce_scatter_block(hosts_out, hosts_in, floats / 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void broadcast_of_mpi(void) {
    MPI_Bcast(root == hosts_rank ? hosts_out : hosts_in, floats, MPI_FLOAT, root, MPI_COMM_WORLD);
    root = 1 - root;
}

static const struct {
    const char *name;
    void (*ours)(void), (*theirs)(void);
} operations[] = {
    {"all-reduce", all_reduce, all_reduce_of_mpi},
    {"all-gather", all_gather, all_gather_of_mpi},
    {"reduce-scatter", reduce_scatter, reduce_scatter_of_mpi},
    {"broadcast", broadcast, broadcast_of_mpi},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Medians of turns, and of the ratios of MPI's time to the others'. */
static void print_row(int operation, double seconds[SIDES][HOSTS_TURNS]) {
    double ratios[MPI_ITSELF][HOSTS_TURNS];
    for (int side = 0; side < MPI_ITSELF; side++)
        for (int turn = 0; turn < HOSTS_TURNS; turn++) ratios[side][turn] = seconds[MPI_ITSELF][turn] / seconds[side][turn];
    printf("| %s of %zu B |", operations[operation].name, (size_t)floats * sizeof(float));
    for (int side = 0; side < SIDES; side++) printf(seconds[side][0] ? " %.1f us |" : " – |", hosts_median(seconds[side]) * 1e6);
    for (int side = 0; side < MPI_ITSELF; side++) printf(seconds[side][0] ? " %.2f |" : " – |", hosts_median(ratios[side]));
    printf("\n");
    fflush(stdout);
}

static void compare_in_turns(int operation, int times) {
    const struct way *const ways[MPI_ITSELF] = {&over_mpi, &over_ucx, &over_sockets};
    double seconds[SIDES][HOSTS_TURNS] = {{0}};
    const quern_collective_args largest = arguments_of(floats);
    hosts_ok(quern_collective_workspace(over_sockets.group, &largest, &workspace_bytes), "the workspace");
    if (workspace_bytes > HOSTS_WORKSPACE) hosts_ok(QUERN_INVALID_SHAPE, "the workspace is too small");
    for (int turn = 0; turn < HOSTS_TURNS; turn++)
        for (int side = 0; side < SIDES; side++) {
            way = side < MPI_ITSELF ? ways[side] : NULL;
            root = 0;
            if (!way || way->group) seconds[side][turn] = hosts_time(way ? operations[operation].ours : operations[operation].theirs, times);
        }
    if (hosts_rank == 0) print_row(operation, seconds);
}

void compare_collectives(void) {
    static const struct {
        int bytes, times;
    } sizes[] = {{1 << 10, 300}, {64 << 10, 100}, {1 << 20, 10}, {16 << 20, 1}};
    if (hosts_rank == 0)
        printf("\n| two hosts; the largest buffer | over MPI | over UCX | over sockets | MPI itself | MPI's time to the first | "
               "to the second | to the third |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            floats = sizes[i].bytes / (int)sizeof(float);
            compare_in_turns(operation, sizes[i].times);
        }
}
