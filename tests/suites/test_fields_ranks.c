/*
 * Each field of the calls on groups of CPU and GPU ranks, by the table of tests/fields/ranks.h: rubbish in ignored fields changes
 * nothing, illegal values are refused with a detail that names the field, buffers are aligned and apart.
 *
 * Runs on: one cpu, one emulated.
 */
#include "fields/ranks.h"

static bool has_collectives(void) { return test_kind() == QUERN_CPU; }

static void open_group(void) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    const size_t bytes = FIELDS_ARENA;
    void *symmetric;
    fields_open(QUERN_RAGGED_ALL_TO_ALL | QUERN_BARRIER | (has_collectives() ? QUERN_COLLECTIVE | QUERN_QUANTIZE : 0));
    args.ranks = header_ranks = 1, args.device = fields_device.quern;
    check_ok(quern_group_create(&args, 1, &ranks_group));
    check_ok(quern_symmetric_alloc(&ranks_group, 1, &bytes, &symmetric));
    fields_use(symmetric);
}

static void close_group(void) {
    check_ok(quern_group_destroy(ranks_group));
    fields_close();
}

#define TEST_GROUP_FIELDS(suite, name) TEST_BETWEEN(open_group(), close_group(), suite, name)

TEST_GROUP_FIELDS(fields_ranks, each_call) {
    WALK_EACH(rank_calls, NULL);
    if (has_collectives()) WALK_EACH(collective_calls, NULL);
}

/* ---- several fields, and memory of several kinds ---- */

static void *freed_memory(void) {
    void *freed;
    check_ok(quern_symmetric_alloc(&ranks_group, 1, &(size_t){FIELDS_ROOM}, &freed));
    check_ok(quern_symmetric_free(ranks_group, freed, NULL));
    return freed;
}

#define PLACE " bytes within one quern_symmetric_alloc, at the same place on every member"

TEST_GROUP_FIELDS(fields_ranks, memory_of_chunks) {
    static _Alignas(64) char own[FIELDS_ROOM];
    quern_quantize_chunks_args *a = &chunks_args;
    if (!has_collectives()) cr_skip_test("a GPU takes chunks only in groups with peers");
    fields_prepare(&calls_of_quern_quantize_chunks[0]);
    void *const freed = freed_memory();
    REFUSED(a->output = own, QUERN_INVALID_ARGUMENT, "args.output is not symmetric memory of this group: expected 63" PLACE);
    REFUSED(a->ready = (uint32_t *)(void *)own, QUERN_INVALID_ARGUMENT,
            "args.ready is not symmetric memory of this group: expected 12" PLACE);
    REFUSED(a->output = freed, QUERN_INVALID_ARGUMENT, "args.output is in symmetric memory that was freed");
    REFUSED(a->ready = freed, QUERN_INVALID_ARGUMENT, "args.ready is in symmetric memory that was freed");
    char *const end = (char *)fields_arena() + FIELDS_ARENA;
    REFUSED(a->output = end - 62, QUERN_INVALID_ARGUMENT, "args.output is not symmetric memory of this group: expected 63" PLACE);
    REFUSED(a->ready = (uint32_t *)(void *)(end - 8), QUERN_INVALID_ARGUMENT,
            "args.ready is not symmetric memory of this group: expected 12" PLACE);
    ACCEPTED(a->output = end - 63);
    ACCEPTED(a->ready = (uint32_t *)(void *)(end - 12));
}

TEST_GROUP_FIELDS(fields_ranks, memory_of_chunks_in_blocks) {
    static _Alignas(64) char own[FIELDS_ROOM];
    quern_quantize_chunks_args *a = &chunks_args;
    if (!has_collectives()) cr_skip_test("a GPU takes chunks only in groups with peers");
    fields_prepare(&calls_of_quern_quantize_chunks[2]);
    uint8_t *const freed = freed_memory(), *const end = (uint8_t *)fields_arena() + FIELDS_ARENA;
    REFUSED(a->block_scales = (uint8_t *)own, QUERN_INVALID_ARGUMENT,
            "args.block_scales is not symmetric memory of this group: expected 7" PLACE);
    REFUSED(a->block_scales = freed, QUERN_INVALID_ARGUMENT, "args.block_scales is in symmetric memory that was freed");
    REFUSED(a->block_scales = end - 6, QUERN_INVALID_ARGUMENT,
            "args.block_scales is not symmetric memory of this group: expected 7" PLACE);
    ACCEPTED(a->block_scales = end - 7);
    REFUSED(a->scaling = QUERN_SCALING_TENSOR, QUERN_INVALID_ARGUMENT,
            "args.block_scales is not NULL: expected NULL with the scaling of a tensor");
    REFUSED((a->scaling = QUERN_SCALING_TENSOR, a->block_scales = NULL), QUERN_NULL_POINTER, "args.amax is NULL");
    ACCEPTED((a->columns = 0, a->block_scales = NULL));
}

TEST_GROUP_FIELDS(fields_ranks, shapes_of_chunks) {
    static const int orders[][CHUNK_COUNT] = {{0, 3, 1}, {-1, 0, 1}, {0, 2, 0}};
    quern_quantize_chunks_args *a = &chunks_args;
    if (!has_collectives()) cr_skip_test("a GPU takes chunks only in groups with peers");
    fields_prepare(&calls_of_quern_quantize_chunks[0]);
    REFUSED(a->order = orders[0], QUERN_INVALID_ARGUMENT, "args.order[1] is 3: expected a chunk from 0 to 2");
    REFUSED(a->order = orders[1], QUERN_INVALID_ARGUMENT, "args.order[0] is -1: expected a chunk from 0 to 2");
    REFUSED(a->order = orders[2], QUERN_INVALID_ARGUMENT, "args.order[2] is 0 a second time: expected each chunk once");
    REFUSED(a->order = (const int *)(const void *)((const char *)orders[0] + 2), QUERN_INVALID_ARGUMENT,
            "args.order is not at a multiple of 4 bytes, the size of its elements");
    REFUSED((a->rows = 1025, a->chunk_rows = 1), QUERN_INVALID_SHAPE,
            "args.chunk_rows is 1, which divides 1025 rows into 1025 chunks: expected at most 1024 chunks");
    REFUSED((a->rows = INT64_MAX, a->columns = 0, a->chunk_rows = 1), QUERN_INVALID_SHAPE, "args.chunk_rows is 1, which divides "
            "9223372036854775807 rows into 9223372036854775807 chunks: expected at most 1024 chunks");
    for (int i = 0; i < 2; i++)
        REFUSED((a->input_dtype = i ? QUERN_F16 : QUERN_F32, a->rows = a->columns = (int64_t)1 << 23), QUERN_INVALID_SHAPE,
                i ? "args.chunk_rows is 3, which divides 8388608 rows into 2796203 chunks: expected at most 1024 chunks"
                  : "args.rows is 8388608 with args.columns 8388608, of 1 members: expected at most 2^47 bytes of input and of "
                    "output");
}

/* A GPU's plan takes no other value than 0. */
TEST_GROUP_FIELDS(fields_ranks, metadata_of_a_plan) {
    const bool is_gpu = test_kind() == QUERN_CUDA;
    for (int value = -1; value <= is_gpu; value += 2) {
        fields_prepare(&calls_of_quern_ragged_plan_create[0]);
        exchange_args.metadata_on_device = value;
        check_refused(fields_run(&calls_of_quern_ragged_plan_create[0]), QUERN_INVALID_ARGUMENT,
                      is_gpu ? "args.metadata_on_device is set: a plan takes metadata in host memory"
                             : "args.metadata_on_device is -1: expected 0 to 1");
    }
}

TEST_GROUP_FIELDS(fields_ranks, memory_that_was_freed) {
    quern_ragged_all_to_all_args *a = &exchange_args;
    void **const workspace = &parameters_of_quern_ragged_all_to_all.workspace;
    fields_prepare(&calls_of_quern_ragged_all_to_all[0]);
    void *const freed = freed_memory();
    REFUSED(*workspace = freed, QUERN_INVALID_ARGUMENT, "workspace is in symmetric memory that was freed");
    REFUSED(a->input = freed, QUERN_INVALID_ARGUMENT, "args.input is in symmetric memory that was freed");
    REFUSED(a->output = freed, QUERN_INVALID_ARGUMENT, "args.output is in symmetric memory that was freed");
    if (has_collectives()) {
        fields_prepare(&calls_of_quern_all_reduce[0]);
        REFUSED(collective_args.input = freed, QUERN_INVALID_ARGUMENT, "args.input is in symmetric memory that was freed");
        REFUSED(collective_args.output = freed, QUERN_INVALID_ARGUMENT, "args.output is in symmetric memory that was freed");
    }
}
