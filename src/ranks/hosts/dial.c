/* Dialling: an attempt that fails, for whatever reason, is made again after a pause.  The caller has the limit. */
#define _GNU_SOURCE
#include "ranks/hosts/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

static const int64_t PAUSE = 20000000, PATIENCE = 3000000000;  /* nanoseconds: between attempts; for one */

void quern_dial_begin(struct quern_dial *dial, const struct quern_address *address, const unsigned char *key,
                      enum quern_call_kind kind, int from, int to) {
    *dial = (struct quern_dial){.address = *address, .key = key, .kind = kind, .from = from, .to = to, .socket = -1,
                                .why = "no answer"};
}

void quern_dial_end(struct quern_dial *dial) {
    if (dial->socket >= 0) close(dial->socket);
    dial->socket = -1;
}

static int give_up(struct quern_dial *dial, const char *why) {
    quern_dial_end(dial);
    if (!dial->is_unknown) dial->why = why;
    dial->again = quern_now() + PAUSE;
    return -1;
}

static bool begin(struct quern_dial *dial) {
    struct sockaddr_storage name;
    const socklen_t bytes = quern_address_out(&dial->address, &name);
    const int on = 1;
    dial->socket = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (dial->socket < 0) return false;
    setsockopt(dial->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(dial->socket, (struct sockaddr *)&name, bytes) != 0 && errno != EINPROGRESS) return false;
    return quern_handshake_call(&dial->handshake, dial->socket, dial->key, dial->kind, dial->from, dial->to);
}

/* Why a connection has failed, as the system says it. */
static const char *error_of(int socket) {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error ? strerror(error) : "the other side hung up";
}

int quern_dial_go(struct quern_dial *dial) {
    if (dial->socket < 0 && quern_now() < dial->again) return -1;
    if (dial->socket < 0 && !begin(dial)) return give_up(dial, strerror(errno));
    const enum quern_handshake_state state = quern_handshake_go(&dial->handshake);
    if (state == QUERN_HANDSHAKE_DONE) {
        const int socket = dial->socket;
        dial->socket = -1;
        return socket;
    }
    if (state == QUERN_HANDSHAKE_FAILED && dial->handshake.stranger == QUERN_STRANGER_FALSE) {
        give_up(dial, "it has another secret, name or job");
        dial->is_unknown = true;
        return -1;
    }
    if (state == QUERN_HANDSHAKE_FAILED) {
        const int reason = errno;
        const bool refused = dial->handshake.step == 0;
        return give_up(dial, refused && reason ? strerror(reason) : error_of(dial->socket));
    }
    return quern_now() - dial->handshake.began > PATIENCE ? give_up(dial, "it was silent") : -1;
}

void quern_dial_awaits(const struct quern_dial *dial, struct pollfd *poll) {
    *poll = (struct pollfd){.fd = dial->socket, .events = quern_handshake_awaits(&dial->handshake)};
}
