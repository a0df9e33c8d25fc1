/* Starts ranks as threads or processes, waits for them and reports how they ended.  ranks.h documents the functions. */
#include "harness/ranks.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "ranks/handles.h"
#include "ranks/segment.h"

enum { STILL_RAN = -1 };
static const double DEFAULT_LIMIT = 500, GRACE = 2, WATCHED_SILENCE = 4.5;

struct rank_run {
    struct ranks ranks;
    char name[64], meet[64];
    const char *transports;                /* of the environment; NULL: nothing is asked */
    struct carrier_net net;          /* of the carrier, if there is one */
    struct rank_result *results;     /* shared with the ranks, like the two below */
    unsigned *arrivals;
    void *shared;
    size_t bytes;                    /* of all three */
    int processes;                   /* one for all threads, or one per rank */
    pid_t process[MOST_RUN_RANKS];
    int descriptor[MOST_RUN_RANKS];  /* of the process; -1: it has ended, ... */
    int ended_with[MOST_RUN_RANKS];  /* ... with this, as waitpid says it, or STILL_RAN: the test has ended it */
    double began;
    char text[4096];
};

const char *rank_kind_name(enum rank_kind kind) {
    static const char *const names[] = {"threads", "processes", "unreadable processes"};
    return names[kind];
}

double rank_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void rank_sleep(double seconds) {
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0) continue;
}

/* Threads of the library open a file of /proc now and then, to see whether another process ends. */
static bool is_there_for_a_moment(int folder, const char *name) {
    char link[6];
    const ssize_t bytes = readlinkat(folder, name, link, sizeof link);
    return bytes < 0 ? errno == ENOENT : bytes == sizeof link && memcmp(link, "/proc/", sizeof link) == 0;
}

int count_entries(const char *folder) {
    DIR *directory = opendir(folder);
    int count = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        count += !is_there_for_a_moment(dirfd(directory), entry->d_name);
    if (directory) closedir(directory);
    return count;
}

int count_settled(const char *folder, int expected) {
    const double end = rank_now() + RANK_LIMIT;
    int count;
    while ((count = count_entries(folder)) != expected && rank_now() < end) rank_sleep(1e-3);
    return count;
}

/* ---- inside a rank ---- */

void rank_fail(struct rank *rank, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (rank->result) vsnprintf(rank->result->failure, sizeof rank->result->failure, format, list);
    else vfprintf(stderr, format, list), fputc('\n', stderr);  /* a rank that a test has made itself, outside of a run */
    va_end(list);
    if (!rank->result) abort();
    longjmp(rank->end, 1);
}

void rank_check_status(struct rank *rank, quern_status status, quern_status expected, const char *call, int line) {
    char detail[RANK_TEXT_BYTES];
    if (status == expected) return;
    quern_error_detail(detail, sizeof detail);
    rank_fail(rank, "line %d: %s gave %s instead of %s: %.700s", line, call, quern_status_string(status),
              quern_status_string(expected), detail);
}

/* Where the text goes on behind the pattern with which it begins; NULL: it does not. */
static const char *behind(const struct rank *rank, const char *text, const char *pattern) {
    for (; *pattern; pattern++) {
        char part[128] = {*pattern};
        size_t length = 1;
        if (*pattern == '#' && (length = strspn(text, "0123456789.e+-"))) memcpy(part, text, length < 64 ? length : 64);
        if (*pattern == '@') length = (size_t)snprintf(part, sizeof part, "group %s, rank %d", rank->name, rank->rank);
        if (!length || strncmp(text, part, length)) return NULL;
        text += length;
    }
    return text;
}

static void match_detail(struct rank *rank, const char *text, bool whole) {
    char detail[RANK_TEXT_BYTES];
    quern_error_detail(detail, sizeof detail);
    const char *end = behind(rank, detail, text);
    for (const char *at = detail; *at && !end && !whole; at++) end = behind(rank, at, text);
    rank_check(rank, end && !(whole && *end), "no \"%s\" in the detail \"%.800s\"", text, detail);
}

void rank_check_detail(struct rank *rank, const char *text) { match_detail(rank, text, false); }
void rank_check_whole_detail(struct rank *rank, const char *text) { match_detail(rank, text, true); }

void rank_check_report(struct rank *rank, const quern_group *group, const char *text) {
    char report[4096];
    quern_group_report(group, report, sizeof report);
    rank_check(rank, strstr(report, text), "no \"%s\" in the report \"%.900s\"", text, report);
}

void rank_check_refusal(struct rank *rank, int culprit, quern_status status, const char *words, quern_status found) {
    const bool is_mine = culprit == rank->rank;
    char prefix[64];
    rank_check_status(rank, found, is_mine ? status : QUERN_PEER_MISMATCH, words, __LINE__);
    rank_check_detail(rank, words);
    snprintf(prefix, sizeof prefix, "rank %d refused its own arguments: ", culprit);
    if (!is_mine) rank_check_detail(rank, prefix);
}

/* As linux/filter.h and linux/seccomp.h have them, which musl's compiler does not find. */
struct filter_instruction {
    uint16_t code;
    uint8_t if_true, if_false;
    uint32_t value;
};

struct filter_program {
    unsigned short count;
    struct filter_instruction *instructions;
};

enum { LOAD = 0x20, COMPARE = 0x15, RETURN = 0x06, MODE_FILTER = 2, ERROR = 0x50000, ALLOW = 0x7fff0000 };

static bool is_refused(void) {
    char byte[2] = "a";
    struct iovec here = {byte, 1}, there = {byte + 1, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == -1 && (errno == EPERM || errno == ENOSYS);
}

void rank_refuse_reads(struct rank *rank) {
    struct filter_instruction filter[] = {{LOAD, 0, 0, 0}, {COMPARE, 0, 1, SYS_process_vm_readv}, {RETURN, 0, 0, ERROR | EPERM},
                                   {RETURN, 0, 0, ALLOW}};
    const struct filter_program program = {sizeof filter / sizeof *filter, filter};
    if (is_refused()) return;  /* as in QEMU, which takes no filter */
    rank_check(rank, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, MODE_FILTER, &program) == 0,
               "no filter: %s", strerror(errno));
    rank_check(rank, is_refused(), "the memory can be read");
}

int rank_segment_file(struct rank *rank) {
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        char link[64], path[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        const ssize_t length = readlink(link, path, sizeof path - 1);
        if (length <= 0) continue;
        path[length] = 0;
        if (strstr(path, "/dev/shm/quern.") && strstr(path, rank->name)) return descriptor;
    }
    rank_fail(rank, "the group has no file");
}

char *rank_allocate(struct rank *rank, quern_group *group, size_t bytes) {
    void *pointer;
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &bytes, &pointer));
    return pointer;
}

char *rank_peer_of(struct rank *rank, quern_group *group, const void *pointer, int peer) {
    void *there;
    rank_ok(rank, quern_symmetric_peer(group, pointer, peer, &there));
    return there;
}

void rank_exchange_set(const struct rank *rank, struct rank_exchange *exchange, int32_t rows) {
    for (int peer = 0; peer < rank->ranks; peer++)
        exchange->from[peer] = peer * rows, exchange->sizes[peer] = rows, exchange->to[peer] = rank->rank * rows;
}

void rank_exchange_args(const struct rank *rank, struct rank_exchange *exchange, const void *input, void *output, int32_t rows,
                        int64_t row_bytes) {
    quern_ragged_all_to_all_args *args = &exchange->args;
    *args = (quern_ragged_all_to_all_args)RAGGED_ALL_TO_ALL_ARGS(.input = input, .output = output, .row_bytes = row_bytes);
    args->input_rows = args->output_rows = (int64_t)rank->ranks * rows;
    args->input_offsets = exchange->from, args->output_offsets = exchange->to;
    args->send_sizes = args->recv_sizes = exchange->sizes;
    rank_exchange_set(rank, exchange, rows);
}

quern_status rank_exchange_open(struct rank *rank, quern_group *group, struct rank_exchange *exchange, const void *input,
                                void *output, int32_t rows, int64_t row_bytes) {
    rank_exchange_args(rank, exchange, input, output, rows, row_bytes);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    const quern_status status = quern_ragged_all_to_all_workspace(group, &exchange->args, &exchange->bytes);
    return status == QUERN_OK ? quern_symmetric_alloc(&group, 1, &exchange->bytes, &exchange->workspace) : status;
}

quern_status rank_exchange_run(quern_group *group, const struct rank_exchange *exchange) {
    return quern_ragged_all_to_all(group, &exchange->args, exchange->workspace, exchange->bytes, NULL);
}

void rank_exchange_once(struct rank *rank, quern_group *group, const quern_ragged_all_to_all_args *args) {
    size_t bytes;
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, args, &bytes));
    void *workspace = rank_allocate(rank, group, bytes);
    rank_ok(rank, quern_ragged_all_to_all(group, args, workspace, bytes, NULL));
    rank_ok(rank, quern_symmetric_free(group, workspace, NULL));
}

struct second {
    struct rank rank;
    quern_status (*function)(struct rank *rank);
};

static void *be_second(void *user) {
    struct second *second = user;
    second->function(&second->rank);
    return NULL;
}

quern_status rank_be_two(struct rank *rank, quern_status (*function)(struct rank *rank)) {
    struct rank first = *rank;
    struct second second = {*rank, function};
    pthread_t thread;
    first.ranks = second.rank.ranks = 2 * rank->ranks;
    first.rank = 2 * rank->rank, second.rank.rank = first.rank + 1;
    rank_ok(rank, quern_device_open(QUERN_CPU, 0, &second.rank.device));
    rank_check(rank, pthread_create(&thread, NULL, be_second, &second) == 0, "no thread");
    const quern_status status = function(&first);
    pthread_join(thread, NULL);
    quern_device_close(second.rank.device);
    return status;
}

struct quern_membership *rank_member_of(struct rank *rank, const quern_group *group) {
    struct quern_membership *member;
    rank_ok(rank, quern_member_of(group, &member));
    return member;
}

int rank_descriptors(void) { return count_entries("/proc/self/fd"); }

int rank_host(const struct rank *rank, int of) { return of * rank->hosts / rank->ranks; }

static const quern_hosts_args *hosts_args(const struct rank *rank) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static _Thread_local quern_hosts_args hosts;
    hosts = (quern_hosts_args)HOSTS_ARGS(.meet = rank->meet, .secret = "a secret of tests", .secret_bytes = 17,
                                         .host = names[rank_host(rank, rank->rank)]);
    if (rank->carrier) hosts.carrier = carrier_for_group(rank->carrier);
    hosts.transports = rank->transports;
    hosts.failure_timeout = rank->watches_heartbeat ? WATCHED_SILENCE : RANK_LIMIT;
    for (int other = 0; other < rank->ranks; other++) hosts.host_ranks += rank_host(rank, other) == rank_host(rank, rank->rank);
    return &hosts;
}

quern_hosts_args *rank_hosts_args(quern_group_args *args) { return (quern_hosts_args *)args->hosts; }

quern_group_args rank_group_args(const struct rank *rank, double timeout) {
    quern_group_args args = GROUP_ARGS(.rank = rank->rank, .ranks = rank->ranks, .name = rank->name, .device = rank->device,
                                       .timeout = timeout, .progress = rank->progress);
    if (rank->hosts) args.hosts = hosts_args(rank);
    return args;
}

quern_group *rank_create(struct rank *rank, const quern_group_args *args) {
    quern_group *group;
    rank_ok(rank, quern_group_create(args, 1, &group));
    return group;
}

void rank_refuse_group(struct rank *rank, const quern_group_args *args, quern_status status, const char *text) {
    quern_group *const untouched = (quern_group *)16, *group = untouched;
    rank_refused(rank, quern_group_create(args, 1, &group), status, text);
    rank_check(rank, group == untouched, "a failed call wrote a handle");
}

quern_group *rank_group(struct rank *rank, double timeout) {
    const quern_group_args args = rank_group_args(rank, timeout);
    return rank_create(rank, &args);
}

quern_group *rank_group_met(struct rank *rank, double timeout) {
    quern_group_args args = rank_group_args(rank, timeout);
    args.first_timeout = RANK_LIMIT;
    quern_group *group = rank_create(rank, &args);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    return group;
}

void rank_line_up(struct rank *rank) {
    unsigned all = ++rank->lined_up * (unsigned)rank->ranks;
    __atomic_add_fetch(rank->arrivals, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(rank->arrivals, __ATOMIC_ACQUIRE) < all) rank_sleep(1e-4);
}

bool write_file(int flags, const char *path, const void *bytes, size_t count) {
    const int file = open(path, O_WRONLY | flags, 0600);
    const bool good = file >= 0 && write(file, bytes, count) == (ssize_t)count;
    if (file >= 0) close(file);
    return good;
}

int count_mappings(const char *text) {
    int count = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) count += strstr(line, text) != NULL;
    if (maps) fclose(maps);
    return maps ? count : -1;
}

static quern_status call_function(struct rank *rank, const struct ranks *ranks) {
    if (ranks->function) return ranks->function(rank);
    if (ranks->body) return ranks->body(rank), QUERN_OK;
    quern_group *group = ranks->met ? rank_group_met(rank, RANK_LIMIT) : rank_group(rank, RANK_LIMIT);
    ranks->in_group(rank, group);
    return quern_group_destroy(group);
}

static void run_function(struct rank *rank, const struct ranks *ranks) {
    struct rank_result *result = rank->result;
    double began = rank_now();
    if (setjmp(rank->end)) {
        __atomic_store_n(&result->end, RANK_FAILED, __ATOMIC_RELEASE);
        return;
    }
    rank_ok(rank, quern_device_open(QUERN_CPU, 0, &rank->device));
    if (rank->is_unreadable) rank_refuse_reads(rank);
    result->status = call_function(rank, ranks);
    result->seconds = rank_now() - began;
    quern_error_detail(result->detail, sizeof result->detail);
    quern_device_close(rank->device);
    __atomic_store_n(&result->end, RANK_RETURNED, __ATOMIC_RELEASE);
}

struct starting {
    const struct rank_run *run;
    int rank;
};

static void *run_rank(void *user) {
    const struct starting *starting = user;
    const struct rank_run *run = starting->run;
    struct rank rank = {.rank = starting->rank, .ranks = run->ranks.count, .name = run->name,
                        .kind = run->ranks.kind == RANK_THREADS ? RANK_THREADS : RANK_PROCESSES,
                        .is_unreadable = run->ranks.kind == RANK_UNREADABLE,
                        .shared = run->shared, .user = run->ranks.user, .result = &run->results[starting->rank],
                        .arrivals = run->arrivals, .hosts = run->ranks.hosts, .meet = run->meet, .transports = run->transports,
                        .watches_heartbeat = run->ranks.watches_heartbeat,
                        .progress = run->ranks.progress || getenv("QUERN_TEST_PROGRESS"), .on_gpu = run->ranks.nccl,
                        .has_fabric = run->ranks.fabric, .wants_multicast = run->ranks.wants_multicast,
                        .operations = run->ranks.operations};
    if (run->ranks.carrier) rank.carrier = carrier_open(&run->net, run->ranks.carrier, rank.rank);
    run_function(&rank, &run->ranks);
    carrier_close(rank.carrier);
    return NULL;
}

/* A small stack: a call that needs more than the header promises ends with a signal.  Instrumented code may need more. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_BYTES (8 << 20)
#endif
#endif
#ifdef __aarch64__
#define STACK_BYTES (128 << 10)  /* the least that glibc takes there */
#endif
#ifndef STACK_BYTES
#define STACK_BYTES ((64 + 32) << 10)  /* the call's and the test's */
#endif

static void run_threads(const struct rank_run *run) {
    pthread_t threads[MOST_RUN_RANKS];
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK_BYTES)) _exit(EXIT_FAILURE);
    struct starting starting[MOST_RUN_RANKS];
    for (int rank = 0; rank < run->ranks.count; rank++) {
        starting[rank] = (struct starting){run, rank};
        if (pthread_create(&threads[rank], &attributes, run_rank, &starting[rank])) _exit(EXIT_FAILURE);
    }
    for (int rank = 0; rank < run->ranks.count; rank++) pthread_join(threads[rank], NULL);
}

/* ---- starting ---- */

static void give_up(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

/* Of a program that counts what it executes; others do not have it. */
extern int __llvm_profile_write_file(void) __attribute__((weak));

void rank_end_process(int status) {
    if (__llvm_profile_write_file) __llvm_profile_write_file();
    _exit(status);
}

static void become_process(const struct rank_run *run, int process, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  /* Yama lets a process read its children only; an error without Yama */
    if (getppid() != parent) _exit(EXIT_FAILURE);
    if (run->ranks.kind == RANK_THREADS)
        run_threads(run);
    else
        run_rank(&(struct starting){run, process});
    rank_end_process(EXIT_SUCCESS);
}

static void share_memory(struct rank_run *run) {
    size_t results = sizeof *run->results * (size_t)run->ranks.count;
    size_t shared_at = (results + sizeof *run->arrivals + 4095) / 4096 * 4096;
    run->bytes = shared_at + (run->ranks.shared_bytes ? run->ranks.shared_bytes : 1 << 17);
    char *memory = mmap(NULL, run->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) give_up("memory for ranks");
    run->results = (struct rank_result *)memory;
    run->arrivals = (unsigned *)(memory + results);
    run->shared = memory + shared_at;
}

/* A port that is free now. */
static void choose_port(struct rank_run *run) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
    socklen_t bytes = sizeof name;
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0 || bind(probe, (struct sockaddr *)&name, bytes) || getsockname(probe, (struct sockaddr *)&name, &bytes))
        give_up("a port for hosts");
    close(probe);
    snprintf(run->meet, sizeof run->meet, "127.0.0.2:%d", ntohs(name.sin_port));
}

static void set_gpus(int count, const char *settings) {
    char gpus[8 * MOST_RUN_RANKS] = "";
    const char *one = getenv("QUERN_EMULATOR");
    char capability[8];
    snprintf(capability, sizeof capability, "%.*s", (int)strcspn(one ? one : "9.0", ","), one ? one : "9.0");
    for (int i = 0; i < count; i++) strcat(strcat(gpus, i ? "," : ""), capability);
    setenv("QUERN_EMULATOR", gpus, 1);
    setenv("QUERN_NCCL_STANDIN", settings, 1);
}

void nccl_set_machine(const char *settings) { set_gpus(NCCL_GPUS, settings); }

struct rank_run *ranks_start(const struct ranks *ranks) {
    static int runs;
    struct rank_run *run = calloc(1, sizeof *run);
    if (!run || ranks->count < 1 || ranks->count > MOST_RUN_RANKS) give_up("starting ranks");
    run->ranks = *ranks;
    snprintf(run->name, sizeof run->name, "test.%d.%d", (int)getpid(), ++runs);
    share_memory(run);
    if (ranks->hosts) choose_port(run);
    if (ranks->nccl) set_gpus(ranks->count > NCCL_GPUS ? ranks->count : NCCL_GPUS, ranks->nccl);
    if (ranks->fabric) setenv("QUERN_EMULATOR_FABRIC", ranks->fabric, 1);
    else unsetenv("QUERN_EMULATOR_FABRIC");
    run->transports = run->ranks.carrier || !ranks->hosts ? NULL : getenv("QUERN_TEST_WAYS");
    if (!run->ranks.carrier && !run->transports) run->ranks.carrier = carrier_of_environment();
    if (!ranks->hosts || ranks->count > CARRIER_RANKS) run->ranks.carrier = NULL;
    if (run->ranks.carrier) carrier_net_open(&run->net, ranks->count);
    run->began = rank_now();
    run->processes = ranks->kind == RANK_THREADS ? 1 : ranks->count;
    pid_t parent = getpid();
    for (int i = 0; i < run->processes; i++) {
        run->process[i] = fork();
        if (run->process[i] < 0) give_up("fork");
        if (run->process[i] == 0) become_process(run, i, parent);
        run->descriptor[i] = (int)syscall(SYS_pidfd_open, run->process[i], 0);
        if (run->descriptor[i] < 0) give_up("pidfd_open");
    }
    return run;
}

const char *ranks_name(const struct rank_run *run) { return run->name; }
const char *ranks_meet(const struct rank_run *run) { return run->meet; }
void *ranks_shared(const struct rank_run *run) { return run->shared; }
const struct rank_result *ranks_result(const struct rank_run *run, int rank) { return &run->results[rank]; }

static int process_of(const struct rank_run *run, int rank) { return run->ranks.kind == RANK_THREADS ? 0 : rank; }

pid_t ranks_process(const struct rank_run *run, int rank) { return run->process[process_of(run, rank)]; }

/* ---- waiting ---- */

static void collect(struct rank_run *run, int process) {
    while (waitpid(run->process[process], &run->ended_with[process], 0) < 0 && errno == EINTR) continue;
    close(run->descriptor[process]);
    run->descriptor[process] = -1;
}

/* Collects processes that end within some milliseconds; false if none is left. */
static bool collect_some(struct rank_run *run, int milliseconds) {
    struct pollfd files[MOST_RUN_RANKS];
    int waiting = 0;
    for (int i = 0; i < run->processes; i++) {
        files[i] = (struct pollfd){.fd = run->descriptor[i], .events = POLLIN};
        waiting += run->descriptor[i] >= 0;
    }
    if (waiting && poll(files, (nfds_t)run->processes, milliseconds) > 0)
        for (int i = 0; i < run->processes; i++)
            if (files[i].revents) {
                collect(run, i);
                waiting--;
            }
    return waiting;
}

bool ranks_have_ended(struct rank_run *run) { return !collect_some(run, 0); }

static int end_of(const struct rank_run *run, int rank) { return __atomic_load_n(&run->results[rank].end, __ATOMIC_ACQUIRE); }

/* A process that has ended and must not, before its ranks have said how. */
static bool one_has_died(const struct rank_run *run, const bool *may_die) {
    for (int rank = 0; rank < run->ranks.count; rank++) {
        const bool is_over = run->descriptor[process_of(run, rank)] < 0;
        if (is_over && end_of(run, rank) == RANK_RUNS && !(may_die && may_die[rank])) return true;
    }
    return false;
}

static bool one_has_failed(const struct rank_run *run) {
    for (int rank = 0; rank < run->ranks.count; rank++)
        if (end_of(run, rank) == RANK_FAILED) return true;
    return false;
}

static double limit_of(const struct rank_run *run) { return run->ranks.limit > 0 ? run->ranks.limit : DEFAULT_LIMIT; }

static struct quern_segment *map_forming(const char *path) {
    struct quern_segment *segment = MAP_FAILED;
    struct stat status;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    const bool is_whole = file >= 0 && fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof *segment;
    if (is_whole) segment = mmap(NULL, sizeof *segment, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    return segment == MAP_FAILED ? NULL : segment;
}

struct quern_segment *ranks_find_forming(const char *path, unsigned joined) {
    const double end = rank_now() + RANK_LIMIT;
    for (; rank_now() < end; rank_sleep(1e-3)) {
        struct quern_segment *segment = map_forming(path);
        if (segment && __atomic_load_n(&segment->joined, __ATOMIC_ACQUIRE) >= joined) return segment;
        if (segment) munmap(segment, sizeof *segment);
    }
    return NULL;
}

void ranks_await_count(const struct rank_run *run, const unsigned *counter, unsigned count) {
    const double end = run->began + limit_of(run);
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < count && rank_now() < end && !one_has_failed(run)) rank_sleep(1e-3);
}

void ranks_await_ends(const struct rank_run *run, const bool *but) {
    const double end = run->began + limit_of(run);
    for (int rank = 0; rank < run->ranks.count; rank++)
        while (!but[rank] && end_of(run, rank) == RANK_RUNS && rank_now() < end && !one_has_failed(run)) rank_sleep(1e-3);
}

static void kill_all(struct rank_run *run) {
    for (int i = 0; i < run->processes; i++)
        if (run->descriptor[i] >= 0) {
            kill(run->process[i], SIGKILL);
            collect(run, i);
            run->ended_with[i] = STILL_RAN;
        }
}

static void add_text(struct rank_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(struct rank_run *run, const char *format, ...) {
    size_t length = strlen(run->text);
    va_list list;
    va_start(list, format);
    vsnprintf(run->text + length, sizeof run->text - length, format, list);
    va_end(list);
}

/* The reason why a rank failed. */
static void judge(struct rank_run *run, int rank, bool may_die, double limit) {
    const struct rank_result *result = &run->results[rank];
    int status = run->ended_with[process_of(run, rank)];
    switch (end_of(run, rank)) {
    case RANK_RETURNED:
        if (result->seconds >= RANK_LIMIT && !run->ranks.limit)
            add_text(run, "%s rank %d of %d took %g s: no limit may end\n", rank_kind_name(run->ranks.kind), rank, run->ranks.count,
                     result->seconds);
        return;
    case RANK_FAILED:
        add_text(run, "%s rank %d of %d: %s\n", rank_kind_name(run->ranks.kind), rank, run->ranks.count, result->failure);
        return;
    default:
        if (may_die && status != STILL_RAN && WIFSIGNALED(status)) return;
        add_text(run, "%s rank %d of %d: ", rank_kind_name(run->ranks.kind), rank, run->ranks.count);
        if (status == STILL_RAN)
            add_text(run, "still ran after %g s\n", limit);
        else if (WIFSIGNALED(status))
            add_text(run, "ended by signal %d\n", WTERMSIG(status));
        else
            add_text(run, "ended with exit status %d\n", WEXITSTATUS(status));
    }
}

const char *ranks_wait(struct rank_run *run, const bool *may_die) {
    double end = run->began + limit_of(run), expired = 0;
    while (collect_some(run, 50)) {
        double now = rank_now();
        if ((one_has_failed(run) || one_has_died(run, may_die)) && end > now + GRACE) end = now + GRACE;
        if (now < end) continue;
        expired = now - run->began;
        kill_all(run);
    }
    run->text[0] = 0;
    for (int rank = 0; rank < run->ranks.count; rank++) judge(run, rank, may_die && may_die[rank], expired);
    return run->text[0] ? run->text : NULL;
}

void ranks_close(struct rank_run *run) {
    kill_all(run);
    if (run->ranks.carrier) carrier_net_close(&run->net);
    munmap(run->results, run->bytes);
    free(run);
}

/* The failures of one run; NULL: none. */
static const char *run_once(const struct ranks *ranks) {
    static char text[sizeof ((struct rank_run *)NULL)->text];
    struct rank_run *run = ranks_start(ranks);
    bool may_die[MOST_RUN_RANKS] = {false};
    for (int rank = 0; rank < 64; rank++) may_die[rank] = ranks->may_die >> rank & 1;
    bool good = !ranks_wait(run, may_die);
    for (int rank = 0; rank < ranks->count && good; rank++)
        if (run->results[rank].status != QUERN_OK)
            add_text(run, "%s rank %d of %d returned %s: %s\n", rank_kind_name(ranks->kind), rank, ranks->count,
                     quern_status_string(run->results[rank].status), run->results[rank].detail);
    memcpy(text, run->text, sizeof text);
    ranks_close(run);
    return text[0] ? text : NULL;
}

const char *ranks_run(const struct ranks *ranks) {
    static char text[sizeof ((struct rank_run *)NULL)->text + 32];
    struct ranks one = *ranks;
    for (size_t user = 0; !user || user < ranks->users; user++)
        for (one.kind = RANK_THREADS; one.kind < RANK_BOTH; one.kind++) {
            const bool is_one_of_both = ranks->kind == RANK_BOTH && one.kind != RANK_UNREADABLE;
            if (ranks->kind != one.kind && ranks->kind != RANK_ALL && !is_one_of_both) continue;
            if (ranks->users) one.user = (const char *)ranks->user + user * ranks->user_bytes;
            const char *wrong = run_once(&one);
            if (!wrong) continue;
            if (!ranks->users) return wrong;
            snprintf(text, sizeof text, "user %zu: %s", user, wrong);
            return text;
        }
    return NULL;
}
