/*
 * Collectives of GPU ranks that one thread drives: the bits of every result, the bytes that stay unchanged, and that calls follow
 * each other in any order of sizes and members.
 *
 * Runs on: emulated, gpu; kernels of barrier, collective.
 */
#include "harness/check.h"
#include "harness/gpu_collective.h"
#include "harness/random.h"
#include "kernels/collective_problem.h"

enum { PREPARED = QUERN_BARRIER | QUERN_COLLECTIVE, POOL = 1 << 18 };

static const quern_dtype floats[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

static void open_bench(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options, size_t pool_bytes) {
    options.prepared = PREPARED;
    gpu_group_open_with(group, options);
    gpu_bench_open(bench, group, pool_bytes, 0);
}

#define OPEN_BENCH(...) \
    struct gpu_group group; \
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all); \
    open_bench(&bench, &group, __VA_ARGS__)

/* The longest small call of a dtype, in elements. */
static int64_t most_small(const struct gpu_group *group, quern_dtype dtype) {
    return (int64_t)quern_slot_bytes((uint32_t)group->ranks) / (int64_t)quern_dtype_bytes(dtype);
}

/* ---- random calls ---- */

/* The choices of a random case, with another number of elements and places that GPUs can have. */
static struct gpu_collective_case random_case(const struct gpu_group *group, uint64_t seed, int64_t least, int64_t most) {
    struct collective_case chosen;
    collective_case_open(&chosen, seed, (struct collective_choice){.ranks = group->ranks,
                                                                   .operation = 1 + (int)(seed % COLLECTIVE_OPERATIONS)});
    struct gpu_collective_case c = {
        .operation = chosen.operation, .dtype = chosen.dtype, .combination = chosen.combination, .root = chosen.root, .seed = seed,
        .in_place = random_bits(seed, 2) % 2, .multiprocessors = (int)random_below(seed, 3, 4),
        .count = (least + random_below(seed, 5, most - least + 1)) / (int64_t)quern_dtype_bytes(chosen.dtype)};
    for (int place = 0; place < chosen.count && chosen.count < group->ranks; place++)
        c.members |= (uint64_t)1 << chosen.members[place].rank;
    return c;
}

static void run_random(struct gpu_group_options options, int small, int large) {
    options.first_epoch = 0xFFFFFFF0;
    const int64_t slot = (int64_t)quern_slot_bytes((uint32_t)options.ranks);
    OPEN_BENCH(options, (size_t)(2 * options.ranks * (slot + 8192) + 8192));
    for (int i = 0; i < small + large; i++) {
        const uint64_t seed = (uint64_t)(1000 * options.ranks + i);
        struct gpu_collective_case c = i < small ? random_case(&group, seed, 0, i % 3 ? 700 : slot)
                                                 : random_case(&group, seed, slot + 8, slot + 6000);
        c.is_private = i < small && random_bits(seed, 6) % 2;
        gpu_collective_run(&bench, &c);
    }
}

Test(collective_cuda, random_small_calls) { run_random((struct gpu_group_options){.ranks = 4}, (int)test_size(1000, 100), 0); }

Test(collective_cuda, random_large_calls) { run_random((struct gpu_group_options){.ranks = 4}, 0, (int)test_size(400, 40)); }

Test(collective_cuda, random_large_calls_of_many) {
    run_random((struct gpu_group_options){.ranks = 7}, 0, (int)test_size(200, 16));
}

Test(collective_cuda, random_calls_with_multicast) {
    run_random((struct gpu_group_options){.ranks = 4, .machine.multicast = true, .multicast = true}, (int)test_size(200, 12),
               (int)test_size(200, 24));
}

Test(collective_cuda, any_number_of_ranks) {
    static const int numbers[] = {1, 2, 3, 8};
    for (size_t i = 0; i < COUNT(numbers); i++)
        run_random((struct gpu_group_options){.ranks = numbers[i], .machine.devices = 8}, 8, numbers[i] == 1 ? 4 : 8);
}

Test(collective_cuda, four_ranks_share_a_gpu) {
    run_random((struct gpu_group_options){.ranks = 4, .machine = {.devices = 1, .multiprocessors = 8}}, 12, 8);
}

Test(collective_cuda, many_ranks_share_gpus) {
    run_random((struct gpu_group_options){.ranks = 33, .machine = {.devices = 2, .multiprocessors = 24}, .timeout = 200}, 4, 4);
}

/* ---- sizes ---- */

/* From one element to more than a vector, and on both sides of the longest small call. */
static void run_sizes(struct gpu_bench *bench, enum collective_operation operation, quern_dtype dtype) {
    const int64_t most = most_small(bench->group, dtype);
    static const int64_t around[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129};
    for (size_t i = 0; i < 2 * COUNT(around); i++) {
        const struct gpu_collective_case c = {
            .operation = operation,
            .dtype = dtype,
            .combination = i % 3 ? QUERN_COMBINE_SUM : QUERN_COMBINE_MAX,
            .count = i < COUNT(around) ? around[i] : most - 2 + around[i - COUNT(around)],
            .root = 1,
            .in_place = i % 2,
            .seed = 100 * i + dtype,
        };
        gpu_collective_run(bench, &c);
    }
}

Test(collective_cuda, sizes_around_vectors_and_slots) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 3}, POOL);
    for (int operation = 0; operation < COLLECTIVE_OPERATIONS; operation++)
        for (size_t i = 0; i < COUNT(floats); i++)
            if (!test_is_small() || (size_t)operation % COUNT(floats) == i || operation == COLLECTIVE_ALL_REDUCE)
                run_sizes(&bench, (enum collective_operation)operation, floats[i]);
}

/* Shares of the elements end at lines: with few more lines than ranks some ranks have less than others, or nothing. */
Test(collective_cuda, shares_of_many_ranks) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 24, .machine = {.devices = 4, .multiprocessors = 16}}, POOL / 2);
    for (int i = 0; i < 4; i++) {
        const struct gpu_collective_case c = {
            .operation = i % 2 ? COLLECTIVE_BROADCAST : COLLECTIVE_ALL_REDUCE,
            .dtype = QUERN_F32,
            .combination = QUERN_COMBINE_SUM,
            .count = most_small(&group, QUERN_F32) + 1 + 31 * i,
            .root = 17,
            .seed = (uint64_t)i,
        };
        gpu_collective_run(&bench, &c);
    }
}

/* Of two ranks: a small call is one launch of one block, a large one an entry of one and a pass of as many as have work. */
Test(collective_cuda, blocks_and_launches) {
    static const struct {
        int64_t bytes;
        int multiprocessors, launches, blocks;
    } cases[] = {{0, 0, 2, 2}, {65536, 0, 2, 2}, {65544, 0, 4, 2 + 5 + 4}, {65544, 2, 4, 2 + 2 + 2}, {65544, 1, 4, 2 + 1 + 1},
                 {262144, 0, 4, 2 + 16 + 16}, {262144, 17, 4, 2 + 17 + 17}, {1048576, 1000, 4, 2 + 32 + 32}};
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .machine.multiprocessors = 8}, 1 << 21);
    for (size_t i = 0; i < COUNT(cases) && cuda_blocks() >= 0; i++) {
        const struct gpu_collective_case c = {
            .operation = COLLECTIVE_ALL_REDUCE, .dtype = QUERN_F32, .combination = QUERN_COMBINE_SUM, .count = cases[i].bytes / 4,
            .in_place = true, .multiprocessors = cases[i].multiprocessors};
        const long long blocks = cuda_blocks(), launches = cuda_launches();
        gpu_collective_enqueue(&bench, &c);
        gpu_group_synchronize(&group);
        check(cuda_launches() - launches == cases[i].launches && cuda_blocks() - blocks == cases[i].blocks,
              "%lld bytes, %d multiprocessors: %lld launches of %lld blocks, expected %d and %d", (long long)cases[i].bytes,
              cases[i].multiprocessors, cuda_launches() - launches, cuda_blocks() - blocks, cases[i].launches, cases[i].blocks);
    }
}

/* ---- memory that begins at another place of a vector on each rank ---- */

Test(collective_cuda, registered_memory_of_different_alignment) {
    void *begin[2], *symmetric[2];
    size_t bytes[2];
    OPEN_BENCH((struct gpu_group_options){.ranks = 2}, 1 << 20);
    for (int rank = 0; rank < 2; rank++) {
        symmetric[rank] = bench.pool[rank][POOL_SYMMETRIC];
        begin[rank] = bench.pool[rank][POOL_PRIVATE] + 4 + 8 * rank, bytes[rank] = (1 << 20) - 64;
    }
    const quern_status status = quern_symmetric_register(group.group, 2, begin, bytes);
    if (status == QUERN_NOT_SUPPORTED) {  /* the ranks have only pinned memory */
        gpu_bench_close_all(&bench);
        cr_skip_test("needs GPUs that reach each other");
    }
    check_ok(status);
    for (int operation = 0; operation < COLLECTIVE_OPERATIONS; operation++) {
        struct gpu_collective_case c = {.operation = (enum collective_operation)operation, .dtype = QUERN_F32,
                                        .combination = QUERN_COMBINE_SUM, .count = 20000, .root = 1, .in_place = true};
        /* The bench takes the registered memory for the symmetric pool. */
        for (int rank = 0; rank < 2; rank++) {
            bench.pool[rank][POOL_SYMMETRIC] = begin[rank];
            bench.pool[rank][POOL_PRIVATE] = symmetric[rank];
        }
        bench.pool_bytes = (1 << 20) - 64;
        gpu_collective_run(&bench, &c);
    }
    for (int rank = 0; rank < 2; rank++) {
        check_ok(quern_symmetric_unregister(group.group[rank], begin[rank], group.device[rank].stream));
        bench.pool[rank][POOL_PRIVATE] = (unsigned char *)begin[rank] - 4 - 8 * rank;
    }
}

/* ---- one call after the other ---- */

/* Many calls of different members and sizes, enqueued before the first one starts. */
static void run_sequence(struct gpu_group_options options, int calls) {
    options.first_epoch = 0xFFFFFFF0;
    const int64_t slot = (int64_t)quern_slot_bytes((uint32_t)options.ranks);
    OPEN_BENCH(options, (size_t)(2 * options.ranks * (slot + 2048) + 8192));
    struct gpu_collective_case whole = {.operation = COLLECTIVE_ALL_REDUCE, .dtype = QUERN_F32, .seed = 9};
    gpu_collective_fill(&bench, &whole, 0);
    for (int i = 0; i < calls; i++) {
        const bool is_large = random_bits(77, (uint64_t)i) % 4 == 0;
        struct gpu_collective_case c =
            random_case(&group, (uint64_t)(500 + i), is_large ? slot + 8 : 8, is_large ? slot + 1000 : 400);
        c.is_private = !is_large && i % 2;
        gpu_collective_expect(&bench, &c);
        gpu_collective_enqueue(&bench, &c);
        if (i % 5 == 4) gpu_group_barrier(&group, c.members ? c.members : ~0ull);
    }
    gpu_collective_compare(&bench, &whole, "a sequence");
}

Test(collective_cuda, calls_follow_each_other_in_the_stream) {
    run_sequence((struct gpu_group_options){.ranks = 4}, (int)test_size(400, 60));
}

Test(collective_cuda, calls_follow_each_other_with_multicast) {
    run_sequence((struct gpu_group_options){.ranks = 4, .machine.multicast = true, .multicast = true}, (int)test_size(400, 40));
}

/* Rank 1 is as far ahead of rank 0 as it can be. */
Test(collective_cuda, a_slot_is_kept_until_its_owner_has_read_it) {
    enum { CALLS = 6 };
    float input[2][CALLS], results[2][CALLS];
    OPEN_BENCH((struct gpu_group_options){.ranks = 2}, POOL);
    for (int rank = 1; rank >= 0; rank--) {
        for (int i = 0; i < CALLS; i++) input[rank][i] = (float)(10 * i + rank);
        device_use(&group.device[rank]);
        CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)bench.pool[rank][POOL_PRIVATE], input[rank], sizeof input[rank],
                                  group.device[rank].stream));
        for (int i = 0; i < CALLS; i++) {
            quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
            args.dtype = QUERN_F32, args.count = 1;
            args.input = bench.pool[rank][POOL_PRIVATE] + 4 * i, args.output = bench.pool[rank][POOL_PRIVATE] + 4096 + 4 * i;
            check_ok(gpu_collective_call(&bench, COLLECTIVE_ALL_REDUCE, rank, &args));
        }
    }
    gpu_group_synchronize(&group);
    for (int rank = 0; rank < 2; rank++) {
        CUDA(cuMemcpyDtoHAsync_v2(results[rank], (uintptr_t)bench.pool[rank][POOL_PRIVATE] + 4096, sizeof results[rank],
                                  group.device[rank].stream));
        device_synchronize(&group.device[rank]);
        for (int i = 0; i < CALLS; i++)
            check(results[rank][i] == 20 * (float)i + 1, "call %d gave rank %d %g", i, rank, (double)results[rank][i]);
    }
}

/* ---- graphs ---- */

static void replay_case(struct gpu_bench *bench, const struct gpu_collective_case *c) {
    struct gpu_replay replay;
    gpu_group_begin_capture(bench->group);
    gpu_collective_enqueue(bench, c);
    gpu_group_end_capture(bench->group, &replay);
    for (uint64_t turn = 0; turn < 3; turn++) {
        gpu_collective_fill(bench, c, turn);
        for (int again = 0; again < 3; again++) gpu_collective_expect(bench, c);
        gpu_group_replay(bench->group, &replay, 3);
        gpu_collective_compare(bench, c, "replayed");
    }
    gpu_group_close_replay(bench->group, &replay);
}

Test(collective_cuda, captured_calls_are_replayed) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 3, .first_epoch = 0xFFFFFFF0}, POOL);
    for (int i = 0; i < 4 * COLLECTIVE_OPERATIONS; i++) {
        const bool is_large = i / COLLECTIVE_OPERATIONS % 2;
        const struct gpu_collective_case c = {
            .operation = (enum collective_operation)(i % COLLECTIVE_OPERATIONS), .dtype = QUERN_BF16,
            .combination = QUERN_COMBINE_MAX, .root = 2, .in_place = i / COLLECTIVE_OPERATIONS / 2, .seed = (uint64_t)i,
            .count = is_large ? most_small(&group, QUERN_BF16) + 77 : 300};
        replay_case(&bench, &c);
    }
}

/* ---- groups ---- */

/* Two groups of the same ranks, whose calls each rank launches in an order of its own, on streams of its own. */
Test(collective_cuda, two_groups_beside_each_other) {
    struct gpu_group groups[2];
    struct gpu_bench benches[2];
    open_bench(&benches[0], &groups[0], (struct gpu_group_options){.ranks = 3, .machine.multiprocessors = 8}, POOL);
    groups[1] = groups[0];
    gpu_group_create(&groups[1], 0, 0);
    for (int rank = 0; rank < 3; rank++) {
        device_use(&groups[0].device[rank]);
        CUDA(cuStreamCreate(&groups[1].device[rank].stream, 1));
    }
    gpu_bench_open(&benches[1], &groups[1], POOL, 0);
    for (int i = 0; i < 8; i++) {
        struct gpu_collective_case c[2];
        for (int g = 0; g < 2; g++) {
            c[g] = random_case(&groups[g], (uint64_t)(40 + i), i % 2 ? 45000 : 100, i % 2 ? 46000 : 200);
            c[g].members = 0, c[g].seed += (uint64_t)(100 * g);
            gpu_collective_fill(&benches[g], &c[g], 0);
            gpu_collective_expect(&benches[g], &c[g]);
        }
        for (int rank = 0; rank < 3; rank++)
            for (int turn = 0; turn < 2; turn++) {
                const int g = (turn + rank) % 2;
                int members[4];
                const quern_collective_args args = gpu_collective_arguments(&benches[g], &c[g], rank, members);
                check_ok(gpu_collective_call(&benches[g], c[g].operation, rank, &args));
            }
        for (int g = 0; g < 2; g++) gpu_collective_compare(&benches[g], &c[g], "beside another group");
    }
    gpu_bench_close(&benches[1]);
    gpu_group_destroy(&groups[1]);
    for (int rank = 0; rank < 3; rank++) {
        device_use(&groups[0].device[rank]);
        CUDA(cuStreamDestroy_v2(groups[1].device[rank].stream));
    }
    gpu_bench_close_all(&benches[0]);
}
