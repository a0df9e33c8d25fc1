/*
 * A host that is a follower of a lower one: how it gets there, what it hears there, and when it goes coordinator.  Called by
 * quorum.c.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

/* Nanoseconds: after which more hosts are called; for the other followers of a coordinator that is lost to find another one. */
static const int64_t WIDER = 100000000, MOVING = 1500000000;
enum { CALLS = 8 };  /* hosts that are called at once at first */

/* The other followers there need time for another coordinator, too. */
static void go_coordinator(struct quern_quorum *quorum) {
    const int64_t soon = quern_now() + MOVING;
    if (quorum->deadline < soon) quorum->deadline = soon;
    quern_socket_close(&quorum->socket);
    quorum->connectors[quorum->coordinator].again = quern_now() + QUERN_QUORUM_PAUSE;
    quorum->coordinator = quorum->own;
    quorum->done = 0;
    quorum->listens_again = 0;
    quern_listen_for_followers(quorum);
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
    if (!quern_is_coordinator(quorum)) go_coordinator(quorum);
    for (int other = 0; other < quorum->hosts; other++) quern_reject_follower(quorum, other);
    for (int other = host + 1; other < quorum->hosts; other++) quern_connector_end(&quorum->connectors[other]);
    quern_listener_close(&quorum->listener);
    quorum->coordinator = host;
    quorum->socket = socket;
    quorum->heard = quern_now();
    if (!quern_send_all(socket, &card, sizeof card, quorum->heard + QUERN_QUORUM_TELLING)) go_coordinator(quorum);
}

/* A lower host is preferred.  A host that cannot bind its port can only be a follower. */
static bool is_better(const struct quern_quorum *quorum, int host) {
    if (!quern_is_coordinator(quorum)) return host < quorum->coordinator;
    return host < quorum->own || quorum->listener.socket < 0;
}

void quern_call_coordinators(struct quern_quorum *quorum) {
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

/* False: the coordinator has hung up, is silent, or talks nonsense. */
static bool hear_coordinator(struct quern_quorum *quorum) {
    while (!quorum->is_decided) {
        char word = QUERN_QUORUM_DECIDED, *to = quorum->done ? (char *)&quorum->verdict + quorum->done - 1 : &word;
        const size_t most = quorum->done ? sizeof quorum->verdict - (quorum->done - 1) : 1;
        const ssize_t read = recv(quorum->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return !quern_is_silent(&quorum->heartbeat, quorum->heard);
        if (read <= 0 || (word != QUERN_QUORUM_DECIDED && word != QUERN_QUORUM_BEAT)) return false;
        quorum->heard = quern_now();
        if (word == QUERN_QUORUM_DECIDED) quorum->done += (size_t)read;
        if (quorum->done == 1 + sizeof quorum->verdict && !is_sound(quorum)) return false;
        quorum->is_decided = quorum->done == 1 + sizeof quorum->verdict;
    }
    return true;
}

void quern_hear_coordinator(struct quern_quorum *quorum) {
    if (!quern_is_coordinator(quorum) && !hear_coordinator(quorum)) go_coordinator(quorum);
}
