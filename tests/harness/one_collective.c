/* One collective of three ranks, which a test changes by hand.  one_collective.h documents the functions. */
#include "harness/one_collective.h"

#include <string.h>

enum { UNTOUCHED = 0x77 };

const struct one_form one_forms[ONE_FORMS] = {
    {COLLECTIVE_ALL_REDUCE, 20, false, false},       {COLLECTIVE_ALL_REDUCE, 20, true, true},
    {COLLECTIVE_ALL_REDUCE, 12, true, false},        {COLLECTIVE_BROADCAST, 5, false, false},
    {COLLECTIVE_ALL_REDUCE, 20000, false, false},    {COLLECTIVE_ALL_REDUCE, 20000, true, false},
    {COLLECTIVE_ALL_REDUCE, 20000, true, true},      {COLLECTIVE_REDUCE_SCATTER, 10000, true, false},
    {COLLECTIVE_ALL_GATHER, 10000, true, false},     {COLLECTIVE_ALL_GATHER, 10000, false, true},
    {COLLECTIVE_BROADCAST, 30000, true, false},      {COLLECTIVE_REDUCE_SCATTER, 10, true, false},
};

const int one_members[ONE_RANKS] = {0, 1, 2};

void one_make(struct one_collective *one, const struct rank_bench *bench, const struct one_form *form) {
    unsigned char *memory = bench->pool[form->is_private ? POOL_PRIVATE : POOL_SYMMETRIC];
    float *input = (float *)(void *)memory;
    *one = (struct one_collective){.args = QUERN_COLLECTIVE_ARGS_INIT, .workspace = bench->workspace, .form = form, .bench = bench,
                                   .stream = bench->side.stream};
    one->args.dtype = QUERN_F32, one->args.count = form->count, one->args.root = 1;
    one->args.input = memory, one->args.output = memory + ONE_BYTES;
    if (form->is_of_some) one->args.members = one_members, one->args.member_count = ONE_RANKS;
    rank_ok(bench->rank, quern_collective_workspace(bench->group, &one->args, &one->workspace_bytes));
    for (int64_t i = 0; i < ONE_BYTES / 4; i++) input[i] = (float)(i % 1000 + 1000 * bench->rank->rank);
    memset(memory + ONE_BYTES, UNTOUCHED, ONE_BYTES);
}

quern_status one_run(const struct one_collective *one) {
    const quern_status status = collective_functions[one->form->operation](one->bench->group, &one->args, one->workspace,
                                                                            one->workspace_bytes, one->stream);
    rank_bench_wait(one->bench);
    return status;
}

void one_check_unwritten(const struct one_collective *one, const void *output, const char *when) {
    const unsigned char *has = output;
    for (int64_t i = 0; i < ONE_BYTES; i++)
        rank_check(one->bench->rank, has[i] == UNTOUCHED, "%s: byte %lld was written", when, (long long)i);
}

/* The sums of small integers, or a piece of another rank. */
void one_check(const struct one_collective *one) {
    struct rank *rank = one->bench->rank;
    const enum collective_operation operation = one->form->operation;
    const float *has = one->args.output;
    for (int64_t i = 0; i < one->form->count; i++) {
        const int64_t scattered = operation == COLLECTIVE_REDUCE_SCATTER ? rank->rank * one->form->count + i : i;
        const float expected = operation == COLLECTIVE_BROADCAST    ? (float)(i % 1000 + 1000)
                               : operation == COLLECTIVE_ALL_GATHER ? (float)(i % 1000)
                                                                    : (float)(ONE_RANKS * (scattered % 1000) + 1000 * ONE_RANKS);
        rank_check(rank, has[i] == expected, "%s: element %lld is %g instead of %g", collective_names[operation], (long long)i,
                   (double)has[i], (double)expected);
    }
}

void one_run_rightly(const struct one_collective *one) {
    rank_ok(one->bench->rank, one_run(one));
    one_check(one);
}
