/*
 * Several ranks at once: the threads of one process, or one process each.  Both kinds run in processes apart from the test that can
 * be killed, so a hang becomes a failure after a limit and never stops the runner.  One function serves both kinds: it shares with
 * the other ranks and the test only the memory that it is given.
 *
 *   static quern_status meet(struct rank *rank) {
 *       quern_group *group = rank_group(rank, 5);
 *       rank_ok(rank, quern_barrier(group, NULL, NULL));
 *       return quern_group_destroy(group);
 *   }
 *
 *   check_ranks(.kind = RANK_PROCESSES, .count = 4, .function = meet);
 *
 * A test that is one such run is TEST_RANKS with the function's body, or TEST_GROUP if it is in a group whose limit does not end:
 *
 *   TEST_GROUP(barrier, is_met, .kind = RANK_PROCESSES, .count = 4) { rank_ok(rank, quern_barrier(group, NULL, NULL)); }
 *
 * Only these need Criterion.  Ranks that still run when a test ends are killed with it.
 */
#ifndef HARNESS_RANKS_H
#define HARNESS_RANKS_H

#include <setjmp.h>
#include <sys/types.h>

#include "harness/args.h"
#include "harness/carrier.h"
#include "harness/meeting_place.h"
#include "harness/standard.h"
#include "quern.h"

struct quern_segment;

enum { MOST_RUN_RANKS = 1024 };

/* The last three are of a run only: processes that the system does not let read each other's memory; threads and processes, one
 * after the other; all of them. */
enum rank_kind { RANK_THREADS, RANK_PROCESSES, RANK_UNREADABLE, RANK_BOTH, RANK_ALL };

static const enum rank_kind rank_kinds[] = {RANK_THREADS, RANK_PROCESSES};

const char *rank_kind_name(enum rank_kind kind);

/* ---- inside a rank ---- */

struct rank {
    int rank, ranks;
    enum rank_kind kind;
    const char *name;        /* the name under which these ranks meet; unique */
    int hosts;               /* that these ranks are of; 0: one, and nothing of hosts is set */
    const char *meet;        /* where the hosts meet */
    const char *transports;        /* between them, if the environment asks for others (QUERN_TEST_WAYS) */
    struct carrier_end *carrier;  /* between them; NULL: none */
    quern_device *device;    /* the rank's own: a CPU */
    void *shared;            /* memory that all ranks and the test see, zeroed at the start */
    const void *user;        /* what the test has passed; in processes of their own, a copy */
    struct rank_result *result;
    bool on_gpu;             /* of hosts: with a GPU of its own, which rank_bench_open opens ... */
    bool wants_multicast;    /* as below */
    bool has_fabric;         /* ... and which is of one fabric with the others, so that there is symmetric memory */
    unsigned operations;     /* prepared there */
    bool shares_thread;      /* of a group of GPUs of one host whose ranks one thread drives (gpu_bench.h) */
    bool is_unreadable;      /* RANK_UNREADABLE */
    bool watches_heartbeat;    /* as below */
    bool progress;             /* as below */
    unsigned lined_up;       /* times */
    unsigned *arrivals;      /* of all ranks at the line */
    jmp_buf end;
};

/* Whether it is of GPUs whose kernels reach each other's memory: of one host, or of hosts with one fabric; or goes over NCCL. */
static inline bool rank_reaches(const struct rank *rank) { return rank->shares_thread || rank->has_fabric; }
static inline bool rank_is_over_nccl(const struct rank *rank) { return rank->on_gpu && !rank->has_fabric; }

/* Ends the rank and the run as failed unless the condition holds; a printf format gives the reason. */
#define rank_check(rank, condition, ...) do { if (!(condition)) rank_fail(rank, __VA_ARGS__); } while (0)
void rank_fail(struct rank *rank, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* The same unless the call returns the status; the reason includes the library's detail. */
#define rank_status(rank, call, expected) rank_check_status(rank, call, expected, #call, __LINE__)
#define rank_ok(rank, call) rank_status(rank, call, QUERN_OK)
void rank_check_status(struct rank *rank, quern_status status, quern_status expected, const char *call, int line);

/* The same unless the calling thread's error detail contains this text, or is it: # stands for a number, @ for the rank's group. */
void rank_check_detail(struct rank *rank, const char *text);
void rank_check_whole_detail(struct rank *rank, const char *text);

/* The same unless the group's report contains the text. */
void rank_check_report(struct rank *rank, const quern_group *group, const char *text);

/* The call returns the status, with such a detail. */
#define rank_refused(rank, call, expected, text) do { rank_status(rank, call, expected); rank_check_detail(rank, text); } while (0)

/* From here on the system refuses that this process reads the memory of others. */
void rank_refuse_reads(struct rank *rank);

/* The file of the group's memory, which this process has open. */
int rank_segment_file(struct rank *rank);

/* Symmetric memory of one rank, its place at a peer, and the handle's membership. */
struct quern_membership;
char *rank_allocate(struct rank *rank, quern_group *group, size_t bytes);
char *rank_peer_of(struct rank *rank, quern_group *group, const void *pointer, int peer);
/*
 * An exchange of rows: each rank sends as many to each, in order.  It is made, or opened with a workspace of its own, and set anew
 * for other counts than those it was made for.
 */
struct rank_exchange {
    quern_ragged_all_to_all_args args;
    int32_t from[QUERN_MAX_RANKS], sizes[QUERN_MAX_RANKS], to[QUERN_MAX_RANKS];
    void *workspace;
    size_t bytes;
};
void rank_exchange_set(const struct rank *rank, struct rank_exchange *exchange, int32_t rows);
void rank_exchange_args(const struct rank *rank, struct rank_exchange *exchange, const void *input, void *output, int32_t rows,
                        int64_t row_bytes);
quern_status rank_exchange_open(struct rank *rank, quern_group *group, struct rank_exchange *exchange, const void *input,
                                void *output, int32_t rows, int64_t row_bytes);
quern_status rank_exchange_run(quern_group *group, const struct rank_exchange *exchange);
/* One exchange with any arguments, in a workspace of its own. */
void rank_exchange_once(struct rank *rank, quern_group *group, const quern_ragged_all_to_all_args *args);
struct quern_membership *rank_member_of(struct rank *rank, const quern_group *group);
int rank_descriptors(void);

/* One rank's arguments were refused: it has the status, the others are told, and all details contain the words. */
void rank_check_refusal(struct rank *rank, int culprit, quern_status status, const char *words, quern_status found);

/* The group of all these ranks, with a limit in seconds; the rank fails if it cannot be created. */
quern_group *rank_group(struct rank *rank, double timeout);
quern_group_args rank_group_args(const struct rank *rank, double timeout);

/* A group with such arguments; or none, with such a status and detail. */
quern_group *rank_create(struct rank *rank, const quern_group_args *args);
void rank_refuse_group(struct rank *rank, const quern_group_args *args, quern_status status, const char *text);

/* Those for several hosts that it made, which the test may change.  The next call on the same thread makes them anew. */
quern_hosts_args *rank_hosts_args(quern_group_args *args);

/*
 * The same group when all ranks have left a barrier, so that no end of the group overtakes that.  The limit holds from then on:
 * until then it is RANK_LIMIT.
 */
quern_group *rank_group_met(struct rank *rank, double timeout);
int rank_host(const struct rank *rank, int of);  /* the number of a rank's host: each has as many ranks in order, or one more */

/* The function of two ranks of this process, which are twice as many: this one, and another one in a thread. */
quern_status rank_be_two(struct rank *rank, quern_status (*function)(struct rank *rank));

/* Waits until every rank has made the same number of these calls; does not use the library. */
void rank_line_up(struct rank *rank);

double rank_now(void);              /* seconds */

/*
 * Seconds that suffice, on a machine as busy as can be, for what waits for no limit.  A group that must not end by its limit in a
 * test has RANK_LIMIT.  Only what hangs takes so long, and a run in which a rank does has failed, unless it has a limit of its own.
 */
static const double RANK_SOON = 300, RANK_LIMIT = 400;

/* Writes these bytes to a file, which is opened with further flags of open.  False: it cannot. */
bool write_file(int flags, const char *path, const void *bytes, size_t count);

int count_entries(const char *folder);  /* of /proc/self/fd for instance: a number for each descriptor, and two more */

/*
 * The same when there are as many as expected, or when RANK_LIMIT has ended: a thread that was joined is seen there for a moment.
 */
int count_settled(const char *folder, int expected);

int count_mappings(const char *text);  /* of this process, that have the text in their line of /proc/self/maps */
void rank_sleep(double seconds);

/* Ends a process that a test has forked: a program that counts what it executes keeps its counts. */
void rank_end_process(int status) __attribute__((noreturn));

/* ---- outside ---- */

typedef quern_status rank_function(struct rank *rank);
typedef void rank_body(struct rank *rank);
typedef void rank_in_group(struct rank *rank, quern_group *group);

struct ranks {
    enum rank_kind kind;
    int count;
    rank_function *function;
    rank_body *body;         /* in place of a function: has succeeded if no check fails */
    rank_in_group *in_group; /* likewise, in the group of all, whose limit does not end, and which then ends */
    bool met;                /* that group when all have left a barrier: rank_group_met */
    const void *user;
    int hosts;               /* 2 or more: these ranks are of so many hosts, which are names at addresses of this machine */
    const struct carrier_choice *carrier;  /* with hosts: the carrier of all ranks; NULL: that of the environment, if any */
    const char *nccl;        /* GPU ranks: as nccl_set_machine has it */
    const char *fabric;      /* with nccl: the clique of all GPUs, which then need no NCCL; NULL: they have no fabric */
    unsigned operations;     /* prepared on GPUs; 0: all of ranks */
    bool wants_multicast;    /* the groups of GPU ranks ask for it */
    bool within_host;        /* of ways: none between hosts, but for GPUs with a fabric, ... */
    bool over_nccl;          /* ... and over NCCL if this is set, too */
    size_t shared_bytes;     /* 0: 128 KiB */
    bool watches_heartbeat;    /* a host that says nothing for 4.5 s is lost; else it has a minute, since threads wait for cores */
    bool progress;           /* threads of the library move transfers; so they do if QUERN_TEST_PROGRESS is set */
    double limit;            /* seconds until the remaining ranks are killed and count as failed; 0: 500 */
    size_t users, user_bytes;  /* as RANKS_EACH sets them: a run for each element of a table, which is its user */
    uint64_t may_die;        /* a bit for each rank that may be killed from outside */
};

#define RANKS_EACH(table) .user = (table), .users = sizeof(table) / sizeof *(table), .user_bytes = sizeof *(table)

enum rank_end {
    RANK_RUNS,               /* not ended; after the wait: killed because it did not end */
    RANK_RETURNED,
    RANK_FAILED,             /* a check of the rank itself failed */
};

enum { RANK_TEXT_BYTES = 1024 };

struct rank_result {
    int end;                        /* enum rank_end; atomic */
    quern_status status;            /* what the function returned, ... */
    char detail[RANK_TEXT_BYTES];   /* ... and the detail of that thread's last failed call */
    char failure[RANK_TEXT_BYTES];  /* FAILED: which check */
    double seconds;                 /* how long the function ran */
};

struct rank_run;

/* An emulated machine with NCCL_GPUS and the settings of the stand-in (tests/nccl), for ranks started then. */
enum { NCCL_GPUS = 8 };
void nccl_set_machine(const char *settings);

/* Starts the ranks; ends the program if it cannot. */
struct rank_run *ranks_start(const struct ranks *ranks);

const char *ranks_name(const struct rank_run *run);
const char *ranks_meet(const struct rank_run *run);
void *ranks_shared(const struct rank_run *run);
pid_t ranks_process(const struct rank_run *run, int rank);
const struct rank_result *ranks_result(const struct rank_run *run, int rank);

/* Whether all ranks' processes have ended; does not wait. */
bool ranks_have_ended(struct rank_run *run);

/* Wait, within the limit of the run, until a counter has come so far; until the functions of all ranks but some have ended. */
void ranks_await_count(const struct rank_run *run, const unsigned *counter, unsigned count);
void ranks_await_ends(const struct rank_run *run, const bool *but);

/*
 * Waits until all ranks have ended.  If a rank fails, the others are ended after two seconds.  Returns NULL if every function
 * returned, else the failures by rank; with `may_die` a process that was killed from outside is not a failure.  The text is valid
 * until the next call.
 */
const char *ranks_wait(struct rank_run *run, const bool *may_die);
void ranks_close(struct rank_run *run);

/* Starts and waits, for each kind and each user: NULL if every rank's function returned QUERN_OK, else the failures of a run. */
const char *ranks_run(const struct ranks *ranks);

/*
 * The memory of a group that is being formed in this file (rank_meeting_place), when so many ranks have come there.  NULL: they
 * have not within RANK_LIMIT.  The caller unmaps its bytes.
 */
struct quern_segment *ranks_find_forming(const char *path, unsigned joined);

#define check_ranks(...) do { \
        const char *ranks_wrong = ranks_run(&(struct ranks){__VA_ARGS__}); \
        if (ranks_wrong) cr_assert_fail("%s", ranks_wrong); \
    } while (0)

/* The loop is over runs: for (int ranks = 2; ranks < 5; ranks++), for instance. */
#define TEST_RANKS_FOR(suite, name, loop, ...) \
    static quern_status suite##_##name##_of_rank(struct rank *rank); \
    Test(suite, name) { loop check_ranks(.function = suite##_##name##_of_rank, __VA_ARGS__); } \
    static quern_status suite##_##name##_of_rank(struct rank *rank)
#define TEST_RANKS(suite, name, ...) TEST_RANKS_FOR(suite, name, , __VA_ARGS__)

/* The same whose body returns nothing. */
#define TEST_BODY_FOR(suite, name, loop, ...) \
    static rank_body suite##_##name##_of_rank; \
    Test(suite, name) { loop check_ranks(.body = suite##_##name##_of_rank, __VA_ARGS__); } \
    static void suite##_##name##_of_rank(struct rank *rank)
#define TEST_BODY(suite, name, ...) TEST_BODY_FOR(suite, name, , __VA_ARGS__)

/* The same with a thing that each rank opens first and closes at the end: the body has its address. */
#define TEST_WITH_FOR(type, thing, open, close, suite, name, loop, ...) \
    static void suite##_##name##_with(struct rank *rank, type *thing); \
    TEST_BODY_FOR(suite, name, loop, __VA_ARGS__) { \
        type thing; \
        open(rank, &thing); \
        suite##_##name##_with(rank, &thing); \
        close(rank, &thing); \
    } \
    static void suite##_##name##_with(UNUSED struct rank *rank, type *thing)
#define TEST_WITH(type, thing, open, close, suite, name, ...) \
    TEST_WITH_FOR(type, thing, open, close, suite, name, , __VA_ARGS__)

#define TEST_GROUP_FOR(suite, name, loop, ...) \
    static rank_in_group suite##_##name##_in_group; \
    Test(suite, name) { loop check_ranks(.in_group = suite##_##name##_in_group, __VA_ARGS__); } \
    static void suite##_##name##_in_group(struct rank *rank, quern_group *group)
#define TEST_GROUP(suite, name, ...) TEST_GROUP_FOR(suite, name, , __VA_ARGS__)

#endif
