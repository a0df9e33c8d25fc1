/*
 * The collectives of CPU ranks of one host beside those of OpenMPI over shared memory, the barrier and a streaming copy, turn by
 * turn in the same processes; started by mpirun.  A bound is a copy past the caches of as many bytes as each rank must read and write.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <quern.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/stream.h"
#include "harness/times.h"
#include "ranks/ranks.h"

enum { MOST_RANKS = 16, MOST_ROUNDS = 301, WARM_UP = 1 };

static int rank, ranks;
static quern_group *group;
static char *private_input, *private_output, *symmetric_input, *symmetric_output;
static void *workspace;
static size_t workspace_bytes, bytes;

static void ok(quern_status status, const char *what) {
    char detail[300];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, detail);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *symmetric(size_t size) {
    void *memory = NULL;
    ok(quern_symmetric_alloc(&group, 1, &size, &memory), "quern_symmetric_alloc");
    return memory;
}

/* ---- what takes turns ---- */

static quern_collective_args arguments(const void *input, void *output) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.count = (int64_t)(bytes / sizeof(float)), args.input = input, args.output = output;
    return args;
}

static void all_reduce(const void *input, void *output) {
    const quern_collective_args args = arguments(input, output);
    ok(quern_all_reduce(group, &args, workspace, workspace_bytes, NULL), "quern_all_reduce");
}

static void all_reduce_symmetric(void) { all_reduce(symmetric_input, symmetric_output); }
static void all_reduce_private(void) { all_reduce(private_input, private_output); }
static void all_reduce_mpi(void) {
    MPI_Allreduce(private_input, private_output, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static size_t piece(void) { return bytes / (size_t)ranks / sizeof(float) * sizeof(float); }

static void scatter(const void *input, void *output) {
    quern_collective_args args = arguments(input, output);
    args.count = (int64_t)(piece() / sizeof(float));
    ok(quern_reduce_scatter(group, &args, workspace, workspace_bytes, NULL), "quern_reduce_scatter");
}

static void scatter_symmetric(void) { scatter(symmetric_input, symmetric_output); }
static void scatter_private(void) { scatter(private_input, private_output); }
static void scatter_mpi(void) {
    MPI_Reduce_scatter_block(private_input, private_output, (int)(piece() / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(const void *input, void *output) {
    quern_collective_args args = arguments(input, output);
    args.count = (int64_t)(piece() / sizeof(float));
    ok(quern_all_gather(group, &args, workspace, workspace_bytes, NULL), "quern_all_gather");
}

static void gather_symmetric(void) { gather(symmetric_input, symmetric_output); }
static void gather_private(void) { gather(private_input, private_output); }
static void gather_mpi(void) {
    const int count = (int)(piece() / sizeof(float));
    MPI_Allgather(private_input, count, MPI_FLOAT, private_output, count, MPI_FLOAT, MPI_COMM_WORLD);
}

static void broadcast_to(const void *input, void *output) {
    const quern_collective_args args = arguments(input, output);
    ok(quern_broadcast(group, &args, workspace, workspace_bytes, NULL), "quern_broadcast");
}

static void broadcast_symmetric(void) { broadcast_to(symmetric_input, symmetric_output); }
static void broadcast_private(void) { broadcast_to(private_input, private_output); }
static void broadcast_mpi(void) { MPI_Bcast(private_input, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }

static void barrier(void) { ok(quern_barrier(group, NULL, NULL), "quern_barrier"); }
static void barrier_mpi(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* As many bytes as a rank reads and writes in an all-reduce without windows: its part of all inputs, and of all outputs. */
static void copy(void) { stream_past_caches(private_output, private_input, bytes); }

static const struct contender {
    const char *name;
    void (*run)(void);
} contenders[] = {
    {"barrier", barrier}, {"MPI_Barrier", barrier_mpi}, {"copy", copy},
    {"all-reduce", all_reduce_symmetric}, {"all-reduce private", all_reduce_private}, {"MPI_Allreduce", all_reduce_mpi},
    {"reduce-scatter", scatter_symmetric}, {"reduce-scatter private", scatter_private}, {"MPI_Reduce_scatter", scatter_mpi},
    {"all-gather", gather_symmetric}, {"all-gather private", gather_private}, {"MPI_Allgather", gather_mpi},
    {"broadcast", broadcast_symmetric}, {"broadcast private", broadcast_private}, {"MPI_Bcast", broadcast_mpi},
};

enum { CONTENDERS = sizeof contenders / sizeof *contenders };
static int measured = CONTENDERS;  /* the first so many */

/* ---- measuring ---- */

/* Seconds of a call, of the slowest rank. */
static double turn(const struct contender *contender, int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t began = clock_nanoseconds();
    for (int i = 0; i < calls; i++) contender->run();
    const double mine = (double)(clock_nanoseconds() - began) * 1e-9 / calls;
    double slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* Calls that take about a millisecond together. */
static int calls_of(const struct contender *contender) {
    const double one = turn(contender, 8);
    const int calls = (int)(1e-3 / one);
    return calls < 1 ? 1 : calls > 5000 ? 5000 : calls;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *values, int count, double part) {
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return sorted[(int)(part * (count - 1))];
}

/* A line for each contender: its time, and that time over those of the barrier and of the copy in the same round. */
static void measure(size_t size, int rounds) {
    static double seconds[CONTENDERS][MOST_ROUNDS];
    int calls[CONTENDERS];
    bytes = size;
    for (int c = 0; c < measured; c++) calls[c] = calls_of(&contenders[c]);
    for (int round = 0; round < rounds; round++)
        for (int c = 0; c < measured; c++) seconds[c][round] = turn(&contenders[c], calls[c]);
    for (int c = 0; c < measured && !rank; c++) {
        double of_barrier[MOST_ROUNDS], of_copy[MOST_ROUNDS], of_mpi[MOST_ROUNDS];
        for (int round = 0; round < rounds; round++) {
            of_barrier[round] = seconds[c][round] / seconds[0][round];
            of_copy[round] = seconds[2][round] / seconds[c][round];
            of_mpi[round] = c < 3 ? 0 : seconds[c][round] / seconds[c / 3 * 3 + 2][round];
        }
        printf("%10zu %-24s %10.2f us (best %9.2f)  barrier x %7.2f  copy / it %5.2f  of MPI's %5.2f\n", size, contenders[c].name,
               1e6 * quantile(seconds[c], rounds, 0.5), 1e6 * quantile(seconds[c], rounds, 0), quantile(of_barrier, rounds, 0.5),
               quantile(of_copy, rounds, 0.5), quantile(of_mpi, rounds, 0.5));
    }
    if (!rank) fflush(stdout);
}

static void check(void) {
    bytes = 4096;
    for (int i = 0; i < 1024; i++) ((float *)symmetric_input)[i] = (float)(i + rank);
    all_reduce_symmetric();
    for (int i = 0; i < 1024; i++)
        if (((float *)symmetric_output)[i] != (float)(ranks * i + ranks * (ranks - 1) / 2)) ok(QUERN_SYSTEM_ERROR, "a wrong sum");
}

int main(int count, char **arguments_of_program) {
    const size_t most = (size_t)(count > 1 ? atol(arguments_of_program[1]) : 64) << 20;
    const int rounds = count > 2 ? atoi(arguments_of_program[2]) : 31;
    const size_t least = count > 3 ? (size_t)atol(arguments_of_program[3]) : 8;
    if (count > 4) measured = 6;  /* the barriers, the copy and the all-reduces */
    quern_device *device;
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    char name[64];
    long number;
    MPI_Init(&count, &arguments_of_program);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cores_bind(rank, ranks, ranks);
    number = (long)clock_nanoseconds();
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "bench.collectives.%ld", number);
    ok(quern_device_open(QUERN_CPU, 0, &device), "quern_device_open");
    ok(quern_set_threads(device, 1, NULL, NULL), "quern_set_threads");
    ok(quern_prepare(device, QUERN_BARRIER | QUERN_COLLECTIVE), "quern_prepare");
    args.rank = rank, args.ranks = ranks, args.name = name, args.device = device, args.timeout = 60;
    ok(quern_group_create(&args, 1, &group), "quern_group_create");
    bytes = most;
    const quern_collective_args largest = arguments(NULL, NULL);
    ok(quern_collective_workspace(group, &largest, &workspace_bytes), "quern_collective_workspace");
    workspace = symmetric(workspace_bytes);
    symmetric_input = symmetric(most), symmetric_output = symmetric(most);
    private_input = calloc(1, most), private_output = calloc(1, most);
    char *buffers[] = {private_input, private_output, symmetric_input, symmetric_output};
    for (int i = 0; i < 4; i++) memset(buffers[i], 0, most);  /* first touched by their owner */
    check();
    for (size_t size = least; size <= most; size *= size < 1024 ? 16 : 4) measure(size, rounds <= MOST_ROUNDS ? rounds : MOST_ROUNDS);
    ok(quern_group_destroy(group), "quern_group_destroy");
    quern_device_close(device);
    MPI_Finalize();
}
