/*
 * Barriers, collectives, plans and transfers of GPU ranks of several hosts in CUDA graphs, over the stand-in for NCCL: their bits,
 * the bounds of launches that the library does not see, and the end of a group whose calls graphs have.
 *
 * Runs on: one emulated.
 */
#include "harness/check.h"
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/gpu_transfer.h"
#include "harness/ragged_case.h"
#include "os/clock.h"
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
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1000, .input = bench.pool[0],
                                                 .output = bench.pool[1]);
    args.timeout = failure->limit;
    nccl_begin_capture(&bench.side);
    rank_ok(rank, collective_call(&bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
    rank_ok(rank, quern_barrier(bench.group, NULL, bench.stream));  /* its own limit is the group's */
    void *graph = nccl_take_graph(&bench.side);
    rank_line_up(rank);
    if (is_1 && failure->rank_1 == ENDS) kill(getpid(), SIGKILL);
    if (!is_1 || failure->rank_1 == LAUNCHES_TOO) nccl_launch_graph(&bench.side, graph);
    status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, failure->status, failure->detail);
    rank_bench_wait(&bench);
    rank_status(rank, quern_barrier(bench.group, NULL, bench.stream), failure->status);
    rank_refused(rank, quern_group_destroy(bench.group), QUERN_INVALID_ARGUMENT, "graphs have 2 calls of the group over NCCL");
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

/* The watcher sees how many launches have begun and ended.  A launch begins anew. */
TEST_BENCH(nccl_graphs, each_launch_has_the_whole_limit, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct quern_nccl_rank *nccl = quern_nccl_rank_of(rank_member_of(rank, bench->group));
    struct quern_nccl_captures *all = nccl->captures;
    const quern_barrier_args args = BARRIER_ARGS(.timeout = 0.001);
    static const struct {
        struct quern_nccl_launches launches;
        bool runs;
        double ago;           /* seconds since the last look */
        quern_status status;
    } looks[] = {{{0, 0}, false, 0, QUERN_OK}, {{1, 0}, true, 0, QUERN_OK}, {{2, 1}, true, 1, QUERN_OK},
                 {{3, 1}, true, 1, QUERN_OK}, {{3, 3}, false, 1, QUERN_OK}, {{4, 3}, true, 1, QUERN_OK},
                 {{4, 3}, true, 1, QUERN_PEER_TIMEOUT}};
    bool any;
    nccl_begin_capture(&bench->side);
    rank_ok(rank, quern_barrier(bench->group, &args, bench->stream));
    void *graph = nccl_take_graph(&bench->side);
    pthread_mutex_lock(&nccl->lock);
    for (size_t i = 0; i < COUNT(looks); i++) {
        all->launches[0] = looks[i].launches;
        all->captured[0].operation.began -= (int64_t)(looks[i].ago * 1e9);
        all->captured[0].operation.limit = 500000000;
        if (looks[i].status != QUERN_OK && rank->rank) break;  /* one rank poisons the group */
        rank_status(rank, quern_nccl_look_at_captured(nccl, &any), looks[i].status);
        rank_check(rank, any == looks[i].runs, "look %zu: %d", i, any);
    }
    all->launches[0].ended = all->launches[0].begun;
    pthread_mutex_unlock(&nccl->lock);
    nccl_end_graph(&bench->side, graph);
}

/* One graph has two executables, which rank 0 launches on two streams at once, and rank 1 does not. */
static void launch_twice(const struct nccl_side *side, const struct nccl_side *second, void *graphs[2]) {
    struct quern_nccl_launches *launches = quern_nccl_rank_of(rank_member_of(side->rank, side->group))->captures->launches;
    const struct nccl_side *sides[] = {side, second};
    CUevent ended;
    cuda_ok(side, event_create(&ended, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < 2; i++) {
        nccl_launch_graph(sides[i], graphs[i]);
        cuda_ok(side, event_record(ended, sides[i]->stream));
        while (__atomic_load_n(&launches->begun, __ATOMIC_ACQUIRE) == i) (void)side->cuda->event_query(ended);
    }
    cuda_ok(side, event_destroy(ended));
}

TEST_SIDE(nccl_graphs, launches_at_once_have_bounds, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    const quern_barrier_args args = BARRIER_ARGS(.timeout = 2);
    struct nccl_side second = *side;
    void *graphs[2];
    cuda_ok(side, stream_create(&second.stream, CU_STREAM_NON_BLOCKING));
    nccl_begin_capture(side);
    rank_ok(rank, quern_barrier(side->group, &args, side->stream));
    nccl_take_graphs(side, graphs, 2);
    if (!rank->rank) launch_twice(side, &second, graphs);
    rank_refused(rank, nccl_await_status(side, RANK_SOON), QUERN_PEER_TIMEOUT, "in a graph: rank 1 (process");
    cuda_ok(side, stream_synchronize(side->stream));
    cuda_ok(side, stream_synchronize(second.stream));
    cuda_ok(side, stream_destroy(second.stream));
    for (int i = 0; i < 2; i++) nccl_end_graph(side, graphs[i]);
}

/* A rank may leave when it has its part: the watcher looks for it later.  A look that was held up for long tells nothing. */
TEST_BENCH(nccl_graphs, a_rank_that_leaves_is_missed_a_moment_later, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct quern_membership *member = rank_member_of(rank, bench->group);
    struct quern_nccl_rank *nccl = quern_nccl_rank_of(member);
    struct quern_nccl_captures *all = nccl->captures;
    bool any;
    nccl_begin_capture(&bench->side);
    rank_ok(rank, quern_barrier(bench->group, NULL, bench->stream));
    void *graph = nccl_take_graph(&bench->side);
    rank_line_up(rank);
    if (rank->rank == 0) {
        pthread_mutex_lock(&nccl->lock);
        all->launches[0].begun = 1;
        rank_ok(rank, quern_nccl_look_at_captured(nccl, &any));
        __atomic_store_n(&member->segment->rank[1].state, QUERN_RANK_LEFT, __ATOMIC_RELEASE);
        const int64_t began = all->captured[0].operation.began = quern_now() - 1;
        const quern_status early = quern_nccl_look_at_captured(nccl, &any);
        rank_check(rank, early == QUERN_OK || quern_now() - began > 50000000, "a rank is missed at once: status %d", early);
        all->captured[0].operation.began = quern_now() - 1000000000;
        rank_refused(rank, quern_nccl_look_at_captured(nccl, &any), QUERN_PEER_LOST, "an operation of NCCL in a graph: rank 1");
        all->launches[0].ended = 1;
        pthread_mutex_unlock(&nccl->lock);
    }
    nccl_end_graph(&bench->side, graph);
    rank_line_up(rank);
}

/* Rank 1 launches another graph than rank 0: it waits in a call that it has captured before the one that is missing. */
static quern_status launch_another_graph(struct rank *rank) {
    static const int pair[] = {1, 2};
    const quern_barrier_args limited = BARRIER_ARGS(.timeout = rank->rank ? RANK_LIMIT : 4);
    struct rank_bench bench;
    void *graphs[2];
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1000, .input = bench.pool[0],
                                                       .output = bench.pool[1], .members = pair, .member_count = 2);
    for (int i = 0; i < 2; i++) {
        nccl_begin_capture(&bench.side);
        if (i) rank_ok(rank, quern_barrier(bench.group, &limited, bench.stream));
        else if (rank->rank) rank_ok(rank, collective_call(&bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
        graphs[i] = nccl_take_graph(&bench.side);
    }
    rank_line_up(rank);
    if (rank->rank < 2) nccl_launch_graph(&bench.side, graphs[!rank->rank]);
    rank_refused(rank, nccl_await_status(&bench.side, RANK_SOON), QUERN_PEER_TIMEOUT,
                 "in an operation of NCCL in a graph: rank 1 (");
    rank_check_detail(rank, ", last in quern_all_reduce) and 1 more");
    rank_bench_wait(&bench);
    for (int i = 0; i < 2; i++) nccl_end_graph(&bench.side, graphs[i]);
    return rank_bench_destroy(&bench);
}

Test(nccl_graphs, a_rank_in_another_graph_is_named_with_its_call) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = launch_another_graph, .nccl = "");
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

static void await_word(void *word) {
    while (!__atomic_load_n((int *)word, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
}

/* As many calls as can be pending wait behind the engine's work: a capture goes on. */
TEST_SIDE(nccl_graphs, a_capture_does_not_wait_for_what_is_pending, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct nccl_side second = *side;
    int word = 0;
    cuda_ok(side, stream_create(&second.stream, CU_STREAM_NON_BLOCKING));
    nccl_enqueue(side, side->stream, await_word, &word);
    for (int i = 0; i < QUERN_NCCL_PENDING; i++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    nccl_begin_capture(&second);
    rank_ok(rank, quern_barrier(side->group, NULL, second.stream));
    void *graph = nccl_take_graph(&second);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_launch_graph(&second, graph);
    cuda_ok(side, stream_synchronize(second.stream));
    nccl_end_graph(&second, graph);
    cuda_ok(side, stream_destroy(second.stream));
}

static void *release_later(void *word) {
    rank_sleep(0.05);
    __atomic_store_n((int *)word, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* One call more than can be pending returns when the first one is over, which the engine's work holds up. */
TEST_SIDE(nccl_graphs, a_call_waits_for_room, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    pthread_t thread;
    int word = 0;
    nccl_enqueue(side, side->stream, await_word, &word);
    for (int i = 0; i < QUERN_NCCL_PENDING; i++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    rank_check(rank, pthread_create(&thread, NULL, release_later, &word) == 0, "no thread");
    rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    rank_check(rank, __atomic_load_n(&word, __ATOMIC_ACQUIRE), "a call did not wait for room");
    pthread_join(thread, NULL);
    cuda_ok(side, stream_synchronize(side->stream));
}

/* ---- transfers ---- */

enum { KEY = 7, BYTES = 5000 };
#define TWO_HOSTS .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = ""

static quern_status run_lists(struct rank *rank) {
    struct gpu_end end;
    gpu_end_open(&end, rank, GPU_PRIVATE);
    const struct transfer_choice choice = {.lists = 1, .items = 20, .largest = 70000, .rounds = 3, .captures = true,
                                           .place = &end.place};
    for (uint64_t seed = 0; seed < 4; seed++) transfer_run_case(rank, end.side.group, 800 + seed, &choice);
    rank_line_up(rank);
    return gpu_end_close(&end);
}

/* Items to several ranks, to this one and of no bytes. */
Test(nccl_graphs, random_lists) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {4, 4}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_ranks(.kind = RANK_BOTH, .hosts = shapes[i][0], .count = shapes[i][1], .function = run_lists, .nccl = "");
}

static void *capture_pair(struct gpu_pair *gpu) {
    nccl_begin_capture(&gpu->end.side);
    rank_ok(gpu->end.side.rank, quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream));
    return nccl_take_graph(&gpu->end.side);
}

/* Launches with other data, and starts outside of graphs between them. */
TEST_GPU_PAIR(nccl_graphs, launches_of_a_transfer, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, KEY);
    void *graph = capture_pair(gpu);
    for (int round = 1; round <= 4; round++) {
        transfer_pair_fill(&gpu->pair, round);
        nccl_launch_graph(&gpu->end.side, graph);
        cuda_ok(&gpu->end.side, stream_synchronize(gpu->end.side.stream));
        transfer_pair_compare(&gpu->pair, round);
        if (round % 2) transfer_pair_round(&gpu->pair, 10 + round);
    }
    transfer_pair_destroy(&gpu->pair);
    nccl_launch_graph(&gpu->end.side, graph);  /* the graph has what it needs */
    cuda_ok(&gpu->end.side, stream_synchronize(gpu->end.side.stream));
    nccl_end_graph(&gpu->end.side, graph);
    rank_line_up(rank);
}

/* A step of a pipeline of three stages: each hands on what it gets. */
TEST_GPU_END(nccl_graphs, a_pipeline_is_launched_many_times, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    enum { STEPS = 6 };
    struct nccl_side *side = &end->side;
    uint32_t *word = nccl_allocate(side, sizeof *word), *seen = nccl_allocate(side, STEPS * sizeof *seen);
    const quern_transfer_item in = transfer_item(1, rank->rank - 1, 0, word, sizeof *word);
    const quern_transfer_item out = transfer_item(0, rank->rank + 1, 0, word, sizeof *word);
    quern_transfer *from = transfer_prepare(rank, side->group, (uint64_t)rank->rank, &in, rank->rank > 0);
    quern_transfer *to = transfer_prepare(rank, side->group, (uint64_t)rank->rank + 1, &out, rank->rank < 2);
    nccl_begin_capture(side);
    rank_ok(rank, quern_transfer_start(from, side->stream));
    rank_ok(rank, quern_transfer_start(to, side->stream));
    void *graph = nccl_take_graph(side);
    for (int step = 0; step < STEPS; step++) {
        if (!rank->rank) nccl_put(side, word, &(uint32_t){(uint32_t)(100 + step)}, sizeof *word);
        nccl_launch_graph(side, graph);
        cuda_ok(side, copy_on_device_async((uintptr_t)&seen[step], (uintptr_t)word, sizeof *word, side->stream));
    }
    cuda_ok(side, stream_synchronize(side->stream));
    for (int step = 0; step < STEPS; step++)
        rank_check(rank, seen[step] == (uint32_t)(100 + step), "step %d has %u", step, seen[step]);
    nccl_end_graph(side, graph);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(from));
    rank_ok(rank, quern_transfer_destroy(to));
    nccl_release(side, word);
    nccl_release(side, seen);
}

/* One rank captures and the other one does not; then both do. */
TEST_GPU_PAIR(nccl_graphs, both_ranks_capture_a_transfer, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, KEY);
    if (rank->rank) nccl_begin_capture(&gpu->end.side);
    rank_refused(rank, transfer_pair_run(&gpu->pair, 0), QUERN_PEER_MISMATCH,
                 "rank 1 starts the transfer on a stream that is being captured, and rank 0 on one that is not");
    if (rank->rank) nccl_end_capture(&gpu->end.side);
    transfer_pair_destroy(&gpu->pair);
    transfer_pair_prepare(&gpu->pair, KEY);
    nccl_end_graph(&gpu->end.side, capture_pair(gpu));
    transfer_pair_round(&gpu->pair, 1);
    rank_line_up(rank);
}

TEST_GPU_PAIR(nccl_graphs, no_batch_is_captured, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, KEY);
    nccl_begin_capture(&gpu->end.side);
    rank_ok(rank, quern_transfer_begin(gpu->end.side.group));
    rank_refused(rank, quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream), QUERN_NOT_SUPPORTED, "but one list");
    rank_ok(rank, quern_transfer_end(gpu->end.side.group));
    nccl_end_capture(&gpu->end.side);
    transfer_pair_round(&gpu->pair, 1);
    rank_line_up(rank);
}

/* Rank 1 does not start the transfer: rank 0 waits as long as its limit. */
TEST_GPU_PAIR(nccl_graphs, a_capture_waits_for_the_other_rank_within_its_limit, TWO_HOSTS) {
    struct nccl_side *side = &gpu->end.side;
    const quern_transfer_item item = transfer_item(rank->rank, !rank->rank, 0, gpu->pair.in, BYTES);
    const quern_transfer_args args = TRANSFER_ARGS(.items = &item, .item_count = 1, .key = KEY, .timeout = rank->rank ? 0 : 0.5);
    quern_transfer *transfer;
    rank_ok(rank, quern_transfer_prepare(side->group, &args, &transfer));
    if (!rank->rank) {
        nccl_begin_capture(side);
        rank_refused(rank, quern_transfer_start(transfer, side->stream), QUERN_PEER_TIMEOUT, "rank 1");
        nccl_end_capture(side);
    }
    rank_line_up(rank);
    if (rank->rank) rank_refused(rank, transfer_run(transfer, side->stream, 0), QUERN_PEER_TIMEOUT, "rank 1");
    rank_ok(rank, quern_transfer_destroy(transfer));
    transfer_pair_exchange(&gpu->pair, KEY + 1, 2);
    rank_line_up(rank);
}

static const struct failure transfer_failures[] = {
    {"run:hang~2@1", LAUNCHES_TOO, QUERN_PEER_TIMEOUT, "an operation of NCCL in a graph", 4},
    {"", IS_LATE, QUERN_PEER_TIMEOUT, "an operation of NCCL in a graph: rank 1 (process", 4},
    {"", ENDS, QUERN_PEER_LOST, "rank 1 (process", RANK_LIMIT},
    {"run:fail=6~2@0", LAUNCHES_TOO, QUERN_PEER_LOST, "remote process exited", RANK_LIMIT},
};

static quern_status fail_in_a_transfer(struct rank *rank) {
    const struct failure *failure = rank->user;
    const bool is_1 = rank->rank == 1;
    struct gpu_end end;
    gpu_end_open(&end, rank, GPU_PRIVATE);
    void *memory = nccl_allocate(&end.side, 2 * BYTES);
    const quern_transfer_item items[] = {transfer_item(0, !is_1, 0, memory, BYTES),
                                         transfer_item(1, !is_1, 0, (char *)memory + BYTES, BYTES)};
    const quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = KEY, .timeout = failure->limit);
    quern_transfer *transfer;
    rank_ok(rank, quern_transfer_prepare(end.side.group, &args, &transfer));
    nccl_begin_capture(&end.side);
    rank_ok(rank, quern_transfer_start(transfer, end.side.stream));
    void *graph = nccl_take_graph(&end.side);
    rank_line_up(rank);
    if (is_1 && failure->rank_1 == ENDS) kill(getpid(), SIGKILL);
    if (!is_1 || failure->rank_1 == LAUNCHES_TOO) nccl_launch_graph(&end.side, graph);
    rank_refused(rank, nccl_await_status(&end.side, RANK_SOON), failure->status, failure->detail);
    cuda_ok(&end.side, stream_synchronize(end.side.stream));
    nccl_end_graph(&end.side, graph);
    rank_ok(rank, quern_transfer_destroy(transfer));
    nccl_release(&end.side, memory);
    return gpu_end_close(&end);
}

Test(nccl_graphs, transfers_have_bounds) {
    for (size_t i = 0; i < COUNT(transfer_failures); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = fail_in_a_transfer, .user = &transfer_failures[i],
                    .nccl = transfer_failures[i].settings, .may_die = transfer_failures[i].rank_1 == ENDS ? 1 << 1 : 0);
}

/* A transfer outside of graphs that is cancelled while NCCL hangs takes its communicator with it, which a graph needs, too. */
TEST_GPU_PAIR(nccl_graphs, a_graph_does_not_outlive_its_communicator, .kind = RANK_PROCESSES, .count = 2, .hosts = 2,
              .nccl = "run:hang!2@1#2") {
    transfer_pair_prepare(&gpu->pair, KEY);
    void *graph = capture_pair(gpu);
    const long groups = nccl_ask("quern_standin_groups");
    int32_t done;
    rank_ok(rank, quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream));
    while (nccl_ask("quern_standin_groups") == groups) rank_ok(rank, quern_transfer_test(gpu->pair.transfer, &done));
    rank_line_up(rank);
    if (!rank->rank) rank_ok(rank, quern_transfer_cancel(gpu->pair.transfer, "the test's reason"));
    rank_refused(rank, quern_transfer_wait(gpu->pair.transfer, 0), QUERN_GROUP_ABORTED, "the test's reason");
    rank_refused(rank, nccl_await_status(&gpu->end.side, RANK_SOON), QUERN_GROUP_ABORTED, "which graphs have, too");
    nccl_end_graph(&gpu->end.side, graph);
    rank_line_up(rank);
}

/* The same behind the end of the graph: only the transfer fails. */
TEST_GPU_PAIR(nccl_graphs, a_group_outlives_a_communicator_that_no_graph_has, .kind = RANK_PROCESSES, .count = 2, .hosts = 2,
              .nccl = "run:hang!2@1#2") {
    struct nccl_side *side = &gpu->end.side;
    transfer_pair_prepare(&gpu->pair, KEY);
    nccl_end_graph(side, capture_pair(gpu));
    while (quern_nccl_count_captured(quern_nccl_rank_of(rank_member_of(rank, side->group)))) sched_yield();
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_start(gpu->pair.transfer, side->stream));
    if (!rank->rank) rank_ok(rank, quern_transfer_cancel(gpu->pair.transfer, "the test's reason"));
    rank_refused(rank, quern_transfer_wait(gpu->pair.transfer, 0), QUERN_GROUP_ABORTED, "the test's reason");
    rank_line_up(rank);
    rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_ok(rank, quern_group_status(side->group));
    rank_line_up(rank);
}

/* Two streams are captured at once, with calls in turn. */
TEST_BENCH(nccl_graphs, two_graphs_are_captured_at_once, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct rank_bench both[2] = {*bench, *bench};
    void *graphs[2];
    rank_ok(rank, quern_prepare(bench->side.device, QUERN_COLLECTIVE));
    cuda_ok(&bench->side, stream_create(&both[1].side.stream, CU_STREAM_NON_BLOCKING));
    both[1].stream = both[1].side.stream;
    for (int i = 0; i < 2; i++) nccl_begin_capture(&both[i].side);
    for (int call = 0; call < 6; call++) {
        const int which = call % 2, from = call / 2 * ELEMENTS;
        float *sums = (float *)(void *)bench->pool[which];
        const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = ELEMENTS, .input = sums + from,
                                                           .output = sums + from + ELEMENTS);
        rank_ok(rank, collective_call(&both[which], COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
    }
    for (int i = 0; i < 2; i++) graphs[i] = nccl_take_graph(&both[i].side);
    for (int i = 1; i >= 0; i--) {
        float *sums = (float *)(void *)bench->pool[i];
        for (int at = 0; at < ELEMENTS; at++) sums[at] = (float)(at + i);
        rank_line_up(rank);
        nccl_launch_graph(&both[i].side, graphs[i]);
        cuda_ok(&both[i].side, stream_synchronize(both[i].stream));
        for (int at = 0; at < ELEMENTS; at++)
            rank_check(rank, sums[3 * ELEMENTS + at] == (float)(8 * (at + i)), "graph %d: element %d is %g", i, at,
                       (double)sums[3 * ELEMENTS + at]);
        nccl_end_graph(&both[i].side, graphs[i]);
        rank_line_up(rank);
    }
    cuda_ok(&bench->side, stream_destroy(both[1].stream));
}
