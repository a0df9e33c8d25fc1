/*
 * Mistakes in collectives of GPU ranks, and ranks that do not come: every rank gets the same error, nothing is written, and nothing
 * hangs.
 *
 * Runs on: every emulated, gpu; kernels of barrier, collective.
 */
#include "harness/check.h"
#include "harness/gpu_collective.h"
#include "harness/ranks.h"
#include "kernels/collective_problem.h"

enum { RANKS = 3, POOL = 1 << 19, PREPARED = QUERN_BARRIER | QUERN_COLLECTIVE };

struct scene {
    struct gpu_group group;
    struct gpu_bench bench;
    struct gpu_collective_case c;
    quern_collective_args args[RANKS];
    int members[RANKS][RANKS];
};

static void open_scene(struct scene *s) {
    gpu_group_open(&s->group, .ranks = RANKS, .prepared = PREPARED);
    gpu_bench_open(&s->bench, &s->group, POOL, 0);
}

static void close_scene(struct scene *s) {
    gpu_bench_close(&s->bench);
    gpu_group_close(&s->group);
}
#define TEST_SCENE(suite, name) TEST_IN(struct scene, s, open_scene, close_scene, suite, name)

/* A group that is not poisoned, and memory of its own. */
static void renew(struct scene *s) {
    gpu_bench_close(&s->bench);
    gpu_group_destroy(&s->group);
    gpu_group_create(&s->group, 0, 0);
    gpu_bench_open(&s->bench, &s->group, POOL, 0);
}

static int64_t count_of(bool is_large) { return is_large ? (int64_t)quern_slot_bytes(RANKS) / 4 + 100 : 100; }

/* Calls without a mistake, of F32. */
static void prepare(struct scene *s, enum collective_operation operation, bool is_large) {
    s->c = (struct gpu_collective_case){.operation = operation, .dtype = QUERN_F32, .combination = QUERN_COMBINE_SUM,
                                        .count = count_of(is_large), .root = 2};
    gpu_collective_fill(&s->bench, &s->c, 0);
    for (int rank = 0; rank < RANKS; rank++)
        s->args[rank] = gpu_collective_arguments(&s->bench, &s->c, rank, s->members[rank]);
}

static quern_status call(struct scene *s, int rank) { return gpu_collective_call(&s->bench, s->c.operation, rank, &s->args[rank]); }

static void expect_poison(struct scene *s, quern_status status, const char *text) {
    gpu_group_synchronize(&s->group);
    for (int rank = 0; rank < RANKS; rank++) {
        check_refused(quern_group_status(s->group.group[rank]), status, text);
        check_status(call(s, rank), status);
    }
}

/* ---- mistakes of rank 1 ---- */

struct mistake {
    enum collective_operation operation;
    void (*make)(struct scene *s);
    const char *text;            /* of QUERN_PEER_MISMATCH on all ranks, ... */
    quern_status own;            /* ... except rank 1, if it refuses its arguments itself */
    const char *own_text;
};

static void other_dtype(struct scene *s) { s->args[1].dtype = QUERN_BF16; }
static void other_combination(struct scene *s) { s->args[1].combination = QUERN_COMBINE_MAX; }
static void shorter(struct scene *s) { s->args[1].count--; }
static void small(struct scene *s) { s->args[1].count = 5; }
static void nothing(struct scene *s) { s->args[1].count = 0; }
static void other_root(struct scene *s) { s->args[1].root = 0, s->args[1].input = s->bench.pool[1][POOL_PRIVATE]; }
static void other_input(struct scene *s) { s->args[1].input = (const char *)s->args[1].input + 4; }
static void other_output(struct scene *s) { s->args[1].output = (char *)s->args[1].output + 4; }
static void private_input(struct scene *s) { s->args[1].input = s->bench.pool[1][POOL_PRIVATE] + 262144; }
static void private_output(struct scene *s) { s->args[1].output = s->bench.pool[1][POOL_PRIVATE] + 262144; }
static void no_input(struct scene *s) { s->args[1].input = NULL; }
static void no_combination(struct scene *s) { s->args[1].combination = 0; }
static void root_outside(struct scene *s) { s->args[1].root = RANKS; }
static void unaligned(struct scene *s) { s->args[1].output = (char *)s->args[1].output + 2; }

#define DIFFER(text) text ": expected the same on all members", QUERN_OK, NULL
#define ELSEWHERE(buffer) "args." buffer " of ranks 0 and 1 is not at the same place of the same symmetric", QUERN_OK, NULL
#define REFUSED "rank 1 refused its own arguments"
#define PRIVATE(buffer) REFUSED, QUERN_INVALID_ARGUMENT, "args." buffer " is not symmetric memory of this group: expected "

static const struct mistake of_any_size[] = {
    {COLLECTIVE_ALL_REDUCE, other_dtype, DIFFER("quern_all_reduce (entry): args.dtype is f32 on rank 0 and bf16 on rank 1")},
    {COLLECTIVE_BROADCAST, other_dtype, DIFFER("quern_broadcast (entry): args.dtype is f32 on rank 0 and bf16 on rank 1")},
    {COLLECTIVE_REDUCE_SCATTER, other_combination,
     DIFFER("(entry): args.combination is QUERN_COMBINE_SUM on rank 0 and QUERN_COMBINE_MAX on rank 1")},
    {COLLECTIVE_ALL_GATHER, shorter, "quern_all_gather (entry): args.count is ", QUERN_OK, NULL},
    {COLLECTIVE_ALL_REDUCE, small, DIFFER(" on rank 0 and 5 on rank 1")},
    {COLLECTIVE_ALL_REDUCE, nothing, DIFFER(" on rank 0 and 0 on rank 1")},
    {COLLECTIVE_BROADCAST, other_root, DIFFER("args.root is 2 on rank 0 and 0 on rank 1")},
    {COLLECTIVE_ALL_REDUCE, no_input, REFUSED, QUERN_NULL_POINTER, "args.input is NULL"},
    {COLLECTIVE_ALL_REDUCE, no_combination, REFUSED, QUERN_INVALID_ARGUMENT, "args.combination is 0"},
    {COLLECTIVE_BROADCAST, root_outside, REFUSED, QUERN_INVALID_ARGUMENT, "args.root is 3"},
    {COLLECTIVE_ALL_GATHER, unaligned, REFUSED, QUERN_INVALID_ARGUMENT, "args.output"},
};

static const struct mistake of_large_calls[] = {
    {COLLECTIVE_ALL_REDUCE, other_input, ELSEWHERE("input")},      {COLLECTIVE_REDUCE_SCATTER, other_input, ELSEWHERE("input")},
    {COLLECTIVE_ALL_REDUCE, other_output, ELSEWHERE("output")},    {COLLECTIVE_ALL_GATHER, other_output, ELSEWHERE("output")},
    {COLLECTIVE_BROADCAST, other_output, ELSEWHERE("output")},     {COLLECTIVE_ALL_REDUCE, private_input, PRIVATE("input")},
    {COLLECTIVE_REDUCE_SCATTER, private_input, PRIVATE("input")},  {COLLECTIVE_ALL_REDUCE, private_output, PRIVATE("output")},
    {COLLECTIVE_ALL_GATHER, private_output, PRIVATE("output")},    {COLLECTIVE_BROADCAST, private_output, PRIVATE("output")},
};

/* The root's own output may have its input already. */
static void forgive_root(struct scene *s) {
    const struct gpu_collective_buffers b = gpu_collective_place(&s->bench, &s->c, s->c.root);
    if (s->c.operation != COLLECTIVE_BROADCAST || s->args[s->c.root].count < count_of(true)) return;
    memcpy(s->bench.expected[s->c.root][b.output_pool] + b.output, s->bench.expected[s->c.root][b.input_pool] + b.input,
           (size_t)b.output_bytes);
}

static void make(struct scene *s, const struct mistake *mistake, bool is_large) {
    prepare(s, mistake->operation, is_large);
    mistake->make(s);
    for (int rank = 0; rank < RANKS; rank++) {
        check_status(call(s, rank), rank == 1 ? mistake->own : QUERN_OK);
        if (rank == 1 && mistake->own) check_detail(mistake->own_text);
    }
    forgive_root(s);
    gpu_collective_compare(&s->bench, &s->c, mistake->text);
    expect_poison(s, QUERN_PEER_MISMATCH, mistake->text);
    renew(s);
}

TEST_SCENE(collective_faults_cuda, mistakes_in_small_calls) {
    for (size_t i = 0; i < COUNT(of_any_size); i++) make(s, &of_any_size[i], false);
}

TEST_SCENE(collective_faults_cuda, mistakes_in_large_calls) {
    for (size_t i = 0; i < COUNT(of_any_size); i++) make(s, &of_any_size[i], true);
    for (size_t i = 0; i < COUNT(of_large_calls); i++) make(s, &of_large_calls[i], true);
}

/* The first place that differs from place 0 is named, whichever rank looks. */
TEST_SCENE(collective_faults_cuda, the_lowest_that_differs_is_named) {
    prepare(s, COLLECTIVE_ALL_REDUCE, false);
    s->args[1].count = 98, s->args[2].count = 97;
    for (int rank = 0; rank < RANKS; rank++) check_ok(call(s, rank));
    expect_poison(s, QUERN_PEER_MISMATCH, "args.count is 100 on rank 0 and 98 on rank 1");
    renew(s);
    prepare(s, COLLECTIVE_ALL_REDUCE, true);
    s->args[0].count = 98;
    for (int rank = 0; rank < RANKS; rank++) check_ok(call(s, rank));
    expect_poison(s, QUERN_PEER_MISMATCH, "args.count is 98 on rank 0 and ");
}

/* If all ranks make the same mistake, each detects it, and the group stays usable. */
TEST_SCENE(collective_faults_cuda, a_mistake_of_all_ranks_poisons_nothing) {
    for (int is_large = 0; is_large < 2; is_large++) {
        prepare(s, COLLECTIVE_ALL_REDUCE, is_large);
        for (int rank = 0; rank < RANKS; rank++) {
            s->args[rank].combination = 3;
            check_status(call(s, rank), QUERN_INVALID_ARGUMENT);
        }
        gpu_collective_run(&s->bench, &s->c);
    }
}

/* ---- other calls, and ranks that do not come ---- */

static void others_call(struct scene *s, bool is_large) {
    prepare(s, COLLECTIVE_ALL_REDUCE, is_large);
    check_ok(call(s, 0));
    check_ok(call(s, 2));
}

static void call_gather(struct scene *s) {
    s->c.operation = COLLECTIVE_ALL_GATHER;
    s->args[1] = gpu_collective_arguments(&s->bench, &s->c, 1, s->members[1]);
    check_ok(call(s, 1));
}

static void call_barrier(struct scene *s) { check_ok(quern_barrier(s->group.group[1], NULL, s->group.device[1].stream)); }

static void call_with_two(struct scene *s) {
    s->args[1].members = (const int[]){0, 1}, s->args[1].member_count = 2;
    check_ok(call(s, 1));
}

TEST_SCENE(collective_faults_cuda, another_call_is_not_this_one) {
    static void (*const calls[])(struct scene *s) = {call_gather, call_barrier, call_with_two};
    for (size_t i = 0; i < 2 * COUNT(calls); i++) {
        others_call(s, i % 2);
        calls[i / 2](s);
        gpu_collective_compare(&s->bench, &s->c, "a rank is elsewhere");
        expect_poison(s, QUERN_PEER_MISMATCH, "another call");
        renew(s);
    }
}

TEST_SCENE(collective_faults_cuda, a_missing_rank_is_named) {
    for (int is_large = 0; is_large < 2; is_large++) {
        prepare(s, COLLECTIVE_REDUCE_SCATTER, is_large);
        for (int rank = 0; rank < RANKS; rank++) s->args[rank].timeout = 0.2;
        check_ok(call(s, 0));
        check_ok(call(s, 2));
        gpu_collective_compare(&s->bench, &s->c, "a rank is missing");
        expect_poison(s, QUERN_PEER_TIMEOUT, "rank 1 (");
        check_detail("quern_reduce_scatter (entry)");
        renew(s);
    }
}

/* A rank that leaves is missed at the next entry. */
Test(collective_faults_cuda, a_rank_that_has_left_is_missed) {
    for (int is_large = 0; is_large < 2; is_large++) {
        struct scene s CLOSED_BY(close_scene);
        open_scene(&s);
        prepare(&s, COLLECTIVE_ALL_GATHER, is_large);
        check_ok(quern_group_destroy(s.group.group[1]));
        s.group.group[1] = NULL;
        const double began = rank_now();
        check_ok(call(&s, 0));
        check_ok(call(&s, 2));
        gpu_group_synchronize(&s.group);
        check(rank_now() - began < RANK_SOON, "the kernels ended after %g s", rank_now() - began);
        for (int rank = 0; rank < RANKS; rank += 2) {
            check_refused(quern_group_status(s.group.group[rank]), QUERN_PEER_LOST, "waited on its GPU for rank 1 (process ");
        }
        gpu_collective_compare(&s.bench, &s.c, "a rank has left");
    }
}

/* The entry and the exit end by the abort of a rank; the rank's later calls fail without a launch. */
TEST_SCENE(collective_faults_cuda, an_abort_ends_the_wait) {
    for (int is_large = 0; is_large < 2; is_large++) {
        prepare(s, COLLECTIVE_ALL_REDUCE, is_large);
        check_ok(call(s, 0));
        check_ok(quern_group_abort(s->group.group[1], "enough"));
        gpu_group_synchronize(&s->group);
        for (int rank = 0; rank < RANKS; rank++) {
            check_refused(call(s, rank), QUERN_GROUP_ABORTED, "enough");
        }
        renew(s);
    }
}

/* After the entry, a failed launch of the pass leaves the others waiting at the exit. */
Test(collective_faults_cuda, a_call_that_lacks_its_pass_poisons_the_group) {
    enum { LAUNCH_OF_THE_PASS = 4, OUT_OF_MEMORY = 2 };
    struct scene s CLOSED_BY(close_scene);
    if (!cuda_is_emulated()) cr_skip_test("needs a driver that fails on demand");
    open_scene(&s);
    for (int again = 0; again < 2; again++) {  /* the first call makes further calls of the driver */
        prepare(&s, COLLECTIVE_ALL_REDUCE, true);
        check_ok(call(&s, 1));
        check_ok(call(&s, 2));
        device_use(&s.group.device[0]);
        if (again) cuda_fail_call(LAUNCH_OF_THE_PASS, OUT_OF_MEMORY);
        check_status(call(&s, 0), again ? QUERN_OUT_OF_MEMORY : QUERN_OK);
        cuda_fail_call(0, 0);
    }
    expect_poison(&s, QUERN_PEER_LOST, "rank 0 has entered a collective and could not launch its pass: collective_f32__");
}

/* ---- preparation ---- */

Test(collective_faults_cuda, not_prepared) {
    OPEN_GROUP(group, .ranks = 2, .prepared = QUERN_BARRIER);
    struct gpu_bench bench CLOSED_BY(gpu_bench_close);
    gpu_bench_open(&bench, &group, POOL, 0);
    const struct gpu_collective_case c = {
        .operation = COLLECTIVE_ALL_REDUCE, .dtype = QUERN_F32, .combination = QUERN_COMBINE_SUM, .count = 10};
    int members[2];
    for (int rank = 0; rank < 2; rank++) {
        const quern_collective_args args = gpu_collective_arguments(&bench, &c, rank, members);
        check_refused(gpu_collective_call(&bench, c.operation, rank, &args), QUERN_NOT_PREPARED, "collective is not prepared");
    }
    gpu_group_synchronize(&group);
    for (int rank = 0; rank < 2; rank++) {
        check_ok(quern_group_status(group.group[rank]));
        check_ok(quern_prepare(group.device[rank].quern, QUERN_COLLECTIVE));
    }
    gpu_collective_run(&bench, &c);
}

/* The room of a group that was created before collectives were prepared. */
Test(collective_faults_cuda, more_ranks_than_a_gpu_can_run_at_once) {
    enum { CROWD = 5 };
    OPEN_GROUP(group, .ranks = CROWD, .machine = {.devices = 1, .multiprocessors = 1}, .prepared = QUERN_BARRIER);
    struct gpu_bench bench CLOSED_BY(gpu_bench_close);
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_prepare(group.device[rank].quern, QUERN_COLLECTIVE));
    gpu_bench_open(&bench, &group, POOL, 0);
    const struct gpu_collective_case c = {
        .operation = COLLECTIVE_ALL_REDUCE, .dtype = QUERN_F32, .combination = QUERN_COMBINE_SUM, .count = 10};
    for (int rank = 0; rank < CROWD && test_is_small(); rank++) {  /* a real GPU has more multiprocessors */
        int members[CROWD];
        const quern_collective_args args = gpu_collective_arguments(&bench, &c, rank, members);
        check_refused(gpu_collective_call(&bench, c.operation, rank, &args), QUERN_NOT_SUPPORTED, "cuda:0 has room for ");
        check_detail("and the ranks of this process's groups need 5: expected one for each rank");
    }
    gpu_group_synchronize(&group);
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_group_status(group.group[rank]));
}
