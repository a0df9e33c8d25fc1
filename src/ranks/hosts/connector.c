/* An attempt that fails, for whatever reason, is made again after a pause.  The caller has the limit. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptor.h"
#include "ranks/describe.h"

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

static int give_up(struct quern_connector *connector, const char *why, bool has_answered) {
    quern_connector_end(connector);
    if (has_answered || !connector->has_answered) quern_copy_text(connector->why, why, sizeof connector->why);
    connector->has_answered |= has_answered;
    connector->failures++;
    connector->again = quern_now() + PAUSE;
    return -1;
}

static int give_up_with(struct quern_connector *connector, int reason) {
    if (quern_is_shortage(reason)) connector->shortage = reason;
    return give_up(connector, strerror(reason), false);
}

static bool begin(struct quern_connector *connector) {
    struct sockaddr_storage name;
    const socklen_t bytes = quern_address_out(&connector->address, &name);
    connector->socket = quern_above_two(socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connector->socket < 0) return false;
    quern_socket_set_up(connector->socket);
    if (connect(connector->socket, (struct sockaddr *)&name, bytes) != 0 && errno != EINPROGRESS) return false;
    return quern_handshake_call(&connector->handshake, connector->socket, connector->key, connector->kind, connector->from,
                                connector->to);
}

/* The error of a connection; 0: the other side hung up. */
static int error_of(int socket) {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error;
}

/* The reason why a handshake has failed.  An unauthenticated answer may be false, so the caller tries again. */
static int explain(struct quern_connector *connector, int reason) {
    const struct quern_handshake *handshake = &connector->handshake;
    char why[sizeof connector->why];
    struct quern_text text = quern_text_begin(why, sizeof why);
    if (handshake->rejection == QUERN_REJECTED_FALSE) return give_up(connector, "it has another secret, name or job", true);
    if (handshake->rejection == QUERN_REJECTED_VERSION) {
        quern_text_add(&text, "another version of the library is there, with protocol %u: expected %u, as here",
                       handshake->challenge.version, quern_handshake_version);
        return give_up(connector, why, true);
    }
    if (handshake->step > 0 || !reason) reason = error_of(connector->socket);
    if (reason) return give_up_with(connector, reason);
    const bool is_foreign = handshake->step == 1 && handshake->done > 0;
    return give_up(connector, is_foreign ? "another program is there" : "it hung up", is_foreign);
}

int quern_connector_go(struct quern_connector *connector) {
    if (connector->socket < 0 && quern_now() < connector->again) return -1;
    if (connector->socket < 0 && !begin(connector)) return give_up_with(connector, errno);
    const enum quern_handshake_state state = quern_handshake_go(&connector->handshake);
    if (state == QUERN_HANDSHAKE_DONE) {
        const int socket = connector->socket;
        connector->socket = -1;
        return socket;
    }
    if (state == QUERN_HANDSHAKE_FAILED) return explain(connector, errno);
    return quern_now() - connector->handshake.began > PATIENCE ? give_up(connector, "it was silent", false) : -1;
}

void quern_connector_awaits(const struct quern_connector *connector, struct pollfd *poll) {
    *poll = (struct pollfd){.fd = connector->socket, .events = quern_handshake_awaits(&connector->handshake)};
}
