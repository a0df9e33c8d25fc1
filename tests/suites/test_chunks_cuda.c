/*
 * Quantised chunks of GPU ranks that one thread drives: the bits of every output, the words, the bytes that stay unchanged, and
 * chunks that a second stream copies as soon as they are ready.
 *
 * Runs on: emulated, gpu; kernels of barrier, quantize, collective.
 */
#include "harness/check.h"
#include "harness/gpu_chunks.h"
#include "harness/random.h"

enum { PREPARED = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE, POOL = 1 << 18 };

static void open_bench(struct gpu_chunks *bench, struct gpu_group *group, struct gpu_group_options options) {
    options.prepared = PREPARED;
    if (!options.machine.multiprocessors) options.machine.multiprocessors = 4;
    gpu_group_open_with(group, options);
    gpu_chunks_open(bench, group, POOL);
}

static void close_bench(struct gpu_chunks *bench) {
    gpu_chunks_close(bench);
    gpu_group_close(bench->group);
}
#define OPEN_BENCH(...) \
    struct gpu_group group; \
    struct gpu_chunks bench CLOSED_BY(close_bench); \
    open_bench(&bench, &group, __VA_ARGS__)

static void run_case(struct gpu_chunks *bench, uint64_t seed, struct chunks_choice choice, bool polled) {
    struct chunks_case c CLOSED_BY(chunks_case_close);
    choice.ranks = bench->group->ranks;
    check(chunks_case_open(&c, seed, choice), "no memory");
    gpu_chunks_run(bench, &c, (uint32_t)random_bits(seed, 9) | 1, polled);
}

/* ---- random calls ---- */

static void run_random(struct gpu_group_options options, int calls, bool polled) {
    options.first_epoch = 0xFFFFFFF0;
    OPEN_BENCH(options);
    for (int i = 0; i < calls; i++)
        run_case(&bench, (uint64_t)(1000 * options.ranks + i),
                 (struct chunks_choice){.largest = polled ? 3000 : i % 4 ? 0 : 12000}, polled);
}

Test(chunks_cuda, random_calls) { run_random((struct gpu_group_options){.ranks = 4}, (int)test_size(600, 60), false); }

Test(chunks_cuda, random_calls_that_a_second_stream_follows) {
    run_random((struct gpu_group_options){.ranks = 3}, (int)test_size(300, 40), true);
}

Test(chunks_cuda, random_calls_with_multicast) {
    run_random((struct gpu_group_options){.ranks = 4, .machine.multicast = true, .multicast = true}, (int)test_size(200, 30), true);
}

Test(chunks_cuda, any_number_of_ranks) {
    static const int numbers[] = {1, 2, 8};
    for (size_t i = 0; i < COUNT(numbers); i++)
        run_random((struct gpu_group_options){.ranks = numbers[i], .machine.devices = 8}, 8, false);
}

Test(chunks_cuda, four_ranks_share_a_gpu) {
    run_random((struct gpu_group_options){.ranks = 4, .machine = {.devices = 1, .multiprocessors = 8}}, 12, false);
}

/* Many parts of each chunk, of several blocks, which finish it in any order. */
Test(chunks_cuda, a_chunk_of_many_parts_is_ready_when_all_are) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    for (uint64_t seed = 0; seed < 8; seed++)
        run_case(&bench, seed, (struct chunks_choice){.everyone = true, .rows = 8, .columns = 5000, .chunk_rows = 3}, true);
}

/* ---- shapes ---- */

/* Every pair of dtypes, with chunks that begin anywhere in a group of random numbers, and at vectors. */
Test(chunks_cuda, dtypes_and_alignments) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    static const struct {
        int64_t rows, columns, chunk_rows;
    } shapes[] = {{7, 1000, 3}, {40, 256, 8}, {129, 33, 10}, {3, 2052, 1}, {1, 5000, 1}, {300, 4, 1}};
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    for (size_t i = 0; i < COUNT(inputs) * COUNT(outputs); i++)
        for (size_t shape = 0; shape < COUNT(shapes); shape++)
            run_case(&bench, 77 * i + shape,
                     (struct chunks_choice){.everyone = true, .rows = shapes[shape].rows, .columns = shapes[shape].columns,
                                            .chunk_rows = shapes[shape].chunk_rows, .input = inputs[i / COUNT(outputs)],
                                            .output = outputs[i % COUNT(outputs)]}, false);
}

Test(chunks_cuda, empty_tensors_and_many_chunks) {
    OPEN_BENCH((struct gpu_group_options){.ranks = 3});
    for (uint64_t seed = 0; seed < 3; seed++) {
        run_case(&bench, seed, (struct chunks_choice){.rows = -1, .columns = 7}, true);
        run_case(&bench, seed, (struct chunks_choice){.rows = 5, .columns = -1, .chunk_rows = 2}, true);
        run_case(&bench, seed, (struct chunks_choice){.rows = 1024, .columns = 3, .chunk_rows = 1}, false);
    }
}

/* ---- the order of things ---- */

/* Calls follow each other in the streams, each with a value and memory of its own: nobody waits in between. */
Test(chunks_cuda, calls_follow_each_other) {
    enum { CALLS = 12 };
    struct chunks_case c CLOSED_BY(chunks_case_close);
    OPEN_BENCH((struct gpu_group_options){.ranks = 3});
    check(chunks_case_open(&c, 5, (struct chunks_choice){.ranks = 3, .everyone = true, .rows = 20, .columns = 50, .chunk_rows = 4}),
          "no memory");
    gpu_chunks_fill(&bench, &c);
    for (uint32_t call = 1; call <= CALLS; call++) {
        gpu_chunks_enqueue(&bench, &c, call);
        if (call % 3 == 0) gpu_group_barrier(&group, ~0ull);
    }
    gpu_chunks_compare(&bench, &c, CALLS, false);
}

/* A rank that comes late: the others have not written into its memory before. */
Test(chunks_cuda, nothing_is_written_before_all_have_come) {
    struct chunks_case c CLOSED_BY(chunks_case_close);
    int order[1024];
    OPEN_BENCH((struct gpu_group_options){.ranks = 2});
    check(chunks_case_open(&c, 5, (struct chunks_choice){.ranks = 2, .everyone = true, .rows = 20, .columns = 50, .chunk_rows = 4}),
          "no memory");
    gpu_chunks_fill(&bench, &c);
    const quern_quantize_chunks_args args = gpu_chunks_arguments(&bench, &c, 0, 3, order);
    check_ok(gpu_chunks_call(&bench, 0, &args));
    /* What the late rank does with its output first. */
    const struct chunks_layout layout = chunks_case_layout(&c);
    device_use(&group.device[1]);
    unsigned char *image = malloc(POOL);
    check(image, "no memory");
    CUDA(cuMemcpyDtoHAsync_v2(image, (uintptr_t)bench.symmetric[1], POOL, group.device[1].stream));
    device_synchronize(&group.device[1]);
    for (int64_t i = 0; i < layout.output_bytes; i++) check(image[layout.output + i] == 0x5a, "byte %lld is early", (long long)i);
    free(image);
    const quern_quantize_chunks_args late = gpu_chunks_arguments(&bench, &c, 1, 3, order);
    check_ok(gpu_chunks_call(&bench, 1, &late));
    gpu_chunks_compare(&bench, &c, 3, false);
}

/* ---- graphs ---- */

/* A graph sets the words to 0, makes the call, and copies chunks in a branch of its own. */
Test(chunks_cuda, captured_calls_are_replayed) {
    struct gpu_replay replay;
    static const unsigned char zeros[4096];
    OPEN_BENCH((struct gpu_group_options){.ranks = 3, .first_epoch = 0xFFFFFFF0});
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct chunks_case c CLOSED_BY(chunks_case_close);
        check(chunks_case_open(&c, seed, (struct chunks_choice){.ranks = 3, .everyone = true, .rows = 30, .columns = 40,
                                                                .chunk_rows = 7}), "no memory");
        const struct chunks_layout layout = chunks_case_layout(&c);
        gpu_chunks_fill(&bench, &c);
        gpu_group_begin_capture(&group);
        for (int rank = 0; rank < 3; rank++) {
            void *forked;
            device_use(&group.device[rank]);
            CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)bench.symmetric[rank] + (uint64_t)layout.ready, zeros, (size_t)layout.ready_bytes,
                                      group.device[rank].stream));
            CUDA(cuEventCreate(&forked, 2));
            CUDA(cuEventRecord(forked, group.device[rank].stream));
            CUDA(cuStreamWaitEvent(bench.second[rank], forked, 0));
            CUDA(cuEventDestroy_v2(forked));
        }
        gpu_chunks_poll(&bench, &c, 9);
        gpu_chunks_enqueue(&bench, &c, 9);
        for (int rank = 0; rank < 3; rank++) {
            void *joined;
            device_use(&group.device[rank]);
            CUDA(cuEventCreate(&joined, 2));
            CUDA(cuEventRecord(joined, bench.second[rank]));
            CUDA(cuStreamWaitEvent(group.device[rank].stream, joined, 0));
            CUDA(cuEventDestroy_v2(joined));
        }
        gpu_group_end_capture(&group, &replay);
        for (int turn = 0; turn < 3; turn++) {
            gpu_chunks_fill(&bench, &c);
            gpu_group_replay(&group, &replay, 2);
            gpu_chunks_compare(&bench, &c, 9, true);
        }
        gpu_group_close_replay(&group, &replay);
    }
}
