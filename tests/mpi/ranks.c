/*
 * A program that MPI launches: makes a group of its ranks, twice, and meets and exchanges in it.  With the argument "hosts" the
 * upper half of the ranks takes another host than the lower one, as far as the group can see.  Built and run by tests/mpi/run.sh.
 */
#include <quern.h>
#include <quern_mpi.h>

static void check(int holds, const char *what) {
    char why[256];
    if (holds) return;
    quern_error_detail(why, sizeof why);
    fprintf(stderr, "%s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every rank sends its number to each, one row of four bytes. */
static void exchange(quern_group *group, int rank, int ranks) {
    int32_t from[16], ones[16], to[16], input[16], output[16];
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    void *workspace;
    size_t bytes;
    for (int peer = 0; peer < ranks; peer++) from[peer] = peer, ones[peer] = 1, to[peer] = rank, input[peer] = 100 * rank + peer;
    args.input = input, args.output = output, args.input_rows = args.output_rows = ranks, args.row_bytes = sizeof *input;
    args.input_offsets = from, args.send_sizes = args.recv_sizes = ones, args.output_offsets = to;
    check(quern_ragged_all_to_all_workspace(group, &args, &bytes) == QUERN_OK, "workspace");
    check(quern_symmetric_alloc(&group, 1, &bytes, &workspace) == QUERN_OK, "symmetric memory");
    check(quern_ragged_all_to_all(group, &args, workspace, bytes, NULL) == QUERN_OK, "exchange");
    for (int peer = 0; peer < ranks; peer++) check(output[peer] == 100 * peer + rank, "what was exchanged");
    check(quern_symmetric_free(group, workspace, NULL) == QUERN_OK, "freeing");
}

static void check_report(quern_group *group, int hosts) {
    char report[4096];
    quern_group_report(group, report, sizeof report);
    check(!!strstr(report, "host 1 at ") == (hosts > 1), report);
    check(!strstr(report, "host 2 at "), report);
}

int main(int argc, char **argv) {
    const int hosts = argc > 1 && strcmp(argv[1], "hosts") == 0 ? 2 : 1;
    int rank, ranks;
    uint64_t job = 0;
    quern_device *device;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(ranks <= 16 && quern_device_open(QUERN_CPU, 0, &device) == QUERN_OK, "opening the device");
    check(quern_prepare(device, QUERN_RAGGED_ALL_TO_ALL) == QUERN_OK, "preparing");
    for (int round = 0; round < 2; round++) {
        quern_group_args args = QUERN_GROUP_ARGS_INIT;
        quern_group *group;
        args.device = device, args.timeout = 300;
        quern_hosts_args named = QUERN_HOSTS_ARGS_INIT;
        named.host = rank * 2 < ranks ? "one" : "two";
        if (hosts > 1) args.hosts = &named;
        check(quern_join_from_mpi(MPI_COMM_WORLD, &args) == MPI_SUCCESS, "quern_join_from_mpi");
        check(args.rank == rank && args.ranks == ranks && args.job != job, "the fields");
        check(!!args.hosts == (hosts > 1), "hosts");
        if (hosts > 1) {
            check(args.hosts->secret_bytes == 32 && args.hosts->all_gather, "the secret and the gather");
            check(strcmp(args.hosts->host, named.host) == 0, "the host's name");
            check(args.hosts->host_ranks == (rank * 2 < ranks ? (ranks + 1) / 2 : ranks / 2), "host_ranks");
        }
        job = args.job;
        check(quern_group_create(&args, 1, &group) == QUERN_OK, "creating the group");
        for (int i = 0; i < 20; i++) check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
        exchange(group, rank, ranks);
        check_report(group, hosts);
        check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
        check(quern_group_destroy(group) == QUERN_OK, "destroying");
    }
    quern_device_close(device);
    MPI_Finalize();
    if (rank == 0) printf("%d ranks of %d hosts\n", ranks, hosts);
    return 0;
}
