/*
 * Ragged all-to-alls in which one rank makes a mistake, in each way between the ranks: all get the error, nothing is written, and
 * the group stays usable.  tests/fields/ has the other arguments that one rank refuses.
 *
 * Runs on: ranks, one emulated.
 */
#include "harness/one_exchange.h"
#include "harness/ways.h"

/* ---- in the metadata: all ranks get the same message ---- */

TEST_EACH_WAY(ragged_mistakes, every_fault_of_metadata_is_told_to_all, .count = MEMBERS) {
    struct one_exchange call;
    for (size_t i = 0; i < 2 * EXCHANGE_FAULTS; i++) {
        const struct exchange_mistake *fault = &exchange_faults[i / 2];
        const bool checks_overlap = i % 2 || strstr(fault->words, "is also written by");  /* the short way does not check them */
        exchange_make(&call, bench);
        call.args.check_overlap = checks_overlap;
        if (fault->rank < 0 || fault->rank == rank->rank) fault->make(&call);
        rank_refused(rank, exchange_run(&call), fault->status, fault->words);
        exchange_check_unwritten(&call, fault->words);
        exchange_make(&call, bench);
        call.args.check_overlap = checks_overlap;
        rank_ok(rank, exchange_run(&call));
        exchange_check(&call);
    }
}

TEST_EACH_WAY(ragged_mistakes, every_fault_of_metadata_is_told_when_a_plan_is_made, .count = MEMBERS) {
    struct one_exchange call;
    quern_ragged_plan *plan = NULL;
    for (size_t i = 0; i < EXCHANGE_FAULTS; i++) {
        const struct exchange_mistake *fault = &exchange_faults[i];
        exchange_make(&call, bench);
        if (fault->rank < 0 || fault->rank == rank->rank) fault->make(&call);
        rank_refused(rank, exchange_plan(&call, &plan), fault->status, fault->words);
        rank_check(rank, !plan, "a plan was made with %s", fault->words);
    }
    exchange_make(&call, bench);
    rank_ok(rank, exchange_plan(&call, &plan));
    exchange_check_unwritten(&call, "making a plan");
    rank_ok(rank, exchange_run_plan(&call, plan));
    exchange_check(&call);
    rank_ok(rank, quern_ragged_plan_destroy(plan));
}

/* ---- in the arguments: the rank gets its own error, and the others are informed at once; over NCCL all get it ---- */

EXCHANGE_MISTAKE(float_metadata, args->metadata_dtype = QUERN_F32)
EXCHANGE_MISTAKE(huge_updates, args->updates = INT32_MAX)
EXCHANGE_MISTAKE(no_input, args->input = NULL)
EXCHANGE_MISTAKE(no_output, args->output = NULL)
EXCHANGE_MISTAKE(no_output_offsets, args->output_offsets = NULL)
EXCHANGE_MISTAKE(negative_timeout, args->timeout = -1)
EXCHANGE_MISTAKE(in_place, args->output = (void *)(uintptr_t)args->input)
EXCHANGE_MISTAKE(small_workspace, call->workspace_bytes--)
EXCHANGE_MISTAKE(private_workspace, call->workspace = call->bench->pool[POOL_PRIVATE])
EXCHANGE_MISTAKE(freed_input, args->input = call->freed)
EXCHANGE_MISTAKE(workspace_on_output, args->output = (char *)call->workspace + 64)
EXCHANGE_MISTAKE(stream, call->stream = call)

static const struct refusal {
    struct exchange_mistake mistake;
    enum { ANY, ON_CPUS, ON_GPUS } where;   /* over NCCL there is no symmetric memory, and none of it is needed */
} refusals[] = {
    {{0, float_metadata, QUERN_INVALID_DTYPE, "args.metadata_dtype is 1 (f32): expected one of int32, int64"}, ANY},
    {{1, huge_updates, QUERN_INVALID_SHAPE, "args.updates is 2147483647: expected at most 715827882 for 3 members"}, ANY},
    {{1, no_input, QUERN_NULL_POINTER, "args.input is NULL"}, ANY},
    {{1, no_output, QUERN_NULL_POINTER, "args.output is NULL"}, ANY},
    {{2, no_output_offsets, QUERN_NULL_POINTER, "args.output_offsets is NULL"}, ANY},
    {{1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1"}, ANY},
    {{1, in_place, QUERN_NOT_SUPPORTED, "args.output overlaps args.input"}, ON_GPUS},
    {{2, small_workspace, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes is"}, ON_CPUS},
    {{1, private_workspace, QUERN_INVALID_ARGUMENT, "workspace is not symmetric memory of this group"}, ON_CPUS},
    {{0, freed_input, QUERN_INVALID_ARGUMENT, "args.input is in symmetric memory that was freed"}, ON_CPUS},
    {{1, workspace_on_output, QUERN_INVALID_ARGUMENT, "args.output overlaps workspace"}, ON_CPUS},
    {{1, stream, QUERN_INVALID_ARGUMENT, "stream is not NULL"}, ON_CPUS},
};

static void expect(struct rank *rank, const struct exchange_mistake *mistake, quern_status status) {
    if (rank->on_gpu) rank_refused(rank, status, mistake->status, mistake->words);
    else rank_check_refusal(rank, mistake->rank, mistake->status, mistake->words, status);
}

TEST_EACH_WAY(ragged_mistakes, refused_arguments_of_one_rank_are_told_to_all, .count = MEMBERS) {
    struct one_exchange call;
    void *freed = NULL;
    if (!rank->on_gpu) rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){BENCH_POOL}, &freed));
    if (!rank->on_gpu) rank_ok(rank, quern_symmetric_free(bench->group, freed, NULL));
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct exchange_mistake *mistake = &refusals[i].mistake;
        quern_ragged_plan *plan = NULL;
        if (refusals[i].where == (rank->on_gpu ? ON_CPUS : ON_GPUS)) continue;
        exchange_make(&call, bench);
        call.freed = freed;
        if (mistake->rank == rank->rank) mistake->make(&call);
        expect(rank, mistake, exchange_run(&call));
        if (mistake->make != stream) expect(rank, mistake, exchange_plan(&call, &plan));  /* no plan is made with it */
        rank_check(rank, !plan, "a plan was made with %s", mistake->words);
        exchange_check_unwritten(&call, mistake->words);
        exchange_rightly(&call, bench);
    }
}

/* A mistake that leaves the members unknown is reported to its rank alone, at once. */
TEST_EACH_WAY(ragged_mistakes, mistakes_about_who_takes_part, .count = MEMBERS) {
    static const int lists[][2] = {{0, 0}, {1, 0}, {0, 3}, {-1, 0}};
    struct one_exchange call;
    exchange_make(&call, bench);
    quern_ragged_all_to_all_args *args = &call.args;
    for (size_t i = 0; i < COUNT(lists); i++) {
        args->members = lists[i], args->member_count = 2;
        rank_refused(rank, exchange_run(&call), QUERN_INVALID_ARGUMENT, "members[");
    }
    args->members = (const int[]){(rank->rank + 1) % rank->ranks}, args->member_count = 1;
    rank_refused(rank, exchange_run(&call), QUERN_INVALID_ARGUMENT, "do not include the calling rank");
    args->members = NULL;
    rank_ok(rank, exchange_run(&call));
    exchange_check(&call);
}
