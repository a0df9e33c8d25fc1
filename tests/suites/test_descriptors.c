/*
 * File descriptors: those of the standard streams, which the library leaves alone where the program has closed them, and limits of
 * their number.
 *
 * Runs on: ranks.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "harness/check.h"
#include "harness/gather_store.h"
#include "harness/looking.h"
#include "harness/transfer_case.h"

/* ---- what the library does with the numbers 0 to 2: it may move a descriptor away from them, and nothing else ---- */

enum { STREAMS = 3 };

static int is_moved[STREAMS], kept;  /* atomic: between moving and closing one; how many were closed that were not moved */
static int inherited;                /* atomic: that a program would have inherited which another thread started meanwhile */

int __real_close(int descriptor);
int __real_fcntl(int descriptor, int command, ...);

static bool is_stream(int descriptor) { return descriptor >= 0 && descriptor < STREAMS; }

int __wrap_close(int descriptor) {
    const int flags = __real_fcntl(descriptor, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) __atomic_add_fetch(&inherited, 1, __ATOMIC_SEQ_CST);
    if (is_stream(descriptor) && !__atomic_exchange_n(&is_moved[descriptor], 0, __ATOMIC_SEQ_CST))
        __atomic_add_fetch(&kept, 1, __ATOMIC_SEQ_CST);
    return __real_close(descriptor);
}

int __wrap_fcntl(int descriptor, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (command == F_DUPFD_CLOEXEC && is_stream(descriptor)) __atomic_store_n(&is_moved[descriptor], 1, __ATOMIC_SEQ_CST);
    return __real_fcntl(descriptor, command, argument);
}

static void close_streams(void) {
    for (int stream = 0; stream < STREAMS; stream++) __real_close(stream);
    kept = inherited = 0;
}

/* How many of the numbers are open, or were open and not moved. */
static int streams_taken(void) {
    int taken = __atomic_load_n(&kept, __ATOMIC_SEQ_CST);
    for (int stream = 0; stream < STREAMS; stream++) taken += __real_fcntl(stream, F_GETFD) >= 0;
    return taken;
}

static void expect_no_stream(struct rank *rank, const char *where) {
    rank_check(rank, streams_taken() == 0, "%d of the numbers 0 to 2 were taken: %s", streams_taken(), where);
}

/* ---- one of everything ---- */

struct scene {
    bool gathers;             /* by an all-gather in place of a place of meeting */
    char folder[256];
};

static const char *path_of(const struct rank *rank, const char *name, char path[400]) {
    snprintf(path, 400, "%s/%d.%s", ((const struct scene *)rank->user)->folder, rank->rank, name);
    return path;
}

static void begin_to_look(struct rank *rank) {
    char path[400];
    quern_dump_args args = DUMP_ARGS(.folder = path_of(rank, "dump", path));
    rank_ok(rank, quern_dump_at(rank->device, &args));
    rank_ok(rank, quern_step(rank->device, 0));
    rank_ok(rank, quern_trace_begin(path_of(rank, "trace", path)));
    expect_no_stream(rank, "a trace and a dump begin");
}

static void end_to_look(struct rank *rank) {
    char path[400];
    rank_ok(rank, quern_trace_end());
    rank_ok(rank, quern_step(rank->device, 1));
    expect_no_stream(rank, "a trace and a dump end");
    rank_status(rank, quern_load_pack(path_of(rank, "trace", path)), QUERN_INVALID_PACK);
    expect_no_stream(rank, "a pack");
}

static void open_another_device(struct rank *rank) {
    quern_device *device;
    rank_ok(rank, quern_device_open(QUERN_CPU, 0, &device));
    rank_ok(rank, quern_prepare(device, QUERN_COLLECTIVE | QUERN_RAGGED_ALL_TO_ALL));
    expect_no_stream(rank, "a device");
    quern_device_close(device);
}

static void add_up(struct rank *rank, quern_group *group) {
    enum { COUNT = 1 << 14 };
    static float input[COUNT], output[COUNT];
    size_t bytes;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = COUNT, .input = input, .output = output);
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_ok(rank, quern_collective_workspace(group, &args, &bytes));
    char *workspace = rank_allocate(rank, group, bytes ? bytes : 1);
    expect_no_stream(rank, "symmetric memory");
    rank_ok(rank, quern_all_reduce(group, &args, workspace, bytes, NULL));
    expect_no_stream(rank, "a collective");
}

static void transfer(struct rank *rank, quern_group *group) {
    const struct transfer_choice choice = {.lists = 2, .items = 8, .largest = 1 << 16, .rounds = 2};
    transfer_run_case(rank, group, 71, &choice);
    expect_no_stream(rank, "transfers");
}

/* What an earlier attempt has left in /dev/shm, which the first rank of this one removes. */
static void leave_remnant(const struct rank *rank, char name[128]) {
    snprintf(name, 128, "/quern.%u.2.%s", (unsigned)geteuid(), rank->name);
    const int file = rank->rank == 0 && !rank->hosts ? shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0 && write(file, "", 1) == 1) __real_close(file);
}

static void do_everything(struct rank *rank) {
    struct gatherer gatherer = {.rank = rank};
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_group *group, *part, *less;
    const struct scene *scene = rank->user;
    if (scene->gathers) hosts->meet = NULL, hosts->all_gather = gather_all, hosts->all_gather_user = &gatherer;
    char remnant[128];
    args.job = 3, args.progress = 1;
    leave_remnant(rank, remnant);
    rank_line_up(rank);
    close_streams();
    open_another_device(rank);
    begin_to_look(rank);
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_check(rank, shm_open(remnant, O_RDONLY, 0) < 0, "%s is there", remnant);
    expect_no_stream(rank, "a group");
    add_up(rank, group);
    transfer(rank, group);
    end_to_look(rank);
    rank_ok(rank, quern_group_split(&group, 1, &(int){rank->rank % 2}, &(int){0}, &part));
    expect_no_stream(rank, "a part of the group");
    rank_ok(rank, quern_group_destroy(part));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);  /* the first one that shrinks it ends the calls of the others */
    rank_ok(rank, quern_group_shrink(&group, 1, &less));
    expect_no_stream(rank, "a group that was shrunk");
    rank_ok(rank, quern_barrier(less, NULL, NULL));
    rank_ok(rank, quern_group_destroy(less));
    rank_ok(rank, quern_group_destroy(group));
    expect_no_stream(rank, "the end");
    rank_check(rank, inherited == 0, "%d descriptors were closed that another program would have inherited", inherited);
}

Test(descriptors, the_standard_streams_are_left_alone) {
    static const struct {
        int hosts, count;
        bool gathers;
    } shapes[] = {{0, 2, false}, {2, 4, false}, {2, 4, true}, {4, 4, false}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct scene scene = {.gathers = shapes[i].gathers};
        snprintf(scene.folder, sizeof scene.folder, "%s", make_folder());
        check_ranks(.kind = RANK_PROCESSES, .count = shapes[i].count, .hosts = shapes[i].hosts, .body = do_everything,
                    .user = &scene, .shared_bytes = sizeof(struct gather_store));
        for (int rank = 0; rank < shapes[i].count; rank++) {
            char name[16];
            snprintf(name, sizeof name, "%d.dump", rank);
            drop_folder(path_in(scene.folder, name));
        }
        drop_folder(scene.folder);
    }
}

/* The log is opened once per process, by the first line. */
Test(descriptors, the_log_is_no_standard_stream) {
    char path[] = "/tmp/quern_log_XXXXXX";
    int status, count;
    const int file = mkstemp(path);
    check(file >= 0, "no file");
    setenv("QUERN_LOG", path, 1);
    const pid_t child = fork();
    if (child == 0) {
        close_streams();
        quern_device_count((quern_device_kind)12, &count);
        rank_end_process(streams_taken());
    }
    check(waitpid(child, &status, 0) == child && status == 0, "the log has taken one: %x", status);
    check(lseek(file, 0, SEEK_END) > 0, "nothing was logged");
    unlink(path);
}

/* ---- no descriptors are left ---- */

/* So many more can be opened. */
static void leave_descriptors(struct rank *rank, int more) {
    struct rlimit limit;
    int opened[128], last = 0;
    rank_check(rank, more <= 128 && getrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit");
    for (int i = 0; i < more; i++) last = opened[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < more; i++) __real_close(opened[i]);
    limit.rlim_cur = (rlim_t)last + 1;
    rank_check(rank, setrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit");
}

/* The segment takes the only one, so nothing can be opened for the lock, nor to compare the name with it. */
TEST_BODY(descriptors, the_name_is_removed_with_the_last_one, .kind = RANK_PROCESSES, .count = 2) {
    struct stat file;
    char path[128];
    const quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    snprintf(path, sizeof path, "/dev/shm/quern.%u.0.%s", (unsigned)geteuid(), rank->name);
    leave_descriptors(rank, 1);
    rank_refuse_group(rank, &args, QUERN_SYSTEM_ERROR, strerror(EMFILE));
    rank_line_up(rank);
    rank_check(rank, stat(path, &file) != 0, "%s is there", path);
}

/* ---- a group of several hosts for which there are too few ---- */

static void expect_no_name(struct rank *rank) {
    char path[128];
    struct stat file;
    snprintf(path, sizeof path, "/dev/shm/quern.%u.0.%s@%c", (unsigned)geteuid(), rank->name, 'a' + rank_host(rank, rank->rank));
    rank_check(rank, stat(path, &file) != 0, "%s is there", path);
}

/* All hear at once what one rank lacks: the others have no limit that ends. */
static void hear_of_shortage(struct rank *rank, quern_status status, const char *words) {
    rank_refused(rank, status, QUERN_SYSTEM_ERROR, words);
    expect_no_name(rank);
}

/* Two connections with each of two ranks of the other host, and three descriptors before. */
TEST_BODY_FOR(descriptors, all_ranks_hear_which_one_has_too_few, for (int culprit = 0; culprit < 4; culprit++),
              .kind = RANK_PROCESSES, .count = 4, .hosts = 2, .user = &culprit) {
    const int culprit = *(const int *)rank->user;
    quern_group *group;
    char words[200];
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    snprintf(words, sizeof words, "rank %d: the group needs 7 descriptors in this process, and the limit (RLIMIT_NOFILE) is #, of "
             "which # are open", culprit);
    if (rank->rank == culprit) leave_descriptors(rank, 6);
    hear_of_shortage(rank, quern_group_create(&args, 1, &group), words);
}

/* Each rank has enough for itself; all of a host are of one process, which has not. */
TEST_BODY(descriptors, the_ranks_of_a_process_need_them_together, .kind = RANK_THREADS, .count = 16, .hosts = 2) {
    quern_group *group;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    if (rank->rank == 0) leave_descriptors(rank, 100);
    rank_line_up(rank);
    const quern_status status = quern_group_create(&args, 1, &group);
    hear_of_shortage(rank, status, ": the group needs 130 descriptors in this process, and the limit");
}

TEST_GROUP(descriptors, a_split_needs_as_many_again, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    quern_group *part;
    if (rank->rank == 2) leave_descriptors(rank, 5);
    const quern_status status = quern_group_split(&group, 1, &(int){0}, &(int){0}, &part);
    hear_of_shortage(rank, status, "rank 2: the group needs 7 descriptors in this process, and the limit");
}

/* ---- calls of the system that fail ---- */

/* In the process of one rank, one call of a function: a shortage that no limit shows. */
struct failure {
    int by, call, error;
    bool accepts;             /* accept4, else connect */
    const char *before;       /* the system's words, if they are expected, else NULL */
    const char *words;
};

static const struct failure *failing;  /* in this process */
static int calls;                      /* atomic */

int __real_accept4(int listener, struct sockaddr *name, socklen_t *bytes, int flags);
int __real_connect(int socket, const struct sockaddr *name, socklen_t bytes);

static bool fails_now(bool accepts) {
    if (!failing || failing->accepts != accepts || __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) != failing->call) return false;
    errno = failing->error;
    return true;
}

int __wrap_accept4(int listener, struct sockaddr *name, socklen_t *bytes, int flags) {
    return fails_now(true) ? -1 : __real_accept4(listener, name, bytes, flags);
}

int __wrap_connect(int socket, const struct sockaddr *name, socklen_t bytes) {
    const bool is_stream = name->sa_family == AF_INET && ((const struct sockaddr_in *)(const void *)name)->sin_port;
    int kind = 0;
    socklen_t room = sizeof kind;
    getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind, &room);
    return is_stream && kind == SOCK_STREAM && fails_now(false) ? -1 : __real_connect(socket, name, bytes);
}

static const struct failure failures[] = {
    {0, 0, EMFILE, true, "rank 0: letting hosts in: ", ": the group needs # descriptors in this process"},
    {0, 0, ENFILE, true, NULL, "/proc/sys/fs/file-max"},
    {0, 0, ENOBUFS, true, NULL, "/proc/sys/net/ipv4/tcp_mem"},
    {0, 0, ENOMEM, true, NULL, "the system has no memory for sockets; the group needs # connections of this process"},
    {2, 0, EADDRNOTAVAIL, false, "going to the place of meeting: ", ": no local port is free"},
};

/* At the place of meeting, and on the way there.  The number is that of the ranks of the process that have joined until then. */
TEST_BODY(descriptors, all_ranks_hear_what_the_system_lacks, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, RANKS_EACH(failures)) {
    const struct failure *failure = rank->user;
    quern_group *group;
    char words[200];
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    if (rank->rank == failure->by) failing = failure;
    const quern_status status = quern_group_create(&args, 1, &group);
    failing = NULL;
    snprintf(words, sizeof words, "%s%s%s", failure->before ? failure->before : "", failure->before ? strerror(failure->error) : "",
             failure->words);
    hear_of_shortage(rank, status, words);
}
