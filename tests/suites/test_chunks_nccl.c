/*
 * Quantised chunks of GPU ranks of several hosts, over the stand-in for NCCL: the bits of every output, chunks that a second stream
 * copies as soon as they are ready, what is enqueued, and what ends a call.  test_chunks_mistakes.c has what is refused.
 *
 * Runs on: one emulated.
 */
#include "harness/check.h"
#include "harness/chunks_case.h"
#include "harness/cuda.h"
#include "harness/one_chunks.h"
#include "harness/random.h"
#include "ranks/chunks/chunks.h"
#include "ranks/collective/collective.h"
#include "ranks/hosts/hosts.h"
#include "ranks/nccl/nccl.h"

/* ---- random cases ---- */

struct batch {
    uint64_t first;
    int cases;
    struct chunks_choice choice;
};

/* Waits for each chunk on a stream, and copies it to private memory. */
static void follow(const struct chunks_case *c, const struct rank_bench *bench, CUstream stream, uint32_t value) {
    const struct chunks_layout layout = chunks_case_layout(c);
    const unsigned char *symmetric = bench->pool[POOL_SYMMETRIC];
    const uintptr_t private = (uintptr_t)bench->pool[POOL_PRIVATE];
    const uint32_t *ready = (const uint32_t *)(const void *)(symmetric + layout.ready);
    const int64_t words = c->count * c->chunks;
    const int64_t begin = words ? random_below(c->seed, 6000 + (uint64_t)bench->rank->rank, words) : 0;
    for (int64_t i = 0; i < words; i++) {
        const int64_t word = (begin + i) % words, first = word % c->chunks * c->chunk_rows, place = word / c->chunks;
        const int64_t rows = c->rows - first < c->chunk_rows ? c->rows - first : c->chunk_rows;
        const int64_t at = place * c->elements + first * c->columns, block = place * c->blocks + first * c->across;
        rank_ok(bench->rank, quern_chunk_wait(bench->group, ready + word, 1, value, 0, stream));
        if (rows * c->columns > 0)
            cuda_ok(&bench->side, copy_on_device_async(private + (uintptr_t)(layout.copies + at),
                                                       (uintptr_t)symmetric + (uintptr_t)(layout.output + at),
                                                       (size_t)(rows * c->columns), stream));
        if (rows * c->across > 0)
            cuda_ok(&bench->side, copy_on_device_async(private + (uintptr_t)(layout.copied_scales + block),
                                                       (uintptr_t)symmetric + (uintptr_t)(layout.scales + block),
                                                       (size_t)(rows * c->across), stream));
    }
}

/* A wait may be enqueued in front of the call or behind it.  The second call of a case finds the words of the first. */
static void run_case(struct chunks_case *c, struct rank_bench *bench, CUstream second) {
    const bool is_member = chunks_case_place(c, bench->rank->rank) >= 0;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t value = 1 + (uint32_t)random_below(c->seed, 6000, 1 << 30) + i;
        c->is_copied = random_bits(c->seed, 7000 + i) % 2;
        chunks_case_fill(c, bench, value, i == 0);
        chunks_case_expect(c, bench, value);
        rank_bench_line_up(bench);
        if (is_member && c->is_copied && i) follow(c, bench, second, value);
        chunks_case_call(c, bench, value);
        if (is_member && c->is_copied && !i) follow(c, bench, second, value);
        cuda_ok(&bench->side, stream_synchronize(second));
        rank_bench_wait_for_all(bench);
        chunks_case_compare(c, bench);
    }
}

static quern_status run_batch(struct rank *rank) {
    const struct batch *batch = rank->user;
    struct rank_bench bench;
    CUstream second;
    rank_bench_open(&bench, rank, RANK_LIMIT, 1 << 18);
    rank_ok(rank, quern_prepare(bench.side.device, QUERN_COLLECTIVE | QUERN_QUANTIZE));
    cuda_ok(&bench.side, stream_create(&second, CU_STREAM_NON_BLOCKING));
    rank_bench_line_up(&bench);  /* kernels have run */
    for (int i = 0; i < batch->cases; i++) {
        struct chunks_case c;
        struct chunks_choice choice = batch->choice;
        choice.ranks = rank->ranks;
        chunks_case_open(&c, batch->first + (uint64_t)i, choice);
        run_case(&c, &bench, second);
        chunks_case_close(&c);
    }
    cuda_ok(&bench.side, stream_destroy(second));
    rank_bench_close(&bench);
    return QUERN_OK;
}

static void check_batch(enum rank_kind kind, int hosts, int ranks, struct batch batch, const char *settings) {
    check_ranks(.kind = kind, .count = ranks, .hosts = hosts, .function = run_batch, .user = &batch, .nccl = settings);
}

/* Both scalings, all ranks and some, an order of each rank's own, memory aligned as its elements only, short last chunks. */
Test(chunks_nccl, random_cases) {
    static const int shapes[][2] = {{2, 2}, {3, 3}, {2, 4}, {4, 8}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_batch(RANK_BOTH, shapes[i][0], shapes[i][1],
                    (struct batch){.first = 1000 * i, .cases = (int)test_size(120, 12), .choice = {.largest = 2000}}, "");
}

Test(chunks_nccl, delays_of_nccl_change_nothing) {
    check_batch(RANK_PROCESSES, 2, 4, (struct batch){.first = 7000, .cases = 6, .choice = {.largest = 1000}},
                "group:delay=3,run:delay=5@1,linger=50");
}

/* Nothing to cast; more chunks than operations that the library watches at a time. */
Test(chunks_nccl, edges) {
    static const struct chunks_choice edges[] = {
        {.rows = -1, .columns = 100}, {.rows = 10, .columns = -1, .chunk_rows = 3}, {.rows = 1, .columns = 1},
        {.rows = 60, .columns = 33, .chunk_rows = 1}, {.rows = 9, .columns = 100, .chunk_rows = (int64_t)1 << 50},
    };
    static const quern_scaling scalings[] = {QUERN_SCALING_TENSOR, QUERN_SCALING_MX};
    for (size_t i = 0; i < COUNT(edges) * COUNT(scalings); i++) {
        struct batch batch = {.first = 100 * i, .cases = 2, .choice = edges[i / COUNT(scalings)]};
        batch.choice.scaling = scalings[i % COUNT(scalings)];
        check_batch(RANK_PROCESSES, 2, 3, batch, "");
    }
}

/* ---- what is enqueued ---- */

static void begin_call(struct rank_bench *bench, struct one_chunks *one, bool in_blocks) {
    rank_ok(bench->rank, quern_prepare(bench->side.device, QUERN_COLLECTIVE | QUERN_QUANTIZE));
    one_chunks_make(one, bench);
    if (in_blocks) one_chunks_scale_blocks(one);
}

/* The amax, the beginning, and of each chunk its cast and its signal; no amax and no group for it in blocks. */
TEST_BENCH(chunks_nccl, a_chunk_is_one_group_and_two_kernels, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
        struct one_chunks one;
        begin_call(bench, &one, in_blocks);
        rank_bench_line_up(bench);
        const long long launches_before = cuda_launches();
        const long groups_before = nccl_ask("quern_standin_groups");
        rank_ok(rank, one_chunks_call(&one));
        rank_bench_wait_for_all(bench);
        const long long launches = cuda_launches() - launches_before;
        const long groups = nccl_ask("quern_standin_groups") - groups_before;
        rank_check(rank, launches == 2 * CHUNKS + 2 - in_blocks && groups == CHUNKS + 1 - in_blocks,
                   "%lld launches and %ld groups", launches, groups);
        one_chunks_check(&one);
    }
}

/* ---- graphs ---- */

/* Each launch sets the words to 0 first.  One rank that does not capture the call is told. */
TEST_BENCH(chunks_nccl, a_graph_is_launched_twice, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
        struct one_chunks one;
        begin_call(bench, &one, in_blocks);
        rank_bench_line_up(bench);
        nccl_begin_capture(&bench->side);
        cuda_ok(&bench->side, words_set_async((CUdeviceptr)(uintptr_t)one.args.ready, 0, CHUNK_WORDS, bench->side.stream));
        rank_ok(rank, one_chunks_call(&one));
        void *graph = nccl_take_graph(&bench->side);
        const int calls = quern_nccl_count_captured(quern_nccl_rank_of(rank_member_of(rank, bench->group)));
        rank_check(rank, calls == 1, "the graph has %d calls", calls);
        for (int launch = 0; launch < 2; launch++) {
            nccl_launch_graph(&bench->side, graph);
            rank_bench_wait_for_all(bench);
            one_chunks_check(&one);
        }
        nccl_end_graph(&bench->side, graph);
        while (quern_nccl_count_captured(quern_nccl_rank_of(rank_member_of(rank, bench->group)))) sched_yield();
    }
}

TEST_BENCH(chunks_nccl, all_capture_or_none, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    struct one_chunks one;
    begin_call(bench, &one, false);
    if (rank->rank == 1) nccl_begin_capture(&bench->side);
    rank_refused(rank, one_chunks_call(&one), QUERN_PEER_MISMATCH,
                 "the stream is not captured on rank 0 and captured on rank 1: expected the same on all members");
    if (rank->rank == 1) nccl_end_capture(&bench->side);
    rank_bench_line_up(bench);
    rank_ok(rank, one_chunks_call(&one));
    rank_bench_wait_for_all(bench);
    one_chunks_check(&one);
}

/* ---- failures ---- */

/* What ends a call, and what all ranks get. */
static const struct end {
    const char *settings;    /* of the stand-in */
    enum { CALLS, DIES, ABORTS, STAYS_AWAY } rank_1;
    bool in_blocks;
    quern_status status;
    const char *words;
} ends[] = {
    {"run:hang#1", CALLS, false, QUERN_PEER_TIMEOUT, "in an operation of NCCL"},   /* the amaxes */
    {"run:hang#3", CALLS, false, QUERN_PEER_TIMEOUT, "in an operation of NCCL"},   /* chunks */
    {"run:hang@2#2", CALLS, true, QUERN_PEER_TIMEOUT, "in an operation of NCCL"},
    {"run:hang#4", ABORTS, true, QUERN_GROUP_ABORTED, "the test's reason"},
    {"run:hang#2", DIES, false, QUERN_PEER_LOST, "rank 1"},
    {"", STAYS_AWAY, true, QUERN_PEER_TIMEOUT, "quern_quantize_chunks (entry)"},
    {"group:fail=3#3", CALLS, false, QUERN_CUDA_ERROR, "ncclGroupEnd"},
};

/* A chunk whose word says so is whole.  All others that have been begun say that they will not come. */
static void check_words(const struct one_chunks *one, bool has_begun) {
    enum { ELEMENTS = CHUNKS_ROWS * CHUNKS_COLUMNS };
    struct rank *rank = one->bench->rank;
    const unsigned char *output = one->bench->image[POOL_SYMMETRIC];
    for (int word = 0; word < CHUNK_WORDS; word++) {
        const uint32_t has = one_chunks_words(one)[word];
        const int first = word % CHUNKS * CHUNK_ROWS, place = word / CHUNKS;
        const int rows = CHUNKS_ROWS - first < CHUNK_ROWS ? CHUNKS_ROWS - first : CHUNK_ROWS;
        rank_check(rank, has == CHUNKS_VALUE || has == (has_begun ? ~(uint32_t)CHUNKS_VALUE : CHUNKS_BEFORE), "word %d is %u", word,
                   has);
        for (int i = 0; i < rows * CHUNKS_COLUMNS && has == CHUNKS_VALUE; i++)
            rank_check(rank, output[place * ELEMENTS + first * CHUNKS_COLUMNS + i] != CHUNKS_UNTOUCHED, "chunk %d is not whole",
                       word);
    }
}

static quern_status meet_end(struct rank *rank) {
    const struct end *end = rank->user;
    struct rank_bench bench;
    struct one_chunks one;
    const bool waits = end->rank_1 == CALLS || end->rank_1 == STAYS_AWAY;
    const double began = rank_now();
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    begin_call(&bench, &one, end->in_blocks);
    if (waits) one.args.timeout = 1;
    rank_line_up(rank);
    quern_status status = rank->rank == 1 && end->rank_1 == STAYS_AWAY ? QUERN_OK : one_chunks_call(&one);
    const bool has_begun = status == QUERN_OK || (end->rank_1 == CALLS && *end->settings);
    rank_line_up(rank);
    if (rank->rank == 1 && end->rank_1 == DIES) kill(getpid(), SIGKILL);
    if (rank->rank == 1 && end->rank_1 == ABORTS) rank_ok(rank, quern_group_abort(bench.group, "the test's reason"));
    if (status == QUERN_OK) status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, end->status, end->words);
    rank_bench_wait(&bench);
    check_words(&one, has_begun && !(rank->rank == 1 && end->rank_1 == STAYS_AWAY));
    rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    rank_status(rank, one_chunks_call(&one), end->status);
    return rank_bench_destroy(&bench);
}

Test(chunks_nccl, what_ends_a_call_is_told_to_all) {
    for (size_t i = 0; i < COUNT(ends); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .function = meet_end, .user = &ends[i],
                    .nccl = ends[i].settings, .may_die = ends[i].rank_1 == DIES ? 1 << 1 : 0);
}

/* ---- a rank that lies, with valid digests ---- */

#define NO_PART "rank 2 got a message of rank 1 that is none of this call: its parts have 0, 0 and "
static const struct lie {
    uint16_t order[CHUNKS + 1];
    int chunks;              /* of its call; 0: CHUNKS */
    size_t bytes;            /* of a message that is no notice; 0: it is one */
    const char *words;
} lies[] = {
    {{0, 1, 2, 2, 4, 5}, 0, 0, "read a damaged order of rank 1"},              /* a chunk twice */
    {{0, 1, 2, 3, 4, CHUNKS}, 0, 0, "read a damaged order of rank 1"},         /* one that is none */
    {{1023, 1, 2, 3, 4, 5}, 0, 0, "read a damaged order of rank 1"},
    {{4, 3, 2, 1, 0}, CHUNKS - 1, 0, "read a damaged order of rank #"},        /* fewer; this rank misreads the others, too */
    {{1, 2, 3, 4, 5, 6, 0}, CHUNKS + 1, 0, "read a damaged order of rank #"},  /* more */
    {{0}, 0, 8, NO_PART "8 bytes"},
    {{0}, 0, QUERN_EAGER_BYTES, NO_PART "# bytes"},                            /* as long as its place */
};

static bool take_any(void *user, struct quern_channel *channel) {
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){user, channel->in_head.last};
    return true;
}

/* A notice of another size, which only the ranks that get it can notice. */
static quern_status bring_bytes(struct quern_membership *member, const struct quern_meeting *meeting, size_t bytes) {
    static char taken[QUERN_EAGER_BYTES];
    struct quern_channel *channels = member->net->channels;
    struct quern_sendrecv sendrecv;
    quern_sendrecv_open(&sendrecv, member, meeting, meeting->set, channels, member->net->order);
    sendrecv.place = take_any, sendrecv.user = taken;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.last = bytes;
        quern_channel_add(&channels[i], quern_nccl_notice_at(member, member->rank), bytes);
    }
    return quern_net_sendrecv(&sendrecv, meeting);
}

/* Makes the call of the others by its own record and order. */
static quern_status pretend(struct rank *rank, const struct one_chunks *one, const struct lie *lie) {
    struct quern_membership *member = rank_member_of(rank, one->bench->group);
    const struct quern_meeting meeting = {QUERN_IN_QUANTIZE_CHUNKS, QUERN_PHASE_ENTRY, &member->everyone, RANK_LIMIT, NULL};
    uint16_t orders[ONE_RANKS * (CHUNKS + 1)];
    static struct quern_chunks_call call;
    call = (struct quern_chunks_call){.member = member, .args = one->args, .places = ONE_RANKS, .place = 1, .rank_at = {0, 1, 2},
                                      .chunks = lie->chunks ? lie->chunks : CHUNKS, .set = member->everyone, .timeout = RANK_LIMIT};
    memcpy(call.order, lie->order, sizeof lie->order);
    if (!lie->bytes) return quern_nccl_agree_on_chunks(&call, orders);
    char *notice = quern_nccl_notice_at(member, rank->rank);
    const uint32_t packed[] = {0 | 1 << 10 | 2 << 20, 3 | 4 << 10 | 5 << 20};
    quern_chunks_write_record_at(&call, 0, notice);
    memcpy(notice + QUERN_RECORD_BYTES + QUERN_REASON_BYTES, packed, sizeof packed);
    quern_status status = bring_bytes(member, &meeting, lie->bytes);
    return status == QUERN_OK ? quern_meet_members_here(member, meeting, QUERN_PHASE_EXIT) : status;
}

/* Rank 0 reads the notice in the memory of its host, and rank 2 in a message. */
TEST_RANKS(chunks_nccl, liars_are_found, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "", RANKS_EACH(lies)) {
    const struct lie *lie = rank->user;
    struct rank_bench bench;
    struct one_chunks one;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    begin_call(&bench, &one, false);
    rank_line_up(rank);
    quern_status status = rank->rank == 1 ? pretend(rank, &one, lie) : one_chunks_call(&one);
    const bool has_begun = status == QUERN_OK;  /* before rank 2 found what rank 0 cannot see */
    if (has_begun) status = nccl_await_status(&bench.side, RANK_SOON);
    rank_check(rank, !has_begun || (lie->bytes && rank->rank < 2), "the lie was not found");
    rank_refused(rank, status, QUERN_PEER_MISMATCH, lie->words);
    rank_bench_wait(&bench);
    if (!has_begun) one_chunks_check_nothing_came(&one, CHUNKS_BEFORE, lie->words);
    rank_line_up(rank);
    rank_status(rank, quern_barrier(bench.group, NULL, bench.stream), QUERN_PEER_MISMATCH);
    rank_line_up(rank);
    return rank_bench_destroy(&bench);
}

/* ---- words ---- */

/* A word that has the value before would end a wait: this rank ends the group, and the chunks of the others are theirs. */
TEST_RANKS(chunks_nccl, words_that_are_told_before_the_call, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    struct rank_bench bench;
    struct one_chunks one;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    begin_call(&bench, &one, false);
    if (rank->rank == 2) one_chunks_words(&one)[4] = CHUNKS_VALUE;
    rank_line_up(rank);
    quern_status status = one_chunks_call(&one);
    if (status == QUERN_OK) status = nccl_await_status(&bench.side, RANK_SOON);
    rank_refused(rank, status, QUERN_PEER_MISMATCH,
                 "ready[4] of rank 2 is args.ready_value, 900, or its complement before the call");
    return rank_bench_destroy(&bench);
}

/* ---- waits ---- */

TEST_RANKS(chunks_nccl, a_wait_has_a_limit, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    struct rank_bench bench;
    struct one_chunks one;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    begin_call(&bench, &one, false);
    rank_line_up(rank);
    if (rank->rank == 2)
        rank_ok(rank, quern_chunk_wait(bench.group, one.args.ready + 2, 1, CHUNKS_VALUE, 0.1, bench.stream));
    rank_bench_wait(&bench);
    rank_refused(rank, nccl_await_status(&bench.side, RANK_SOON), QUERN_PEER_TIMEOUT, "quern_chunk_wait: rank 2 waited ");
    rank_check_detail(rank, " s on its GPU for ready[0]");
    return rank_bench_destroy(&bench);
}

TEST_RANKS(chunks_nccl, a_wait_sees_that_a_call_has_failed, .kind = RANK_PROCESSES, .count = ONE_RANKS, .hosts = 2, .nccl = "") {
    struct rank_bench bench;
    struct one_chunks one;
    rank_bench_open(&bench, rank, RANK_LIMIT, BENCH_POOL);
    begin_call(&bench, &one, false);
    one_chunks_words(&one)[3] = ~(uint32_t)CHUNKS_VALUE;
    rank_line_up(rank);
    if (rank->rank == 1)
        rank_ok(rank, quern_chunk_wait(bench.group, one.args.ready, 5, CHUNKS_VALUE, RANK_LIMIT, bench.stream));
    rank_bench_wait(&bench);
    rank_refused(rank, nccl_await_status(&bench.side, RANK_SOON), QUERN_PEER_MISMATCH,
                 "quern_chunk_wait: ready[3] says that its call has failed on rank 1");
    return rank_bench_destroy(&bench);
}

TEST_BENCH(chunks_nccl, waits_that_are_refused, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    const uint32_t *words = (const uint32_t *)(const void *)bench->pool[POOL_PRIVATE];
    const uint32_t *odd = (const uint32_t *)(const void *)(bench->pool[POOL_PRIVATE] + 2);
    rank_refused(rank, quern_chunk_wait(bench->group, odd, 1, 3, 0, bench->stream), QUERN_INVALID_ARGUMENT,
                 "ready is not at a multiple of 4 bytes");
    rank_status(rank, quern_chunk_wait(bench->group, NULL, 1, 3, 0, bench->stream), QUERN_NULL_POINTER);
    rank_status(rank, quern_chunk_wait(bench->group, words, 1, 0, 0, bench->stream), QUERN_INVALID_ARGUMENT);
    rank_refused(rank, quern_symmetric_view(bench->group, words, &view), QUERN_NOT_SUPPORTED,
                 "a group over NCCL has no view for kernels");
    rank_ok(rank, quern_chunk_wait(bench->group, NULL, 0, 3, 0, bench->stream));
}
