/*
 * Two hosts whose ranks MPI has launched: barriers and exchanges of two groups, one over MPI and one over sockets, beside those of
 * MPI itself, turn by turn; and transfers of these and of a third one over UCX, where that is.  bench/hosts.sh runs it between two
 * network namespaces.  With the argument `transfers`: those alone.
 */
#define _GNU_SOURCE
#include <quern.h>
#include <quern_mpi.h>

enum { TURNS = 15, MOST = 64 << 20, WORKSPACE = 2 << 20 };

static int rank;
static char *out, *in;
static int32_t offsets[2], sizes[2], places[2];
static int zeros[2], counts[2];

struct way {
    quern_group *group;
    quern_ragged_plan *plan;
    void *workspace;
    quern_transfer *transfer;
};

static struct way mpi, ucx, sockets;

static void ok(quern_status status, const char *what) {
    char detail[300];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, detail);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static quern_ragged_all_to_all_args exchange_of(size_t bytes) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    sizes[1 - rank] = counts[1 - rank] = (int)bytes;
    args.input = out, args.output = in, args.input_rows = args.output_rows = (int64_t)bytes, args.row_bytes = 1;
    args.input_offsets = offsets, args.send_sizes = sizes, args.output_offsets = places, args.recv_sizes = sizes;
    return args;
}

/* Over UCX there may be no group: then its columns are empty, and the reason is said. */
static void join(struct way *way, quern_device *device, int with_carrier, const char *ways) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.ways = ways;
    args.device = device, args.timeout = 20, args.host = rank ? "b" : "a";
    if (quern_join_from_mpi(MPI_COMM_WORLD, &args) || (with_carrier && quern_carrier_from_mpi(MPI_COMM_WORLD, &args)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    const quern_status status = quern_group_create(&args, 1, &way->group);
    if (ways && status == QUERN_NOT_SUPPORTED) {
        char detail[1024];
        quern_error_detail(detail, sizeof detail);
        if (rank == 0) fprintf(stderr, "no group over %s: %s\n", ways, detail);
        return;
    }
    ok(status, "a group");
    ok(quern_symmetric_alloc(&way->group, 1, &(size_t){WORKSPACE}, &way->workspace), "workspace");
}

static void make_plans(size_t bytes) {
    const quern_ragged_all_to_all_args args = exchange_of(bytes);
    ok(quern_ragged_plan_create(&mpi.group, 1, &args, &mpi.workspace, &(size_t){WORKSPACE}, &mpi.plan), "a plan");
    ok(quern_ragged_plan_create(&sockets.group, 1, &args, &sockets.workspace, &(size_t){WORKSPACE}, &sockets.plan), "a plan");
}

static void free_plans(void) {
    ok(quern_ragged_plan_destroy(mpi.plan), "a plan");
    ok(quern_ragged_plan_destroy(sockets.plan), "a plan");
}

static void barrier_over_mpi(void) { ok(quern_barrier(mpi.group, NULL, NULL), "a barrier"); }
static void barrier_over_sockets(void) { ok(quern_barrier(sockets.group, NULL, NULL), "a barrier"); }
static void barrier_of_mpi(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void run_over_mpi(void) { ok(quern_ragged_plan_run(mpi.plan, NULL), "a run"); }
static void run_over_sockets(void) { ok(quern_ragged_plan_run(sockets.plan, NULL), "a run"); }
static void exchange_of_mpi(void) {
    MPI_Alltoallv(out, counts, zeros, MPI_BYTE, in, counts, zeros, MPI_BYTE, MPI_COMM_WORLD);
}

static void transfer_over(const struct way *way) {
    ok(quern_transfer_start(way->transfer, NULL), "a start");
    ok(quern_transfer_wait(way->transfer, 0), "a transfer");
}

static void transfer_over_mpi(void) { transfer_over(&mpi); }
static void transfer_over_ucx(void) { transfer_over(&ucx); }
static void transfer_over_sockets(void) { transfer_over(&sockets); }
static void sendrecv_of_mpi(void) {
    MPI_Sendrecv(out, counts[1 - rank], MPI_BYTE, 1 - rank, 0, in, counts[1 - rank], MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Both ways. */
static void prepare_transfer(struct way *way, size_t bytes) {
    const quern_transfer_item items[] = {{.receive = 0, .peer = 1 - rank, .memory = out, .bytes = (int64_t)bytes},
                                         {.receive = 1, .peer = 1 - rank, .memory = in, .bytes = (int64_t)bytes}};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = items, args.item_count = 2;
    counts[1 - rank] = (int)bytes;
    if (way->group) ok(quern_transfer_prepare(way->group, &args, &way->transfer), "a list");
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*what)(void), int times) {
    for (int i = 0; i < times / 10 + 1; i++) what();
    const double began = MPI_Wtime();
    for (int i = 0; i < times; i++) what();
    return (MPI_Wtime() - began) / times;
}

/* Medians of turns, and of the ratios of MPI's time to the others': what disturbs one turn disturbs all of its sides. */
static void compare_in_turns(const char *name, void (*over_mpi)(void), void (*over_sockets)(void), void (*of_mpi)(void), int times) {
    double seconds[3][TURNS], ratios[2][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        seconds[2][turn] = time_of(of_mpi, times);
        seconds[0][turn] = time_of(over_mpi, times);
        seconds[1][turn] = time_of(over_sockets, times);
        for (int i = 0; i < 2; i++) ratios[i][turn] = seconds[2][turn] / seconds[i][turn];
    }
    for (int i = 0; i < 3; i++) qsort(seconds[i], TURNS, sizeof(double), compare);
    for (int i = 0; i < 2; i++) qsort(ratios[i], TURNS, sizeof(double), compare);
    if (rank == 0)
        printf("| %s | %.1f us | %.1f us | %.1f us | %.2f | %.2f |\n", name, seconds[0][TURNS / 2] * 1e6, seconds[1][TURNS / 2] * 1e6,
               seconds[2][TURNS / 2] * 1e6, ratios[0][TURNS / 2], ratios[1][TURNS / 2]);
}

/* Medians of turns. */
static void compare_transfers(size_t bytes, int times) {
    void (*const sides[])(void) = {transfer_over_mpi, ucx.group ? transfer_over_ucx : NULL, transfer_over_sockets, sendrecv_of_mpi};
    struct way *const ways[] = {&mpi, &ucx, &sockets};
    double seconds[4][TURNS];
    for (int i = 0; i < 3; i++) prepare_transfer(ways[i], bytes);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < 4; i++) seconds[i][turn] = sides[i] ? time_of(sides[i], times) : 0;
    if (rank == 0) printf("| transfer of %zu B; MPI_Sendrecv |", bytes);
    for (int i = 0; i < 4; i++) {
        qsort(seconds[i], TURNS, sizeof(double), compare);
        if (rank == 0) printf(sides[i] ? " %.1f us |" : " – |", seconds[i][TURNS / 2] * 1e6);
    }
    if (rank == 0) printf("\n");
    for (int i = 0; i < 3; i++) ok(quern_transfer_destroy(ways[i]->transfer), "the end of a transfer"), ways[i]->transfer = NULL;
}

static void compare_all_transfers(void) {
    if (rank == 0)
        printf("\n| two hosts, both ways | Quern over MPI | over UCX | over sockets | MPI itself |\n|---|---:|---:|---:|---:|\n");
    compare_transfers(64, 300);
    compare_transfers(64 << 10, 100);
    compare_transfers(MOST, 1);
}

int main(int count, char **words) {
    quern_device *device;
    int level;
    MPI_Init_thread(&count, &words, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = (char *)malloc(MOST), in = (char *)malloc(MOST);
    if (!out || !in) return EXIT_FAILURE;
    memset(out, 1, MOST);
    memset(in, 1, MOST);
    ok(quern_device_open(QUERN_CPU, 0, &device), "opening the CPU");
    ok(quern_prepare(device, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL), "preparing");
    ok(quern_set_threads(device, 1, NULL, NULL), "threads");
    join(&mpi, device, 1, NULL);
    join(&ucx, device, 0, "ucx");
    join(&sockets, device, 0, NULL);
    const int all = count < 2 || strcmp(words[1], "transfers") != 0;
    if (all && rank == 0)
        printf("| two hosts, both ways | Quern over MPI | Quern over sockets | MPI itself | MPI's time to the first | to the second |\n"
               "|---|---:|---:|---:|---:|---:|\n");
    if (all) compare_in_turns("barrier", barrier_over_mpi, barrier_over_sockets, barrier_of_mpi, 1000);
    for (size_t bytes = 64; all && bytes <= MOST; bytes *= bytes < 1 << 20 ? 16 : 8) {
        char name[64];
        make_plans(bytes);
        snprintf(name, sizeof name, "%zu B, a plan; MPI_Alltoallv", bytes);
        compare_in_turns(name, run_over_mpi, run_over_sockets, exchange_of_mpi, bytes < 1 << 20 ? 300 : (int)((16 << 20) / bytes) + 1);
        free_plans();
    }
    compare_all_transfers();
    ok(quern_group_destroy(mpi.group), "the end");
    ok(quern_group_destroy(ucx.group), "the end");
    ok(quern_group_destroy(sockets.group), "the end");
    MPI_Finalize();
    return EXIT_SUCCESS;
}
