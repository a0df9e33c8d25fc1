/*
 * Barriers, collectives and plans of GPU ranks of several hosts in CUDA graphs, over the stand-in for NCCL: their bits, the bounds of
 * launches that the library does not see, and the end of a group whose calls graphs have.
 *
 * Runs on: one emulated.
 */
#include "harness/check.h"
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/ragged_case.h"
#include "ranks/nccl/nccl.h"

enum { ALL_REDUCE = 1 + COLLECTIVE_ALL_REDUCE };

/* ---- the bits ---- */

static void check_batch(int hosts, int ranks, struct collective_batch batch, const char *settings) {
    batch.captures = true;
    check_ranks(.kind = RANK_PROCESSES, .count = ranks, .hosts = hosts, .function = collective_run_batch, .user = &batch,
                .nccl = settings);
}

/* Each call is in a graph of its own, which is launched once. */
Test(nccl_graphs, random_cases) {
    static const int shapes[][2] = {{2, 2}, {3, 3}, {2, 4}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_batch(shapes[i][0], shapes[i][1], (struct collective_batch){.first = 21000 * i, .cases = (int)test_size(60, 30)}, "");
}

/* One from host to host, in several pieces, and one of more groups than are pending outside of graphs. */
Test(nccl_graphs, calls_of_many_groups) {
    const struct collective_choice chain = {.everyone = true, .operation = ALL_REDUCE, .dtype = QUERN_F32, .elements = 1310757,
                                            .not_in_place = true, .is_private = true};
    const struct collective_choice long_chain = {.everyone = true, .operation = ALL_REDUCE, .dtype = QUERN_F32,
                                                 .elements = 5500003, .in_place = true, .is_private = true};
    check_batch(2, 4, (struct collective_batch){.first = 3, .cases = 1, .choice = chain, .pool_bytes = 36 << 20}, "");
    check_batch(2, 4, (struct collective_batch){.first = 4, .cases = 1, .choice = long_chain, .pool_bytes = 36 << 20}, "");
}

Test(nccl_graphs, delays_of_nccl_change_nothing) {
    check_batch(2, 3, (struct collective_batch){.first = 7000, .cases = 8}, "group:delay=3,run:delay=5@1,linger=50");
}

Test(nccl_graphs, random_plans) {
    const struct ragged_batch batch = {.first = 63000, .cases = (int)test_size(6, 3), .is_plan = true, .captures = true,
                                       .choice = {.everyone = true, .not_in_place = true}};
    check_ranks(.kind = RANK_PROCESSES, .hosts = 2, .count = 4, .function = ragged_run_batch, .user = &batch, .nccl = "");
}

/* ---- many launches ---- */

enum { ELEMENTS = 3001, LAUNCHES = 5 };

/* A step of an engine: a maximum of all, and its sum over two of three ranks, between barriers. */
static void capture_step(const struct rank_bench *bench) {
    static const int pair[] = {0, 2};
    float *input = (float *)(void *)bench->pool[0], *largest = (float *)(void *)bench->pool[1], *sum = largest + ELEMENTS;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = ELEMENTS, .input = input, .output = largest);
    args.combination = QUERN_COMBINE_MAX;
    rank_ok(bench->rank, quern_barrier(bench->group, NULL, bench->stream));
    rank_ok(bench->rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
    args.combination = QUERN_COMBINE_SUM, args.input = largest, args.output = sum;
    args.members = pair, args.member_count = 2;
    if (bench->rank->rank != 1) rank_ok(bench->rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
    rank_ok(bench->rank, quern_barrier(bench->group, NULL, bench->stream));
}

static void check_step(const struct rank_bench *bench, int launch) {
    const float *sum = (const float *)(const void *)bench->pool[1] + ELEMENTS;
    for (int i = 0; i < ELEMENTS && bench->rank->rank != 1; i++)
        rank_check(bench->rank, sum[i] == (float)(2 * (i + 10 * launch + 2)), "launch %d: element %d is %g", launch, i,
                   (double)sum[i]);
}

static void fill_step(const struct rank_bench *bench, int launch) {
    float *input = (float *)(void *)bench->pool[0];
    for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i + 10 * launch + bench->rank->rank);
}

/* Each launch takes what the input holds then, with calls outside of the graph in between. */
TEST_BENCH(nccl_graphs, launches_follow_each_other, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    nccl_begin_capture(&bench->side);
    capture_step(bench);
    void *graph = nccl_take_graph(&bench->side);
    for (int launch = 0; launch < LAUNCHES; launch++) {
        fill_step(bench, launch);
        rank_line_up(rank);
        nccl_launch_graph(&bench->side, graph);
        if (launch == 2) rank_ok(rank, quern_barrier(bench->group, NULL, bench->stream));
        rank_bench_wait(bench);
        check_step(bench, launch);
        rank_line_up(rank);
    }
    nccl_end_graph(&bench->side, graph);
}

/* ---- bounds ---- */

/* Rank 1 does not launch its graph, or ends; NCCL hangs or fails. */
struct failure {
    const char *settings;
    enum { LAUNCHES_TOO, IS_LATE, ENDS, LEAVES } rank_1;
    quern_status status;
    const char *detail;
    double limit;
};

static quern_status fail_in_a_graph(struct rank *rank) {
    const struct failure *failure = rank->user;
    const bool is_1 = rank->rank == 1;
    struct rank_bench bench;
    quern_status status;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1000, .input = bench.pool[0], .output = bench.pool[1]);
    args.timeout = failure->limit;
    nccl_begin_capture(&bench.side);
    rank_ok(rank, collective_call(&bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
    void *graph = nccl_take_graph(&bench.side);
    rank_line_up(rank);
    if (is_1 && failure->rank_1 == ENDS) kill(getpid(), SIGKILL);
    if (!is_1 || failure->rank_1 == LAUNCHES_TOO) nccl_launch_graph(&bench.side, graph);
    status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, failure->status, failure->detail);
    rank_bench_wait(&bench);
    rank_status(rank, quern_barrier(bench.group, NULL, bench.stream), failure->status);
    rank_refused(rank, quern_group_destroy(bench.group), QUERN_INVALID_ARGUMENT, "graphs have 1 calls of the group over NCCL");
    nccl_launch_graph(&bench.side, graph);  /* ends at once */
    nccl_end_graph(&bench.side, graph);
    return rank_bench_destroy(&bench);
}

static const struct failure failures[] = {
    {"run:hang@1", LAUNCHES_TOO, QUERN_PEER_TIMEOUT, "an operation of NCCL in a graph: no rank is known to be behind", 4},
    {"", IS_LATE, QUERN_PEER_TIMEOUT, "an operation of NCCL in a graph: rank 1 (process", 4},
    {"", ENDS, QUERN_PEER_LOST, "rank 1 (process", RANK_LIMIT},
    {"run:fail=6@2", LAUNCHES_TOO, QUERN_PEER_LOST, "rank 2: an operation of NCCL: remote process exited", RANK_LIMIT},
};

Test(nccl_graphs, waits_have_bounds) {
    for (size_t i = 0; i < COUNT(failures); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = fail_in_a_graph, .user = &failures[i],
                    .nccl = failures[i].settings, .may_die = failures[i].rank_1 == ENDS ? 1 << 1 : 0);
}

/* The watcher sees numbers: odd while the operation runs, another one for each launch.  A launch begins anew. */
TEST_BENCH(nccl_graphs, each_launch_has_the_whole_limit, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct quern_nccl_rank *nccl = quern_nccl_rank_of(rank_member_of(rank, bench->group));
    struct quern_nccl_captures *all = nccl->captures;
    const quern_barrier_args args = BARRIER_ARGS(.timeout = 0.001);
    static const struct {
        uint32_t number;
        bool runs;
        double ago;           /* seconds since the last look */
        quern_status status;
    } looks[] = {{0, false, 0, QUERN_OK}, {1, true, 0, QUERN_OK}, {3, true, 1, QUERN_OK}, {4, false, 1, QUERN_OK},
                 {5, true, 1, QUERN_OK}, {5, true, 1, QUERN_PEER_TIMEOUT}};
    bool any;
    nccl_begin_capture(&bench->side);
    rank_ok(rank, quern_barrier(bench->group, &args, bench->stream));
    void *graph = nccl_take_graph(&bench->side);
    pthread_mutex_lock(&nccl->lock);
    for (size_t i = 0; i < COUNT(looks); i++) {
        all->numbers[0] = looks[i].number;
        all->captured[0].operation.began -= (int64_t)(looks[i].ago * 1e9);
        all->captured[0].operation.limit = 500000000;
        if (looks[i].status != QUERN_OK && rank->rank) break;  /* one rank poisons the group */
        rank_status(rank, quern_nccl_look_at_captured(nccl, &any), looks[i].status);
        rank_check(rank, any == looks[i].runs, "look %zu: %d", i, any);
    }
    all->numbers[0] = 6;
    pthread_mutex_unlock(&nccl->lock);
    nccl_end_graph(&bench->side, graph);
}

/* ---- what a graph cannot have ---- */

TEST_BENCH(nccl_graphs, all_capture_or_none, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    struct collective_case c;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1000, .input = bench->pool[0],
                                                 .output = bench->pool[1]);
    rank_ok(rank, quern_prepare(bench->side.device, QUERN_BARRIER));
    memset(bench->pool[1], 0xee, 4096);
    if (rank->rank == 1) nccl_begin_capture(&bench->side);
    rank_refused(rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL), QUERN_PEER_MISMATCH,
                 "the stream is not captured on rank 0 and captured on rank 1: expected the same on all members");
    if (rank->rank == 1) nccl_end_capture(&bench->side);
    rank_bench_wait(bench);
    for (int i = 0; i < 4096; i++) rank_check(rank, bench->pool[1][i] == 0xee, "byte %d was written", i);
    collective_case_open(&c, 1, (struct collective_choice){.ranks = rank->ranks, .everyone = true, .operation = ALL_REDUCE});
    collective_case_run(&c, bench);
}

TEST_BENCH(nccl_graphs, an_exchange_needs_a_plan, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct rank_exchange exchange;
    rank_exchange_args(rank, &exchange, bench->pool[0], bench->pool[1], 1, 8);
    nccl_begin_capture(&bench->side);
    rank_refused(rank, ragged_call(bench, &exchange.args, 0), QUERN_NOT_SUPPORTED, "expected a plan");
    nccl_end_capture(&bench->side);
    rank_ok(rank, ragged_call(bench, &exchange.args, 0));
    rank_bench_wait(bench);
}

/* ---- ends ---- */

/* A group waits for its graphs; their calls make room for others when they end. */
TEST_SIDE(nccl_graphs, a_group_ends_behind_its_graphs, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    void *graphs[2];
    for (int i = 0; i < 2; i++) {
        nccl_begin_capture(side);
        for (int call = 0; call <= i; call++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
        graphs[i] = nccl_take_graph(side);
    }
    rank_refused(rank, quern_group_destroy(side->group), QUERN_INVALID_ARGUMENT, "graphs have 3 calls of the group over NCCL");
    nccl_end_graph(side, graphs[1]);
    nccl_launch_graph(side, graphs[0]);
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_end_graph(side, graphs[0]);
}

TEST_SIDE(nccl_graphs, graphs_have_so_many_calls, .kind = RANK_THREADS, .count = 2, .hosts = 2, .nccl = "") {
    for (int turn = 0; turn < 2; turn++) {
        nccl_begin_capture(side);
        for (int call = 0; call < QUERN_NCCL_CAPTURED; call++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
        rank_refused(rank, quern_barrier(side->group, NULL, side->stream), QUERN_OUT_OF_MEMORY, "4096 calls");
        nccl_end_capture(side);
        while (quern_nccl_count_captured(quern_nccl_rank_of(rank_member_of(rank, side->group)))) sched_yield();
    }
}
