/*
 * Collectives of GPU ranks of several hosts, over the stand-in for NCCL: the bits of every result, whatever way the inputs go, the
 * workspace, what is refused, and what happens if NCCL, the driver or a rank fails.
 *
 * Runs on: one emulated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/nccl_side.h"

enum { GUARD = 192, MOST_WORKSPACE = 32 << 20 };

/* As a struct collective_choice has them. */
enum { ALL_REDUCE = 1 + COLLECTIVE_ALL_REDUCE, REDUCE_SCATTER = 1 + COLLECTIVE_REDUCE_SCATTER };

static void check_kind(enum rank_kind kind, int hosts, int ranks, rank_function *function, const void *user, const char *settings) {
    nccl_set_machine(settings);
    check_ranks(.kind = kind, .count = ranks, .hosts = hosts, .function = function, .user = user, .shared_bytes = 64);
}

static void check_on(int hosts, int ranks, rank_function *function, const void *user, const char *settings) {
    check_kind(RANK_PROCESSES, hosts, ranks, function, user, settings);
}

/* ---- memory: the host can read and write that of an emulated device while nothing runs ---- */

struct bench {
    struct nccl_side side;
    struct rank_bench memory;
    int64_t workspace_bytes;
};

static unsigned char *allocate_on_host(int64_t bytes) {
    unsigned char *memory = calloc(1, (size_t)bytes);
    if (!memory) abort();
    return memory;
}

static void open_bench(struct bench *bench, struct rank *rank, int64_t pool_bytes, int64_t workspace_bytes) {
    nccl_open(&bench->side, rank, RANK_LIMIT);
    rank_ok(rank, quern_prepare(bench->side.device, QUERN_COLLECTIVE));
    bench->workspace_bytes = workspace_bytes;
    bench->memory = (struct rank_bench){.rank = rank, .group = bench->side.group, .pool_bytes = pool_bytes};
    for (int pool = 0; pool < POOLS; pool++) {
        bench->memory.pool[pool] = nccl_allocate(&bench->side, pool_bytes);
        bench->memory.expected[pool] = allocate_on_host(pool_bytes);
    }
    bench->memory.workspace = nccl_allocate(&bench->side, workspace_bytes + GUARD);
}

static quern_status close_bench(struct bench *bench) {
    for (int pool = 0; pool < POOLS; pool++) {
        nccl_release(&bench->side, bench->memory.pool[pool]);
        free(bench->memory.expected[pool]);
    }
    nccl_release(&bench->side, bench->memory.workspace);
    return nccl_close(&bench->side);
}

static void open_usual_bench(struct rank *rank, struct bench *bench) { open_bench(bench, rank, 4 << 20, 8 << 20); }
static void close_usual_bench(struct rank *rank, struct bench *bench) { rank_ok(rank, close_bench(bench)); }
#define TEST_BENCH(...) TEST_WITH(struct bench, bench, open_usual_bench, close_usual_bench, __VA_ARGS__)

/* ---- the bits ---- */

/* The workspace of the call ends at `end`, before bytes that stay as they are. */
static size_t prepare_workspace(struct bench *bench, const quern_collective_args *args, unsigned char **end) {
    size_t bytes = 0;
    struct rank *rank = bench->side.rank;
    rank_ok(rank, quern_collective_workspace(bench->side.group, args, &bytes));
    rank_check(rank, (int64_t)bytes <= bench->workspace_bytes, "a workspace of %zu bytes", bytes);
    *end = (unsigned char *)bench->memory.workspace + bytes;
    memset(bench->memory.workspace, 0xA5, bytes + GUARD);
    return bytes;
}

/* Ranks of one process touch their memory only while no kernel of another one runs. */
static void run_as_member(struct bench *bench, const struct collective_case *c, int place) {
    struct rank *rank = bench->side.rank;
    int members[COLLECTIVE_MAX_MEMBERS];
    unsigned char *end;
    collective_case_fill(c, &bench->memory, place);
    const quern_collective_args args = collective_case_args(c, &bench->memory, place, members);
    const size_t bytes = prepare_workspace(bench, &args, &end);
    rank_line_up(rank);
    rank_ok(rank, collective_functions[c->operation](bench->side.group, &args, bench->memory.workspace, bytes, bench->side.stream));
    cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
    rank_line_up(rank);
    collective_case_compare(c, &bench->memory);
    for (int i = 0; i < GUARD; i++) rank_check(rank, end[i] == 0xA5, "byte %d behind the workspace was written", i);
}

static void run_case(struct bench *bench, const struct collective_case *c) {
    const int place = collective_case_place(c, bench->side.rank->rank);
    if (place >= 0) {
        run_as_member(bench, c, place);
    } else {
        rank_line_up(bench->side.rank);
        rank_line_up(bench->side.rank);
    }
}

struct batch {
    uint64_t first;
    int cases;
    int64_t pool_bytes, workspace_bytes;
    struct collective_choice choice;
};

static quern_status run_batch(struct rank *rank) {
    const struct batch *batch = rank->user;
    struct bench bench;
    open_bench(&bench, rank, batch->pool_bytes, batch->workspace_bytes);
    for (int i = 0; i < batch->cases; i++) {
        struct collective_case c;
        struct collective_choice choice = batch->choice;
        choice.ranks = rank->ranks;
        collective_case_open(&c, batch->first + (uint64_t)i, choice);
        run_case(&bench, &c);
    }
    return close_bench(&bench);
}

/*
 * All four operations by all ranks and by some, odd counts, none, buffers aligned as their elements only, in place and not, f32,
 * f16 and bf16, sums and maxima, NaN.
 */
Test(nccl_collective, random_cases) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}, {2, 8}, {4, 8}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const struct batch batch = {1000 * i, (int)test_size(400, 100), 1 << 20, 1 << 20, {.operation = 0}};
        for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
            check_kind(rank_kinds[kind], shapes[i][0], shapes[i][1], run_batch, &batch, "");
    }
}

Test(nccl_collective, delays_of_nccl_change_nothing) {
    const struct batch batch = {7000, 20, 1 << 20, 1 << 20, {.operation = 0}};
    check_on(2, 4, run_batch, &batch, "group:delay=3,run:delay=5@1,linger=50");
}

/* On both sides of the size from which the ranks share the work of an all-reduce: 512 KiB / (ranks - 2). */
Test(nccl_collective, one_group_and_two) {
    static const struct {
        int hosts, ranks;
        int64_t elements;
        quern_dtype dtype;
    } rows[] = {{3, 3, 131072, QUERN_F32}, {3, 3, 131073, QUERN_F32}, {2, 4, 131073, QUERN_BF16}, {2, 4, 140001, QUERN_F16},
                {2, 8, 21845, QUERN_F32},  {2, 8, 21846, QUERN_F32},  {2, 8, 43733, QUERN_BF16}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct batch batch = {100 * i, 3, 4 << 20, 8 << 20,
                                    {.everyone = true, .operation = ALL_REDUCE, .dtype = rows[i].dtype,
                                     .elements = rows[i].elements}};
        check_on(rows[i].hosts, rows[i].ranks, run_batch, &batch, "");
    }
}

/* More than a workspace holds: several pieces, of which the last one is odd. */
Test(nccl_collective, more_than_a_workspace) {
    static const struct {
        int hosts, ranks, operation;
        int64_t bytes;       /* of `count` elements */
        bool in_place;
    } rows[] = {{2, 2, REDUCE_SCATTER, MOST_WORKSPACE / 2 + 20, true}, {2, 2, ALL_REDUCE, MOST_WORKSPACE / 2 + 20, false},
                {3, 3, ALL_REDUCE, MOST_WORKSPACE + 20, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const int64_t whole = rows[i].bytes * (rows[i].operation == REDUCE_SCATTER ? rows[i].ranks : 1);
        const struct batch batch = {900 + i, 1, whole * (rows[i].in_place ? 1 : 2) + 4096, MOST_WORKSPACE,
                                    {.everyone = true, .operation = rows[i].operation, .dtype = QUERN_F32,
                                     .elements = rows[i].bytes / 4, .in_place = rows[i].in_place,
                                     .not_in_place = !rows[i].in_place, .is_private = true}};
        check_on(rows[i].hosts, rows[i].ranks, run_batch, &batch, "");
    }
}

/* Two calls with one workspace, on two streams that only the library orders. */
TEST_BENCH(nccl_collective, streams_follow_each_other, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "run:delay=30") {
    enum { ELEMENTS = 3001 };
    CUstream other;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    size_t bytes;
    cuda_ok(&bench->side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    float *input = (float *)(void *)bench->memory.pool[0], *first = (float *)(void *)bench->memory.pool[1];
    float *second = first + ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i + rank->rank);
    args.dtype = QUERN_F32, args.count = ELEMENTS, args.input = input, args.output = first;
    rank_ok(rank, quern_collective_workspace(bench->side.group, &args, &bytes));
    rank_ok(rank, quern_all_reduce(bench->side.group, &args, bench->memory.workspace, bytes, bench->side.stream));
    args.input = first, args.output = second;
    rank_ok(rank, quern_all_reduce(bench->side.group, &args, bench->memory.workspace, bytes, other));
    cuda_ok(&bench->side, stream_synchronize(other));
    for (int i = 0; i < ELEMENTS; i++)
        rank_check(rank, second[i] == (float)(9 * i + 9), "element %d is %g instead of %d", i, (double)second[i], 9 * i + 9);
    cuda_ok(&bench->side, stream_destroy(other));
}

/* Two pairs of ranks of two hosts, of which one makes more calls than the other; then all meet in one. */
TEST_BENCH(nccl_collective, some_members_beside_others, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, .nccl = "") {
    struct collective_case c;
    const int first = rank->rank % 2, pair[] = {first, first + 2};
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    float *input = (float *)(void *)bench->memory.pool[0], *output = (float *)(void *)bench->memory.pool[1];
    args.dtype = QUERN_F32, args.count = 1001, args.input = input, args.output = output, args.members = pair, args.member_count = 2;
    for (int call = 0; call < (first ? 9 : 2); call++) {
        for (int i = 0; i < args.count; i++) input[i] = (float)(i + rank->rank + call);
        rank_ok(rank, quern_all_reduce(bench->side.group, &args, bench->memory.workspace, 1 << 20, bench->side.stream));
        cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
        for (int i = 0; i < args.count; i++)
            rank_check(rank, output[i] == (float)(2 * (i + call + first) + 2), "call %d: element %d is %g", call, i,
                       (double)output[i]);
    }
    collective_case_open(&c, 3, (struct collective_choice){.ranks = rank->ranks, .everyone = true, .operation = ALL_REDUCE});
    run_case(bench, &c);
}

/* ---- what is enqueued ---- */

struct cost {
    collective_function *function;
    int64_t elements;
    int launches, groups;
};

/* Ranks of 3: the first share of an all-reduce above 512 KiB is a third of it. */
TEST_BENCH(nccl_collective, a_small_call_is_one_group_and_one_kernel, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    static const struct cost costs[] = {{quern_all_reduce, 1, 1, 1},       {quern_all_reduce, 131072, 1, 1},
                                        {quern_all_reduce, 131073, 1, 2},  {quern_reduce_scatter, 150000, 1, 1},
                                        {quern_reduce_scatter, 0, 0, 0},   {quern_all_gather, 100, 0, 1}};
    for (size_t i = 0; i < COUNT(costs); i++) {
        quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
        args.dtype = QUERN_F32, args.count = costs[i].elements;
        args.input = bench->memory.pool[0], args.output = bench->memory.pool[1];
        const long long launches_before = cuda_launches();
        const long groups_before = nccl_ask("quern_standin_groups");
        rank_ok(rank, costs[i].function(bench->side.group, &args, bench->memory.workspace, 8 << 20, bench->side.stream));
        cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
        const long long launches = cuda_launches() - launches_before;
        const long groups = nccl_ask("quern_standin_groups") - groups_before;
        rank_check(rank, launches == costs[i].launches && groups == costs[i].groups, "row %zu: %lld launches and %ld groups", i,
                   launches, groups);
    }
}

/* ---- the workspace ---- */

static void check_workspace_bytes(struct bench *bench, quern_dtype dtype, int64_t count, size_t expected) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    size_t bytes = 1;
    args.dtype = dtype, args.count = count;
    rank_ok(bench->side.rank, quern_collective_workspace(bench->side.group, &args, &bytes));
    rank_check(bench->side.rank, bytes == expected, "%lld elements of %s: %zu bytes instead of %zu", (long long)count,
               quern_dtype_name(dtype), bytes, expected);
}

static void refuse_workspace(struct bench *bench, quern_collective_args *args, void *workspace, size_t bytes, quern_status status,
                             const char *detail) {
    rank_refused(bench->side.rank, quern_all_reduce(bench->side.group, args, workspace, bytes, bench->side.stream), status, detail);
}

TEST_BENCH(nccl_collective, workspaces, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    unsigned char *workspace = bench->memory.workspace;
    check_workspace_bytes(bench, QUERN_F32, 0, 0);
    check_workspace_bytes(bench, QUERN_INT64, 1000, 0);
    check_workspace_bytes(bench, QUERN_E4M3, 1000, 0);
    check_workspace_bytes(bench, QUERN_F16, 1, 3 * 128 + 16);
    check_workspace_bytes(bench, QUERN_F32, 1000, 3 * 4096 + 16);
    check_workspace_bytes(bench, QUERN_BF16, (int64_t)1 << 44, (MOST_WORKSPACE - 16) / 3 / 128 * 128 * 3 + 16);
    args.dtype = QUERN_F32, args.count = 1000, args.input = bench->memory.pool[0], args.output = bench->memory.pool[1];
    refuse_workspace(bench, &args, workspace, 3 * 4096 + 15, QUERN_WORKSPACE_TOO_SMALL, "expected at least 12304");
    refuse_workspace(bench, &args, NULL, 1 << 20, QUERN_NULL_POINTER, "workspace is NULL: expected 12304 bytes");
    refuse_workspace(bench, &args, workspace + 8, 1 << 19, QUERN_INVALID_ARGUMENT, "not at a multiple of 16 bytes");
    refuse_workspace(bench, &args, bench->memory.pool[1] + 16, 1 << 19, QUERN_INVALID_ARGUMENT, "overlap");
    rank_ok(rank, quern_all_gather(bench->side.group, &args, NULL, 0, bench->side.stream));
    rank_ok(rank, quern_broadcast(bench->side.group, &args, NULL, 0, bench->side.stream));
    rank_ok(rank, quern_all_reduce(bench->side.group, &args, workspace, 12304, bench->side.stream));
    cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
}

/* ---- what is refused ---- */

enum fault { COUNT_DIFFERS, DTYPE_DIFFERS, COMBINATION_DIFFERS, ROOT_DIFFERS, NULL_INPUT, NULL_OUTPUT, NOT_A_FLOAT, NO_COMBINATION,
             CAPTURED };

struct refusal {
    enum collective_operation operation;
    enum fault fault;
    quern_status status;     /* of all */
    const char *detail;
};

static quern_collective_args make_wrong(quern_collective_args args, const struct rank *rank, enum fault fault) {
    if (rank->rank != 1) return args;
    if (fault == COUNT_DIFFERS) args.count = 4;
    if (fault == DTYPE_DIFFERS) args.dtype = QUERN_F16;
    if (fault == COMBINATION_DIFFERS) args.combination = QUERN_COMBINE_MAX;
    if (fault == ROOT_DIFFERS) args.root = 2;
    if (fault == NULL_INPUT) args.input = NULL;
    if (fault == NULL_OUTPUT) args.output = NULL;
    if (fault == NOT_A_FLOAT) args.dtype = QUERN_INT32;
    if (fault == NO_COMBINATION) args.combination = (quern_combination)0;
    return args;
}

static void call_wrongly(struct bench *bench, const quern_collective_args *args, const struct refusal *refusal) {
    struct rank *rank = bench->side.rank;
    const bool captures = refusal->fault == CAPTURED && rank->rank == 1;
    if (captures) nccl_begin_capture(&bench->side);
    rank_refused(rank, collective_functions[refusal->operation](bench->side.group, args, bench->memory.workspace, 1 << 20,
                                                                bench->side.stream), refusal->status, refusal->detail);
    if (captures) nccl_end_capture(&bench->side);
}

static const struct refusal refusals[] = {
    {COLLECTIVE_ALL_REDUCE, COUNT_DIFFERS, QUERN_PEER_MISMATCH, "args.count is 1000 on rank 0 and 4 on rank 1"},
    {COLLECTIVE_ALL_REDUCE, DTYPE_DIFFERS, QUERN_PEER_MISMATCH, "args.dtype is f32 on rank 0 and f16 on rank 1"},
    {COLLECTIVE_ALL_REDUCE, COMBINATION_DIFFERS, QUERN_PEER_MISMATCH, "args.combination is "},
    {COLLECTIVE_ALL_REDUCE, NULL_INPUT, QUERN_NULL_POINTER, "args.input is NULL"},
    {COLLECTIVE_ALL_REDUCE, NOT_A_FLOAT, QUERN_INVALID_DTYPE, "args.dtype is "},
    {COLLECTIVE_ALL_REDUCE, NO_COMBINATION, QUERN_INVALID_ARGUMENT, "args.combination is 0"},
    {COLLECTIVE_ALL_REDUCE, CAPTURED, QUERN_NOT_SUPPORTED, "the stream is being captured"},
    {COLLECTIVE_ALL_GATHER, COUNT_DIFFERS, QUERN_PEER_MISMATCH, "args.count is 1000 on rank 0 and 4 on rank 1"},
    {COLLECTIVE_ALL_GATHER, DTYPE_DIFFERS, QUERN_PEER_MISMATCH, "args.dtype is f32 on rank 0 and f16 on rank 1"},
    {COLLECTIVE_ALL_GATHER, NULL_OUTPUT, QUERN_NULL_POINTER, "args.output is NULL"},
    {COLLECTIVE_BROADCAST, ROOT_DIFFERS, QUERN_PEER_MISMATCH, "args.root is 0 on rank 0 and 2 on rank 1"},
};

/* All get the error, nothing is written, and the group stays usable. */
TEST_BENCH(nccl_collective, refusals_reach_every_rank, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, RANKS_EACH(refusals),
           .nccl = "") {
    const struct refusal *refusal = rank->user;
    struct collective_case c;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    memset(bench->memory.pool[1], 0xee, 1 << 20);
    args.dtype = QUERN_F32, args.count = 1000, args.input = bench->memory.pool[0], args.output = bench->memory.pool[1];
    const quern_collective_args wrong = make_wrong(args, rank, refusal->fault);
    call_wrongly(bench, &wrong, refusal);
    cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
    for (int i = 0; i < 1 << 20; i++) rank_check(rank, bench->memory.pool[1][i] == 0xee, "byte %d was written", i);
    collective_case_open(&c, 1, (struct collective_choice){.ranks = rank->ranks, .everyone = true,
                                                           .operation = 1 + (int)refusal->operation});
    run_case(bench, &c);
}

/* ---- failures ---- */

enum { SHARED = 140000 };  /* elements of f32 of an all-reduce of 3 ranks that is two groups */

/* The input lies otherwise towards a vector than the output, so that a rank copies its own. */
static quern_status call_shared(struct bench *bench, collective_function *function, double limit) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.count = SHARED, args.input = bench->memory.pool[0] + 4, args.output = bench->memory.pool[1];
    args.timeout = limit;
    return function(bench->side.group, &args, bench->memory.workspace, 8 << 20, bench->side.stream);
}

struct expected {
    quern_status status;
    const char *detail;
    double limit;             /* 0: that of the group */
    bool kills, aborts;       /* rank 1 ends its process; aborts the group */
    bool gathers, leaves_out; /* rank 1 makes another call; rank 1 calls without rank 2 */
    collective_function *call;  /* of the others; NULL: quern_all_reduce */
};

static quern_status call_as_expected(struct bench *bench, const struct expected *expected) {
    static const int pair[] = {0, 1};
    const bool differs = bench->side.rank->rank == 1;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    if (!differs || !expected->leaves_out)
        return call_shared(bench, differs && expected->gathers ? quern_all_gather
                                  : expected->call             ? expected->call
                                                               : quern_all_reduce, expected->limit);
    args.dtype = QUERN_F32, args.count = 1, args.input = bench->memory.pool[0], args.output = bench->memory.pool[1];
    args.members = pair, args.member_count = 2;
    return quern_all_reduce(bench->side.group, &args, bench->memory.workspace, 8 << 20, bench->side.stream);
}

static quern_status fail_in_reduction(struct rank *rank) {
    const struct expected *expected = rank->user;
    struct bench bench;
    open_bench(&bench, rank, 4 << 20, 8 << 20);
    rank_line_up(rank);
    if (rank->rank == 1 && expected->kills) kill(getpid(), SIGKILL);
    quern_status status = QUERN_OK;
    if (rank->rank == 1 && expected->aborts) rank_ok(rank, quern_group_abort(bench.side.group, "the test's reason"));
    else status = call_as_expected(&bench, expected);
    if (status == QUERN_OK) status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, expected->status, expected->detail);
    cuda_ok(&bench.side, stream_synchronize(bench.side.stream));
    return close_bench(&bench);
}

Test(nccl_collective, failures_of_nccl) {
    static const struct {
        const char *settings;
        struct expected expected;
    } rows[] = {
        {"run:hang@1#1", {QUERN_PEER_TIMEOUT, "an operation of NCCL", .limit = 4}},
        {"run:hang@1#2", {QUERN_PEER_TIMEOUT, "an operation of NCCL", .limit = 4}},
        {"run:fail=6@2#2", {QUERN_PEER_LOST, "rank 2: an operation of NCCL: remote process exited", .limit = 0}},
        {"group:fail=3@0", {QUERN_CUDA_ERROR, "rank 0: ncclGroupEnd: internal error", .limit = 0}},
        {"group:fail=3@0#2", {QUERN_CUDA_ERROR, "rank 0: ncclGroupEnd: internal error", .limit = 0}},
        {"run:hang@1", {QUERN_PEER_TIMEOUT, "an operation of NCCL", .limit = 4, .call = quern_all_gather}},
        {"run:fail=6@2", {QUERN_PEER_LOST, "rank 2: an operation of NCCL: remote process exited", .call = quern_all_gather}},
        {"group:fail=3@0", {QUERN_CUDA_ERROR, "rank 0: ncclGroupEnd: internal error", .call = quern_all_gather}},
        {"", {QUERN_GROUP_ABORTED, "rank 1 has aborted the group: the test's reason", .aborts = true}},
        {"", {QUERN_PEER_MISMATCH, "rank", .gathers = true}},
        {"", {QUERN_PEER_MISMATCH, "rank", .leaves_out = true}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) check_on(2, 3, fail_in_reduction, &rows[i].expected, rows[i].settings);
}

static const struct expected lost[] = {{QUERN_PEER_LOST, "rank 1 (process", .kills = true},
                                       {QUERN_PEER_LOST, "rank 1 (process", .kills = true, .call = quern_all_gather}};

Test(nccl_collective, a_process_that_is_killed) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = fail_in_reduction, RANKS_EACH(lost), .nccl = "",
                .may_die = 1 << 1);
}

/* Whether the thread's detail says which call of the driver has failed on rank 1, after all had agreed. */
static int was_told(void) {
    char detail[256];
    quern_error_detail(detail, sizeof detail);
    return strstr(detail, "rank 1 has entered a call over NCCL and cannot go on: c") != NULL;
}

/* Every call of the driver that rank 1 makes fails once, each in a group of its own: no rank waits for the limit. */
static quern_status fail_in_the_driver(struct rank *rank) {
    enum { OUT_OF_MEMORY = 2, LEAST_CALLS = 12, MOST_CALLS = 60 };
    static collective_function *const functions[] = {quern_all_reduce, quern_all_gather};
    _Atomic int *is_over = rank->shared;
    int told = 0;
    for (int number = 1; !*is_over; number++) {
        struct bench bench;
        rank_check(rank, number < MOST_CALLS, "%d calls of the driver", number);
        open_bench(&bench, rank, 4 << 20, 8 << 20);
        rank_line_up(rank);
        if (rank->rank == 1) cuda_fail_call(number, OUT_OF_MEMORY);
        quern_status status = call_shared(&bench, functions[*(const int *)rank->user], RANK_LIMIT);
        if (rank->rank == 1) *is_over = status == QUERN_OK;
        cuda_fail_call(0, 0);
        rank_line_up(rank);
        if (status == QUERN_OK && !*is_over) status = nccl_await_status(&bench.side, RANK_SOON);
        told += status != QUERN_OK && was_told();
        rank_check(rank, *is_over || (status != QUERN_OK && status != QUERN_PEER_TIMEOUT), "call %d of the driver: status %d",
                   number, (int)status);
        cuda_ok(&bench.side, stream_synchronize(bench.side.stream));
        rank_check(rank, number > LEAST_CALLS || !*is_over, "%d calls of the driver", number);
        rank_line_up(rank);
        const quern_status closed = close_bench(&bench);
        if (*is_over) rank_ok(rank, closed);
    }
    rank_check(rank, rank->rank == 1 || told > 3, "told %d times", told);
    return QUERN_OK;
}

Test(nccl_collective, failures_of_the_driver) {
    for (int function = 0; function < 2; function++) check_on(3, 3, fail_in_the_driver, &function, "");
}
