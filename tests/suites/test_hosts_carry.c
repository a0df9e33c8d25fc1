/*
 * Transfers between hosts by messages of a carrier: what goes by it and under which tags, ends at which messages are under way, and
 * carriers with faults.  The other suites of transfers between hosts run over carriers too: the configurations of
 * tests/runner/devices.py.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/transfer_pair.h"
#include "ranks/hosts/hosts.h"
#include "ranks/transfer/transfer.h"

static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};
static const struct carrier_choice *const kinds[] = {&borrows, &copies};

enum { WINDOW = QUERN_CARRIER_SLOTS, MESSAGES = WINDOW + 6, HANGS_AT = 3 };

/* That all of the messages have together. */
static int64_t bytes_of(const struct carrier_choice *choice) {
    return MESSAGES * (int64_t)(choice->longest ? choice->longest : 100000);
}

/* Memory, and one item of all of it from rank 0 to rank 1. */
static quern_transfer *prepare(struct rank *rank, quern_group *group, unsigned char **memory, int64_t bytes) {
    *memory = zeroed((size_t)bytes);
    return transfer_prepare_one(rank, group, 7, 3, *memory, bytes);
}

/* Goes on with a transfer until this rank has begun so many messages. */
static void test_until(struct rank *rank, quern_transfer *transfer, int messages) {
    int32_t done;
    while (carrier_count(rank->carrier) < messages) rank_ok(rank, quern_transfer_test(transfer, &done));
}

/* The end of the group leaves nothing in the carrier. */
static quern_status leave(struct rank *rank, quern_group *group) {
    rank_ok(rank, quern_group_destroy(group));
    rank_check(rank, !carrier_under_way(rank->carrier), "%d messages are left in the carrier", carrier_under_way(rank->carrier));
    return QUERN_OK;
}

/* ---- what goes by the carrier ---- */

static unsigned char byte_of(int sender, int64_t at) { return (unsigned char)(sender * 31 + at + at / 251); }

/* Sends and receives so many bytes in two items, one of which has a single byte, and returns the messages that this takes here. */
static int count_messages(struct rank *rank, quern_group *group, int64_t bytes) {
    const int peer = !rank->rank, before = carrier_count(rank->carrier);
    unsigned char *out = zeroed((size_t)bytes + 1), *in = zeroed((size_t)bytes + 2);
    for (int64_t i = 0; i < bytes; i++) out[i] = byte_of(rank->rank, i);
    memset(in, 0xee, (size_t)bytes + 2);
    const int64_t first = bytes > 0;
    const quern_transfer_item items[] = {
        transfer_item(1, peer, 9, in + first, bytes - first), transfer_item(0, peer, 2, out, first),
        transfer_item(1, peer, 2, in, first), transfer_item(0, peer, 9, out + first, bytes - first)};
    quern_transfer *transfer = transfer_prepare(rank, group, 7, items, 4);
    rank_ok(rank, transfer_run(transfer, NULL, 0));
    for (int64_t i = 0; i < bytes; i++)
        rank_check(rank, in[i] == byte_of(peer, i), "byte %lld of %lld", (long long)i, (long long)bytes);
    rank_check(rank, in[bytes] == 0xee, "the byte behind %lld", (long long)bytes);
    rank_ok(rank, quern_transfer_destroy(transfer));
    free(out);
    free(in);
    return carrier_count(rank->carrier) - before;
}

/* Each rank begins as many sends as receives.  The last size takes all tags more than once. */
static quern_status count_all(struct rank *rank) {
    const struct carrier_choice *choice = rank->user;
    const int64_t piece = choice->longest ? (int64_t)choice->longest : 100000;
    const int64_t sizes[] = {0, 1, QUERN_TRANSFER_SMALL, QUERN_TRANSFER_SMALL + 1, piece - 1, piece, piece + 1, 7 * piece, 3000000};
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int64_t expected = sizes[i] > QUERN_TRANSFER_SMALL ? 2 * ((sizes[i] + piece - 1) / piece) : 0;
        const int count = count_messages(rank, group, sizes[i]);
        rank_check(rank, count == expected, "%d messages for %lld bytes: expected %lld", count, (long long)sizes[i],
                   (long long)expected);
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_check(rank, !carrier_unclaimed(rank->carrier), "%d messages have no receive", carrier_unclaimed(rank->carrier));
    return leave(rank, group);
}

Test(hosts_carry, sizes_and_messages) {
    static const struct carrier_choice alone = {.borrows = true, .alone = true};
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        check_ranks(.kind = RANK_BOTH, .count = 2, .hosts = 2, .function = count_all, .user = kinds[kind], .carrier = kinds[kind]);
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = count_all, .user = &alone, .carrier = &alone);
}

static const struct transfer_choice long_lists[] = {{.lists = 1, .items = 2048, .largest = 600, .rounds = 2},
                                                    {.lists = 3, .items = 700, .largest = 900, .rounds = 2, .batch = true}};

/* Also items of no byte; each rank has an order of its own. */
TEST_RANKS_FOR(hosts_carry, thousands_of_items,
               for (size_t kind = 0; kind < COUNT(kinds); kind++) for (size_t i = 0; i < COUNT(long_lists); i++),
               .kind = rank_kinds[i], .count = 2, .hosts = 2, .carrier = kinds[kind], .user = &long_lists[i]) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    transfer_run_case(rank, group, 900, rank->user);
    return leave(rank, group);
}

/*
 * Receives are begun and not answered while an exchange gives the carrier the first messages of its own.  The stand-in ends the
 * process if two messages of a pair have one tag at the same time.
 */
TEST_RANKS_FOR(hosts_carry, tags_that_exchanges_do_not_have, for (size_t kind = 0; kind < COUNT(kinds); kind++),
               .kind = rank_kinds[kind], .count = 2, .hosts = 2, .carrier = kinds[kind]) {
    enum { SIZE = 40000, BYTES = MESSAGES * 100000 };
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct rank_exchange exchange;
    unsigned char *memory, *input = zeroed(2 * SIZE), *output = zeroed(2 * SIZE);
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, SIZE, 1));
    const int before = carrier_count(rank->carrier);
    quern_transfer *transfer = prepare(rank, group, &memory, BYTES);
    memset(memory, rank->rank ? 0 : 5, BYTES);
    memset(input, 10 + rank->rank, 2 * SIZE);
    rank_ok(rank, quern_transfer_start(transfer, NULL));
    rank_line_up(rank);
    if (rank->rank) test_until(rank, transfer, before + WINDOW);
    rank_line_up(rank);
    for (int round = 0; round < 20; round++) rank_ok(rank, rank_exchange_run(group, &exchange));
    for (int i = 0; i < 2 * SIZE; i++) rank_check(rank, output[i] == 10 + i / SIZE, "byte %d of the exchange is %d", i, output[i]);
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    for (int i = 0; i < BYTES; i++) rank_check(rank, memory[i] == 5, "byte %d of the transfer is %d", i, memory[i]);
    rank_ok(rank, quern_transfer_destroy(transfer));
    free(memory), free(input), free(output);
    return leave(rank, group);
}

/* ---- ends at which messages are under way ---- */

/* Rank 1 has begun its receives: rank 0 has not heard of them; has sent those messages; or one hangs, with others behind it. */
enum stage { UNHEARD, SENT, HANGS };

struct end {
    enum stage stage;
    struct carrier_choice choice;
    int by;                        /* the rank that ends it */
    enum { CANCELS, DESTROYS, ABORTS, EXPIRES } how;
    quern_status destroyed;        /* of the culprit's group */
};

static quern_status status_of(const struct end *end) {
    static const quern_status by_how[] = {QUERN_GROUP_ABORTED, QUERN_PEER_LOST, QUERN_GROUP_ABORTED, QUERN_PEER_TIMEOUT};
    return by_how[end->how];
}

static void come_under_way(struct rank *rank, quern_transfer *transfer, enum stage stage) {
    if (rank->rank == 0) rank_ok(rank, quern_transfer_start(transfer, NULL));
    rank_line_up(rank);
    if (rank->rank == 1) rank_ok(rank, quern_transfer_start(transfer, NULL));
    if (rank->rank == 1) test_until(rank, transfer, WINDOW);
    rank_line_up(rank);
    if (rank->rank == 0 && stage != UNHEARD) test_until(rank, transfer, WINDOW);
    if (stage == HANGS) test_until(rank, transfer, WINDOW + HANGS_AT - 1);
    rank_line_up(rank);
}

static void end_it(struct rank *rank, quern_group *group, quern_transfer *transfer, const struct end *end) {
    if (end->how == CANCELS) rank_ok(rank, quern_transfer_cancel(transfer, "enough"));
    else if (end->how == DESTROYS) rank_ok(rank, quern_transfer_destroy(transfer));
    else if (end->how == ABORTS) rank_ok(rank, quern_group_abort(group, "enough"));
    else rank_status(rank, quern_transfer_wait(transfer, 0.3), QUERN_PEER_TIMEOUT);
}

/* The same two ranks, the same key. */
static void transfer_again(struct rank *rank, quern_group *group, unsigned char *memory, int64_t bytes) {
    quern_transfer *transfer = transfer_prepare_one(rank, group, 7, 3, memory, bytes);
    memset(memory, rank->rank ? 1 : 77, (size_t)bytes);
    rank_ok(rank, transfer_run(transfer, NULL, 0));
    for (int64_t i = 0; i < bytes; i++) rank_check(rank, memory[i] == 77, "byte %lld is %d", (long long)i, memory[i]);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

static quern_status end_under_way(struct rank *rank) {
    const struct end *end = rank->user;
    const bool is_culprit = rank->rank == end->choice.culprit;
    const int64_t bytes = bytes_of(&end->choice);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory, *other = malloc((size_t)bytes);
    rank_check(rank, other && !carrier_count(rank->carrier), "no memory, or messages of the creation");
    quern_transfer *transfer = prepare(rank, group, &memory, bytes);
    come_under_way(rank, transfer, end->stage);
    if (rank->rank == end->by) end_it(rank, group, transfer, end);
    if (rank->rank == end->by) memset(memory, 0xdd, (size_t)bytes);  /* it is the caller's again: nothing writes there */
    rank_line_up(rank);
    if (rank->rank != end->by) rank_status(rank, quern_transfer_wait(transfer, 0), status_of(end));
    if (rank->rank != end->by) memset(memory, 0xdd, (size_t)bytes);
    rank_line_up(rank);
    if (end->how != ABORTS) rank_ok(rank, quern_transfer_destroy(transfer_prepare(rank, group, 100, NULL, 0)));  /* hears on */
    if (rank->rank != end->by || end->how != DESTROYS) rank_ok(rank, quern_transfer_destroy(transfer));
    if (end->how == ABORTS) rank_status(rank, quern_group_status(group), QUERN_GROUP_ABORTED);
    else transfer_again(rank, group, other, end->stage == HANGS ? QUERN_TRANSFER_SMALL : bytes);
    for (int64_t i = 0; i < bytes; i++) rank_check(rank, memory[i] == 0xdd, "byte %lld was written", (long long)i);
    free(memory);
    free(other);
    rank_line_up(rank);
    if (is_culprit && end->destroyed != QUERN_OK) {
        rank_status(rank, quern_group_destroy(group), end->destroyed);
        rank_check_detail(rank, rank->rank ? "@: stand-in does not give back a message of a transfer with rank 0, which is"
                                           : "@: stand-in does not give back a message of a transfer with rank 1, which is");
        return QUERN_OK;
    }
    if (end->how == ABORTS && !end->choice.borrows) return quern_group_destroy(group);  /* what it has is left to it */
    return leave(rank, group);
}

/* Of the sender or the receiver, by each of them. */
static void end_at(enum stage stage, const struct carrier_choice *kind, int culprit) {
    for (int by = 0; by < 2; by++)
        for (int how = CANCELS; how <= EXPIRES; how++) {
            struct end end = {.stage = stage, .choice = *kind, .by = by, .how = how};
            end.choice.culprit = culprit;
            end.choice.hangs_at = stage == HANGS ? HANGS_AT : 0;
            check_ranks(.kind = rank_kinds[by], .count = 2, .hosts = 2, .function = end_under_way, .user = &end,
                        .carrier = &end.choice);
        }
}

Test(hosts_carry, ends_under_way) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (enum stage stage = UNHEARD; stage <= HANGS; stage++)
            for (int culprit = 0; culprit <= (stage == HANGS); culprit++) end_at(stage, kinds[kind], culprit);
}

Test(hosts_carry, messages_that_are_kept_are_named) {
    static const struct end kept[] = {
        {HANGS, {.borrows = true, .hangs_at = HANGS_AT, .culprit = 0, .keeps = true}, 1, CANCELS, QUERN_PEER_LOST},
        {HANGS, {.longest = 9000, .hangs_at = HANGS_AT, .culprit = 1, .keeps = true}, 0, DESTROYS, QUERN_PEER_LOST},
    };
    for (size_t i = 0; i < COUNT(kept); i++)
        check_ranks(.kind = rank_kinds[i], .count = 2, .hosts = 2, .function = end_under_way, .user = &kept[i],
                    .carrier = &kept[i].choice);
}

/* ---- carriers with faults ---- */

struct fault {
    struct carrier_choice choice;
    const char *text;
};

/* The transfer fails on both ends, and so does each later one that needs the carrier; small ones and the group go on. */
static quern_status meet_a_fault(struct rank *rank) {
    const struct fault *fault = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory = NULL;
    for (int round = 0; round < 2; round++) {
        free(memory);
        quern_transfer *transfer = prepare(rank, group, &memory, bytes_of(&fault->choice));
        rank_refused(rank, transfer_run(transfer, NULL, 0), QUERN_SYSTEM_ERROR, fault->text);
        rank_ok(rank, quern_transfer_destroy(transfer));
        rank_line_up(rank);
    }
    transfer_again(rank, group, memory, QUERN_TRANSFER_SMALL);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    free(memory);
    return fault->choice.borrows ? leave(rank, group) : quern_group_destroy(group);
}

Test(hosts_carry, faults_are_statuses) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (int culprit = 0; culprit < 2; culprit++) {
            struct fault faults[] = {
                {{.fails_at = 3}, culprit ? "rank 1 exchanges messages with rank 0: stand-in: receive returned 17"
                                          : "rank 0 exchanges messages with rank 1: stand-in: send returned 17"},
                {{.breaks_at = 3}, culprit ? "stand-in: test of a message of it returned -18"
                                           : "stand-in: test of a message to it returned -18"},
            };
            for (size_t i = 0; i < COUNT(faults); i++) {
                faults[i].choice.culprit = culprit;
                faults[i].choice.borrows = kinds[kind]->borrows;
                faults[i].choice.longest = kinds[kind]->longest;
                check_ranks(.kind = rank_kinds[culprit], .count = 2, .hosts = 2, .function = meet_a_fault, .user = &faults[i],
                            .carrier = &faults[i].choice);
            }
        }
}

static const struct carrier_choice choices[] = {{.borrows = true, .culprit = 1, .fails_at = WINDOW + 1},
                                                {.longest = 9000, .culprit = 1, .fails_at = WINDOW + 1}};

/* The carrier fails in an exchange, which poisons the group, while receives of a transfer are begun. */
TEST_RANKS_FOR(hosts_carry, an_exchange_that_fails, for (size_t i = 0; i < COUNT(choices); i++), .kind = rank_kinds[i], .count = 2,
               .hosts = 2, .user = &choices[i], .carrier = &choices[i]) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory;
    quern_transfer *transfer = prepare(rank, group, &memory, MESSAGES * 100000);
    void *part;
    come_under_way(rank, transfer, UNHEARD);
    rank_refused(rank, quern_symmetric_alloc(&group, 1, &(size_t){64}, &part), QUERN_SYSTEM_ERROR, "stand-in: ");
    rank_status(rank, quern_transfer_wait(transfer, 0), QUERN_SYSTEM_ERROR);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    free(memory);
    const bool borrows_it = ((const struct carrier_choice *)rank->user)->borrows;
    return borrows_it ? leave(rank, group) : quern_group_destroy(group);
}

/* ---- a rank that ends ---- */

struct death {
    const struct carrier_choice *choice;
    int of;
};

/* The receiver, 1, or the sender is killed when the receives are begun and as many messages are sent. */
static quern_status lose_a_rank(struct rank *rank) {
    const struct death *death = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory;
    quern_transfer *transfer = prepare(rank, group, &memory, bytes_of(death->choice));
    come_under_way(rank, transfer, SENT);
    if (rank->rank == death->of) kill(getpid(), SIGKILL);
    rank_refused(rank, quern_transfer_wait(transfer, 0), QUERN_PEER_LOST, death->of ? "rank 1 (process " : "rank 0 (process ");
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_ok(rank, quern_group_status(group));
    free(memory);
    return death->choice->borrows ? leave(rank, group) : quern_group_destroy(group);  /* what the latter has is left to it */
}

Test(hosts_carry, a_process_that_is_killed) {
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        const struct death death = {kinds[i / 2], (int)(i % 2)};
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .user = &death, .carrier = death.choice,
                    .function = lose_a_rank, .may_die = 1u << death.of);
    }
}

/* ---- words that no rank says ---- */

static int begin_nothing(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    (void)user, (void)rank, (void)data, (void)bytes, (void)tag;
    *request = 1;
    return 0;
}

static int end_with_five(UNUSED void *user, UNUSED uint64_t request, size_t *bytes) {
    *bytes = 5;
    return 1;
}

static void cancel_nothing(void *user, uint64_t request) { (void)user, (void)request; }

/* One end of a connection: a transfer with 20,000 bytes to send, and a receive, of the message 0. */
struct end_of_conn {
    struct quern_carrier_path carrier;
    struct quern_conn conn;
    struct quern_transfer_data transfer;
    struct quern_transfer_pair pair;
};

static struct quern_messages *messages_of(uint64_t longest) {
    quern_carrier carrier = CARRIER(.name = "c", .tags = QUERN_CARRIER_TAGS, .longest = longest, .send = begin_nothing,
                                    .test = end_with_five, .cancel = cancel_nothing);
    struct quern_messages *messages = quern_make_messages(&carrier, 2, NULL);
    check(messages != NULL, "no memory");
    return messages;
}

static void make_end(struct end_of_conn *end) {
    *end = (struct end_of_conn){.carrier = {.messages = messages_of(9000), .piece = 9000}};
    end->conn.carrier = &end->carrier;
    end->transfer = (struct quern_transfer_data){.state = QUERN_TRANSFER_STARTED, .round = 4};
    end->pair = (struct quern_transfer_pair){.transfer = &end->transfer, .conn = &end->conn, .out = {.all = 20000}};
    end->carrier.in.next = 1;
    end->carrier.in.slot[0] = (struct quern_carrier_slot){.is_busy = true, .bytes = 9000, .pair = &end->pair};
}

static void hear(struct end_of_conn *end, enum quern_word word, uint64_t round, struct quern_transfer_piece piece, uint64_t bytes,
                 uint64_t number) {
    const struct quern_transfer_frame head = {.word = word, .round = round, .bytes = bytes, .number = number};
    end->conn.payload = (unsigned char *)&piece;
    quern_carrier_path.hears(&end->conn, &end->pair, &head);
    end->conn.payload = NULL;
}

static void free_end(struct end_of_conn *end) { quern_free_messages(end->carrier.messages, false); }

Test(hosts_carry, a_READY_is_looked_at) {
    enum { WHOLE = sizeof(struct quern_transfer_piece) };
    static const struct {
        struct quern_transfer_piece piece;
        uint64_t bytes, round;
        int64_t all;               /* of the transfer */
        uint32_t ordered;          /* before */
        bool is_good, is_meant;
    } cases[] = {
        {{0, 0, 9000}, WHOLE, 4, 20000, 0, true, true},      {{0, 0, 9000}, WHOLE, 3, 20000, 0, true, false},
        {{0, 0, 9000}, WHOLE - 8, 4, 20000, 0, false, false}, {{1, 0, 9000}, WHOLE, 4, 20000, 0, false, false},
        {{1ull << 32, 0, 9000}, WHOLE, 4, 20000, 0, false, false}, {{0, 9000, 9000}, WHOLE, 4, 20000, 0, false, false},
        {{0, 0, 0}, WHOLE, 4, 20000, 0, false, false},       {{0, 0, 9001}, WHOLE, 4, 20000, 0, false, false},
        {{0, 0, 9000}, WHOLE, 4, 8000, 0, false, false},     {{0, 0, 4000}, WHOLE, 4, 4000, 0, false, false},
        {{WINDOW, 0, 9000}, WHOLE, 4, 20000, WINDOW, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct end_of_conn end;
        make_end(&end);
        end.pair.out.all = cases[i].all;
        end.carrier.ordered = cases[i].ordered;
        hear(&end, QUERN_WORD_READY, cases[i].round, cases[i].piece, cases[i].bytes, 0);
        check((end.conn.status == QUERN_OK) == cases[i].is_good, "case %zu", i);
        check((end.carrier.order[0].pair == &end.pair) == cases[i].is_meant, "case %zu: whose it is", i);
        free_end(&end);
    }
}

Test(hosts_carry, a_NONE_is_looked_at) {
    static const uint64_t bad[] = {1, 1ull << 32, UINT32_MAX};
    struct end_of_conn end;
    for (size_t i = 0; i < COUNT(bad); i++) {
        make_end(&end);
        hear(&end, QUERN_WORD_NONE, 0, (struct quern_transfer_piece){0}, 0, bad[i]);
        check(end.conn.status == QUERN_PEER_MISMATCH, "case %zu", i);
        free_end(&end);
    }
    for (int is_over = 0; is_over < 2; is_over++) {
        make_end(&end);
        end.carrier.is_over = is_over;
        hear(&end, QUERN_WORD_NONE, 0, (struct quern_transfer_piece){0}, 0, 0);
        check(end.conn.status == QUERN_OK && end.carrier.in.slot[0].is_none && !end.carrier.in.slot[0].pair, "it is taken");
        hear(&end, QUERN_WORD_NONE, 0, (struct quern_transfer_piece){0}, 0, 0);
        check(end.conn.status == QUERN_PEER_MISMATCH, "it comes once");
        free_end(&end);
    }
}

Test(hosts_carry, a_message_of_another_size) {
    struct end_of_conn end;
    make_end(&end);
    check(quern_carrier_path.advance(&end.conn), "it is over");
    check(!strcmp(end.carrier.reason, "c: a message of it has 5 bytes: expected 9000"), "%s", end.carrier.reason);
    free_end(&end);
}

Test(hosts_carry, messages_are_as_long_as_the_carrier_takes) {
    static const uint64_t longest[] = {8192, QUERN_CARRIER_PIECE, QUERN_CARRIER_PIECE + 1, INT64_MAX};
    for (size_t i = 0; i < COUNT(longest); i++) {
        struct quern_net net = {.messages = messages_of(longest[i])};
        struct quern_membership member = {.net = &net};
        struct quern_conn conn = {.member = &member};
        check_ok(quern_carrier_path.open(&conn));
        check(conn.carrier->piece == (i ? QUERN_CARRIER_PIECE : 8192), "%zu bytes", conn.carrier->piece);
        quern_carrier_path.close(&conn);
        quern_free_messages(net.messages, false);
    }
}

/* An end takes back what is asked of a rank and what it has asked for, of its own pair only. */
Test(hosts_carry, an_end_takes_its_own_back) {
    struct quern_carrier_path carry = {.ordered = 2};
    struct quern_conn conn = {.carrier = &carry};
    struct quern_transfer_pair ended = {.conn = &conn}, other = {.conn = &conn};
    carry.order[0].pair = carry.in.slot[1].pair = &ended;
    carry.order[1].pair = carry.in.slot[0].pair = &other;
    quern_carrier_path.release(&ended, QUERN_PEER_LOST, "");
    check(!carry.order[0].pair && !carry.in.slot[1].pair, "its own");
    check(carry.order[1].pair == &other && carry.in.slot[0].pair == &other, "the other's");
}
