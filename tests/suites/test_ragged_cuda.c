/*
 * Ragged all-to-all between GPU ranks that one thread drives: which rows arrive where, which bytes stay unchanged, and that a
 * mistake of one rank is reported to all and writes nothing.  Each in three forms: metadata on the host, on the device, and in a
 * plan.
 *
 * Runs on: emulated, gpu; kernels of barrier, ragged_all_to_all.
 */
#include <sched.h>
#include <time.h>

#include "harness/gpu_bench.h"
#include "harness/ragged_case.h"
#include "harness/random.h"

enum { WORKSPACE = 1 << 20 };

/* The location of the metadata. */
enum metadata { ON_HOST, ON_DEVICE, IN_PLAN };

static void open_case(struct ragged_case *c, const struct gpu_bench *bench, uint64_t seed, struct ragged_choice choice,
                      bool in_place) {
    choice.ranks = bench->group->ranks, choice.shares_thread = true;
    choice.in_place = in_place, choice.not_in_place = !in_place;
    ragged_case_open(c, seed, choice);
}

static void run_case(struct ragged_case *c, struct gpu_bench *bench, enum metadata where) {
    c->metadata_on_device = where == ON_DEVICE;
    if (where == IN_PLAN) ragged_case_plan(c, bench->of, 2);
    else ragged_case_run(c, bench->of);
}

/* ---- metadata from the sizes ---- */

/* Rank r sends r + p rows to rank p.  One thread drives all. */
Test(ragged_cuda, sizes_of_ranks_that_one_thread_drives) {
    enum { RANKS = 3 };
    quern_ragged_sizes_args args[RANKS];
    int32_t sent[RANKS][RANKS], from[RANKS][RANKS], to[RANKS][RANKS], received[RANKS][RANKS];
    int64_t rows[RANKS];
    OPEN_GROUP(group, .ranks = RANKS);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int peer = 0; peer < RANKS; peer++) sent[rank][peer] = rank + peer;
        args[rank] = (quern_ragged_sizes_args)RAGGED_SIZES_ARGS(
            .send_sizes = sent[rank], .input_offsets = from[rank], .output_offsets = to[rank], .recv_sizes = received[rank],
            .output_rows = &rows[rank]);
    }
    check_ok(quern_ragged_sizes(group.group, RANKS, args));
    const int32_t in[RANKS][RANKS] = {{0, 0, 1}, {0, 1, 3}, {0, 2, 5}}, out[RANKS][RANKS] = {{0, 0, 0}, {0, 1, 2}, {1, 3, 5}};
    check(!memcmp(from, in, sizeof in) && !memcmp(to, out, sizeof out) && !memcmp(received, sent, sizeof sent), "other metadata");
    for (int rank = 0; rank < RANKS; rank++)
        check(rows[rank] == 3 + 3 * rank, "rank %d gets %lld rows", rank, (long long)rows[rank]);

    sent[1][2] = -7;
    check_status(quern_ragged_sizes(group.group, RANKS, args), QUERN_INVALID_SHAPE);
    check(strstr(error_detail(), "rank 1: sender 1, receiver 2, update 0: args.send_sizes is -7"), "%s", error_detail());
}

/* ---- random metadata ---- */

/* Every fourth case is in place, every second has all ranks as members. */
static void run_random(struct gpu_group_options options, int cases, enum metadata where) {
    options.first_epoch = 0xFFFFFFF0;
    OPEN_BENCH(options);
    for (int i = 0; i < cases; i++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        open_case(&c, &bench, (uint64_t)(1000 * options.ranks + i), (struct ragged_choice){.everyone = where == IN_PLAN},
                  i % 4 == 3);
        run_case(&c, &bench, where);
    }
}

#define TEST_RANDOM(suite, name, cases, where, ...) \
    Test(suite, name) { run_random((struct gpu_group_options){__VA_ARGS__}, (int)(cases), where); }
TEST_RANDOM(ragged_cuda, random_metadata_on_the_host, test_size(1000, 150), ON_HOST, .ranks = 3)
TEST_RANDOM(ragged_cuda, random_metadata_on_the_device, test_size(1000, 150), ON_DEVICE, .ranks = 4)
TEST_RANDOM(ragged_cuda, random_metadata_in_plans, test_size(300, 60), IN_PLAN, .ranks = 3)
TEST_RANDOM(ragged_cuda, random_metadata_with_multicast, test_size(300, 60), ON_DEVICE, .ranks = 4, .machine.multicast = true)
TEST_RANDOM(ragged_cuda, many_ranks_share_gpus, 1, IN_PLAN, .ranks = 33,
            .machine = {.devices = 2, .multiprocessors = 16}, .timeout = 200)
TEST_RANDOM(ragged_cuda, one_rank, 12, ON_HOST, .ranks = 1, .machine.devices = 8)
TEST_RANDOM(ragged_cuda, two_ranks, 12, ON_HOST, .ranks = 2, .machine.devices = 8)
TEST_RANDOM(ragged_cuda, five_ranks, 12, ON_HOST, .ranks = 5, .machine.devices = 8)
TEST_RANDOM(ragged_cuda, eight_ranks, 12, ON_HOST, .ranks = 8, .machine.devices = 8)
TEST_RANDOM(ragged_cuda, four_ranks_share_a_gpu, 8, ON_HOST, .ranks = 4, .machine = {.devices = 1, .multiprocessors = 4})
TEST_RANDOM(ragged_cuda, four_ranks_share_a_gpu_that_has_the_metadata, 8, ON_DEVICE, .ranks = 4,
            .machine = {.devices = 1, .multiprocessors = 4})
TEST_RANDOM(ragged_cuda, four_plans_share_a_gpu, 8, IN_PLAN, .ranks = 4, .machine = {.devices = 1, .multiprocessors = 4})

/* ---- completeness ---- */

enum { LONG = 100000 };

static void enqueue_one_way(const struct gpu_bench *bench, int rank, int sender) {
    const struct rank_bench *one = &bench->of[rank];
    int32_t zeros[2] = {0, 0}, gives[2] = {0, 0}, takes[2] = {0, 0};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    if (rank == sender) gives[1 - sender] = LONG;
    else takes[sender] = LONG;
    device_use(&bench->group->device[rank]);
    args.input = one->pool[POOL_PRIVATE], args.output = one->pool[POOL_SYMMETRIC];
    args.input_rows = args.output_rows = LONG, args.row_bytes = 1, args.multiprocessors = 1;
    args.input_offsets = args.output_offsets = zeros, args.send_sizes = gives, args.recv_sizes = takes;
    check_ok(ragged_call(one, &args, bench->workspace_bytes));
}

/* The receiver's stream copies its output directly after its own operation. */
static void check_completeness(struct gpu_bench *bench, int sender, unsigned char *sent, unsigned char *found) {
    const struct test_device *from = &bench->group->device[sender], *to = &bench->group->device[1 - sender];
    const cuda_pointer output = (uintptr_t)bench->of[1 - sender].pool[POOL_SYMMETRIC];
    const cuda_pointer copy = (uintptr_t)bench->of[1 - sender].pool[POOL_PRIVATE];
    for (int i = 0; i < LONG; i++) sent[i] = (unsigned char)random_bits((uint64_t)sender, (uint64_t)i);
    device_use(from);
    CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)bench->of[sender].pool[POOL_PRIVATE], sent, LONG, from->stream));
    device_synchronize(from);
    for (int rank = 0; rank < 2; rank++) enqueue_one_way(bench, rank, sender);
    device_use(to);
    CUDA(cuMemcpyDtoDAsync_v2(copy, output, LONG, to->stream));
    device_synchronize(to);  /* before the sender: the emulator runs the rest of a stream's work when it is waited for */
    gpu_group_synchronize(bench->group);
    device_use(to);
    CUDA(cuMemcpyDtoHAsync_v2(found, copy, LONG, to->stream));
    device_synchronize(to);
    check(!memcmp(sent, found, LONG), "rank %d's operation ended before all had come", 1 - sender);
}

/*
 * Each rank is the sender once.  Only a GPU is certain to expose a missing exit barrier: an emulated sender copies without a
 * pause, and the rest of the receiver's stream waits for it.  The models of tests/model/ always find a missing exit barrier.
 */
Test(ragged_cuda, an_output_is_complete_when_the_operation_ends) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    SCOPED unsigned char *sent = malloc(LONG), *found = malloc(LONG);
    for (int sender = 0; sender < 2; sender++) check_completeness(&bench, sender, sent, found);
}

/* ---- copies ---- */

/* A case of one member with byte-sized rows: slice i has any source and destination within 32 bytes, and any length. */
static void align_slices(struct ragged_case *c, int64_t length) {
    struct ragged_case_member *member = &c->members[0];
    int64_t row = 0;
    for (int64_t i = 0; i < c->updates; i++) {
        row = (row + 31) / 32 * 32 + i / 32 % 32;
        member->send_sizes[i] = member->recv_sizes[i] = length + i % 3;
        member->output_offsets[i] = row;
        member->input_offsets[i] = 320 - length % 32 + i % 32;
        row += member->send_sizes[i];
    }
    member->output.rows = row;
    member->input.rows = 400 + length;
}

Test(ragged_cuda, every_byte_alignment) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 1});
    static const int64_t lengths[] = {0, 1, 14, 15, 16, 17, 30, 31, 32, 33, 47, 63, 64, 65, 100, 511, 512, 600};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        ragged_case_open(&c, i, (struct ragged_choice){.ranks = 1, .updates = 1024, .row_bytes = 1, .largest = 1,
                                                       .shares_thread = true});
        align_slices(&c, lengths[i]);
        ragged_case_arrange(&c, (struct ragged_choice){.shares_thread = true, .not_in_place = true});
        run_case(&c, &bench, ON_HOST);
    }
}

/* Large slices divided among many blocks, next to small ones that many blocks assign to one warp each. */
Test(ragged_cuda, large_and_small_slices) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .pool = 16 << 20});
    for (uint64_t i = 0; i < 6; i++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        open_case(&c, &bench, 40 + i,
                  i % 2 ? (struct ragged_choice){.row_bytes = 4097, .updates = 2, .largest = 300, .everyone = true}
                        : (struct ragged_choice){.row_bytes = 3, .updates = 2000, .largest = 9, .everyone = true},
                  i == 5);
        run_case(&c, &bench, (enum metadata)(i % 3));
    }
}

/* The driver copies pageable memory in pieces of 64 KiB. */
Test(ragged_cuda, metadata_of_several_pieces) {
    struct ragged_case c CLOSED_BY(ragged_case_close);
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .workspace = 4 * WORKSPACE});
    open_case(&c, &bench, 4200, (struct ragged_choice){.row_bytes = 4, .updates = 4200, .largest = 2, .everyone = true}, false);
    c.is_int64 = true;
    run_case(&c, &bench, ON_HOST);
}

/*
 * The entry is one block.  The copy has as many as its bytes can occupy, of those that it may use: at most 16 by default, or 32.  A
 * plan knows the bytes of the slices, and has the same.
 */
Test(ragged_cuda, small_exchanges_use_few_blocks) {
    static const struct {
        int bytes, multiprocessors, blocks;
    } cases[] = {{80, 4, 1}, {80, 0, 1}, {16383, 0, 1}, {16384, 0, 2}, {40000, 4, 3}, {40000, 2, 2}, {40000, 1, 1}, {40000, 0, 3},
                 {250000, 0, 16}, {1048576, 0, 16}, {1048576, 17, 17}, {1048576, 32, 32}, {1048576, 33, 32}, {1048576, 1000, 32}};
    OPEN_BENCH((struct gpu_group_options){.ranks = 1, .machine.multiprocessors = 8});
    for (size_t i = 0; i < COUNT(cases) && cuda_blocks() >= 0; i++) {
        quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        args.row_bytes = 1, args.updates = 1, args.multiprocessors = cases[i].multiprocessors;
        args.input_rows = args.output_rows = cases[i].bytes;
        args.input = bench.of[0].pool[POOL_PRIVATE], args.output = bench.of[0].pool[POOL_SYMMETRIC];
        const int32_t none[1] = {0}, all[1] = {cases[i].bytes};
        args.input_offsets = args.output_offsets = none, args.send_sizes = args.recv_sizes = all;
        quern_ragged_plan *plan;
        check_ok(quern_ragged_plan_create(group.group, 1, &args, &bench.of[0].workspace, &(size_t){WORKSPACE}, &plan));
        for (int planned = 0; planned < 2; planned++) {
            const long long before = cuda_blocks();
            check_ok(planned ? quern_ragged_plan_run(plan, bench.of[0].stream) : ragged_call(&bench.of[0], &args, WORKSPACE));
            gpu_group_synchronize(&group);
            check(cuda_blocks() - before == 1 + cases[i].blocks, "%d bytes, %d multiprocessors%s: %lld blocks, expected 1 and %d",
                  cases[i].bytes, cases[i].multiprocessors, planned ? " in a plan" : "", cuda_blocks() - before,
                  cases[i].blocks);
        }
        check_ok(quern_ragged_plan_destroy(plan));
    }
}

Test(ragged_cuda, nothing_to_send) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 3});
    static const struct ragged_choice choices[] = {{.updates = -1, .everyone = true}, {.largest = 0, .everyone = true}};
    for (size_t i = 0; i < 2 * COUNT(choices); i++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        open_case(&c, &bench, i, choices[i % 2], i > 1);
        for (int place = 0; i % 2 && place < c.count; place++) {
            memset(c.members[place].send_sizes, 0, (size_t)(c.count * c.updates) * sizeof(int64_t));
            memset(c.members[place].recv_sizes, 0, (size_t)(c.count * c.updates) * sizeof(int64_t));
        }
        for (int where = 0; where <= IN_PLAN; where++) run_case(&c, &bench, (enum metadata)where);
    }
}

/* Rows of zero bytes, and ranks without rows: all pointers may be NULL. */
Test(ragged_cuda, rows_of_no_bytes_need_no_memory) {
    static const int32_t offsets[2] = {0, 0}, sizes[2] = {3, 3}, none[2] = {0, 0};
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    for (int round = 0; round < 2; round++) {
        for (int rank = 0; rank < 2; rank++) {
            quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.row_bytes = round ? 8 : 0);
            args.input_rows = args.output_rows = round ? 0 : 3;
            args.input_offsets = args.output_offsets = offsets;
            args.send_sizes = args.recv_sizes = round ? none : sizes;
            check_ok(ragged_call(&bench.of[rank], &args, WORKSPACE));
        }
        gpu_group_expect(&group, QUERN_OK, NULL);
    }
}

/* ---- one call after the other ---- */

/* Many calls with different members and numbers of updates, enqueued before the first one starts. */
Test(ragged_cuda, calls_follow_each_other_in_the_stream) {
    enum { CALLS = 24 };
    static struct ragged_case cases[CALLS];
    OPEN_BENCH((struct gpu_group_options){.ranks = 4});
    struct ragged_case whole CLOSED_BY(ragged_case_close);
    size_t bytes;
    open_case(&whole, &bench, 1, (struct ragged_choice){.everyone = true}, false);
    for (int i = 0; i < CALLS; i++) {
        open_case(&cases[i], &bench, (uint64_t)(500 + i), (struct ragged_choice){.row_bytes = 100}, i % 5 == 4);
        if (cases[i].pool_bytes > whole.pool_bytes) whole.pool_bytes = cases[i].pool_bytes;
    }
    ragged_case_fill(&whole, bench.of, 0);
    for (int i = 0; i < CALLS; i++) {
        ragged_case_expect(&cases[i], bench.of, 0);
        ragged_case_call(&cases[i], bench.of, &bytes);
    }
    ragged_case_compare(&whole, bench.of, "after 24 calls");
    for (int i = 0; i < CALLS; i++) ragged_case_close(&cases[i]);
}

/* The same slices, from other rows of the input. */
static void shift_inputs(struct ragged_case *c, int by) {
    for (int place = 0; place < c->count; place++) {
        const struct ragged_case_member *member = &c->members[place];
        for (int64_t entry = 0; entry < c->count * c->updates; entry++)
            member->input_offsets[entry] = (member->input_offsets[entry] + by)
                % (member->input.rows - member->send_sizes[entry] + 1);
    }
}

/* The replays read the metadata that are then on the device. */
Test(ragged_cuda, a_captured_call_is_replayed_with_other_metadata) {
    struct gpu_replay replay;
    struct ragged_case c;
    struct ragged_arguments arguments[3];
    OPEN_BENCH((struct gpu_group_options){.ranks = 3, .first_epoch = 0xFFFFFFF0});
    open_case(&c, &bench, 900, (struct ragged_choice){.updates = 3, .row_bytes = 40, .everyone = true}, false);
    c.metadata_on_device = true;
    for EACH_BENCH(one, bench.of) ragged_arguments_open(&arguments[one->rank->rank], &c, one, one->rank->rank);
    gpu_group_begin_capture(&group);
    for EACH_BENCH(one, bench.of) check_ok(ragged_call(one, &arguments[one->rank->rank].args, WORKSPACE));
    gpu_group_end_capture(&group, &replay);
    for (int turn = 0; turn < 10; turn++) {
        shift_inputs(&c, turn);
        for EACH_BENCH(one, bench.of) {
            ragged_arguments_close(&arguments[one->rank->rank]);
            ragged_arguments_open(&arguments[one->rank->rank], &c, one, one->rank->rank);  /* writes them */
        }
        ragged_case_fill(&c, bench.of, (uint64_t)turn);
        ragged_case_expect(&c, bench.of, (uint64_t)turn);
        gpu_group_replay(&group, &replay, 10);
        ragged_case_compare(&c, bench.of, "replayed ten times");
    }
    for (int rank = 0; rank < 3; rank++) ragged_arguments_close(&arguments[rank]);
    ragged_case_close(&c);
    gpu_group_close_replay(&group, &replay);
}

Test(ragged_cuda, a_captured_plan_is_replayed) {
    struct gpu_replay replay;
    struct ragged_case c CLOSED_BY(ragged_case_close);
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    size_t bytes;
    OPEN_BENCH((struct gpu_group_options){.ranks = 4});
    open_case(&c, &bench, 77, (struct ragged_choice){.everyone = true, .updates = 4, .row_bytes = 31}, true);
    ragged_case_make_plans(&c, bench.of, plans, &bytes);
    gpu_group_begin_capture(&group);
    ragged_case_run_plans(bench.of, plans);
    gpu_group_end_capture(&group, &replay);
    ragged_case_fill(&c, bench.of, 0);
    /* In place: each round moves the rows that the previous one moved. */
    for (int turn = 0; turn < 100; turn++) ragged_case_expect(&c, bench.of, 0);
    gpu_group_replay(&group, &replay, 100);
    ragged_case_compare(&c, bench.of, "replayed a hundred times");
    gpu_group_close_replay(&group, &replay);
    for (int rank = 0; rank < group.ranks; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

static void wait_for_leave(void *user) { while (!__atomic_load_n((int *)user, __ATOMIC_ACQUIRE)) sched_yield(); }

static void *give_leave_soon(void *user) {
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    __atomic_store_n((int *)user, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A plan is destroyed while a graph with a run of it is held up in the streams. */
Test(ragged_cuda, a_plan_is_kept_until_its_graphs_have_run) {
    struct gpu_replay replay;
    struct ragged_case c CLOSED_BY(ragged_case_close);
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    size_t bytes;
    pthread_t thread;
    int go_on = 0;
    if (!cuda()->cuLaunchHostFunc) cr_skip_test("needs host functions");
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    open_case(&c, &bench, 78, (struct ragged_choice){.everyone = true}, false);
    ragged_case_make_plans(&c, bench.of, plans, &bytes);
    gpu_group_begin_capture(&group);
    ragged_case_run_plans(bench.of, plans);
    gpu_group_end_capture(&group, &replay);
    for (int rank = 0; rank < group.ranks; rank++) {
        device_use(&group.device[rank]);
        CUDA(cuLaunchHostFunc(group.device[rank].stream, wait_for_leave, &go_on));
        CUDA(cuGraphLaunch(replay.executable[rank], group.device[rank].stream));
    }
    check(pthread_create(&thread, NULL, give_leave_soon, &go_on) == 0, "no thread");
    check_ok(quern_ragged_plan_destroy(plans[0]));
    check(__atomic_load_n(&go_on, __ATOMIC_ACQUIRE), "the plan was destroyed before its graph had run");
    pthread_join(thread, NULL);
    check_ok(quern_ragged_plan_destroy(plans[1]));
    gpu_group_synchronize(&group);
    gpu_group_close_replay(&group, &replay);
}

Test(ragged_cuda, metadata_on_the_host_cannot_be_captured) {
    struct gpu_replay replay;
    struct ragged_case c CLOSED_BY(ragged_case_close);
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    open_case(&c, &bench, 5, (struct ragged_choice){.everyone = true, .updates = 1}, false);
    struct ragged_arguments arguments CLOSED_BY(ragged_arguments_close);
    ragged_arguments_open(&arguments, &c, bench.of, 0);
    gpu_group_begin_capture(&group);
    check_refused(ragged_call(bench.of, &arguments.args, WORKSPACE), QUERN_NOT_SUPPORTED, "captured");
    gpu_group_end_capture(&group, &replay);
    gpu_group_close_replay(&group, &replay);
    /* Neither is what a refused call tells the other ranks: the graph of one is empty. */
    arguments.args.check_overlap = 2;
    gpu_group_begin_capture(&group);
    check_status(ragged_call(bench.of, &arguments.args, WORKSPACE), QUERN_INVALID_ARGUMENT);
    gpu_group_end_capture(&group, &replay);
    gpu_group_replay(&group, &replay, 1);
    gpu_group_close_replay(&group, &replay);
    gpu_group_expect(&group, QUERN_OK, NULL);
    run_case(&c, &bench, ON_HOST);  /* the group is still usable */
}
