/*
 * Groups whose data goes by MPI: the ranks are of two hosts, as far as the group can see.  The argument names the case.
 *
 *   exchange   slices from nothing to megabytes, contiguous and scattered, with and without a plan, and barriers, in two groups
 *   transfer   transfers between all ranks, of all sizes and both ways, beside exchanges; and cancels of which both ends hear
 *   funneled   the main thread is the only one that may call MPI: another one is refused
 *   late       the last rank does not come to an exchange: all others get its name within the limit, and their memory back
 *   killed     the last rank kills itself: all others get its name, and hear if MPI keeps memory.  Run with --enable-recovery
 *   cut        the same in a transfer, while its data moves
 *
 * Built and run by tests/mpi/run.sh.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <quern.h>
#include <quern_mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, UPDATES = 5 };
enum { SOON = 200, LIMIT = 300 };  /* seconds: more than a busy machine needs, and of groups that no limit ends */

static int rank, ranks;

static void check(int holds, const char *what) {
    char why[300];
    if (holds) return;
    quern_error_detail(why, sizeof why);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static unsigned char byte_of(int sender, int receiver, int64_t update, int64_t at) {
    return (unsigned char)(sender * 31 + receiver * 7 + update * 3 + at + at / 251);
}

/* Rows of an update: none for some, a few for others; the last is large. */
static int64_t rows_of(int sender, int receiver, int64_t update, int64_t large) {
    return update + 1 == UPDATES ? large : (sender + 2 * receiver + update * 5) % 4 * 9;
}

struct slices {
    int64_t from[MOST * UPDATES], sent[MOST * UPDATES], to[MOST * UPDATES], received[MOST * UPDATES];
    int64_t rows_in, rows_out, gap;
};

/* Where a slice begins in the output of its receiver: by sender, then update, with gaps. */
static int64_t place_of(int sender, int receiver, int64_t update, int64_t large, int64_t gap) {
    int64_t at = 0;
    for (int other = 0; other <= sender; other++)
        for (int64_t i = 0; i < (other < sender ? UPDATES : update); i++) at += rows_of(other, receiver, i, large) + gap;
    return at;
}

static void cut(struct slices *s, int64_t large, int64_t gap) {
    s->rows_in = 0;
    for (int peer = 0; peer < ranks; peer++)
        for (int64_t i = 0; i < UPDATES; i++) {
            const int64_t at = peer * UPDATES + i;
            s->from[at] = s->rows_in;
            s->sent[at] = rows_of(rank, peer, i, large);
            s->to[at] = place_of(rank, peer, i, large, gap);
            s->received[at] = rows_of(peer, rank, i, large);
            s->rows_in += s->sent[at] + gap;
        }
    s->rows_out = place_of(ranks, rank, 0, large, gap);
}

static void fill(const struct slices *s, unsigned char *input) {
    for (int peer = 0; peer < ranks; peer++)
        for (int64_t i = 0; i < UPDATES; i++)
            for (int64_t row = 0; row < s->sent[peer * UPDATES + i]; row++)
                input[s->from[peer * UPDATES + i] + row] = byte_of(rank, peer, i, row);
}

static void compare(const struct slices *s, const unsigned char *output, int64_t large, int64_t gap) {
    for (int peer = 0; peer < ranks; peer++)
        for (int64_t i = 0; i < UPDATES; i++) {
            const unsigned char *slice = output + place_of(peer, rank, i, large, gap);
            int wrong = 0;
            for (int64_t row = 0; row < s->received[peer * UPDATES + i]; row++) wrong |= slice[row] != byte_of(peer, rank, i, row);
            check(!wrong, "what was exchanged");
        }
}

static quern_ragged_all_to_all_args args_of(const struct slices *s, const unsigned char *input, unsigned char *output) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.metadata_dtype = QUERN_INT64, args.input = input, args.output = output, args.row_bytes = 1, args.updates = UPDATES;
    args.input_rows = s->rows_in, args.output_rows = s->rows_out, args.input_offsets = s->from, args.send_sizes = s->sent;
    args.output_offsets = s->to, args.recv_sizes = s->received;
    return args;
}

static void exchange(quern_group *group, int64_t large, int64_t gap) {
    static struct slices s;
    void *workspace;
    size_t bytes;
    cut(&s, large, gap);
    unsigned char *input = (unsigned char *)malloc((size_t)s.rows_in + 1);
    unsigned char *output = (unsigned char *)malloc((size_t)s.rows_out + 1);
    const quern_ragged_all_to_all_args args = args_of(&s, input, output);
    quern_ragged_plan *plan;
    check(input && output, "memory");
    fill(&s, input);
    check(quern_ragged_all_to_all_workspace(group, &args, &bytes) == QUERN_OK, "workspace");
    check(quern_symmetric_alloc(&group, 1, &bytes, &workspace) == QUERN_OK, "symmetric memory");
    for (int round = 0; round < 3; round++) {
        memset(output, 0, (size_t)s.rows_out);
        check(quern_ragged_all_to_all(group, &args, workspace, bytes, NULL) == QUERN_OK, "exchange");
        compare(&s, output, large, gap);
        check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
    }
    check(quern_ragged_plan_create(&group, 1, &args, &workspace, &bytes, &plan) == QUERN_OK, "plan");
    for (int round = 0; round < 3; round++) {
        memset(output, 0, (size_t)s.rows_out);
        check(quern_ragged_plan_run(plan, NULL) == QUERN_OK, "run");
        compare(&s, output, large, gap);
    }
    check(quern_ragged_plan_destroy(plan) == QUERN_OK, "destroying the plan");
    check(quern_symmetric_free(group, workspace, NULL) == QUERN_OK, "freeing");
    free(input);
    free(output);
}

static quern_group *form(quern_device *device, quern_group_args *args, double timeout) {
    quern_group *group;
    char report[4096];
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    hosts.host = rank * 2 < ranks ? "one" : "two";
    args->device = device, args->timeout = timeout, args->hosts = &hosts;
    check(quern_join_from_mpi(MPI_COMM_WORLD, args) == MPI_SUCCESS, "quern_join_from_mpi");
    check(quern_carrier_from_mpi(MPI_COMM_WORLD, args) == MPI_SUCCESS, "quern_carrier_from_mpi");
    check(quern_group_create(args, 1, &group) == QUERN_OK, "creating the group");
    quern_group_report(group, report, sizeof report);
    check(strstr(report, "hosts 0 and 1: mpi, since") != NULL, report);
    return group;
}

static void exchange_all(quern_device *device) {
    static const int64_t large[] = {0, 40, 5000, 70000, 3000000, 17000000};
    quern_group_args first = QUERN_GROUP_ARGS_INIT, second = QUERN_GROUP_ARGS_INIT;
    quern_group *one = form(device, &first, LIMIT), *other = form(device, &second, LIMIT);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        exchange(one, large[i], 0);
        exchange(other, large[i], 3);
    }
    for (int i = 0; i < 200; i++) check(quern_barrier(i % 3 ? one : other, NULL, NULL) == QUERN_OK, "barrier");
    check(quern_group_destroy(one) == QUERN_OK && quern_group_destroy(other) == QUERN_OK, "destroying");
    check(quern_free_mpi_carrier(&first) == MPI_SUCCESS && quern_free_mpi_carrier(&second) == MPI_SUCCESS, "freeing");
}

/* Each rank sends to all others and receives from them: a few bytes, and more. */
static quern_transfer *prepare(quern_group *group, uint64_t key, int64_t bytes, unsigned char *out, unsigned char *in) {
    quern_transfer_item items[4 * MOST];
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    quern_transfer *transfer;
    for (int peer = 0; peer < ranks; peer++) {
        if (peer == rank) continue;
        for (int large = 0; large < 2; large++)
            for (int receive = 0; receive < 2; receive++) {
                quern_transfer_item *item = &items[args.item_count++];
                memset(item, 0, sizeof *item);
                item->receive = receive, item->peer = peer, item->tag = (uint64_t)large, item->bytes = large ? bytes : 3;
                item->memory = (receive ? in : out) + peer * (bytes + 3) + large * 3;
            }
    }
    args.items = items, args.key = key;
    check(quern_transfer_prepare(group, &args, &transfer) == QUERN_OK, "preparing");
    return transfer;
}

static void check_received(const unsigned char *in, int64_t bytes, int round) {
    for (int peer = 0; peer < ranks; peer++) {
        int wrong = 0;
        if (peer == rank) continue;
        for (int64_t at = 0; at < bytes + 3; at++) wrong |= in[peer * (bytes + 3) + at] != byte_of(peer, rank, round, at);
        check(!wrong, "what was transferred");
    }
}

static void transfer_often(quern_group *group, uint64_t key, int64_t bytes) {
    const size_t all = (size_t)ranks * (size_t)(bytes + 3);
    unsigned char *out = (unsigned char *)malloc(all), *in = (unsigned char *)malloc(all);
    check(out && in, "memory");
    quern_transfer *transfer = prepare(group, key, bytes, out, in);
    for (int round = 0; round < 3; round++) {
        for (int peer = 0; peer < ranks; peer++)
            for (int64_t at = 0; at < bytes + 3; at++) out[peer * (bytes + 3) + at] = byte_of(rank, peer, round, at);
        check(quern_transfer_start(transfer, NULL) == QUERN_OK, "starting");
        check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
        check(quern_transfer_wait(transfer, 0) == QUERN_OK, "waiting");
        check_received(in, bytes, round);
    }
    check(quern_transfer_destroy(transfer) == QUERN_OK, "destroying");
    free(out);
    free(in);
}

/* The rank `by` cancels after so few calls that nothing is complete; its memory goes while MPI may still have messages. */
static void cancel_one(quern_group *group, int by) {
    const int64_t bytes = 17000000;
    unsigned char *out = (unsigned char *)calloc((size_t)ranks, (size_t)bytes + 3);
    unsigned char *in = (unsigned char *)calloc((size_t)ranks, (size_t)bytes + 3);
    int32_t done;
    check(out && in, "memory");
    quern_transfer *transfer = prepare(group, 5, bytes, out, in);
    check(quern_transfer_start(transfer, NULL) == QUERN_OK, "starting");
    check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
    for (int looks = 0; rank == by && looks < 3; looks++) check(quern_transfer_test(transfer, &done) == QUERN_OK, "testing");
    const quern_status status = rank == by ? quern_transfer_cancel(transfer, "enough") : quern_transfer_wait(transfer, 0);
    check(status == (rank == by ? QUERN_OK : QUERN_GROUP_ABORTED), "the status");
    check(quern_transfer_destroy(transfer) == QUERN_OK, "destroying");
    free(out);
    free(in);
}

static void transfer_all(quern_device *device) {
    static const int64_t sizes[] = {0, 4093, 4094, 70000, 3000000, 17000000};
    quern_group_args first = QUERN_GROUP_ARGS_INIT, second = QUERN_GROUP_ARGS_INIT;
    quern_group *one = form(device, &first, LIMIT), *other = form(device, &second, LIMIT);
    char report[4096];
    quern_group_report(one, report, sizeof report);
    check(strstr(report, "transfers of hosts 0 and 1: mpi, and sockets for up to 4096 bytes") != NULL, report);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        transfer_often(one, 1, sizes[i]);
        exchange(other, 70000, 3);
        transfer_often(other, 1, sizes[i]);
    }
    for (int by = 0; by < ranks; by++) {
        cancel_one(one, by);
        transfer_often(one, 5, 70000);
    }
    check(quern_barrier(one, NULL, NULL) == QUERN_OK, "barrier");
    check(quern_group_destroy(one) == QUERN_OK && quern_group_destroy(other) == QUERN_OK, "destroying");
    check(quern_free_mpi_carrier(&first) == MPI_SUCCESS && quern_free_mpi_carrier(&second) == MPI_SUCCESS, "freeing");
}

static void *ask(void *user) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.rank = rank, args.ranks = ranks;
    *(int *)user = quern_carrier_from_mpi(MPI_COMM_WORLD, &args);
    return NULL;
}

static void ask_on_another_thread(void) {
    pthread_t thread;
    int error = MPI_SUCCESS;
    check(pthread_create(&thread, NULL, ask, &error) == 0 && pthread_join(thread, NULL) == 0, "a thread");
    check(error == MPI_ERR_OTHER, "another thread is not refused");
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.rank = rank, args.ranks = ranks + 1;
    check(quern_carrier_from_mpi(MPI_COMM_WORLD, &args) == MPI_ERR_RANK && !args.hosts, "other ranks are not refused");
}

/* The last rank is missed in an exchange of large slices: it has died, or comes when the others have given up. */
static void miss_one(quern_device *device, int dies) {
    static struct slices s;
    const double began = now();
    quern_group_args join = QUERN_GROUP_ARGS_INIT;
    quern_group *group = form(device, &join, LIMIT);
    char why[300], name[32];
    void *workspace;
    size_t bytes;
    cut(&s, 2000000, 0);
    unsigned char *input = (unsigned char *)calloc(1, (size_t)s.rows_in), *output = (unsigned char *)calloc(1, (size_t)s.rows_out);
    quern_ragged_all_to_all_args args = args_of(&s, input, output);
    args.timeout = dies ? LIMIT : 10;
    check(quern_ragged_all_to_all_workspace(group, &args, &bytes) == QUERN_OK, "workspace");
    check(quern_symmetric_alloc(&group, 1, &bytes, &workspace) == QUERN_OK, "symmetric memory");
    if (rank + 1 == ranks && dies) kill(getpid(), SIGKILL);
    while (rank + 1 == ranks && quern_group_status(group) == QUERN_OK) usleep(1000);  /* until the others have given up */
    const quern_status status = quern_ragged_all_to_all(group, &args, workspace, bytes, NULL);
    check(status == (dies ? QUERN_PEER_LOST : QUERN_PEER_TIMEOUT), "the status");
    snprintf(name, sizeof name, "rank %d (", ranks - 1);
    quern_error_detail(why, sizeof why);
    check(strstr(why, name) != NULL, "the name");
    const quern_status end = quern_group_destroy(group);
    check(end == QUERN_OK || (dies && end == QUERN_PEER_LOST), "destroying");
    quern_error_detail(why, sizeof why);
    if (end != QUERN_OK) check(strstr(why, "mpi does not give back the memory") != NULL, "the reason");
    check(now() - began < SOON, "the time");
    if (dies) return;  /* with the memory, which MPI may still have */
    free(input);
    free(output);
    check(quern_free_mpi_carrier(&join) == MPI_SUCCESS, "freeing");
}

/* The last rank dies while the data of a transfer moves, which all others then hear; their memory is theirs again. */
static void cut_off_one(quern_device *device) {
    const int64_t bytes = 17000000;
    const double began = now();
    quern_group_args join = QUERN_GROUP_ARGS_INIT;
    quern_group *group = form(device, &join, LIMIT);
    unsigned char *out = (unsigned char *)calloc((size_t)ranks, (size_t)bytes + 3);
    unsigned char *in = (unsigned char *)calloc((size_t)ranks, (size_t)bytes + 3);
    char why[300], name[32];
    int32_t done;
    check(out && in, "memory");
    quern_transfer *transfer = prepare(group, 5, bytes, out, in);
    check(quern_transfer_start(transfer, NULL) == QUERN_OK, "starting");
    check(quern_barrier(group, NULL, NULL) == QUERN_OK, "barrier");
    for (int looks = 0; rank + 1 == ranks && looks < 3; looks++) check(quern_transfer_test(transfer, &done) == QUERN_OK, "testing");
    if (rank + 1 == ranks) kill(getpid(), SIGKILL);
    check(quern_transfer_wait(transfer, 0) == QUERN_PEER_LOST, "the status");
    snprintf(name, sizeof name, "rank %d (", ranks - 1);
    quern_error_detail(why, sizeof why);
    check(strstr(why, name) != NULL, "the name");
    check(quern_transfer_destroy(transfer) == QUERN_OK, "destroying the transfer");
    free(out);
    free(in);
    const quern_status end = quern_group_destroy(group);
    check(end == QUERN_OK || end == QUERN_PEER_LOST, "destroying");
    quern_error_detail(why, sizeof why);
    if (end != QUERN_OK) check(strstr(why, "mpi does not give back a message of a transfer with rank") != NULL, "the reason");
    check(now() - began < SOON, "the time");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "exchange";
    const int is_funneled = strcmp(name, "funneled") == 0, is_cut = strcmp(name, "cut") == 0;
    const int dies = is_cut || strcmp(name, "killed") == 0;
    int level;
    quern_device *device;
    MPI_Init_thread(&argc, &argv, is_funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(ranks <= MOST && quern_device_open(QUERN_CPU, 0, &device) == QUERN_OK, "opening the device");
    check(quern_prepare(device, QUERN_RAGGED_ALL_TO_ALL) == QUERN_OK, "preparing");
    if (is_funneled) ask_on_another_thread();
    else if (strcmp(name, "exchange") == 0) exchange_all(device);
    else if (strcmp(name, "transfer") == 0) transfer_all(device);
    else if (is_cut) cut_off_one(device);
    else miss_one(device, dies);
    quern_device_close(device);
    if (rank == 0 || dies) printf("%s: right\n", name), fflush(stdout);
    if (dies) _exit(0);  /* MPI cannot end in order without one of its processes */
    MPI_Finalize();
    return 0;
}
