/*
 * What reaches a shrink of several hosts and is no part of it: connections that are rejected, another program at a port,
 * followers, and coordinators that talk nonsense.
 *
 * Runs on: ranks.
 */
#include <poll.h>
#include <sys/socket.h>

#include "harness/check.h"
#include "harness/shrink_case.h"
#include "os/clock.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"

static quern_status never(UNUSED const void *user) { return QUERN_OK; }

static int64_t never_ends(void) { return quern_now() + (int64_t)(RANK_LIMIT * 1e9); }

/* ---- rejected connections ---- */

/* With the key of the shrink, or with another one.  -1: it has another key. */
static int call_rank(const struct quern_membership *member, int to, const unsigned char *key, enum quern_call_kind kind, int from) {
    struct quern_connector connector;
    unsigned char right[QUERN_DIGEST_BYTES];
    quern_make_shrink_key(member->net->key, right);
    if (!key) key = right;
    quern_connector_begin(&connector, &member->roster->peer[to].address, key, kind, from, to);
    for (int socket; !connector.has_answered;) {
        struct pollfd ready;
        if ((socket = quern_connector_go(&connector)) >= 0) return socket;
        quern_connector_awaits(&connector, &ready);
        poll(&ready, 1, 5);
    }
    quern_connector_end(&connector);
    return -1;
}

/* The listener is there by now. */
static void prove_falsely(struct rank *rank, const struct quern_membership *member, const unsigned char *key) {
    struct sockaddr_storage name;
    struct quern_handshake handshake;
    struct quern_challenge challenge;
    struct quern_welcome refusal;
    const socklen_t bytes = quern_address_out(&member->roster->peer[0].address, &name);
    const int one = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rank_check(rank, one >= 0 && connect(one, (struct sockaddr *)&name, bytes) == 0, "nobody listens");
    rank_check(rank, quern_handshake_call(&handshake, one, key, QUERN_CALL_MEETING, 1, 0), "no random numbers");
    const bool said = send(one, &handshake.hello, sizeof handshake.hello, MSG_NOSIGNAL) == sizeof handshake.hello &&
                      recv(one, &challenge, sizeof challenge, MSG_WAITALL) == sizeof challenge &&
                      send(one, handshake.proof, sizeof handshake.proof, MSG_NOSIGNAL) == sizeof handshake.proof;
    rank_check(rank, said && recv(one, &refusal, sizeof refusal, MSG_WAITALL) == sizeof refusal && recv(one, &refusal, 1, 0) <= 0,
               "a false proof was let in");
    close(one);
}

/* It hangs up, and says no more than that it is there. */
static void await_end(struct rank *rank, int socket) {
    char answer[64];
    for (ssize_t read = 1; read > 0;) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        rank_check(rank, poll(&ready, 1, 20000) == 1, "nonsense was let in");
        read = recv(socket, answer, sizeof answer, MSG_DONTWAIT);
        for (ssize_t i = 0; i < read; i++) rank_check(rank, answer[i] == 'b', "nonsense got a decision");
    }
    close(socket);
}

/* The key is right, the ranks are of another host, or none. */
static void bring_nonsense(struct rank *rank, const struct quern_membership *member, int ranks, uint32_t port, uint32_t living) {
    struct {
        uint32_t ranks, port;
        int64_t deadline;
        uint32_t living[QUERN_GROUP_WORDS];
    } card = {(uint32_t)ranks, port, 1000000000, {living}};
    const int socket = call_rank(member, 0, NULL, QUERN_CALL_MEETING, rank->rank);
    rank_check(rank, quern_send_all(socket, &card, sizeof card, never_ends()), "it has hung up at once");
    await_end(rank, socket);
}

/* No speaker of another host says this, though it knows the key. */
static void call_strangely(struct rank *rank, const struct quern_membership *member, enum quern_call_kind kind, int from) {
    await_end(rank, call_rank(member, 0, NULL, kind, from));
}

/* Another key is that of an earlier shrink, of a group that had another meeting, or of no group at all. */
TEST_BODY(hosts_shrink_rejected, connections_are_counted_by_reason, .kind = RANK_PROCESSES, .count = 3, .hosts = 3) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char stale[QUERN_DIGEST_BYTES] = {1};
    struct quern_membership *member = rank_member_of(rank, group);
    rank_line_up(rank);
    if (rank->rank == 1) {
        rank_check(rank, call_rank(member, 0, stale, QUERN_CALL_MEETING, rank->rank) < 0, "another key was let in");
        prove_falsely(rank, member, stale);
        bring_nonsense(rank, member, rank->ranks, 4711, 5);
        bring_nonsense(rank, member, rank->ranks, 4711, 0);
        bring_nonsense(rank, member, rank->ranks + 1, 4711, 2);
        bring_nonsense(rank, member, rank->ranks, 0, 2);
        bring_nonsense(rank, member, rank->ranks, 1 << 16, 2);
        call_strangely(rank, member, QUERN_CALL_DATA, 1);
        call_strangely(rank, member, QUERN_CALL_MEETING, -1);
        call_strangely(rank, member, QUERN_CALL_MEETING, rank->ranks);
        call_strangely(rank, member, QUERN_CALL_MEETING, 0);
    }
    quern_group *new = NULL;
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    shrink_case_check(rank, new, (1u << rank->ranks) - 1);
    if (!rank->rank) rank_check_report(rank, group, "2 another secret, name or job");
    rank_ok(rank, quern_group_destroy(group));
    shrink_case_use(rank, new);
}

/* The roll call of the shrink, of this rank alone, in which it decides nothing.  The call may end it. */
static quern_status call_the_roll(struct rank *rank, const struct quern_membership *member, struct quern_veto veto, int64_t limit) {
    struct quern_decision decision;
    struct quern_rank_set own = {.count = 0};
    quern_set_add(&own, rank->rank);
    struct quern_quorum *quorum = quern_open_quorum(member, &own, never_ends());
    rank_check(rank, quorum, "no memory");
    const quern_status status = quern_find_quorum(quorum, veto, limit, &decision);
    quern_close_quorum(quorum);
    return status;
}

/* A listener with the key of the shrink at the place of a rank. */
struct coordinator {
    unsigned char key[QUERN_DIGEST_BYTES];
    uint32_t rejections[QUERN_REJECTIONS];
    struct quern_listener listener;
};

static void open_coordinator(struct rank *rank, const struct quern_membership *member, struct coordinator *coordinator) {
    *coordinator = (struct coordinator){.listener = {.socket = -1, .key = coordinator->key, .rejections = coordinator->rejections}};
    quern_make_shrink_key(member->net->key, coordinator->key);
    rank_check(rank, quern_listener_open(&coordinator->listener, &member->roster->peer[rank->rank].address, 2), "no port");
}

/* Another program has the port of the first host by now, and keeps it: that host is a follower, and one of the new group. */
TEST_BODY(hosts_shrink_rejected, with_a_host_whose_port_is_taken, .kind = RANK_PROCESSES, .count = 3, .hosts = 3) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    struct quern_listener other = {.socket = -1, .key = member->net->key, .rejections = (uint32_t[QUERN_REJECTIONS]){0}};
    if (rank->rank == 0)
        rank_check(rank, quern_listener_open(&other, &member->roster->peer[0].address, 3), "no port");
    rank_line_up(rank);
    struct quern_rank_set all = member->everyone, own = {.count = 0};
    quern_set_add(&own, rank->rank);
    struct quern_decision decision;
    struct quern_quorum *quorum = quern_open_quorum(member, &own, never_ends());
    rank_check(rank, quorum, "no memory");
    rank_ok(rank, quern_find_quorum(quorum, (struct quern_veto){never, NULL, NULL}, never_ends(), &decision));
    rank_check(rank, decision.status == QUERN_OK && memcmp(decision.living, all.words, sizeof decision.living) == 0, "%s",
               decision.reason);
    rank_line_up(rank);
    quern_close_quorum(quorum);
    rank_line_up(rank);
    shrink_case_run(rank, group, (1u << rank->ranks) - 1);
    quern_listener_close(&other);
}

/*
 * One that had no port for a while, and one that listened before it was a follower.  The ranks of this test go on one after the
 * other.
 */
enum step { IS_GUEST = 1, PORT_IS_FREE, KNOCKED };

struct borrowed_port {
    struct quern_listener listener;
    unsigned *step;
};

static quern_status give_back(const void *user) {
    struct borrowed_port *port = (struct borrowed_port *)user;
    const unsigned step = __atomic_load_n(port->step, __ATOMIC_ACQUIRE);
    if (step == IS_GUEST) {
        quern_listener_close(&port->listener);
        __atomic_store_n(port->step, PORT_IS_FREE, __ATOMIC_RELEASE);
    }
    return step == KNOCKED ? QUERN_GROUP_ABORTED : QUERN_OK;
}

static void be_a_follower(struct rank *rank, const struct quern_membership *member) {
    uint32_t rejections[QUERN_REJECTIONS] = {0};
    struct borrowed_port port = {{.socket = -1, .key = member->net->key, .rejections = rejections}, rank->shared};
    if (rank->rank == 0) rank_check(rank, quern_listener_open(&port.listener, &member->roster->peer[0].address, 2), "no port");
    rank_line_up(rank);
    rank_status(rank, call_the_roll(rank, member, (struct quern_veto){give_back, &port, NULL}, never_ends()), QUERN_GROUP_ABORTED);
}

/* Nobody is let in while the other rank is a follower here, and it listens as soon as it is none. */
static void be_a_coordinator(struct rank *rank, const struct quern_membership *member) {
    unsigned *step = rank->shared;
    struct coordinator coordinator;
    struct quern_connector connector;
    struct quern_hello hello;
    const int other = 1 - rank->rank;
    int follower;
    char card;
    open_coordinator(rank, member, &coordinator);
    rank_line_up(rank);
    while ((follower = quern_listener_serve(&coordinator.listener, &hello)) < 0) rank_sleep(1e-3);
    rank_check(rank, quern_receive_all(follower, &card, 1, never_ends()), "the follower brings no card");
    __atomic_store_n(step, IS_GUEST, __ATOMIC_RELEASE);
    while (__atomic_load_n(step, __ATOMIC_ACQUIRE) != PORT_IS_FREE) rank_sleep(1e-3);
    quern_connector_begin(&connector, &member->roster->peer[other].address, coordinator.key, QUERN_CALL_MEETING, rank->rank,
                          other);
    for (int i = 0; i < 200; i++) {
        rank_check(rank, quern_connector_go(&connector) < 0, "a follower lets others in");
        rank_check(rank, send(follower, "b", 1, MSG_NOSIGNAL) == 1, "the follower has hung up");
        rank_sleep(2e-3);
    }
    quern_connector_end(&connector);
    quern_listener_close(&coordinator.listener);
    close(follower);
    close(call_rank(member, other, NULL, QUERN_CALL_MEETING, rank->rank));
    __atomic_store_n(step, KNOCKED, __ATOMIC_RELEASE);
}

TEST_RANKS_FOR(hosts_shrink_rejected, a_follower_lets_nobody_in, for (int follower = 0; follower < 2; follower++),
               .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .user = &follower) {
    const int *follower = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    (rank->rank == *follower ? be_a_follower : be_a_coordinator)(rank, rank_member_of(rank, group));
    rank_line_up(rank);
    return shrink_case_run(rank, group, 3);
}

/* ---- a coordinator that talks nonsense ---- */

/* Lets one follower in at the place of rank 0, says this to it, and waits until it hangs up. */
static void mislead(struct rank *rank, struct quern_listener *listener, const void *words, size_t bytes) {
    struct quern_hello hello;
    struct pollfd *polls = calloc(1 + QUERN_LISTENER_PLACES, sizeof *polls);
    char said[4096];
    int follower = -1;
    while ((follower = quern_listener_serve(listener, &hello)) < 0) poll(polls, (nfds_t)quern_listener_awaits(listener, polls), 20);
    free(polls);
    rank_check(rank, quern_send_all(follower, words, bytes, never_ends()), "the follower has hung up at once");
    while (recv(follower, said, sizeof said, MSG_DONTWAIT) != 0) {  /* a reset is no end that is seen here: it has read all */
        if (errno != EAGAIN && errno != EINTR) break;
        send(follower, "b", 1, MSG_NOSIGNAL | MSG_DONTWAIT);  /* so it is not for failure timeout that it hangs up */
        rank_sleep(1e-3);
    }
    close(follower);
}

/* A word that is none; decisions without the follower, with ranks that the group has not, without a place, without a quorum. */
static void mislead_a_follower(struct rank *rank, const struct quern_membership *member) {
    struct coordinator coordinator;
    const struct {
        uint32_t living;
        bool has_place, has_port;
    } decisions[] = {{1, true, true}, {0xb, true, true}, {3, false, false}, {3, true, false}, {2, true, true}};
    open_coordinator(rank, member, &coordinator);
    mislead(rank, &coordinator.listener, "bbx", 3);
    for (size_t i = 0; i < COUNT(decisions); i++) {
        struct {
            char spare[7], word;
            struct quern_decision decision;
        } said = {.word = 'd', .decision = {.status = QUERN_OK, .living = {decisions[i].living}}};
        if (decisions[i].has_place) said.decision.place = member->roster->peer[0].address;
        if (!decisions[i].has_port) said.decision.place.port = 0;
        mislead(rank, &coordinator.listener, &said.word, 1 + sizeof said.decision);
    }
    quern_listener_close(&coordinator.listener);
}

TEST_RANKS(hosts_shrink_rejected, a_decision_that_is_none, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_line_up(rank);
    if (rank->rank == 0) mislead_a_follower(rank, rank_member_of(rank, group));
    return shrink_case_run(rank, group, 3);
}

/* What lies in the segment may be no decision: no group is formed with it.  And the roll call has a limit of its own. */
TEST_RANKS(hosts_shrink_rejected, a_call_that_ends_without_a_decision, .kind = RANK_PROCESSES, .count = 3, .hosts = 3) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group), *formed = NULL;
    const struct quern_veto no_veto = {never, NULL, NULL};
    rank_line_up(rank);
    if (rank->rank == 0) {
        const struct quern_address place = member->roster->peer[0].address;
        /* Without this rank; too few; with a rank that the group has not; places that are none. */
        struct quern_decision bad[] = {{.living = {6}, .place = place}, {.living = {1}, .place = place},
                                      {.living = {3, 0, 0, 1}, .place = place}, {.living = {3}},
                                      {.living = {3}, .place = place}, {.living = {3}, .place = place}};
        bad[4].place.port = 0;
        bad[5].place.version = 5;
        for (size_t i = 0; i < COUNT(bad); i++) {
            rank_status(rank, quern_join_quorum(member, &bad[i], 5, no_veto, &formed), QUERN_PEER_MISMATCH);
            rank_check_detail(rank, "the decision about the ranks that continue of rank ");
        }
        rank_status(rank, call_the_roll(rank, member, no_veto, quern_now() + 200000000), QUERN_PEER_TIMEOUT);
        rank_check_detail(rank, "no decision from host");
    }
    rank_line_up(rank);
    return shrink_case_run(rank, group, (1u << rank->ranks) - 1);
}
