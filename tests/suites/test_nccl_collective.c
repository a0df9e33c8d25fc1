/*
 * Collectives of GPU ranks of several hosts, over the stand-in for NCCL: the bits of every result, whatever way the inputs go, what
 * is enqueued, and the workspace.  test_collective_mistakes.c has what is refused, test_nccl_failures.c what fails.
 *
 * Runs on: one emulated.
 */
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/device.h"

enum { MOST_WORKSPACE = 32 << 20 };

/* As a struct collective_choice has them. */
enum { ALL_REDUCE = 1 + COLLECTIVE_ALL_REDUCE, REDUCE_SCATTER = 1 + COLLECTIVE_REDUCE_SCATTER };

static void check_batch(enum rank_kind kind, int hosts, int ranks, struct collective_batch batch, const char *settings) {
    check_ranks(.kind = kind, .count = ranks, .hosts = hosts, .function = collective_run_batch, .user = &batch, .nccl = settings);
}

/* ---- the bits ---- */

/*
 * All four operations by all ranks and by some, odd counts, none, buffers aligned as their elements only, in place and not, f32,
 * f16 and bf16, sums and maxima, NaN.
 */
Test(nccl_collective, random_cases) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}, {2, 8}, {4, 8}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const struct collective_batch batch = {.first = 1000 * i, .cases = (int)test_size(400, 100)};
        check_batch(RANK_BOTH, shapes[i][0], shapes[i][1], batch, "");
    }
}

Test(nccl_collective, delays_of_nccl_change_nothing) {
    check_batch(RANK_PROCESSES, 2, 4, (struct collective_batch){.first = 7000, .cases = 20},
                "group:delay=3,run:delay=5@1,linger=50");
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
        const struct collective_choice choice = {.everyone = true, .operation = ALL_REDUCE, .dtype = rows[i].dtype,
                                                 .elements = rows[i].elements};
        check_batch(RANK_PROCESSES, rows[i].hosts, rows[i].ranks,
                    (struct collective_batch){.first = 100 * i, .cases = 3, .choice = choice, .pool_bytes = 4 << 20}, "");
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
        const struct collective_choice choice = {.everyone = true, .operation = rows[i].operation, .dtype = QUERN_F32,
                                                 .elements = rows[i].bytes / 4, .in_place = rows[i].in_place,
                                                 .not_in_place = !rows[i].in_place, .is_private = true};
        check_batch(RANK_PROCESSES, rows[i].hosts, rows[i].ranks,
                    (struct collective_batch){.first = 900 + i, .cases = 1, .choice = choice,
                                              .pool_bytes = whole * (rows[i].in_place ? 1 : 2) + 4096}, "");
    }
}

/*
 * On both sides of the size from which an all-reduce goes from host to host: in one piece and in several, of
 * which the last one is odd or is none of a slice.
 */
Test(nccl_collective, from_host_to_host) {
    static const struct {
        int hosts, ranks, operation;
        int64_t elements;
        quern_dtype dtype;
        quern_combination combination;
        bool in_place;
    } rows[] = {{2, 4, ALL_REDUCE, 262144, QUERN_F32, QUERN_COMBINE_SUM, true},
                {2, 4, ALL_REDUCE, 262145, QUERN_F32, QUERN_COMBINE_SUM, true},
                {2, 4, ALL_REDUCE, 1310757, QUERN_F32, QUERN_COMBINE_SUM, false},
                {2, 4, ALL_REDUCE, 524289, QUERN_F32, QUERN_COMBINE_SUM, false},
                {2, 8, ALL_REDUCE, 90003, QUERN_F32, QUERN_COMBINE_MAX, false},
                {3, 6, ALL_REDUCE, 800003, QUERN_F32, QUERN_COMBINE_SUM, true},
                {4, 8, ALL_REDUCE, 1600005, QUERN_BF16, QUERN_COMBINE_MAX, true},
                {2, 8, REDUCE_SCATTER, 147456, QUERN_F32, QUERN_COMBINE_SUM, false},
                {2, 8, REDUCE_SCATTER, 147457, QUERN_F32, QUERN_COMBINE_SUM, true},
                {2, 6, REDUCE_SCATTER, 870003, QUERN_F32, QUERN_COMBINE_SUM, true},
                {3, 6, REDUCE_SCATTER, 901, QUERN_F32, QUERN_COMBINE_SUM, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct collective_choice choice = {
            .everyone = true, .operation = rows[i].operation, .dtype = rows[i].dtype, .combination = rows[i].combination,
            .elements = rows[i].elements, .in_place = rows[i].in_place, .not_in_place = !rows[i].in_place, .is_private = true};
        check_batch(RANK_PROCESSES, rows[i].hosts, rows[i].ranks,
                    (struct collective_batch){.first = 500 + i, .cases = 1, .choice = choice, .pool_bytes = 36 << 20}, "");
    }
}

/* Two calls with one workspace, on two streams that only the library orders. */
TEST_BENCH(nccl_collective, streams_follow_each_other, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "run:delay=30") {
    enum { ELEMENTS = 3001 };
    CUstream other;
    size_t bytes;
    cuda_ok(&bench->side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    float *input = (float *)(void *)bench->pool[0], *first = (float *)(void *)bench->pool[1];
    float *second = first + ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i + rank->rank);
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = ELEMENTS, .input = input, .output = first);
    rank_ok(rank, quern_collective_workspace(bench->group, &args, &bytes));
    rank_ok(rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, bytes));
    args.input = first, args.output = second;
    rank_ok(rank, quern_all_reduce(bench->group, &args, bench->workspace, bytes, other));
    cuda_ok(&bench->side, stream_synchronize(other));
    for (int i = 0; i < ELEMENTS; i++)
        rank_check(rank, second[i] == (float)(9 * i + 9), "element %d is %g instead of %d", i, (double)second[i], 9 * i + 9);
    cuda_ok(&bench->side, stream_destroy(other));
}

/* A sum has as many blocks as its inputs can occupy, of those that it may use. */
TEST_BENCH(nccl_collective, small_sums_use_few_blocks, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    static const struct {
        int bytes, multiprocessors, blocks;
    } rows[] = {{8188, 0, 1}, {8192, 0, 2}, {65536, 0, 9}, {65536, 1, 1}, {65536, 4, 4}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = rows[i].bytes / 4, .input = bench->pool[0],
                                                           .output = bench->pool[1], .multiprocessors = rows[i].multiprocessors);
        const long long before = cuda_blocks();
        rank_ok(rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
        rank_bench_wait(bench);
        rank_check(rank, cuda_blocks() - before == rows[i].blocks, "%d bytes, %d multiprocessors: %lld blocks, expected %d",
                   rows[i].bytes, rows[i].multiprocessors, cuda_blocks() - before, rows[i].blocks);
    }
}

/* Two pairs of ranks of two hosts, of which one makes more calls than the other; then all meet in one. */
TEST_BENCH(nccl_collective, some_members_beside_others, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, .nccl = "") {
    struct collective_case c;
    const int first = rank->rank % 2, pair[] = {first, first + 2};
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    float *input = (float *)(void *)bench->pool[0], *output = (float *)(void *)bench->pool[1];
    args.dtype = QUERN_F32, args.count = 1001, args.input = input, args.output = output, args.members = pair, args.member_count = 2;
    for (int call = 0; call < (first ? 9 : 2); call++) {
        for (int i = 0; i < args.count; i++) input[i] = (float)(i + rank->rank + call);
        rank_ok(rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, BENCH_POOL));
        rank_bench_wait(bench);
        for (int i = 0; i < args.count; i++)
            rank_check(rank, output[i] == (float)(2 * (i + call + first) + 2), "call %d: element %d is %g", call, i,
                       (double)output[i]);
    }
    collective_case_open(&c, 3, (struct collective_choice){.ranks = rank->ranks, .everyone = true, .operation = ALL_REDUCE});
    collective_case_run(&c, bench);
}

/* ---- what is enqueued ---- */

/* Ranks of 3: the first share of an all-reduce above 512 KiB is a third of it. */
TEST_BENCH(nccl_collective, a_small_call_is_one_group_and_one_kernel, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    static const struct {
        enum collective_operation operation;
        int64_t elements;
        int launches, groups;
    } costs[] = {{COLLECTIVE_ALL_REDUCE, 1, 1, 1},      {COLLECTIVE_ALL_REDUCE, 131072, 1, 1},
                 {COLLECTIVE_ALL_REDUCE, 131073, 1, 2}, {COLLECTIVE_REDUCE_SCATTER, 150000, 1, 1},
                 {COLLECTIVE_REDUCE_SCATTER, 0, 0, 0},  {COLLECTIVE_ALL_GATHER, 100, 0, 1}};
    for (size_t i = 0; i < COUNT(costs); i++) {
        quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = costs[i].elements, .input = bench->pool[0],
                                                     .output = bench->pool[1]);
        const long long launches_before = cuda_launches();
        const long groups_before = nccl_ask("quern_standin_groups");
        rank_ok(rank, collective_call(bench, costs[i].operation, &args, BENCH_POOL));
        rank_bench_wait(bench);
        const long long launches = cuda_launches() - launches_before;
        const long groups = nccl_ask("quern_standin_groups") - groups_before;
        rank_check(rank, launches == costs[i].launches && groups == costs[i].groups, "row %zu: %lld launches and %ld groups", i,
                   launches, groups);
    }
}

/*
 * How often the members of each host send all inputs to other hosts: directly, or from host to host once, and results as far as
 * they have to go.  Sums of bf16, which would be rounded on each host, go directly.
 */
static const struct vector {
    enum collective_operation operation;
    int hosts, here;
    quern_dtype dtype;
    int64_t count;
    double sent[3];
} vectors[] = {{COLLECTIVE_ALL_REDUCE, 2, 2, QUERN_F32, 262144, {2, 2}},
               {COLLECTIVE_ALL_REDUCE, 2, 2, QUERN_F32, 262145, {1, 1}},
               {COLLECTIVE_ALL_REDUCE, 3, 2, QUERN_F32, 786433, {8 / 3.0, 8 / 3.0, 8 / 3.0}},
               {COLLECTIVE_ALL_REDUCE, 3, 2, QUERN_F32, 786434, {2, 1, 1}},
               {COLLECTIVE_ALL_REDUCE, 3, 2, QUERN_BF16, 2 << 20, {8 / 3.0, 8 / 3.0, 8 / 3.0}},
               {COLLECTIVE_REDUCE_SCATTER, 2, 4, QUERN_F32, 147456, {2, 2}},
               {COLLECTIVE_REDUCE_SCATTER, 2, 4, QUERN_F32, 147457, {1, 0.5}}};

static long sent_to_other_hosts(const struct rank *rank, int here) {
    long bytes = 0;
    for (int to = 0; to < rank->ranks; to++) bytes += to / here == rank->rank / here ? 0 : nccl_bytes_to(to);
    return bytes;
}

static quern_status check_bytes_between_hosts(struct rank *rank) {
    const struct vector *vector = rank->user;
    const int64_t pieces = vector->operation == COLLECTIVE_REDUCE_SCATTER ? rank->ranks : 1;
    const int64_t bytes = vector->count * (int64_t)quern_dtype_bytes(vector->dtype), room = rank->ranks * (bytes + 128) + 16;
    struct rank_bench bench;
    rank_bench_open(&bench, rank, RANK_LIMIT, room);
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = vector->dtype, .count = vector->count, .input = bench.pool[0],
                                                       .output = bench.pool[1]);
    rank_ok(rank, collective_call(&bench, vector->operation, &args, (size_t)room));
    rank_bench_wait(&bench);
    const double sent = vector->here * (double)sent_to_other_hosts(rank, vector->here) / (double)(bytes * pieces);
    const double expected = vector->sent[rank->rank / vector->here];
    rank_check(rank, sent > expected - 0.001 && sent < expected + 0.001, "sends the inputs %.4f times instead of %.4f", sent,
               expected);
    rank_bench_close(&bench);
    return QUERN_OK;
}

Test(nccl_collective, a_host_sends_each_element_twice_at_most) {
    for (size_t i = 0; i < COUNT(vectors); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = vectors[i].hosts * vectors[i].here, .hosts = vectors[i].hosts,
                    .function = check_bytes_between_hosts, .user = (void *)(uintptr_t)&vectors[i], .nccl = "");
}

/* ---- the workspace ---- */

static void check_workspace_bytes(struct rank_bench *bench, quern_dtype dtype, int64_t count, size_t expected) {
    size_t bytes = 1;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = dtype, .count = count);
    rank_ok(bench->rank, quern_collective_workspace(bench->group, &args, &bytes));
    rank_check(bench->rank, bytes == expected, "%lld elements of %s: %zu bytes instead of %zu", (long long)count,
               quern_dtype_name(dtype), bytes, expected);
}

TEST_BENCH(nccl_collective, workspaces, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    check_workspace_bytes(bench, QUERN_F32, 0, 0);
    check_workspace_bytes(bench, QUERN_INT64, 1000, 0);
    check_workspace_bytes(bench, QUERN_E4M3, 1000, 0);
    check_workspace_bytes(bench, QUERN_F16, 1, 3 * 128 + 16);
    check_workspace_bytes(bench, QUERN_F32, 1000, 3 * 4096 + 16);
    check_workspace_bytes(bench, QUERN_BF16, (int64_t)1 << 44, (MOST_WORKSPACE - 16) / 3 / 128 * 128 * 3 + 16);
    args.dtype = QUERN_F32, args.count = 1000, args.input = bench->pool[0], args.output = bench->pool[1];
    rank_ok(rank, quern_all_gather(bench->group, &args, NULL, 0, bench->stream));
    rank_ok(rank, quern_broadcast(bench->group, &args, NULL, 0, bench->stream));
    rank_ok(rank, collective_call(bench, COLLECTIVE_ALL_REDUCE, &args, 12304));
    rank_bench_wait(bench);
}
