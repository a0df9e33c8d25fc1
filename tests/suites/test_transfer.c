/*
 * Transfers between CPU ranks of one host: random lists, reuse, sizes, and the arguments.  Between threads, between processes that
 * may read each other's memory, and between those that may not.  test_transfer_ends.c has failures, test_hosts_transfer.c hosts.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/random.h"
#include "harness/transfer_pair.h"
#include "ranks/transfer/transfer.h"

/* ---- the ring below ---- */

static ssize_t ring_put(struct quern_ring_end *end, char *bytes, size_t count) {
    return quern_ring_put(end, &(struct iovec){.iov_base = bytes, .iov_len = count}, 1);
}

static ssize_t ring_get(struct quern_ring_end *end, char *bytes, size_t count) {
    return quern_ring_get(end, &(struct iovec){.iov_base = bytes, .iov_len = count}, 1);
}

/* A ring that is partly read takes as much as was read, before its end and around it; a receiver gets no more than was written. */
Test(transfer, a_ring_takes_what_fits) {
    enum { ROOM = 100 };
    _Alignas(128) static unsigned char memory[sizeof(struct quern_ring) + ROOM];
    char out[3 * ROOM], in[3 * ROOM];
    struct quern_ring_end from = {.ring = (struct quern_ring *)memory, .room = ROOM}, to = from;
    for (int i = 0; i < 3 * ROOM; i++) out[i] = (char)(i + 1);
    check(ring_put(&from, out, 2 * ROOM) == ROOM && ring_put(&from, out, 1) == 0, "an empty ring did not take its room");
    check(ring_get(&to, in, 30) == 30, "30 bytes were not there");
    check(ring_put(&from, out + ROOM, 2 * ROOM) == 30, "30 bytes of room did not take 30 bytes");
    check(ring_get(&to, in + 30, 80) == 80 && ring_put(&from, out + 130, 70) == 70, "80 bytes around the end were not there");
    check(ring_get(&to, in + 110, 2 * ROOM - 10) == 90 && ring_get(&to, in, 1) == 0, "90 bytes were not there");
    check(memcmp(in, out, 2 * ROOM) == 0, "the bytes differ");
}

/* ---- random lists ---- */

Test(transfer, random_lists) {
    for (int ranks = 2; ranks <= 8; ranks += 1 + (ranks > 3))
        check_ranks(.kind = RANK_ALL, .count = ranks, .function = transfer_run_lists, .user = &(int){(int)test_size(4, 2)});
}

static void check_choice(int ranks, struct transfer_choice choice) {
    check_ranks(.kind = RANK_ALL, .count = ranks, .function = transfer_run_one, .user = &choice);
}

#define TEST_CHOICE(suite, name, ranks, ...) \
    Test(suite, name) { check_choice(ranks, (struct transfer_choice){__VA_ARGS__}); }
TEST_CHOICE(transfer, thirty_three_ranks, 33, .lists = 2, .items = 400, .largest = 9000, .rounds = 2)
TEST_CHOICE(transfer, ten_thousand_items, 2, .lists = 1, .items = 10000, .largest = 600, .rounds = 2)
TEST_CHOICE(transfer, one_list_a_thousand_times, 3, .lists = 1, .items = 6, .largest = 9000, .rounds = 1000)

/* Both directions have more than a ring holds, so a rank that only sent would wait for ever. */
TEST_GROUP(transfer, both_directions_move_at_once, .kind = RANK_ALL, .count = 2) {
    struct transfer_pair pair;
    transfer_pair_open(&pair, rank, group, NULL, !rank->rank, 12 << 20);
    transfer_pair_exchange(&pair, 1, 1);
    transfer_pair_close(&pair);
}

/* ---- what overlaps with computation ---- */

/*
 * The sender starts and then makes no call.  The receiver has its data all the same: up to 64 KiB always, any size if it can read
 * the sender's memory.
 */
TEST_GROUP(transfer, moves_while_the_sender_computes, .kind = RANK_ALL, .count = 2) {
    enum { SMALL = 64 << 10, LARGE = 4 << 20 };
    const int64_t sizes[] = {SMALL, rank->is_unreadable ? SMALL : LARGE};
    SCOPED unsigned char *memory = zeroed(LARGE);
    for (int round = 0; round < 2; round++) {
        quern_transfer *transfer = transfer_prepare_one(rank, group, 10 + (uint64_t)round, 5, memory, sizes[round]);
        rank_ok(rank, transfer_run(transfer, NULL, 0));  /* the first time the lists are met */
        memset(memory, rank->rank ? 0 : 77, LARGE);
        rank_line_up(rank);
        if (!rank->rank) rank_ok(rank, quern_transfer_start(transfer, NULL));
        rank_line_up(rank);
        if (rank->rank) {
            rank_ok(rank, transfer_run(transfer, NULL, RANK_LIMIT));
            rank_check(rank, memory[0] == 77 && memory[sizes[round] - 1] == 77, "the data is not there");
        }
        rank_line_up(rank);
        rank_ok(rank, quern_transfer_wait(transfer, 0));
        rank_ok(rank, quern_transfer_destroy(transfer));
    }
}

/* ---- small cases ---- */

/* Windows of two transfers on one base, and of one send in two items. */
TEST_GROUP(transfer, two_windows_on_one_base, .kind = RANK_ALL, .count = 2) {
    enum { BYTES = 9000 };
    unsigned char base[2 * BYTES];
    quern_transfer *transfer[2];
    memset(base, 1 + rank->rank, sizeof base);
    for (uint64_t window = 0; window < 2; window++) {  /* each rank sends the half that the other receives */
        unsigned char *half = base + ((int)window == rank->rank ? 0 : BYTES);
        const int receive = (int)window != rank->rank;
        const quern_transfer_item items[] = {transfer_item(receive, !rank->rank, 1, half, 4000),
                                             transfer_item(receive, !rank->rank, 2, half + 4000, BYTES - 4000)};
        transfer[window] = transfer_prepare(rank, group, window, items, 2);
    }
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_transfer_start(transfer[i ^ rank->rank], NULL));
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_transfer_wait(transfer[i], 0));
    for (size_t i = 0; i < sizeof base; i++)
        rank_check(rank, base[i] == 1 + (i < BYTES ? rank->rank : !rank->rank), "byte %zu is %d", i, base[i]);
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_transfer_destroy(transfer[i]));
}

/*
 * Rank 0 starts the two lists in one order, rank 1 in the other, and both wait for the first before they start the second ...  Keys
 * and tags differ in their upper halves.
 */
TEST_GROUP(transfer, a_batch_in_two_orders, .kind = RANK_ALL, .count = 2) {
    unsigned char memory[2][20000];
    quern_transfer *transfer[2];
    int32_t done;
    memset(memory, 3 + rank->rank, sizeof memory);
    for (uint64_t key = 0; key < 2; key++) {
        const int receives = (int)key ^ rank->rank, peer = !rank->rank;
        const quern_transfer_item items[] = {transfer_item(receives, peer, 9, memory[key], 7000),
                                             transfer_item(receives, peer, ((uint64_t)1 << 32) + 9, memory[key] + 7000, 13000)};
        transfer[key] = transfer_prepare(rank, group, key << 32, items, 2);
    }
    rank_ok(rank, quern_transfer_begin(group));
    rank_refused(rank, quern_transfer_begin(group), QUERN_INVALID_ARGUMENT, "quern_transfer_begin was called before");
    for (int i = 0; i < 2; i++) {
        rank_ok(rank, quern_transfer_start(transfer[i ^ rank->rank], NULL));
        rank_status(rank, quern_transfer_start(transfer[i ^ rank->rank], NULL), QUERN_INVALID_ARGUMENT);
        rank_status(rank, quern_transfer_wait(transfer[i ^ rank->rank], 0), QUERN_INVALID_ARGUMENT);  /* ... it would be: refused */
        rank_check_detail(rank, "is part of an open batch: call quern_transfer_end first");
        rank_status(rank, quern_transfer_test(transfer[i ^ rank->rank], &done), QUERN_INVALID_ARGUMENT);
    }
    rank_ok(rank, quern_transfer_end(group));
    rank_refused(rank, quern_transfer_end(group), QUERN_INVALID_ARGUMENT, "quern_transfer_end without quern_transfer_begin");
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_transfer_wait(transfer[i ^ rank->rank], 0));
    for (int key = 0; key < 2; key++)
        rank_check(rank, memory[key][0] == 3 + key && memory[key][19999] == 3 + key, "list %d: %d", key, memory[key][0]);
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_transfer_destroy(transfer[i]));
}

/* ---- arguments: one rank ---- */

static quern_device *device;
static quern_group *group;

static void open_group(void) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    check_ok(quern_device_open(QUERN_CPU, 0, &device));
    args.ranks = 1, args.device = device, args.timeout = 1;
    check_ok(quern_group_create(&args, 1, &group));
}

static void close_group(void) {
    check_ok(quern_group_destroy(group));
    quern_device_close(device);
}

static quern_status prepare(const quern_transfer_item *items, int64_t count, quern_transfer **transfer) {
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = count);
    return quern_transfer_prepare(group, &args, transfer);
}

#define TEST_ALONE(suite, name) TEST_BETWEEN(open_group(), close_group(), suite, name)

TEST_ALONE(transfer_arguments, bad_lists) {
    static char m[64];
    const int64_t much = ((int64_t)1 << 47) - 32;
    const struct {
        quern_transfer_item items[4];
        int64_t count;
        quern_status status;
        const char *detail;
    } rows[] = {
        {{{0, 0, 1, (void *)(UINTPTR_MAX - 2), 4}}, 1, QUERN_INVALID_ARGUMENT, "reach beyond all memory"},
        {{{0, 0, 1, m, much}, {0, 0, 2, m, 64}}, 2, QUERN_INVALID_SHAPE, "up to 1 have more than 2^47 bytes"},
        {{{0, 0, 1, m, 8}, {1, 0, 1, m + 7, 8}}, 2, QUERN_INVALID_ARGUMENT, "items[0].memory and args.items[1].memory overlap"},
        {{{1, 0, 1, m + 7, 8}, {0, 0, 1, m, 8}}, 2, QUERN_INVALID_ARGUMENT, "items[0].memory and args.items[1].memory overlap"},
        {{{0, 0, 2, m + 48, 4}, {1, 0, 1, m, 32}, {0, 0, 1, m + 8, 4}, {1, 0, 2, m + 31, 4}}, 4, QUERN_INVALID_ARGUMENT, "overlap"},
        {{{1, 0, 1, m, 8}, {0, 0, 1, m + 16, 8}, {0, 0, 2, m + 16, 8}, {1, 0, 2, m + 4, 8}}, 4, QUERN_INVALID_ARGUMENT,
         "items[0].memory and args.items[3].memory overlap"},
        {{{0, 0, 1, m, 32}, {0, 0, 2, m + 4, 4}, {1, 0, 1, m + 16, 4}}, 3, QUERN_INVALID_ARGUMENT,
         "items[0].memory and args.items[2]"},
        {{{0, 0, 1, m, 4}, {1, 0, 1, m + 8, 4}, {0, 0, 1, m + 16, 4}}, 3, QUERN_INVALID_ARGUMENT,
         "items[0] and args.items[2] both send to rank 0 with tag 1"},
        {{{1, 0, 7, m, 4}, {1, 0, 7, m + 8, 4}}, 2, QUERN_INVALID_ARGUMENT, "args.items[1] both receive from rank 0 with tag 7"},
        {{{0, 0, 1, m, 4}}, 1, QUERN_INVALID_ARGUMENT, "sends to this rank, 0, with tag 1: the list has no item that receives it"},
        {{{1, 0, 3, m, 4}}, 1, QUERN_INVALID_ARGUMENT, "from this rank, 0, with tag 3: the list has no item that sends it"},
        {{{0, 0, 1, m, 4}, {1, 0, 1, m + 8, 5}}, 2, QUERN_INVALID_ARGUMENT,
         "args.items[0] and args.items[1] copy within rank 0 with tag 1: they have 4 and 5 bytes"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        quern_transfer *transfer = NULL;
        const quern_status status = prepare(rows[i].items, rows[i].count, &transfer);
        check(status == rows[i].status && !transfer, "row %zu: %s", i, quern_status_string(status));
        check(strstr(error_detail(), rows[i].detail), "row %zu: \"%s\" instead of \"%s\"", i, error_detail(), rows[i].detail);
    }
}

TEST_ALONE(transfer_arguments, copies_within_a_rank) {
    char from[] = "abcdefgh", to[9] = "--------";
    const quern_transfer_item items[] = {transfer_item(1, 0, 2, to + 4, 4), transfer_item(0, 0, 1, from, 4),
                                         transfer_item(0, 0, 2, from, 4), transfer_item(1, 0, 1, to, 4),
                                         transfer_item(0, 0, 5, NULL, 0), transfer_item(1, 0, 5, NULL, 0)};
    quern_transfer *transfer;
    int32_t done = 0;
    check_ok(prepare(items, COUNT(items), &transfer));
    check(strcmp(to, "--------") == 0, "written before the start");
    check_ok(quern_transfer_start(transfer, NULL));
    check_ok(quern_transfer_test(transfer, &done));
    check(done == 1 && strcmp(to, "abcdabcd") == 0, "%d, %s", done, to);
    from[0] = 'x';
    check_ok(transfer_run(transfer, NULL, 0));
    check(strcmp(to, "xbcdxbcd") == 0, "%s", to);
    check_ok(quern_transfer_destroy(transfer));
}

TEST_ALONE(transfer_arguments, empty_lists) {
    for (int with_items = 0; with_items < 2; with_items++) {
        quern_transfer_item item;
        quern_transfer *transfer;
        int32_t done = 0;
        check_ok(prepare(with_items ? &item : NULL, 0, &transfer));
        check_ok(quern_transfer_start(transfer, NULL));
        check_ok(quern_transfer_test(transfer, &done));
        check(done == 1, "not done");
        check_ok(transfer_run(transfer, NULL, 0));
        check_ok(quern_transfer_destroy(transfer));
    }
    check_ok(quern_transfer_begin(group));
    check_ok(quern_transfer_end(group));
}

TEST_ALONE(transfer_arguments, calls_out_of_order) {
    quern_transfer *transfer, *other = NULL;
    int32_t done;
    check_ok(prepare(NULL, 0, &transfer));
    check_refused(prepare(NULL, 0, &other), QUERN_INVALID_ARGUMENT, "args.key is 0: a transfer of this handle has it");
    check_refused(quern_transfer_wait(transfer, 0), QUERN_INVALID_ARGUMENT, "was not started");
    check_refused(quern_transfer_test(transfer, &done), QUERN_INVALID_ARGUMENT, "was not started");
    check_refused(quern_transfer_start(transfer, &done), QUERN_INVALID_ARGUMENT, "stream");
    check_refused(quern_transfer_test(transfer, NULL), QUERN_NULL_POINTER, "done is NULL");
    check_ok(quern_transfer_start(transfer, NULL));
    check_refused(quern_transfer_wait(transfer, NAN), QUERN_INVALID_ARGUMENT, "timeout");
    check_refused(quern_transfer_wait(transfer, -1), QUERN_INVALID_ARGUMENT, "timeout is -1");
    check_refused(quern_group_destroy(group), QUERN_INVALID_ARGUMENT, "has 1 transfers");
    check_ok(quern_group_status(group));
    check_ok(quern_transfer_cancel(transfer, NULL));
    check_refused(quern_transfer_cancel(transfer, "why"), QUERN_INVALID_ARGUMENT, "was cancelled before: rank 0 has cancelled");
    check_refused(quern_transfer_start(transfer, NULL), QUERN_GROUP_ABORTED, "rank 0 has cancelled the transfer");
    check_refused(quern_transfer_wait(transfer, 0), QUERN_GROUP_ABORTED, "rank 0 has cancelled the transfer");
    check_ok(quern_transfer_destroy(transfer));
    check_refused(quern_transfer_destroy(transfer), QUERN_INVALID_ARGUMENT, "the transfer was destroyed before");
    check_refused(quern_transfer_start(transfer, NULL), QUERN_INVALID_ARGUMENT, "the transfer was destroyed before");
    check_refused(quern_transfer_cancel(transfer, NULL), QUERN_INVALID_ARGUMENT, "the transfer was destroyed before");
    check_ok(prepare(NULL, 0, &transfer));
    check_ok(quern_transfer_destroy(transfer));
}

TEST_ALONE(transfer_arguments, a_forked_child) {
    quern_transfer *transfer;
    check_ok(prepare(NULL, 0, &transfer));
    const pid_t child = fork();
    if (child == 0) {
        int32_t done;
        const bool refused = quern_transfer_start(transfer, NULL) == QUERN_INVALID_ARGUMENT && strstr(error_detail(), "child") &&
                             quern_transfer_test(transfer, &done) == QUERN_INVALID_ARGUMENT &&
                             quern_transfer_cancel(transfer, NULL) == QUERN_INVALID_ARGUMENT &&
                             quern_transfer_destroy(transfer) == QUERN_INVALID_ARGUMENT;
        rank_end_process(!refused);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child's status is %d", status);
    check_ok(transfer_run(transfer, NULL, 0));
    check_ok(quern_transfer_destroy(transfer));
}
