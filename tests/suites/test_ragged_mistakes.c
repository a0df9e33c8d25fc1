/*
 * Ragged all-to-alls in which one rank makes a mistake, in each way between the ranks: all get the error, nothing is written, and
 * the group stays usable, unless its ranks are GPUs that reach each other and the kernels have found the mistake.  tests/fields/
 * has the other arguments that one rank refuses.
 *
 * Runs on: ranks, every emulated, gpu; kernels of barrier, ragged_all_to_all.
 */
#include "harness/one_exchange.h"

enum { PREPARED = QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL };
#define TEST_MISTAKES(name) TEST_EACH_WAY(ragged_mistakes, name, .count = MEMBERS, .operations = PREPARED)

/* ---- plans, of which a thread hears for all its ranks ---- */

static quern_status make_plans(const struct one_calls *calls, quern_ragged_plan **plans) {
    quern_ragged_all_to_all_args args[MEMBERS];
    quern_group *groups[MEMBERS];
    void *workspaces[MEMBERS];
    size_t bytes[MEMBERS];
    for (int i = 0; i < calls->bench->count; i++) {
        const struct one_exchange *one = calls->of[i];
        args[i] = one->args, groups[i] = one->bench->group;
        workspaces[i] = one->workspace, bytes[i] = one->workspace_bytes, plans[i] = NULL;
    }
    return quern_ragged_plan_create(groups, calls->bench->count, args, workspaces, bytes, plans);
}

static void plan_rightly(struct rank_bench *bench) {
    struct one_calls calls;
    quern_ragged_plan *plans[MEMBERS];
    one_calls_make(&calls, &exchange_kind, bench, &exchange_usual);
    rank_ok(bench->rank, make_plans(&calls, plans));
    for (int i = 0; i < bench->count; i++) exchange_check_unwritten(calls.of[i], "making a plan");
    for (int i = 0; i < bench->count; i++) rank_ok(bench->rank, quern_ragged_plan_run(plans[i], bench[i].stream));
    for (int i = 0; i < bench->count; i++) {
        rank_ok(bench->rank, rank_bench_status(&bench[i], QUERN_OK));
        exchange_check(calls.of[i]);
        rank_ok(bench->rank, quern_ragged_plan_destroy(plans[i]));
    }
    one_calls_free(&calls);
}

static void plan_with(struct rank_bench *bench, bool in_place, const struct mistake *mistake, bool all_are_told) {
    const struct exchange_form form = {.in_place = in_place};
    struct one_calls calls;
    quern_ragged_plan *plans[MEMBERS];
    one_calls_make(&calls, &exchange_kind, bench, &form);
    for (int i = 0; i < bench->count; i++)
        if (one_makes(bench[i].rank, mistake)) mistake->make(calls.of[i]);
    const quern_status status = make_plans(&calls, plans);
    if (rank_reaches(bench->rank)) rank_refused(bench->rank, status, mistake->status, mistake->words);
    else one_expect(bench->rank, mistake, all_are_told, status);
    for (int i = 0; i < bench->count; i++) {
        rank_check(bench->rank, !plans[i], "a plan was made with %s", mistake->words);
        exchange_check_unwritten(calls.of[i], mistake->words);
    }
    one_calls_free(&calls);
    if (rank_reaches(bench->rank)) plan_rightly(bench);
}

/* ---- in the metadata: all ranks get the same message ---- */

TEST_MISTAKES(every_fault_of_metadata_is_told_to_all) {
    for (size_t i = 0; i < 2 * EXCHANGE_FAULTS; i++) {
        const struct mistake *fault = &exchange_faults[i / 2];
        const bool on_gpus = rank_reaches(rank), is_overlap = strstr(fault->words, "is also written by");
        const struct exchange_form form = {.in_place = on_gpus && (i + i / 2) % 2, .metadata_on_device = on_gpus && i % 2,
                                           .short_way = !on_gpus && i % 2 == 0 && !is_overlap};
        one_calls_err(&exchange_kind, bench, &form, fault, true, NULL);
        if (!on_gpus) one_calls_run(&exchange_kind, bench, &form);
    }
    one_calls_run(&exchange_kind, bench, &exchange_usual);
}

TEST_MISTAKES(every_fault_of_metadata_is_told_when_a_plan_is_made) {
    for (size_t i = 0; i < EXCHANGE_FAULTS; i++) plan_with(bench, rank_reaches(rank) && i % 2, &exchange_faults[i], true);
    plan_rightly(bench);
}

/* ---- in the arguments: the rank gets its own error, and the others are informed at once; over NCCL all get it ---- */

static void *freed[MEMBERS];   /* symmetric memory of each */

EXCHANGE_MISTAKE(float_metadata, args->metadata_dtype = QUERN_F32)
EXCHANGE_MISTAKE(huge_updates, args->updates = INT32_MAX)
EXCHANGE_MISTAKE(no_input, args->input = NULL)
EXCHANGE_MISTAKE(no_output, args->output = NULL)
EXCHANGE_MISTAKE(no_output_offsets, args->output_offsets = NULL)
EXCHANGE_MISTAKE(negative_timeout, args->timeout = -1)
EXCHANGE_MISTAKE(in_place, args->output = (void *)(uintptr_t)args->input)
EXCHANGE_MISTAKE(small_workspace, call->workspace_bytes--)
EXCHANGE_MISTAKE(private_workspace, call->workspace = call->bench->pool[POOL_PRIVATE])
EXCHANGE_MISTAKE(private_output, args->output = call->bench->pool[POOL_PRIVATE] + OUTPUT_AT)
EXCHANGE_MISTAKE(freed_input, args->input = freed[call->rank->rank])
EXCHANGE_MISTAKE(workspace_on_output, args->output = (char *)call->workspace + 64)
EXCHANGE_MISTAKE(stream, call->stream = call)

enum { ANY, ON_CPUS, OVER_NCCL, ON_GPUS };   /* over NCCL there is no symmetric memory, and none of it is needed */

static const struct mistake refusals[] = {
    {0, float_metadata, QUERN_INVALID_DTYPE, "args.metadata_dtype is 1 (f32): expected one of int32, int64", ANY},
    {1, huge_updates, QUERN_INVALID_SHAPE, "args.updates is 2147483647: expected at most 715827882 for 3 members", ANY},
    {1, no_input, QUERN_NULL_POINTER, "args.input is NULL", ANY},
    {1, no_output, QUERN_NULL_POINTER, "args.output is NULL", ANY},
    {2, no_output_offsets, QUERN_NULL_POINTER, "args.output_offsets is NULL", ANY},
    {1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1", ANY},
    {1, in_place, QUERN_NOT_SUPPORTED, "args.output overlaps args.input", OVER_NCCL},
    {2, small_workspace, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes is", ON_CPUS},
    {1, private_workspace, QUERN_INVALID_ARGUMENT, "workspace is not symmetric memory of this group", ON_CPUS},
    {0, freed_input, QUERN_INVALID_ARGUMENT, "args.input is in symmetric memory that was freed", ON_CPUS},
    {1, workspace_on_output, QUERN_INVALID_ARGUMENT, "args.output overlaps workspace", ON_CPUS},
    {1, stream, QUERN_INVALID_ARGUMENT, "stream is not NULL", ON_CPUS},
    {1, private_output, QUERN_INVALID_ARGUMENT, "args.output", ON_GPUS},
};

static bool applies(const void *one, const struct mistake *mistake) {
    const struct rank *rank = ((const struct one_exchange *)one)->rank;
    return mistake->where == ANY || mistake->where == (rank_reaches(rank) ? ON_GPUS : rank->on_gpu ? OVER_NCCL : ON_CPUS);
}

TEST_MISTAKES(refused_arguments_of_one_rank_are_told_to_all) {
    if (!rank->on_gpu && !rank->shares_thread) {
        rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){BENCH_POOL}, &freed[rank->rank]));
        rank_ok(rank, quern_symmetric_free(bench->group, freed[rank->rank], NULL));
    }
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct exchange_form form = {.metadata_on_device = rank_reaches(rank) && i % 2};
        if (!one_calls_err(&exchange_kind, bench, &form, &refusals[i], false, applies)) continue;
        if (refusals[i].make != stream) plan_with(bench, false, &refusals[i], false);  /* no plan is made with it */
        one_calls_run(&exchange_kind, bench, &exchange_usual);
    }
}

/* Where buffers must be at the same place on all ranks. */
EXCHANGE_MISTAKE(other_output, args->output = (char *)args->output + 24)
EXCHANGE_MISTAKE(other_workspace, call->workspace = (char *)call->workspace + 4096)
EXCHANGE_MISTAKE(negative_offset, call->output_offsets[0] = -1)

/* From rank 1 to rank 0, which expects nothing. */
static void negative_offset_of_nothing(void *given) {
    struct one_exchange *call = given;
    if (call->rank->rank == 0) call->recv_sizes[UPDATES + 1] = 0;
    if (call->rank->rank == 1) call->send_sizes[1] = 0, call->output_offsets[1] = -4;
}

/* Without a plan the receiver may be the first to notice a negative offset, since these rows overlap others. */
static const struct mistake of_gpus[] = {
    {1, other_workspace, QUERN_PEER_MISMATCH, "workspace of ranks 0 and 1 is not at the same place", 0},  /* not read for a plan */
    {-1, negative_offset_of_nothing, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 1: output_offsets is -4", 0},
    {1, other_output, QUERN_PEER_MISMATCH, "args.output of ranks 0 and 1 is not at the same place", 0},
    {1, negative_offset, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 0: output_offsets is -1", 0},
};

TEST_MISTAKES(mistakes_that_kernels_find) {
    for (size_t i = 0; i < 3 * COUNT(of_gpus) && rank_reaches(rank); i++) {
        const struct mistake *mistake = &of_gpus[i / 3];
        const bool in_place = (i + i / 3) % 2, planned = i % 3 == 2;
        const struct exchange_form form = {.in_place = in_place, .metadata_on_device = i % 3 == 1};
        if (mistake->make == (planned ? other_workspace : negative_offset)) continue;
        if (planned) plan_with(bench, in_place, mistake, true);
        else one_calls_err(&exchange_kind, bench, &form, mistake, true, NULL);
    }
}

/* ---- ranks that do something else, and who takes part ---- */

#define TEST_USUAL(name, function) TEST_MISTAKES(name) { function(&exchange_kind, bench, &exchange_usual); }
TEST_USUAL(a_rank_that_stays_away_is_named, one_calls_without_a_rank)
TEST_USUAL(an_abort_ends_the_wait, one_calls_that_are_aborted)
TEST_USUAL(a_barrier_is_another_call, one_calls_beside_a_barrier)
TEST_USUAL(mistakes_about_who_takes_part, one_calls_with_other_members)
