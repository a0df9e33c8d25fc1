/*
 * Launches of GPU ranks: how much of a GPU they take, beside which other groups they run, on which streams, how many calls of the
 * driver they cost, and what their failures tell the other ranks.
 *
 * Runs on: every emulated; kernels of barrier, ragged_all_to_all.
 */
#include <fnmatch.h>

#include "harness/gpu_bench.h"
#include "ranks/handles.h"

enum { PAIR = 2, POOL = 1 << 19, WORKSPACE = 1 << 16, MOST_BLOCKS = 5 /* more than a multiprocessor takes */ };

static const double SOON = 40;  /* seconds, on a busy machine; the limits are above */

static void expect_detail(const char *pattern) {
    check(!fnmatch(pattern, error_detail(), 0), "the detail is \"%s\": expected \"%s\"", error_detail(), pattern);
}

/* The status of a call of which one call of the driver fails. */
#define check_failing(number, error, call, status) \
    do { cuda_fail_call(number, error); check_status(call, status); cuda_fail_call(0, 0); } while (0)

/* All meet in a barrier of a sound group. */
static void meet(const struct gpu_group *group) {
    gpu_group_barrier(group, ~0ull);
    gpu_group_expect(group, QUERN_OK, NULL);
}

/* ---- exchanges of nothing, with buffers for which many blocks are useful ---- */

static const int32_t none[MOST_GPU_RANKS];

static quern_ragged_all_to_all_args exchange_args(const struct gpu_bench *bench, int rank) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.row_bytes = 8, args.input_rows = args.output_rows = POOL / 8;
    args.input = bench->of[rank].pool[POOL_PRIVATE], args.output = bench->of[rank].pool[POOL_SYMMETRIC];
    args.input_offsets = args.send_sizes = args.output_offsets = args.recv_sizes = none;
    return args;
}

static quern_status exchange(const struct gpu_bench *bench, int rank) {
    const quern_ragged_all_to_all_args args = exchange_args(bench, rank);
    return quern_ragged_all_to_all(bench->group->group[rank], &args, bench->workspace[rank], WORKSPACE,
                                   bench->group->device[rank].stream);
}

static void plan(const struct gpu_bench *bench, quern_ragged_plan **plans) {
    quern_ragged_all_to_all_args args[PAIR];
    size_t bytes[PAIR] = {WORKSPACE, WORKSPACE};
    for (int rank = 0; rank < PAIR; rank++) args[rank] = exchange_args(bench, rank);
    check_ok(quern_ragged_plan_create(bench->group->group, PAIR, args, bench->workspace, bytes, plans));
}

/* Another group in place of one that has failed, with memory of its own. */
static void begin_again(struct gpu_bench *bench) {
    struct gpu_group *group = bench->group;
    gpu_bench_close(bench);
    gpu_group_destroy(group);
    gpu_group_create(group, 60, 0);
    gpu_bench_open(bench, group, POOL, WORKSPACE);
}

/* ---- several groups on the same GPUs ---- */

/* Each GPU begins with another group, which waits there for the other GPU: both must have room at once. */
Test(launch_cuda, groups_on_the_same_gpus_run_at_once) {
    struct gpu_group groups[PAIR];
    struct gpu_bench benches[PAIR];
    for (int i = 0; i < PAIR; i++)
        gpu_bench_begin(&benches[i], &groups[i],
                        (struct gpu_group_options){.ranks = PAIR, .machine.multiprocessors = 1, .timeout = 60});
    for (int round = 0; round < 3; round++) {
        for (int turn = 0; turn < PAIR; turn++)
            for (int gpu = 0; gpu < PAIR; gpu++) check_ok(exchange(&benches[(turn + gpu) % PAIR], gpu));
        for (int i = 0; i < PAIR; i++) gpu_group_synchronize(&groups[i]);
        for (int i = 0; i < PAIR; i++) gpu_group_expect(&groups[i], QUERN_OK, NULL);
    }
    for (int i = 0; i < PAIR; i++) gpu_bench_close_all(&benches[i]);
}

static quern_status create_alone(const struct test_device *device, quern_group **group) {
    quern_group_args args = GROUP_ARGS(.ranks = 1, .device = device->quern);
    return quern_group_create(&args, 1, group);
}

/* Ranks fill the GPU's one multiprocessor; room is free again when one has gone, and only then. */
Test(launch_cuda, a_group_without_room_is_refused) {
    quern_group *further[MOST_BLOCKS];
    int first = 0;
    OPEN_GROUP(group, .ranks = 1, .machine = {.devices = 1, .multiprocessors = 1});
    for (int round = 0; round < 3; round++) {
        int room = 1;
        char pattern[300];
        while (room < MOST_BLOCKS && create_alone(&group.device[0], &further[room]) == QUERN_OK) room++;
        snprintf(pattern, sizeof pattern, "*: cuda:0 has room for %d blocks of ragged_all_to_all__* at once, and the ranks of this "
                 "process's groups need %d: expected one for each rank, since they wait for each other", room, room + 1);
        expect_detail(pattern);
        check_status(create_alone(&group.device[0], &further[0]), QUERN_NOT_SUPPORTED);
        if (!round) first = room;
        check(room == first && room > 1 && room < MOST_BLOCKS, "room for %d and then %d ranks", first, room);
        for (int i = 1; i < room; i++) check_ok(quern_group_destroy(further[i]));
    }
    gpu_group_barrier(&group, ~0ull);
}

enum { BARRIERS_ONLY = MOST_BLOCKS };

/* Groups without exchanges need less room for each rank, and so there may be more of them than exchanges have room for. */
static void take_room(struct test_device *barriers, quern_group **further) {
    device_open(barriers, 0, NULL);
    check_ok(quern_prepare(barriers->quern, QUERN_BARRIER));
    for (int i = 0; i < BARRIERS_ONLY; i++) check_ok(create_alone(barriers, &further[i]));
}

/* Rank 1 waits in its kernel: rank 0, which cannot come, tells it. */
Test(launch_cuda, a_rank_that_lost_its_room_tells_the_others) {
    OPEN_BENCH((struct gpu_group_options){.ranks = PAIR, .machine.multiprocessors = 1, .timeout = 60});
    for (int planned = 0; planned < 2; planned++) {
        struct test_device barriers;
        quern_group *further[BARRIERS_ONLY];
        quern_ragged_plan *plans[PAIR];
        plan(&bench, plans);
        take_room(&barriers, further);
        const double began = rank_now();
        check_ok(planned ? quern_ragged_plan_run(plans[1], group.device[1].stream) : exchange(&bench, 1));
        check_status(planned ? quern_ragged_plan_run(plans[0], group.device[0].stream) : exchange(&bench, 0), QUERN_NOT_SUPPORTED);
        expect_detail("*: cuda:0 has room for * blocks of ragged_all_to_all__* at once, and the ranks of this process's groups "
                      "need 6: *");
        gpu_group_synchronize(&group);
        check(rank_now() - began < SOON, "the other rank waited %g s", rank_now() - began);
        gpu_group_expect(&group, QUERN_PEER_MISMATCH, "");
        for (int i = 0; i < BARRIERS_ONLY; i++) check_ok(quern_group_destroy(further[i]));
        device_close(&barriers);
        for (int rank = 0; rank < PAIR; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
        begin_again(&bench);
    }
}

/* ---- streams that wait for each other ---- */

static void open_shared(struct gpu_group *group) { gpu_group_open(group, .ranks = PAIR, .machine.devices = 1); }

/* The second rank's kernel would follow that of the first, which waits for it. */
Test(launch_cuda, ranks_that_share_a_gpu_need_streams_of_their_own) {
    struct gpu_group group;
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all);
    open_shared(&group);
    gpu_bench_open(&bench, &group, POOL, WORKSPACE);
    for (uintptr_t stream = 0; stream < 3; stream++)
        for (int rank = 0; rank < PAIR; rank++) {
            const quern_ragged_all_to_all_args args = exchange_args(&bench, rank);
            check_status(quern_barrier(group.group[rank], NULL, (void *)stream), QUERN_NOT_SUPPORTED);
            expect_detail("*: the stream is the default stream of cuda:0, which ranks of this process share: expected a stream "
                          "of its own for each, since their kernels wait for each other");
            check_status(quern_ragged_all_to_all(group.group[rank], &args, bench.workspace[rank], WORKSPACE, (void *)stream),
                         QUERN_NOT_SUPPORTED);
        }
    meet(&group);
}

/* Ranks of which each has a GPU may use its default stream. */
Test(launch_cuda, a_rank_alone_on_its_gpu_may_use_the_default_stream) {
    OPEN_GROUP(group, .ranks = PAIR);
    for (uintptr_t stream = 0; stream < 3; stream++) {
        for (int rank = 0; rank < PAIR; rank++) check_ok(quern_barrier(group.group[rank], NULL, (void *)stream));
        for (int rank = 0; rank < PAIR; rank++) {
            device_use(&group.device[rank]);
            CUDA(cuStreamSynchronize((void *)stream));
        }
        gpu_group_expect(&group, QUERN_OK, NULL);
    }
}

Test(launch_cuda, ranks_that_share_a_gpu_need_queues_of_their_own) {
    static const struct {
        const char *connections;
        int queues;  /* 0: enough */
    } cases[] = {{"1", 1}, {"2", 0}, {"", 0}, {"0", 0}, {"40", 0}};
    struct gpu_group group CLOSED_BY(gpu_group_close);
    open_shared(&group);
    for (size_t i = 0; i < COUNT(cases); i++) {
        quern_group_args args[PAIR];
        quern_group *handles[PAIR];
        char name[64], pattern[300];
        snprintf(name, sizeof name, "queues.%d.%zu", (int)getpid(), i);
        for (int rank = 0; rank < PAIR; rank++)
            args[rank] = (quern_group_args)GROUP_ARGS(.rank = rank, .ranks = PAIR, .name = name, .share_gpu = 1,
                                                      .device = group.device[rank].quern);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", cases[i].connections, 1);
        check_status(quern_group_create(args, PAIR, handles), cases[i].queues ? QUERN_NOT_SUPPORTED : QUERN_OK);
        snprintf(pattern, sizeof pattern,
                 "*: 2 ranks of this process share cuda:0, whose streams have %d hardware queues: expected "
                 "one for each rank; set CUDA_DEVICE_MAX_CONNECTIONS (at most 32) before the process uses CUDA", cases[i].queues);
        if (cases[i].queues) expect_detail(pattern);
        for (int rank = 0; rank < PAIR && !cases[i].queues; rank++) check_ok(quern_group_destroy(handles[rank]));
    }
}

/*
 * With one queue the groups of a process must launch in the same order on every GPU.  That of the copy of the first group, which
 * waits for its entry, keeps the entry of the second from starting.
 */
static void run_in_one_queue(bool same_order) {
    struct gpu_group groups[PAIR];
    struct gpu_bench benches[PAIR];
    for (int i = 0; i < PAIR; i++)
        gpu_bench_begin(&benches[i], &groups[i], (struct gpu_group_options){.ranks = PAIR, .timeout = same_order ? 20 : 0.3,
                                                                            .machine.connections = 1});
    for (int turn = 0; turn < PAIR; turn++)
        for (int gpu = 0; gpu < PAIR; gpu++) check_ok(exchange(&benches[same_order ? turn : (turn + gpu) % PAIR], gpu));
    for (int i = 0; i < PAIR; i++) gpu_group_synchronize(&groups[i]);
    int late = 0;  /* when one group has given up, the other may still be in time */
    for (int i = 0; i < PAIR; i++) late += quern_group_status(groups[i].group[0]) == QUERN_PEER_TIMEOUT;
    check(!late == same_order, "%d groups ended at the limit", late);
    for (int i = 0; i < PAIR; i++) gpu_bench_close_all(&benches[i]);
}

Test(launch_cuda, groups_in_one_queue_launch_in_one_order) { run_in_one_queue(true); }
Test(launch_cuda, groups_in_one_queue_and_two_orders_end_at_the_limit) { run_in_one_queue(false); }

/* ---- the driver's calls ---- */

/* Is it captured; which stream is it; launches; where does it end. */
enum { BARRIER_CALLS = 4, EXCHANGE_CALLS = 5 };

static long calls_of_barrier(const struct gpu_group *group, int rank) {
    cuda_fail_call(0, 0);
    check_ok(quern_barrier(group->group[rank], NULL, group->device[rank].stream));
    return cuda_calls();
}

static long calls_of_plan(const struct gpu_group *group, quern_ragged_plan *plan, int rank) {
    cuda_fail_call(0, 0);
    check_ok(quern_ragged_plan_run(plan, group->device[rank].stream));
    return cuda_calls();
}

Test(launch_cuda, a_launch_takes_few_calls_of_the_driver) {
    quern_ragged_plan *plans[PAIR];
    OPEN_BENCH((struct gpu_group_options){.ranks = PAIR});
    plan(&bench, plans);
    for (int round = 0; round < 3; round++)
        for (int rank = 0; rank < PAIR; rank++) {
            device_use(&group.device[rank]);
            const long barrier = calls_of_barrier(&group, rank), exchange = calls_of_plan(&group, plans[rank], rank);
            /* The first call finds out of which context the stream is. */
            check(barrier == BARRIER_CALLS + !round && exchange == EXCHANGE_CALLS, "round %d: %ld and %ld calls of the driver",
                  round, barrier, exchange);
        }
    gpu_group_expect(&group, QUERN_OK, NULL);
    for (int rank = 0; rank < PAIR; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

/* The context of another GPU is current, or none: the launch makes the right one current, and restores the caller's. */
Test(launch_cuda, any_context_may_be_current) {
    quern_ragged_plan *plans[PAIR];
    OPEN_BENCH((struct gpu_group_options){.ranks = PAIR});
    plan(&bench, plans);
    for (int with = 0; with < 3; with++) {
        for (int rank = 0; rank < PAIR; rank++) {
            if (with == 2) CUDA(cuCtxSetCurrent(NULL));
            else device_use(&group.device[with]);
            check_ok(quern_barrier(group.group[rank], NULL, group.device[rank].stream));
            check_ok(quern_ragged_plan_run(plans[rank], group.device[rank].stream));
            check_ok(exchange(&bench, rank));
            void *current = NULL;
            CUDA(cuCtxGetCurrent(&current));
            check(current == (with == 2 ? NULL : group.device[with].context), "the current context has changed");
        }
        gpu_group_expect(&group, QUERN_OK, NULL);
    }
    for (int rank = 0; rank < PAIR; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

/* ---- errors that end a context ---- */

enum { ILLEGAL_ADDRESS = 700, OUT_OF_MEMORY = 2 };

/* Rank 1 waits in its kernel.  Rank 0's call of the driver with this number fails. */
static void fail_in(struct gpu_group *group, const struct gpu_bench *bench, int number, int error) {
    check_ok(exchange(bench, 1));
    device_use(&group->device[0]);
    cuda_fail_call(number, error);
    check_status(exchange(bench, 0), error == OUT_OF_MEMORY ? QUERN_OUT_OF_MEMORY : QUERN_CUDA_ERROR);
    cuda_fail_call(0, 0);
}

static void expect_lost(const struct gpu_group *group, const char *pattern) {
    const double began = rank_now();
    device_use(&group->device[1]);
    device_synchronize(&group->device[1]);
    check(rank_now() - began < SOON, "the other rank waited %g s", rank_now() - began);
    for (int rank = 0; rank < PAIR; rank++) check_status(quern_group_status(group->group[rank]), QUERN_PEER_LOST);
    expect_detail(pattern);
}

/* Each of the driver's calls of an exchange in turn. */
Test(launch_cuda, a_context_that_has_ended_poisons_the_group_at_once) {
    OPEN_BENCH((struct gpu_group_options){.ranks = PAIR, .timeout = 60});
    long calls = 1;
    for (int number = 1; number <= calls; number++) {
        begin_again(&bench);
        if (number == 1) {
            check_ok(exchange(&bench, 1));
            device_use(&group.device[0]);
            cuda_fail_call(0, 0);
            check_ok(exchange(&bench, 0));
            calls = cuda_calls() - 1;  /* the last one restores the caller's context */
            gpu_group_synchronize(&group);
        }
        fail_in(&group, &bench, number, ILLEGAL_ADDRESS);
        if (number == calls) break;  /* the event: rank 0's kernels have been launched, and both ranks may have ended */
        expect_lost(&group, "group *, rank 1: *rank 0 *CUDA_ERROR_ILLEGAL_ADDRESS (*");
    }
    check(calls > EXCHANGE_CALLS, "%ld calls of the driver", calls);
    expect_lost(&group, "group *, rank 1: the GPU of rank 0 has failed: cuEventRecord: CUDA_ERROR_ILLEGAL_ADDRESS (*");
}

/* After the entry, any failure of the launch of the copy leaves the others waiting at the exit. */
Test(launch_cuda, an_exchange_that_lacks_its_copy_poisons_the_group) {
    quern_ragged_plan *plans[PAIR];
    OPEN_BENCH((struct gpu_group_options){.ranks = PAIR, .timeout = 60});
    plan(&bench, plans);
    for (int rank = 0; rank < PAIR; rank++) check_ok(quern_ragged_plan_run(plans[rank], group.device[rank].stream));
    gpu_group_synchronize(&group);
    check_ok(quern_ragged_plan_run(plans[1], group.device[1].stream));
    device_use(&group.device[0]);
    check_failing(EXCHANGE_CALLS - 1, OUT_OF_MEMORY, quern_ragged_plan_run(plans[0], group.device[0].stream), QUERN_OUT_OF_MEMORY);
    expect_lost(&group, "group *, rank 1: rank 0 has entered an exchange and could not launch its copy: ragged_all_to_all__*: "
                "CUDA_ERROR_OUT_OF_MEMORY (*");
    for (int rank = 0; rank < PAIR; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

/* The caller cannot know that its barrier has been launched, and destroy waits without the event. */
Test(launch_cuda, an_operation_that_is_not_marked_poisons_the_group) {
    OPEN_GROUP(group, .ranks = PAIR, .timeout = 60);
    meet(&group);
    device_use(&group.device[0]);
    check_failing(BARRIER_CALLS, OUT_OF_MEMORY, quern_barrier(group.group[0], NULL, group.device[0].stream), QUERN_OUT_OF_MEMORY);
    for (int rank = 0; rank < PAIR; rank++) check_status(quern_group_status(group.group[rank]), QUERN_PEER_LOST);
    expect_detail("group *, rank 1: rank 0 has launched what it cannot wait for: cuEventRecord: CUDA_ERROR_OUT_OF_MEMORY (*");
    gpu_group_destroy(&group);
    gpu_group_synchronize(&group);  /* the kernel has not run without its pad */
    gpu_group_create(&group, 0, 0);
}

/* Of the errors that end a context, and of others. */
static const struct {
    int error;
    const char *name;  /* NULL: the context lives on */
} ends[] = {{ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {226, "*"}, {721, "*"}, {810, "*"}, {911, "*"}, {OUT_OF_MEMORY, NULL}};

static void *parts[PAIR];

static quern_status free_part(quern_group *group) { return quern_symmetric_free(group, parts[0], NULL); }

static quern_status expected_of(quern_status (*ask)(quern_group *group), int error, bool ends) {
    if (ask == quern_group_destroy) return QUERN_OK;
    if (ends) return QUERN_CUDA_ERROR;
    return ask == free_part && error == OUT_OF_MEMORY ? QUERN_OUT_OF_MEMORY : QUERN_OK;
}

/* The kernel has failed after its launch: the next question finds that, and tells the other rank why. */
static void fail_after_launch(int with, const char *call, quern_status (*ask)(quern_group *group)) {
    enum { AFTER_VISIT = 3 };  /* the calls that make the context current come first */
    char pattern[200];
    OPEN_GROUP(group, .ranks = PAIR, .timeout = 60);
    check_ok(quern_symmetric_alloc(group.group, PAIR, (size_t[PAIR]){1, 1}, parts));
    meet(&group);
    check_failing(AFTER_VISIT, ends[with].error, ask(group.group[0]), expected_of(ask, ends[with].error, ends[with].name));
    if (ask == quern_group_destroy) group.group[0] = NULL;
    check_status(quern_group_status(group.group[1]), ends[with].name ? QUERN_PEER_LOST : QUERN_OK);
    snprintf(pattern, sizeof pattern, "group *, rank 1: the GPU of rank 0 has failed: %s: %s (*", call,
             ends[with].name ? ends[with].name : "no error");
    if (ends[with].name) expect_detail(pattern);
}

#define TEST_ENDS(suite, name, ...) \
    Test(suite, name) { for (size_t with = 0; with < COUNT(ends); with++) fail_after_launch((int)with, __VA_ARGS__); }
TEST_ENDS(launch_cuda, the_status_tells_of_a_context_that_has_ended, "cuEventQuery", quern_group_status)
TEST_ENDS(launch_cuda, freeing_tells_of_a_context_that_has_ended, "cuStreamIsCapturing", free_part)
TEST_ENDS(launch_cuda, a_rank_tells_why_it_leaves, "cuEventSynchronize", quern_group_destroy)

/* What the driver refuses stays with it; the handle is gone, and other groups work. */
static void destroy_with_errors(void) {
    long calls = 1;
    OPEN_GROUP(group, .ranks = PAIR);
    for (long number = 1; number <= calls; number++) {
        meet(&group);
        cuda_fail_call(number, number % 2 ? OUT_OF_MEMORY : ILLEGAL_ADDRESS);
        gpu_group_destroy(&group);
        calls = cuda_calls();
        cuda_fail_call(0, 0);
        gpu_group_create(&group, 0, 0);
    }
    check(calls > 20, "%ld calls of the driver", calls);
}

Test(launch_cuda, destroy_survives_any_error_of_the_driver) { destroy_with_errors(); }
Test(launch_cuda, destroy_survives_any_error_by_pinned_memory) {
    setenv("QUERN_EMULATOR_PEERS", "none", 1);
    destroy_with_errors();
}

/* An error that leaves the context usable is the caller's: it may call again. */
Test(launch_cuda, a_failure_that_passes_poisons_nothing) {
    OPEN_GROUP(group, .ranks = PAIR);
    meet(&group);
    device_use(&group.device[0]);
    for (int number = 1; number < BARRIER_CALLS; number++)
        check_failing(number, OUT_OF_MEMORY, quern_barrier(group.group[0], NULL, group.device[0].stream), QUERN_OUT_OF_MEMORY);
    meet(&group);
}

/* ---- limits ---- */

/* A rank may compile kernels or write a checkpoint meanwhile. */
Test(launch_cuda, gpu_ranks_wait_half_an_hour_by_default) {
    struct quern_membership *member;
    quern_group *alone;
    OPEN_GROUP(group, .ranks = PAIR);
    quern_group_args args = GROUP_ARGS(.device = group.device[0].quern, .name = "launch.alone", .ranks = 1);
    check_ok(quern_group_create(&args, 1, &alone));
    check_ok(quern_member_of(alone, &member));
    check(member->timeout == 30 * 60, "%g s", member->timeout);
    check_ok(quern_group_destroy(alone));
}

/* ---- a display's watchdog ---- */

/* It would end the kernel after six seconds, and the context with it. */
Test(launch_cuda, a_wait_ends_before_the_watchdog_ends_the_kernel) {
    setenv("QUERN_EMULATOR_WATCHDOG", "6", 1);
    OPEN_GROUP(group, .ranks = PAIR, .timeout = 60);
    check_ok(quern_barrier(group.group[0], NULL, group.device[0].stream));
    gpu_group_expect(&group, QUERN_PEER_TIMEOUT, "");
    expect_detail("*: quern_barrier: rank 0 waited 2* s on its GPU for rank 1 (*");
    gpu_group_destroy(&group);
    gpu_group_create(&group, 0.2, 0);
    check_ok(quern_barrier(group.group[0], NULL, group.device[0].stream));
    gpu_group_expect(&group, QUERN_PEER_TIMEOUT, "");
    expect_detail("*: quern_barrier: rank 0 waited 0.2* s on its GPU for rank 1 (*");
}
