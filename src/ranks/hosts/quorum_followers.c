/* The followers of a host that gathers: who comes, what its card says, and when it is lost.  Called by quorum.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

/* Retry the bind: another process may have released the port. */
void quern_listen_for_followers(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    if (!quern_is_coordinator(quorum) || quorum->listener.socket >= 0 || quern_now() < quorum->listens_again) return;
    struct quern_address at = member->roster->peer[member->roster->host_leader].address;
    if (quern_address_is_any(&member->address)) {
        const uint16_t port = at.port;
        at = quern_address_any(member->address.version);
        at.port = port;
    }
    quorum->listens_again = quern_now() + QUERN_QUORUM_PAUSE;
    quern_listener_open(&quorum->listener, &at, quorum->hosts);
}

void quern_reject_follower(struct quern_quorum *quorum, int host) {
    quern_socket_close(&quorum->followers[host].socket);
    quorum->followers[host] = (struct quern_follower){.socket = -1};
}

/* The connection has proved that it knows the key, so it is of this shrink. */
static void let_in(struct quern_quorum *quorum, int socket, const struct quern_hello *hello) {
    const struct quern_roster *roster = quorum->member->roster;
    const bool known = hello->kind == QUERN_CALL_MEETING && hello->from >= 0 && hello->from < roster->ranks;
    const int host = known ? roster->peer[hello->from].host : quorum->own;
    if (host == quorum->own || !quern_is_coordinator(quorum) || !quern_socket_own(socket)) {
        close(socket);
        return;
    }
    quern_reject_follower(quorum, host);
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
    if (!fits || !quern_mask_is_of(member, follower->card.living, host) || !quern_mask_count(follower->card.living)) return false;
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
        if (quorum->followers[host].socket >= 0 && !hear_follower(quorum, host)) quern_reject_follower(quorum, host);
}

void quern_serve_followers(struct quern_quorum *quorum) {
    serve_listener(quorum);
    hear_followers(quorum);
}

void quern_tell_followers(struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++) {
        struct quern_follower *follower = &quorum->followers[host];
        if (follower->socket < 0) continue;
        if (!follower->is_whole) quern_reject_follower(quorum, host);
        else if (!quern_send_all(follower->socket, &QUERN_QUORUM_DECIDED, 1, quern_now() + QUERN_QUORUM_TELLING) ||
                 !quern_send_all(follower->socket, &quorum->verdict, sizeof quorum->verdict, quern_now() + QUERN_QUORUM_TELLING))
            quorum->is_broken = true;
    }
}
