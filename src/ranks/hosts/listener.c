/*
 * Listeners.  Whoever can reach the address can connect, so a connection has little time and little memory until it has proved that
 * it knows the secret, and the oldest gives way to a new one.  A member of the group needs some milliseconds, and calls again.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptor.h"

static const int64_t PATIENCE = 2000000000;  /* nanoseconds for a handshake */

/* More calls than places would crowd each other out. */
enum { LEAST_PLACES = 32, LEAST_BACKLOG = 512 };

static int places_for(int ranks) {
    const int places = QUERN_LISTENER_CALLS * ranks;
    return places < LEAST_PLACES ? LEAST_PLACES : places;
}

static bool make_places(struct quern_listener *listener, int places) {
    listener->waiting = malloc((size_t)places * sizeof *listener->waiting);
    listener->places = places;
    listener->count = 0;
    listener->seen = 0;
    listener->shortage = 0;
    listener->socket = -1;
    return listener->waiting;
}

/* ---- ports ---- */

bool quern_listener_ports(struct quern_ports *ports) {
    const char *text = getenv("QUERN_PORTS");
    *ports = (struct quern_ports){0, 0};
    return !text || !*text || quern_ports_read(text, ports);
}

/* A socket that only reserves a port shares it with a listener later.  Until then no other one that reserves gets the same. */
static bool make_socket(int *made, const struct quern_address *address, bool listens, struct quern_address *bound) {
    struct sockaddr_storage name;
    socklen_t bytes = quern_address_out(address, &name), room = sizeof name;
    *made = quern_above_two(socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (*made < 0) return false;
    if (listens) setsockopt(*made, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (address->version == 6 && quern_address_is_any(address))
        setsockopt(*made, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    const bool is_bound = bind(*made, (struct sockaddr *)&name, bytes) == 0 &&
                          getsockname(*made, (struct sockaddr *)&name, &room) == 0 && quern_address_in(&name, bound);
    setsockopt(*made, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    return is_bound;
}

/* A socket that listens, or, with a backlog of 0, only has the port.  -1: errno says why. */
static int open_at(const struct quern_address *address, int backlog, struct quern_address *bound) {
    int made;
    if (make_socket(&made, address, backlog, bound) && (!backlog || listen(made, backlog) == 0)) return made;
    const int reason = errno;
    if (made >= 0) close(made);
    errno = reason;
    return -1;
}

bool quern_try_ports(bool (*opens)(void *user, uint16_t port), void *user) {
    struct quern_ports ports;
    if (!quern_listener_ports(&ports) || !ports.first) return opens(user, 0);
    for (uint32_t port = ports.first; port <= ports.last; port++) {
        if (opens(user, (uint16_t)port)) return true;
        if (errno != EADDRINUSE) return false;
    }
    return false;
}

struct opening {
    struct quern_address at, *bound;
    int backlog, made;
};

static bool open_port(void *user, uint16_t port) {
    struct opening *opening = user;
    opening->at.port = port;
    opening->made = open_at(&opening->at, opening->backlog, opening->bound);
    return opening->made >= 0;
}

static int open_socket(const struct quern_address *address, int backlog, struct quern_address *bound) {
    struct opening opening = {*address, bound, backlog, -1};
    if (address->port) return open_at(address, backlog, bound);
    return quern_try_ports(open_port, &opening) ? opening.made : -1;
}

int quern_reserve_port(const struct quern_address *address, uint16_t *port) {
    struct quern_address bound;
    const int reserved = open_socket(address, 0, &bound);
    if (reserved >= 0) *port = bound.port;
    return reserved;
}

bool quern_listener_open(struct quern_listener *listener, const struct quern_address *address, int ranks) {
    const int places = places_for(ranks);
    if (make_places(listener, places))
        listener->socket = open_socket(address, places < LEAST_BACKLOG ? LEAST_BACKLOG : places, &listener->address);
    if (listener->socket >= 0) return true;
    const int reason = errno;
    quern_listener_close(listener);
    errno = reason;
    return false;
}

void quern_listener_close(struct quern_listener *listener) {
    for (int i = 0; i < listener->count; i++) close(listener->waiting[i].socket);
    if (listener->socket >= 0) close(listener->socket);
    free(listener->waiting);
    listener->waiting = NULL;
    listener->socket = -1;
    listener->count = 0;
}

int quern_listener_awaits(const struct quern_listener *listener, struct pollfd *polls) {
    int count = 0;
    polls[count++] = (struct pollfd){.fd = listener->socket, .events = POLLIN};
    for (int i = 0; i < listener->count; i++)
        polls[count++] = (struct pollfd){.fd = listener->waiting[i].socket,
                                         .events = quern_handshake_awaits(&listener->waiting[i])};
    return count;
}

/* ---- rejections ---- */

static void forget(struct quern_listener *listener, int at) {
    listener->count--;
    memmove(&listener->waiting[at], &listener->waiting[at + 1], (size_t)(listener->count - at) * sizeof *listener->waiting);
}

static void reject(struct quern_listener *listener, int at, enum quern_rejection rejection) {
    __atomic_add_fetch(&listener->rejections[rejection], 1, __ATOMIC_RELAXED);
    close(listener->waiting[at].socket);
    forget(listener, at);
}

static bool is_repeated(struct quern_listener *listener, const unsigned char number[32]) {
    for (unsigned i = 0; i < QUERN_LISTENER_NUMBERS && i < listener->seen; i++)
        if (memcmp(listener->numbers[i], number, sizeof *listener->numbers) == 0) return true;
    memcpy(listener->numbers[listener->seen++ % QUERN_LISTENER_NUMBERS], number, sizeof *listener->numbers);
    return false;
}

/* ---- serving ---- */

static void let_in(struct quern_listener *listener) {
    for (int i = 0; i < listener->places; i++) {
        const int socket = quern_above_two(accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        listener->shortage = socket < 0 && listener->count == 0 && quern_is_shortage(errno) ? errno : 0;
        if (socket < 0) return;
        quern_socket_set_up(socket);
        if (listener->count == listener->places) reject(listener, 0, QUERN_REJECTED_CROWDED);
        quern_handshake_answer(&listener->waiting[listener->count++], socket, listener->key);
    }
}

/* One step of a handshake; whether the hello was whole before it and is whole now tells when to compare its number. */
static enum quern_handshake_state go(struct quern_listener *listener, struct quern_handshake *handshake) {
    const bool was_greeted = handshake->step > 0;
    enum quern_handshake_state state = quern_handshake_go(handshake);
    if (was_greeted || handshake->step == 0 || !is_repeated(listener, handshake->hello.number)) return state;
    handshake->rejection = QUERN_REJECTED_REPEATED;
    return QUERN_HANDSHAKE_FAILED;
}

int quern_listener_serve(struct quern_listener *listener, struct quern_hello *hello) {
    let_in(listener);
    for (int i = 0; i < listener->count;) {
        struct quern_handshake *handshake = &listener->waiting[i];
        const enum quern_handshake_state state = go(listener, handshake);
        if (state == QUERN_HANDSHAKE_DONE) {
            const int socket = handshake->socket;
            *hello = handshake->hello;
            quern_handshake_session(handshake, listener->session);
            forget(listener, i);
            return socket;
        }
        if (state == QUERN_HANDSHAKE_FAILED) reject(listener, i, handshake->rejection);
        else if (quern_now() - handshake->began > PATIENCE) reject(listener, i, QUERN_REJECTED_SLOW);
        else i++;
    }
    return -1;
}
