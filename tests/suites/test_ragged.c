/*
 * Ragged all-to-all between CPU ranks, threads and processes: which rows arrive where, which bytes stay unchanged, and that a
 * mistake of one rank is reported to all ranks, writes nothing and leaves the group usable.
 *
 * Runs on: cpu; kernels of ragged_all_to_all.
 */
#include "harness/one_exchange.h"
#include "harness/random.h"
#include "os/text.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/ragged/ragged.h"

enum { LARGE_POOL = 16 << 20, WORKSPACE = BENCH_POOL };

/* ---- whom an error names ---- */

/*
 * A rank checks its own metadata and what senders tell it of their slices.  One number is wrong at a time.  Whoever finds it, the
 * text names the sender and the receiver of the slice: of its recv_sizes and of what it is told a rank is the receiver.
 */
Test(ragged, a_fault_of_a_slice_names_its_sender_and_its_receiver) {
    enum { PEERS = 3, UPDATES = 2, ENTRIES = PEERS * UPDATES, OWN_ARRAYS = 4, TOLD = 3, ROWS = 12 };
    for (int fault = 0; fault < OWN_ARRAYS + TOLD; fault++)
        for (int i = 0; i < PEERS * ENTRIES; i++) {
            const int own = i / ENTRIES, entry = i % ENTRIES, peer = entry / UPDATES;
            struct quern_membership member = {.rank = own};
            int64_t numbers[OWN_ARRAYS][ENTRIES];  /* input_offsets, send_sizes, output_offsets, recv_sizes */
            struct quern_ragged_notice inbox[ENTRIES];
            for (int j = 0; j < ENTRIES; j++) {
                for (int array = 0; array < OWN_ARRAYS; array++) numbers[array][j] = array % 2 ? 1 : j;
                inbox[j] = (struct quern_ragged_notice){.output_offset = j, .size = 1};
            }
            if (fault < OWN_ARRAYS) numbers[fault][entry] = -5;
            else if (fault == OWN_ARRAYS) inbox[entry].size = 2;
            else inbox[entry].output_offset = fault == OWN_ARRAYS + 1 ? -5 : ROWS;
            struct quern_ragged_call call = {.member = &member, .places = PEERS, .place = own, .updates = UPDATES,
                .rank_at = {0, 1, 2}, .metadata_is_int64 = true, .input_rows = ROWS, .output_rows = ROWS,
                .input_offsets = numbers[0], .send_sizes = numbers[1], .output_offsets = numbers[2], .recv_sizes = numbers[3]};
            struct quern_slice_report report;
            char text[256], expected[64];
            const bool fine = quern_ragged_check_sends(&call, &report) &&
                              quern_ragged_check_receives(&call, inbox, NULL, &report), receives = fault >= OWN_ARRAYS - 1;
            check(!fine, "fault %d of entry %d on rank %d was not found", fault, entry, own);
            struct quern_text words = quern_text_begin(text, sizeof text);
            quern_describe_slice(&words, &report);
            snprintf(expected, sizeof expected, "sender %d, receiver %d, update %d: ", receives ? peer : own,
                     receives ? own : peer, entry % UPDATES);
            check(!strncmp(text, expected, strlen(expected)), "fault %d of entry %d on rank %d: %s", fault, entry, own, text);
        }
}

/* ---- the kernels ---- */

Test(ragged, every_kernel_copies_any_number_of_bytes_from_anywhere_to_anywhere) {
    enum { ROOM = 3000, GUARD = 200 };
    static unsigned char from[ROOM + 128], to[ROOM + 128 + 2 * GUARD];
    for (int i = 0; i < ROOM + 128; i++) from[i] = (unsigned char)(random_bits(1, (uint64_t)i) | 1);
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_ragged_all_to_all_kernels, row));)
        for (int64_t bytes = 0; bytes <= ROOM; bytes += bytes < 700 ? 1 : 97)
            for (int trial = 0; trial < 8; trial++) {
                const uint64_t place = (uint64_t)(bytes * 8 + trial);
                const int64_t source = random_below(2, place, 64), target = random_below(3, place, 64) + GUARD;
                memset(to, 0, sizeof to);
                row->cpu.ragged_all_to_all((char *)to + target, (const char *)from + source, bytes, trial % 2);
                check(!memcmp(to + target, from + source, (size_t)bytes), "%s: %lld bytes to %lld", row->name, (long long)bytes,
                      (long long)target);
                for (int64_t i = 0; i < (int64_t)sizeof to; i++)
                    check((i >= target && i < target + bytes) || !to[i], "%s: %lld bytes to %lld also wrote %lld", row->name,
                          (long long)bytes, (long long)target, (long long)i);
            }
}

/* ---- the examples of XLA's manual, whose numbers are rows of 4 bytes ---- */

struct example {
    int32_t input[2][4], input_rows, fill;
    int32_t input_offsets[2][2], send_sizes[2][2], output_offsets[2][2], recv_sizes[2][2];
    int32_t expected[2][4];
};

static const struct example examples[] = {
    {.input = {{1, 2, 2}, {3, 4, 0}}, .input_rows = 3, .fill = 0,
     .input_offsets = {{0, 1}, {0, 1}}, .send_sizes = {{1, 2}, {1, 1}}, .output_offsets = {{0, 0}, {1, 2}},
     .recv_sizes = {{1, 1}, {2, 1}}, .expected = {{1, 3, 0, 0}, {2, 2, 4, 0}}},
    {.input = {{0, 1, 2, 3}, {10, 11, 12, 13}}, .input_rows = 4, .fill = -1,
     .input_offsets = {{0, 2}, {0, 2}}, .send_sizes = {{1, 1}, {1, 1}}, .output_offsets = {{0, 0}, {2, 2}},
     .recv_sizes = {{1, 1}, {1, 1}}, .expected = {{0, -1, 10, -1}, {2, -1, 12, -1}}},
};

TEST_BENCH(ragged, worked_examples, .kind = RANK_BOTH, .count = 2) {
    for (size_t i = 0; i < COUNT(examples); i++) {
        const struct example *example = &examples[i];
        int32_t output[4] = {example->fill, example->fill, example->fill, example->fill};
        quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        args.input = example->input[rank->rank], args.input_rows = example->input_rows;
        args.output = output, args.output_rows = 4, args.row_bytes = sizeof(int32_t);
        args.input_offsets = example->input_offsets[rank->rank], args.send_sizes = example->send_sizes[rank->rank];
        args.output_offsets = example->output_offsets[rank->rank], args.recv_sizes = example->recv_sizes[rank->rank];
        rank_ok(rank, quern_ragged_all_to_all(bench->group, &args, bench->workspace, WORKSPACE, NULL));
        for (int row = 0; row < 4; row++)
            rank_check(rank, output[row] == example->expected[rank->rank][row], "example %zu: row %d is %d instead of %d", i, row,
                       output[row], example->expected[rank->rank][row]);
    }
}

/* ---- random cases ---- */

static void check_batch(enum rank_kind kind, int ranks, struct ragged_batch batch) {
    check_ranks(.kind = kind, .count = ranks, .function = ragged_run_batch, .user = &batch);
}

static void check_random_cases(enum rank_kind kind) {
    for (int ranks = 1; ranks <= 8; ranks++)
        check_batch(kind, ranks, (struct ragged_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

Test(ragged, random_cases_of_threads) { check_random_cases(RANK_THREADS); }
Test(ragged, random_cases_of_processes) { check_random_cases(RANK_PROCESSES); }

Test(ragged, random_plans) {
    for (int ranks = 1; ranks <= 5; ranks += 2)
        check_batch(RANK_BOTH, ranks, (struct ragged_batch){.first = 20000 + (uint64_t)ranks * 1000, .is_plan = true,
                                                            .cases = (int)test_size(40, 10), .choice.everyone = true});
}

Test(ragged, many_ranks) {
    const struct ragged_choice small = {.row_bytes = 12, .largest = 8};
    check_batch(RANK_THREADS, 33, (struct ragged_batch){.first = 31000, .cases = 4, .choice = small});
    check_batch(RANK_THREADS, 64, (struct ragged_batch){.first = 32000, .cases = 3, .choice = small});
    check_batch(RANK_PROCESSES, 33, (struct ragged_batch){.first = 33000, .cases = 3, .choice = small});
}

Test(ragged, nothing_to_send) {
    check_batch(RANK_BOTH, 3, (struct ragged_batch){.first = 34000, .cases = 5, .choice.updates = -1});
}

/*
 * Large enough for the paths that only large exchanges take: streams of several windows, non-temporal stores, tasks that end
 * inside slices.  All combinations of buffers.
 */
Test(ragged, large_slices) {
    const struct ragged_choice choices[] = {
        {.is_private = true, .not_in_place = true}, {.is_symmetric = true, .not_in_place = true},
        {.is_private = true, .in_place = true},     {.is_symmetric = true, .in_place = true},
        {.is_private = false},  /* a mixture */
    };
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(choices); i++)
            for (int threads = 1; threads <= 4; threads += 3) {
                struct ragged_batch batch = {.choice = choices[i], .threads = threads, .pool_bytes = LARGE_POOL};
                batch.choice.row_bytes = 31, batch.choice.everyone = true, batch.choice.updates = 1;
                if (test_is_small() && (i + kind) % 2 != (threads > 1)) continue;  /* each choice once with each kind */
                batch.choice.largest = 60000, batch.cases = (int)test_size(3, 1), batch.first = 35000 + 10 * i;
                check_batch(rank_kinds[kind], 2, batch);
                batch.choice.largest = 30000, batch.cases = 1, batch.first = 36000 + 10 * i;
                check_batch(rank_kinds[kind], 6, batch);
                batch.is_plan = true;
                check_batch(rank_kinds[kind], 3, batch);
            }
}

/* Threads divide the bytes at any position in slices: here every other cut is in the last line of a slice, or next to it. */
Test(ragged, many_small_slices) {
    struct ragged_batch batch = {.first = 42000, .cases = 4, .threads = 3, .pool_bytes = LARGE_POOL,
                          .choice = {.everyone = true, .updates = 3000, .row_bytes = 7, .largest = 40}};
    check_batch(RANK_BOTH, 4, batch);
    batch.is_plan = true;
    check_batch(RANK_BOTH, 4, batch);
}

/* ---- synchronisation: when a rank may write a buffer ---- */

enum { WIDE_ROWS = 32, WIDE_ROW_BYTES = 65536 };

/* Rank 0 sends nothing and receives 2 MiB; it only waits. */
TEST_BENCH_FOR(ragged, output_is_complete_on_return_and_input_may_change, for (int symmetric = 0; symmetric < 2; symmetric++),
              .kind = RANK_BOTH, .count = 2, .user = &symmetric) {
    const int64_t zero[2] = {0, 0}, rows[2] = {WIDE_ROWS, 0};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    unsigned char *data = *(const int *)rank->user ? bench->pool[POOL_SYMMETRIC] : bench->pool[POOL_PRIVATE];
    args.metadata_dtype = QUERN_INT64, args.row_bytes = WIDE_ROW_BYTES;
    args.input_offsets = args.output_offsets = zero;
    args.send_sizes = rank->rank == 1 ? rows : zero;
    args.recv_sizes = rank->rank == 0 ? (const int64_t[]){0, WIDE_ROWS} : zero;
    *(rank->rank ? (unsigned char **)&args.input : (unsigned char **)&args.output) = data;
    *(rank->rank ? &args.input_rows : &args.output_rows) = WIDE_ROWS;
    for (int round = 1; round <= 20; round++) {
        memset(data, rank->rank ? round : 0, WIDE_ROWS * WIDE_ROW_BYTES);
        rank_ok(rank, quern_ragged_all_to_all(bench->group, &args, bench->workspace, WORKSPACE, NULL));
        for (int64_t i = 0; rank->rank == 0 && i < WIDE_ROWS * WIDE_ROW_BYTES; i++)
            rank_check(rank, data[i] == round, "round %d: byte %lld is %d on return", round, (long long)i, data[i]);
    }
}

/* One rank arrives late, and uses its output until then. */
TEST_BENCH(ragged, output_belongs_to_its_rank_until_that_comes, .kind = RANK_BOTH, .count = 3) {
    struct ragged_case c;
    struct ragged_arguments arguments CLOSED_BY(ragged_arguments_close);
    ragged_case_open(&c, 38000, (struct ragged_choice){.ranks = rank->ranks, .everyone = true, .updates = 2, .row_bytes = 16,
                                                       .is_symmetric = true, .not_in_place = true});
    ragged_arguments_open(&arguments, &c, bench, rank->rank);
    for (int round = 0; round < 4; round++) {
        ragged_case_fill(&c, bench, (uint64_t)round);
        ragged_case_expect(&c, bench, (uint64_t)round);
        if (rank->rank == round % rank->ranks) {
            const struct ragged_buffer *output = &c.members[rank->rank].output;
            unsigned char before[4096], *data = bench->pool[output->pool] + output->offset;
            const size_t bytes = (size_t)(output->rows * c.row_bytes);
            rank_check(rank, bytes <= sizeof before, "%zu bytes", bytes);
            memcpy(before, data, bytes);
            rank_sleep(0.1);
            rank_check(rank, !memcmp(before, data, bytes), "the output was written before the rank came");
        }
        rank_ok(rank, quern_ragged_all_to_all(bench->group, &arguments.args, bench->workspace, WORKSPACE, NULL));
        ragged_case_compare(&c, bench, "one rank late");
    }
}

/* ---- the ways of a call: each call is short or long, as its slices are, and every rank must find the same way ---- */

enum { WAY_RANKS = 4, WAY_BYTES = 4096, WAY_CALLS = 3000 };

/* The bytes of the slice from one rank to another in a call: few, or so many that they do not travel with the metadata. */
static int32_t way_bytes(int64_t call, int from, int to) {
    const uint64_t bits = random_bits(90, (uint64_t)(call * WAY_RANKS + from) * WAY_RANKS + (uint64_t)to);
    const uint64_t style = random_bits(91, (uint64_t)call) % 4;  /* all small, all of any size, one sender of large ones */
    return (int32_t)(style == 0 || (style == 1 && from) ? bits % 100 : style == 2 ? bits % 2 * 1000 : bits % WAY_BYTES);
}

static unsigned char way_value(int64_t call, int from, int to) { return (unsigned char)(1 + (call * 16 + from * 4 + to) % 250); }

/* Some ranks have a private output, or check overlaps: they do not offer the same ways as the others. */
TEST_BENCH_FOR(ragged, ways_change_from_call_to_call, for (int ranks = 2; ranks <= WAY_RANKS; ranks++), .kind = RANK_BOTH,
              .count = ranks) {
    const int ranks = rank->ranks, me = rank->rank;
    SCOPED unsigned char *input = zeroed(WAY_RANKS * WAY_BYTES), *private_output = zeroed(WAY_RANKS * WAY_BYTES);
    void *shared_output = rank_allocate(rank, bench->group, WAY_RANKS * WAY_BYTES);
    for (int64_t call = 0; call < WAY_CALLS; call++) {
        int32_t from_at[WAY_RANKS], to_at[WAY_RANKS], sends[WAY_RANKS], receives[WAY_RANKS];
        const uint64_t odd = random_bits(92, (uint64_t)call);
        unsigned char *output = odd % 5 == 0 && (odd >> 8) % (uint64_t)ranks == (uint64_t)me ? private_output : shared_output;
        for (int peer = 0; peer < ranks; peer++) {
            from_at[peer] = peer * WAY_BYTES, to_at[peer] = me * WAY_BYTES;
            sends[peer] = way_bytes(call, me, peer), receives[peer] = way_bytes(call, peer, me);
            memset(input + peer * WAY_BYTES, way_value(call, me, peer), (size_t)sends[peer]);
        }
        memset(output, 0, (size_t)ranks * WAY_BYTES);
        quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.input = input, .output = output, .row_bytes = 1);
        args.input_rows = args.output_rows = ranks * WAY_BYTES;
        args.input_offsets = from_at, args.output_offsets = to_at, args.send_sizes = sends, args.recv_sizes = receives;
        args.check_overlap = odd % 7 == 0 && (odd >> 16) % 2 == (uint64_t)me % 2;
        rank_ok(rank, quern_ragged_all_to_all(bench->group, &args, bench->workspace, WORKSPACE, NULL));
        memset(input, 0, (size_t)ranks * WAY_BYTES);  /* it may change */
        for (int peer = 0; peer < ranks; peer++)
            for (int i = 0; i < WAY_BYTES; i++) {
                const unsigned char value = i < receives[peer] ? way_value(call, peer, me) : 0, is = output[peer * WAY_BYTES + i];
                rank_check(rank, is == value, "call %lld: byte %d from rank %d is %d, not %d", (long long)call, i, peer, is, value);
            }
    }
}

/* ---- ranks that lie, with valid digests ---- */

enum { LIARS = 2, LIE_ROW = 16, HONEST = LIARS };

/* Two ranks support each other's lies about a slice between them, or about the end of an output. */
static const struct lie {
    const char *label;
    int32_t offer, size;
    int64_t output_rows;
    size_t offset;  /* of the output */
} lies[] = {
    {"a slice behind the message", QUERN_RAGGED_SMALL, INT32_MAX, INT32_MAX, 0},
    {"a slice in front of the message", QUERN_RAGGED_SMALL, INT32_MIN, INT32_MAX, 0},
    {"an output whose bytes overflow", QUERN_RAGGED_DIRECT, 1, INT64_C(1) << 60, BENCH_POOL},
};

static const struct lie *told;

/* Writes an eager message of which only the lie is wrong, and enters the meeting with it. */
static quern_status lie(struct rank *rank, struct rank_bench *bench, const quern_ragged_all_to_all_args *args) {
    struct quern_membership *member = rank_member_of(rank, bench->group);
    struct quern_ragged_eager eager = {.offer = told->offer, .updates = 1, .row_bytes = args->row_bytes,
                                       .output_rows = told->output_rows, .live = quern_symmetric_live(member)};
    for (int liar = 0; liar < LIARS; liar++)
        if (liar != rank->rank) eager.entry[liar].size = eager.entry[liar].expected = told->size;
    eager.entry[HONEST] = (struct quern_ragged_eager_entry){rank->rank, 1, 1};
    const size_t bytes = offsetof(struct quern_ragged_eager, entry) + sizeof eager.entry[0] * (LIARS + 1);
    quern_write_digest(&eager, bytes);
    unsigned char *there = quern_shared_eager(member->roster, rank->rank, member->all_count + 1);
    memcpy(there, &eager, bytes);
    struct quern_symmetric_location place;
    rank_check(rank, quern_symmetric_find(member, args->output, LIE_ROW, &place) == QUERN_MEMORY_SYMMETRIC, "not symmetric");
    struct quern_ragged_eager_output output = {.id = place.id, .offset = (int64_t)told->offset};
    quern_write_digest(&output, sizeof output);
    memcpy(there + (bytes + 7) / 8 * 8, &output, sizeof output);
    return quern_meet(member, &(struct quern_meeting){.operation = QUERN_IN_RAGGED_ALL_TO_ALL, .phase = QUERN_PHASE_ENTRY,
                                                      .set = &member->everyone, .timeout = 2});
}

/* The honest rank sends a row to each liar, far behind the start of its output, and receives one. */
TEST_BENCH_FOR(ragged, ranks_that_lie_are_not_believed, for (told = lies; told < lies + COUNT(lies); told++),
               .kind = RANK_PROCESSES, .count = LIARS + 1) {
    unsigned char input[LIE_ROW] = {1};
    const int32_t from[LIARS + 1] = {0}, to[LIARS + 1] = {INT32_MAX - 2, INT32_MAX - 2}, sizes[LIARS + 1] = {1, 1};
    quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.timeout = 2, .input = input, .output = bench->pool[POOL_SYMMETRIC],
                                                               .row_bytes = LIE_ROW, .input_rows = 1, .output_rows = LIARS,
                                                               .input_offsets = from, .output_offsets = to, .send_sizes = sizes,
                                                               .recv_sizes = sizes);
    if (rank->rank < LIARS) {
        lie(rank, bench, &args);
    } else {
        const quern_status status = quern_ragged_all_to_all(bench->group, &args, bench->workspace, WORKSPACE, NULL);
        rank_check(rank, status != QUERN_OK, "%s: believed", told->label);
    }
}

/* ---- overlaps ---- */

/* Overlaps among many slices: a check of neighbours alone would miss some. */
TEST_BENCH(ragged, overlaps_are_found_among_many_slices, .kind = RANK_THREADS, .count = 4) {
    for (uint64_t seed = 40000; seed < 40040; seed++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        struct ragged_arguments arguments CLOSED_BY(ragged_arguments_close);
        ragged_case_open(&c, seed, (struct ragged_choice){.ranks = rank->ranks, .everyone = true, .updates = 5, .row_bytes = 4});
        /* Moves one slice of rank 0 onto another receive slice of rank 1. */
        const int64_t moved = c.updates + random_below(seed, 1, c.updates), onto = random_below(seed, 2, rank->ranks * c.updates);
        const struct ragged_case_member *other = &c.members[onto / c.updates];
        const int64_t other_entry = c.updates + onto % c.updates;
        const int64_t row = other->output_offsets[other_entry] + other->send_sizes[other_entry] - 1;
        const bool overlaps = onto != moved - c.updates && other->send_sizes[other_entry] && c.members[0].send_sizes[moved] &&
                              row + c.members[0].send_sizes[moved] <= c.members[1].output.rows;
        if (overlaps) c.members[0].output_offsets[moved] = row;
        c.check_overlap = true;
        ragged_arguments_open(&arguments, &c, bench, rank->rank);
        rank_status(rank, quern_ragged_all_to_all(bench->group, &arguments.args, bench->workspace, WORKSPACE, NULL),
                    overlaps ? QUERN_INVALID_SHAPE : QUERN_OK);
        if (overlaps) rank_check_detail(rank, "is also written by sender");
    }
}

/* ---- arguments; test_ragged_mistakes.c has what one rank refuses, in each way between the ranks ---- */

/* Each slice is the whole input, as large as an input may be; no call gets as far as reading it. */
TEST_GROUP(ragged, sums_of_slices_have_64_bits, .kind = rank_kinds[0], .count = 1) {
    enum { SLICES = 1 << 15 };
    const int64_t most = (int64_t)1 << 47;
    int64_t *sizes = calloc(2 * SLICES, sizeof *sizes), *offsets = sizes + SLICES;
    for (int slice = 0; slice < SLICES; slice++) sizes[slice] = most;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.metadata_dtype = QUERN_INT64, args.row_bytes = 1, args.updates = SLICES;
    args.input = (const void *)((uintptr_t)1 << 60), args.output = (void *)((uintptr_t)1 << 61);
    args.input_rows = args.output_rows = most;
    args.input_offsets = args.output_offsets = offsets, args.send_sizes = args.recv_sizes = sizes;
    size_t bytes;
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, &args, &bytes));
    void *workspace = rank_allocate(rank, group, bytes);
    rank_refused(rank, quern_ragged_all_to_all(group, &args, workspace, bytes, NULL), QUERN_INVALID_SHAPE,
                 "more than 2^63 bytes together");
    free(sizes);
}

TEST_GROUP(ragged, a_device_that_is_not_prepared, .kind = RANK_THREADS, .count = MEMBERS) {
    static unsigned char memory[MEMBERS][8192];
    struct one_exchange call;
    struct rank_bench bench = {.rank = rank, .group = group, .count = 1, .pool[POOL_PRIVATE] = memory[rank->rank],
                               .image[POOL_PRIVATE] = memory[rank->rank]};
    if (rank->rank != 1) rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){WORKSPACE}, &bench.workspace));
    exchange_make(&call, &bench);
    rank_check_refusal(rank, 1, QUERN_NOT_PREPARED, "ragged_all_to_all is not prepared", exchange_run(&call));
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, exchange_run(&call));
    exchange_check(&call);
}

/* ---- workspaces ---- */

/* Ranks may place their workspaces at different offsets of different allocations. */
TEST_BENCH(ragged, workspaces_in_different_places, .kind = RANK_BOTH, .count = MEMBERS) {
    struct one_exchange call;
    void *other = rank_allocate(rank, bench->group, WORKSPACE + 4096 * (size_t)rank->rank);
    if (rank->rank != 1) bench->workspace = (char *)other + 16 * rank->rank;
    exchange_rightly(&call, bench);
}

/* A rank has freed its own part of the allocation that holds the others' workspaces or outputs. */
TEST_BENCH(ragged, peers_memory_out_of_sight, .kind = RANK_PROCESSES, .count = MEMBERS) {
    struct one_exchange call;
    void *lost = rank_allocate(rank, bench->group, WORKSPACE);
    if (rank->rank == 1) rank_ok(rank, quern_symmetric_free(bench->group, lost, NULL));
    exchange_make(&call, bench);
    if (rank->rank != 1) call.workspace = lost;
    call.args.check_overlap = 0;  /* short, if they could reach each other */
    rank_check_refusal(rank, 1, QUERN_INVALID_ARGUMENT, "the workspace of rank 0 is in symmetric memory that rank 1 has freed",
                       exchange_run(&call));
    exchange_make(&call, bench);
    if (rank->rank != 1) call.args.output = lost;
    rank_check_refusal(rank, 1, QUERN_INVALID_ARGUMENT, "the output of rank 2 is in symmetric memory that rank 1 has freed",
                       exchange_run(&call));
    exchange_rightly(&call, bench);
}

/* The returned size is enough, and one byte less is refused: also for a single rank and for an empty exchange. */
TEST_BENCH_FOR(ragged, nothing_needs_no_workspace, for (int ranks = 1; ranks <= 3; ranks += 2),
              .kind = ranks > 1 ? RANK_THREADS : RANK_PROCESSES, .count = ranks) {
    struct ragged_case c;
    struct ragged_arguments arguments;
    ragged_case_open(&c, 41000, (struct ragged_choice){.ranks = rank->ranks, .everyone = true, .updates = -1});
    ragged_arguments_open(&arguments, &c, bench, rank->rank);
    arguments.args.updates = 0, arguments.args.input_rows = 0;
    size_t bytes = 1;
    rank_ok(rank, quern_ragged_all_to_all_workspace(bench->group, &arguments.args, &bytes));
    rank_check(rank, bytes == 0, "%zu bytes of workspace for nothing", bytes);
    rank_ok(rank, quern_ragged_all_to_all(bench->group, &arguments.args, NULL, 0, NULL));
}

/* A rank that sends to itself alone needs no room to pass its input to other processes, however long the input is. */
TEST_GROUP(ragged, a_rank_that_sends_to_itself, .kind = RANK_PROCESSES, .count = 2) {
    enum { ROWS = 3 << 19 };
    const int both[] = {0, 1}, offset[2] = {0}, size[2] = {ROWS, 0};
    size_t together, alone, room = 1 << 16;
    void *workspace;
    SCOPED unsigned char *input = zeroed(ROWS), *output = zeroed(ROWS);
    for (int i = 0; i < ROWS; i++) input[i] = (unsigned char)random_bits(6, (uint64_t)i);
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.members = both, args.member_count = 2, args.row_bytes = args.updates = 1;
    args.input = input, args.output = output, args.input_rows = args.output_rows = ROWS;
    args.input_offsets = args.output_offsets = offset, args.send_sizes = args.recv_sizes = size;
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, &args, &together));
    args.members = &rank->rank, args.member_count = 1;
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, &args, &alone));
    rank_check(rank, together > 1 << 19 && alone <= room, "%zu bytes for two ranks, %zu for one", together, alone);
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &room, &workspace));
    rank_ok(rank, quern_ragged_all_to_all(group, &args, workspace, alone, NULL));
    rank_check(rank, !memcmp(input, output, ROWS), "other rows arrived");
    rank_ok(rank, quern_symmetric_free(group, workspace, NULL));
}

/* A multiple of 64, as the parts of a workspace are. */
static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/*
 * The notices have an entry for each slice.  In place the whole input is staged, and a private input passes to other processes
 * through two windows: of half a MiB for each of up to eight threads, or as much as each peer may get.
 */
static int64_t expected_workspace(const quern_ragged_all_to_all_args *args, int places, int threads, bool in_place, bool has_ring) {
    enum { NOTICE = 24 };
    const int64_t entries = places * args->updates, input = args->input_rows * args->row_bytes;
    const int64_t most = (int64_t)(threads < 8 ? threads : 8) << 19, needed = padded(input * (places - 1));
    const int64_t window = places == 1 ? 0 : needed < most ? needed : most;
    return padded(NOTICE * entries) + (in_place ? input : has_ring ? 2 * window : 0);
}

static void check_workspace(struct rank *rank, quern_group *group, quern_ragged_all_to_all_args *args, int threads,
                            bool is_private) {
    static const int pair[] = {0, 1, 2};
    static char output;
    for (int count = rank->rank < 2 ? 1 : 3; count <= 3; count++) {
        size_t bytes = 1;
        args->members = count == 1 ? &pair[rank->rank] : pair, args->member_count = count;
        for (int in_place = 0; in_place < 2; in_place++) {
            args->output = in_place ? (void *)(uintptr_t)args->input : &output, args->output_rows = in_place;
            const bool overlaps = in_place && args->input_rows && args->row_bytes;
            const int64_t expected = expected_workspace(args, count, threads, overlaps, is_private && rank->kind == RANK_PROCESSES);
            rank_ok(rank, quern_ragged_all_to_all_workspace(group, args, &bytes));
            rank_check(rank, (int64_t)bytes == expected, "%d threads, %d members, %lld updates, %lld rows of %lld bytes, %s%s: %zu "
                       "bytes instead of %lld", threads, count, (long long)args->updates, (long long)args->input_rows,
                       (long long)args->row_bytes, in_place ? "in place" : "apart", is_private ? "" : ", symmetric", bytes,
                       (long long)expected);
        }
    }
}

/* Around each size at which a window has reached its limit. */
TEST_GROUP(ragged, workspaces_have_room_for_notices_and_windows, .kind = RANK_BOTH, .count = MEMBERS) {
    static const int crews[] = {1, 2, 3, 7, 8, 9, 64};
    static const int64_t updates[] = {0, 1, 2, 3, 8, 1000};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    void *symmetric, *private = malloc(5 << 20);
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){5 << 20}, &symmetric));
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    for (size_t crew = 0; crew < COUNT(crews); crew++) {
        const int64_t window = (int64_t)(crews[crew] < 8 ? crews[crew] : 8) << 19;
        const int64_t sizes[] = {0, 1, 31, 32, 33, window / 2 - 32, window / 2 - 31, window / 2, window / 2 + 1, window - 64,
                                 window - 1, window, window + 1, 5 << 20};
        rank_ok(rank, quern_set_threads(rank->device, crews[crew], NULL, NULL));
        for (size_t i = 0; i < COUNT(sizes); i++)
            for (size_t j = 0; j < COUNT(updates); j++)
                for (int is_private = 0; is_private < 2; is_private++) {
                    args.input = is_private ? private : symmetric, args.updates = updates[j];
                    args.row_bytes = sizes[i] % 2 || i % 2 ? 1 : 2, args.input_rows = sizes[i] / args.row_bytes;
                    check_workspace(rank, group, &args, crews[crew], is_private);
                }
    }
    free(private);
}

/* ---- plans ---- */

TEST_RANKS(ragged, life_of_plans, .kind = RANK_BOTH, .count = MEMBERS) {
    struct rank_bench bench;
    struct one_exchange call;
    quern_ragged_plan *plan = NULL, *second = NULL;
    rank_bench_begin(rank, &bench);
    exchange_make(&call, &bench);
    rank_ok(rank, exchange_plan(&call, &plan));
    rank_ok(rank, exchange_plan(&call, &second));
    for (int run = 0; run < 3; run++) {
        memset(call.output, 0, EXCHANGED);
        rank_ok(rank, quern_ragged_plan_run(run % 2 ? second : plan, NULL));
        exchange_check(&call);
        memset(call.output, 0, EXCHANGED);
        rank_ok(rank, exchange_run(&call));
        exchange_check(&call);
    }
    rank_check_refusal(rank, 2, QUERN_INVALID_ARGUMENT, "stream is not NULL",
                       quern_ragged_plan_run(plan, rank->rank == 2 ? rank : NULL));
    rank_ok(rank, quern_ragged_plan_run(plan, NULL));
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    rank_refused(rank, quern_ragged_plan_destroy(plan), QUERN_INVALID_ARGUMENT, "the plan was destroyed before");
    rank_status(rank, quern_ragged_plan_run(plan, NULL), QUERN_INVALID_ARGUMENT);
    rank_ok(rank, quern_ragged_plan_destroy(NULL));
    rank_status(rank, quern_ragged_plan_run(NULL, NULL), QUERN_NULL_POINTER);
    rank_bench_close(&bench);
    rank_refused(rank, quern_ragged_plan_run(second, NULL), QUERN_INVALID_ARGUMENT, "destroyed before");
    rank_refused(rank, exchange_run(&call), QUERN_INVALID_ARGUMENT, "destroyed before");
    return quern_ragged_plan_destroy(second);
}

/* One rank frees the memory that a plan uses. */
TEST_BENCH(ragged, memory_freed_under_a_plan, .kind = RANK_BOTH, .count = MEMBERS) {
    static const char *const words[] = {"the plan's workspace is in", "the plan's input is in", "the plan's output is in"};
    struct one_exchange call;
    for (int i = 0; i < 3; i++) {
        quern_ragged_plan *plan;
        void *memory = rank_allocate(rank, bench->group, WORKSPACE);
        exchange_make(&call, bench);
        if (i == 0) call.workspace = memory;
        if (i == 1) call.args.input = memory;
        if (i == 2) call.args.output = memory;
        rank_ok(rank, exchange_plan(&call, &plan));
        rank_ok(rank, quern_ragged_plan_run(plan, NULL));
        if (rank->rank == 1) rank_ok(rank, quern_symmetric_free(bench->group, memory, NULL));
        rank_check_refusal(rank, 1, QUERN_INVALID_ARGUMENT, words[i], quern_ragged_plan_run(plan, NULL));
        rank_ok(rank, quern_ragged_plan_destroy(plan));
        if (rank->rank != 1) rank_ok(rank, quern_symmetric_free(bench->group, memory, NULL));
    }
    exchange_rightly(&call, bench);
}

/* The same range, registered anew, is other memory: the plan keeps the addresses at which it has found the peers' parts. */
TEST_BENCH(ragged, memory_registered_again_under_a_plan, .kind = RANK_THREADS, .count = MEMBERS) {
    struct one_exchange call;
    quern_ragged_plan *plan;
    SCOPED void *memory = calloc(1, WORKSPACE);
    const size_t bytes = WORKSPACE;
    rank_ok(rank, quern_symmetric_register(&bench->group, 1, &memory, &bytes));
    exchange_make(&call, bench);
    call.args.output = memory;
    rank_ok(rank, exchange_plan(&call, &plan));
    rank_ok(rank, quern_ragged_plan_run(plan, NULL));
    rank_ok(rank, quern_symmetric_unregister(bench->group, memory, NULL));
    rank_ok(rank, quern_symmetric_register(&bench->group, 1, &memory, &bytes));
    rank_status(rank, quern_ragged_plan_run(plan, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the plan's output is in symmetric memory that was freed");
    rank_ok(rank, quern_ragged_plan_destroy(plan));
}

/* Plans of parts of the group, created by all ranks at once: ranks 0 and 2, and rank 1 alone. */
TEST_BENCH(ragged, plans_of_parts_of_a_group, .kind = RANK_BOTH, .count = MEMBERS) {
    static const int pair[] = {0, 2}, single[] = {1}, everyone[] = {0, 1, 2};
    struct one_exchange call;
    quern_ragged_plan *plan = NULL;
    exchange_make(&call, bench);
    call.args.members = rank->rank == 1 ? single : pair, call.args.member_count = rank->rank == 1 ? 1 : 2;
    rank_ok(rank, exchange_plan(&call, &plan));
    if (rank->rank != 1) rank_ok(rank, quern_ragged_plan_run(plan, NULL));  /* without rank 1 */
    if (rank->rank == 0) rank_check(rank, call.output[UPDATES * SLICE * ROW_BYTES] == 0xEE && call.output[0] == 0 &&
                                    call.output[2 * UPDATES * SLICE * ROW_BYTES] == 200, "the pair's plan went wrong");
    rank_ok(rank, quern_ragged_plan_destroy(plan));

    /* They disagree about the members. */
    plan = NULL;
    call.args.members = rank->rank == 1 ? everyone : pair, call.args.member_count = rank->rank == 1 ? 3 : 2;
    rank_refused(rank, exchange_plan(&call, &plan),
                 QUERN_PEER_MISMATCH, "args.members differ on ranks 0 and 1: expected the same on all members");

    /* An error of the pair is reported to the third rank too. */
    call.args.members = rank->rank == 1 ? single : pair, call.args.member_count = rank->rank == 1 ? 1 : 2;
    if (rank->rank == 2) call.send_sizes[1] = -7;
    rank_refused(rank, exchange_plan(&call, &plan), QUERN_INVALID_SHAPE, "sender 2, receiver 0, update 1: send_sizes is -7");
    rank_check(rank, !plan, "a plan was made");
}
