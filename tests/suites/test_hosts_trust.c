/*
 * What hosts believe while they meet, and what they give away: proofs, seals, versions, and keys in memory that is given back.
 *
 * Runs on: ranks.
 */
#include <malloc.h>
#include <sys/random.h>

#include "harness/check.h"
#include "harness/played_host.h"
#include "os/clock.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"

/* Seconds: the limit of a creation that must end by it. */
static const double LATE = 8;

/* ---- random numbers and memory, as the library gets them ---- */

static bool is_constant;  /* all random numbers are the same */

ssize_t __real_getrandom(void *bytes, size_t count, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t count, unsigned flags) {
    if (!is_constant) return __real_getrandom(bytes, count, flags);
    memset(bytes, 7, count);
    return (ssize_t)count;
}

enum { KEYS = 3 };

static unsigned char keys[KEYS][QUERN_DIGEST_BYTES];  /* that no memory may have which is given back ... */
static int known, found;                              /* ... of so many, atomic; how often one did */

void __real_free(void *memory);
void __wrap_free(void *memory) {
    const int count = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count && memory; i++)
        if (memmem(memory, malloc_usable_size(memory), keys[i], sizeof keys[i])) __atomic_add_fetch(&found, 1, __ATOMIC_RELAXED);
    __real_free(memory);
}

static void watch_for(const unsigned char key[QUERN_DIGEST_BYTES]) {
    memcpy(keys[known], key, sizeof keys[known]);
    __atomic_add_fetch(&known, 1, __ATOMIC_RELEASE);
}

/* ---- what a listener gives away ---- */

/* All that a caller hears who says a right hello and a wrong proof; returns how many bytes. */
static size_t listen_to(const unsigned char *key, const struct quern_hello *hello, unsigned char heard[256]) {
    int ends[2];
    struct quern_handshake handshake;
    const unsigned char proof[QUERN_DIGEST_BYTES] = {1};
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
    quern_handshake_answer(&handshake, ends[0], key);
    check(send(ends[1], hello, sizeof *hello, 0) == sizeof *hello, "no hello");
    check(send(ends[1], proof, sizeof proof, 0) == sizeof proof, "no proof");
    check(quern_handshake_go(&handshake) == QUERN_HANDSHAKE_FAILED && handshake.rejection == QUERN_REJECTED_FALSE, "it was let in");
    close(ends[0]);
    const ssize_t bytes = recv(ends[1], heard, 256, MSG_WAITALL);
    close(ends[1]);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Two listeners with the same random numbers and different secrets say the same: nothing is there to compare a guess with. */
Test(hosts_trust, a_listener_gives_nothing_away) {
    unsigned char one[256], other[256], key[2][QUERN_DIGEST_BYTES];
    struct quern_handshake caller;
    is_constant = true;
    quern_make_key("correct horse 1", 15, "name", 0, key[0]);
    quern_make_key("battery staple", 14, "name", 0, key[1]);
    check(quern_handshake_call(&caller, -1, key[0], QUERN_CALL_MEETING, 1, 0), "no hello");
    const size_t bytes = listen_to(key[0], &caller.hello, one);
    check(bytes == sizeof(struct quern_challenge) + sizeof(struct quern_welcome), "%zu bytes", bytes);
    check(listen_to(key[1], &caller.hello, other) == bytes && memcmp(one, other, bytes) == 0, "the answer depends on the secret");
}

/* ---- another version ---- */

Test(hosts_trust, a_caller_names_both_versions) {
    struct sockaddr_in name;
    const unsigned char key[QUERN_DIGEST_BYTES] = {3};
    struct quern_address address = {.version = 4, .ip = {127, 0, 0, 1}};
    struct quern_connector connector;
    struct quern_hello hello;
    struct quern_challenge challenge = {.version = quern_handshake_version + 3};
    char expected[100];
    const int listener = bind_anywhere(SOCK_STREAM, INADDR_LOOPBACK, &name);
    check(listener >= 0 && listen(listener, 1) == 0, "no listener");
    address.port = ntohs(name.sin_port);
    quern_connector_begin(&connector, &address, key, QUERN_CALL_MEETING, 1, 0);
    while (connector.handshake.step == 0) quern_connector_go(&connector);
    const int one = accept(listener, NULL, NULL);
    check(one >= 0 && recv(one, &hello, sizeof hello, MSG_WAITALL) == sizeof hello, "no hello");
    memcpy(challenge.magic, hello.magic, sizeof challenge.magic);
    check(send(one, &challenge, sizeof challenge, 0) == sizeof challenge, "no challenge");
    while (!connector.failures) quern_connector_go(&connector);
    snprintf(expected, sizeof expected, "with protocol %u: expected %u", challenge.version, quern_handshake_version);
    check(strstr(connector.why, expected), "%s", connector.why);
    close(one);
    close(listener);
    while (connector.failures < 2) quern_connector_go(&connector);
    check(strstr(connector.why, expected), "a refused connection hides it: %s", connector.why);
    quern_connector_end(&connector);
}

/* ---- seals ---- */

/* Brings the facts of rank 1 with one bit flipped on the way; -1: none.  Whether a decision was heard. */
static bool bring(struct rank *rank, const quern_group_args *args, long bit) {
    struct played_card brought = played_card(args);
    struct quern_host_answer decision;
    unsigned char key[QUERN_DIGEST_BYTES], session[QUERN_DIGEST_BYTES];
    const struct quern_address place = played_place(args, key);
    const int one = played_call(rank, &place, key, QUERN_CALL_MEETING, session);
    quern_sign_card(session, &brought.card, &brought.fact, brought.seal);
    if (bit >= 0) ((unsigned char *)&brought)[bit / 8] ^= (unsigned char)(1 << bit % 8);
    const int64_t soon = quern_now() + (int64_t)(RANK_SOON * 1e9);
    rank_check(rank, quern_send_all(one, &brought, sizeof brought, soon), "it was not taken");
    if (bit >= 0) shutdown(one, SHUT_WR);  /* who waits for more gets no more */
    const bool heard = quern_receive_all(one, &decision, sizeof decision, soon) && decision.status == QUERN_OK;
    close(one);
    return heard;
}

/* A damaged card is not taken; the host calls again.  Rank 0 then waits for connections, to its limit. */
TEST_BODY(hosts_trust, damaged_cards_are_not_taken, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    static const size_t places[] = {offsetof(struct played_card, card.first_epoch), offsetof(struct played_card, card.count),
                                    offsetof(struct played_card, card.status), offsetof(struct played_card, card.reason),
                                    offsetof(struct played_card, fact.process), offsetof(struct played_card, fact.address.ip),
                                    offsetof(struct played_card, fact.address.port), offsetof(struct played_card, seal)};
    quern_group_args args = rank_group_args(rank, rank->rank ? RANK_LIMIT : LATE);
    if (rank->rank == 0) {
        rank_refuse_group(rank, &args, QUERN_PEER_TIMEOUT, "for connections with rank 1");
        return;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        rank_check(rank, !bring(rank, &args, (long)(8 * places[i] + i)), "bit %zu of byte %zu was taken", i, places[i]);
    rank_check(rank, bring(rank, &args, -1), "right facts are not taken");
}

/* Rank 0 is this test, and one bit of what it says is flipped on the way. */
static void say_damaged(struct rank *rank, const quern_group_args *args, size_t byte) {
    unsigned char key[QUERN_DIGEST_BYTES], digest[QUERN_DIGEST_BYTES];
    uint32_t rejections[QUERN_REJECTIONS] = {0};
    struct quern_listener listener = {.key = key, .rejections = rejections};
    struct quern_hello hello;
    struct played_card brought;
    struct {
        struct quern_host_answer decision;
        struct quern_fact facts[2];
        unsigned char seal[QUERN_DIGEST_BYTES];
    } said;
    int one;
    const struct quern_address place = played_place(args, key);
    rank_check(rank, quern_listener_open(&listener, &place, 2), "no listener");
    while ((one = quern_listener_serve(&listener, &hello)) < 0) rank_sleep(1e-3);
    const int64_t soon = quern_now() + (int64_t)(RANK_SOON * 1e9);
    rank_check(rank, quern_receive_all(one, &brought, sizeof brought, soon), "no card");
    quern_sign_card(listener.session, &brought.card, &brought.fact, digest);
    rank_check(rank, memcmp(digest, brought.seal, sizeof digest) == 0, "the card has another seal");
    memset(&said, 0, sizeof said);
    said.decision.hosts = 2;
    for (int i = 0; i < 2; i++) said.facts[i] = played_fact(args, i);
    quern_digest_decision(&said.decision, said.facts, 2, digest);
    quern_sign_decision(listener.session, digest, said.seal);
    ((unsigned char *)&said)[byte] ^= 8;
    rank_check(rank, quern_send_all(one, &said, sizeof said, soon), "it hung up");
    close(one);
    quern_listener_close(&listener);
}

TEST_BODY(hosts_trust, damaged_decisions_are_not_believed, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    static const size_t bytes[] = {offsetof(struct quern_host_answer, number), offsetof(struct quern_host_answer, rejections),
                                   sizeof(struct quern_host_answer) + offsetof(struct quern_fact, address.ip),
                                   sizeof(struct quern_host_answer) + 2 * sizeof(struct quern_fact)};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        args.job = i + 1;
        if (rank->rank == 0) {
            say_damaged(rank, &args, bytes[i]);
        } else {
            rank_refuse_group(rank, &args, QUERN_PEER_MISMATCH, "was damaged on its way");
        }
        rank_line_up(rank);
    }
}

/* ---- a crowd that knows the secret ---- */

/* As many followers as a group may have ranks, and as many handshakes as a listener has places.  One more is sent away. */
static void crowd(struct rank *rank, const quern_group_args *args) {
    enum { PLACES = 32 };
    int follower[QUERN_GROUP_LIMIT];
    static struct quern_connector waiting[PLACES];
    unsigned char key[QUERN_DIGEST_BYTES], session[QUERN_DIGEST_BYTES];
    const struct quern_address place = played_place(args, key);
    for (size_t i = 0; i < COUNT(follower); i++) follower[i] = played_call(rank, &place, key, QUERN_CALL_MEETING, session);
    for (size_t i = 0; i < COUNT(waiting); i++) {
        quern_connector_begin(&waiting[i], &place, key, QUERN_CALL_MEETING, 1, 0);
        while (waiting[i].handshake.step == 0) quern_connector_go(&waiting[i]);
    }
    struct pollfd more = {.fd = played_call(rank, &place, key, QUERN_CALL_MEETING, session), .events = POLLIN};
    rank_check(rank, poll(&more, 1, -1) == 1 && recv(more.fd, session, 1, 0) == 0, "a follower too many hears something");
    close(more.fd);
    for (size_t i = 0; i < COUNT(waiting); i++) quern_connector_end(&waiting[i]);
    for (size_t i = 0; i < COUNT(follower); i++) {
        rank_check(rank, recv(follower[i], session, 1, MSG_DONTWAIT) < 0, "follower %zu is sent away", i);
        close(follower[i]);
    }
}

TEST_BODY(hosts_trust, the_place_of_meeting_holds_as_many_as_a_group_may_have, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    const quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    if (rank->rank == 1) crowd(rank, &args);
    rank_ok(rank, quern_group_destroy(rank_create(rank, &args)));
}

/* ---- keys ---- */

/* Of the group, of its meeting and of its shrink. */
TEST_BODY(hosts_trust, no_key_is_left_in_memory, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    unsigned char key[QUERN_DIGEST_BYTES];
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_group *group, *less, *part;
    quern_make_key(hosts->secret, hosts->secret_bytes, args.name, args.job, key);
    watch_for(key);
    rank_ok(rank, quern_group_create(&args, 1, &group));
    struct quern_membership *member = rank_member_of(rank, group);
    watch_for(member->net->key);
    quern_make_shrink_key(member->net->key, key);
    watch_for(key);
    rank_ok(rank, quern_group_split(&group, 1, &(int){0}, &(int){0}, &part));
    rank_ok(rank, quern_group_destroy(part));
    rank_ok(rank, quern_group_shrink(&group, 1, &less));
    rank_ok(rank, quern_group_destroy(group));
    rank_ok(rank, quern_group_destroy(less));
    rank_check(rank, found == 0, "%d pieces of memory were given back with a key", found);
}
