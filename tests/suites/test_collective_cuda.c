/*
 * Collectives of GPU ranks that one thread drives: the bits of every result, the bytes that stay unchanged, and that calls follow
 * each other in any order of sizes and members.
 *
 * Runs on: emulated, gpu; kernels of barrier, collective.
 */
#include "harness/collective_case.h"
#include "harness/gpu_bench.h"
#include "harness/random.h"
#include "kernels/collective_problem.h"
#include "runtime/device.h"

enum { PREPARED = QUERN_BARRIER | QUERN_COLLECTIVE, POOL = 1 << 18 };

enum { REDUCE = 1 + COLLECTIVE_ALL_REDUCE, SCATTER = 1 + COLLECTIVE_REDUCE_SCATTER };

#define MULTICAST .machine.multicast = true, .multicast = true

static const quern_dtype floats[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

/* The longest small call of a dtype, in elements. */
static int64_t most_small(const struct gpu_group *group, quern_dtype dtype) {
    return (int64_t)quern_slot_bytes((uint32_t)group->ranks) / (int64_t)quern_dtype_bytes(dtype);
}

/* A case as GPUs of one host need it. */
static void open_case(struct collective_case *c, const struct gpu_bench *bench, uint64_t seed, struct collective_choice choice) {
    choice.ranks = bench->group->ranks, choice.shares_thread = true;
    collective_case_open(c, seed, choice);
}

static void run_case(struct gpu_bench *bench, uint64_t seed, struct collective_choice choice) {
    struct collective_case c;
    open_case(&c, bench, seed, choice);
    collective_case_run(&c, bench->of);
}

/* ---- random calls ---- */

static void run_random(struct gpu_group_options options, int small, int large) {
    options.first_epoch = 0xFFFFFFF0;
    const int64_t slot = (int64_t)quern_slot_bytes((uint32_t)options.ranks);
    options.prepared = PREPARED, options.pool = (size_t)(2 * options.ranks * (slot + 8192) + 8192);
    OPEN_BENCH(options);
    for (int i = 0; i < small + large; i++) {
        const uint64_t seed = (uint64_t)(1000 * options.ranks + i);
        const int operation = 1 + (int)(seed % COLLECTIVE_OPERATIONS);
        const struct collective_choice large_one = {.operation = operation, .least = slot + 8, .most = slot + 6000},
                                       small_one = {.operation = operation, .most = i % 3 ? 700 : slot,
                                                    .is_private = random_bits(seed, 6) % 2};
        run_case(&bench, seed, i < small ? small_one : large_one);
    }
}

#define TEST_RANDOM(suite, name, small, large, ...) \
    Test(suite, name) { run_random((struct gpu_group_options){__VA_ARGS__}, (int)(small), (int)(large)); }
TEST_RANDOM(collective_cuda, random_small_calls, test_size(1000, 100), 0, .ranks = 4)
TEST_RANDOM(collective_cuda, random_large_calls, 0, test_size(400, 40), .ranks = 4)
TEST_RANDOM(collective_cuda, random_large_calls_of_many, 0, test_size(200, 16), .ranks = 7)
TEST_RANDOM(collective_cuda, random_calls_with_multicast, test_size(200, 12), test_size(200, 24), .ranks = 4, MULTICAST)
TEST_RANDOM(collective_cuda, four_ranks_share_a_gpu, 12, 8, .ranks = 4, .machine = {.devices = 1, .multiprocessors = 8})
TEST_RANDOM(collective_cuda, many_ranks_share_gpus, 4, 4, .ranks = 33,
            .machine = {.devices = 2, .multiprocessors = 24}, .timeout = 200)
TEST_RANDOM(collective_cuda, one_rank, 8, 4, .ranks = 1, .machine.devices = 8)
TEST_RANDOM(collective_cuda, two_ranks, 8, 8, .ranks = 2, .machine.devices = 8)
TEST_RANDOM(collective_cuda, three_ranks, 8, 8, .ranks = 3, .machine.devices = 8)
TEST_RANDOM(collective_cuda, eight_ranks, 8, 8, .ranks = 8, .machine.devices = 8)

/* The exchange that other calls take: of a small call anywhere, of a large one in symmetric memory. */
Test(collective_cuda, gathers_of_bytes) {
    enum { RANKS = 3, LARGE = 1 << 17 };
    static const size_t sizes[] = {4, 64 * 9, LARGE};
    OPEN_BENCH((struct gpu_group_options){.ranks = RANKS, .prepared = PREPARED, .pool = (RANKS + 1) * LARGE});
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int pool = sizes[i] == LARGE ? POOL_SYMMETRIC : POOL_PRIVATE;
        for (int rank = 0; rank < RANKS; rank++) rank_bench_fill((uint64_t)rank, 0, bench.of[rank].image[pool], LARGE);
        for (int rank = 0; rank < RANKS; rank++) rank_bench_show(&bench.of[rank], LARGE);
        for (int rank = 0; rank < RANKS; rank++) {
            quern_group_gather_args args = QUERN_GROUP_GATHER_ARGS_INIT;
            args.group = group.group[rank];
            unsigned char *const mine = bench.of[rank].pool[pool];
            check_ok(quern_group_gather(&args, mine, mine + LARGE, sizes[i], bench.of[rank].stream));
        }
        for (int rank = 0; rank < RANKS; rank++) {
            rank_bench_look(&bench.of[rank], (RANKS + 1) * LARGE);
            for (int from = 0; from < RANKS; from++)
                check(!memcmp(bench.of[rank].image[pool] + LARGE + (size_t)from * sizes[i], bench.of[from].image[pool], sizes[i]),
                      "%zu bytes of rank %d at rank %d", sizes[i], from, rank);
        }
    }
}

/* ---- sizes ---- */

/* From one element to more than a vector, and on both sides of the longest small call. */
static void run_sizes(struct gpu_bench *bench, enum collective_operation operation, quern_dtype dtype) {
    const int64_t most = most_small(bench->group, dtype);
    static const int64_t around[] = {-1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129};
    for (size_t i = 0; i < 2 * COUNT(around); i++)
        run_case(bench, 100 * i + dtype,
                 (struct collective_choice){.everyone = true, .operation = 1 + (int)operation, .dtype = dtype, .in_place = i % 2,
                                            .not_in_place = i % 2 == 0, .elements = i < COUNT(around)
                                                ? around[i] : most - 2 + around[i - COUNT(around)] + (i == COUNT(around))});
}

Test(collective_cuda, sizes_around_vectors_and_slots) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 3, .prepared = PREPARED, .pool = POOL});
    for (int operation = 0; operation < COLLECTIVE_OPERATIONS; operation++)
        for (size_t i = 0; i < COUNT(floats); i++)
            if (!test_is_small() || (size_t)operation % COUNT(floats) == i || operation == COLLECTIVE_ALL_REDUCE)
                run_sizes(&bench, (enum collective_operation)operation, floats[i]);
}

/* Shares of the elements end at lines: with few more lines than ranks some ranks have less than others, or nothing. */
Test(collective_cuda, shares_of_many_ranks) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 24, .machine = {.devices = 4, .multiprocessors = 16}, .prepared = PREPARED,
                                          .pool = POOL / 2});
    for (int i = 0; i < 4; i++)
        run_case(&bench, (uint64_t)i,
                 (struct collective_choice){.everyone = true, .dtype = QUERN_F32, .not_in_place = true,
                                            .operation = 1 + (i % 2 ? COLLECTIVE_BROADCAST : COLLECTIVE_ALL_REDUCE),
                                            .elements = most_small(&group, QUERN_F32) + 1 + 31 * i});
}

/* Of two ranks: a small call is one launch of one block, a large one an entry of one and a pass of as many as have work. */
Test(collective_cuda, blocks_and_launches) {
    enum { GATHER = 1 + COLLECTIVE_ALL_GATHER };
    static const struct {
        int64_t bytes;
        int multiprocessors, launches, blocks, operation;
    } cases[] = {{0, 0, 2, 2, REDUCE},
                 {65536, 0, 2, 2, REDUCE},
                 {65544, 0, 4, 2 + 5 + 4, REDUCE},
                 {65544, 2, 4, 2 + 2 + 2, REDUCE},
                 {65544, 1, 4, 2 + 1 + 1, REDUCE},
                 {262144, 0, 4, 2 + 16 + 16, REDUCE},
                 {262144, 17, 4, 2 + 17 + 17, REDUCE},
                 {1048576, 1000, 4, 2 + 32 + 32, REDUCE},
                 {65544, 0, 4, 2 + 9 + 9, GATHER},    /* read once, written to both */
                 {65544, 0, 4, 2 + 9 + 9, SCATTER}};  /* read from both, written once */
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .machine.multiprocessors = 8, .prepared = PREPARED, .pool = 1 << 21});
    for (size_t i = 0; i < COUNT(cases) && cuda_blocks() >= 0; i++) {
        struct collective_case c;
        size_t none;
        open_case(&c, &bench, i, (struct collective_choice){.everyone = true, .dtype = QUERN_F32, .operation = cases[i].operation,
                                                            .in_place = cases[i].operation != GATHER,
                                                            .not_in_place = cases[i].operation == GATHER,
                                                            .elements = cases[i].bytes ? cases[i].bytes / 4 : -1});
        c.multiprocessors = cases[i].multiprocessors;
        const long long blocks = cuda_blocks(), launches = cuda_launches();
        collective_case_call(&c, bench.of, &none);
        gpu_group_synchronize(&group);
        check(cuda_launches() - launches == cases[i].launches && cuda_blocks() - blocks == cases[i].blocks,
              "%lld bytes, %d multiprocessors: %lld launches of %lld blocks, expected %d and %d", (long long)cases[i].bytes,
              cases[i].multiprocessors, cuda_launches() - launches, cuda_blocks() - blocks, cases[i].launches, cases[i].blocks);
    }
}

/* ---- sums of the switch ---- */

enum { OF_SWITCH = 160000 /* bytes */ };

/*
 * Calls of all of four ranks, of OF_SWITCH bytes but for the small one: how often the switch adds 16 bytes, and the blocks of a
 * rank's pass, with a switch and without one.
 */
static const struct switch_call {
    const char *name;
    int operation;
    quern_dtype dtype;
    int skew, apart;         /* bytes: of the input and the output from 64; of the output from that of the input */
    struct collective_choice choice;
    int64_t sums;
    int blocks, blocks_without;
} switch_calls[] = {
    {"all-reduce", REDUCE, QUERN_F32, 0, 0, {.not_in_place = true}, OF_SWITCH / 16, 3, 10},
    {"all-reduce in place", REDUCE, QUERN_F32, 0, 0, {.in_place = true}, OF_SWITCH / 16, 3, 10},
    {"all-reduce of f16", REDUCE, QUERN_F16, 0, 0, {.not_in_place = true}, OF_SWITCH / 16, 3, 10},
    {"all-reduce of bf16", REDUCE, QUERN_BF16, 0, 0, {.not_in_place = true}, OF_SWITCH / 16, 3, 10},
    {"reduce-scatter", SCATTER, QUERN_F32, 0, 0, {.not_in_place = true}, 4 * OF_SWITCH / 16, 10, 16},
    {"ends of four shares", REDUCE, QUERN_F32, 4, 0, {.not_in_place = true}, OF_SWITCH / 16 - 4, 3, 10},
    {"other alignment", REDUCE, QUERN_F32, 0, 4, {.not_in_place = true}, 0, 10, 10},
    {"order of the ranks", REDUCE, QUERN_F32, 0, 0, {.not_in_place = true, .order = 1 + QUERN_ORDER_RANKS}, 0, 10, 10},
    {"maximum", REDUCE, QUERN_F32, 0, 0, {.not_in_place = true, .combination = QUERN_COMBINE_MAX}, 0, 10, 10},
    {"maximum of f16", REDUCE, QUERN_F16, 0, 0, {.not_in_place = true, .combination = QUERN_COMBINE_MAX}, 0, 10, 10},
    {"small call", REDUCE, QUERN_F32, 0, 0, {.not_in_place = true, .elements = 8192}, 0, 0, 0},
};

static void open_switch_call(struct collective_case *c, const struct gpu_bench *bench, const struct switch_call *call) {
    struct collective_choice choice = call->choice;
    choice.operation = call->operation, choice.dtype = call->dtype, choice.everyone = choice.is_aligned = true;
    if (!choice.elements) choice.elements = OF_SWITCH / (int64_t)quern_dtype_bytes(call->dtype);
    if (!choice.combination) choice.combination = QUERN_COMBINE_SUM;
    if (!choice.order) choice.order = 1 + QUERN_ORDER_ANY;
    open_case(c, bench, 0, choice);
    c->stride = 0, c->parts = 0, c->multiprocessors = 0;
    for (int place = 0; place < c->count; place++) {
        c->members[place].input.offset += call->skew;
        c->members[place].output.offset += call->skew + call->apart;
    }
}

/* Runs a case whose sums the switch adds so often. */
static void run_switch_call(struct gpu_bench *bench, const struct collective_case *c, const char *name, int64_t sums, int blocks) {
    const long long before = cuda_reductions(), blocks_before = cuda_blocks();
    collective_case_run(c, bench->of);
    if (before < 0) return;
    const long long found = cuda_reductions() - before, ran = cuda_blocks() - blocks_before;
    check(found == sums, "%s: the switch has added %lld times, expected %lld", name, found, (long long)sums);
    check(ran == c->count * (1 + blocks), "%s: %lld blocks, expected %d of each of %d", name, ran, 1 + blocks, c->count);
}

static bool has_switch(const struct gpu_bench *bench) {
    void *address;
    return quern_symmetric_multicast(bench->group->group[0], bench->of[0].pool[POOL_SYMMETRIC], &address) == QUERN_OK;
}

Test(collective_cuda, the_switch_adds_if_the_order_may_be_any) {
    struct collective_case c;
    OPEN_BENCH((struct gpu_group_options){.ranks = 4, MULTICAST, .prepared = PREPARED, .pool = 1 << 20});
    const bool adds = has_switch(&bench);
    for (size_t i = 0; i < COUNT(switch_calls); i++) {
        const struct switch_call *call = &switch_calls[i];
        open_switch_call(&c, &bench, call);
        run_switch_call(&bench, &c, call->name, adds ? call->sums : 0, adds ? call->blocks : call->blocks_without);
    }
    open_switch_call(&c, &bench, &switch_calls[0]);
    c.count = 3;
    run_switch_call(&bench, &c, "some members", 0, 10);
}

/* Of two ranks the links carry as much either way; and memory without a multicast address. */
Test(collective_cuda, the_switch_does_not_add_for_two_or_what_it_does_not_reach) {
    static const struct gpu_group_options groups[] = {{.ranks = 2, MULTICAST}, {.ranks = 4, .machine.multicast = true}};
    for (size_t i = 0; i < COUNT(groups); i++) {
        struct collective_case c;
        struct gpu_group_options options = groups[i];
        options.prepared = PREPARED, options.pool = 1 << 20;
        OPEN_BENCH(options);
        open_switch_call(&c, &bench, &switch_calls[0]);
        run_switch_call(&bench, &c, i ? "no multicast" : "two ranks", 0, 10);
    }
}

/* ---- what the report says of it ---- */

#define BY_RANKS "in the order of the ranks, since "

static const struct sums {
    struct gpu_group_options options;
    const char *begin, *end;   /* of the line */
} sums[] = {
    {{.ranks = 3, .machine.multicast = true, .multicast = true}, "by the switch, in memory with a multicast address", ""},
    {{.ranks = 3, .machine.multicast = true}, BY_RANKS "this rank has not asked for multicast", ""},
    {{.ranks = 2, .machine.multicast = true, .multicast = true}, BY_RANKS "the switch adds for more than two", ""},
    {{.ranks = 3, .multicast = true}, BY_RANKS "there is no multicast: ", ": cuda:0 does not support it: it needs NVSwitch"},
}, pinned = {{.ranks = 3, .machine.multicast = true, .multicast = true},
             BY_RANKS "there is no multicast: it is pinned memory of the host", ""};

static void check_line_of_sums(const struct sums *expected) {
    static const char name[] = "sums of QUERN_ORDER_ANY: ";
    struct gpu_group group CLOSED_BY(gpu_group_close);
    struct gpu_group_options options = expected->options;
    char report[4096];
    options.prepared = PREPARED;
    gpu_group_open_with(&group, options);
    quern_group_report(group.group[0], report, sizeof report);
    const char *line = strstr(report, name), *end = line ? strchr(line, '\n') : NULL;
    check(end, "no line of sums in %s", report);
    line += sizeof name - 1;
    const size_t length = (size_t)(end - line), begins = strlen(expected->begin), ends = strlen(expected->end);
    const bool is_right = length >= begins + ends && !memcmp(line, expected->begin, begins) &&
                          !memcmp(end - ends, expected->end, ends) && (ends || length == begins);
    const bool is_known = cuda_reductions() >= 0 && group.device[0].quern->compute_capability >= 90;
    check(is_known ? is_right : !strncmp(line, BY_RANKS, sizeof BY_RANKS - 1), "%.*s", (int)length, line);
}

Test(collective_cuda, the_report_says_whether_the_switch_adds) {
    setenv("QUERN_EMULATOR_PEERS", "all", 1);
    for (size_t i = 0; i < COUNT(sums); i++) check_line_of_sums(&sums[i]);
}

Test(collective_cuda, the_report_says_that_pinned_memory_is_not_added_by_the_switch) {
    setenv("QUERN_EMULATOR_PEERS", "none", 1);
    check_line_of_sums(&pinned);
}

/* ---- memory that begins at another place of a vector on each rank ---- */

Test(collective_cuda, registered_memory_of_different_alignment) {
    enum { BYTES = (1 << 20) - 64 };
    void *begin[2];
    struct rank_bench moved[2];
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .prepared = PREPARED, .pool = 1 << 20});
    for (int rank = 0; rank < 2; rank++) begin[rank] = bench.of[rank].pool[POOL_PRIVATE] + 4 + 8 * rank;
    const quern_status status = quern_symmetric_register(group.group, 2, begin, (size_t[]){BYTES, BYTES});
    if (status == QUERN_NOT_SUPPORTED) {  /* the ranks have only pinned memory */
        gpu_bench_close_all(&bench);
        cr_skip_test("needs GPUs that reach each other");
    }
    check_ok(status);
    for (int rank = 0; rank < 2; rank++) {  /* the registered memory is the symmetric pool */
        moved[rank] = bench.of[rank], moved[rank].pool_bytes = BYTES;
        moved[rank].pool[POOL_SYMMETRIC] = begin[rank];
        moved[rank].pool[POOL_PRIVATE] = bench.of[rank].pool[POOL_SYMMETRIC];
    }
    for (int operation = 0; operation < COLLECTIVE_OPERATIONS; operation++) {
        struct collective_case c;
        open_case(&c, &bench, 0, (struct collective_choice){.everyone = true, .operation = 1 + operation, .dtype = QUERN_F32,
                                                            .elements = 20000, .in_place = true});
        collective_case_run(&c, moved);
    }
    for (int rank = 0; rank < 2; rank++)
        check_ok(quern_symmetric_unregister(group.group[rank], begin[rank], group.device[rank].stream));
}

/* ---- one call after the other ---- */

/* Both pools, with values of a type anywhere. */
static void fill_pools(struct gpu_bench *bench, struct collective_case *whole) {
    const int64_t size = (int64_t)quern_dtype_bytes(whole->dtype);
    whole->pool_bytes = (int64_t)bench->pool_bytes;
    for EACH_BENCH(one, bench->of) {
        for (int64_t i = 0; i < 2 * whole->pool_bytes / size; i++) {
            const int64_t at = i / 2 * size;
            const uint64_t bits = collective_case_bits(whole, one->rank->rank, i);
            memcpy(one->image[i % 2] + at, &bits, (size_t)size);
        }
        for (int pool = 0; pool < POOLS; pool++) memcpy(one->expected[pool], one->image[pool], bench->pool_bytes);
        rank_bench_show(one, whole->pool_bytes);
    }
}

/* Many calls of different members and sizes, enqueued before the first one starts. */
static void run_sequence(struct gpu_group_options options, int calls) {
    options.first_epoch = 0xFFFFFFF0;
    const int64_t slot = (int64_t)quern_slot_bytes((uint32_t)options.ranks);
    struct collective_case c, whole;
    options.prepared = PREPARED, options.pool = (size_t)(2 * options.ranks * (slot + 2048) + 8192);
    OPEN_BENCH(options);
    open_case(&whole, &bench, 9, (struct collective_choice){.operation = 1 + COLLECTIVE_ALL_REDUCE, .dtype = QUERN_F32});
    fill_pools(&bench, &whole);
    for (int i = 0; i < calls; i++) {
        const bool is_large = random_bits(77, (uint64_t)i) % 4 == 0;
        uint64_t members = 0;
        size_t none;
        open_case(&c, &bench, (uint64_t)(500 + i),
                  (struct collective_choice){.operation = 1 + i % COLLECTIVE_OPERATIONS, .is_private = !is_large && i % 2,
                                             .order = 1 + QUERN_ORDER_RANKS,
                                             .least = is_large ? slot + 8 : 8, .most = is_large ? slot + 1000 : 400});
        collective_case_expect(&c, bench.of);
        collective_case_call(&c, bench.of, &none);
        for (int place = 0; place < c.count; place++) members |= (uint64_t)1 << c.members[place].rank;
        if (i % 5 == 4) gpu_group_barrier(&group, members);
    }
    collective_case_compare(&whole, bench.of);
}

Test(collective_cuda, calls_follow_each_other_in_the_stream) {
    run_sequence((struct gpu_group_options){.ranks = 4}, (int)test_size(400, 60));
}

Test(collective_cuda, calls_follow_each_other_with_multicast) {
    run_sequence((struct gpu_group_options){.ranks = 4, MULTICAST}, (int)test_size(400, 40));
}

/* Rank 1 is as far ahead of rank 0 as it can be. */
Test(collective_cuda, a_slot_is_kept_until_its_owner_has_read_it) {
    enum { CALLS = 6 };
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .prepared = PREPARED, .pool = POOL});
    for (int rank = 1; rank >= 0; rank--) {
        unsigned char *pool = bench.of[rank].pool[POOL_PRIVATE];
        float *input = rank_bench_image(&bench.of[rank], pool);
        for (int i = 0; i < CALLS; i++) input[i] = (float)(10 * i + rank);
        rank_bench_put(&bench.of[rank], pool, sizeof *input * CALLS);
        for (int i = 0; i < CALLS; i++) {
            quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
            args.dtype = QUERN_F32, args.count = 1, args.input = pool + 4 * i, args.output = pool + 4096 + 4 * i;
            check_ok(collective_call(&bench.of[rank], COLLECTIVE_ALL_REDUCE, &args, 0));
        }
    }
    gpu_group_synchronize(&group);
    for EACH_BENCH(one, bench.of) {
        const float *results = rank_bench_seen(one, one->pool[POOL_PRIVATE] + 4096, sizeof *results * CALLS);
        for (int i = 0; i < CALLS; i++)
            check(results[i] == 20 * (float)i + 1, "call %d gave rank %d %g", i, one->rank->rank, (double)results[i]);
    }
}

/* ---- graphs ---- */

static void replay_case(struct gpu_bench *bench, struct collective_case *c) {
    struct gpu_replay replay;
    size_t none;
    gpu_group_begin_capture(bench->group);
    collective_case_call(c, bench->of, &none);
    gpu_group_end_capture(bench->group, &replay);
    for (int turn = 0; turn < 3; turn++) {
        c->seed += 1000;  /* other values */
        collective_case_fill(c, bench->of);
        for (int again = 0; again < 3; again++) collective_case_expect(c, bench->of);
        gpu_group_replay(bench->group, &replay, 3);
        collective_case_compare(c, bench->of);
    }
    gpu_group_close_replay(bench->group, &replay);
}

Test(collective_cuda, captured_calls_are_replayed) {
    struct collective_case c;
    OPEN_BENCH((struct gpu_group_options){.ranks = 3, .first_epoch = 0xFFFFFFF0, .prepared = PREPARED, .pool = POOL});
    for (int i = 0; i < 4 * COLLECTIVE_OPERATIONS; i++) {
        const bool is_large = i / COLLECTIVE_OPERATIONS % 2, in_place = i / COLLECTIVE_OPERATIONS / 2;
        open_case(&c, &bench, (uint64_t)i,
                  (struct collective_choice){.everyone = true, .operation = 1 + i % COLLECTIVE_OPERATIONS, .dtype = QUERN_BF16,
                                             .in_place = in_place, .not_in_place = !in_place,
                                             .elements = is_large ? most_small(&group, QUERN_BF16) + 77 : 300});
        replay_case(&bench, &c);
    }
}

/* ---- groups ---- */

/* Two groups of the same ranks, whose calls each rank launches in an order of its own, on streams of its own. */
Test(collective_cuda, two_groups_beside_each_other) {
    struct gpu_group groups[2];
    struct gpu_bench benches[2];
    gpu_bench_begin(&benches[0], &groups[0], (struct gpu_group_options){.ranks = 3, .machine.multiprocessors = 8,
                                                                        .prepared = PREPARED, .pool = POOL});
    groups[1] = groups[0];
    gpu_group_create(&groups[1], 0, 0);
    for (int rank = 0; rank < 3; rank++) {
        device_use(&groups[0].device[rank]);
        CUDA(cuStreamCreate(&groups[1].device[rank].stream, 1));
    }
    gpu_bench_open(&benches[1], &groups[1], POOL, 0);
    for (int i = 0; i < 8; i++) {
        struct collective_case c[2];
        for (int g = 0; g < 2; g++) {
            open_case(&c[g], &benches[g], (uint64_t)(40 + i + 100 * g),
                      (struct collective_choice){.everyone = true, .least = i % 2 ? 45000 : 100, .most = i % 2 ? 46000 : 200});
            collective_case_fill(&c[g], benches[g].of);
            collective_case_expect(&c[g], benches[g].of);
        }
        for (int rank = 0; rank < 3; rank++)
            for (int turn = 0; turn < 2; turn++) {
                const int g = (turn + rank) % 2;
                int members[COLLECTIVE_MAX_MEMBERS];
                const quern_collective_args args = collective_case_args(&c[g], &benches[g].of[rank], rank, members);
                check_ok(collective_call(&benches[g].of[rank], c[g].operation, &args, 0));
            }
        for (int g = 0; g < 2; g++) collective_case_compare(&c[g], benches[g].of);
    }
    gpu_bench_close(&benches[1]);
    gpu_group_destroy(&groups[1]);
    for (int rank = 0; rank < 3; rank++) {
        device_use(&groups[0].device[rank]);
        CUDA(cuStreamDestroy_v2(groups[1].device[rank].stream));
    }
    gpu_bench_close_all(&benches[0]);
}
