/*
 * Doors.  Whoever can reach the address can connect, so a connection has little time and little memory until it has proved that it
 * knows the secret, and the oldest gives way to a new one.  A member of the group needs some milliseconds, and calls again.
 */
#define _GNU_SOURCE
#include "ranks/hosts/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

static const int64_t PATIENCE = 2000000000;  /* nanoseconds for a handshake */

bool quern_door_open(struct quern_door *door, const struct quern_address *address) {
    struct sockaddr_storage name;
    socklen_t bytes = quern_address_out(address, &name), room = sizeof name;
    const int on = 1;
    door->count = 0;
    door->seen = 0;
    door->listener = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->listener < 0) return false;
    setsockopt(door->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(door->listener, (struct sockaddr *)&name, bytes) == 0 && listen(door->listener, 512) == 0 &&
        getsockname(door->listener, (struct sockaddr *)&name, &room) == 0 && quern_address_in(&name, &door->address))
        return true;
    const int reason = errno;
    quern_door_close(door);
    errno = reason;
    return false;
}

void quern_door_close(struct quern_door *door) {
    for (int i = 0; i < door->count; i++) close(door->waiting[i].socket);
    if (door->listener >= 0) close(door->listener);
    door->listener = -1;
    door->count = 0;
}

int quern_door_awaits(const struct quern_door *door, struct pollfd polls[QUERN_DOOR_WAITING + 1]) {
    int count = 0;
    polls[count++] = (struct pollfd){.fd = door->listener, .events = POLLIN};
    for (int i = 0; i < door->count; i++)
        polls[count++] = (struct pollfd){.fd = door->waiting[i].socket, .events = quern_handshake_awaits(&door->waiting[i])};
    return count;
}

/* ---- strangers ---- */

static void forget(struct quern_door *door, int at) {
    door->count--;
    memmove(&door->waiting[at], &door->waiting[at + 1], (size_t)(door->count - at) * sizeof *door->waiting);
}

static void turn_away(struct quern_door *door, int at, enum quern_stranger stranger) {
    __atomic_add_fetch(&door->strangers[stranger], 1, __ATOMIC_RELAXED);
    close(door->waiting[at].socket);
    forget(door, at);
}

static bool is_repeated(struct quern_door *door, const unsigned char number[32]) {
    for (unsigned i = 0; i < QUERN_DOOR_NUMBERS && i < door->seen; i++)
        if (memcmp(door->numbers[i], number, sizeof *door->numbers) == 0) return true;
    memcpy(door->numbers[door->seen++ % QUERN_DOOR_NUMBERS], number, sizeof *door->numbers);
    return false;
}

/* ---- serving ---- */

static void let_in(struct quern_door *door) {
    const int on = 1;
    for (int i = 0; i < QUERN_DOOR_WAITING; i++) {
        const int socket = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (socket < 0) return;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (door->count == QUERN_DOOR_WAITING) turn_away(door, 0, QUERN_STRANGER_CROWDED);
        quern_handshake_answer(&door->waiting[door->count++], socket, door->key);
    }
}

/* One step of a handshake; whether the hello was whole before it and is whole now tells when to compare its number. */
static enum quern_handshake_state go(struct quern_door *door, struct quern_handshake *handshake) {
    const bool was_greeted = handshake->step > 0;
    enum quern_handshake_state state = quern_handshake_go(handshake);
    if (was_greeted || handshake->step == 0 || !is_repeated(door, handshake->hello.number)) return state;
    handshake->stranger = QUERN_STRANGER_REPEATED;
    return QUERN_HANDSHAKE_FAILED;
}

int quern_door_serve(struct quern_door *door, struct quern_hello *hello) {
    let_in(door);
    for (int i = 0; i < door->count;) {
        struct quern_handshake *handshake = &door->waiting[i];
        const enum quern_handshake_state state = go(door, handshake);
        if (state == QUERN_HANDSHAKE_DONE) {
            const int socket = handshake->socket;
            *hello = handshake->hello;
            forget(door, i);
            return socket;
        }
        if (state == QUERN_HANDSHAKE_FAILED) turn_away(door, i, handshake->stranger);
        else if (quern_now() - handshake->began > PATIENCE) turn_away(door, i, QUERN_STRANGER_SLOW);
        else i++;
    }
    return -1;
}
