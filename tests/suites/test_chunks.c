/*
 * Quantised chunks between CPU ranks, threads and processes: the bits of every result, that a chunk is complete when its word says
 * so, and that a mistake of one rank is reported to all ranks, writes nothing and leaves the group usable.
 *
 * Runs on: cpu; kernels of quantize, collective.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/chunks_ranks.h"
#include "harness/device.h"
#include "harness/random.h"
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
    check_batch(RANK_BOTH, 2, (struct chunks_batch){.first = 59000, .cases = 1, .choice = streams, .pool_bytes = 2 << 20});
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
static quern_status run_two(struct rank *rank) { return rank_be_two(rank, chunks_run_batch); }

Test(chunks, several_ranks_in_each_of_several_processes) {
    const struct chunks_batch batch = {.first = 90000, .cases = (int)test_size(100, 20)};
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .function = run_two, .user = &batch);
}

/* ---- one call by three ranks, of which one makes a mistake.  tests/fields/ has the others, of one rank ---- */

enum { RANKS = 3, ROWS = 40, COLUMNS = 50, CHUNK_ROWS = 7, CHUNKS = 6, WORDS = RANKS * CHUNKS, MOST_BYTES = 1 << 19,
       UNTOUCHED = 0x77, VALUE = 900, BEFORE = 800 };

struct one_call {
    quern_quantize_chunks_args args;
    void *workspace, *stream;
    char *symmetric, *spare;         /* MOST_BYTES of outputs and as many of words; the same, freed */
    float numbers[3];                /* amax, scale, scale_inv */
    int order[CHUNKS];
    struct rank *rank;
    quern_group *group;
};

static const int everyone[] = {0, 1, 2};
static _Alignas(64) float inputs[RANKS][MOST_BYTES / 4];

static uint32_t *words_of(const struct one_call *call) { return (uint32_t *)(void *)(call->symmetric + MOST_BYTES); }

/* Multiples of 1/8 up to 448 on rank 0, which E4M3 represents with the scale 1: the code of 2 is 0x40. */
static void open_call_of(struct rank *rank, struct one_call *call, quern_group *group) {
    void *symmetric[2];
    *call = (struct one_call){.rank = rank, .group = group};
    rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){2 * MOST_BYTES}, &symmetric[i]));
    call->symmetric = symmetric[0], call->spare = symmetric[1];
    rank_ok(rank, quern_symmetric_free(group, call->spare, NULL));
    for (int64_t i = 0; i < MOST_BYTES / 4; i++) inputs[rank->rank][i] = rank->rank == 1 && i == 5 ? -448 : 2;
}

static void open_call(struct rank *rank, struct one_call *call) { open_call_of(rank, call, rank_group(rank, RANK_LIMIT)); }
static void close_call(struct rank *rank, struct one_call *call) { rank_ok(rank, quern_group_destroy(call->group)); }
#define TEST_CALL(...) TEST_WITH(struct one_call, call, open_call, close_call, __VA_ARGS__)

static void set_call(struct one_call *call) {
    quern_quantize_chunks_args *args = &call->args;
    *args = (quern_quantize_chunks_args)QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args->input_dtype = QUERN_F32, args->output_dtype = QUERN_E4M3;
    args->rows = ROWS, args->columns = COLUMNS, args->chunk_rows = CHUNK_ROWS;
    args->input = inputs[call->rank->rank], args->output = call->symmetric, args->ready = words_of(call);
    args->ready_value = VALUE, args->order = call->order;
    args->amax = &call->numbers[0], args->scale = &call->numbers[1], args->scale_inv = &call->numbers[2];
    args->members = everyone, args->member_count = RANKS;
    for (int i = 0; i < CHUNKS; i++) call->order[i] = (i + call->rank->rank) % CHUNKS;
    for (int i = 0; i < 3; i++) call->numbers[i] = -1;
    for (int i = 0; i < MOST_BYTES / 4; i++) words_of(call)[i] = BEFORE;
    memset(call->symmetric, UNTOUCHED, MOST_BYTES);
    call->workspace = call->stream = NULL;
}

static quern_status run_call(struct one_call *call) {
    return quern_quantize_chunks(call->group, &call->args, call->workspace, 0, call->stream);
}

/* Words and outputs hold what they held: the words `word`, but for those that a mistake has set. */
static void check_nothing_came(const struct one_call *call, uint32_t word, const char *when) {
    for (int i = 0; i < MOST_BYTES; i++)
        rank_check(call->rank, call->symmetric[i] == UNTOUCHED, "%s: byte %d was written", when, i);
    for (int i = 1; i < call->rank->ranks * CHUNKS; i++)
        rank_check(call->rank, words_of(call)[i] == word, "%s: word %d is %u", when, i, words_of(call)[i]);
    for (int i = 0; i < 3; i++) rank_check(call->rank, call->numbers[i] < 0, "%s: number %d was written", when, i);
}

static void check_result(const struct one_call *call) {
    const float expected[] = {448, 1, 1};
    for (int place = 0; place < RANKS; place++)
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const unsigned char has = (unsigned char)call->symmetric[place * ROWS * COLUMNS + i];
            const int code = place == 1 && i == 5 ? 0xFE : 0x40;
            rank_check(call->rank, has == code, "element %d of place %d is %02X instead of %02X", i, place, has, code);
        }
    for (int i = 0; i < WORDS; i++) rank_check(call->rank, words_of(call)[i] == VALUE, "word %d is %u", i, words_of(call)[i]);
    for (int i = 0; i < 3; i++)
        rank_check(call->rank, !(call->numbers[i] < expected[i] || call->numbers[i] > expected[i]), "number %d is %g", i,
                   (double)call->numbers[i]);
}

/* A mistake of one rank, its own status, and what all details contain. */
struct mistake {
    int rank;
    void (*make)(struct one_call *call);
    quern_status status;
    const char *words;
};

#define MISTAKE(name, ...) static void name(struct one_call *call) { __VA_ARGS__; }
MISTAKE(no_input_dtype, call->args.input_dtype = QUERN_NO_DTYPE)
MISTAKE(huge_output, call->args.input_dtype = QUERN_F16, call->args.rows = (int64_t)1 << 23, call->args.columns = (int64_t)1 << 23)
MISTAKE(many_chunks, call->args.rows = 1025, call->args.chunk_rows = 1)
MISTAKE(value_of_before, words_of(call)[0] = VALUE)
MISTAKE(complement_of_before, words_of(call)[0] = ~(uint32_t)VALUE)
MISTAKE(large_order, call->order[3] = CHUNKS)
MISTAKE(no_input, call->args.input = NULL)
MISTAKE(private_ready, call->args.ready = (uint32_t *)(void *)inputs[RANKS - 1 - call->rank->rank])
MISTAKE(freed_output, call->args.output = call->spare)
MISTAKE(ready_on_output, call->args.ready = (uint32_t *)(void *)(call->symmetric + 64))
MISTAKE(negative_timeout, call->args.timeout = -1)
MISTAKE(some_stream, call->stream = call)

static const struct mistake refusals[] = {
    {1, no_input_dtype, QUERN_INVALID_DTYPE, "args.input_dtype is 0 (unknown dtype): expected one of f32, f16, bf16"},
    {1, huge_output, QUERN_INVALID_SHAPE, "args.rows is 8388608 with args.columns 8388608, of 3 members: expected at most 2^47"},
    {2, many_chunks, QUERN_INVALID_SHAPE, "args.chunk_rows is 1, which divides 1025 rows into 1025 chunks: expected at most 1024"},
    {2, value_of_before, QUERN_INVALID_ARGUMENT, "args.ready_value is 900, and word 0 of args.ready is 900 before the call"},
    {0, complement_of_before, QUERN_INVALID_ARGUMENT, "args.ready_value is 900, and word 0 of args.ready is 4294966395 before"},
    {1, large_order, QUERN_INVALID_ARGUMENT, "args.order[3] is 6: expected a chunk from 0 to 5"},
    {1, no_input, QUERN_NULL_POINTER, "args.input is NULL"},
    {2, private_ready, QUERN_INVALID_ARGUMENT, "args.ready is not symmetric memory of this group: expected 72 bytes"},
    {0, freed_output, QUERN_INVALID_ARGUMENT, "args.output is in symmetric memory that was freed"},
    {1, ready_on_output, QUERN_INVALID_ARGUMENT, "args.ready overlaps args.output"},
    {1, negative_timeout, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more"},
    {2, some_stream, QUERN_INVALID_ARGUMENT, "stream is not NULL"},
};

/* The same members by a list, and all of them without one. */
TEST_CALL(chunks, refused_arguments_of_one_rank_are_told_to_all, .kind = RANK_BOTH, .count = RANKS) {
    for (size_t i = 0; i < COUNT(refusals); i++) {
        set_call(call);
        if (i % 2) call->args.members = NULL;
        if (refusals[i].rank == rank->rank) refusals[i].make(call);
        rank_check_refusal(rank, refusals[i].rank, refusals[i].status, refusals[i].words, run_call(call));
        check_nothing_came(call, BEFORE, refusals[i].words);
    }
    set_call(call);
    rank_ok(rank, run_call(call));
    check_result(call);
}

/* ---- arguments that are legal, but not the same ---- */

MISTAKE(other_input_dtype, call->args.input_dtype = QUERN_BF16)
MISTAKE(other_output_dtype, call->args.output_dtype = QUERN_E5M2)
MISTAKE(other_rows, call->args.rows--)
MISTAKE(no_rows, call->args.rows = 0)
MISTAKE(other_columns, call->args.columns++)
MISTAKE(other_chunk_rows, call->args.chunk_rows++)
MISTAKE(other_value, call->args.ready_value++)
MISTAKE(other_eps, call->args.eps = 0.1)
MISTAKE(other_power, call->args.power_of_two = 1)
MISTAKE(other_rounding, call->args.rounding = QUERN_ROUND_STOCHASTIC)
MISTAKE(other_output, call->args.output = call->symmetric + 1)
MISTAKE(other_ready, call->args.ready++)

/* All of these are found by comparison with rank 0, unless that is the one that differs: then rank 1 differs from it. */
static const struct mistake differences[] = {
    {1, other_input_dtype, QUERN_PEER_MISMATCH, "args.input_dtype is f32 on rank 0 and bf16 on rank 1: expected the same on all"},
    {0, other_output_dtype, QUERN_PEER_MISMATCH,
     "args.output_dtype is e5m2 on rank 0 and e4m3 on rank 1: expected the same on all"},
    {2, other_rows, QUERN_PEER_MISMATCH, "args.rows is 40 on rank 0 and 39 on rank 2: expected the same on all members"},
    {1, no_rows, QUERN_PEER_MISMATCH, "args.rows is 40 on rank 0 and 0 on rank 1: expected the same on all members"},
    {2, other_columns, QUERN_PEER_MISMATCH, "args.columns is 50 on rank 0 and 51 on rank 2: expected the same on all members"},
    {0, other_chunk_rows, QUERN_PEER_MISMATCH, "args.chunk_rows is 8 on rank 0 and 7 on rank 1: expected the same on all members"},
    {1, other_value, QUERN_PEER_MISMATCH, "args.ready_value is 900 on rank 0 and 901 on rank 1: expected the same on all members"},
    {2, other_eps, QUERN_PEER_MISMATCH, "args.eps is 0 on rank 0 and 0.1 on rank 2: expected the same on all"},
    {0, other_power, QUERN_PEER_MISMATCH, "args.power_of_two is 1 on rank 0 and 0 on rank 1: expected the same on all members"},
    {1, other_rounding, QUERN_PEER_MISMATCH,
     "args.rounding is QUERN_ROUND_NEAREST on rank 0 and QUERN_ROUND_STOCHASTIC on rank 1: expected the same on all members"},
    {2, other_output, QUERN_PEER_MISMATCH,
     "args.output of ranks 0 and 2 is not at the same place of the same symmetric allocation"},
    {1, other_ready, QUERN_PEER_MISMATCH, "args.ready of ranks 0 and 1 is not at the same place of the same symmetric allocation"},
};

/* What may differ: random numbers, the order, what a rank wants of its own results, and two names of one choice. */
static void differ_legally(struct one_call *call) {
    if (call->rank->rank != 1) return;
    call->args.order = NULL, call->args.seed = 5, call->args.offset = 6, call->args.timeout = RANK_LIMIT;
    call->args.multiprocessors = 3, call->args.rounding = QUERN_ROUND_NEAREST, call->args.eps = -0.0;
}

TEST_CALL(chunks, differing_arguments_are_told_to_all, .kind = RANK_BOTH, .count = RANKS) {
    for (size_t i = 0; i < COUNT(differences); i++) {
        set_call(call);
        if (differences[i].rank == rank->rank) differences[i].make(call);
        rank_check_status(rank, run_call(call), QUERN_PEER_MISMATCH, differences[i].words, __LINE__);
        rank_check_detail(rank, differences[i].words);
        check_nothing_came(call, BEFORE, differences[i].words);
    }
    set_call(call);
    differ_legally(call);
    rank_ok(rank, run_call(call));
    check_result(call);
}

/* ---- the order of the chunks ---- */

/* What a hook sees of this rank's own words, after each task. */
struct seen_order {
    const uint32_t *words;
    int chunks[CHUNKS], count;
};

static void see_words(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct seen_order *seen = user;
    bool before[CHUNKS];
    for (int64_t i = 0; i < tasks; i++) {
        for (int c = 0; c < CHUNKS; c++) before[c] = seen->words[c] == VALUE;
        task(context, i);
        for (int c = 0; c < CHUNKS; c++)
            if (!before[c] && seen->words[c] == VALUE && seen->count < CHUNKS) seen->chunks[seen->count++] = c;
    }
}

TEST_CALL(chunks, chunks_are_sent_in_the_order_of_the_arguments, .kind = RANK_PROCESSES, .count = RANKS) {
    struct seen_order seen = {.count = 0};
    set_call(call);
    for (int i = 0; i < CHUNKS; i++) call->order[i] = (5 * i + rank->rank) % CHUNKS;
    seen.words = words_of(call) + rank->rank * CHUNKS;
    rank_ok(rank, quern_set_threads(rank->device, 2, see_words, &seen));
    rank_ok(rank, run_call(call));
    check_result(call);
    for (int i = 0; i < CHUNKS; i++)
        rank_check(rank, seen.count == CHUNKS && seen.chunks[i] == call->order[i],
                   "chunk %d of %d was sent at place %d of the order", seen.chunks[i], seen.count, i);
}

/* ---- other calls and other members poison the group ---- */

TEST_CALL(chunks, other_calls_poison_the_group, .kind = RANK_BOTH, .count = RANKS) {
    rank_line_up(rank);
    set_call(call);
    rank_status(rank, rank->rank == 1 ? quern_barrier(call->group, NULL, NULL) : run_call(call), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "the ranks must make the same calls in the same order, with the same members");
    if (rank->rank != 1)  /* one that was late has found the poison at once */
        check_nothing_came(call, words_of(call)[1] == BEFORE ? BEFORE : ~(uint32_t)VALUE, "in another call");
    rank_status(rank, run_call(call), QUERN_PEER_MISMATCH);
}

/* Not the calling rank, not ascending; two members while the third does nothing. */
TEST_CALL(chunks, mistakes_about_who_takes_part, .kind = RANK_BOTH, .count = RANKS) {
    set_call(call);
    call->args.members = (const int[]){(rank->rank + 1) % RANKS}, call->args.member_count = 1;
    rank_refused(rank, run_call(call), QUERN_INVALID_ARGUMENT, "members do not include the calling rank");
    call->args.members = (const int[]){0, 0, 1}, call->args.member_count = 3;
    rank_refused(rank, run_call(call), QUERN_INVALID_ARGUMENT, "members[1] is 0 after 0: expected ascending ranks");
    call->args.members = everyone, call->args.member_count = RANKS;
    rank_ok(rank, run_call(call));
    check_result(call);
}

static const unsigned both_operations[] = {QUERN_QUANTIZE, QUERN_COLLECTIVE};

TEST_RANKS(chunks, a_device_that_is_not_prepared, .kind = RANK_BOTH, .count = RANKS, RANKS_EACH(both_operations)) {
    struct one_call made, *call = &made;
    const unsigned missing = *(const unsigned *)rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    void *symmetric;
    if (rank->rank == 1) rank_ok(rank, quern_prepare(rank->device, (QUERN_QUANTIZE | QUERN_COLLECTIVE) & ~missing));
    else rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){2 * MOST_BYTES}, &symmetric));
    *call = (struct one_call){.rank = rank, .group = group, .symmetric = symmetric};
    set_call(call);
    rank_check_refusal(rank, 1, QUERN_NOT_PREPARED, "is not prepared", run_call(call));
    check_nothing_came(call, BEFORE, "unprepared");
    if (rank->rank == 1) rank_ok(rank, quern_prepare(rank->device, missing));
    rank_ok(rank, run_call(call));
    return quern_group_destroy(group);
}

/* ---- ranks that never come ---- */

/* A thread that waits for a chunk of the rank that ends. */
struct reader {
    struct one_call *call;
    int place;
    pthread_t thread;
    quern_status status;
    char detail[512];
};

static void *read_chunk(void *context) {
    struct reader *reader = context;
    const struct one_call *call = reader->call;
    reader->status = quern_chunk_wait(call->group, words_of(call) + reader->place * CHUNKS, CHUNKS, VALUE, RANK_LIMIT, NULL);
    quern_error_detail(reader->detail, sizeof reader->detail);
    return NULL;
}

static void start_reader(struct reader *reader, struct one_call *call, int place) {
    *reader = (struct reader){.call = call, .place = place};
    rank_check(call->rank, pthread_create(&reader->thread, NULL, read_chunk, reader) == 0, "no thread");
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
static void die(struct rank *rank, quern_group *group) {
    (void)rank, (void)group;
    kill(getpid(), SIGKILL);
}

static const struct end ends[] = {
    {leave, QUERN_PEER_LOST, "has destroyed its group"},
    {abort_group, QUERN_GROUP_ABORTED, "rank 2 has aborted the group: no more steps"},
    {die, QUERN_PEER_LOST, "has ended"},
};

/* Words that say that the call has failed end all who look at them, those of the library and of the engine. */
static quern_status wait_in_vain(struct rank *rank) {
    struct one_call made, *call = &made;
    open_call_of(rank, call, rank_group_met(rank, RANK_LIMIT));
    const struct end *end = rank->user;
    struct reader reader;
    set_call(call);
    rank_line_up(rank);
    if (rank->rank == 2) {
        await_callers(call->group, 2);
        end->end(rank, call->group);
        return QUERN_OK;
    }
    const double began = rank_now();
    start_reader(&reader, call, rank->rank ? 2 : 0);
    rank_refused(rank, run_call(call), end->status, end->words);
    pthread_join(reader.thread, NULL);
    rank_check(rank, reader.status == end->status && strstr(reader.detail, end->words), "the reader has %s: %s",
               quern_status_string(reader.status), reader.detail);
    check_nothing_came(call, ~(uint32_t)VALUE, "after the end");
    rank_check(rank, words_of(call)[0] == ~(uint32_t)VALUE && words_of(call)[WORDS] == BEFORE, "word 0 is %u", words_of(call)[0]);
    rank_check(rank, rank_now() - began < RANK_SOON, "the end took %g s", rank_now() - began);
    rank_status(rank, quern_chunk_wait(call->group, words_of(call), 1, VALUE, 0, NULL), end->status);
    return quern_group_destroy(call->group);
}

Test(chunks, a_rank_that_ends_ends_the_readers) {
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(ends); i++) {
            if (ends[i].end == die && rank_kinds[kind] == RANK_THREADS) continue;
            check_ranks(.kind = rank_kinds[kind], .count = RANKS, .function = wait_in_vain, .user = &ends[i], .may_die = 1 << 2);
        }
}

/* The limit of rank 0 ends; the others have a long one. */
TEST_RANKS(chunks, a_rank_that_does_not_come, .kind = RANK_BOTH, .count = RANKS) {
    struct one_call made, *call = &made;
    open_call_of(rank, call, rank_group_met(rank, RANK_LIMIT));
    set_call(call);
    rank_line_up(rank);
    if (rank->rank == 2) {
        while (quern_group_status(call->group) == QUERN_OK) rank_sleep(1e-3);
        return quern_group_destroy(call->group);
    }
    if (rank->rank == 0) {
        call->args.timeout = 0.05;
        await_callers(call->group, 1);
    }
    rank_refused(rank, run_call(call), QUERN_PEER_TIMEOUT, "quern_quantize_chunks (entry): rank 0 waited");
    check_nothing_came(call, ~(uint32_t)VALUE, "after the limit");
    return quern_group_destroy(call->group);
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
    {0, -1, 0, VALUE, 0, QUERN_INVALID_SHAPE, "count is -1: expected 0 or more"},
    {0, 131073, 0, VALUE, 0, QUERN_INVALID_SHAPE, "count is 131073: expected at most 131072"},
    {0, INT64_MAX, 0, VALUE, 0, QUERN_INVALID_SHAPE, "count is 9223372036854775807: expected at most"},
    {0, 1, 2, VALUE, 0, QUERN_INVALID_ARGUMENT, "ready is not at a multiple of 4 bytes"},
    {MOST_BYTES / 4 - 1, 2, 0, VALUE, 0, QUERN_INVALID_ARGUMENT, "ready is not symmetric memory of this group: expected 2 words"},
    {0, 1, 0, 0, 0, QUERN_INVALID_ARGUMENT, "value is 0: expected neither 0 nor 4294967295"},
    {0, 1, 0, UINT32_MAX, 0, QUERN_INVALID_ARGUMENT, "value is 4294967295: expected neither 0 nor 4294967295"},
    {0, 1, 0, VALUE, -1, QUERN_INVALID_ARGUMENT, "timeout is -1: expected seconds, 0 or more"},
    {0, 1, 0, VALUE, (double)NAN, QUERN_INVALID_ARGUMENT, "expected seconds, 0 or more"},
    {0, 1, 0, ~(uint32_t)BEFORE, 0, QUERN_PEER_MISMATCH, "ready[0] is ~4294966495: the call that sends this chunk has failed"},
    {3, 9, 0, VALUE, 0.01, QUERN_PEER_TIMEOUT, "for ready[0], which is 800: expected 900"},
};

static void wait_badly(struct rank *rank, const struct one_call *call, const struct bad_wait *bad) {
    const char *at = (const char *)(words_of(call) + bad->word) + bad->odd;
    const quern_status status =
        quern_chunk_wait(call->group, (const uint32_t *)(const void *)at, bad->count, bad->value, bad->timeout, NULL);
    rank_check_status(rank, status, bad->status, bad->words, __LINE__);
    rank_check_detail(rank, bad->words);
}

TEST_RANKS(chunks, waits_that_are_refused, .kind = RANK_BOTH, .count = RANKS) {
    struct one_call made, *call = &made;
    uint32_t own = 3;
    open_call(rank, call);
    set_call(call);
    quern_group *group = call->group;
    for (size_t i = 0; i < COUNT(bad_waits); i++) wait_badly(rank, call, &bad_waits[i]);
    rank_status(rank, quern_chunk_wait(NULL, words_of(call), 1, VALUE, 0, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_chunk_wait(group, NULL, 1, VALUE, 0, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_chunk_wait(group, &own, 1, 3, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "ready is not symmetric memory of this group: expected 1 words");
    rank_status(rank, quern_chunk_wait(group, (uint32_t *)(void *)call->spare, 1, 3, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_refused(rank, quern_chunk_wait(group, words_of(call), 1, BEFORE, 0, rank), QUERN_INVALID_ARGUMENT, "stream is not NULL");
    rank_ok(rank, quern_chunk_wait(group, NULL, 0, VALUE, 0, NULL));
    rank_ok(rank, quern_chunk_wait(group, words_of(call), MOST_BYTES / 4, BEFORE, 0, NULL));
    words_of(call)[7] = ~(uint32_t)VALUE;  /* behind others that have not come */
    rank_refused(rank, quern_chunk_wait(group, words_of(call), 9, VALUE, 0, NULL), QUERN_PEER_MISMATCH, "ready[7] is ~900");
    words_of(call)[7] = BEFORE;
    rank_ok(rank, run_call(call));  /* the group is as before */
    rank_ok(rank, quern_chunk_wait(group, words_of(call), WORDS, VALUE, 0, NULL));
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    rank_status(rank, quern_chunk_wait(group, words_of(call), 1, VALUE, 0, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the group's handle was destroyed before");
    return QUERN_OK;
}

/* A thread waits for words while the rank's own thread allocates and frees: the ranges change beside the look-ups. */
static void *wait_often(void *context) {
    struct reader *reader = context;
    const struct one_call *call = reader->call;
    for (int i = 0; i < 2000 && reader->status == QUERN_OK; i++)
        reader->status = quern_chunk_wait(call->group, words_of(call), 4, BEFORE, RANK_LIMIT, NULL);
    quern_error_detail(reader->detail, sizeof reader->detail);
    return NULL;
}

TEST_CALL(chunks, waits_beside_other_calls, .kind = RANK_BOTH, .count = RANKS) {
    struct reader reader = {.call = call};
    set_call(call);
    rank_check(rank, pthread_create(&reader.thread, NULL, wait_often, &reader) == 0, "no thread");
    for (int i = 0; i < 40; i++) {
        void *memory;
        rank_ok(rank, quern_symmetric_alloc(&call->group, 1, &(size_t){4096}, &memory));
        rank_ok(rank, quern_barrier(call->group, NULL, NULL));
        rank_ok(rank, quern_symmetric_free(call->group, memory, NULL));
    }
    pthread_join(reader.thread, NULL);
    rank_check(rank, reader.status == QUERN_OK, "%s", reader.detail);
}

/* ---- what has no ranks on other devices ---- */

TEST_CALL(chunks, questions, .kind = RANK_PROCESSES, .count = RANKS) {
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    size_t bytes = 1;
    set_call(call);
    quern_group *group = call->group;
    call->args.input = NULL, call->args.output = NULL, call->args.ready = NULL, call->args.amax = NULL;
    rank_ok(rank, quern_quantize_chunks_workspace(group, &call->args, &bytes));
    rank_check(rank, bytes == 0, "%zu bytes of workspace", bytes);
    rank_status(rank, quern_symmetric_view(group, call->symmetric, &view), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over host memory has no view for kernels");
    rank_status(rank, quern_symmetric_view(group, call->symmetric, NULL), QUERN_NULL_POINTER);
    rank_status(rank, quern_symmetric_view(NULL, call->symmetric, &view), QUERN_NULL_POINTER);
    view.size = 0;
    rank_status(rank, quern_symmetric_view(group, call->symmetric, &view), QUERN_INVALID_STRUCT_SIZE);
}

/* ---- a rank that lies, with valid digests ---- */

static const struct lie {
    float amax;
    size_t bytes;            /* of its memory */
    bool other_members, poisons;
    const char *words;
} lies[] = {
    {-1, 2 * MOST_BYTES, false, true, "rank 0 read a damaged record of rank 1"},
    {(float)NAN, 2 * MOST_BYTES, false, true, "rank 0 read a damaged record of rank 1"},
    {1, MOST_BYTES + 8, false, true, "rank 0 finds a buffer of rank 1 beyond the memory that it has mapped of it"},
    {1, 2 * MOST_BYTES, true, false, "args.members differ on ranks 0 and 1: expected the same on all members"},
};

/* Writes the record of the same call, and comes to its entry and, if there is one, its exit. */
static void pretend(struct rank *rank, const struct one_call *call, const struct lie *lie) {
    static struct quern_chunks_call made;
    struct quern_membership *member;
    rank_ok(rank, quern_member_of(call->group, &member));
    struct quern_meeting meeting = {QUERN_IN_QUANTIZE_CHUNKS, QUERN_PHASE_ENTRY, &member->everyone, RANK_LIMIT, NULL};
    made = (struct quern_chunks_call){.member = member, .args = call->args, .places = 2, .place = 1, .set = member->everyone,
                                      .rank_at = {0, 1}};
    quern_symmetric_find(member, call->symmetric, 1, &made.output_place);
    made.ready_place = made.output_place, made.ready_place.offset += MOST_BYTES;
    if (lie->other_members) made.set.words[1] = 1;
    quern_chunks_write_record(&made, lie->amax);
    rank_ok(rank, quern_meet(member, &meeting));
    meeting.phase = QUERN_PHASE_EXIT;
    if (!lie->poisons) rank_ok(rank, quern_meet(member, &meeting));
}

TEST_RANKS(chunks, liars_are_found, .kind = RANK_PROCESSES, .count = 2, RANKS_EACH(lies)) {
    static struct one_call calls[2];
    struct one_call *call = &calls[rank->rank];
    const struct lie *lie = rank->user;
    const size_t bytes = rank->rank ? lie->bytes : 2 * MOST_BYTES;
    void *symmetric;
    *call = (struct one_call){.rank = rank, .group = rank_group(rank, RANK_LIMIT)};
    rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    rank_ok(rank, quern_symmetric_alloc(&call->group, 1, &bytes, &symmetric));
    call->symmetric = symmetric;
    if (bytes == 2 * MOST_BYTES) set_call(call);
    else calls[1].args = (quern_quantize_chunks_args){.input_dtype = QUERN_F32, .output_dtype = QUERN_E4M3, .ready_value = VALUE,
                                                      .rows = ROWS, .columns = COLUMNS, .chunk_rows = CHUNK_ROWS};
    call->args.members = NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        pretend(rank, call, lie);
    } else {
        rank_refused(rank, run_call(call), QUERN_PEER_MISMATCH, lie->words);
        check_nothing_came(call, lie->poisons ? ~(uint32_t)VALUE : BEFORE, lie->words);
    }
    rank_line_up(rank);
    rank_status(rank, quern_barrier(call->group, NULL, NULL), lie->poisons ? QUERN_PEER_MISMATCH : QUERN_OK);
    return quern_group_destroy(call->group);
}

/* ---- a rank that is lost behind the entry ---- */

/* Its chunks will not come; those of the other one have come and stay. */
TEST_CALL(chunks, chunks_that_have_come_stay_after_a_failure, .kind = RANK_PROCESSES, .count = 2) {
    static const struct lie truth = {.amax = 1, .poisons = true};
    set_call(call);
    call->args.members = NULL, call->args.order = NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        pretend(rank, call, &truth);
        return;
    }
    rank_refused(rank, run_call(call), QUERN_PEER_LOST, "quern_quantize_chunks (exit)");
    for (int i = 0; i < 2 * CHUNKS; i++)
        rank_check(rank, words_of(call)[i] == (i < CHUNKS ? VALUE : ~(uint32_t)VALUE), "word %d is %u", i, words_of(call)[i]);
    for (int i = 0; i < ROWS * COLUMNS; i++) rank_check(rank, call->symmetric[i] != UNTOUCHED, "element %d has not come", i);
}
