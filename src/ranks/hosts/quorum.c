/*
 * The speaker of a host is at home on its own host, where it gathers, until a lower host has let it in as a guest.  Then it has no
 * guests itself, and waits there for the verdict.  Both ends say every BEAT that they are there, so that a host that is stopped or cut
 * off is not counted.  Called while a group is shrunk.
 */
#define _GNU_SOURCE
#include "ranks/hosts/quorum.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/bootstrap.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/connector.h"
#include "ranks/hosts/listener.h"
#include "ranks/hosts/sockets.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static const int64_t BEAT = 250000000, SILENCE = 1500000000;  /* nanoseconds */
static const int64_t PAUSE = 20000000;                        /* before a call is made again, or a port is asked for again */
static const int64_t WIDER = 100000000, TELLING = 500000000;  /* after which more hosts are called; for the verdict to a guest */
enum { TICK = 5, CALLS = 8 };                                 /* milliseconds; hosts that are called at once at first */

/* What is said: by both ends, by a guest at first, and by its host at last. */
static const char BEATS = 'b', DECIDED = 'd';
struct card {
    uint32_t ranks;                       /* of the old group */
    uint32_t port;                        /* reserved, for a group whose lowest rank is the speaker */
    int64_t patience;                     /* nanoseconds for which it still waits for others */
    uint32_t living[QUERN_GROUP_WORDS];
};

struct guest {
    int socket;                           /* -1: none of this host */
    bool is_whole;                        /* its card is there */
    size_t done;                          /* bytes of it */
    int64_t heard;
    struct card card;
};

struct quern_quorum {
    const struct quern_membership *member;
    unsigned char key[QUERN_DIGEST_BYTES];
    int own, home, hosts;                 /* the numbers of hosts: this one; where it is a guest, or this one */
    uint32_t living[QUERN_GROUP_WORDS];   /* of this host */
    int64_t began, patience, beaten, looked;
    bool is_decided, is_broken;

    int reserved;                         /* a socket that keeps ... */
    uint16_t port;                        /* ... this port for the new group */

    struct quern_listener listener;       /* of a host that is at home */
    int64_t listens_again;
    struct guest *guests;                 /* [hosts] */
    struct quern_connector *connectors;   /* [hosts] */
    struct pollfd *polls;                 /* [1 + places of the listener + 2 hosts] */
    struct pollfd *lines;                 /* [ranks]: those of the old group */
    uint16_t *ranks_of;                   /* [hosts] */
    bool *has_left;                       /* [hosts]: all of its ranks have ended or left the group, as far as lines say */

    int socket;                           /* of a guest: to its home */
    int64_t heard;
    size_t done;                          /* bytes of the verdict and of the word before it */
    struct quern_verdict verdict;
};

/* ---- sets ---- */

static bool has(const uint32_t set[QUERN_GROUP_WORDS], int rank) { return set[rank / 32] >> rank % 32 & 1; }

static int count(const uint32_t set[QUERN_GROUP_WORDS]) {
    int ranks = 0;
    for (int word = 0; word < QUERN_GROUP_WORDS; word++) ranks += __builtin_popcount(set[word]);
    return ranks;
}

/* Whether all of a set are ranks of the group and, unless host is -1, of this host. */
static bool are_of(const struct quern_membership *member, const uint32_t set[QUERN_GROUP_WORDS], int host) {
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++)
        if (has(set, rank) && (rank >= member->ranks || (host >= 0 && member->roster->peer[rank].host != host))) return false;
    return true;
}

bool quern_is_quorum(const uint32_t living[QUERN_GROUP_WORDS], int ranks) {
    const int twice = 2 * count(living);
    return twice > ranks || (twice == ranks && has(living, 0));
}

/* ---- guests ---- */

static void send_away(struct quern_quorum *quorum, int host) {
    quern_socket_close(&quorum->guests[host].socket);
    quorum->guests[host] = (struct guest){.socket = -1};
}

/* The connection has proved that it knows the key, so it is of this shrink. */
static void let_in(struct quern_quorum *quorum, int socket, const struct quern_hello *hello) {
    const struct quern_roster *roster = quorum->member->roster;
    const bool known = hello->kind == QUERN_CALL_MEETING && hello->from >= 0 && hello->from < roster->ranks;
    const int host = known ? roster->peer[hello->from].host : quorum->own;
    if (host == quorum->own || quorum->home != quorum->own || !quern_socket_own(socket)) {
        close(socket);
        return;
    }
    send_away(quorum, host);
    quorum->guests[host] = (struct guest){.socket = socket, .heard = quern_now()};
}

static void serve_listener(struct quern_quorum *quorum) {
    struct quern_hello hello;
    if (quorum->listener.socket < 0) return;
    for (int socket; (socket = quern_listener_serve(&quorum->listener, &hello)) >= 0;) let_in(quorum, socket, &hello);
}

/* The first of all to have no more time ends the wait of all. */
static bool take_card(struct quern_quorum *quorum, int host) {
    struct guest *guest = &quorum->guests[host];
    const struct quern_membership *member = quorum->member;
    if (guest->card.ranks != (uint32_t)member->ranks || !guest->card.port || guest->card.port > UINT16_MAX || !are_of(member, guest->card.living, host) || !count(guest->card.living))
        return false;
    const int64_t now = quern_now(), patience = guest->card.patience > 0 ? guest->card.patience : 0;
    if (patience < quorum->patience - now) quorum->patience = now + patience;
    return guest->is_whole = true;
}

/* False: it has hung up, or is none. */
static bool hear_guest(struct quern_quorum *quorum, int host) {
    struct guest *guest = &quorum->guests[host];
    for (;;) {
        char beats[64], *to = guest->is_whole ? beats : (char *)&guest->card + guest->done;
        const size_t most = guest->is_whole ? sizeof beats : sizeof guest->card - guest->done;
        const ssize_t read = recv(guest->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return quern_now() - guest->heard < SILENCE * quern_leisure();
        if (read <= 0) return false;
        guest->heard = quern_now();
        guest->done += (size_t)read;
        if (!guest->is_whole && guest->done == sizeof guest->card && !take_card(quorum, host)) return false;
    }
}

static void hear_guests(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->guests[host].socket >= 0 && !hear_guest(quorum, host)) send_away(quorum, host);
}

/* ---- being at home elsewhere ---- */

/* Who held the port meanwhile may give it back. */
static void listen_at_home(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    if (quorum->home != quorum->own || quorum->listener.socket >= 0 || quern_now() < quorum->listens_again) return;
    struct quern_address at = member->roster->peer[member->roster->host_leader].address;
    if (quern_address_is_any(&member->address)) {
        const uint16_t port = at.port;
        at = quern_address_any(member->address.version);
        at.port = port;
    }
    quorum->listens_again = quern_now() + PAUSE;
    quern_listener_open(&quorum->listener, &at, quorum->hosts);
}

/* The other guests there need time for another home, too. */
static void go_home(struct quern_quorum *quorum) {
    const int64_t soon = quern_now() + SILENCE;
    if (quorum->patience < soon) quorum->patience = soon;
    quern_socket_close(&quorum->socket);
    quorum->connectors[quorum->home].again = quern_now() + PAUSE;
    quorum->home = quorum->own;
    quorum->done = 0;
    quorum->listens_again = 0;
    listen_at_home(quorum);
}

/* A guest lets nobody in, so it does not listen: who called it would leave another home in vain. */
static void move_to(struct quern_quorum *quorum, int host, int socket) {
    struct card card = {.ranks = (uint32_t)quorum->member->ranks, .port = quorum->port,
                        .patience = quorum->patience - quern_now()};
    memcpy(card.living, quorum->living, sizeof card.living);
    if (!quern_socket_own(socket)) {
        close(socket);
        return;
    }
    if (quorum->home != quorum->own) go_home(quorum);
    for (int other = 0; other < quorum->hosts; other++) send_away(quorum, other);
    for (int other = host + 1; other < quorum->hosts; other++) quern_connector_end(&quorum->connectors[other]);
    quern_listener_close(&quorum->listener);
    quorum->home = host;
    quorum->socket = socket;
    quorum->heard = quern_now();
    if (!quern_send_all(socket, &card, sizeof card, quorum->heard + TELLING)) go_home(quorum);
}

/* A lower host is a better home.  Who cannot listen can be a guest only. */
static bool is_better(const struct quern_quorum *quorum, int host) {
    if (quorum->home != quorum->own) return host < quorum->home;
    return host < quorum->own || quorum->listener.socket < 0;
}

static void call_hosts(struct quern_quorum *quorum) {
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
    const struct quern_verdict *verdict = &quorum->verdict;
    if (verdict->status != QUERN_OK) return true;
    for (int word = 0; word < QUERN_GROUP_WORDS; word++)
        if (quorum->living[word] & ~verdict->living[word]) return false;
    return are_of(quorum->member, verdict->living, -1) && verdict->place.version && verdict->place.port &&
           quern_is_quorum(verdict->living, quorum->member->ranks);
}

/* False: the home has hung up, is silent, or talks nonsense. */
static bool hear_home(struct quern_quorum *quorum) {
    while (!quorum->is_decided) {
        char word = DECIDED, *to = quorum->done ? (char *)&quorum->verdict + quorum->done - 1 : &word;
        const size_t most = quorum->done ? sizeof quorum->verdict - (quorum->done - 1) : 1;
        const ssize_t read = recv(quorum->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return quern_now() - quorum->heard < SILENCE * quern_leisure();
        if (read <= 0 || (word != DECIDED && word != BEATS)) return false;
        quorum->heard = quern_now();
        if (word == DECIDED) quorum->done += (size_t)read;
        if (quorum->done == 1 + sizeof quorum->verdict && !is_sound(quorum)) return false;
        quorum->is_decided = quorum->done == 1 + sizeof quorum->verdict;
    }
    return true;
}

/* ---- who is still awaited ---- */

/*
 * Over relays a host is heard by its leader alone: if that has ended or left, nobody says how the other ranks are.  So only an orderly
 * end is sure, and the end of a host's only rank.
 */
static bool has_surely_left(const struct quern_quorum *quorum, int rank) {
    const struct quern_segment_rank *place = &quorum->member->segment->rank[rank];
    const uint32_t state = __atomic_load_n(&place->state, __ATOMIC_ACQUIRE);
    const bool is_only = quorum->ranks_of[quorum->member->roster->peer[rank].host] == 1;
    return state == QUERN_RANK_LEFT || (state == QUERN_RANK_ENDED && is_only && !__atomic_load_n(&place->silent, __ATOMIC_RELAXED));
}

/* A process that has ended, or a handle that was destroyed, ends its connections. */
static void look_at_lines(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    for (int rank = 0; rank < member->ranks; rank++)
        quorum->lines[rank] = (struct pollfd){.fd = member->span->socket[rank], .events = POLLRDHUP};
    poll(quorum->lines, (nfds_t)member->ranks, 0);
    memset(quorum->has_left, true, (size_t)quorum->hosts * sizeof *quorum->has_left);
    for (int rank = 0; rank < member->ranks; rank++) {
        const bool is_cut = quorum->lines[rank].revents & (POLLRDHUP | POLLHUP | POLLERR);
        if (!is_cut && !has_surely_left(quorum, rank)) quorum->has_left[member->roster->peer[rank].host] = false;
    }
}

static bool are_all_here(const struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (host != quorum->own && !quorum->has_left[host] && !quorum->guests[host].is_whole) return false;
    return true;
}

/* ---- the verdict ---- */

static int find_first(const uint32_t set[QUERN_GROUP_WORDS]) {
    int rank = 0;
    while (!has(set, rank)) rank++;
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
        const int socket = quorum->guests[host].socket;
        if (!quorum->guests[host].is_whole || (first->host != quorum->own && first->host != host)) continue;
        named = first->host == host ? getpeername(socket, (struct sockaddr *)&name, &room)
                                    : getsockname(socket, (struct sockaddr *)&name, &room);
    }
    if (named == 0) quern_address_in(&name, &place);
    place.port = first->host == quorum->own ? quorum->port : (uint16_t)quorum->guests[first->host].card.port;
    return place;
}

static void explain(struct quern_quorum *quorum, int answered) {
    struct quern_text text = quern_text_begin(quorum->verdict.reason, sizeof quorum->verdict.reason);
    const int ranks = quorum->member->ranks;
    quorum->verdict.status = QUERN_PEER_LOST;
    quern_text_add(&text, "%d of the %d ranks have answered within %g s, and to go on takes %d", answered, ranks,
                   (double)(quern_now() - quorum->began) * 1e-9, ranks / 2 + 1);
    if (ranks % 2 == 0) quern_text_add(&text, ", or %d with rank 0", ranks / 2);
    quern_text_add(&text, ": the others may have gone on without these");
}

static void tell_guests(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++) {
        struct guest *guest = &quorum->guests[host];
        if (guest->socket < 0) continue;
        if (!guest->is_whole) send_away(quorum, host);
        else if (!quern_send_all(guest->socket, &DECIDED, 1, quern_now() + TELLING) ||
                 !quern_send_all(guest->socket, &quorum->verdict, sizeof quorum->verdict, quern_now() + TELLING))
            quorum->is_broken = true;
    }
}

static quern_status decide(struct quern_quorum *quorum) {
    struct quern_verdict *verdict = &quorum->verdict;
    memset(verdict, 0, sizeof *verdict);
    memcpy(verdict->living, quorum->living, sizeof verdict->living);
    for (int host = 0; host < quorum->hosts; host++)
        for (int word = 0; word < QUERN_GROUP_WORDS && quorum->guests[host].is_whole; word++)
            verdict->living[word] |= quorum->guests[host].card.living[word];
    if (getrandom(verdict->number, sizeof verdict->number, 0) < 0)
        return quern_fail(quorum->member->device, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    verdict->place = find_place(quorum, verdict->living);
    if (!quern_is_quorum(verdict->living, quorum->member->ranks)) explain(quorum, count(verdict->living));
    quorum->is_decided = true;
    tell_guests(quorum);
    return QUERN_OK;
}

/* ---- the wait ---- */

static void beat(struct quern_quorum *quorum) {
    const int64_t now = quern_now();
    if (now - quorum->beaten < BEAT) return;
    quorum->beaten = now;
    for (int host = -1; host < quorum->hosts; host++) {
        const int socket = host < 0 ? quorum->socket : quorum->guests[host].socket;
        if (socket >= 0) send(socket, &BEATS, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* After a time in which this process itself was stopped, the others get time to be heard. */
static void forgive_own_silence(struct quern_quorum *quorum) {
    const int64_t now = quern_now();
    const bool was_away = now - quorum->looked > SILENCE / 2;
    quorum->looked = now;
    if (!was_away) return;
    quorum->heard = now;
    for (int host = 0; host < quorum->hosts; host++) quorum->guests[host].heard = now;
}

static void await(struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = quorum->listener.socket >= 0 ? quern_listener_awaits(&quorum->listener, polls) : 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLIN};
    for (int host = 0; host < quorum->hosts; host++) {
        if (quorum->guests[host].socket >= 0) polls[waits++] = (struct pollfd){.fd = quorum->guests[host].socket, .events = POLLIN};
        if (quorum->connectors[host].socket >= 0) quern_connector_awaits(&quorum->connectors[host], &polls[waits++]);
    }
    poll(polls, (nfds_t)waits, TICK);
}

/* One look at everything. */
static quern_status go_on(struct quern_quorum *quorum) {
    forgive_own_silence(quorum);
    look_at_lines(quorum);
    listen_at_home(quorum);
    serve_listener(quorum);
    hear_guests(quorum);
    if (quorum->home != quorum->own && !hear_home(quorum)) go_home(quorum);
    if (quorum->is_decided) return QUERN_OK;
    call_hosts(quorum);
    beat(quorum);
    if (quorum->home == quorum->own && (are_all_here(quorum) || quern_now() >= quorum->patience)) return decide(quorum);
    return QUERN_OK;
}

quern_status quern_find_quorum(struct quern_quorum *quorum, struct quern_veto veto, int64_t limit, struct quern_verdict *verdict) {
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
            status = quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: host %d has not said within %g s who goes on", member->label,
                                quorum->home, (double)(quern_now() - quorum->began) * 1e-9);
    }
    quern_listener_close(&quorum->listener);
    *verdict = quorum->verdict;
    return status;
}

bool quern_quorum_is_broken(const struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLRDHUP};
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->guests[host].socket >= 0) polls[waits++] = (struct pollfd){.fd = quorum->guests[host].socket, .events = POLLRDHUP};
    poll(polls, (nfds_t)waits, 0);
    bool is_broken = quorum->is_broken;
    for (int i = 0; i < waits; i++) is_broken |= (polls[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    return is_broken;
}

/* ---- beginning and ending ---- */

static bool make_arrays(struct quern_quorum *quorum) {
    const size_t hosts = (size_t)quorum->hosts, ranks = (size_t)quorum->member->ranks;
    quorum->guests = calloc(hosts, sizeof *quorum->guests);
    quorum->connectors = calloc(hosts, sizeof *quorum->connectors);
    quorum->polls = calloc(2 + 2 * hosts + QUERN_LISTENER_PLACES, sizeof *quorum->polls);
    quorum->lines = calloc(ranks, sizeof *quorum->lines);
    quorum->ranks_of = calloc(hosts, sizeof *quorum->ranks_of);
    quorum->has_left = calloc(hosts, sizeof *quorum->has_left);
    return quorum->guests && quorum->connectors && quorum->polls && quorum->lines && quorum->ranks_of && quorum->has_left;
}

static void free_arrays(struct quern_quorum *quorum) {
    free(quorum->guests);
    free(quorum->connectors);
    free(quorum->polls);
    free(quorum->lines);
    free(quorum->ranks_of);
    free(quorum->has_left);
    free(quorum);
}

struct quern_quorum *quern_open_quorum(const struct quern_membership *member, const struct quern_rank_set *living, int64_t patience) {
    const struct quern_roster *roster = member->roster;
    struct quern_quorum *quorum = calloc(1, sizeof *quorum);
    if (!quorum) return NULL;
    quorum->member = member;
    quorum->hosts = roster->hosts;
    quorum->own = quorum->home = roster->peer[member->rank].host;
    if (!make_arrays(quorum)) {
        free_arrays(quorum);
        return NULL;
    }
    quern_make_shrink_key(member->span->key, quorum->key);
    memcpy(quorum->living, living->words, sizeof quorum->living);
    quorum->began = quorum->looked = quern_now();
    quorum->patience = patience;
    quorum->listener = (struct quern_listener){.socket = -1, .key = quorum->key, .strangers = member->segment->strangers};
    quorum->socket = quorum->reserved = -1;
    for (int rank = 0; rank < member->ranks; rank++) quorum->ranks_of[roster->peer[rank].host]++;
    for (int host = 0; host < quorum->hosts; host++) {
        const int leader = roster->leader_of[host];
        quorum->guests[host].socket = -1;
        quern_connector_begin(&quorum->connectors[host], &roster->peer[leader].address, quorum->key, QUERN_CALL_MEETING, member->rank,
                              leader);
    }
    return quorum;
}

void quern_close_quorum(struct quern_quorum *quorum) {
    if (!quorum) return;
    quern_listener_close(&quorum->listener);
    quern_socket_close(&quorum->socket);
    if (quorum->reserved >= 0) close(quorum->reserved);
    for (int host = 0; host < quorum->hosts; host++) {
        send_away(quorum, host);
        quern_connector_end(&quorum->connectors[host]);
    }
    free_arrays(quorum);
}
