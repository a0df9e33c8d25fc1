/*
 * Quantised chunks of GPU ranks that do not finish, and waits for chunks that end: every rank gets the same error, nothing is
 * written without an entry, and nothing hangs.  test_chunks_mistakes.c has mistakes of one rank.
 *
 * Runs on: every emulated, gpu; kernels of barrier, quantize, collective.
 */
#include "harness/chunks_case.h"
#include "harness/gpu_bench.h"

enum { RANKS = 3, VALUE = 7, PREPARED = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE };

struct scene {
    struct gpu_group group;
    struct gpu_bench bench;
    struct chunks_case c;
    struct chunks_layout layout;
    quern_quantize_chunks_args args[RANKS];
};

static void prepare(struct scene *s) {
    int order[CHUNKS_MOST];
    chunks_case_fill(&s->c, s->bench.of, VALUE, true);
    for (int rank = 0; rank < RANKS; rank++) {
        s->args[rank] = chunks_case_args(&s->c, &s->bench.of[rank], VALUE, order);
        s->args[rank].order = NULL, s->args[rank].timeout = RANK_LIMIT;
    }
}

static void open_scaled_scene(struct scene *s, quern_scaling scaling) {
    const struct chunks_choice choice = {.ranks = RANKS, .everyone = true, .rows = 12, .columns = 40, .chunk_rows = 5,
                                         .input = QUERN_F32, .output = QUERN_E4M3, .scaling = scaling};
    gpu_bench_begin(&s->bench, &s->group, (struct gpu_group_options){.ranks = RANKS, .machine.multiprocessors = 4, .second = true,
                                                                     .prepared = PREPARED, .pool = 1 << 14, .workspace = 1 << 14});
    chunks_case_open(&s->c, 3, choice);
    s->layout = chunks_case_layout(&s->c);
    prepare(s);
}

static void open_scene(struct scene *s) { open_scaled_scene(s, QUERN_SCALING_TENSOR); }

static void close_scene(struct scene *s) {
    gpu_bench_close_all(&s->bench);
    chunks_case_close(&s->c);
}
#define TEST_SCENE(suite, name) TEST_IN(struct scene, s, open_scene, close_scene, suite, name)

/* The driver is opened by the scene, which chooses the machine first. */
static void open_emulated_scene(struct scene *s, quern_scaling scaling) {
    open_scaled_scene(s, scaling);
    if (cuda_is_emulated()) return;
    close_scene(s);
    cr_skip_test("needs a driver that fails on demand");
}

/* A group that is not poisoned, and memory of its own. */
static void renew(struct scene *s) {
    gpu_bench_renew(&s->bench);
    prepare(s);
}

static quern_status call(struct scene *s, int rank) { return chunks_call(&s->bench.of[rank], &s->args[rank]); }

/* A word of a rank becomes a value that no call has stored there, perhaps for good. */
static void set_word(struct scene *s, int rank, int64_t word, uint32_t value) {
    struct rank_bench *one = &s->bench.of[rank];
    const int64_t at = s->layout.ready + 4 * word;
    memcpy(one->image[POOL_SYMMETRIC] + at, &value, sizeof value);
    memcpy(one->expected[POOL_SYMMETRIC] + at, &value, sizeof value);
    rank_bench_put(one, one->pool[POOL_SYMMETRIC] + at, sizeof value);
}

/* Neither the outputs nor the words. */
static void expect_unwritten(const struct scene *s) {
    char wrong[80];
    gpu_group_synchronize(&s->group);
    for (int rank = 0; rank < RANKS; rank++)
        check(rank_bench_is_right(&s->bench.of[rank], s->bench.of[rank].pool_bytes, wrong), "rank %d: %s", rank, wrong);
}

static void expect_poison(struct scene *s, quern_status status, const char *text) {
    gpu_group_expect(&s->group, status, text);
    for (int rank = 0; rank < RANKS; rank++) check_status(call(s, rank), status);
}

/* A word that has the value, or its complement, before the call would end a wait for it. */
TEST_SCENE(chunks_faults_cuda, words_that_are_told_before_the_call) {
    for (int turn = 0; turn < 2; turn++) {
        set_word(s, 2, 4, turn ? ~(uint32_t)VALUE : VALUE);
        for (int rank = 0; rank < RANKS; rank++) check_ok(call(s, rank));
        expect_unwritten(s);
        expect_poison(s, QUERN_PEER_MISMATCH, "ready[4] of rank 2 is args.ready_value, 7, or its complement before the call");
        renew(s);
    }
}

/* ---- ranks that do not finish ---- */

/* A rank's words from another one: all told as failed, or all ready and its chunks complete. */
static void expect_words(const struct scene *s, int rank, int place, bool ready) {
    const struct rank_bench *one = &s->bench.of[rank];
    const unsigned char *has = rank_bench_seen(one, one->pool[POOL_SYMMETRIC], one->pool_bytes);
    for (int64_t chunk = 0; chunk < s->c.chunks; chunk++) {
        uint32_t word;
        memcpy(&word, has + s->layout.ready + 4 * (place * s->c.chunks + chunk), 4);
        check(word == (ready ? VALUE : ~(uint32_t)VALUE), "word %lld of place %d on rank %d is %u", (long long)chunk, place, rank,
              word);
    }
    const int64_t from = place * s->c.elements, block = place * s->c.blocks;
    check(!ready || memcmp(has + s->layout.output + from, s->c.expected + from, (size_t)s->c.elements) == 0,
          "rank %d has other bytes of place %d", rank, place);
    check(!ready || memcmp(has + s->layout.scales + block, s->c.expected_scales + block, (size_t)s->c.blocks) == 0,
          "rank %d has other scales of place %d", rank, place);
}

enum { OUT_OF_MEMORY = 2, FAILING_CALLS = 24 };

/* Makes the calls of ranks 1 and 2, and that of rank 0 with a driver of which one call fails.  False: that many were not made. */
static bool call_with_failure(struct scene *s, long number, quern_status *status) {
    check_ok(call(s, 1));
    check_ok(call(s, 2));
    device_use(&s->group.device[0]);
    cuda_fail_call(number, OUT_OF_MEMORY);
    *status = call(s, 0);
    const bool was_made = cuda_calls() >= number;
    cuda_fail_call(0, 0);
    return was_made;
}

/* Whichever call of the driver fails: those who wait end, and no word stays as it was once the rank has entered. */
static void fail_calls_of_the_driver(quern_scaling scaling) {
    struct scene s CLOSED_BY(close_scene);
    int without_cast = 0;
    bool has_succeeded = false;
    open_emulated_scene(&s, scaling);
    for (long number = 1; number < FAILING_CALLS; number++) {
        quern_status status;
        if (!call_with_failure(&s, number, &status)) {
            check_ok(status);
            chunks_case_expect(&s.c, s.bench.of, VALUE);
            chunks_case_compare(&s.c, s.bench.of);
            check(number > 5, "only %ld calls of the driver", number);
            has_succeeded = true;
            break;
        }
        if (status != QUERN_OK && quern_group_status(s.group.group[0]) == QUERN_OK)
            check_ok(quern_group_abort(s.group.group[0], "it failed"));
        gpu_group_synchronize(&s.group);
        if (status != QUERN_OK && quern_group_status(s.group.group[1]) == QUERN_PEER_LOST &&
            strstr(error_detail(), "could not launch its cast")) {
            without_cast++;
            for (int rank = 1; rank < RANKS; rank++) expect_words(&s, rank, 0, false);
            expect_words(&s, 0, 0, false);
        }
        renew(&s);
    }
    check(has_succeeded, "%d calls of the driver and more", FAILING_CALLS);
    check(without_cast == 1, "the cast has failed %d times", without_cast);
}

Test(chunks_faults_cuda, calls_of_the_driver_that_fail) { fail_calls_of_the_driver(QUERN_SCALING_TENSOR); }
Test(chunks_faults_cuda, calls_of_the_driver_that_fail_in_blocks) { fail_calls_of_the_driver(QUERN_SCALING_MX); }

/* A graph of rank 0 that lacks its cast: it enters and stores nothing. */
static void enter_only(struct scene *s) {
    enum { RELAXED = 2, CALL_OF_THE_CAST_IN_CAPTURE = 24 };
    void *graph, *executable;
    quern_status status = QUERN_OK;
    device_use(&s->group.device[0]);
    for (long number = 1; number < CALL_OF_THE_CAST_IN_CAPTURE; number++) {
        CUDA(cuStreamBeginCapture_v2(s->group.device[0].stream, RELAXED));
        cuda_fail_call(number, OUT_OF_MEMORY);
        status = call(s, 0);
        cuda_fail_call(0, 0);
        const bool lacks_cast = status == QUERN_OUT_OF_MEMORY && strstr(error_detail(), "chunks_");
        CUDA(cuStreamEndCapture(s->group.device[0].stream, &graph));
        if (lacks_cast) break;
        CUDA(cuGraphDestroy(graph));
        status = QUERN_OK;
    }
    check_status(status, QUERN_OUT_OF_MEMORY);
    CUDA(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CUDA(cuGraphDestroy(graph));
    CUDA(cuGraphLaunch(executable, s->group.device[0].stream));
    CUDA(cuGraphExecDestroy(executable));
}

static quern_status wait_for(struct scene *s, int rank, int64_t count, double timeout) {
    device_use(&s->group.device[rank]);
    return quern_chunk_wait(s->group.group[rank], s->args[rank].ready, count, VALUE, timeout, s->group.second[rank]);
}

/* A wait beside the call sees its words fail, and leaves the reason as it is. */
static void name_a_rank_that_does_not_finish(quern_scaling scaling) {
    struct scene s CLOSED_BY(close_scene);
    open_emulated_scene(&s, scaling);
    enter_only(&s);
    s.args[1].timeout = 1;
    check_ok(call(&s, 1));
    check_ok(call(&s, 2));
    check_ok(wait_for(&s, 1, 3, RANK_LIMIT));
    gpu_group_synchronize(&s.group);
    for (int rank = 1; rank < RANKS; rank++)
        for (int place = 0; place < RANKS; place++) expect_words(&s, rank, place, place > 0);
    expect_poison(&s, QUERN_PEER_TIMEOUT, "quern_quantize_chunks (exit): rank 1 waited ");
    check_detail(" s on its GPU for rank 0 (process ");
}

Test(chunks_faults_cuda, a_rank_that_does_not_finish_is_named) { name_a_rank_that_does_not_finish(QUERN_SCALING_TENSOR); }
Test(chunks_faults_cuda, a_rank_that_does_not_finish_blocks_is_named) { name_a_rank_that_does_not_finish(QUERN_SCALING_MX); }

Test(chunks_faults_cuda, a_rank_that_leaves_before_its_cast_is_lost) {
    struct scene s CLOSED_BY(close_scene);
    open_emulated_scene(&s, QUERN_SCALING_MX);
    check_ok(call(&s, 1));
    check_ok(call(&s, 2));
    enter_only(&s);
    gpu_group_synchronize(&(struct gpu_group){.ranks = 1, .device = {s.group.device[0]}});
    gpu_group_leave(&s.group, 0);
    gpu_group_expect(&s.group, QUERN_PEER_LOST, "waited on its GPU for rank 0 (process ");
    for (int rank = 1; rank < RANKS; rank++) {
        expect_words(&s, rank, 0, false);
        expect_words(&s, rank, 3 - rank, true);
    }
}

/* ---- waits for chunks ---- */

TEST_SCENE(chunks_faults_cuda, a_wait_has_a_limit) {
    check_ok(wait_for(s, 1, 3, 0.2));
    expect_unwritten(s);
    expect_poison(s, QUERN_PEER_TIMEOUT, "quern_chunk_wait: rank 1 waited ");
    check_detail(" s on its GPU for ready[");  /* of the word whose thread is the first to give up */
}

TEST_SCENE(chunks_faults_cuda, a_wait_sees_that_a_call_has_failed) {
    set_word(s, 1, 2, ~(uint32_t)VALUE);
    check_ok(wait_for(s, 1, 3, RANK_LIMIT));
    expect_poison(s, QUERN_PEER_MISMATCH, "quern_chunk_wait: ready[2] says that its call has failed on rank 1");
}

TEST_SCENE(chunks_faults_cuda, an_abort_ends_a_wait_for_chunks) {
    check_ok(wait_for(s, 1, 3, RANK_LIMIT));
    check_ok(quern_group_abort(s->group.group[2], "enough"));
    expect_unwritten(s);
    expect_poison(s, QUERN_GROUP_ABORTED, "enough");
}

/* Launches that are already in the stream end at once, and a group waits for them before it ends. */
TEST_SCENE(chunks_faults_cuda, launches_behind_a_failure_do_nothing) {
    s->args[0].timeout = 0.2;
    for (int i = 0; i < 3; i++) check_ok(call(s, 0));
    check_ok(wait_for(s, 0, 1, RANK_LIMIT));
    expect_unwritten(s);
    expect_poison(s, QUERN_PEER_TIMEOUT, "quern_quantize_chunks (entry)");
}

Test(chunks_faults_cuda, not_prepared) {
    static const unsigned operations[] = {QUERN_BARRIER, QUERN_BARRIER | QUERN_QUANTIZE, QUERN_BARRIER | QUERN_COLLECTIVE};
    for (size_t i = 0; i < COUNT(operations); i++) {
        OPEN_BENCH((struct gpu_group_options){.ranks = 1, .prepared = operations[i], .pool = 1 << 14, .workspace = 1 << 14});
        struct chunks_case c CLOSED_BY(chunks_case_close);
        int order[CHUNKS_MOST];
        chunks_case_open(&c, 3, (struct chunks_choice){.ranks = 1, .rows = 4, .columns = 4, .chunk_rows = 1,
                                                          .scaling = QUERN_SCALING_TENSOR});
        const quern_quantize_chunks_args args = chunks_case_args(&c, bench.of, VALUE, order);
        check_status(chunks_call(bench.of, &args), QUERN_NOT_PREPARED);
        check_detail(i == 1 ? "collective is not prepared" : "quantize is not prepared");
        if (i < 2)
            check_status(quern_chunk_wait(group.group[0], args.ready, 1, VALUE, 0, group.device[0].stream), QUERN_NOT_PREPARED);
    }
}

/* ---- the view ---- */

TEST_SCENE(chunks_faults_cuda, the_view_has_the_memory_of_all_ranks) {
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    for (int rank = 0; rank < RANKS; rank++) {
        check_ok(quern_symmetric_view(s->group.group[rank], s->bench.of[rank].pool[POOL_SYMMETRIC] + 100, &view));
        check(view.rank == rank && view.ranks == RANKS && view.poison && view.timeout == 20000000000u, "rank %d", rank);
        check(view.peer[rank] == s->bench.of[rank].pool[POOL_SYMMETRIC] + 100 && !view.peer[RANKS], "rank %d", rank);
        for (int peer = 0; peer < RANKS; peer++) check(view.peer[peer], "rank %d does not reach %d", rank, peer);
    }
    check_status(quern_symmetric_view(s->group.group[0], s->bench.of[0].pool[POOL_PRIVATE], &view), QUERN_INVALID_ARGUMENT);
    check_detail("pointer is not symmetric memory of this group");
    check_status(quern_symmetric_view(s->group.group[0], NULL, &view), QUERN_NULL_POINTER);
}
