/* The guests of a host that gathers: who comes, what its card says, and when it is lost.  Called by quorum.c. */
#define _GNU_SOURCE
#include "ranks/hosts/quorum_guests.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/hosts/bootstrap.h"
#include "ranks/hosts/quorum_mask.h"
#include "ranks/hosts/sockets.h"

/* Who held the port meanwhile may give it back. */
void quern_listen_for_guests(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    if (!quern_is_at_home(quorum) || quorum->listener.socket >= 0 || quern_now() < quorum->listens_again) return;
    struct quern_address at = member->roster->peer[member->roster->host_leader].address;
    if (quern_address_is_any(&member->address)) {
        const uint16_t port = at.port;
        at = quern_address_any(member->address.version);
        at.port = port;
    }
    quorum->listens_again = quern_now() + QUERN_QUORUM_PAUSE;
    quern_listener_open(&quorum->listener, &at, quorum->hosts);
}

void quern_send_guest_away(struct quern_quorum *quorum, int host) {
    quern_socket_close(&quorum->guests[host].socket);
    quorum->guests[host] = (struct quern_guest){.socket = -1};
}

/* The connection has proved that it knows the key, so it is of this shrink. */
static void let_in(struct quern_quorum *quorum, int socket, const struct quern_hello *hello) {
    const struct quern_roster *roster = quorum->member->roster;
    const bool known = hello->kind == QUERN_CALL_MEETING && hello->from >= 0 && hello->from < roster->ranks;
    const int host = known ? roster->peer[hello->from].host : quorum->own;
    if (host == quorum->own || !quern_is_at_home(quorum) || !quern_socket_own(socket)) {
        close(socket);
        return;
    }
    quern_send_guest_away(quorum, host);
    quorum->guests[host] = (struct quern_guest){.socket = socket, .heard = quern_now()};
}

static void serve_listener(struct quern_quorum *quorum) {
    struct quern_hello hello;
    if (quorum->listener.socket < 0) return;
    for (int socket; (socket = quern_listener_serve(&quorum->listener, &hello)) >= 0;) let_in(quorum, socket, &hello);
}

/* The first of all to have no more time ends the wait of all. */
static bool take_card(struct quern_quorum *quorum, int host) {
    struct quern_guest *guest = &quorum->guests[host];
    const struct quern_membership *member = quorum->member;
    const bool fits = guest->card.ranks == (uint32_t)member->ranks && guest->card.port && guest->card.port <= UINT16_MAX;
    if (!fits || !quern_mask_is_of(member, guest->card.living, host) || !quern_mask_count(guest->card.living)) return false;
    const int64_t now = quern_now(), patience = guest->card.patience > 0 ? guest->card.patience : 0;
    if (patience < quorum->patience - now) quorum->patience = now + patience;
    return guest->is_whole = true;
}

/* False: it has hung up, or is none. */
static bool hear_guest(struct quern_quorum *quorum, int host) {
    struct quern_guest *guest = &quorum->guests[host];
    for (;;) {
        char beats[64], *to = guest->is_whole ? beats : (char *)&guest->card + guest->done;
        const size_t most = guest->is_whole ? sizeof beats : sizeof guest->card - guest->done;
        const ssize_t read = recv(guest->socket, to, most, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return !quern_is_silent(&quorum->silence, guest->heard);
        if (read <= 0) return false;
        guest->heard = quern_now();
        guest->done += (size_t)read;
        if (!guest->is_whole && guest->done == sizeof guest->card && !take_card(quorum, host)) return false;
    }
}

static void hear_guests(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->guests[host].socket >= 0 && !hear_guest(quorum, host)) quern_send_guest_away(quorum, host);
}

void quern_serve_guests(struct quern_quorum *quorum) {
    serve_listener(quorum);
    hear_guests(quorum);
}

void quern_tell_guests(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++) {
        struct quern_guest *guest = &quorum->guests[host];
        if (guest->socket < 0) continue;
        if (!guest->is_whole) quern_send_guest_away(quorum, host);
        else if (!quern_send_all(guest->socket, &QUERN_QUORUM_DECIDED, 1, quern_now() + QUERN_QUORUM_TELLING) ||
                 !quern_send_all(guest->socket, &quorum->verdict, sizeof quorum->verdict, quern_now() + QUERN_QUORUM_TELLING))
            quorum->is_broken = true;
    }
}
