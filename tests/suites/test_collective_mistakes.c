/*
 * Collectives in which one rank makes a mistake, in each way between the ranks: all get the error, nothing is written, and the
 * group stays usable unless the calls themselves differ.  tests/fields/ has the other arguments that one rank refuses.
 *
 * Runs on: ranks, one emulated.
 */
#include "harness/one_collective.h"
#include "harness/ways.h"

/* A mistake of one rank, its own status, what all details contain, and in which calls it is one. */
struct mistake {
    int rank;
    void (*make)(struct one_collective *one);
    quern_status status;
    const char *words;
    enum { ANY, REDUCES, ROOTED, WITH_WORKSPACE, ON_CPUS, ON_CPUS_WITH_WORKSPACE } where;
};

static void *freed[ONE_RANKS];   /* symmetric memory of each */

#define MISTAKE(name, ...) static void name(struct one_collective *one) { __VA_ARGS__; }
MISTAKE(no_dtype, one->args.dtype = QUERN_NO_DTYPE)
MISTAKE(huge_count, one->args.count = ((int64_t)1 << 45) + 1)
MISTAKE(unknown_combination, one->args.combination = (quern_combination)3)
MISTAKE(no_root, one->args.root = ONE_RANKS)
MISTAKE(negative_timeout, one->args.timeout = -1)
MISTAKE(no_input, one->args.input = NULL)
MISTAKE(no_output, one->args.output = NULL)
MISTAKE(overlapping, one->args.output = (char *)(uintptr_t)one->args.input + 4)
MISTAKE(freed_input, one->args.input = freed[one->bench->rank->rank])
MISTAKE(no_workspace, one->workspace = NULL)
MISTAKE(small_workspace, one->workspace_bytes--)
MISTAKE(odd_workspace, one->workspace = (char *)one->workspace + 8)
MISTAKE(private_workspace, one->workspace = one->bench->pool[POOL_PRIVATE])
MISTAKE(freed_workspace, one->workspace = freed[one->bench->rank->rank])
MISTAKE(workspace_on_output, one->args.output = (char *)one->workspace + 64)
MISTAKE(workspace_on_input, one->args.input = one->workspace)
MISTAKE(stream, one->stream = one)

static const struct mistake refusals[] = {
    {1, no_dtype, QUERN_INVALID_DTYPE, "args.dtype is 0 (unknown dtype): expected one of f32, f16, bf16", REDUCES},
    {1, huge_count, QUERN_INVALID_SHAPE, "args.count is 35184372088833 elements of f32, 1 times: expected at most 2^47 bytes", ANY},
    {2, unknown_combination, QUERN_INVALID_ARGUMENT, "args.combination is 3: expected", REDUCES},
    {0, no_root, QUERN_INVALID_ARGUMENT, "args.root is 3: expected a rank from 0 to 2", ROOTED},
    {1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more", ANY},
    {1, no_input, QUERN_NULL_POINTER, "args.input is NULL", ANY},
    {2, no_output, QUERN_NULL_POINTER, "args.output is NULL", ANY},
    {1, overlapping, QUERN_INVALID_ARGUMENT, "args.output overlaps args.input", ANY},
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
};

static bool applies(const struct mistake *mistake, const struct one_collective *one) {
    const bool on_cpus = !one->bench->rank->on_gpu, reduces = collective_reduces(one->form->operation);
    const bool has_workspace = one->workspace_bytes && (on_cpus || reduces);
    const bool conditions[] = {
        [ANY] = true, [REDUCES] = reduces, [WITH_WORKSPACE] = has_workspace, [ON_CPUS] = on_cpus,
        [ROOTED] = one->form->operation == COLLECTIVE_BROADCAST, [ON_CPUS_WITH_WORKSPACE] = on_cpus && has_workspace};
    return conditions[mistake->where];
}

/* Of arguments that are legal, but differ, all say the same; over NCCL also of those that one rank refuses. */
static void err(struct rank *rank, const struct rank_bench *bench, const struct one_form *form, const struct mistake *mistake) {
    struct one_collective one;
    char words[160];
    one_make(&one, bench, form);
    const void *output = one.args.output;
    if (!applies(mistake, &one)) return;
    if (mistake->status == QUERN_PEER_MISMATCH) one.workspace_bytes = BENCH_POOL;
    snprintf(words, sizeof words, mistake->words, (long long)form->count + 1);
    if (mistake->rank == rank->rank) mistake->make(&one);
    const quern_status status = one_run(&one);
    if (mistake->status == QUERN_PEER_MISMATCH || rank->on_gpu) rank_refused(rank, status, mistake->status, words);
    else rank_check_refusal(rank, mistake->rank, mistake->status, words, status);
    one_check_unwritten(&one, output, words);
}

static void err_in_all_forms(struct rank *rank, struct rank_bench *bench, const struct mistake *mistakes, size_t count) {
    for (size_t f = 0; f < COUNT(one_forms); f++) {
        struct one_collective one;
        for (size_t i = 0; i < count; i++) err(rank, bench, &one_forms[f], &mistakes[i]);
        one_make(&one, bench, &one_forms[f]);
        one_run_rightly(&one);
    }
}

TEST_EACH_WAY(collective_mistakes, refused_arguments_of_one_rank_are_told_to_all, .count = ONE_RANKS) {
    if (!rank->on_gpu) {
        rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){BENCH_POOL}, &freed[rank->rank]));
        rank_ok(rank, quern_symmetric_free(bench->group, freed[rank->rank], NULL));
    }
    err_in_all_forms(rank, bench, refusals, COUNT(refusals));
}

/* ---- arguments that are legal, but not the same ---- */

MISTAKE(other_dtype, one->args.dtype = QUERN_BF16)
MISTAKE(other_count, one->args.count++)
MISTAKE(no_elements, one->args.count = 0)
MISTAKE(large_count, one->args.count = 16000)
MISTAKE(other_combination, one->args.combination = QUERN_COMBINE_MAX)
MISTAKE(other_root, one->args.root = 2)

/* All of these are found by comparison with rank 0, unless that is the one that differs: then rank 1 differs from it. */
static const struct mistake differences[] = {
    {1, other_dtype, QUERN_PEER_MISMATCH, "args.dtype is f32 on rank 0 and bf16 on rank 1: expected the same on all members", ANY},
    {0, other_dtype, QUERN_PEER_MISMATCH, "args.dtype is bf16 on rank 0 and f32 on rank 1: expected the same on all members", ANY},
    {2, other_count, QUERN_PEER_MISMATCH, "and %lld on rank 2: expected the same on all members", ANY},
    {1, no_elements, QUERN_PEER_MISMATCH, "and 0 on rank 1: expected the same on all members", ANY},
    {1, large_count, QUERN_PEER_MISMATCH, "and 16000 on rank 1: expected the same on all members", ANY},
    {0, large_count, QUERN_PEER_MISMATCH, "args.count is 16000 on rank 0 and ", ANY},
    {2, other_combination, QUERN_PEER_MISMATCH,
     "args.combination is QUERN_COMBINE_SUM on rank 0 and QUERN_COMBINE_MAX on rank 2: expected the same on all members", REDUCES},
    {0, other_root, QUERN_PEER_MISMATCH, "args.root is 2 on rank 0 and 1 on rank 1: expected the same on all members", ROOTED},
};

TEST_EACH_WAY(collective_mistakes, differing_arguments_are_told_to_all, .count = ONE_RANKS) {
    err_in_all_forms(rank, bench, differences, COUNT(differences));
}

/* ---- other calls and other members end the group; test_nccl_failures.c has them over NCCL ---- */

/* Rank 2 makes another call, or one with other members. */
struct confusion {
    struct one_form form;
    enum collective_operation other;
    const int *members;      /* {0, 2}, or NULL: all */
    const char *words;       /* between hosts */
};

static const struct confusion confusions[] = {
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_ALL_GATHER, NULL, "quern_all_gather (entry)"},
    {{COLLECTIVE_BROADCAST, 20000, true, false}, COLLECTIVE_ALL_REDUCE, NULL, "quern_all_reduce (entry)"},
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_BROADCAST, NULL, "quern_broadcast (entry)"},
    {{COLLECTIVE_ALL_REDUCE, 20, true, false}, COLLECTIVE_ALL_REDUCE, (const int[]){0, 2}, "of other members"},
};

TEST_EACH_WAY(collective_mistakes, other_calls_end_the_group, .count = ONE_RANKS, RANKS_EACH(confusions)) {
    const struct confusion *confusion = rank->user;
    struct one_form form = confusion->form;
    struct one_collective one;
    if (rank->on_gpu || (confusion->members && !rank->hosts)) return;  /* of one host: an error, after which the group is usable */
    rank_line_up(rank);
    if (rank->rank == 2) form.operation = confusion->other;
    one_make(&one, bench, &form);
    one.workspace_bytes = BENCH_POOL;
    if (rank->rank == 2 && confusion->members) one.args.members = confusion->members, one.args.member_count = 2;
    rank_refused(rank, one_run(&one), QUERN_PEER_MISMATCH,
                 rank->hosts ? confusion->words : "the ranks must make the same calls in the same order, with the same members");
    one_check_unwritten(&one, one.args.output, "in another call");
    rank_status(rank, quern_barrier(bench->group, NULL, NULL), QUERN_PEER_MISMATCH);
}

/* ---- who takes part ---- */

/* Not the calling rank, and not ascending; a root that is no member of the call. */
TEST_EACH_WAY(collective_mistakes, mistakes_about_who_takes_part, .count = ONE_RANKS) {
    struct one_collective one;
    one_make(&one, bench, &one_forms[0]);
    one.args.members = (const int[]){(rank->rank + 1) % ONE_RANKS}, one.args.member_count = 1;
    rank_refused(rank, one_run(&one), QUERN_INVALID_ARGUMENT, "members do not include the calling rank");
    one.args.members = (const int[]){0, 0, 1}, one.args.member_count = 3;
    rank_refused(rank, one_run(&one), QUERN_INVALID_ARGUMENT, "members[1] is 0 after 0: expected ascending ranks");
    one.args.members = one_members, one.args.member_count = ONE_RANKS;
    one_run_rightly(&one);
    one_make(&one, bench, &(struct one_form){COLLECTIVE_BROADCAST, 20, true, false});
    one.args.members = one_members, one.args.member_count = 2, one.args.root = 2;
    if (rank->rank == 2) return;
    rank_refused(rank, one_run(&one), QUERN_INVALID_ARGUMENT, "args.root is 2: expected one of the 2 members");
    one.args.root = 1;
    rank_ok(rank, one_run(&one));
}

/* The members are at the same address, but others. */
TEST_EACH_WAY(collective_mistakes, a_list_of_members_that_changes_in_place, .count = ONE_RANKS) {
    struct one_collective one;
    int members[] = {0, 1, 2};
    one_make(&one, bench, &one_forms[0]);
    one.args.members = members, one.args.member_count = 3;
    one_run_rightly(&one);
    members[0] = rank->rank == 2 ? 2 : 1, members[1] = rank->rank == 2 ? 2 : 0;
    rank_refused(rank, one_run(&one), QUERN_INVALID_ARGUMENT, "expected ascending ranks");
}
