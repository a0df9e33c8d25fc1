/* A host that is a guest of a lower one: how it gets there, what it hears there, and when it goes home.  Called by quorum.c. */
#define _GNU_SOURCE
#include "ranks/hosts/quorum_home.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/hosts/bootstrap.h"
#include "ranks/hosts/quorum_guests.h"
#include "ranks/hosts/quorum_mask.h"
#include "ranks/hosts/sockets.h"

/* Nanoseconds: after which more hosts are called; for the other guests of a home that is lost to find another one. */
static const int64_t WIDER = 100000000, MOVING = 1500000000;
enum { CALLS = 8 };  /* hosts that are called at once at first */

/* The other guests there need time for another home, too. */
static void go_home(struct quern_quorum *quorum) {
    const int64_t soon = quern_now() + MOVING;
    if (quorum->patience < soon) quorum->patience = soon;
    quern_socket_close(&quorum->socket);
    quorum->connectors[quorum->home].again = quern_now() + QUERN_QUORUM_PAUSE;
    quorum->home = quorum->own;
    quorum->done = 0;
    quorum->listens_again = 0;
    quern_listen_for_guests(quorum);
}

/* A guest lets nobody in, so it does not listen: who called it would leave another home in vain. */
static void move_to(struct quern_quorum *quorum, int host, int socket) {
    struct quern_card card = {.ranks = (uint32_t)quorum->member->ranks, .port = quorum->port,
                              .patience = quorum->patience - quern_now()};
    memcpy(card.living, quorum->living, sizeof card.living);
    if (!quern_socket_own(socket)) {
        close(socket);
        return;
    }
    if (!quern_is_at_home(quorum)) go_home(quorum);
    for (int other = 0; other < quorum->hosts; other++) quern_send_guest_away(quorum, other);
    for (int other = host + 1; other < quorum->hosts; other++) quern_connector_end(&quorum->connectors[other]);
    quern_listener_close(&quorum->listener);
    quorum->home = host;
    quorum->socket = socket;
    quorum->heard = quern_now();
    if (!quern_send_all(socket, &card, sizeof card, quorum->heard + QUERN_QUORUM_TELLING)) go_home(quorum);
}

/* A lower host is a better home.  Who cannot listen can be a guest only. */
static bool is_better(const struct quern_quorum *quorum, int host) {
    if (!quern_is_at_home(quorum)) return host < quorum->home;
    return host < quorum->own || quorum->listener.socket < 0;
}

void quern_call_homes(struct quern_quorum *quorum) {
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
    return quern_mask_is_of(quorum->member, verdict->living, -1) && verdict->place.version && verdict->place.port &&
           quern_is_quorum(verdict->living, quorum->member->ranks);
}

/* False: the home has hung up, is silent, or talks nonsense. */
static bool hear_home(struct quern_quorum *quorum) {
    while (!quorum->is_decided) {
        char word = QUERN_QUORUM_DECIDED, *to = quorum->done ? (char *)&quorum->verdict + quorum->done - 1 : &word;
        const size_t most = quorum->done ? sizeof quorum->verdict - (quorum->done - 1) : 1;
        const ssize_t read = recv(quorum->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return !quern_is_silent(&quorum->silence, quorum->heard);
        if (read <= 0 || (word != QUERN_QUORUM_DECIDED && word != QUERN_QUORUM_BEAT)) return false;
        quorum->heard = quern_now();
        if (word == QUERN_QUORUM_DECIDED) quorum->done += (size_t)read;
        if (quorum->done == 1 + sizeof quorum->verdict && !is_sound(quorum)) return false;
        quorum->is_decided = quorum->done == 1 + sizeof quorum->verdict;
    }
    return true;
}

void quern_hear_home(struct quern_quorum *quorum) {
    if (!quern_is_at_home(quorum) && !hear_home(quorum)) go_home(quorum);
}
