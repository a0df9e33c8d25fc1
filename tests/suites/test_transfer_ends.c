/*
 * How transfers fail: lists that differ, ranks that never come, cancel or destroy, at any time; and ranks that end.  Both ends hear
 * of it in time with the reason, and the group and the key stay usable.  On one host and on two.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/random.h"
#include "harness/transfer_pair.h"
#include "ranks/transfer/transfer.h"

/*
 * On one host, unless the environment asks for another way between hosts, and on two.  The group works after the test, also for a
 * transfer of the same key.
 */
static void check_ways(struct ranks ranks) {
    const bool is_asked = getenv("QUERN_TEST_CARRIER") || getenv("QUERN_TEST_WAYS");
    for (ranks.hosts = is_asked ? 2 : 0; ranks.hosts <= 2; ranks.hosts += 2) {
        ranks.kind = ranks.hosts ? RANK_BOTH : RANK_ALL;
        const char *wrong = ranks_run(&ranks);
        check(!wrong, "%s", wrong);
    }
}

#define TEST_WAYS(suite, name, ...) \
    static void suite##_##name##_in(struct rank *rank, quern_group *group); \
    static quern_status suite##_##name##_of(struct rank *rank) { \
        quern_group *group = rank_group(rank, RANK_LIMIT); \
        suite##_##name##_in(rank, group); \
        return finish(rank, group); \
    } \
    Test(suite, name) { check_ways((struct ranks){.function = suite##_##name##_of, __VA_ARGS__}); } \
    static void suite##_##name##_in(struct rank *rank, quern_group *group)

/* Rank 1 lets another one go on. */
static void let_go(const struct rank *rank) { __atomic_store_n((int *)rank->shared, 1, __ATOMIC_RELEASE); }

static bool has_word(const struct rank *rank) { return __atomic_load_n((int *)rank->shared, __ATOMIC_ACQUIRE); }

static void await_word(const struct rank *rank) { while (!has_word(rank)) rank_sleep(1e-3); }

/* The group works, also for a transfer of the same key. */
static quern_status finish(struct rank *rank, quern_group *group) {
    const int to = (rank->rank + 1) % rank->ranks, from = (rank->rank + rank->ranks - 1) % rank->ranks;
    int sent = 40 + rank->rank, received = 0;
    rank_ok(rank, quern_barrier(group, NULL, NULL));  /* all have destroyed what failed */
    const quern_transfer_item items[] = {transfer_item(0, to, 1, &sent, sizeof sent), transfer_item(1, from, 1, &received,
                                                                                                    sizeof sent)};
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items, 2);
    rank_ok(rank, transfer_run(transfer, NULL, 0));
    rank_check(rank, received == 40 + from, "received %d", received);
    rank_ok(rank, quern_transfer_destroy(transfer));
    return quern_group_destroy(group);
}

/* ---- lists that differ ---- */

struct difference {
    struct {
        enum { NONE, SENDS, EXPECTS } what;
        uint64_t tag;
        int64_t bytes;
    } of[2][3];          /* of rank 0 and rank 1 */
    const char *detail;
};

#define FAR 4294967296
static const struct difference differences[] = {
    {{{{SENDS, 5, 64}}, {{EXPECTS, 5, 32}}}, "rank 0 sends 64 bytes with tag 5, and rank 1 expects 32"},
    {{{{EXPECTS, 5, 9000}}, {{SENDS, 5, 0}}}, "rank 1 sends 0 bytes with tag 5, and rank 0 expects 9000"},
    {{{{SENDS, 5, 64}}, {{EXPECTS, 5, 64 + FAR}}}, "rank 0 sends 64 bytes with tag 5, and rank 1 expects 4294967360"},
    {{{{SENDS, 5, 64}}, {{EXPECTS, 5 + FAR, 64}}}, "rank 0 sends rank 1 64 bytes with tag 5, which rank 1 does not receive"},
    {{{{SENDS, 5, 64}, {SENDS, 6, 8}, {EXPECTS, 7, 8}}, {{EXPECTS, 5, 64}, {SENDS, 7, 8}}},
     "rank 0 sends rank 1 8 bytes with tag 6, which rank 1 does not receive"},
    {{{{SENDS, 5, 64}}, {{EXPECTS, 5, 64}, {EXPECTS, 9, 16}}},
     "rank 1 expects from rank 0 16 bytes with tag 9, which rank 0 does not send"},
    {{{{SENDS, 5, 64}}, {{SENDS, 5, 64}}}, "rank 0 sends rank 1 64 bytes with tag 5, which rank 1 does not receive"},
    {{{{EXPECTS, 5, 64}}, {{EXPECTS, 5, 64}}}, "rank 1 expects from rank 0 64 bytes with tag 5, which rank 0 does not send"},
};

TEST_WAYS(transfer_ends, lists_that_differ, .count = 2, RANKS_EACH(differences)) {
    const struct difference *difference = rank->user;
    unsigned char memory[3][9000];
    quern_transfer_item items[3];
    int64_t count = 0;
    memset(memory, 0xc1, sizeof memory);
    for (int i = 0; i < 3; i++)
        if (difference->of[rank->rank][i].what)
            items[count++] = transfer_item(difference->of[rank->rank][i].what == EXPECTS, !rank->rank,
                                           difference->of[rank->rank][i].tag, memory[i], difference->of[rank->rank][i].bytes);
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items, count);
    transfer_fails(rank, transfer, NULL, 0, QUERN_PEER_MISMATCH, difference->detail);
    for (size_t i = 0; i < sizeof memory; i++) rank_check(rank, ((unsigned char *)memory)[i] == 0xc1, "byte %zu was written", i);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* Rank 0 has an item for rank 1, whose list is with rank 2 only.  Rank 2 hears of it through rank 1. */
TEST_WAYS(transfer_ends, an_item_for_a_rank_without_any, .count = 3) {
    int value = 1, other = 2;
    const quern_transfer_item items[] = {transfer_item(0, rank->rank == 2 ? 1 : rank->rank + 1, 3, &value, sizeof value),
                                         transfer_item(1, rank->rank == 1 ? 2 : 1, 3, &other, sizeof other)};
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items, rank->rank ? 2 : 1);
    if (rank->rank == 2) await_word(rank);  /* a rank that is complete before it hears of the mistake is right to be */
    transfer_fails(rank, transfer, NULL, 0, QUERN_PEER_MISMATCH, "rank 0 sends rank 1 4 bytes with tag 3, which rank 1 does not");
    if (rank->rank == 1) let_go(rank);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* ---- words that no rank says ---- */

/*
 * Payloads of other sizes than the word has, data that is not the next, and words of a path that the connection does not have.
 * Each ends it.  instance 1: that of the transfer.
 */
static const struct quern_transfer_frame strange[] = {
    {.word = QUERN_WORD_HELLO}, {.word = QUERN_WORD_HELLO, .bytes = sizeof(struct quern_transfer_hello) - 1},
    {.word = QUERN_WORD_REACH, .bytes = 1}, {.word = QUERN_WORD_EAGER, .bytes = sizeof(struct quern_transfer_entry)},
    {.word = QUERN_WORD_EAGER, .instance = 1},
    {.word = QUERN_WORD_EAGER, .instance = 1, .bytes = sizeof(struct quern_transfer_entry) + 1},
    {.word = QUERN_WORD_DATA, .instance = 1, .round = 2}, {.word = QUERN_WORD_DATA, .instance = 1, .round = 1, .number = 1},
    {.word = QUERN_WORD_DATA, .instance = 1, .round = 1, .bytes = 65},
    {.word = QUERN_WORD_START, .bytes = 1}, {.word = QUERN_WORD_DONE, .bytes = 1}, {.word = QUERN_WORD_END},
    {.word = QUERN_WORD_END, .bytes = QUERN_TRANSFER_REASON - 1}, {.word = QUERN_WORD_END, .bytes = QUERN_TRANSFER_REASON + 1},
    {.word = QUERN_WORD_BATCH}, {.word = QUERN_WORD_CONNECT}, {.word = QUERN_WORD_CONNECTED}, {.word = QUERN_WORD_GO},
    {.word = QUERN_WORD_BREAK}, {.word = QUERN_WORD_FORGOTTEN}, {.word = QUERN_WORD_READY},
    {.word = QUERN_WORD_NONE, .number = (uint64_t)1 << 32},
    {.word = QUERN_WORD_LISTENING}, {.word = QUERN_WORD_BUFFER}, {.word = QUERN_WORD_STAGED}, {.word = QUERN_WORD_TAKEN},
};

/* In a ring, and over a carrier. */
TEST_GROUP_FOR(transfer_ends, strange_words, for (int hosts = 0; hosts <= 2; hosts += 2), .kind = RANK_THREADS, .count = 2,
               .hosts = hosts, .carrier = hosts ? &(const struct carrier_choice){.borrows = false} : NULL, RANKS_EACH(strange)) {
    static const char payload[QUERN_TRANSFER_REASON + 1];
    struct quern_transfer_frame frame = *(const struct quern_transfer_frame *)rank->user;
    char memory[64] = "";
    const quern_transfer_item item = transfer_item(!rank->rank, !rank->rank, 1, memory, sizeof memory);
    quern_transfer *transfer = transfer_prepare(rank, group, 7, &item, 1);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    const struct quern_transfers *all = group->member->transfers;
    frame.key = all->first->key, frame.instance *= all->first->instance;
    if (rank->rank) quern_conn_say(all->conn[0], frame, payload, frame.bytes);
    transfer_fails(rank, transfer, NULL, 0, QUERN_PEER_MISMATCH, "damaged: a process that is no rank writes");
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* ---- ends before the start ---- */

static const struct transfer_ending endings[] = {
    {TRANSFER_CANCELS, TRANSFER_PREPARED, TRANSFER_UNPREPARED, 0},
    {TRANSFER_CANCELS, TRANSFER_PREPARED, TRANSFER_PREPARED, 0},
    {TRANSFER_CANCELS, TRANSFER_PREPARED, TRANSFER_STARTED, 0.1},
    {TRANSFER_DESTROYS, TRANSFER_PREPARED, TRANSFER_UNPREPARED, 0},
    {TRANSFER_DESTROYS, TRANSFER_PREPARED, TRANSFER_PREPARED, 0},
    {TRANSFER_DESTROYS, TRANSFER_PREPARED, TRANSFER_STARTED, 0.1},
    {TRANSFER_IS_LATE, TRANSFER_UNPREPARED, TRANSFER_STARTED, 0.3},
    {TRANSFER_IS_LATE, TRANSFER_PREPARED, TRANSFER_STARTED, 0.3},
    {TRANSFER_ABORTS, TRANSFER_PREPARED, TRANSFER_STARTED, 0.1},
    {TRANSFER_LEAVES, TRANSFER_UNPREPARED, TRANSFER_STARTED, 0},
};

static quern_status end_a_pair(struct rank *rank) {
    const struct transfer_ending *ending = rank->user;
    struct transfer_pair pair;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    transfer_pair_open(&pair, rank, group, NULL, !rank->rank, 16000);
    transfer_pair_end(&pair, 1, ending);
    transfer_pair_close(&pair);
    return ending->how < TRANSFER_ABORTS ? finish(rank, group) : quern_group_destroy(group);
}

Test(transfer_ends, before_the_start) { check_ways((struct ranks){.count = 2, .function = end_a_pair, RANKS_EACH(endings)}); }

/* The reason of the first rank of a chain reaches the last one.  Rank 2 is not started, so that the last one has no data before. */
TEST_WAYS(transfer_ends, a_reason_travels_on, .count = 4) {
    char memory[2][6000];
    const quern_transfer_item items[] = {transfer_item(1, rank->rank - 1, 1, memory[0], 6000),
                                         transfer_item(0, rank->rank + 1, 1, memory[1], 6000)};
    const bool first = rank->rank == 0, last = rank->rank == rank->ranks - 1;
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items + first, 2 - first - last);
    rank_line_up(rank);
    if (rank->rank == 2) await_word(rank);
    if (first) rank_ok(rank, quern_transfer_cancel(transfer, "no data today"));
    else if (last) transfer_fails(rank, transfer, NULL, 0, QUERN_GROUP_ABORTED, "rank 0 has cancelled the transfer: no data today");
    else rank_status(rank, transfer_run(transfer, NULL, 0), QUERN_GROUP_ABORTED);
    if (rank->rank == 1) let_go(rank);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* Rank 2 is told after rank 1 has all: rank 1 completes, rank 2 does not. */
TEST_WAYS(transfer_ends, who_is_complete_stays_so, .count = 3) {
    static const char text[] = "what is sent";
    char memory[2][5000] = {"what is sent", "what is sent"}, in[5000] = "";
    quern_transfer_item items[] = {transfer_item(0, 1, 1, memory[0], 5000), transfer_item(0, 2, 1, memory[1], 5000)};
    if (rank->rank) items[0] = transfer_item(1, 0, 1, in, 5000);
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items, rank->rank ? 1 : 2);
    if (rank->rank < 2) rank_ok(rank, quern_transfer_start(transfer, NULL));
    int32_t done = 0;
    for (; rank->rank == 0 && !has_word(rank); rank_sleep(1e-4)) rank_ok(rank, quern_transfer_test(transfer, &done));
    rank_check(rank, !done, "complete without rank 2");
    if (rank->rank == 1) {
        rank_ok(rank, quern_transfer_wait(transfer, 0));
        let_go(rank);
    }
    rank_line_up(rank);
    if (rank->rank == 0) rank_ok(rank, quern_transfer_cancel(transfer, NULL));
    rank_line_up(rank);
    if (rank->rank == 1) rank_check(rank, strcmp(in, text) == 0, "%s", in);
    if (rank->rank == 1) rank_ok(rank, quern_transfer_wait(transfer, 0));
    if (rank->rank) transfer_fails(rank, transfer, NULL, 0, QUERN_GROUP_ABORTED, "rank 0 has cancelled the transfer");
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* ---- ends while data moves ---- */

enum { MUCH = 8 << 20 };

static unsigned char *map_much(struct rank *rank) {
    unsigned char *memory = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rank_check(rank, memory != MAP_FAILED, "no memory");
    return memory;
}

/* Calls that hear what the other rank still sends. */
static void hear_on(struct rank *rank, quern_group *group) {
    for (int i = 0; i < 10; i++) {
        rank_ok(rank, quern_transfer_destroy(transfer_prepare(rank, group, 100, NULL, 0)));
        rank_sleep(1e-4);
    }
}

/*
 * Rank `by` ends at a random time.  The sender unmaps its memory at once: whoever still read it would end, and a receiver that
 * completes has all.  The receiver fills its memory: whoever still wrote there is found.
 */
static void end_in_between(struct rank *rank, quern_group *group, int round) {
    const int by = round & 1;
    const bool cancels = round & 2;
    unsigned char *memory = map_much(rank);
    memset(memory, rank->rank ? 0 : round + 1, MUCH);
    quern_transfer *transfer = transfer_prepare_one(rank, group, 7, 2, memory, MUCH);
    rank_line_up(rank);
    quern_status status = quern_transfer_start(transfer, NULL);
    if (rank->rank == by) {
        const double until = rank_now() + 3e-3 * random_uniform(5, (uint64_t)round);
        int32_t done = 0;
        rank_status(rank, status, QUERN_OK);
        while (!done && rank_now() < until) rank_ok(rank, quern_transfer_test(transfer, &done));
        if (cancels) rank_ok(rank, quern_transfer_cancel(transfer, "enough"));
        else rank_ok(rank, quern_transfer_destroy(transfer));
        if (rank->rank == 0) munmap(memory, MUCH);
        else memset(memory, 0xdd, MUCH);
        if (rank->rank == 1) hear_on(rank, group);
    } else {
        if (status == QUERN_OK) status = quern_transfer_wait(transfer, 0);
        const quern_status expected = cancels ? QUERN_GROUP_ABORTED : QUERN_PEER_LOST;
        if (status != QUERN_OK) rank_status(rank, status, expected);
        if (status != QUERN_OK) rank_check_detail(rank, cancels ? "has cancelled the transfer: enough" : "has destroyed its "
                                                  "transfer");
        for (size_t i = 0; rank->rank == 1 && status == QUERN_OK && i < MUCH; i++)
            rank_check(rank, memory[i] == (unsigned char)(round + 1), "round %d: byte %zu is %d", round, i, memory[i]);
    }
    rank_line_up(rank);
    if (rank->rank == 1 && by == 1)
        for (size_t i = 0; i < MUCH; i++) rank_check(rank, memory[i] == 0xdd, "round %d: byte %zu was written", round, i);
    if (rank->rank != by || cancels) rank_ok(rank, quern_transfer_destroy(transfer));
    if (rank->rank == 1 || by == 1) munmap(memory, MUCH);
    rank_line_up(rank);
}

TEST_WAYS(transfer_ends, while_data_moves, .count = 2) {
    for (int round = 0; round < 40; round++) end_in_between(rank, group, round);
}

/* The receiver computes, and the sender has filled what is between them when it cancels.  It makes no call after that. */
TEST_RANKS(transfer_ends, when_the_ring_is_full, .kind = RANK_ALL, .count = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory = map_much(rank);
    quern_transfer *transfer = transfer_prepare_one(rank, group, 7, 2, memory, MUCH);
    rank_line_up(rank);
    if (rank->rank) rank_ok(rank, quern_transfer_start(transfer, NULL));
    rank_line_up(rank);
    if (!rank->rank) {
        int32_t done;
        rank_ok(rank, quern_transfer_start(transfer, NULL));
        for (int i = 0; i < 50; i++) rank_ok(rank, quern_transfer_test(transfer, &done));
        rank_ok(rank, quern_transfer_cancel(transfer, "full"));
    }
    rank_line_up(rank);
    if (rank->rank) rank_status(rank, quern_transfer_wait(transfer, 0), QUERN_GROUP_ABORTED);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    munmap(memory, MUCH);
    return finish(rank, group);
}

/* One end begins again after the other has destroyed its own. */
TEST_WAYS(transfer_ends, one_end_starts_again, .count = 2) {
    char memory[5000];
    quern_transfer *transfer = transfer_prepare_one(rank, group, 7, 2, memory, sizeof memory);
    for (int round = 0; round < 3; round++) rank_ok(rank, transfer_run(transfer, NULL, 0));
    if (rank->rank) rank_ok(rank, quern_transfer_destroy(transfer));
    if (!rank->rank) transfer_fails(rank, transfer, NULL, 0, QUERN_PEER_LOST, "rank 1 has destroyed its transfer");
    rank_line_up(rank);
    if (!rank->rank) rank_ok(rank, quern_transfer_destroy(transfer));
}

/* ---- a rank that ends ---- */

/* Rank 1 is killed while all transfers with it are under way; ranks 0 and 2 have one without it. */
TEST_GROUP_FOR(transfer_ends, a_rank_that_is_killed, for (enum rank_kind kind = RANK_PROCESSES; kind <= RANK_UNREADABLE; kind++),
               .kind = kind, .count = 3, .may_die = 1 << 1) {
    static char memory[4][100000];
    const int self = rank->rank, left = (self + 2) % 3, right = (self + 1) % 3;
    const quern_transfer_item ring[] = {transfer_item(0, right, 1, memory[0], 100000), transfer_item(1, left, 1, memory[1],
                                                                                                     100000)};
    const quern_transfer_item pair[] = {transfer_item(0, 2 - self, 1, memory[2], 100000), transfer_item(1, 2 - self, 1, memory[3],
                                                                                                        100000)};
    quern_transfer *all = transfer_prepare(rank, group, 7, ring, 2);
    quern_transfer *two = self == 1 ? NULL : transfer_prepare(rank, group, 8, pair, 2);
    rank_ok(rank, transfer_run(all, NULL, 0));
    rank_line_up(rank);
    if (self == 1) kill(getpid(), SIGKILL);
    rank_refused(rank, transfer_run(all, NULL, 0), QUERN_PEER_LOST, "rank 1 (process ");
    for (int round = 0; round < 3; round++) rank_ok(rank, transfer_run(two, NULL, 0));
    rank_ok(rank, quern_group_status(group));
    rank_ok(rank, quern_transfer_destroy(all));
    rank_ok(rank, quern_transfer_destroy(two));
}

/* ---- what a stranger writes into a ring ---- */

/* Rank 0 has told rank 1 of its list, and rank 1 has not heard it, when one byte of it changes. */
static void change_a_byte(struct rank *rank, quern_group *group) {
    const off_t place = *(const off_t *)rank->user;
    char memory[9000] = "";
    const quern_transfer_item item = transfer_item(rank->rank, !rank->rank, 2, memory, sizeof memory);
    quern_transfer *transfer = rank->rank ? NULL : transfer_prepare(rank, group, 7, &item, 1);
    rank_line_up(rank);
    if (rank->rank) {
        const off_t first = ((off_t)quern_segment_bytes(2, 2) + 4095) / 4096 * 4096;
        const off_t ring = first + QUERN_RING_BYTES;  /* from 0 to 1 */
        const int file = rank_segment_file(rank);
        unsigned char byte;
        rank_check(rank, pread(file, &byte, 1, ring + place) == 1, "there is no ring");
        byte ^= 0x41;
        rank_check(rank, pwrite(file, &byte, 1, ring + place) == 1, "the ring cannot be written");
        transfer = transfer_prepare(rank, group, 7, &item, 1);
    }
    rank_line_up(rank);
    transfer_fails(rank, transfer, NULL, 0, QUERN_PEER_MISMATCH, "what rank 1 has heard of rank 0 is damaged");
    for (size_t i = 0; i < sizeof memory; i++) rank_check(rank, !memory[i], "byte %zu was written", i);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

Test(transfer_ends, each_changed_byte_is_found) {
    const off_t ring = sizeof(struct quern_ring), hello = sizeof(struct quern_transfer_frame) + sizeof(struct quern_transfer_hello);
    off_t places[24];
    size_t count = 0;
    places[count++] = 2;  /* of the count of bytes */
    for (off_t at = 0; at < 64; at += 9) places[count++] = ring + at;               /* the first head */
    places[count++] = ring + 64 + 3;                                                /* where the process can be read */
    for (off_t at = 0; at < 64; at += 11) places[count++] = ring + hello + at;      /* the head of the list */
    for (off_t at = 0; at < 32; at += 7) places[count++] = ring + hello + 64 + at;  /* its item */
    for (size_t i = 0; i < count; i++)
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .in_group = change_a_byte, .user = &places[i]);
}
