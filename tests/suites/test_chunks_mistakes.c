/*
 * Quantised chunks of which one rank makes a mistake, or another call, or none, in each way between the ranks of a host, over a
 * fabric and over NCCL: all get the error, nothing is written, and the group stays usable unless its ranks are GPUs that reach each
 * other's memory.  tests/fields/ has the other arguments that one rank refuses.
 *
 * Runs on: ranks, every emulated, gpu; kernels of barrier, quantize, collective.
 */
#include "harness/one_chunks.h"

enum { PREPARED = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE };
#define TEST_MISTAKES(name) \
    TEST_EACH_WAY(chunks_mistakes, name, .count = ONE_RANKS, .operations = PREPARED, .within_host = true, \
                  .over_nccl = true)

/* Where a mistake is one.  Over NCCL there is no symmetric memory. */
enum { ANY, ON_CPUS, ON_ONE_HOST };

static void *freed[ONE_RANKS];   /* symmetric memory of each */

static void set_word(const struct one_chunks *one, uint32_t word) {
    one_chunks_words(one)[0] = word;
    rank_bench_put(one->bench, one->args.ready, 4);
}

#define CHUNKS_MISTAKE(name, ...) MISTAKE(struct one_chunks, name, __VA_ARGS__)
CHUNKS_MISTAKE(no_input_dtype, one->args.input_dtype = QUERN_NO_DTYPE)
CHUNKS_MISTAKE(huge_output, one->args.input_dtype = QUERN_F16, one->args.rows = one->args.columns = (int64_t)1 << 23)
CHUNKS_MISTAKE(many_chunks, one->args.rows = 1025, one->args.chunk_rows = 1)
CHUNKS_MISTAKE(value_of_before, set_word(one, CHUNKS_VALUE))
CHUNKS_MISTAKE(complement_of_before, set_word(one, ~(uint32_t)CHUNKS_VALUE))
CHUNKS_MISTAKE(large_order, one->order[3] = CHUNKS)
CHUNKS_MISTAKE(no_input, one->args.input = NULL)
CHUNKS_MISTAKE(private_ready, one->args.ready = (uint32_t *)(void *)one->bench->pool[POOL_PRIVATE])
CHUNKS_MISTAKE(freed_output, one->args.output = freed[one->bench->rank->rank])
CHUNKS_MISTAKE(ready_on_output, one->args.ready = (uint32_t *)(void *)((char *)one->args.output + 64))
CHUNKS_MISTAKE(negative_timeout, one->args.timeout = -1)
CHUNKS_MISTAKE(some_stream, one->stream = one)

static const struct mistake refusals[] = {
    {1, no_input_dtype, QUERN_INVALID_DTYPE, "args.input_dtype is 0 (unknown dtype): expected one of f32, f16, bf16", ANY},
    {1, huge_output, QUERN_INVALID_SHAPE,
     "args.rows is 8388608 with args.columns 8388608, of 3 members: expected at most 2^47", ANY},
    {2, many_chunks, QUERN_INVALID_SHAPE,
     "args.chunk_rows is 1, which divides 1025 rows into 1025 chunks: expected at most 1024", ANY},
    {2, value_of_before, QUERN_INVALID_ARGUMENT,
     "args.ready_value is 900, and word 0 of args.ready is 900 before the call", ON_CPUS},
    {0, complement_of_before, QUERN_INVALID_ARGUMENT,
     "args.ready_value is 900, and word 0 of args.ready is 4294966395 before", ON_CPUS},
    {1, large_order, QUERN_INVALID_ARGUMENT, "args.order[3] is 6: expected a chunk from 0 to 5", ANY},
    {1, no_input, QUERN_NULL_POINTER, "args.input is NULL", ANY},
    {2, private_ready, QUERN_INVALID_ARGUMENT, "args.ready is not symmetric memory of this group: expected 72 bytes", ON_ONE_HOST},
    {0, freed_output, QUERN_INVALID_ARGUMENT, "args.output is in symmetric memory that was freed", ON_CPUS},
    {1, ready_on_output, QUERN_INVALID_ARGUMENT, "args.ready overlaps args.output", ANY},
    {1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more", ANY},
    {2, some_stream, QUERN_INVALID_ARGUMENT, "stream is not NULL", ON_CPUS},
};

CHUNKS_MISTAKE(amax_in_blocks, one->args.amax = (float *)(void *)one->bench->pool[POOL_PRIVATE])
CHUNKS_MISTAKE(scale_in_blocks, one->args.scale = (float *)(void *)one->bench->pool[POOL_PRIVATE])
CHUNKS_MISTAKE(inverse_in_blocks, one->args.scale_inv = (float *)(void *)one->bench->pool[POOL_PRIVATE])
CHUNKS_MISTAKE(no_scales, one->args.block_scales = NULL)
CHUNKS_MISTAKE(private_scales, one->args.block_scales = one->bench->pool[POOL_PRIVATE])
CHUNKS_MISTAKE(scales_on_output, one->args.block_scales = (uint8_t *)one->args.output + 5999)
CHUNKS_MISTAKE(scales_on_ready, one->args.block_scales = (uint8_t *)one->args.ready + 71)
CHUNKS_MISTAKE(scales_of_nothing, one->args.scaling = QUERN_SCALING_TENSOR)
CHUNKS_MISTAKE(unknown_scaling, one->args.scaling = (quern_scaling)3)

/* Of calls in blocks. */
static const struct mistake refusals_in_blocks[] = {
    {1, amax_in_blocks, QUERN_INVALID_ARGUMENT, "args.amax is not NULL: expected NULL with QUERN_SCALING_MX", ANY},
    {2, scale_in_blocks, QUERN_INVALID_ARGUMENT, "args.scale is not NULL: expected NULL with QUERN_SCALING_MX", ANY},
    {0, inverse_in_blocks, QUERN_INVALID_ARGUMENT, "args.scale_inv is not NULL: expected NULL with QUERN_SCALING_MX", ANY},
    {1, no_scales, QUERN_NULL_POINTER, "args.block_scales is NULL", ANY},
    {1, private_scales, QUERN_INVALID_ARGUMENT,
     "args.block_scales is not symmetric memory of this group: expected 240 bytes", ON_ONE_HOST},
    {2, scales_on_output, QUERN_INVALID_ARGUMENT, "args.block_scales overlaps args.output", ANY},
    {0, scales_on_ready, QUERN_INVALID_ARGUMENT, "args.block_scales overlaps args.ready", ANY},
    {1, scales_of_nothing, QUERN_INVALID_ARGUMENT,
     "args.block_scales is not NULL: expected NULL with the scaling of a tensor", ANY},
    {2, unknown_scaling, QUERN_INVALID_ARGUMENT, "args.scaling is 3: expected 0 to 2", ANY},
};

static const struct one_chunks_form all_of_group = {.everyone = true}, in_blocks = {.in_blocks = true};

static bool applies(const void *one, const struct mistake *mistake) {
    const struct rank *rank = ((const struct one_chunks *)one)->bench->rank;
    return mistake->where == ANY || (!rank_is_over_nccl(rank) && (mistake->where == ON_ONE_HOST || !rank_reaches(rank)));
}

/* The same members by a list, and all of them without one. */
TEST_MISTAKES(refused_arguments_of_one_rank_are_told_to_all) {
    if (!rank->on_gpu && !rank->shares_thread) {
        rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){BENCH_POOL}, &freed[rank->rank]));
        rank_ok(rank, quern_symmetric_free(bench->group, freed[rank->rank], NULL));
    }
    for (size_t i = 0; i < COUNT(refusals); i++)
        one_calls_err(&one_chunks_kind, bench, i % 2 ? &all_of_group : NULL, &refusals[i], false, applies);
    one_calls_run(&one_chunks_kind, bench, NULL);
}

TEST_MISTAKES(refused_arguments_in_blocks_are_told_to_all) {
    for (size_t i = 0; i < COUNT(refusals_in_blocks); i++)
        one_calls_err(&one_chunks_kind, bench, &in_blocks, &refusals_in_blocks[i], false, applies);
    one_calls_run(&one_chunks_kind, bench, &in_blocks);
}

/* ---- arguments that are legal, but not the same ---- */

CHUNKS_MISTAKE(other_input_dtype, one->args.input_dtype = QUERN_BF16)
CHUNKS_MISTAKE(other_output_dtype, one->args.output_dtype = QUERN_E5M2)
CHUNKS_MISTAKE(other_rows, one->args.rows--)
CHUNKS_MISTAKE(no_rows, one->args.rows = 0)
CHUNKS_MISTAKE(other_columns, one->args.columns++)
CHUNKS_MISTAKE(other_chunk_rows, one->args.chunk_rows++)
CHUNKS_MISTAKE(other_value, one->args.ready_value++)
CHUNKS_MISTAKE(other_eps, one->args.eps = 0.25)
CHUNKS_MISTAKE(other_power, one->args.power_of_two = 1)
CHUNKS_MISTAKE(other_rounding, one->args.rounding = QUERN_ROUND_STOCHASTIC)
CHUNKS_MISTAKE(other_output, one->args.output = (char *)one->args.output + 1)
CHUNKS_MISTAKE(other_ready, one->args.ready++)
CHUNKS_MISTAKE(other_scaling, one_chunks_scale_blocks(one))
CHUNKS_MISTAKE(other_scales, one->args.block_scales += 3)

/* All of these are found by comparison with rank 0, unless that is the one that differs: then rank 1 differs from it. */
static const struct mistake differences[] = {
    {1, other_input_dtype, QUERN_PEER_MISMATCH,
     "args.input_dtype is f32 on rank 0 and bf16 on rank 1: expected the same on all", ANY},
    {0, other_output_dtype, QUERN_PEER_MISMATCH,
     "args.output_dtype is e5m2 on rank 0 and e4m3 on rank 1: expected the same on all", ANY},
    {2, other_rows, QUERN_PEER_MISMATCH, "args.rows is 40 on rank 0 and 39 on rank 2: expected the same on all members", ANY},
    {1, no_rows, QUERN_PEER_MISMATCH, "args.rows is 40 on rank 0 and 0 on rank 1: expected the same on all members", ANY},
    {2, other_columns, QUERN_PEER_MISMATCH, "args.columns is 50 on rank 0 and 51 on rank 2: expected the same on all members", ANY},
    {0, other_chunk_rows, QUERN_PEER_MISMATCH,
     "args.chunk_rows is 8 on rank 0 and 7 on rank 1: expected the same on all members", ANY},
    {1, other_value, QUERN_PEER_MISMATCH,
     "args.ready_value is 900 on rank 0 and 901 on rank 1: expected the same on all members", ANY},
    {2, other_eps, QUERN_PEER_MISMATCH, "args.eps is 0 on rank 0 and 0.25 on rank 2: expected the same on all", ANY},
    {0, other_power, QUERN_PEER_MISMATCH,
     "args.power_of_two is 1 on rank 0 and 0 on rank 1: expected the same on all members", ANY},
    {1, other_rounding, QUERN_PEER_MISMATCH,
     "args.rounding is QUERN_ROUND_NEAREST on rank 0 and QUERN_ROUND_STOCHASTIC on rank 1: expected the same on all members", ANY},
    {2, other_output, QUERN_PEER_MISMATCH,
     "args.output of ranks 0 and 2 is not at the same place of the same symmetric allocation", ON_ONE_HOST},
    {1, other_ready, QUERN_PEER_MISMATCH,
     "args.ready of ranks 0 and 1 is not at the same place of the same symmetric allocation", ON_ONE_HOST},
};

static const struct mistake scaling_differs = {
    2, other_scaling, QUERN_PEER_MISMATCH,
    "args.scaling is QUERN_SCALING_TENSOR on rank 0 and QUERN_SCALING_MX on rank 2: expected the same on all members", ANY};
static const struct mistake scales_differ = {
    0, other_scales, QUERN_PEER_MISMATCH,
    "args.block_scales of ranks 0 and 1 is not at the same place of the same symmetric allocation", ON_ONE_HOST};

TEST_MISTAKES(differing_scales_are_told_to_all) {
    one_calls_err(&one_chunks_kind, bench, NULL, &scaling_differs, true, applies);
    one_calls_err(&one_chunks_kind, bench, &in_blocks, &scales_differ, true, applies);
    one_calls_run(&one_chunks_kind, bench, &in_blocks);
}

/* What may differ: random numbers, the order, what a rank wants of its own results, and two names of one choice. */
static void differ_legally(struct one_chunks *one) {
    if (one->bench->rank->rank != 1) return;
    one->args.order = NULL, one->args.seed = 5, one->args.offset = 6, one->args.timeout = RANK_LIMIT;
    one->args.multiprocessors = 3, one->args.rounding = QUERN_ROUND_NEAREST, one->args.eps = -0.0;
    if (one->args.scaling == QUERN_SCALING_MX) one->args.eps = 0.5, one->args.power_of_two = 1;
    else one->args.scaling = QUERN_SCALING_TENSOR;
}

static void run_with_legal_differences(struct rank *rank, struct rank_bench *bench, bool has_blocks) {
    struct one_chunks all[ONE_RANKS];
    for (int i = 0; i < bench->count; i++) {
        one_chunks_make(&all[i], &bench[i]);
        if (has_blocks) one_chunks_scale_blocks(&all[i]);
        differ_legally(&all[i]);
    }
    for (int i = 0; i < bench->count; i++) rank_ok(rank, one_chunks_call(&all[i]));
    for (int i = 0; i < bench->count; i++) {
        rank_ok(rank, rank_bench_status(&bench[i], QUERN_OK));
        one_chunks_check(&all[i]);
    }
}

TEST_MISTAKES(differing_arguments_are_told_to_all) {
    for (size_t i = 0; i < COUNT(differences); i++)
        one_calls_err(&one_chunks_kind, bench, NULL, &differences[i], true, applies);
    for (int has_blocks = 0; has_blocks < 2; has_blocks++) run_with_legal_differences(rank, bench, has_blocks);
}

/* ---- ranks that do something else, and who takes part ---- */

#define TEST_USUAL(name, function) TEST_MISTAKES(name) { function(&one_chunks_kind, bench, NULL); }
TEST_USUAL(a_rank_that_stays_away_is_named, one_calls_without_a_rank)
TEST_USUAL(an_abort_ends_the_wait, one_calls_that_are_aborted)
TEST_USUAL(a_barrier_is_another_call, one_calls_beside_a_barrier)
TEST_USUAL(mistakes_about_who_takes_part, one_calls_with_other_members)
