/* The groups of two hosts that MPI has launched, and times.  Called by hosts_mpi.c and hosts_collectives.c. */
#define _GNU_SOURCE
#include "ranks/hosts_ways.h"

#include <quern_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct way over_mpi, over_ucx, over_sockets;
int hosts_rank;
char *hosts_out, *hosts_in;

void hosts_ok(quern_status status, const char *what) {
    char detail[300];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "rank %d: %s: %s\n", hosts_rank, what, detail);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static quern_device *device;

/* The processes of a machine meet under the number of the first one. */
static void name_group(quern_group_args *args, char name[32]) {
    static int groups;
    long number = getpid();
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, 32, "bench.%ld.%d", number, groups++);
    args->rank = hosts_rank, args->ranks = 2, args->name = name;
}

quern_group *hosts_join(enum hosts_way way, int progress) {
    static const char *const transports[] = {[HOSTS_SOCKETS] = "sockets", [HOSTS_UCX] = "ucx", [HOSTS_MPI] = NULL};
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    quern_group *group = NULL;
    char name[32];
    args.device = device, args.timeout = 20, args.progress = progress;
    if (way == HOSTS_NONE) {
        name_group(&args, name);
    } else {
        args.hosts = &hosts;
        hosts.transports = transports[way], hosts.failure_timeout = 20, hosts.host = hosts_rank ? "b" : "a";
        if (quern_join_from_mpi(MPI_COMM_WORLD, &args) || (way == HOSTS_MPI && quern_carrier_from_mpi(MPI_COMM_WORLD, &args)))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const quern_status status = quern_group_create(&args, 1, &group);
    if (way == HOSTS_UCX && status == QUERN_NOT_SUPPORTED) {
        char detail[1024];
        quern_error_detail(detail, sizeof detail);
        if (hosts_rank == 0) fprintf(stderr, "no group over UCX: %s\n", detail);
        return NULL;
    }
    hosts_ok(status, "a group");
    return group;
}

/* Over UCX there may be no group: then its columns are empty, and the reason is said. */
static void join(struct way *way, enum hosts_way transport) {
    way->group = hosts_join(transport, 0);
    if (way->group)
        hosts_ok(quern_symmetric_alloc(&way->group, 1, &(size_t){HOSTS_WORKSPACE}, &way->workspace), "workspace");
}

void hosts_open(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &hosts_rank);
    hosts_out = malloc(HOSTS_MOST), hosts_in = malloc(HOSTS_MOST);
    if (!hosts_out || !hosts_in) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(hosts_out, 1, HOSTS_MOST);
    memset(hosts_in, 1, HOSTS_MOST);
    hosts_ok(quern_device_open(QUERN_CPU, 0, &device), "opening the CPU");
    hosts_ok(quern_prepare(device, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE), "preparing");
    hosts_ok(quern_set_threads(device, 1, NULL, NULL), "threads");
    join(&over_mpi, HOSTS_MPI);
    join(&over_ucx, HOSTS_UCX);
    join(&over_sockets, HOSTS_SOCKETS);
}

void hosts_close(void) {
    hosts_ok(quern_group_destroy(over_mpi.group), "the end");
    hosts_ok(quern_group_destroy(over_ucx.group), "the end");
    hosts_ok(quern_group_destroy(over_sockets.group), "the end");
}

double hosts_time(void (*what)(void), int times) {
    for (int i = 0; i < times / 10 + 1; i++) what();
    const double began = MPI_Wtime();
    for (int i = 0; i < times; i++) what();
    return (MPI_Wtime() - began) / times;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hosts_median(double turns[HOSTS_TURNS]) {
    qsort(turns, HOSTS_TURNS, sizeof *turns, compare);
    return turns[HOSTS_TURNS / 2];
}
