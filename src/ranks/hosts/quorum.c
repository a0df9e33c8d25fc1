/*
 * One rank of each host, its speaker, coordinates the hosts above it until a lower host accepts it as a follower.  Then it has no
 * followers itself, and waits for the decision of that host.  Both ends send heartbeats, so a host that is stopped or cut off is
 * not counted.  Called while a group is shrunk.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "runtime/status.h"

/* Nanoseconds: before a call is made again, or a port is asked for again; for what an end says in one go. */
enum { PAUSE = 20000000, TELLING = 500000000 };

/* Nanoseconds: after which more hosts are called; for the other followers of a coordinator that is lost to find another one. */
static const int64_t WIDER = 100000000, MOVING = 1500000000;

enum {
    CALLS = 8,  /* hosts that are called at once at first */
    TICK = 5    /* milliseconds between two looks */
};

/* What is said: by both ends at each heartbeat, and by a host to its followers at last. */
static const char BEAT = 'b', DECIDED = 'd';

static bool is_at_coordinator(const struct quern_quorum *quorum) { return quorum->coordinator == quorum->own; }

/* ---- masks of ranks ---- */

static bool mask_has(const uint32_t mask[QUERN_GROUP_WORDS], int rank) { return mask[rank / 32] >> rank % 32 & 1; }

static int mask_count(const uint32_t mask[QUERN_GROUP_WORDS]) {
    int ranks = 0;
    for (int word = 0; word < QUERN_GROUP_WORDS; word++) ranks += __builtin_popcount(mask[word]);
    return ranks;
}

static bool mask_is_of(const struct quern_membership *member, const uint32_t mask[QUERN_GROUP_WORDS], int host) {
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++) {
        if (!mask_has(mask, rank)) continue;
        if (rank >= member->ranks || (host >= 0 && member->roster->peer[rank].host != host)) return false;
    }
    return true;
}

bool quern_is_quorum(const uint32_t living[QUERN_GROUP_WORDS], int ranks) {
    const int twice = 2 * mask_count(living);
    return twice > ranks || (twice == ranks && mask_has(living, 0));
}

/* ---- the followers of a host that gathers ---- */

/* Retry the bind: another process may have released the port. */
static void listen_for_followers(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    if (!is_at_coordinator(quorum) || quorum->listener.socket >= 0 || quern_now() < quorum->listens_again) return;
    struct quern_address at = member->roster->peer[member->roster->host_leader].address;
    if (quern_address_is_any(&member->address)) {
        const uint16_t port = at.port;
        at = quern_address_any(member->address.version);
        at.port = port;
    }
    quorum->listens_again = quern_now() + PAUSE;
    quern_listener_open(&quorum->listener, &at, quorum->hosts);
}

static void send_follower_away(struct quern_quorum *quorum, int host) {
    quern_socket_close(&quorum->followers[host].socket);
    quorum->followers[host] = (struct quern_follower){.socket = -1};
}

/* The connection has proved that it knows the key, so it is of this shrink. */
static void let_in(struct quern_quorum *quorum, int socket, const struct quern_hello *hello) {
    const struct quern_roster *roster = quorum->member->roster;
    const bool known = hello->kind == QUERN_CALL_MEETING && hello->from >= 0 && hello->from < roster->ranks;
    const int host = known ? roster->peer[hello->from].host : quorum->own;
    if (host == quorum->own || !is_at_coordinator(quorum) || !quern_socket_own(socket)) {
        close(socket);
        return;
    }
    send_follower_away(quorum, host);
    quorum->followers[host] = (struct quern_follower){.socket = socket, .heard = quern_now()};
}

static void serve_listener(struct quern_quorum *quorum) {
    struct quern_hello hello;
    if (quorum->listener.socket < 0) return;
    for (int socket; (socket = quern_listener_serve(&quorum->listener, &hello)) >= 0;) let_in(quorum, socket, &hello);
}

/* The earliest deadline of any host is the deadline of all. */
static bool take_card(struct quern_quorum *quorum, int host) {
    struct quern_follower *follower = &quorum->followers[host];
    const struct quern_membership *member = quorum->member;
    const bool fits = follower->card.ranks == (uint32_t)member->ranks && follower->card.port && follower->card.port <= UINT16_MAX;
    if (!fits || !mask_is_of(member, follower->card.living, host) || !mask_count(follower->card.living)) return false;
    const int64_t now = quern_now(), deadline = follower->card.deadline > 0 ? follower->card.deadline : 0;
    if (deadline < quorum->deadline - now) quorum->deadline = now + deadline;
    return follower->is_whole = true;
}

/* False: it has hung up, or is none. */
static bool hear_follower(struct quern_quorum *quorum, int host) {
    struct quern_follower *follower = &quorum->followers[host];
    for (;;) {
        char beats[64], *to = follower->is_whole ? beats : (char *)&follower->card + follower->done;
        const size_t most = follower->is_whole ? sizeof beats : sizeof follower->card - follower->done;
        const ssize_t read = recv(follower->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return !quern_is_silent(&quorum->heartbeat, follower->heard);
        if (read <= 0) return false;
        follower->heard = quern_now();
        follower->done += (size_t)read;
        if (!follower->is_whole && follower->done == sizeof follower->card && !take_card(quorum, host)) return false;
    }
}

static void hear_followers(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->followers[host].socket >= 0 && !hear_follower(quorum, host)) send_follower_away(quorum, host);
}

static void serve_followers(struct quern_quorum *quorum) {
    serve_listener(quorum);
    hear_followers(quorum);
}

static void tell_followers(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++) {
        struct quern_follower *follower = &quorum->followers[host];
        if (follower->socket < 0) continue;
        if (!follower->is_whole) send_follower_away(quorum, host);
        else if (!quern_send_all(follower->socket, &DECIDED, 1, quern_now() + TELLING) ||
                 !quern_send_all(follower->socket, &quorum->decision, sizeof quorum->decision, quern_now() + TELLING))
            quorum->is_broken = true;
    }
}

/* ---- who is still awaited ---- */

/* A process that has ended, or a handle that was destroyed, ends its connections. */
static void find_gone_hosts(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    for (int rank = 0; rank < member->ranks; rank++)
        quorum->lines[rank] = (struct pollfd){.fd = member->net->socket[rank], .events = POLLRDHUP};
    poll(quorum->lines, (nfds_t)member->ranks, 0);
    memset(quorum->has_left, true, (size_t)quorum->hosts * sizeof *quorum->has_left);
    for (int rank = 0; rank < member->ranks; rank++) {
        const bool is_cut = quorum->lines[rank].revents & (POLLRDHUP | POLLHUP | POLLERR);
        if (!is_cut) quorum->has_left[member->roster->peer[rank].host] = false;
    }
}

static bool has_all_followers(const struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (host != quorum->own && !quorum->has_left[host] && !quorum->followers[host].is_whole) return false;
    return true;
}

/* ---- the decision ---- */

static int find_first(const uint32_t set[QUERN_GROUP_WORDS]) {
    int rank = 0;
    while (!mask_has(set, rank)) rank++;
    return rank;
}

/*
 * Where the others reach the lowest rank: at the address by which its host and this one are connected, and at the port that it has
 * reserved, since it speaks for its host.
 */
static struct quern_address find_place(const struct quern_quorum *quorum, const uint32_t living[QUERN_GROUP_WORDS]) {
    const struct quern_peer *first = &quorum->member->roster->peer[find_first(living)];
    struct quern_address place = first->address;
    struct sockaddr_storage name;
    socklen_t room = sizeof name;
    int named = -1;
    for (int host = 0; host < quorum->hosts && named != 0; host++) {
        const int socket = quorum->followers[host].socket;
        if (!quorum->followers[host].is_whole || (first->host != quorum->own && first->host != host)) continue;
        named = first->host == host ? getpeername(socket, (struct sockaddr *)&name, &room)
                                    : getsockname(socket, (struct sockaddr *)&name, &room);
    }
    if (named == 0) quern_address_in(&name, &place);
    place.port = first->host == quorum->own ? quorum->port : (uint16_t)quorum->followers[first->host].card.port;
    return place;
}

static void explain(struct quern_quorum *quorum, int answered) {
    struct quern_text text = quern_text_begin(quorum->decision.reason, sizeof quorum->decision.reason);
    const int ranks = quorum->member->ranks;
    quorum->decision.status = QUERN_PEER_LOST;
    quern_text_add(&text, "only %d of the %d ranks have answered within %g s: %d are required", answered, ranks,
                   quern_seconds(quern_now() - quorum->began), ranks / 2 + 1);
    if (ranks % 2 == 0) quern_text_add(&text, ", or %d with rank 0", ranks / 2);
    quern_text_add(&text, "; the others may continue without these");
}

static quern_status decide(struct quern_quorum *quorum) {
    struct quern_decision *decision = &quorum->decision;
    memset(decision, 0, sizeof *decision);
    memcpy(decision->living, quorum->living, sizeof decision->living);
    for (int host = 0; host < quorum->hosts; host++)
        for (int word = 0; word < QUERN_GROUP_WORDS && quorum->followers[host].is_whole; word++)
            decision->living[word] |= quorum->followers[host].card.living[word];
    if (getrandom(decision->number, sizeof decision->number, 0) < 0)
        return quern_fail(quorum->member->device, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    decision->place = find_place(quorum, decision->living);
    if (!quern_is_quorum(decision->living, quorum->member->ranks)) explain(quorum, mask_count(decision->living));
    quorum->is_decided = true;
    tell_followers(quorum);
    return QUERN_OK;
}

/* ---- a host that is a follower of a lower one ---- */

/* The other followers there need time for another coordinator, too. */
static void go_coordinator(struct quern_quorum *quorum) {
    const int64_t soon = quern_now() + MOVING;
    if (quorum->deadline < soon) quorum->deadline = soon;
    quern_socket_close(&quorum->socket);
    quorum->connectors[quorum->coordinator].again = quern_now() + PAUSE;
    quorum->coordinator = quorum->own;
    quorum->done = 0;
    quorum->listens_again = 0;
    listen_for_followers(quorum);
}

/* A follower closes its listener, so that no host leaves its coordinator to join a follower. */
static void move_to(struct quern_quorum *quorum, int host, int socket) {
    struct quern_card card = {.ranks = (uint32_t)quorum->member->ranks, .port = quorum->port,
                              .deadline = quorum->deadline - quern_now()};
    memcpy(card.living, quorum->living, sizeof card.living);
    if (!quern_socket_own(socket)) {
        close(socket);
        return;
    }
    if (!is_at_coordinator(quorum)) go_coordinator(quorum);
    for (int other = 0; other < quorum->hosts; other++) send_follower_away(quorum, other);
    for (int other = host + 1; other < quorum->hosts; other++) quern_connector_end(&quorum->connectors[other]);
    quern_listener_close(&quorum->listener);
    quorum->coordinator = host;
    quorum->socket = socket;
    quorum->heard = quern_now();
    if (!quern_send_all(socket, &card, sizeof card, quorum->heard + TELLING)) go_coordinator(quorum);
}

/* A lower host is preferred.  A host that cannot bind its port can only be a follower. */
static bool is_better(const struct quern_quorum *quorum, int host) {
    if (!is_at_coordinator(quorum)) return host < quorum->coordinator;
    return host < quorum->own || quorum->listener.socket < 0;
}

static void call_coordinators(struct quern_quorum *quorum) {
    const int64_t most = CALLS * (1 + (quern_now() - quorum->began) / WIDER);
    int64_t calls = 0;
    for (int host = 0; host < quorum->hosts && calls < most; host++) {
        if (host == quorum->own || quorum->has_left[host] || !is_better(quorum, host)) continue;
        const int socket = quern_connector_go(&quorum->connectors[host]);
        calls++;
        if (socket >= 0) move_to(quorum, host, socket);
    }
}

static bool is_sound(const struct quern_quorum *quorum) {
    const struct quern_decision *decision = &quorum->decision;
    if (decision->status != QUERN_OK) return true;
    for (int word = 0; word < QUERN_GROUP_WORDS; word++)
        if (quorum->living[word] & ~decision->living[word]) return false;
    return mask_is_of(quorum->member, decision->living, -1) && decision->place.version && decision->place.port &&
           quern_is_quorum(decision->living, quorum->member->ranks);
}

/* False: the coordinator has hung up, is silent, or talks nonsense. */
static bool hear_words(struct quern_quorum *quorum) {
    while (!quorum->is_decided) {
        char word = DECIDED, *to = quorum->done ? (char *)&quorum->decision + quorum->done - 1 : &word;
        const size_t most = quorum->done ? sizeof quorum->decision - (quorum->done - 1) : 1;
        const ssize_t read = recv(quorum->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return !quern_is_silent(&quorum->heartbeat, quorum->heard);
        if (read <= 0 || (word != DECIDED && word != BEAT)) return false;
        quorum->heard = quern_now();
        if (word == DECIDED) quorum->done += (size_t)read;
        if (quorum->done == 1 + sizeof quorum->decision && !is_sound(quorum)) return false;
        quorum->is_decided = quorum->done == 1 + sizeof quorum->decision;
    }
    return true;
}

static void hear_coordinator(struct quern_quorum *quorum) {
    if (!is_at_coordinator(quorum) && !hear_words(quorum)) go_coordinator(quorum);
}

/* ---- the wait ---- */

static void interval(struct quern_quorum *quorum) {
    const int64_t now = quern_now();
    if (now - quorum->beaten < quorum->heartbeat.interval) return;
    quorum->beaten = now;
    for (int host = -1; host < quorum->hosts; host++) {
        const int socket = host < 0 ? quorum->socket : quorum->followers[host].socket;
        if (socket >= 0) send(socket, &BEAT, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void await(struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = quorum->listener.socket >= 0 ? quern_listener_awaits(&quorum->listener, polls) : 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLIN};
    for (int host = 0; host < quorum->hosts; host++) {
        const int follower = quorum->followers[host].socket;
        if (follower >= 0) polls[waits++] = (struct pollfd){.fd = follower, .events = POLLIN};
        if (quorum->connectors[host].socket >= 0) quern_connector_awaits(&quorum->connectors[host], &polls[waits++]);
    }
    poll(polls, (nfds_t)waits, TICK);
}

/* One look at everything. */
static quern_status go_on(struct quern_quorum *quorum) {
    quern_begin_check(&quorum->heartbeat, quern_now());
    find_gone_hosts(quorum);
    listen_for_followers(quorum);
    serve_followers(quorum);
    hear_coordinator(quorum);
    if (quorum->is_decided) return QUERN_OK;
    call_coordinators(quorum);
    interval(quorum);
    const bool decides = is_at_coordinator(quorum) && (has_all_followers(quorum) || quern_now() >= quorum->deadline);
    return decides ? decide(quorum) : QUERN_OK;
}

quern_status quern_find_quorum(struct quern_quorum *quorum, struct quern_veto veto, int64_t limit,
                               struct quern_decision *decision) {
    const struct quern_membership *member = quorum->member;
    const struct quern_address at = quern_address_any(member->address.version);
    quern_status status = QUERN_OK;
    quorum->reserved = quern_reserve_port(&at, &quorum->port);
    if (quorum->reserved < 0)
        status = quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s: no port for a group: %s", member->label, strerror(errno));
    while (status == QUERN_OK && !quorum->is_decided) {
        status = go_on(quorum);
        if (status == QUERN_OK && !quorum->is_decided) {
            await(quorum);
            status = veto.ask(veto.user);
        }
        if (status == QUERN_OK && !quorum->is_decided && quern_now() > limit)
            status = quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: no decision from host %d within %g s",
                                member->label, quorum->coordinator, quern_seconds(quern_now() - quorum->began));
    }
    quern_listener_close(&quorum->listener);
    *decision = quorum->decision;
    return status;
}

bool quern_quorum_is_broken(const struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLRDHUP};
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->followers[host].socket >= 0)
            polls[waits++] = (struct pollfd){.fd = quorum->followers[host].socket, .events = POLLRDHUP};
    poll(polls, (nfds_t)waits, 0);
    bool is_broken = quorum->is_broken;
    for (int i = 0; i < waits; i++) is_broken |= (polls[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    return is_broken;
}

/* ---- beginning and ending ---- */

static bool make_arrays(struct quern_quorum *quorum) {
    const size_t hosts = (size_t)quorum->hosts, ranks = (size_t)quorum->member->ranks;
    quorum->followers = calloc(hosts, sizeof *quorum->followers);
    quorum->connectors = calloc(hosts, sizeof *quorum->connectors);
    quorum->polls = calloc(2 + 2 * hosts + QUERN_LISTENER_PLACES, sizeof *quorum->polls);
    quorum->lines = calloc(ranks, sizeof *quorum->lines);
    quorum->has_left = calloc(hosts, sizeof *quorum->has_left);
    return quorum->followers && quorum->connectors && quorum->polls && quorum->lines && quorum->has_left;
}

static void free_arrays(struct quern_quorum *quorum) {
    free(quorum->followers);
    free(quorum->connectors);
    free(quorum->polls);
    free(quorum->lines);
    free(quorum->has_left);
    quern_wipe(quorum, sizeof *quorum);
    free(quorum);
}

struct quern_quorum *quern_open_quorum(const struct quern_membership *member, const struct quern_rank_set *living,
                                       int64_t deadline) {
    const struct quern_roster *roster = member->roster;
    struct quern_quorum *quorum = calloc(1, sizeof *quorum);
    if (!quorum) return NULL;
    quorum->member = member;
    quorum->hosts = roster->hosts;
    quorum->own = quorum->coordinator = roster->peer[member->rank].host;
    if (!make_arrays(quorum)) {
        free_arrays(quorum);
        return NULL;
    }
    quern_make_shrink_key(member->net->key, quorum->key);
    memcpy(quorum->living, living->words, sizeof quorum->living);
    quorum->began = quern_now();
    quorum->heartbeat = quern_begin_heartbeat(member->failure_timeout, quorum->began);
    quorum->deadline = deadline;
    quorum->listener = (struct quern_listener){.socket = -1, .key = quorum->key, .rejections = member->segment->rejections};
    quorum->socket = quorum->reserved = -1;
    for (int host = 0; host < quorum->hosts; host++) {
        const int leader = roster->leader_of[host];
        quorum->followers[host].socket = -1;
        quern_connector_begin(&quorum->connectors[host], &roster->peer[leader].address, quorum->key, QUERN_CALL_MEETING,
                              member->rank, leader);
    }
    return quorum;
}

void quern_close_quorum(struct quern_quorum *quorum) {
    if (!quorum) return;
    quern_listener_close(&quorum->listener);
    quern_socket_close(&quorum->socket);
    if (quorum->reserved >= 0) close(quorum->reserved);
    for (int host = 0; host < quorum->hosts; host++) {
        send_follower_away(quorum, host);
        quern_connector_end(&quorum->connectors[host]);
    }
    free_arrays(quorum);
}
