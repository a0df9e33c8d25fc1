/* Wraps connect, accept4, send, sendmsg and recv, and follows the bytes of each connection.  For group.c. */
#define _GNU_SOURCE
#include "traffic/traffic.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "ranks/hosts/connections.h"
#include "ranks/hosts/frames.h"

int __real_connect(int socket, const struct sockaddr *name, socklen_t bytes);
int __real_accept4(int socket, struct sockaddr *name, socklen_t *bytes, int flags);
ssize_t __real_send(int socket, const void *data, size_t bytes, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __real_recv(int socket, void *data, size_t bytes, int flags);

int __wrap_connect(int socket, const struct sockaddr *name, socklen_t bytes);
int __wrap_accept4(int socket, struct sockaddr *name, socklen_t *bytes, int flags);
ssize_t __wrap_send(int socket, const void *data, size_t bytes, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags);

enum { SOCKETS = 1 << 16, BEAT = 1 /* the word of a beat: src/ranks/hosts/monitor.c */ };

static const size_t CALLER_SAYS = sizeof(struct quern_hello) + QUERN_DIGEST_BYTES;
static const size_t LISTENER_SAYS = sizeof(struct quern_challenge) + sizeof(struct quern_welcome);

/* One end of a connection. */
struct end {
    bool calls;                 /* else it listened */
    struct quern_hello hello;   /* of its caller, which says why it called */
    size_t greeted;             /* bytes of the hello that have passed here */
    size_t said;                /* bytes of the handshake that it has sent */
    union {
        struct quern_frame message;
        struct quern_relay_frame relay;
    } head;                     /* of the frame that it sends */
    size_t heading;             /* bytes of the head that it has sent */
    uint64_t left;              /* bytes of the frame behind the head */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct end ends[SOCKETS];
static struct traffic totals[TRAFFIC_KINDS];

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void greet(struct end *end, const char *data, size_t bytes) {
    const size_t part = least(bytes, sizeof end->hello - end->greeted);
    memcpy((char *)&end->hello + end->greeted, data, part);
    end->greeted += part;
}

/* ---- what an end sends ---- */

static size_t shake(struct end *end, const char *data, size_t bytes) {
    const size_t all = end->calls ? CALLER_SAYS : LISTENER_SAYS, part = least(bytes, all - end->said);
    if (end->calls) greet(end, data, part);
    end->said += part;
    /* The listener has the last word. */
    if (!end->calls && part && end->said == all) {
        totals[end->hello.kind].connections++;
        totals[end->hello.kind].handshake_bytes += (long)(CALLER_SAYS + LISTENER_SAYS);
    }
    return part;
}

/* The bytes behind a head. */
static uint64_t rest_of(const struct end *end, bool is_relay) {
    const struct quern_frame *message = &end->head.message;
    return is_relay ? end->head.relay.bytes : (uint64_t)message->first + message->second + message->last;
}

static void frames(struct end *end, struct traffic *total, const char *data, size_t bytes, bool is_relay) {
    const size_t head = is_relay ? sizeof end->head.relay : sizeof end->head.message;
    total->bytes += (long)bytes;
    while (bytes) {
        const bool in_head = end->heading < head;
        const size_t part = least(bytes, in_head ? head - end->heading : end->left);
        if (in_head) memcpy((char *)&end->head + end->heading, data, part), end->heading += part;
        else end->left -= part;
        if (in_head && end->heading == head) end->left = rest_of(end, is_relay);
        data += part, bytes -= part;
        if (end->heading == head && !end->left) end->heading = 0, total->messages++;
    }
}

static void words(struct traffic *total, const char *data, size_t bytes, bool is_control) {
    uint32_t word = 0;
    memcpy(&word, data, least(bytes, sizeof word));
    const bool beats = is_control && word == BEAT;
    *(beats ? &total->beats : &total->messages) += 1;
    *(beats ? &total->beat_bytes : &total->bytes) += (long)bytes;
}

static void say(struct end *end, const char *data, size_t bytes) {
    const size_t shaken = shake(end, data, bytes);
    const uint32_t kind = end->hello.kind;
    if (shaken == bytes || kind >= TRAFFIC_KINDS) return;
    const bool is_relay = kind == QUERN_CALL_RELAY;
    if (kind == QUERN_CALL_DATA || is_relay) frames(end, &totals[kind], data + shaken, bytes - shaken, is_relay);
    else words(&totals[kind], data + shaken, bytes - shaken, kind == QUERN_CALL_CONTROL);
}

/* ---- the calls ---- */

static void begin(int socket, bool calls) {
    if (socket < 0 || socket >= SOCKETS) return;
    pthread_mutex_lock(&lock);
    ends[socket] = (struct end){.calls = calls};
    pthread_mutex_unlock(&lock);
}

int __wrap_connect(int socket, const struct sockaddr *name, socklen_t bytes) {
    begin(socket, true);
    return __real_connect(socket, name, bytes);
}

int __wrap_accept4(int listener, struct sockaddr *name, socklen_t *bytes, int flags) {
    const int socket = __real_accept4(listener, name, bytes, flags);
    begin(socket, false);
    return socket;
}

/* The other end may answer before this one has noted what it sent, so the lock is held over the call: none of them waits. */
ssize_t __wrap_send(int socket, const void *data, size_t bytes, int flags) {
    pthread_mutex_lock(&lock);
    const ssize_t sent = __real_send(socket, data, bytes, flags | MSG_DONTWAIT);
    if (sent > 0) say(&ends[socket], data, (size_t)sent);
    pthread_mutex_unlock(&lock);
    return sent;
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags) {
    pthread_mutex_lock(&lock);
    const ssize_t sent = __real_sendmsg(socket, message, flags | MSG_DONTWAIT);
    size_t left = sent > 0 ? (size_t)sent : 0;
    for (size_t i = 0; left; i++) {
        const size_t part = least(left, message->msg_iov[i].iov_len);
        say(&ends[socket], message->msg_iov[i].iov_base, part);
        left -= part;
    }
    pthread_mutex_unlock(&lock);
    return sent;
}

ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags) {
    const ssize_t read = __real_recv(socket, data, bytes, flags);
    if (read <= 0 || flags & MSG_PEEK || socket >= SOCKETS || ends[socket].calls) return read;
    pthread_mutex_lock(&lock);
    greet(&ends[socket], data, (size_t)read);
    pthread_mutex_unlock(&lock);
    return read;
}

void traffic_take(struct traffic taken[TRAFFIC_KINDS]) {
    pthread_mutex_lock(&lock);
    memcpy(taken, totals, sizeof totals);
    memset(totals, 0, sizeof totals);
    pthread_mutex_unlock(&lock);
}

long traffic_beats(void) {
    pthread_mutex_lock(&lock);
    const long beats = totals[QUERN_CALL_CONTROL].beats;
    pthread_mutex_unlock(&lock);
    return beats;
}
