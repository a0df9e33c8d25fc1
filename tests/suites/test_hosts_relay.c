/*
 * Groups of many CPU ranks of several hosts, whose messages go over one connection for each pair of hosts: large groups, what they
 * cost, ranks that do not come, deaths, and frames that no rank has sent.  The hosts are names at addresses of this machine.
 * Groups of few ranks go the same way where the tests lower the number from which on groups do: all suites of hosts (ways.h).
 *
 * Runs on: ranks.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/played_host.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/bell.h"
#include "ranks/handles.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/frames.h"
#include "ranks/hosts/relay.h"
#include "ranks/hosts/relayed.h"

static void relay_all(void) { quern_most_direct = 0; }

/* ---- large groups: threads of this process ---- */

/* Ranks look around for one another, and their looks grow as a power of their number: where all is small, few do. */
static const struct {
    int hosts, ranks, small;
} large[] = {{2, 65, 65}, {2, 129, 0}, {2, 256, 0}, {4, 512, 69}};

static const double LARGE_LIMIT = 1600;  /* seconds */

static void check_large(rank_function *function, const void *user) {
    for (size_t i = 0; i < COUNT(large); i++) {
        const int count = (int)test_size(large[i].ranks, large[i].small);
        if (!count) continue;
        const struct ranks ranks = {.kind = RANK_THREADS, .count = count, .hosts = large[i].hosts, .function = function,
                                    .user = user, .shared_bytes = sizeof(struct hosts_board), .limit = LARGE_LIMIT};
        const char *wrong = ranks_run(&ranks);
        if (wrong) cr_assert_fail("%d ranks of %d hosts: %s", count, large[i].hosts, wrong);
    }
}

/* Every slice has the number of its pair, so that one that goes astray is seen. */
static void exchange_all(struct rank *rank, quern_group *group, int seed) {
    enum { MOST = 4 };  /* rows of a slice */
    const int ranks = rank->ranks;
    int32_t *numbers = malloc(4 * (size_t)ranks * sizeof *numbers), *from = numbers, *ones = from + ranks, *to = ones + ranks,
            *gets = to + ranks;
    int64_t *input = malloc((size_t)ranks * MOST * sizeof *input), *output = malloc((size_t)ranks * MOST * sizeof *output);
    rank_check(rank, numbers && input && output, "no memory");
    for (int peer = 0; peer < ranks; peer++) {
        from[peer] = peer * MOST;
        ones[peer] = (rank->rank * 7 + peer * 3 + seed) % (MOST + 1);
        gets[peer] = (peer * 7 + rank->rank * 3 + seed) % (MOST + 1);
        to[peer] = rank->rank * MOST;
        for (int row = 0; row < MOST; row++) {
            input[peer * MOST + row] = ((int64_t)rank->rank << 32) + peer * 16 + row;
            output[peer * MOST + row] = -1;
        }
    }
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = input, args.output = output, args.input_rows = args.output_rows = ranks * MOST, args.row_bytes = sizeof *input;
    args.input_offsets = from, args.send_sizes = ones, args.output_offsets = to, args.recv_sizes = gets;
    args.updates = 1;
    rank_exchange_once(rank, group, &args);
    for (int peer = 0; peer < ranks; peer++)
        for (int row = 0; row < MOST; row++) {
            const int64_t expected = row < gets[peer] ? ((int64_t)peer << 32) + rank->rank * 16 + row : -1;
            rank_check(rank, output[peer * MOST + row] == expected, "row %d of rank %d is %#llx: expected %#llx", row, peer,
                       (unsigned long long)output[peer * MOST + row], (unsigned long long)expected);
        }
    free(input);
    free(output);
    free(numbers);
}

/* Every third rank gets into one group, in reverse order. */
static void split_in_three(struct rank *rank, quern_group *group) {
    quern_group *part;
    const int colour = rank->rank % 3, key = -rank->rank;
    rank_ok(rank, quern_group_split(&group, 1, &colour, &key, &part));
    rank_check(rank, quern_group_rank(part) == (rank->ranks - 1 - rank->rank) / 3, "rank %d of the part", quern_group_rank(part));
    rank_ok(rank, quern_barrier(part, NULL, NULL));
    rank_ok(rank, quern_group_destroy(part));
}

/* A split asks each rank of each other: of 512, it takes long on two cores. */
static quern_status live_a_life(struct rank *rank) {
    quern_group *group = rank_group(rank, LARGE_LIMIT - RANK_LIMIT);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_check(rank, quern_group_size(group) == rank->ranks, "%d ranks", quern_group_size(group));
    meet_members(rank, group, NULL, 0, 1);
    exchange_all(rank, group, 1);
    if (rank->ranks <= 256) split_in_three(rank, group);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

Test(relay, large_groups_live) { check_large(live_a_life, NULL); }

/* ---- what a group costs ---- */

static unsigned messages_of(const struct quern_membership *member) {
    unsigned sent = 0;
    for (int rank = 0; rank < member->ranks; rank++) sent += member->span->sent[rank];
    return sent;
}

/* With relays: of each other host's relay and monitor a descriptor at both ends, and no message in a barrier but of leaders. */
static quern_status count_costs(struct rank *rank) {
    struct hosts_board *board = rank->shared;
    rank_line_up(rank);
    if (rank->rank == 0) board->counts[0] = count_entries("/proc/self/fd");
    rank_line_up(rank);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 0) board->counts[1] = count_entries("/proc/self/fd");
    const unsigned before = messages_of(member);
    for (int round = 0; round < 10; round++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    const unsigned sent = messages_of(member) - before;
    const bool leads = member->roster->host_leader == rank->rank;
    int rounds = 0;
    while (1 << rounds < rank->hosts) rounds++;
    rank_check(rank, sent == (leads ? 10 * (unsigned)rounds : 0), "%u messages in 10 barriers", sent);
    const int others = rank->hosts - 1, most = rank->hosts * (2 + 2 * others);  /* segment, datagrams; two connections to each */
    rank_check(rank, board->counts[1] - board->counts[0] <= most, "%d descriptors more: expected at most %d",
               (int)(board->counts[1] - board->counts[0]), most);
    rank_line_up(rank);
    return quern_group_destroy(group);
}

Test(relay, barriers_and_descriptors_are_few) {
    check_ranks(.kind = RANK_THREADS, .count = 66, .hosts = 2, .function = count_costs, .shared_bytes = sizeof(struct hosts_board));
    check_ranks(.kind = RANK_THREADS, .count = 72, .hosts = 4, .function = count_costs, .shared_bytes = sizeof(struct hosts_board));
}

static quern_status read_report(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    static __thread char report[20000];
    quern_group_report(group, report, sizeof report);
    const bool relayed = rank->ranks > 64;
    rank_check(rank, !strstr(report, "one connection for each pair of hosts, since") == !relayed, "%s", report);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

Test(relay, the_report_names_the_way) {
    check_ranks(.kind = RANK_THREADS, .count = 64, .hosts = 2, .function = read_report);
    check_ranks(.kind = RANK_THREADS, .count = 65, .hosts = 2, .function = read_report);
}

/* ---- limits ---- */

TEST_RANKS(relay, at_most_4096_ranks_and_128_of_a_host, .kind = RANK_THREADS, .count = 1, .hosts = 1) {
    static const struct {
        int ranks, host_ranks;
        quern_status status;
        const char *detail;
    } asked[] = {{4097, 1, QUERN_INVALID_ARGUMENT, "ranks is 4097: expected 1 to 4096"},
                 {4096, 129, QUERN_INVALID_ARGUMENT, "host_ranks is 129: expected 1 to 128"},
                 {4096, 2, QUERN_PEER_TIMEOUT, "and 4079 more, of which 1 are of this host"}};
    for (size_t i = 0; i < COUNT(asked); i++) {
        quern_group_args args = rank_group_args(rank, 0.2);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        quern_group *group = NULL;
        args.ranks = asked[i].ranks, hosts->host_ranks = asked[i].host_ranks, args.job = i + 1;
        rank_refused(rank, quern_group_create(&args, 1, &group), asked[i].status, asked[i].detail);
    }
    return QUERN_OK;
}

/* All places of a host are taken, as far as a rank can see that comes later: it gets none, and not that of another rank. */
TEST_RANKS(relay, a_host_has_no_more_places_than_it_says, .kind = RANK_PROCESSES, .count = 2, .hosts = 1) {
    quern_group_args args = rank_group_args(rank, rank->rank ? RANK_LIMIT : 10);  /* the time in which rank 1 comes */
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_group *group = NULL;
    char path[300], name[128];
    args.ranks = 8, hosts->host_ranks = 2;
    if (rank->rank == 0) {
        rank_status(rank, quern_group_create(&args, 1, &group), QUERN_PEER_MISMATCH);
        rank_check_detail(rank, "host_ranks is 2, and so many other ranks of this host have come");
        return QUERN_OK;
    }
    snprintf(name, sizeof name, "%s@a", rank->name);
    rank_meeting_place(path, sizeof path, name);
    struct quern_segment *segment = ranks_find_forming(path, 1);
    rank_check(rank, segment, "nobody comes to %s", path);
    __atomic_store_n(&segment->seated, 2, __ATOMIC_SEQ_CST);
    rank_status(rank, quern_group_create(&args, 1, &group), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "host_ranks is 2, and so many other ranks of this host have come");
    munmap(segment, sizeof *segment);
    return QUERN_OK;
}

/* ---- a rank that does not come ---- */

/* Ranks 0 and 1 are of one host, 2 and 3 of the other.  Rank 3 takes nothing while all the others send to it and exchange much. */
static quern_status leave_one_out(struct rank *rank) {
    enum { BYTES = 1 << 20 };
    struct hosts_board *board = rank->shared;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char *memory = malloc(3 * BYTES);
    rank_check(rank, memory, "no memory");
    for (int i = 0; i < 3 * BYTES; i++) memory[i] = (unsigned char)(rank->rank == 3 ? 0 : i * 13 + rank->rank);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    quern_transfer_args list = QUERN_TRANSFER_ARGS_INIT;
    quern_transfer_item items[3];
    for (int i = 0; i < 3; i++)
        items[i] = (quern_transfer_item){.receive = rank->rank == 3, .peer = rank->rank == 3 ? i : 3, .tag = 1,
                                         .memory = memory + (rank->rank == 3 ? i * BYTES : 0), .bytes = BYTES};
    list.items = items, list.item_count = rank->rank == 3 ? 3 : 1, list.key = 7;
    quern_transfer *transfer;
    rank_ok(rank, quern_transfer_prepare(group, &list, &transfer));
    if (rank->rank < 3) {
        rank_ok(rank, quern_transfer_start(transfer, NULL));
        quern_barrier_args some = QUERN_BARRIER_ARGS_INIT;
        some.members = (const int[]){0, 1, 2}, some.member_count = 3;
        for (int round = 0; round < 200; round++) rank_ok(rank, quern_barrier(group, &some, NULL));
        __atomic_add_fetch(&board->counts[0], 1, __ATOMIC_ACQ_REL);
    } else {
        for (int i = 0; i < 60000 && __atomic_load_n(&board->counts[0], __ATOMIC_ACQUIRE) < 3; i++) rank_sleep(0.01);
        rank_check(rank, board->counts[0] == 3, "the others wait for a rank that is not of their call");
        rank_ok(rank, quern_transfer_start(transfer, NULL));
    }
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    for (int i = 0; rank->rank == 3 && i < 3 * BYTES; i++)
        rank_check(rank, memory[i] == (unsigned char)(i % BYTES * 13 + i / BYTES), "byte %d is %d", i, memory[i]);
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    free(memory);
    return quern_group_destroy(group);
}

Test(relay, a_rank_that_does_not_come_holds_up_nobody) {
    relay_all();
    check_ranks(.kind = RANK_BOTH, .count = 4, .hosts = 2, .function = leave_one_out, .shared_bytes = sizeof(struct hosts_board));
}

/* Much goes one way and nothing the other: credit comes back though the sender awaits no message. */
static quern_status send_one_way(struct rank *rank) {
    enum { BYTES = 1 << 20 };
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    const int last = rank->ranks - 1;
    int32_t none[4] = {0}, sends[4] = {0}, gets[4] = {0};
    unsigned char *input = malloc(BYTES), *output = calloc(1, BYTES);
    rank_check(rank, input && output && rank->ranks <= 4, "no memory");
    for (int i = 0; i < BYTES; i++) input[i] = (unsigned char)(i * 7 + i / 253);
    if (rank->rank == 0) sends[last] = BYTES;
    if (rank->rank == last) gets[0] = BYTES;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = input, args.output = output, args.input_rows = args.output_rows = BYTES, args.row_bytes = 1, args.updates = 1;
    args.input_offsets = none, args.send_sizes = sends, args.output_offsets = none, args.recv_sizes = gets;
    rank_exchange_once(rank, group, &args);
    if (rank->rank == last) rank_check(rank, !memcmp(input, output, BYTES), "other bytes have come");
    free(input);
    free(output);
    return quern_group_destroy(group);
}

Test(relay, much_goes_one_way) {
    relay_all();
    check_ranks(.kind = RANK_BOTH, .count = 4, .hosts = 2, .function = send_one_way);
}

/* ---- frames that no rank has sent ---- */

/* A process that is no rank changes words of a ring: a status, and nothing is written but the buffers of calls. */
static quern_status scribble(struct rank *rank) {
    const enum quern_ring_way way = *(const enum quern_ring_way *)rank->user;
    for (uint64_t seed = 0; seed < (uint64_t)test_size(12, 3); seed++) {
        struct quern_membership *member;
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        quern_group *group;
        args.job = seed + 1;
        rank_ok(rank, quern_group_create(&args, 1, &group));
        rank_ok(rank, quern_member_of(group, &member));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_line_up(rank);
        if (rank->rank == 0) {
            struct quern_relay_ring *ring = quern_segment_ring(&member->roster->view, member->roster->peer[0].slot, way);
            const uint64_t written = ring->written;
            for (int i = 0; i < QUERN_RING_BYTES; i++) ring->bytes[i] = (unsigned char)random_bits(seed, (uint64_t)i);
            __atomic_store_n(&ring->written, seed % 3 ? written + 24 : written + (random_bits(seed, 7) | 1), __ATOMIC_SEQ_CST);
            quern_ring(&member->segment->relay);
            const uint32_t *poison = &member->segment->poison;
            for (int look = 0; way == QUERN_RING_OUT && look < 600000 && !__atomic_load_n(poison, __ATOMIC_ACQUIRE); look++)
                rank_sleep(1e-3);  /* else the rank writes there again first */
        }
        rank_line_up(rank);
        quern_status status = QUERN_OK;
        for (int round = 0; status == QUERN_OK && round < 20; round++) status = quern_barrier(group, NULL, NULL);
        if (status != QUERN_OK || way == QUERN_RING_OUT) {  /* into the other ring the relay may write before the rank looks */
            rank_status(rank, status, QUERN_PEER_MISMATCH);
            rank_check_detail(rank, way == QUERN_RING_OUT ? "what rank 0 sends to ranks of other hosts is damaged" : "is damaged");
        }
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
    }
    return QUERN_OK;
}

Test(relay, scribbles_in_rings) {
    static const enum quern_ring_way ways[] = {QUERN_RING_OUT, QUERN_RING_IN};
    relay_all();
    for (size_t i = 0; i < COUNT(ways); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = scribble, .user = &ways[i]);
}

/*
 * Rank 2 relays for its host and leaves; rank 3 of that host stays behind, or leaves when the relay has ended.  Who waits for
 * rank 3 alone is told so, and so is rank 3, which waits for the others.
 */
static quern_status lose_the_relay(struct rank *rank) {
    static const int behind[] = {0, 3};
    const bool *leaves = rank->user;
    quern_barrier_args some = QUERN_BARRIER_ARGS_INIT;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    some.members = behind;
    some.member_count = 2;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank == 2) rank_ok(rank, quern_group_destroy(group));
    rank_line_up(rank);  /* destroying it has ended the relay */
    if (rank->rank == 3 && *leaves) rank_ok(rank, quern_group_destroy(group));
    rank_line_up(rank);
    if (rank->rank == 2 || (rank->rank == 3 && *leaves)) return QUERN_OK;
    if (rank->rank == 1) return quern_group_destroy(group);
    rank_status(rank, quern_barrier(group, &some, NULL), QUERN_PEER_LOST);
    if (rank->rank == 0) rank_check_detail(rank, "is lost: the rank that relayed for its host has left");
    return quern_group_destroy(group);
}

Test(relay, a_rank_without_its_relay_is_lost) {
    relay_all();
    for (int leaves = 0; leaves < 2; leaves++)
        check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = lose_the_relay, .user = &(bool){leaves});
}

static void send_bytes(int socket, const void *bytes, size_t count) {
    check(send(socket, bytes, count, MSG_NOSIGNAL) == (ssize_t)count, "the relay takes nothing");
}

struct relay_under_test {
    int ends[2];
    struct quern_membership member;  /* ends with an array */
};

static void start_relay(struct relay_under_test *test) {
    relay_all();
    test->member.roster = played_roster(2);
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, test->ends) == 0, "no socket");
    check(quern_start_relay(test->member.roster, (const int[]){-1, -1, test->ends[0], -1}), "no thread");
}

static void end_relay(struct relay_under_test *test) {
    struct quern_segment *segment = test->member.roster->segment;
    segment->rank[0].state = segment->rank[1].state = QUERN_RANK_LEFT;
    quern_leave_relay(&test->member);
    close(test->ends[1]);
    played_roster_free(test->member.roster);
}

static bool becomes(const uint32_t *word, uint32_t value) {
    for (int i = 0; i < 600000 && __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; i++) rank_sleep(1e-3);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

/* Right seals and wrong content: another sender, receiver, stream or length than there is; and rubbish. */
Test(relay, frames_that_no_relay_sends) {
    static const struct quern_relay_frame wrong[] = {
        {.from = 1, .to = 0},                        /* of a rank of this host */
        {.from = 9, .to = 0},
        {.from = 0xffff, .to = 0},
        {.from = 2, .to = 3},                        /* to a rank of its own host */
        {.from = 2, .to = 4},
        {.from = 2, .to = 0xffff},
        {.from = 2, .to = 0, .stream = QUERN_STREAMS},
        {.from = 2, .to = 0, .bytes = QUERN_FRAME_BYTES + 1},
        {.from = 2, .to = 0, .seal = 1},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct relay_under_test test = {.ends = {-1, -1}};
        struct quern_relay_frame frame = wrong[i], right = {.from = 3, .to = 1, .bytes = 5};
        char bytes[QUERN_FRAME_BYTES + 1] = "12345";
        start_relay(&test);
        struct quern_segment *segment = test.member.roster->segment;
        struct quern_ring_end in = {quern_segment_ring(&test.member.roster->view, 1, QUERN_RING_IN), 0};
        quern_seal_frame(&right);
        send_bytes(test.ends[1], &right, sizeof right);
        send_bytes(test.ends[1], bytes, 5);
        struct quern_relay_frame came;
        for (int look = 0; look < 600000 && quern_ring_look(&in, &came) == QUERN_RING_EMPTY; look++) rank_sleep(1e-3);
        check(quern_ring_look(&in, &came) == QUERN_RING_FRAME && !memcmp(&came, &right, sizeof came), "a right frame is lost");
        check(!segment->poison, "frame %zu: poisoned before it has come", i);
        if (!frame.seal) quern_seal_frame(&frame);
        send_bytes(test.ends[1], &frame, sizeof frame);
        (void)!send(test.ends[1], bytes, frame.bytes, MSG_NOSIGNAL);  /* the relay may have hung up */
        check(becomes(&segment->poison, QUERN_PEER_MISMATCH), "frame %zu is taken", i);
        end_relay(&test);
    }
}

/* ---- a sender and its window ---- */

/* Rank 0 sends to ranks of the other host, and the test is the relay, which takes all. */
struct sender_under_test {
    struct quern_span span;
    struct quern_ring_end out, in;
    struct quern_membership member;  /* ends with an array */
};

static void open_sender(struct sender_under_test *test) {
    relay_all();
    struct quern_roster *roster = played_roster(2);
    test->member.roster = roster;
    test->member.segment = roster->segment;
    test->member.ranks = roster->ranks;
    test->member.span = &test->span;
    test->out.ring = quern_segment_ring(&roster->view, 0, QUERN_RING_OUT);
    test->in.ring = quern_segment_ring(&roster->view, 0, QUERN_RING_IN);
    check(quern_relayed_streams.open(&test->member), "no memory");
}

static void close_sender(struct sender_under_test *test) {
    quern_relayed_streams.close(&test->member);
    played_roster_free(test->member.roster);
}

/* The bytes that it sends until it stops, with a ring that is always empty again. */
static size_t send_all_it_can(struct sender_under_test *test, enum quern_stream stream, int peer) {
    enum { MUCH = 1 << 20 };
    static unsigned char data[MUCH], taken[QUERN_FRAME_BYTES];
    struct quern_relay_frame frame;
    size_t sent = 0, left_ring = 0;
    for (;;) {
        const ssize_t moved = quern_relayed_streams.put(&test->member, stream, peer, &(struct iovec){data, MUCH}, 1);
        while (quern_ring_look(&test->out, &frame) == QUERN_RING_FRAME) {
            check(frame.from == 0 && frame.to == peer && frame.stream == stream, "a frame to rank %d", frame.to);
            quern_ring_take(&test->out, &frame, taken);
            left_ring += frame.bytes;
        }
        if (moved <= 0 || sent > 8 * MUCH) break;
        sent += (size_t)moved;
    }
    check(sent == left_ring, "%zu bytes are sent, and %zu are in frames", sent, left_ring);
    return sent;
}

static void expect_sent(size_t sent, size_t expected) {
    check(sent == expected, "%zu bytes are sent: expected %zu", sent, expected);
}

/* Each pair and stream has a window, and goes on by what the receiver says that it has taken, to the byte. */
Test(relay, a_sender_keeps_to_its_window) {
    static const uint32_t credits[] = {1, 1000, QUERN_FRAME_BYTES + 7};
    static struct sender_under_test sender;
    struct sender_under_test *test = &sender;
    open_sender(test);
    const size_t window = quern_stream_window(test->member.ranks);
    expect_sent(send_all_it_can(test, QUERN_STREAM_CALLS, 2), window);
    expect_sent(send_all_it_can(test, QUERN_STREAM_CALLS, 2), 0);
    expect_sent(send_all_it_can(test, QUERN_STREAM_CALLS, 3), window);
    expect_sent(send_all_it_can(test, QUERN_STREAM_TRANSFERS, 2), window);
    for (size_t i = 0; i < COUNT(credits); i++) {
        struct quern_relay_frame frame = {.from = 2, .to = 0, .stream = QUERN_STREAM_CALLS, .credit = credits[i]};
        quern_seal_frame(&frame);
        quern_ring_write(&test->in, &frame, NULL);
        expect_sent(send_all_it_can(test, QUERN_STREAM_CALLS, 3), 0);
        expect_sent(send_all_it_can(test, QUERN_STREAM_TRANSFERS, 2), 0);
        expect_sent(send_all_it_can(test, QUERN_STREAM_CALLS, 2), credits[i]);
    }
    check(!test->member.segment->poison, "poisoned");
    close_sender(test);
}

/* Takes all frames out of a ring.  Returns the credit in them for a rank. */
static uint32_t take_credit(struct sender_under_test *test, int peer) {
    static unsigned char taken[QUERN_FRAME_BYTES];
    struct quern_relay_frame frame;
    uint32_t credit = 0;
    while (quern_ring_look(&test->out, &frame) == QUERN_RING_FRAME) {
        quern_ring_take(&test->out, &frame, taken);
        if (frame.to == peer) credit += frame.credit;
    }
    return credit;
}

/* A sender may wait for credit that had no room when the bytes were taken: nothing comes from it before. */
Test(relay, credit_without_room_is_given_later) {
    static struct sender_under_test receiver;
    static unsigned char bytes[QUERN_FRAME_BYTES];
    struct sender_under_test *test = &receiver;
    open_sender(test);
    struct quern_ring_end in = test->in;
    const size_t half = quern_stream_window(test->member.ranks) / 2;
    while (quern_relayed_streams.put(&test->member, QUERN_STREAM_CALLS, 3, &(struct iovec){bytes, sizeof bytes}, 1) > 0) {}
    /* Less than a head is left. */
    quern_relayed_streams.put(&test->member, QUERN_STREAM_TRANSFERS, 3, &(struct iovec){bytes, 8}, 1);
    while (quern_relayed_streams.put(&test->member, QUERN_STREAM_TRANSFERS, 3, &(struct iovec){bytes, 1}, 1) > 0) {}
    for (size_t came = 0; came < half; came += sizeof bytes) {
        struct quern_relay_frame frame = {.from = 2, .to = 0, .stream = QUERN_STREAM_CALLS, .bytes = sizeof bytes};
        quern_seal_frame(&frame);
        quern_ring_write(&in, &frame, &(struct iovec){bytes, sizeof bytes});
        const struct iovec part = {bytes, sizeof bytes};
        const ssize_t got = quern_relayed_streams.get(&test->member, QUERN_STREAM_CALLS, 2, &part, 1);
        check(got == sizeof bytes, "%zd bytes come", got);
    }
    check(take_credit(test, 2) == 0, "the ring had room for credit");
    check(quern_relayed_streams.heard(&test->member, QUERN_STREAM_CALLS) != NULL, "damaged");
    const uint32_t credit = take_credit(test, 2);
    check(credit >= half, "%u bytes of credit are given: expected at least %zu", credit, half);
    check(!test->member.segment->poison, "poisoned");
    close_sender(test);
}

/* More than the windows of all senders: somebody does not keep to them. */
Test(relay, more_than_the_windows_is_damage) {
    struct relay_under_test test = {.ends = {-1, -1}};
    struct quern_relay_frame frame = {.from = 2, .to = 0, .bytes = QUERN_FRAME_BYTES};
    static char bytes[QUERN_FRAME_BYTES];
    start_relay(&test);
    const uint32_t *poison = &test.member.roster->segment->poison;
    const size_t within = 2 * QUERN_STREAMS * quern_stream_window(4) / sizeof bytes, most = 40 * within;
    size_t sent = 0;
    quern_seal_frame(&frame);
    for (; sent < most && !__atomic_load_n(poison, __ATOMIC_ACQUIRE); sent++) {
        if (send(test.ends[1], &frame, sizeof frame, MSG_NOSIGNAL) < 0 ||
            send(test.ends[1], bytes, sizeof bytes, MSG_NOSIGNAL) < 0) break;
        if (sent == within) rank_sleep(0.5);
        if (sent == within) check(!__atomic_load_n(poison, __ATOMIC_ACQUIRE), "what the windows allow is refused");
    }
    check(becomes(poison, QUERN_PEER_MISMATCH), "%zu frames are taken", sent);
    end_relay(&test);
}

/* What has no room in a ring waits, in its order, and nobody else waits for it. */
Test(relay, what_has_no_room_waits) {
    enum { FRAMES = 10 };
    struct relay_under_test test = {.ends = {-1, -1}};
    struct quern_relay_frame frame = {.from = 2, .to = 0, .bytes = QUERN_FRAME_BYTES}, other = {.from = 2, .to = 1}, came;
    unsigned char bytes[QUERN_FRAME_BYTES];
    start_relay(&test);
    struct quern_ring_end slow = {quern_segment_ring(&test.member.roster->view, 0, QUERN_RING_IN), 0},
                          quick = {quern_segment_ring(&test.member.roster->view, 1, QUERN_RING_IN), 0};
    quern_seal_frame(&frame);
    quern_seal_frame(&other);
    for (int i = 0; i < FRAMES; i++) {
        memset(bytes, i, sizeof bytes);
        send_bytes(test.ends[1], &frame, sizeof frame);
        send_bytes(test.ends[1], bytes, sizeof bytes);
    }
    send_bytes(test.ends[1], &other, sizeof other);
    for (int look = 0; look < 600000 && quern_ring_look(&quick, &came) == QUERN_RING_EMPTY; look++) rank_sleep(1e-3);
    check(quern_ring_look(&quick, &came) == QUERN_RING_FRAME && came.to == 1, "a rank waits for the frames of another one");
    for (int i = 0; i < FRAMES; i++) {
        for (int look = 0; look < 600000 && quern_ring_look(&slow, &came) == QUERN_RING_EMPTY; look++) rank_sleep(1e-3);
        check(quern_ring_look(&slow, &came) == QUERN_RING_FRAME, "frame %d does not come", i);
        quern_ring_take(&slow, &came, bytes);
        check(bytes[0] == i && bytes[QUERN_FRAME_BYTES - 1] == i, "frame %d is frame %d", i, bytes[0]);
    }
    check(!test.member.roster->segment->poison, "poisoned");
    end_relay(&test);
}
