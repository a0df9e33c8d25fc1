/*
 * Barriers, collectives and ragged all-to-alls over the stand-in for NCCL in which NCCL, the driver or a rank fails: every rank
 * gets the reason, and none waits longer than its limit.
 *
 * Runs on: one emulated.
 */
#include "harness/check.h"
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/ragged_case.h"

enum call { REDUCE, GATHER, EXCHANGE, REDUCE_OF_TWO, BARRIER, BARRIER_OF_TWO };

/* An all-reduce of so many elements by 3 ranks is two groups of NCCL. */
enum { SHARED = 140000 };

/* The input lies otherwise towards a vector than the output, so that a rank copies its own. */
static quern_status make_call(const struct rank_bench *bench, enum call which, double limit) {
    static const int pair[] = {0, 1};
    unsigned char *input = bench->pool[0] + 4, *output = bench->pool[1];
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    struct rank_exchange exchange;
    const bool is_of_two = which == REDUCE_OF_TWO || which == BARRIER_OF_TWO;
    quern_barrier_args barrier = BARRIER_ARGS(.timeout = limit);
    if (is_of_two) barrier.members = pair, barrier.member_count = 2;
    if (which >= BARRIER) return quern_barrier(bench->group, &barrier, bench->stream);
    args.dtype = QUERN_F32, args.count = SHARED, args.input = input, args.output = output, args.timeout = limit;
    if (is_of_two) args.members = pair, args.member_count = 2;
    if (which != EXCHANGE)
        return collective_call(bench, which == GATHER ? COLLECTIVE_ALL_GATHER : COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL);
    rank_exchange_args(bench->rank, &exchange, input, output, 1, 8);
    exchange.args.timeout = limit;
    return ragged_call(bench, &exchange.args, 0);
}

/* ---- one failure, and what all ranks get ---- */

struct failure {
    const char *settings;    /* of the stand-in */
    enum call call, of_rank_1;
    quern_status status;
    const char *detail;
    enum { CALLS, ENDS, ABORTS, LEAVES, IS_LATE } rank_1;
    double limit;            /* 0: that of the group */
    const char *more;        /* of the detail; NULL: nothing */
};

static quern_status meet_failure(struct rank *rank) {
    const struct failure *failure = rank->user;
    const bool is_1 = rank->rank == 1;
    struct rank_bench bench;
    quern_status status = QUERN_OK;
    uint64_t missing;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    if (failure->call == BARRIER) rank_ok(rank, quern_barrier(bench.group, NULL, bench.stream));
    rank_bench_wait(&bench);
    rank_line_up(rank);
    const double began = rank_now();
    if (is_1 && failure->rank_1 == ENDS) kill(getpid(), SIGKILL);
    if (is_1 && failure->rank_1 == LEAVES) return rank_bench_destroy(&bench);
    if (is_1 && failure->rank_1 == ABORTS) rank_ok(rank, quern_group_abort(bench.group, "the test's reason"));
    else if (!is_1 || failure->rank_1 != IS_LATE)
        status = make_call(&bench, is_1 ? failure->of_rank_1 : failure->call, failure->limit);
    if (status == QUERN_OK) status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, failure->status, failure->detail);
    if (failure->more) rank_check_detail(rank, failure->more);
    rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    rank_bench_wait(&bench);
    rank_status(rank, quern_barrier(bench.group, NULL, bench.stream), failure->status);
    rank_ok(rank, quern_group_missing(bench.group, &missing, 1));
    rank_check(rank, failure->rank_1 != IS_LATE || is_1 || missing == 2, "missing is %llx", (unsigned long long)missing);
    if (failure->rank_1 == IS_LATE) rank_line_up(rank);  /* who has left is missing too */
    return rank_bench_destroy(&bench);
}

/* A test of a table of failures. */
#define TEST_FAILURES(suite, name, hosts_, ...) \
    Test(suite, name) { \
        static const struct failure failures[] = {__VA_ARGS__}; \
        for (size_t i = 0; i < COUNT(failures); i++) \
            check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = hosts_, .function = meet_failure, .user = &failures[i], \
                        .nccl = failures[i].settings, .may_die = failures[i].rank_1 == ENDS ? 1 << 1 : 0); \
    }

#define HANGS(settings, call) {settings, call, call, QUERN_PEER_TIMEOUT, "an operation of NCCL", .limit = 4}
#define FAILS(settings, call) \
    {settings, call, call, QUERN_PEER_LOST, "rank 2: an operation of NCCL: remote process exited", .limit = 0}
#define GROUP_FAILS(settings, call) \
    {settings, call, call, QUERN_CUDA_ERROR, "rank 0: ncclGroupEnd: internal error", .limit = 0}

TEST_FAILURES(nccl_failures, operations_and_groups, 2,
    HANGS("run:hang@1#1", REDUCE),   FAILS("run:fail=6@2#2", REDUCE), GROUP_FAILS("group:fail=3@0", REDUCE),
    HANGS("run:hang@1#2", REDUCE),   GROUP_FAILS("group:fail=3@0#2", REDUCE),
    HANGS("run:hang@1", GATHER),     FAILS("run:fail=6@2", GATHER),   GROUP_FAILS("group:fail=3@0", GATHER),
    HANGS("run:hang@1", EXCHANGE),   FAILS("run:fail=6@2", EXCHANGE), GROUP_FAILS("group:fail=3@0", EXCHANGE),
    HANGS("run:hang@1#2", BARRIER),  FAILS("run:fail=6@2#2", BARRIER), GROUP_FAILS("group:fail=3@0#2", BARRIER),
    {"group:hang@1#2", BARRIER, BARRIER, QUERN_PEER_TIMEOUT, "ncclGroupEnd", .limit = 4},
    {"run:hang@1#2", BARRIER, BARRIER, QUERN_PEER_TIMEOUT, "no rank is known to be behind", .limit = 4},
    {"run:fail=3@0#2", BARRIER, BARRIER, QUERN_CUDA_ERROR, "rank 0: an operation of NCCL: internal error", .limit = 0},
    {"group:fail=1@2#2", BARRIER, BARRIER, QUERN_CUDA_ERROR, "rank 2: ncclGroupEnd: unhandled cuda error", .limit = 0})

/* What other calls do in NCCL is to hang.  It waits for all at the end of a rank, and the library for a second. */
TEST_FAILURES(nccl_failures, rank_1_makes_no_call_or_another_one, 2,
    {"", REDUCE, REDUCE, QUERN_GROUP_ABORTED, "rank 1 has aborted the group: the test's reason", .rank_1 = ABORTS},
    {"", REDUCE, GATHER, QUERN_PEER_MISMATCH, "rank", .limit = 0},
    {"", REDUCE, REDUCE_OF_TWO, QUERN_PEER_MISMATCH, "rank", .limit = 0},
    {"", BARRIER, BARRIER, QUERN_GROUP_ABORTED, "rank 1 has aborted the group: the test's reason", .rank_1 = ABORTS},
    {"", BARRIER, BARRIER, QUERN_PEER_LOST, "rank 1 (process", .rank_1 = LEAVES, .more = "has destroyed its group"},
    {"", BARRIER, BARRIER, QUERN_PEER_TIMEOUT, "rank 1 (process", .rank_1 = IS_LATE, .limit = 4, .more = "waited "},
    {"run:hang#2", BARRIER, BARRIER_OF_TWO, QUERN_PEER_MISMATCH, "last in quern_barrier)", .limit = 4, .more = "waited "})

TEST_FAILURES(nccl_failures, a_process_that_is_killed, 3,
    {"", REDUCE, REDUCE, QUERN_PEER_LOST, "rank 1 (process", .rank_1 = ENDS},
    {"", GATHER, GATHER, QUERN_PEER_LOST, "rank 1 (process", .rank_1 = ENDS},
    {"", EXCHANGE, EXCHANGE, QUERN_PEER_LOST, "rank 1 (process", .rank_1 = ENDS},
    {"", BARRIER, BARRIER, QUERN_PEER_LOST, "rank 1 (process", .rank_1 = ENDS, .more = "ended"})

/* ---- the driver ---- */

/* Whether the thread's detail says which call of the driver has failed on rank 1, after all had agreed. */
static bool was_told(void) {
    char detail[256];
    quern_error_detail(detail, sizeof detail);
    return strstr(detail, "rank 1 has entered a call over NCCL and cannot go on: c");
}

static const struct waiting {
    enum call call;
    bool captures;
} waiting[] = {{REDUCE, false}, {GATHER, false}, {REDUCE, true}};

/* Every call of the driver that rank 1 makes fails once, each in a group of its own: no rank waits for the limit. */
TEST_BODY(nccl_failures, calls_of_the_driver, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, RANKS_EACH(waiting), .nccl = "") {
    enum { OUT_OF_MEMORY = 2, LEAST_CALLS = 12, MOST_CALLS = 80 };
    const struct waiting *waits = rank->user;
    _Atomic int *is_over = rank->shared;
    int told = 0;
    for (int number = 1; !*is_over; number++) {
        struct rank_bench bench;
        rank_check(rank, number < MOST_CALLS, "%d calls of the driver", number);
        rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
        if (waits->captures) nccl_begin_capture(&bench.side);
        rank_line_up(rank);
        if (rank->rank == 1) cuda_fail_call(number, OUT_OF_MEMORY);
        quern_status status = make_call(&bench, waits->call, RANK_LIMIT);
        if (rank->rank == 1) *is_over = status == QUERN_OK;
        cuda_fail_call(0, 0);
        if (waits->captures) nccl_drop_capture(&bench.side);
        rank_line_up(rank);
        if (status == QUERN_OK && !*is_over) status = nccl_await_status(&bench.side, RANK_SOON);
        told += status != QUERN_OK && was_told();
        rank_check(rank, *is_over || (status != QUERN_OK && status != QUERN_PEER_TIMEOUT), "call %d of the driver: status %d",
                   number, (int)status);
        rank_bench_wait(&bench);
        rank_check(rank, number > LEAST_CALLS || !*is_over, "%d calls of the driver", number);
        rank_line_up(rank);
        const quern_status closed = rank_bench_destroy(&bench);
        rank_check(rank, closed != QUERN_INVALID_ARGUMENT, "call %d of the driver: graphs still have calls", number);
        if (*is_over) rank_ok(rank, closed);
    }
    rank_check(rank, rank->rank == 1 || told > 3, "told %d times", told);
}
