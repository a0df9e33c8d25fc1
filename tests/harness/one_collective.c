/* One collective of three ranks, which a test changes by hand.  one_collective.h documents the functions. */
#include "harness/one_collective.h"

#include "kernels/collective_problem.h"

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

bool one_is_large(const struct one_form *form) { return form->count * 4 > (int64_t)quern_slot_bytes(ONE_RANKS); }

void one_make(struct one_collective *one, const struct rank_bench *bench, const struct one_form *form) {
    const bool is_private = form->is_private && !(rank_reaches(bench->rank) && one_is_large(form));
    unsigned char *memory = bench->pool[is_private ? POOL_PRIVATE : POOL_SYMMETRIC];
    unsigned char *image = rank_bench_image(bench, memory);
    float *input = (float *)(void *)image;
    *one = (struct one_collective){.args = QUERN_COLLECTIVE_ARGS_INIT, .workspace = bench->workspace, .form = form, .bench = bench,
                                   .stream = bench->stream};
    one->args.dtype = QUERN_F32, one->args.count = form->count, one->args.root = 1;
    one->args.input = memory, one->args.output = memory + ONE_BYTES, one->output = one->args.output;
    if (form->is_of_some) one->args.members = one_members, one->args.member_count = ONE_RANKS;
    rank_ok(bench->rank, quern_collective_workspace(bench->group, &one->args, &one->workspace_bytes));
    for (int64_t i = 0; i < ONE_BYTES / 4; i++) input[i] = (float)(i % 1000 + 1000 * bench->rank->rank);
    memset(image + ONE_BYTES, UNTOUCHED, ONE_BYTES);
    rank_bench_put(bench, memory, 2 * ONE_BYTES);
}

quern_status one_call(const struct one_collective *one) {
    return collective_functions[one->form->operation](one->bench->group, &one->args, one->workspace, one->workspace_bytes,
                                                      one->stream);
}

quern_status one_run(const struct one_collective *one) { return rank_bench_status(one->bench, one_call(one)); }

/* The root of a large broadcast of GPUs may have its own output already. */
void one_check_unwritten(const struct one_collective *one, const char *when) {
    const unsigned char *has = rank_bench_seen(one->bench, one->output, ONE_BYTES);
    const bool is_root = one->form->operation == COLLECTIVE_BROADCAST && one->bench->rank->rank == 1;
    if (is_root && rank_reaches(one->bench->rank) && one_is_large(one->form)) return;
    for (int64_t i = 0; i < ONE_BYTES; i++)
        rank_check(one->bench->rank, has[i] == UNTOUCHED, "%s: byte %lld was written", when, (long long)i);
}

/* The sums of small integers, or a piece of another rank. */
void one_check(const struct one_collective *one) {
    struct rank *rank = one->bench->rank;
    const enum collective_operation operation = one->form->operation;
    const float *has = rank_bench_seen(one->bench, one->args.output, ONE_BYTES);
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

/* ---- whatever the operation ---- */

static void make(void *one, struct rank_bench *bench, const void *form) { one_make(one, bench, form); }
ONE_KIND(one_collective_kind, struct one_collective, make, NULL, one_call, one_check, one_check_unwritten, "quern_all_reduce");
