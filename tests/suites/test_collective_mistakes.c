/*
 * Collectives in which one rank makes a mistake, or another call, or none, in each way between the ranks: all get the error,
 * nothing is written, and the group stays usable unless the calls themselves differ, or its ranks are GPUs that reach each other.
 * tests/fields/ has the other arguments that one rank refuses.
 *
 * Runs on: ranks, every emulated, gpu; kernels of barrier, collective.
 */
#include "harness/one_collective.h"

enum { PREPARED = QUERN_BARRIER | QUERN_COLLECTIVE };
#define TEST_MISTAKES(name, ...) \
    TEST_EACH_WAY(collective_mistakes, name, .count = ONE_RANKS, .operations = PREPARED __VA_OPT__(, ) __VA_ARGS__)

/* In which calls it is a mistake. */
enum {
    ANY, REDUCES, MOVES, SCATTERS, ROOTED, WITH_WORKSPACE, ON_CPUS, ON_CPUS_WITH_WORKSPACE, ON_GPUS, REACHES_INPUT, REACHES_OUTPUT
};

static void *freed[ONE_RANKS];   /* symmetric memory of each */

#define COLLECTIVE(name, ...) MISTAKE(struct one_collective, name, __VA_ARGS__)
COLLECTIVE(no_dtype, one->args.dtype = QUERN_NO_DTYPE)
COLLECTIVE(huge_count, one->args.count = ((int64_t)1 << 45) + 1)
COLLECTIVE(unknown_combination, one->args.combination = (quern_combination)3)
COLLECTIVE(unknown_order, one->args.order = (quern_order)2)
COLLECTIVE(any_order, one->args.order = QUERN_ORDER_ANY)
COLLECTIVE(small_stride, one->args.input_stride = one->args.count - 1)
COLLECTIVE(huge_stride, one->args.input_stride = (int64_t)1 << 45)
COLLECTIVE(no_root, one->args.root = ONE_RANKS)
COLLECTIVE(negative_timeout, one->args.timeout = -1)
COLLECTIVE(no_input, one->args.input = NULL)
COLLECTIVE(no_output, one->args.output = NULL)
COLLECTIVE(overlapping, one->args.output = (char *)(uintptr_t)one->args.input + 4)
COLLECTIVE(on_another_place, one->args.input_stride = one->args.count + 100;
           one->args.output = (char *)(uintptr_t)one->args.input + 2 * one->args.input_stride * 4)
COLLECTIVE(freed_input, one->args.input = freed[one->bench->rank->rank])
COLLECTIVE(no_workspace, one->workspace = NULL)
COLLECTIVE(small_workspace, one->workspace_bytes--)
COLLECTIVE(odd_workspace, one->workspace = (char *)one->workspace + 8)
COLLECTIVE(private_workspace, one->workspace = one->bench->pool[POOL_PRIVATE])
COLLECTIVE(freed_workspace, one->workspace = freed[one->bench->rank->rank])
COLLECTIVE(workspace_on_output, one->args.output = (char *)one->workspace + 64)
COLLECTIVE(workspace_on_input, one->args.input = one->workspace)
COLLECTIVE(stream, one->stream = one)
COLLECTIVE(unaligned, one->args.output = (char *)one->args.output + 2)
COLLECTIVE(private_input, one->args.input = one->bench->pool[POOL_PRIVATE] + 2 * ONE_BYTES)
COLLECTIVE(private_output, one->args.output = one->bench->pool[POOL_PRIVATE] + 2 * ONE_BYTES)

static const struct mistake refusals[] = {
    {1, no_dtype, QUERN_INVALID_DTYPE, "args.dtype is 0 (unknown dtype): expected one of f32, f16, bf16", REDUCES},
    {1, huge_count, QUERN_INVALID_SHAPE, "args.count is 35184372088833 elements of f32, 1 times: expected at most 2^47 bytes", ANY},
    {2, unknown_combination, QUERN_INVALID_ARGUMENT, "args.combination is 3: expected", REDUCES},
    {2, unknown_order, QUERN_INVALID_ARGUMENT, "args.order is 2: expected QUERN_ORDER_RANKS or QUERN_ORDER_ANY", REDUCES},
    {1, any_order, QUERN_INVALID_ARGUMENT, "args.order is not 0: only quern_reduce_scatter and quern_all_reduce have one", MOVES},
    {1, small_stride, QUERN_INVALID_SHAPE, "expected at least count, ", SCATTERS},
    {0, huge_stride, QUERN_INVALID_SHAPE,
     "args.input_stride is 35184372088832 elements of f32, 3 times: expected at most 2^47 bytes", SCATTERS},
    {0, no_root, QUERN_INVALID_ARGUMENT, "args.root is 3: expected a rank from 0 to 2", ROOTED},
    {1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more", ANY},
    {1, no_input, QUERN_NULL_POINTER, "args.input is NULL", ANY},
    {2, no_output, QUERN_NULL_POINTER, "args.output is NULL", ANY},
    {1, overlapping, QUERN_INVALID_ARGUMENT, "args.output overlaps args.input", ANY},
    {1, on_another_place, QUERN_INVALID_ARGUMENT, "args.output overlaps args.input", SCATTERS},
    {1, freed_input, QUERN_INVALID_ARGUMENT, "args.input is in symmetric memory that was freed", ON_CPUS},
    {0, no_workspace, QUERN_NULL_POINTER, "workspace is NULL", WITH_WORKSPACE},
    {2, small_workspace, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes is", WITH_WORKSPACE},
    {1, odd_workspace, QUERN_INVALID_ARGUMENT, "workspace is not at a multiple of 16 bytes", WITH_WORKSPACE},
    {1, private_workspace, QUERN_INVALID_ARGUMENT, "workspace is not symmetric memory of this group: expected",
     ON_CPUS_WITH_WORKSPACE},
    {0, freed_workspace, QUERN_INVALID_ARGUMENT, "workspace is in symmetric memory that was freed", ON_CPUS_WITH_WORKSPACE},
    {2, workspace_on_output, QUERN_INVALID_ARGUMENT, "args.output overlaps workspace", WITH_WORKSPACE},
    {1, workspace_on_input, QUERN_INVALID_ARGUMENT, "workspace overlaps args.input", WITH_WORKSPACE},
    {1, stream, QUERN_INVALID_ARGUMENT, "stream is not NULL", ON_CPUS},
    {1, unaligned, QUERN_INVALID_ARGUMENT, "args.output", ON_GPUS},
    {1, private_input, QUERN_INVALID_ARGUMENT, "args.input is not symmetric memory of this group: expected ", REACHES_INPUT},
    {1, private_output, QUERN_INVALID_ARGUMENT, "args.output is not symmetric memory of this group: expected ", REACHES_OUTPUT},
    {EACH_FOR_ITSELF, unknown_combination, QUERN_INVALID_ARGUMENT, "args.combination is 3: expected", REDUCES},
};

static bool applies(const void *given, const struct mistake *mistake) {
    const struct one_collective *one = given;
    const enum collective_operation operation = one->form->operation;
    const bool on_gpus = rank_reaches(one->bench->rank), on_cpus = !one->bench->rank->on_gpu && !on_gpus;
    const bool reduces = collective_reduces(operation), has_workspace = one->workspace_bytes && (on_cpus || reduces);
    const bool reaches = on_gpus && one_is_large(one->form);
    const bool conditions[] = {
        [ANY] = true, [REDUCES] = reduces, [MOVES] = !reduces, [WITH_WORKSPACE] = has_workspace, [ON_CPUS] = on_cpus,
        [ON_GPUS] = on_gpus,
        [ROOTED] = operation == COLLECTIVE_BROADCAST, [SCATTERS] = operation == COLLECTIVE_REDUCE_SCATTER,
        [ON_CPUS_WITH_WORKSPACE] = on_cpus && has_workspace,
        [REACHES_INPUT] = reaches && reduces, [REACHES_OUTPUT] = reaches && operation != COLLECTIVE_REDUCE_SCATTER};
    return conditions[mistake->where];
}

/* False: it is no mistake in this form. */
static bool err(struct rank_bench *bench, const struct one_form *form, const struct mistake *mistake) {
    char words[160];
    struct mistake here = *mistake;
    snprintf(words, sizeof words, mistake->words, (long long)form->count + 1);
    here.words = words;
    return one_calls_err(&one_collective_kind, bench, form, &here, mistake->status == QUERN_PEER_MISMATCH, applies);
}

/* On GPUs that reach each other, where each ends the group, in a small form and in a large one. */
static void err_in_two_forms(struct rank_bench *bench, const struct mistake *mistakes, size_t count) {
    for (size_t i = 0; i < 2 * count; i++)
        for (size_t f = 0; f < COUNT(one_forms); f++) {
            const struct one_form *form = &one_forms[(f + i / 2) % COUNT(one_forms)];
            if (one_is_large(form) == i % 2 && err(bench, form, &mistakes[i / 2])) break;
        }
}

static void make_all(struct rank_bench *bench, const struct mistake *mistakes, size_t count) {
    if (rank_reaches(bench->rank)) err_in_two_forms(bench, mistakes, count);
    for (size_t f = 0; f < COUNT(one_forms); f++) {
        for (size_t i = 0; i < count && !rank_reaches(bench->rank); i++) err(bench, &one_forms[f], &mistakes[i]);
        one_calls_run(&one_collective_kind, bench, &one_forms[f]);
    }
}

TEST_MISTAKES(refused_arguments_of_one_rank_are_told_to_all) {
    if (!rank->on_gpu && !rank->shares_thread) {
        rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){BENCH_POOL}, &freed[rank->rank]));
        rank_ok(rank, quern_symmetric_free(bench->group, freed[rank->rank], NULL));
    }
    make_all(bench, refusals, COUNT(refusals));
}

/* ---- arguments that are legal, but not the same ---- */

/* It has room for other counts. */
#define DIFFERENCE(name, change) COLLECTIVE(name, change; one->workspace_bytes = one->bench->workspace ? BENCH_POOL : 0)
DIFFERENCE(other_dtype, one->args.dtype = QUERN_BF16)
DIFFERENCE(other_count, one->args.count++)
DIFFERENCE(no_elements, one->args.count = 0)
DIFFERENCE(large_count, one->args.count = 9000)
DIFFERENCE(other_stride, one->args.input_stride = one->args.count + 1)
DIFFERENCE(other_combination, one->args.combination = QUERN_COMBINE_MAX)
DIFFERENCE(other_order, one->args.order = QUERN_ORDER_ANY)
DIFFERENCE(other_root, one->args.root = 2)
DIFFERENCE(two_counts, one->args.count += one->bench->rank->rank)
DIFFERENCE(other_input, one->args.input = (const char *)one->args.input + 4)
DIFFERENCE(other_output, one->args.output = (char *)one->args.output + 4)
#define ELSEWHERE(buffer) "args." buffer " of ranks 0 and 1 is not at the same place of the same symmetric"

/* All of these are found by comparison with rank 0, unless that is the one that differs: then rank 1 differs from it. */
static const struct mistake differences[] = {
    {1, other_dtype, QUERN_PEER_MISMATCH, "args.dtype is f32 on rank 0 and bf16 on rank 1: expected the same on all members", ANY},
    {0, other_dtype, QUERN_PEER_MISMATCH, "args.dtype is bf16 on rank 0 and f32 on rank 1: expected the same on all members", ANY},
    {2, other_count, QUERN_PEER_MISMATCH, "and %lld on rank 2: expected the same on all members", ANY},
    {1, no_elements, QUERN_PEER_MISMATCH, "and 0 on rank 1: expected the same on all members", ANY},
    {1, large_count, QUERN_PEER_MISMATCH, "and 9000 on rank 1: expected the same on all members", ANY},
    {0, large_count, QUERN_PEER_MISMATCH, "args.count is 9000 on rank 0 and ", ANY},
    {2, other_combination, QUERN_PEER_MISMATCH,
     "args.combination is QUERN_COMBINE_SUM on rank 0 and QUERN_COMBINE_MAX on rank 2: expected the same on all members", REDUCES},
    {2, other_order, QUERN_PEER_MISMATCH,
     "args.order is QUERN_ORDER_RANKS on rank 0 and QUERN_ORDER_ANY on rank 2: expected the same on all members", REDUCES},
    {0, other_order, QUERN_PEER_MISMATCH, "args.order is QUERN_ORDER_ANY on rank 0 and QUERN_ORDER_RANKS on rank 1", REDUCES},
    {2, other_stride, QUERN_PEER_MISMATCH, "and %lld on rank 2: expected the same on all members", SCATTERS},
    {0, other_stride, QUERN_PEER_MISMATCH, "args.input_stride is %lld on rank 0 and ", SCATTERS},
    {0, other_root, QUERN_PEER_MISMATCH, "args.root is 2 on rank 0 and 1 on rank 1: expected the same on all members", ROOTED},
    {ALL_RANKS, two_counts, QUERN_PEER_MISMATCH, "on rank 0 and %lld on rank 1: expected the same on all members", ANY},
    {1, other_input, QUERN_PEER_MISMATCH, ELSEWHERE("input"), REACHES_INPUT},
    {1, other_output, QUERN_PEER_MISMATCH, ELSEWHERE("output"), REACHES_OUTPUT},
};

TEST_MISTAKES(differing_arguments_are_told_to_all) { make_all(bench, differences, COUNT(differences)); }

/* ---- other calls and other members end the group; test_nccl_failures.c has them over NCCL ---- */

/* Rank 2 makes another call, or one with other members. */
struct confusion {
    struct one_form form;
    enum collective_operation other;
    const int *members;      /* {0, 2}, or NULL: all */
    const char *words;       /* between hosts */
};

static const int two[] = {0, 2};

static const struct confusion confusions[] = {
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_ALL_GATHER, NULL, "quern_all_gather (entry)"},
    {{COLLECTIVE_BROADCAST, 20000, true, false}, COLLECTIVE_ALL_REDUCE, NULL, "quern_all_reduce (entry)"},
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_BROADCAST, NULL, "quern_broadcast (entry)"},
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_ALL_REDUCE, two, "of other members"},
    {{COLLECTIVE_ALL_REDUCE, 20000, true, false}, COLLECTIVE_ALL_REDUCE, two, "of other members"},
};

TEST_MISTAKES(other_calls_end_the_group, RANKS_EACH(confusions)) {
    const struct confusion *confusion = rank->user;
    const bool on_gpus = rank_reaches(rank);
    struct one_collective all[ONE_RANKS];
    struct one_form other = confusion->form;
    quern_status status[ONE_RANKS];
    other.operation = confusion->other;
    if (rank_is_over_nccl(rank)) return;
    if (confusion->members && !rank->hosts && !on_gpus) return;  /* of one host: an error, after which the group is usable */
    if (!on_gpus) rank_line_up(rank);
    for (int i = 0; i < bench->count; i++) {
        const bool is_2 = bench[i].rank->rank == 2;
        one_make(&all[i], &bench[i], is_2 ? &other : &confusion->form);
        if (bench->workspace) all[i].workspace_bytes = BENCH_POOL;
        if (is_2 && confusion->members) all[i].args.members = confusion->members, all[i].args.member_count = 2;
        status[i] = one_call(&all[i]);
    }
    for (int i = 0; i < bench->count; i++) {
        rank_refused(bench[i].rank, rank_bench_status(&bench[i], status[i]), QUERN_PEER_MISMATCH,
                     on_gpus ? "another call" : rank->hosts ? confusion->words
                                              : "the ranks must make the same calls in the same order, with the same members");
        one_check_unwritten(&all[i], "in another call");
        rank_status(bench[i].rank, quern_barrier(bench[i].group, NULL, bench[i].stream), QUERN_PEER_MISMATCH);
    }
    if (on_gpus) one_renew(bench);
}

/* ---- ranks that do something else ---- */

static const struct one_form small_and_large[] = {{COLLECTIVE_ALL_REDUCE, 20, true, false},
                                                  {COLLECTIVE_ALL_REDUCE, 20000, true, true}};

#define TEST_FORMS(name, function) \
    TEST_MISTAKES(name, RANKS_EACH(small_and_large)) { function(&one_collective_kind, bench, rank->user); }
TEST_FORMS(a_rank_that_stays_away_is_named, one_calls_without_a_rank)
TEST_FORMS(an_abort_ends_the_wait, one_calls_that_are_aborted)
TEST_FORMS(a_barrier_is_another_call, one_calls_beside_a_barrier)

/* ---- who takes part ---- */

/* Also a root that is no member of the call. */
TEST_MISTAKES(mistakes_about_who_takes_part) {
    static const struct one_form broadcast = {COLLECTIVE_BROADCAST, 20, true, false};
    struct one_collective all[ONE_RANKS];
    int count = 0;
    one_calls_with_other_members(&one_collective_kind, bench, &one_forms[0]);
    for EACH_BENCH(each, bench) {
        if (each->rank->rank == 2) break;
        one_make(&all[count], each, &broadcast);
        all[count].args.members = one_members, all[count].args.member_count = 2, all[count].args.root = 2;
        rank_refused(rank, one_call(&all[count++]), QUERN_INVALID_ARGUMENT, "args.root is 2: expected one of the 2 members");
    }
    for (int i = 0; i < count; i++) rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
    for (int i = 0; i < count; i++) {
        all[i].args.root = 1;
        rank_ok(rank, one_call(&all[i]));
    }
    for (int i = 0; i < count; i++) rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
}

/* The members are at the same address, but others. */
TEST_MISTAKES(a_list_of_members_that_changes_in_place) {
    struct one_collective all[ONE_RANKS];
    int members[] = {0, 1, 2};
    for (int i = 0; i < bench->count; i++) {
        one_make(&all[i], &bench[i], &one_forms[0]);
        all[i].args.members = members, all[i].args.member_count = 3;
    }
    for (int i = 0; i < bench->count; i++) rank_ok(rank, one_call(&all[i]));
    for (int i = 0; i < bench->count; i++) {
        rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
        one_check(&all[i]);
    }
    for (int i = 0; i < bench->count; i++) {
        members[0] = bench[i].rank->rank == 2 ? 2 : 1, members[1] = bench[i].rank->rank == 2 ? 2 : 0;
        rank_refused(rank, one_call(&all[i]), QUERN_INVALID_ARGUMENT, "expected ascending ranks");
    }
    for (int i = 0; i < bench->count; i++) rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
}

/* ---- no mistake: memory that ends with the last place of a stride ---- */

TEST_MISTAKES(a_stride_ends_with_the_last_place) {
    enum { ELEMENTS = 12000, STRIDE = 17000, ALL = (ONE_RANKS - 1) * STRIDE + ELEMENTS };
    static const struct one_form form = {COLLECTIVE_REDUCE_SCATTER, ELEMENTS, false, false};
    struct one_collective all[ONE_RANKS];
    for (int i = 0; i < bench->count; i++) {
        unsigned char *input = bench[i].pool[POOL_SYMMETRIC] + BENCH_POOL - ALL * sizeof(float);
        float *image = rank_bench_image(&bench[i], input);
        one_make(&all[i], &bench[i], &form);
        for (int at = 0; at < ALL; at++) image[at] = (float)(at + bench[i].rank->rank);
        rank_bench_put(&bench[i], input, ALL * sizeof(float));
        all[i].args.input = input, all[i].args.input_stride = STRIDE;
    }
    for (int i = 0; i < bench->count; i++) rank_ok(rank, one_call(&all[i]));
    for (int i = 0; i < bench->count; i++) {
        rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
        const float *sum = rank_bench_seen(&bench[i], all[i].args.output, ELEMENTS * (int64_t)sizeof(float));
        for (int at = 0; at < ELEMENTS; at++)
            rank_check(rank, sum[at] == (float)(ONE_RANKS * (bench[i].rank->rank * STRIDE + at + 1)), "element %d is %g", at,
                       (double)sum[at]);
    }
}
