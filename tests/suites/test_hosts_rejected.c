/*
 * Meetings with connections that are rejected, hosts that do not fit together, and messages that no rank would send: no meeting of
 * the right hosts fails, no rank writes beyond what is its own, and each call returns a status in time.
 *
 * Runs on: ranks.
 */
#include <arpa/inet.h>

#include "harness/device.h"
#include "harness/gather_store.h"
#include "harness/played_host.h"
#include "harness/random.h"
#include "os/clock.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"
#include "ranks/poison.h"
#include "ranks/heartbeat.h"

static const char SECRET[] = "a secret of tests";

/* Seconds: the limit of a creation that must end by it.  All ranks that come do so within this time. */
static const double LATE = 8;

/* ---- rejected connections ---- */

static int connect_to(const char *meet) {
    struct quern_address address;
    struct sockaddr_storage name;
    check(quern_address_read(meet, &address), "%s", meet);
    const socklen_t bytes = quern_address_out(&address, &name);
    for (int attempt = 0; attempt < 60000; attempt++) {
        const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (socket_ >= 0 && connect(socket_, (struct sockaddr *)&name, bytes) == 0) return socket_;
        close(socket_);
        rank_sleep(0.01);
    }
    check(false, "nobody listens at %s", meet);
    return -1;
}

/* What a rejected connection says is read only as far as it makes sense, so the rest may fail. */
static void say(int socket_, const void *bytes, size_t count) { if (send(socket_, bytes, count, MSG_NOSIGNAL) < 0) return; }

/* A hello as the group's own ranks say it. */
static struct quern_hello fresh_hello(const unsigned char *key) {
    struct quern_handshake handshake;
    check(quern_handshake_call(&handshake, -1, key, QUERN_CALL_MEETING, 1, 0), "no random numbers");
    return handshake.hello;
}

static void hear(int socket_, void *bytes, size_t count, const char *what) {
    check(recv(socket_, bytes, count, MSG_WAITALL) == (ssize_t)count, "no %s", what);
}

static int greet(const char *meet, const struct quern_hello *hello) {
    const int one = connect_to(meet);
    say(one, hello, sizeof *hello);
    return one;
}

static void finish(int socket_) {
    char answer[256];
    struct timeval limit = {.tv_sec = 60};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    shutdown(socket_, SHUT_WR);
    while (recv(socket_, answer, sizeof answer, 0) > 0) continue;
    close(socket_);
}

static void disturb(const char *meet, const unsigned char *key) {
    static const char http[] = "GET / HTTP/1.1\r\n\r\n";
    struct quern_hello hello = fresh_hello(key);
    unsigned char wrong_proof[32] = {1};
    struct quern_challenge challenge;
    struct quern_welcome refusal;
    int one = connect_to(meet);                                       /* garbage */
    say(one, http, sizeof http);
    check(recv(one, &challenge, 1, 0) <= 0, "garbage is answered");
    close(one);
    close(connect_to(meet));                                          /* a port scanner */
    one = greet(meet, &hello);                                        /* a false proof, ... */
    hear(one, &challenge, sizeof challenge, "answer to a hello");
    say(one, wrong_proof, sizeof wrong_proof);
    hear(one, &refusal, sizeof refusal, "refusal");
    check(!strcmp(refusal.word, "refused"), "another word");
    finish(one);
    finish(greet(meet, &hello));                                      /* ... and its hello again */
    hello = fresh_hello(key);                                         /* another version */
    hello.version++;
    one = greet(meet, &hello);
    hear(one, &challenge, sizeof challenge, "answer to another version");
    check(challenge.version + 1 == hello.version, "another version does not hear of this one");
    finish(one);
}

struct meeting {
    double late;              /* seconds after which host 1 comes */
    const char *expected[6];  /* in the report */
};

static quern_status meet_late(struct rank *rank) {
    const struct meeting *meeting = rank->user;
    while (rank->rank == 1 && !__atomic_load_n((int *)rank->shared, __ATOMIC_ACQUIRE)) rank_sleep(0.01);
    const double began = rank_now();
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_check(rank, rank->rank == 0 || rank_now() - began < RANK_SOON, "the meeting took %g s", rank_now() - began);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    for (size_t i = 0; i < COUNT(meeting->expected) && meeting->expected[i]; i++)
        rank_check_report(rank, group, meeting->expected[i]);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

static struct rank_run *start_meeting(const struct meeting *meeting, unsigned char key[QUERN_DIGEST_BYTES]) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = meet_late,
                                                       .user = meeting, .shared_bytes = 64});
    quern_make_key(SECRET, sizeof SECRET - 1, ranks_name(run), 0, key);
    return run;
}

static void end_meeting(struct rank_run *run) {
    __atomic_store_n((int *)ranks_shared(run), 1, __ATOMIC_RELEASE);
    const char *wrong = ranks_wait(run, NULL);
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

Test(hosts_rejected, connections_are_counted_by_reason) {
    unsigned char key[QUERN_DIGEST_BYTES];
    struct rank_run *run = start_meeting(&(struct meeting){.expected = {"2 garbage or hung up", "1 another secret, name or job",
                                                                        "1 a repeated hello", "1 too slow",
                                                                        "1 another version of the library"}},
                                         key);
    const int slow = connect_to(ranks_meet(run));
    disturb(ranks_meet(run), key);
    char none;
    check(recv(slow, &none, 1, 0) <= 0, "the slow one is answered");  /* the listener has hung up */
    end_meeting(run);
    close(slow);
}

/* The flood stays until the group is made: a listener that comes late still finds more of them than it has places. */
Test(hosts_rejected, a_flood_does_not_keep_hosts_away) {
    enum { FLOOD = 300 };
    unsigned char key[QUERN_DIGEST_BYTES];
    int flood[FLOOD];
    struct rank_run *run = start_meeting(&(struct meeting){.expected = {"crowded out"}}, key);
    for (int i = 0; i < FLOOD; i++) flood[i] = connect_to(ranks_meet(run));
    end_meeting(run);
    for (int i = 0; i < FLOOD; i++) close(flood[i]);
}

/* A hello, with bytes flipped, cut off or too long: 2,000 rounds at one meeting, which then takes place. */
Test(hosts_rejected, fuzzed_hellos) {
    unsigned char key[QUERN_DIGEST_BYTES];
    struct rank_run *run = start_meeting(&(struct meeting){.expected = {"connections rejected at the listeners"}}, key);
    const uint64_t rounds = (uint64_t)test_size(2000, 300);
    for (uint64_t round = 0; round < rounds; round++) {
        unsigned char bytes[2 * sizeof(struct quern_hello)];
        struct quern_hello hello = fresh_hello(key);
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)random_bits(round, i);
        memcpy(bytes, &hello, sizeof hello);
        size_t count = sizeof hello;
        for (uint64_t flips = random_below(1, round, 4); flips; flips--)
            bytes[random_below(2, round * 8 + flips, sizeof hello)] ^= (unsigned char)(1 << random_below(3, round * 8 + flips, 8));
        if (round % 3 == 1) count = (size_t)random_below(4, round, sizeof hello);
        if (round % 3 == 2) count = sizeof bytes;
        const int one = connect_to(ranks_meet(run));
        say(one, bytes, count);
        if (round % 16) close(one);
        else finish(one);
    }
    end_meeting(run);
}

/* ---- hosts that do not fit together ---- */

/*
 * What one rank asks for that does not fit to the others, of one host or several, which meet at a place or by an all-gather of the
 * engine; and what they get.  0, NULL: as the others have it.
 */
static const struct misfit {
    int count, hosts, by;
    bool gathers;
    quern_status status;
    const char *detail, *own_detail;  /* of the others, and of that rank; NULL: the same */
    int ranks, host_ranks, rank;
    uint32_t first_epoch;
    double failure_timeout;
    const char *secret, *meet, *host;
} misfits[] = {
    {2, 2, 1, false, QUERN_PEER_MISMATCH, "is being formed with 2 ranks, and a host expects 3", "a host expects 3", .ranks = 3},
    {3, 3, 1, true, QUERN_PEER_MISMATCH, "being formed with 3 ranks, and rank 1 expects 4", "", .ranks = 4},  /* a part too few */
    {2, 2, 1, false, QUERN_PEER_MISMATCH, "first_epoch is 0, and that of a host is 7", "that of a host is 7", .first_epoch = 7},
    {3, 3, 2, true, QUERN_PEER_MISMATCH, "first_epoch of rank 2 is 7, and that of rank 0 is 0", .first_epoch = 7},
    {4, 2, 3, false, QUERN_PEER_MISMATCH, "failure_timeout of rank 3 is 0.2 s, and that of rank 0 is # s", .failure_timeout = 0.2},
    {4, 2, 1, false, QUERN_PEER_MISMATCH, "failure_timeout of rank 1 is 0.2 s, and that of rank 0 is # s", .failure_timeout = 0.2},
    {2, 1, 1, false, QUERN_PEER_MISMATCH, "failure_timeout of rank 1 is 0.2 s, and that of rank 0 is # s", .failure_timeout = 0.2},
    {3, 2, 1, true, QUERN_PEER_MISMATCH, "failure_timeout of rank 1 is 2.5 s, and that of rank 0 is # s", .failure_timeout = 2.5},
    {2, 2, 1, false, QUERN_PEER_TIMEOUT, "another secret, name or job", .secret = "another secret of tests"},
    {3, 3, 1, true, QUERN_PEER_MISMATCH, "the part of rank 1 is damaged, or has another secret", "",
     .secret = "another secret of tests"},
    /* Which of two that count their host differently was first is chance: the first has the place, and the other is refused. */
    {4, 2, 3, false, QUERN_PEER_MISMATCH, "being formed with # ranks of this host, and rank # expects #", .host_ranks = 3},
    /* More ranks than there are, of rank 0's host, which then waits for one that has come from elsewhere. */
    {2, 2, 0, false, QUERN_PEER_MISMATCH, "host_ranks of rank 0 is 2, and other hosts have brought 1 of the group's 2 ranks",
     .host_ranks = 2},
    {3, 3, 1, true, QUERN_PEER_TIMEOUT, "rank 1: quern_group_create waited", .host_ranks = 2},
    /* Two hosts bring one rank: both have the same name for memory on a machine of their own. */
    {3, 3, 2, false, QUERN_INVALID_ARGUMENT, "rank 1 is on two hosts", .rank = 1},
    /* A rank of a host does not come to it: its host's ranks wait to their limit, and then all hear of it. */
    {4, 2, 3, true, QUERN_PEER_TIMEOUT, "rank 2: ", .host = "elsewhere"},
    /* One that cannot listen has an answer for all, and nobody waits for it. */
    {3, 3, 2, true, QUERN_SYSTEM_ERROR, "rank 2: listening at 192.0.2.1", .meet = "192.0.2.1"},
};

static void join_unfit(struct rank *rank) {
    const struct misfit *misfit = rank->user;
    struct gatherer gatherer = {.rank = rank};
    quern_group_args args = rank_group_args(rank, misfit->status == QUERN_PEER_TIMEOUT ? LATE : RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    const bool differs = rank->rank == misfit->by, has_own = differs && misfit->own_detail;
    if (misfit->gathers) hosts->meet = NULL, hosts->all_gather = gather_all, hosts->all_gather_user = &gatherer;
    if (differs) {
        if (misfit->ranks) args.ranks = misfit->ranks;
        if (misfit->host_ranks) hosts->host_ranks = misfit->host_ranks;
        if (misfit->rank) args.rank = misfit->rank;
        args.first_epoch = misfit->first_epoch;
        if (misfit->failure_timeout != 0) hosts->failure_timeout = misfit->failure_timeout;
        if (misfit->secret) hosts->secret = misfit->secret, hosts->secret_bytes = strlen(misfit->secret);
        if (misfit->meet) hosts->meet = misfit->meet;
        if (misfit->host) hosts->host = misfit->host;
    }
    rank_line_up(rank);
    rank_refuse_group(rank, &args, misfit->status, has_own ? misfit->own_detail : misfit->detail);
}

Test(hosts_rejected, ranks_that_do_not_fit_together) {
    for (size_t i = 0; i < COUNT(misfits); i++) {
        const char *wrong = ranks_run(&(struct ranks){.kind = misfits[i].gathers ? RANK_BOTH : RANK_PROCESSES, .user = &misfits[i],
                                                      .count = misfits[i].count, .hosts = misfits[i].hosts,
                                                      .body = join_unfit});
        check(!wrong, "misfit %zu: %s", i, wrong);
    }
}

TEST_BODY(hosts_rejected, a_host_that_awaits_too_many_says_so, .kind = RANK_PROCESSES, .count = 3, .hosts = 3) {
    quern_group_args args = rank_group_args(rank, rank->rank == 1 ? LATE : RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    if (rank->rank == 1) hosts->host_ranks = 2;
    rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, "for rank 0, rank 2, of which 1 are of this host");
    if (rank->rank != 1) rank_check_detail(rank, "rank 1: quern_group_create waited # s");
}

/* ---- a place that cannot be opened ---- */

/* Of another program, which is silent or hangs up, or of another machine: the ranks of rank 0's host hear it at once. */
static void have_no_place(struct rank *rank) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    if (rank_host(rank, rank->rank) == 1) return;
    if (rank->user) hosts->meet = rank->user;
    rank_refuse_group(rank, &args, QUERN_SYSTEM_ERROR, hosts->meet);
    if (rank->rank == 1) rank_check_detail(rank, "rank 0: ");
}

static void *hang_up(void *listener) {
    for (int one; (one = accept(*(int *)listener, NULL, NULL)) >= 0;) close(one);
    return NULL;
}

Test(hosts_rejected, a_port_of_another_program) {
    for (int answers = 0; answers < 2; answers++) {
        char meet[32];
        pthread_t thread;
        struct sockaddr_in name;
        int other = bind_anywhere(SOCK_STREAM, 0x7f000002, &name);
        check(other >= 0 && listen(other, 8) == 0, "no port");
        snprintf(meet, sizeof meet, "127.0.0.2:%d", ntohs(name.sin_port));
        if (answers) check(pthread_create(&thread, NULL, hang_up, &other) == 0, "no thread");
        check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .body = have_no_place, .user = meet);
        shutdown(other, SHUT_RDWR);
        if (answers) pthread_join(thread, NULL);
        close(other);
    }
}

Test(hosts_rejected, an_address_of_another_machine) {
    check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .body = have_no_place, .user = "192.0.2.1:4711");
}

TEST_BODY(hosts_rejected, a_host_that_does_not_come_is_named, .kind = RANK_BOTH, .count = 6, .hosts = 3) {
    quern_group_args args = rank_group_args(rank, LATE);
    rank_line_up(rank);
    if (rank_host(rank, rank->rank) == 1) return;
    rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, "rank 2, rank 3, whose hosts did not come");
}

TEST_BODY(hosts_rejected, a_place_where_nobody_is, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    quern_group_args args = rank_group_args(rank, LATE);
    rank_line_up(rank);
    if (rank_host(rank, rank->rank) == 0) return;
    rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, "for the host of rank 0 at 127.0.0.2:");
    rank_check_detail(rank, strerror(ECONNREFUSED));
}

/* ---- a host that knows the secret, and sends what no rank would send ---- */

/*
 * Facts: right ones in the first round, which complete the meeting, so that rank 0 awaits a rank that does not connect.  Then with
 * a bit flipped, in the card or in the fact.  The meeting ends or goes on; it never hangs.  Rank 1 calls until it has ended.
 */
static void flip_a_bit(struct played_card *card, int round) {
    const size_t first = round % 2 ? 0 : offsetof(struct played_card, fact);
    const int64_t bytes = round % 2 ? (int64_t)offsetof(struct played_card, fact) : (int64_t)sizeof card->fact;
    unsigned char *place = (unsigned char *)card + first + random_below(5, (uint64_t)round, bytes);
    if (round) *place ^= (unsigned char)(1 << random_below(6, (uint64_t)round, 8));
}

/* Whether rank 0 has taken the facts of this call. */
static bool bring_facts(int one, const unsigned char *session, struct played_card *card) {
    struct quern_host_answer heard;
    const int32_t count = card->card.count;
    card->card.count = count == 1;  /* a seal of more than there is would read beyond it */
    quern_sign_card(session, &card->card, &card->fact, card->seal);
    card->card.count = count;
    say(one, card, sizeof *card);
    return quern_receive_all(one, &heard, sizeof heard, quern_now() + 60000000000) && heard.status == QUERN_OK;
}

TEST_BODY(hosts_rejected, fuzzed_facts, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    const int rounds = (int)test_size(60, 15);
    int *ended = rank->shared;  /* rounds */
    for (int round = 0; round < rounds; round++) {
        quern_group_args args = rank_group_args(rank, round ? 0.3 : LATE);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        quern_group *group = NULL;
        args.job = (uint64_t)round + 1;
        args.rank = 0, hosts->host = "a", hosts->host_ranks = 1;
        if (rank->rank == 0) {
            quern_status status = quern_group_create(&args, 1, &group);
            __atomic_store_n(ended, round + 1, __ATOMIC_RELEASE);
            rank_check(rank, status != QUERN_OK, "round %d: a group with a host that is none", round);
        } else {
            unsigned char key[QUERN_DIGEST_BYTES], session[QUERN_DIGEST_BYTES];
            struct played_card card = played_card(&args);
            const struct quern_address place = played_place(&args, key);
            struct quern_connector connector;
            int one = -1;
            quern_connector_begin(&connector, &place, key, QUERN_CALL_MEETING, 1, 0);
            while ((one = quern_connector_go(&connector)) < 0 && __atomic_load_n(ended, __ATOMIC_ACQUIRE) <= round)
                rank_sleep(1e-3);
            flip_a_bit(&card, round);
            quern_handshake_session(&connector.handshake, session);
            const bool is_taken = one >= 0 && bring_facts(one, session, &card);
            rank_check(rank, is_taken || round, "right facts are not taken");
            if (one >= 0) close(one);
            quern_connector_end(&connector);
        }
        rank_line_up(rank);
    }
}

/* ---- a host that comes to the meeting and ends while the others connect ---- */

/* Rank 1 brings right facts, connects with rank 0 alone, wholly or in part, and hangs up.  Nobody listens at its own address. */
static void pose_as_a_host(struct rank *rank, const quern_group_args *args, bool wholly) {
    unsigned char key[QUERN_DIGEST_BYTES], meeting_key[QUERN_DIGEST_BYTES], session[QUERN_DIGEST_BYTES];
    struct played_card card = played_card(args);
    struct quern_fact facts[3];
    struct quern_host_answer heard;
    const struct quern_address place = played_place(args, key);
    const int one = played_call(rank, &place, key, QUERN_CALL_MEETING, session);
    quern_sign_card(session, &card.card, &card.fact, card.seal);
    say(one, &card, sizeof card);
    const int64_t soon = quern_now() + 60000000000;
    rank_check(rank, quern_receive_all(one, &heard, sizeof heard, soon) && heard.status == QUERN_OK, "no decision");
    rank_check(rank, quern_receive_all(one, facts, (size_t)args->ranks * sizeof *facts, soon), "no facts");
    close(one);
    quern_make_meeting_key(key, heard.number, meeting_key);
    static const enum quern_call_kind kinds[] = {QUERN_CALL_DATA, QUERN_CALL_TRANSFERS, QUERN_CALL_CONTROL};
    int lines[3] = {-1, -1, -1};
    for (int i = 0; i < (wholly ? 3 : 1); i++) lines[i] = played_call(rank, &facts[0].address, meeting_key, kinds[i], session);
    rank_sleep(0.3);
    for (int i = 0; i < 3; i++)
        if (lines[i] >= 0) close(lines[i]);
}

TEST_BODY_FOR(hosts_rejected, a_host_that_ends_while_others_connect, for (int ranks = 2; ranks <= 3; ranks++),
              .kind = RANK_PROCESSES, .count = ranks, .hosts = ranks) {
    const bool is_last = rank->ranks == 3;       /* then rank 2 waits for rank 1 to its limit, and rank 0 for rank 2 */
    quern_group_args args = rank_group_args(rank, is_last && rank->rank == 2 ? LATE : RANK_LIMIT);
    if (rank->rank == 1) {
        pose_as_a_host(rank, &args, is_last);
        return;
    }
    rank_refuse_group(rank, &args, is_last ? QUERN_PEER_TIMEOUT : QUERN_PEER_LOST,
                      is_last ? "rank 2 waited # s for connections with rank 1 (process 0 on host 127.0.0.2)"
                              : "rank 1 (process 0 on host 127.0.0.2) has ended, or has given up, while rank 0 waited for "
                                "connections");
}

/* Messages between ranks: rank 1 writes bytes of its own into its connection, and rank 0 is in a call. */
TEST_BODY(hosts_rejected, fuzzed_messages, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    const int rounds = (int)test_size(100, 20);
    unsigned char input[256] = {0}, output[512], guard[512];
    memset(guard, 9, sizeof guard);
    for (int round = 0; round < rounds; round++) {
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        args.job = (uint64_t)round + 1;
        quern_group *group = rank_create(rank, &args);
        rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
        void *workspace = rank_allocate(rank, group, 65536);
        if (rank->rank == 1) {
            struct quern_membership *member = quern_begin_visit(group);
            unsigned char bytes[4096];
            const struct quern_rank_set *everyone = &member->everyone;
            struct quern_frame head = {.number = member->net->sent[0]};
            head.tag = quern_make_tag(round % 2 ? QUERN_IN_RAGGED_ALL_TO_ALL : QUERN_IN_BARRIER,
                                      round % 2 ? QUERN_PHASE_ENTRY : QUERN_PHASE_MEETING, quern_members_digest(everyone->words));
            for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)random_bits((uint64_t)round + 777, i);
            head.first = (uint32_t)random_below(11, (uint64_t)round, 2200), head.second = 0;
            head.last = round % 5 ? 0 : random_bits(12, (uint64_t)round);
            memcpy(bytes, &head, sizeof head);
            if (round % 3 == 0)
                bytes[random_below(13, (uint64_t)round, sizeof head)] ^= (unsigned char)(1 << random_below(14, (uint64_t)round, 8));
            say(member->net->socket[0], bytes, sizeof bytes);
            quern_end_visit(group);
        } else {
            const int32_t zero[2] = {0, 0}, one[2] = {1, 1};
            quern_ragged_all_to_all_args exchange = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
            memset(output, 9, sizeof output);
            exchange.input = input, exchange.output = output + 128, exchange.input_rows = exchange.output_rows = 2;
            exchange.row_bytes = 16, exchange.input_offsets = exchange.output_offsets = zero;
            exchange.send_sizes = exchange.recv_sizes = one;
            quern_status status = round % 2 ? quern_ragged_all_to_all(group, &exchange, workspace, 65536, NULL)
                                            : quern_barrier(group, NULL, NULL);
            rank_check(rank, status == QUERN_PEER_MISMATCH || status == QUERN_PEER_LOST, "round %d: %s", round,
                       quern_status_string(status));
            rank_check(rank, !memcmp(output, guard, 128) && !memcmp(output + 160, guard, sizeof output - 160),
                       "round %d wrote beyond the output", round);
        }
        rank_ok(rank, quern_group_destroy(group));
        rank_line_up(rank);
    }
}

/*
 * What a monitor hears: 2,000 connections, each with some right and some wrong messages.  Only the places of that host's ranks
 * change. A monitor that is told to end hears what is there first.
 */

/* Ranks 0 and 1 are of this host, 2 of the one that is heard, 3 of a third one. */
enum { RANKS = PLAYED_RANKS, OWN = PLAYED_HERE };

struct fake {
    struct quern_membership *member;
    struct quern_roster *roster;
};

static struct fake make_fake(void) {
    struct fake fake = {.member = calloc(1, sizeof *fake.member), .roster = played_roster(3)};
    check(fake.member, "no memory");
    fake.member->ranks = RANKS;
    fake.member->failure_timeout = 1500000;
    fake.member->roster = fake.roster;
    fake.member->segment = fake.roster->segment;
    return fake;
}

static void free_fake(struct fake fake) {
    played_roster_free(fake.roster);
    free(fake.member);
}

/* The monitor of such a host has this end of a connection. */
static void start_monitor(struct fake fake, int end) {
    const int control[RANKS] = {-1, -1, end, -1};
    check(quern_start_monitor(fake.member, control), "no thread");
}

/* The same; the other host's end of their connection. */
static int start_fake(struct fake fake) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket");
    start_monitor(fake, ends[0]);
    return ends[1];
}

static void end_fake(struct fake fake, int end) {
    fake.roster->segment->rank[0].state = fake.roster->segment->rank[1].state = QUERN_RANK_LEFT;
    quern_leave_monitor(fake.member);
    close(end);
    free_fake(fake);
}

static uint32_t state_of(struct fake fake) { return __atomic_load_n(&fake.roster->segment->rank[2].state, __ATOMIC_ACQUIRE); }

static void await_loss(struct fake fake) {
    for (int i = 0; i < 600000 && state_of(fake) != QUERN_RANK_ENDED; i++) rank_sleep(1e-3);
    check(state_of(fake) == QUERN_RANK_ENDED, "not lost");
    check(fake.roster->segment->rank[2].loss == QUERN_LOSS_TIMEOUT, "not by silence");
}

/* A host that still connects with others says nothing, and has its creation's limit; one that falls silent is lost. */
Test(hosts_rejected, failure_timeout_counts_from_the_first_word) {
    const uint32_t interval[] = {1, 0};
    struct fake soon = make_fake(), late = make_fake();
    soon.member->failure_timeout = 200000, late.member->failure_timeout = 3600000000;
    const int soon_end = start_fake(soon), late_end = start_fake(late);
    rank_sleep(1);
    check(state_of(soon) == QUERN_RANK_ELSEWHERE, "a host that has not begun is silent");
    say(soon_end, interval, sizeof interval);
    say(late_end, interval, sizeof interval);
    await_loss(soon);
    check(state_of(late) == QUERN_RANK_ELSEWHERE, "silent before the time");
    end_fake(soon, soon_end);
    end_fake(late, late_end);
}

/* ---- heartbeats by datagrams ---- */

/* The library's clock, which moves when a test says so; 0: it is the real one. */
static int64_t virtual_time;  /* atomic */

int64_t __real_quern_now(void);
int64_t __wrap_quern_now(void) {
    const int64_t time = __atomic_load_n(&virtual_time, __ATOMIC_SEQ_CST);
    return time ? time : __real_quern_now();
}

enum { BEAT = 250000000, BEATS_IN_SILENCE = 40, PLACE = 4, OWN_BEAT_BYTES = 8 + OWN * 20 };

/* A monitor with the virtual clock, and the other host, which the test plays. */
struct other_host {
    struct fake fake;
    int line, datagrams;
    struct sockaddr_storage name;  /* of the monitor's socket */
    struct quern_datagram_place place, own;
    uint64_t number;               /* of its last datagram */
};

/* A connection over TCP; a monitor's and the other host's end. */
static void connect_pair(int ends[2]) {
    struct sockaddr_in name;
    const int listener = bind_anywhere(SOCK_STREAM, INADDR_LOOPBACK, &name);
    ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(listen(listener, 1) == 0 && connect(ends[1], (struct sockaddr *)&name, sizeof name) == 0, "no connection");
    ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    check(ends[0] >= 0, "no connection");
    close(listener);
}

static void say_beat(const struct other_host *other) { say(other->line, (const uint32_t[]){1, 0}, 8); }

static struct other_host start_other(void) {
    struct other_host other = {.fake = make_fake(), .own.token = "a token of tests"};
    struct sockaddr_in name;
    int ends[2];
    unsigned char interval[OWN_BEAT_BYTES];
    uint32_t head[2];
    connect_pair(ends);
    other.line = ends[1];
    __atomic_store_n(&virtual_time, 1000 * (int64_t)BEAT, __ATOMIC_SEQ_CST);
    other.fake.member->failure_timeout = BEATS_IN_SILENCE * (BEAT / 1000);
    start_monitor(other.fake, ends[0]);
    hear(other.line, interval, sizeof interval, "heartbeat");
    hear(other.line, head, sizeof head, "head of a place");
    hear(other.line, &other.place, sizeof other.place, "place");
    check(head[0] == PLACE && head[1] > 0 && head[1] <= UINT16_MAX, "the word %u, %u", head[0], head[1]);
    other.datagrams = bind_anywhere(SOCK_DGRAM, INADDR_LOOPBACK, &name);
    check(other.datagrams >= 0, "no port");
    say(other.line, (const uint32_t[]){PLACE, ntohs(name.sin_port)}, 8);
    say(other.line, &other.own, sizeof other.own);
    name.sin_port = htons((uint16_t)head[1]);
    memcpy(&other.name, &name, sizeof name);
    say_beat(&other);
    return other;
}

static void end_other(struct other_host other) {
    __atomic_store_n(&virtual_time, 0, __ATOMIC_SEQ_CST);
    close(other.datagrams);
    end_fake(other.fake, other.line);
}

static void send_datagram(const struct other_host *other, const void *bytes, size_t count) {
    check(sendto(other->datagrams, bytes, count, 0, (const struct sockaddr *)&other->name, sizeof(struct sockaddr_in)) ==
          (ssize_t)count, "a datagram was not sent");
}

static struct quern_datagram make_datagram(struct other_host *other, bool asks) {
    return (struct quern_datagram){.to = other->place, .number = ++other->number, .host = 1, .asks = asks};
}

static void expect_datagram(struct other_host *other, bool asks) {
    struct quern_datagram heard;
    const ssize_t bytes = recv(other->datagrams, &heard, sizeof heard, MSG_TRUNC);
    check(bytes == sizeof heard && !memcmp(&heard.to, &other->own, sizeof heard.to) && heard.host == 0 && heard.asks == asks,
          "%zd bytes, host %d, asks %u", bytes, heard.host, heard.asks);
}

/* So many heartbeats later.  Each is said at the beginning of a look, so that the look before is over when it is heard. */
static void pass(const struct other_host *other, int beats) {
    unsigned char interval[OWN_BEAT_BYTES];
    for (; beats; beats--) {
        __atomic_fetch_add(&virtual_time, BEAT, __ATOMIC_SEQ_CST);
        hear(other->line, interval, sizeof interval, "heartbeat");
    }
}

/*
 * The same, while the monitor does not hear the other host.  It may have heard the last word up to two heartbeats later, while
 * this end was a heartbeat ahead.  Two heartbeats after that it asks, and again at each heartbeat.
 */
static void pass_in_failure_timeout(struct other_host *other, int beats) {
    for (int interval = 1; interval <= beats; interval++) {
        pass(other, 1);
        check(state_of(other->fake) == QUERN_RANK_ELSEWHERE, "lost after %d beats of %d", interval, BEATS_IN_SILENCE);
        if (interval > 5) expect_datagram(other, true);
    }
}

/* When a sixth more than the failure timeout is over.  Then the monitor says no heartbeat. */
static void expect_loss(struct other_host *other, int beats_so_far) {
    pass(other, BEATS_IN_SILENCE + BEATS_IN_SILENCE / 6 - beats_so_far);
    __atomic_fetch_add(&virtual_time, 3 * BEAT, __ATOMIC_SEQ_CST);
    await_loss(other->fake);
}

/* The network is down for nine tenths of the failure timeout, again and again; the connection is still silent when it is back. */
Test(hosts_rejected, a_datagram_is_a_beat) {
    struct other_host other = start_other();
    for (int outage = 0; outage < 3; outage++) {
        pass_in_failure_timeout(&other, BEATS_IN_SILENCE * 9 / 10);
        const struct quern_datagram interval = make_datagram(&other, false);
        send_datagram(&other, &interval, sizeof interval);
        pass(&other, 1);
    }
    expect_loss(&other, 1);
    end_other(other);
}

/* What others send, or repeat, and what a monitor of a third host says, is no heartbeat. */
Test(hosts_rejected, a_false_datagram_is_no_beat) {
    enum { OLD, EARLIER, SHORT, LONG, WRONG_TOKEN, ANOTHER_HOST, NO_HOST, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        struct other_host other = start_other();
        struct {
            struct quern_datagram datagram;
            char more;
        } said = {.datagram = make_datagram(&other, false)};
        pass(&other, 1);
        send_datagram(&other, &said.datagram, sizeof said.datagram);
        pass_in_failure_timeout(&other, BEATS_IN_SILENCE * 9 / 10);
        if (kind != OLD) said.datagram.number += kind == EARLIER ? UINT64_MAX : 1;
        if (kind == WRONG_TOKEN) said.datagram.to.token[15] ^= 1;
        if (kind == ANOTHER_HOST) said.datagram.host = 2;
        if (kind == NO_HOST) said.datagram.host = -1;
        send_datagram(&other, &said, sizeof said.datagram - (kind == SHORT) + (kind == LONG));
        expect_loss(&other, BEATS_IN_SILENCE * 9 / 10);
        end_other(other);
    }
}

/* Only one direction is down: who is heard, but does not hear, is answered, for two heartbeats. */
Test(hosts_rejected, who_asks_is_answered) {
    struct other_host other = start_other();
    for (int round = 0; round < 5; round++) {
        pass(&other, 1);
        say_beat(&other);
        pass(&other, 1);
        say_beat(&other);
        check(recv(other.datagrams, &(char){0}, 1, MSG_DONTWAIT) < 0, "a datagram to one that hears");
        const struct quern_datagram question = make_datagram(&other, true);
        send_datagram(&other, &question, sizeof question);
        expect_datagram(&other, false);
        for (int interval = 0; interval < 2; interval++) {
            say_beat(&other);
            pass(&other, 1);
            expect_datagram(&other, false);
        }
        say_beat(&other);
        pass(&other, 1);
    }
    end_other(other);
}

/* Threads of monitors wait here until they may run. */
static struct {
    int are_held;  /* atomic */
    void *(*run)(void *);
    void *user;
} held;

static void *run_when_let_go(UNUSED void *unused) {
    while (__atomic_load_n(&held.are_held, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
    return held.run(held.user);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user) {
    if (!__atomic_load_n(&held.are_held, __ATOMIC_ACQUIRE)) return __real_pthread_create(thread, attributes, run, user);
    held.run = run, held.user = user;
    return __real_pthread_create(thread, attributes, run_when_let_go, NULL);
}

/* A host whose thread gets no core has been heard all the same, so that one that is lost at once is silent to the others. */
Test(hosts_rejected, a_host_is_heard_before_its_monitor_runs) {
    struct fake fake = make_fake();
    unsigned char interval[256];
    uint32_t head[2];
    __atomic_store_n(&held.are_held, 1, __ATOMIC_RELEASE);
    const int end = start_fake(fake);
    const ssize_t bytes = recv(end, interval, sizeof interval, MSG_DONTWAIT);
    __atomic_store_n(&held.are_held, 0, __ATOMIC_RELEASE);
    check(bytes == 8 + OWN * 20, "%zd bytes", bytes);
    memcpy(head, interval, sizeof head);
    check(head[0] == 1 && head[1] == OWN, "the word %u, of %u ranks", head[0], head[1]);
    end_fake(fake, end);
}

/* ---- the end of a group that has lost a rank ---- */

static int ends_in_order, ends_after_a_loss;

static void note_end(void *user, bool has_failed) { ++*(has_failed ? &ends_after_a_loss : &ends_in_order), (void)user; }

/* UCX is told to close its connections, or to leave them alone: it would wait for a rank that has ended without a word of it. */
static void end_net(int of_two, int of_three, bool is_poisoned, bool has_failed) {
    struct fake fake = make_fake();
    const quern_carrier carrier = {.size = 0};
    check(quern_open_net(fake.member), "no memory");
    fake.member->net->messages = quern_make_messages(&carrier, RANKS, note_end);
    fake.member->net->row = &quern_message_row;
    fake.roster->segment->rank[2].state = (uint32_t)of_two;
    fake.roster->segment->rank[3].state = (uint32_t)of_three;
    fake.roster->segment->poison = is_poisoned;
    ends_in_order = ends_after_a_loss = 0;
    quern_free_net(fake.member);
    check(ends_after_a_loss == has_failed && ends_in_order == !has_failed, "states %d and %d: %d ends after a loss, %d in order",
          of_two, of_three, ends_after_a_loss, ends_in_order);
    check(!fake.member->net, "the net is there");
    free_fake(fake);
}

Test(hosts_rejected, a_lost_rank_is_left_alone) {
    end_net(QUERN_RANK_ELSEWHERE, QUERN_RANK_ELSEWHERE, false, false);
    end_net(QUERN_RANK_LEFT, QUERN_RANK_LEFT, false, false);
    end_net(QUERN_RANK_ENDED, QUERN_RANK_ELSEWHERE, false, true);
    end_net(QUERN_RANK_LEFT, QUERN_RANK_ENDED, false, true);
    end_net(QUERN_RANK_ELSEWHERE, QUERN_RANK_ELSEWHERE, true, true);
}

/* ---- how failure timeout is counted ---- */

static const int64_t SECOND = 1000000000;

/*
 * The network is down for nine tenths of the failure timeout, and the system takes a second, or as long again, to use it.  The
 * last heartbeat before came a heartbeat earlier, at most.  Within the rest there are several attempts, by each side.
 */
Test(hosts_rejected, an_outage_shorter_than_the_failure_timeout_leaves_time_to_be_heard) {
    for (int64_t microseconds = 200000; microseconds < 3600000000; microseconds += microseconds / 3) {
        const struct quern_heartbeat heartbeat = quern_begin_heartbeat((uint32_t)microseconds, 0);
        const int64_t outage = microseconds * 900, link = microseconds < 1000000 ? microseconds * 700 : 700000000;
        const int64_t left = heartbeat.limit - heartbeat.interval - outage - link;
        check(heartbeat.limit <= 2000 * microseconds && left >= 2 * heartbeat.ask && heartbeat.ask > 0 &&
              6 * heartbeat.interval <= microseconds * 1000, "%lld us: %lld ns are left", (long long)microseconds, (long long)left);
    }
}

Test(hosts_rejected, a_process_that_was_stopped_forgives) {
    struct quern_heartbeat heartbeat = quern_begin_heartbeat(1200000, 100 * SECOND);
    check(heartbeat.limit == 2200000000 && heartbeat.interval == 200000000, "%lld and %lld", (long long)heartbeat.limit,
          (long long)heartbeat.interval);
    check(quern_begin_heartbeat(60000000, 0).interval == 250000000, "a beat is never rarer");
    quern_begin_check(&heartbeat, 100 * SECOND + 400000000);
    check(!quern_is_doubtful(&heartbeat, 100 * SECOND) && quern_is_doubtful(&heartbeat, 100 * SECOND - 1), "not after two beats");
    quern_begin_check(&heartbeat, 101 * SECOND + 100000000);
    quern_begin_check(&heartbeat, 102 * SECOND + 200000000);
    check(!quern_is_silent(&heartbeat, 100 * SECOND), "silent at the limit");
    quern_begin_check(&heartbeat, 102 * SECOND + 200000001);
    check(quern_is_silent(&heartbeat, 100 * SECOND) && !quern_is_silent(&heartbeat, 101 * SECOND), "not silent beyond it");
    quern_begin_check(&heartbeat, 104 * SECOND);
    check(!quern_is_silent(&heartbeat, 100 * SECOND), "silent to one who was stopped");
    quern_begin_check(&heartbeat, 105 * SECOND + 100000000);
    quern_begin_check(&heartbeat, 106 * SECOND + 200000000);
    quern_begin_check(&heartbeat, 106 * SECOND + 200000001);
    check(quern_is_silent(&heartbeat, 100 * SECOND), "forgiven for ever");
}

Test(hosts_rejected, the_poisons_of_others_are_awaited_for_a_part_of_the_failure_timeout) {
    static const struct {
        uint32_t failure_timeout;
        int64_t deadline;
    } cases[] = {{200000, 200000000}, {1500000, 200000000}, {3000000, 400000000}, {60000000, 8000000000},
                 {3600000000, 10000000000}};
    for (size_t i = 0; i < COUNT(cases); i++)
        check(quern_poison_timeout(cases[i].failure_timeout) == cases[i].deadline, "%u us: %lld", cases[i].failure_timeout,
              (long long)quern_poison_timeout(cases[i].failure_timeout));
}

/* A message of a monitor, or one that is almost that. */
static size_t make_message(uint64_t round, unsigned char bytes[4096]) {
    const uint32_t word = (uint32_t)random_below(21, round, 5), count = (uint32_t)random_below(22, round, 4);
    const int32_t rank = (int32_t)random_below(23, round, 6) - 1;
    for (size_t i = 0; i < 4096; i++) bytes[i] = (unsigned char)random_bits(round + 4242, i);
    memcpy(bytes, &word, 4);
    memcpy(bytes + 4, &count, 4);
    for (uint32_t i = 0; i < count && word == 1; i++) {
        const uint32_t state[] = {(uint32_t)(i ? 2 : rank), 3 + (uint32_t)random_below(24, round, 4), 1, 2, 0};
        memcpy(bytes + 8 + 20 * i, state, sizeof state);
    }
    if (word == 2) memcpy(bytes + 4, &(uint32_t){0}, 4);
    if (word == 2 && round % 2) memcpy(bytes + 8, &(uint32_t){(uint32_t)rank << 16 | QUERN_PEER_LOST}, 4);
    if (random_below(25, round, 8) == 0) bytes[random_below(26, round, 8)] ^= (unsigned char)(1 << random_below(27, round, 8));
    return word == 1 ? 8 + 20 * count
         : word == 2 ? 8 + 4 + sizeof(struct quern_poison_reason) : (size_t)random_below(28, round, 4096);
}

Test(hosts_rejected, fuzzed_words_of_monitors) {
    const uint64_t rounds = (uint64_t)test_size(2000, 200);
    for (uint64_t round = 0; round < rounds; round++) {
        struct fake fake = make_fake();
        unsigned char bytes[4096];
        struct quern_segment *segment = fake.roster->segment;
        struct quern_segment_place *places = quern_segment_place(&fake.roster->view, 0);
        struct quern_segment_rank ranks_before[OWN];
        struct quern_segment_place *before = malloc(OWN * sizeof *before);
        memcpy(ranks_before, segment->rank, sizeof ranks_before);
        memcpy(before, places, OWN * sizeof *before);
        const int end = start_fake(fake);
        for (int part = 0; part < 3; part++) say(end, bytes, make_message(round * 4 + (uint64_t)part, bytes));
        if (round % 2) shutdown(end, SHUT_WR);
        segment->rank[0].state = segment->rank[1].state = QUERN_RANK_LEFT;
        segment->told = 1;
        quern_leave_monitor(fake.member);
        segment->rank[0].state = segment->rank[1].state = QUERN_RANK_JOINED;
        for (int rank = 0; rank < OWN; rank++) {  /* a poison wakes all */
            places[rank].arrivals = before[rank].arrivals;
            places[rank].eventcount = before[rank].eventcount;
        }
        check(!memcmp(ranks_before, segment->rank, sizeof ranks_before) && !memcmp(before, places, OWN * sizeof *before),
              "round %llu wrote into the places of this host", (unsigned long long)round);
        check(segment->rank[2].state >= QUERN_RANK_LEFT && segment->rank[2].state <= QUERN_RANK_ENDED, "round %llu: state %u",
              (unsigned long long)round, segment->rank[2].state);
        check(segment->rank[3].state == QUERN_RANK_ELSEWHERE, "round %llu: host 1 has spoken for a rank of host 2",
              (unsigned long long)round);
        free(before);
        close(end);
        free_fake(fake);
    }
}
