/*
 * Quantised chunks between CPU ranks, threads and processes: the bits of every result, that a chunk is complete when its word says
 * so, and waits for chunks.  test_chunks_mistakes.c has mistakes of one rank.
 *
 * Runs on: cpu; kernels of quantize, collective.
 */
#include "harness/chunks_case.h"
#include "harness/one_chunks.h"
#include "ranks/chunks/chunks.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"

/* ---- random cases ---- */

static void check_batch(enum rank_kind kind, int ranks, struct chunks_batch batch) {
    check_ranks(.kind = kind, .count = ranks, .function = chunks_run_batch, .user = &batch);
}

static void check_random_cases(enum rank_kind kind) {
    for (int ranks = 1; ranks <= 5; ranks++)
        check_batch(kind, ranks, (struct chunks_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

Test(chunks, random_cases_of_threads) { check_random_cases(RANK_THREADS); }
Test(chunks, random_cases_of_processes) { check_random_cases(RANK_PROCESSES); }

/* Several pieces of a chunk, several threads of each rank; in the last case the caches are passed by. */
Test(chunks, large_cases) {
    const struct chunks_choice streams = {.rows = 800, .columns = 1024, .chunk_rows = 150, .everyone = true};
    for (int threads = 1; threads <= 3; threads++)
        check_batch(RANK_BOTH, 2, (struct chunks_batch){.first = 50000 + (uint64_t)threads * 1000, .threads = threads,
                                                        .cases = (int)test_size(4, 2), .choice = {.largest = 200000},
                                                        .pool_bytes = 1 << 20});
    check_batch(RANK_BOTH, 2, (struct chunks_batch){.first = 59000, .cases = 1, .choice = streams, .pool_bytes = 4 << 20});
}

/* More than fill a word of a mask. */
Test(chunks, many_ranks) {
    const struct chunks_choice small = {.largest = 300};
    check_batch(RANK_THREADS, 33, (struct chunks_batch){.first = 61000, .cases = 4, .choice = small});
    check_batch(RANK_PROCESSES, 33, (struct chunks_batch){.first = 62000, .cases = 3, .choice = small});
}

/* Nothing to cast, one element, as many chunks as there may be, chunks that do not divide the rows. */
Test(chunks, edges) {
    static const struct chunks_choice edges[] = {
        {.rows = -1, .columns = 100}, {.rows = 10, .columns = -1}, {.rows = -1, .columns = -1}, {.rows = 1, .columns = 1},
        {.rows = 1024, .columns = 3, .chunk_rows = 1}, {.rows = 2047, .columns = 2, .chunk_rows = 2},
        {.rows = 300, .columns = 256, .chunk_rows = 7}, {.rows = 5, .columns = 65536 + 255, .chunk_rows = 2},
        {.rows = 3, .columns = 8192, .chunk_rows = 1}, {.rows = 3, .columns = 65500, .chunk_rows = 1},
        {.rows = 9, .columns = 100, .chunk_rows = (int64_t)1 << 50},
    };
    for (size_t i = 0; i < COUNT(edges); i++)
        check_batch(RANK_BOTH, 2, (struct chunks_batch){.first = 70000 + 100 * i, .cases = (int)test_size(4, 2),
                                                        .choice = edges[i], .threads = 2, .pool_bytes = 2 << 20});
}

/* What one rank reaches by its own memory another reaches by shared memory. */
TEST_RANKS(chunks, several_ranks_in_each_of_several_processes, .kind = RANK_PROCESSES, .count = 2,
           .user = &(const struct chunks_batch){.first = 90000, .cases = (int)test_size(100, 20)}) {
    return rank_be_two(rank, chunks_run_batch);
}

/* ---- one call by three ranks ---- */

static void open_call_of(struct rank *rank, struct one_chunks *call, quern_group *group, int64_t pool_bytes) {
    struct rank_bench *bench = zeroed(sizeof *bench);
    rank_bench_take(bench, rank, group, pool_bytes);
    *call = (struct one_chunks){.bench = bench};
}

static void open_call(struct rank *rank, struct one_chunks *call) {
    open_call_of(rank, call, rank_group(rank, RANK_LIMIT), BENCH_POOL);
    one_chunks_make(call, call->bench);
}

static quern_status end_call(const struct one_chunks *call) {
    const quern_status status = rank_bench_destroy(call->bench);
    free(call->bench);
    return status;
}

static void close_call(struct rank *rank, struct one_chunks *call) { rank_ok(rank, end_call(call)); }
#define TEST_CALL(...) TEST_WITH(struct one_chunks, call, open_call, close_call, __VA_ARGS__)

/* ---- the order of the chunks ---- */

/* What a hook sees of this rank's own words and output, after each task, which is a chunk. */
struct seen_order {
    const uint32_t *words;
    const unsigned char *output;
    int chunks[CHUNKS], count, early;  /* early: bytes of chunks whose words have not come */
};

static void count_early(struct seen_order *seen) {
    for (int i = 0; i < CHUNKS_ROWS * CHUNKS_COLUMNS; i++) {
        const bool has_come = seen->words[i / (CHUNK_ROWS * CHUNKS_COLUMNS)] == CHUNKS_VALUE;
        seen->early += !has_come && seen->output[i] != CHUNKS_UNTOUCHED;
    }
}

static void see_words(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct seen_order *seen = user;
    bool before[CHUNKS];
    for (int64_t i = 0; i < tasks; i++) {
        for (int c = 0; c < CHUNKS; c++) before[c] = seen->words[c] == CHUNKS_VALUE;
        task(context, i);
        for (int c = 0; c < CHUNKS; c++)
            if (!before[c] && seen->words[c] == CHUNKS_VALUE && seen->count < CHUNKS) seen->chunks[seen->count++] = c;
        count_early(seen);
    }
}

static void send_in_order(struct rank *rank, struct one_chunks *call) {
    struct seen_order seen = {.output = call->bench->image[POOL_SYMMETRIC] + rank->rank * CHUNKS_ROWS * CHUNKS_COLUMNS};
    for (int i = 0; i < CHUNKS; i++) call->order[i] = (5 * i + rank->rank) % CHUNKS;
    seen.words = one_chunks_words(call) + rank->rank * CHUNKS;
    rank_ok(rank, quern_set_threads(rank->device, 2, see_words, &seen));
    rank_ok(rank, one_chunks_call(call));
    one_chunks_check(call);
    for (int i = 0; i < CHUNKS; i++)
        rank_check(rank, seen.count == CHUNKS && seen.chunks[i] == call->order[i],
                   "chunk %d of %d was sent at place %d of the order", seen.chunks[i], seen.count, i);
    rank_check(rank, !seen.early, "%d bytes were written with another chunk", seen.early);
}

TEST_CALL(chunks, chunks_are_sent_in_the_order_of_the_arguments, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    send_in_order(rank, call);
}

TEST_CALL(chunks, chunks_in_blocks_are_sent_in_the_order_of_the_arguments, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    one_chunks_scale_blocks(call);
    send_in_order(rank, call);
}

/* ---- preparation ---- */

static const unsigned both_operations[] = {QUERN_QUANTIZE, QUERN_COLLECTIVE};

TEST_RANKS(chunks, a_device_that_is_not_prepared, .kind = RANK_BOTH, .count = ONE_RANKS, RANKS_EACH(both_operations)) {
    static unsigned char inputs[ONE_RANKS][BENCH_POOL];
    struct one_chunks call;
    struct rank_bench bench = {.rank = rank, .group = rank_group(rank, RANK_LIMIT), .count = 1, .pool_bytes = BENCH_POOL};
    const unsigned missing = *(const unsigned *)rank->user, both = QUERN_QUANTIZE | QUERN_COLLECTIVE;
    rank_ok(rank, quern_prepare(rank->device, rank->rank == 1 ? both & ~missing : both));
    void *symmetric = rank_allocate(rank, bench.group, BENCH_POOL);
    bench.pool[POOL_SYMMETRIC] = bench.image[POOL_SYMMETRIC] = symmetric;
    bench.pool[POOL_PRIVATE] = bench.image[POOL_PRIVATE] = inputs[rank->rank];
    one_chunks_make(&call, &bench);
    rank_check_refusal(rank, 1, QUERN_NOT_PREPARED, "is not prepared", one_chunks_call(&call));
    one_chunks_check_nothing_came(&call, CHUNKS_BEFORE, "unprepared");
    if (rank->rank == 1) rank_ok(rank, quern_prepare(rank->device, missing));
    rank_ok(rank, one_chunks_call(&call));
    return quern_group_destroy(bench.group);
}

/* ---- ranks that never come ---- */

/* A thread that waits for a chunk of the rank that ends. */
struct reader {
    struct one_chunks *call;
    int place;
    pthread_t thread;
    quern_status status;
    char detail[512];
};

static void *read_chunk(void *context) {
    struct reader *reader = context;
    const struct one_chunks *call = reader->call;
    const uint32_t *words = one_chunks_words(call) + reader->place * CHUNKS;
    reader->status = quern_chunk_wait(call->bench->group, words, CHUNKS, CHUNKS_VALUE, RANK_LIMIT, NULL);
    quern_error_detail(reader->detail, sizeof reader->detail);
    return NULL;
}

static void start_reader(struct reader *reader, struct one_chunks *call, int place) {
    *reader = (struct reader){.call = call, .place = place};
    rank_check(call->bench->rank, pthread_create(&reader->thread, NULL, read_chunk, reader) == 0, "no thread");
}

/* How a group ends while two ranks are in a call: what rank 2 does instead, and what the others get. */
struct end {
    void (*end)(struct rank *rank, quern_group *group);
    quern_status status;
    const char *words;
};

/* Until so many ranks wait for the entry. */
static void await_callers(quern_group *group, int callers) {
    static const char waits[] = "waits in quern_quantize_chunks (entry)";
    char report[4096];
    for (int found = 0; found < callers;) {
        quern_group_report(group, report, sizeof report);
        found = 0;
        for (const char *at = report; (at = strstr(at, waits)); at += sizeof waits - 1) found++;
    }
}

static void leave(struct rank *rank, quern_group *group) { rank_ok(rank, quern_group_destroy(group)); }
static void abort_group(struct rank *rank, quern_group *group) {
    rank_ok(rank, quern_group_abort(group, "no more steps"));
    rank_ok(rank, quern_group_destroy(group));
}
static void die(UNUSED struct rank *rank, UNUSED quern_group *group) { kill(getpid(), SIGKILL); }

static const struct end ends[] = {
    {leave, QUERN_PEER_LOST, "has destroyed its group"},
    {abort_group, QUERN_GROUP_ABORTED, "rank 2 has aborted the group: no more steps"},
    {die, QUERN_PEER_LOST, "has ended"},
};

/* Words that say that the call has failed end all who look at them, those of the library and of the engine. */
static quern_status wait_in_vain(struct rank *rank) {
    struct one_chunks made, *call = &made;
    open_call_of(rank, call, rank_group_met(rank, RANK_LIMIT), BENCH_POOL);
    const struct end *end = rank->user;
    struct reader reader;
    one_chunks_make(call, call->bench);
    rank_line_up(rank);
    if (rank->rank == 2) {
        await_callers(call->bench->group, 2);
        end->end(rank, call->bench->group);
        return QUERN_OK;
    }
    const double began = rank_now();
    start_reader(&reader, call, rank->rank ? 2 : 0);
    rank_refused(rank, one_chunks_call(call), end->status, end->words);
    pthread_join(reader.thread, NULL);
    rank_check(rank, reader.status == end->status && strstr(reader.detail, end->words), "the reader has %s: %s",
               quern_status_string(reader.status), reader.detail);
    one_chunks_check_nothing_came(call, ~(uint32_t)CHUNKS_VALUE, "after the end");
    const uint32_t *words = one_chunks_words(call);
    rank_check(rank, words[0] == ~(uint32_t)CHUNKS_VALUE && words[CHUNK_WORDS] == CHUNKS_BEFORE, "word 0 is %u", words[0]);
    rank_check(rank, rank_now() - began < RANK_SOON, "the end took %g s", rank_now() - began);
    rank_status(rank, quern_chunk_wait(call->bench->group, one_chunks_words(call), 1, CHUNKS_VALUE, 0, NULL), end->status);
    return end_call(call);
}

Test(chunks, a_rank_that_ends_ends_the_readers) {
    for (size_t i = 0; i < COUNT(ends); i++)
        check_ranks(.kind = ends[i].end == die ? RANK_PROCESSES : RANK_BOTH, .count = ONE_RANKS, .function = wait_in_vain,
                    .user = &ends[i], .may_die = 1 << 2);
}

/* ---- the wait ---- */

/* What is wrong with a wait. */
struct bad_wait {
    int64_t word, count;    /* from the words of a call on */
    int odd;                /* bytes */
    uint32_t value;
    double timeout;
    quern_status status;
    const char *words;
};

static const struct bad_wait bad_waits[] = {
    {0, -1, 0, CHUNKS_VALUE, 0, QUERN_INVALID_SHAPE, "count is -1: expected 0 or more"},
    {0, 131073, 0, CHUNKS_VALUE, 0, QUERN_INVALID_SHAPE, "count is 131073: expected at most 131072"},
    {0, INT64_MAX, 0, CHUNKS_VALUE, 0, QUERN_INVALID_SHAPE, "count is 9223372036854775807: expected at most"},
    {0, 1, 2, CHUNKS_VALUE, 0, QUERN_INVALID_ARGUMENT, "ready is not at a multiple of 4 bytes"},
    {(BENCH_POOL - CHUNKS_BYTES) / 4 - 1, 2, 0, CHUNKS_VALUE, 0, QUERN_INVALID_ARGUMENT,
     "ready is not symmetric memory of this group: expected 2 words"},
    {0, 1, 0, 0, 0, QUERN_INVALID_ARGUMENT, "value is 0: expected neither 0 nor 4294967295"},
    {0, 1, 0, UINT32_MAX, 0, QUERN_INVALID_ARGUMENT, "value is 4294967295: expected neither 0 nor 4294967295"},
    {0, 1, 0, CHUNKS_VALUE, -1, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more"},
    {0, 1, 0, CHUNKS_VALUE, (double)NAN, QUERN_INVALID_ARGUMENT, "expected seconds, 0 or more"},
    {0, 1, 0, ~(uint32_t)CHUNKS_BEFORE, 0, QUERN_PEER_MISMATCH,
     "ready[0] is ~4294966495: the call that sends this chunk has failed"},
    {3, 9, 0, CHUNKS_VALUE, 0.01, QUERN_PEER_TIMEOUT, "for ready[0], which is 800: expected 900"},
};

static void wait_badly(struct rank *rank, const struct one_chunks *call, const struct bad_wait *bad) {
    const char *at = (const char *)(one_chunks_words(call) + bad->word) + bad->odd;
    const quern_status status =
        quern_chunk_wait(call->bench->group, (const uint32_t *)(const void *)at, bad->count, bad->value, bad->timeout, NULL);
    rank_check_status(rank, status, bad->status, bad->words, __LINE__);
    rank_check_detail(rank, bad->words);
}

TEST_BODY(chunks, waits_that_are_refused, .kind = RANK_BOTH, .count = ONE_RANKS) {
    struct one_chunks made, *call = &made;
    uint32_t own = 3;
    open_call(rank, call);
    quern_group *group = call->bench->group;
    uint32_t *words = one_chunks_words(call);
    void *spare = rank_allocate(rank, group, 4096);
    rank_ok(rank, quern_symmetric_free(group, spare, NULL));
    for (size_t i = 0; i < COUNT(bad_waits); i++) wait_badly(rank, call, &bad_waits[i]);
    rank_status(rank, quern_chunk_wait(NULL, words, 1, CHUNKS_VALUE, 0, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_chunk_wait(group, NULL, 1, CHUNKS_VALUE, 0, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_chunk_wait(group, &own, 1, 3, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "ready is not symmetric memory of this group: expected 1 words");
    rank_status(rank, quern_chunk_wait(group, spare, 1, 3, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_refused(rank, quern_chunk_wait(group, words, 1, CHUNKS_BEFORE, 0, rank), QUERN_INVALID_ARGUMENT, "stream is not NULL");
    rank_ok(rank, quern_chunk_wait(group, NULL, 0, CHUNKS_VALUE, 0, NULL));
    rank_ok(rank, quern_chunk_wait(group, words, CHUNKS_BYTES / 4, CHUNKS_BEFORE, 0, NULL));
    words[7] = ~(uint32_t)CHUNKS_VALUE;  /* behind others that have not come */
    rank_refused(rank, quern_chunk_wait(group, words, 9, CHUNKS_VALUE, 0, NULL), QUERN_PEER_MISMATCH, "ready[7] is ~900");
    words[7] = CHUNKS_BEFORE;
    rank_ok(rank, one_chunks_call(call));  /* the group is as before */
    rank_ok(rank, quern_chunk_wait(group, words, CHUNK_WORDS, CHUNKS_VALUE, 0, NULL));
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    rank_status(rank, quern_chunk_wait(group, words, 1, CHUNKS_VALUE, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the group's handle was destroyed before");
}

/* A thread waits for words while the rank's own thread allocates and frees: the ranges change beside the look-ups. */
static void *wait_often(void *context) {
    struct reader *reader = context;
    const struct one_chunks *call = reader->call;
    for (int i = 0; i < 2000 && reader->status == QUERN_OK; i++)
        reader->status = quern_chunk_wait(call->bench->group, one_chunks_words(call), 4, CHUNKS_BEFORE, RANK_LIMIT, NULL);
    quern_error_detail(reader->detail, sizeof reader->detail);
    return NULL;
}

TEST_CALL(chunks, waits_beside_other_calls, .kind = RANK_BOTH, .count = ONE_RANKS) {
    struct reader reader = {.call = call};
    rank_check(rank, pthread_create(&reader.thread, NULL, wait_often, &reader) == 0, "no thread");
    for (int i = 0; i < 40; i++) {
        void *memory = rank_allocate(rank, call->bench->group, 4096);
        rank_ok(rank, quern_barrier(call->bench->group, NULL, NULL));
        rank_ok(rank, quern_symmetric_free(call->bench->group, memory, NULL));
    }
    pthread_join(reader.thread, NULL);
    rank_check(rank, reader.status == QUERN_OK, "%s", reader.detail);
}

/* ---- what has no ranks on other devices ---- */

TEST_CALL(chunks, questions, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    size_t bytes = 1;
    void *symmetric = call->bench->pool[POOL_SYMMETRIC];
    quern_group *group = call->bench->group;
    call->args.input = NULL, call->args.output = NULL, call->args.ready = NULL, call->args.amax = NULL;
    rank_ok(rank, quern_quantize_chunks_workspace(group, &call->args, &bytes));
    rank_check(rank, bytes == 0, "%zu bytes of workspace", bytes);
    rank_status(rank, quern_symmetric_view(group, symmetric, &view), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over host memory has no view for kernels");
    rank_status(rank, quern_symmetric_view(group, symmetric, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_symmetric_view(NULL, symmetric, &view), QUERN_NULL_POINTER);
    view.size = 0;
    rank_status(rank, quern_symmetric_view(group, symmetric, &view), QUERN_INVALID_STRUCT_SIZE);
}

/* ---- a rank that lies, with valid digests ---- */

static const struct lie {
    float amax;
    size_t bytes;            /* of its memory */
    bool other_members, poisons;
    const char *words;
} lies[] = {
    {-1, BENCH_POOL, false, true, "rank 0 read a damaged record of rank 1"},
    {(float)NAN, BENCH_POOL, false, true, "rank 0 read a damaged record of rank 1"},
    {1, CHUNKS_BYTES + 8, false, true, "rank 0 finds a buffer of rank 1 beyond the memory that it has mapped of it"},
    {1, BENCH_POOL, true, false, "args.members differ on ranks 0 and 1: expected the same on all members"},
};

/* Writes the record of the same call, and comes to its entry and, if there is one, its exit. */
static void pretend(struct rank *rank, const struct one_chunks *call, const struct lie *lie) {
    static struct quern_chunks_call made;
    struct quern_membership *member = rank_member_of(rank, call->bench->group);
    struct quern_meeting meeting = {QUERN_IN_QUANTIZE_CHUNKS, QUERN_PHASE_ENTRY, &member->everyone, RANK_LIMIT, NULL};
    made = (struct quern_chunks_call){.member = member, .args = call->args, .places = 2, .place = 1, .set = member->everyone,
                                      .rank_at = {0, 1}};
    quern_symmetric_find(member, call->bench->pool[POOL_SYMMETRIC], 1, &made.output_place);
    made.ready_place = made.output_place, made.ready_place.offset += CHUNKS_BYTES;
    if (lie->other_members) made.set.words[1] = 1;
    quern_chunks_write_record(&made, lie->amax);
    rank_ok(rank, quern_meet(member, &meeting));
    meeting.phase = QUERN_PHASE_EXIT;
    if (!lie->poisons) rank_ok(rank, quern_meet(member, &meeting));
}

TEST_RANKS(chunks, liars_are_found, .kind = RANK_PROCESSES, .count = 2, RANKS_EACH(lies)) {
    struct one_chunks made, *call = &made;
    const struct lie *lie = rank->user;
    const bool is_small = rank->rank && lie->bytes < BENCH_POOL;
    open_call_of(rank, call, rank_group(rank, RANK_LIMIT), is_small ? (int64_t)lie->bytes : BENCH_POOL);
    if (is_small)
        call->args = (quern_quantize_chunks_args){.input_dtype = QUERN_F32, .output_dtype = QUERN_E4M3, .rows = CHUNKS_ROWS,
                                                  .ready_value = CHUNKS_VALUE, .columns = CHUNKS_COLUMNS, .chunk_rows = CHUNK_ROWS};
    else one_chunks_make(call, call->bench);
    call->args.members = NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        pretend(rank, call, lie);
    } else {
        rank_refused(rank, one_chunks_call(call), QUERN_PEER_MISMATCH, lie->words);
        one_chunks_check_nothing_came(call, lie->poisons ? ~(uint32_t)CHUNKS_VALUE : CHUNKS_BEFORE, lie->words);
    }
    rank_line_up(rank);
    rank_status(rank, quern_barrier(call->bench->group, NULL, NULL), lie->poisons ? QUERN_PEER_MISMATCH : QUERN_OK);
    return end_call(call);
}

/* ---- a rank that is lost behind the entry ---- */

/* Its chunks will not come; those of the other one have come and stay. */
TEST_CALL(chunks, chunks_that_have_come_stay_after_a_failure, .kind = RANK_PROCESSES, .count = 2) {
    static const struct lie truth = {.amax = 1, .poisons = true};
    const uint32_t *words = one_chunks_words(call);
    call->args.members = NULL, call->args.order = NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        pretend(rank, call, &truth);
        return;
    }
    rank_refused(rank, one_chunks_call(call), QUERN_PEER_LOST, "quern_quantize_chunks (exit)");
    for (int i = 0; i < 2 * CHUNKS; i++)
        rank_check(rank, words[i] == (i < CHUNKS ? CHUNKS_VALUE : ~(uint32_t)CHUNKS_VALUE), "word %d is %u", i, words[i]);
    for (int i = 0; i < CHUNKS_ROWS * CHUNKS_COLUMNS; i++)
        rank_check(rank, call->bench->pool[POOL_SYMMETRIC][i] != CHUNKS_UNTOUCHED, "element %d has not come", i);
}
