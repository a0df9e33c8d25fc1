/*
 * Quantised chunks of GPU ranks that one thread drives: the bits of every output, the words, the bytes that stay unchanged, and
 * chunks that a second stream copies as soon as they are ready.
 *
 * Runs on: emulated, gpu; kernels of barrier, quantize, collective.
 */
#include "harness/chunks_case.h"
#include "harness/gpu_bench.h"
#include "harness/random.h"

/* A group and its bench, with second streams. */
static void begin(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options) {
    options.prepared = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE;
    options.second = true, options.pool = options.workspace = 1 << 18;
    if (!options.machine.multiprocessors) options.machine.multiprocessors = 4;
    gpu_bench_begin(bench, group, options);
}
#define OPEN_CHUNKS(...) \
    struct gpu_group group; \
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all); \
    begin(&bench, &group, (struct gpu_group_options){__VA_ARGS__})

#define OPEN_CASE(c, seed, ...) \
    struct chunks_case c CLOSED_BY(chunks_case_close); \
    chunks_case_open(&c, seed, (struct chunks_choice){__VA_ARGS__})

/* On the second stream, from symmetric to private memory. */
static void copy(const struct gpu_bench *bench, int rank, int64_t to, int64_t from, int64_t bytes) {
    const struct rank_bench *one = &bench->of[rank];
    if (bytes > 0)
        CUDA(cuMemcpyDtoDAsync_v2((uintptr_t)(one->pool[POOL_PRIVATE] + to), (uintptr_t)(one->pool[POOL_SYMMETRIC] + from),
                                  (size_t)bytes, bench->group->second[rank]));
}

static void poll_chunk(const struct gpu_bench *bench, const struct chunks_case *c, int rank, int64_t word, uint32_t value) {
    const struct chunks_layout layout = chunks_case_layout(c);
    const struct rank_bench *one = &bench->of[rank];
    const int64_t place = word / c->chunks, first = word % c->chunks * c->chunk_rows;
    const int64_t rows = c->rows - first < c->chunk_rows ? c->rows - first : c->chunk_rows;
    const int64_t at = place * c->elements + first * c->columns;
    const uint32_t *ready = (const uint32_t *)(void *)(one->pool[POOL_SYMMETRIC] + layout.ready);
    check_ok(quern_chunk_wait(one->group, ready + word, 1, value, 0, bench->group->second[rank]));
    copy(bench, rank, layout.copies + at, layout.output + at, rows * c->columns);
    const int64_t block = place * c->blocks + first * c->across;
    copy(bench, rank, layout.copied_scales + block, layout.scales + block, rows * c->across);
}

/* Enqueues on each rank's second stream, for all chunks in an order of its own: a wait for it, and a copy. */
static void poll(const struct gpu_bench *bench, const struct chunks_case *c, uint32_t value) {
    const int64_t words = c->count * c->chunks;
    for (int place = 0; place < c->count; place++) {
        const int rank = c->members[place];
        const int64_t first = words ? random_below(c->seed, 6000 + (uint64_t)rank, words) : 0;
        device_use(&bench->group->device[rank]);
        for (int64_t i = 0; i < words; i++) poll_chunk(bench, c, rank, (first + i) % words, value);
    }
}

static void fill(const struct chunks_case *c, struct gpu_bench *bench, uint32_t value) {
    chunks_case_fill(c, bench->of, value, true);
    chunks_case_expect(c, bench->of, value);
}

static void compare(const struct chunks_case *c, struct gpu_bench *bench) {
    gpu_group_synchronize(bench->group);
    chunks_case_compare(c, bench->of);
}

static void run_case(struct gpu_bench *bench, uint64_t seed, struct chunks_choice choice, bool polled) {
    const uint32_t value = (uint32_t)random_bits(seed, 9) | 1;
    choice.ranks = bench->group->ranks;
    struct chunks_case c CLOSED_BY(chunks_case_close);
    chunks_case_open(&c, seed, choice);
    c.is_copied = polled;
    fill(&c, bench, value);
    if (polled) poll(bench, &c, value);
    chunks_case_call(&c, bench->of, value);
    compare(&c, bench);
}

/* ---- random calls ---- */

static void run_random(struct gpu_group_options options, int calls, bool polled) {
    struct gpu_group group;
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all);
    options.first_epoch = 0xFFFFFFF0;
    begin(&bench, &group, options);
    for (int i = 0; i < calls; i++)
        run_case(&bench, (uint64_t)(1000 * options.ranks + i),
                 (struct chunks_choice){.largest = polled ? 3000 : i % 4 ? 0 : 12000}, polled);
}

#define TEST_RANDOM(suite, name, calls, polled, ...) \
    Test(suite, name) { run_random((struct gpu_group_options){__VA_ARGS__}, (int)(calls), polled); }
TEST_RANDOM(chunks_cuda, random_calls, test_size(600, 60), false, .ranks = 4)
TEST_RANDOM(chunks_cuda, random_calls_that_a_second_stream_follows, test_size(300, 40), true, .ranks = 3)
TEST_RANDOM(chunks_cuda, random_calls_with_multicast, test_size(200, 30), true, .ranks = 4,
            .machine.multicast = true, .multicast = true)
TEST_RANDOM(chunks_cuda, one_rank, 8, false, .ranks = 1, .machine.devices = 8)
TEST_RANDOM(chunks_cuda, two_ranks, 8, false, .ranks = 2, .machine.devices = 8)
TEST_RANDOM(chunks_cuda, eight_ranks, 8, false, .ranks = 8, .machine.devices = 8)
TEST_RANDOM(chunks_cuda, four_ranks_share_a_gpu, 12, false, .ranks = 4, .machine = {.devices = 1, .multiprocessors = 8})

/* Many parts of each chunk, of several blocks, which finish it in any order. */
Test(chunks_cuda, a_chunk_of_many_parts_is_ready_when_all_are) {
    OPEN_CHUNKS(.ranks = 2);
    for (uint64_t seed = 0; seed < 8; seed++)
        run_case(&bench, seed, (struct chunks_choice){.everyone = true, .rows = 8, .columns = 5000, .chunk_rows = 3,
                                                      .scaling = seed % 2 ? QUERN_SCALING_MX : QUERN_SCALING_TENSOR}, true);
}

/* ---- shapes ---- */

/* Every pair of dtypes, with chunks that begin anywhere in a group of random numbers, and at vectors. */
Test(chunks_cuda, dtypes_and_alignments) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    static const struct {
        int64_t rows, columns, chunk_rows;
    } shapes[] = {{7, 1000, 3}, {40, 256, 8}, {129, 33, 10}, {3, 2052, 1}, {1, 5000, 1}, {300, 4, 1}};
    static const quern_scaling scalings[] = {QUERN_SCALING_TENSOR, QUERN_SCALING_MX};
    OPEN_CHUNKS(.ranks = 2);
    for (size_t i = 0; i < COUNT(inputs) * COUNT(outputs); i++)
        for (size_t shape = 0; shape < COUNT(shapes) * COUNT(scalings); shape++)
            run_case(&bench, 77 * i + shape / COUNT(scalings),
                     (struct chunks_choice){.everyone = true, .rows = shapes[shape / COUNT(scalings)].rows,
                                            .columns = shapes[shape / COUNT(scalings)].columns,
                                            .chunk_rows = shapes[shape / COUNT(scalings)].chunk_rows,
                                            .input = inputs[i / COUNT(outputs)], .output = outputs[i % COUNT(outputs)],
                                            .scaling = scalings[shape % COUNT(scalings)]}, false);
}

Test(chunks_cuda, empty_tensors_and_many_chunks) {
    OPEN_CHUNKS(.ranks = 3);
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
    OPEN_CHUNKS(.ranks = 3);
    OPEN_CASE(c, 5, .ranks = 3, .everyone = true, .rows = 20, .columns = 50, .chunk_rows = 4);
    fill(&c, &bench, CALLS);
    for (uint32_t call = 1; call <= CALLS; call++) {
        chunks_case_call(&c, bench.of, call);
        if (call % 3 == 0) gpu_group_barrier(&group, ~0ull);
    }
    compare(&c, &bench);
}

/* A rank that comes late: the others have not written into its memory before. */
Test(chunks_cuda, nothing_is_written_before_all_have_come) {
    int order[CHUNKS_MOST];
    char wrong[80];
    OPEN_CHUNKS(.ranks = 2);
    OPEN_CASE(c, 5, .ranks = 2, .everyone = true, .rows = 20, .columns = 50, .chunk_rows = 4);
    chunks_case_fill(&c, bench.of, 3, true);
    const quern_quantize_chunks_args args = chunks_case_args(&c, &bench.of[0], 3, order);
    check_ok(chunks_call(&bench.of[0], &args));
    check(rank_bench_is_right(&bench.of[1], bench.of[1].pool_bytes, wrong), "early: %s", wrong);
    chunks_case_expect(&c, bench.of, 3);
    const quern_quantize_chunks_args late = chunks_case_args(&c, &bench.of[1], 3, order);
    check_ok(chunks_call(&bench.of[1], &late));
    compare(&c, &bench);
}

/* ---- graphs ---- */

/* On one stream, behind what another one has so far. */
static void follow(void *stream, void *other) {
    void *event;
    CUDA(cuEventCreate(&event, 2));
    CUDA(cuEventRecord(event, other));
    CUDA(cuStreamWaitEvent(stream, event, 0));
    CUDA(cuEventDestroy_v2(event));
}

/* A graph sets the words to 0, makes the call, and copies chunks in a branch of its own. */
Test(chunks_cuda, captured_calls_are_replayed) {
    struct gpu_replay replay;
    static const unsigned char zeros[4096];
    OPEN_CHUNKS(.ranks = 3, .first_epoch = 0xFFFFFFF0);
    for (uint64_t seed = 0; seed < 4; seed++) {
        OPEN_CASE(c, seed, .ranks = 3, .everyone = true, .rows = 30, .columns = 40, .chunk_rows = 7);
        c.is_copied = true;
        const struct chunks_layout layout = chunks_case_layout(&c);
        gpu_group_begin_capture(&group);
        for (int rank = 0; rank < 3; rank++) {
            void *stream = group.device[rank].stream;
            device_use(&group.device[rank]);
            CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)bench.of[rank].pool[POOL_SYMMETRIC] + (uint64_t)layout.ready, zeros,
                                      (size_t)layout.ready_bytes, stream));
            follow(group.second[rank], stream);
        }
        poll(&bench, &c, 9);
        chunks_case_call(&c, bench.of, 9);
        for (int rank = 0; rank < 3; rank++) {
            device_use(&group.device[rank]);
            follow(group.device[rank].stream, group.second[rank]);
        }
        gpu_group_end_capture(&group, &replay);
        for (int turn = 0; turn < 3; turn++) {
            fill(&c, &bench, 9);
            gpu_group_replay(&group, &replay, 2);
            compare(&c, &bench);
        }
        gpu_group_close_replay(&group, &replay);
    }
}
