/* An attempt that fails, for whatever reason, is made again after a pause.  The caller has the limit. */
#define _GNU_SOURCE
#include "ranks/hosts/connector.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptor.h"

static const int64_t PAUSE = 20000000, PATIENCE = 3000000000;  /* nanoseconds: between attempts; for one */

void quern_connector_begin(struct quern_connector *connector, const struct quern_address *address, const unsigned char *key,
                      enum quern_call_kind kind, int from, int to) {
    *connector = (struct quern_connector){.address = *address, .key = key, .kind = kind, .from = from, .to = to, .socket = -1,
                                .why = "no answer"};
}

void quern_connector_end(struct quern_connector *connector) {
    if (connector->socket >= 0) close(connector->socket);
    connector->socket = -1;
}

static int give_up(struct quern_connector *connector, const char *why) {
    quern_connector_end(connector);
    if (!connector->is_unknown) connector->why = why;
    connector->again = quern_now() + PAUSE;
    return -1;
}

static bool begin(struct quern_connector *connector) {
    struct sockaddr_storage name;
    const socklen_t bytes = quern_address_out(&connector->address, &name);
    const int on = 1;
    connector->socket = quern_above_two(socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connector->socket < 0) return false;
    setsockopt(connector->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connector->socket, (struct sockaddr *)&name, bytes) != 0 && errno != EINPROGRESS) return false;
    return quern_handshake_call(&connector->handshake, connector->socket, connector->key, connector->kind, connector->from,
                                connector->to);
}

/* Why a connection has failed, as the system says it. */
static const char *error_of(int socket) {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error ? strerror(error) : "the other side hung up";
}

int quern_connector_go(struct quern_connector *connector) {
    if (connector->socket < 0 && quern_now() < connector->again) return -1;
    if (connector->socket < 0 && !begin(connector)) return give_up(connector, strerror(errno));
    const enum quern_handshake_state state = quern_handshake_go(&connector->handshake);
    if (state == QUERN_HANDSHAKE_DONE) {
        const int socket = connector->socket;
        connector->socket = -1;
        return socket;
    }
    if (state == QUERN_HANDSHAKE_FAILED && connector->handshake.stranger == QUERN_STRANGER_FALSE) {
        give_up(connector, "it has another secret, name or job");
        connector->is_unknown = true;
        return -1;
    }
    if (state == QUERN_HANDSHAKE_FAILED) {
        const int reason = errno;
        const bool refused = connector->handshake.step == 0;
        return give_up(connector, refused && reason ? strerror(reason) : error_of(connector->socket));
    }
    return quern_now() - connector->handshake.began > PATIENCE ? give_up(connector, "it was silent") : -1;
}

void quern_connector_awaits(const struct quern_connector *connector, struct pollfd *poll) {
    *poll = (struct pollfd){.fd = connector->socket, .events = quern_handshake_awaits(&connector->handshake)};
}
