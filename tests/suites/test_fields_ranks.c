/*
 * Each field of the calls on groups of CPU and GPU ranks, by the table of tests/fields/ranks.h: rubbish in ignored fields changes
 * nothing, illegal values are refused with a detail that names the field, buffers are aligned and apart.
 *
 * Runs on: one cpu, one emulated.
 */
#include "fields/ranks.h"

static void walk_all(const struct call *const *calls, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (const struct call *call = calls[i]; call->name; call++) fields_walk(call);
}

Test(fields_ranks, each_call) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    const size_t bytes = FIELDS_ARENA;
    void *symmetric;
    const bool has_collectives = test_kind() == QUERN_CPU;
    fields_open(QUERN_RAGGED_ALL_TO_ALL | QUERN_BARRIER | (has_collectives ? QUERN_COLLECTIVE | QUERN_QUANTIZE : 0));
    args.ranks = header_ranks = 1, args.device = fields_device.quern;
    check_ok(quern_group_create(&args, 1, &ranks_group));
    check_ok(quern_symmetric_alloc(&ranks_group, 1, &bytes, &symmetric));
    fields_use(symmetric);
    walk_all(rank_calls, sizeof rank_calls / sizeof *rank_calls);
    if (has_collectives) walk_all(collective_calls, sizeof collective_calls / sizeof *collective_calls);
    check_ok(quern_group_destroy(ranks_group));
    fields_close();
}
