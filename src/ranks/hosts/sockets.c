/*
 * A connection ends for the other side when its last descriptor is closed.  A child of fork has copies, with which it would hide
 * the end of its parent, so it closes them.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A word of the system each minute.  It gives up a connection without an answer after 7,680 s, longer than the longest failure
 * timeout of a host: so monitors are the first to miss one.
 */
void quern_socket_set_up(int socket) {
    static const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1}, {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 60},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 60}, {IPPROTO_TCP, TCP_KEEPCNT, 127}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(socket, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

static struct {
    pthread_mutex_t lock;
    int *list;
    int count, room;
} sockets = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_sockets(void) { pthread_mutex_lock(&sockets.lock); }
static void unlock_sockets(void) { pthread_mutex_unlock(&sockets.lock); }

static void close_copies(void) {
    for (int i = 0; i < sockets.count; i++) close(sockets.list[i]);
    sockets.count = 0;
    unlock_sockets();
}

static void watch_forks(void) { pthread_atfork(lock_sockets, unlock_sockets, close_copies); }

static bool has_room(void) {
    if (sockets.count < sockets.room) return true;
    const int room = sockets.room ? 2 * sockets.room : 64;
    int *list = realloc(sockets.list, (size_t)room * sizeof *list);
    if (!list) return false;
    sockets.list = list;
    sockets.room = room;
    return true;
}

bool quern_socket_own(int socket) {
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    pthread_once(&watching, watch_forks);
    lock_sockets();
    const bool room = has_room();
    if (room) sockets.list[sockets.count++] = socket;
    unlock_sockets();
    return room;
}

static void free_if_empty(void) {
    if (sockets.count) return;
    free(sockets.list);
    sockets.list = NULL;
    sockets.room = 0;
}

void quern_socket_close(int *socket) {
    if (*socket < 0) return;
    lock_sockets();
    int at = 0;
    while (at < sockets.count && sockets.list[at] != *socket) at++;
    if (at < sockets.count) {
        sockets.list[at] = sockets.list[--sockets.count];
        close(*socket);  /* a child's copy is not in the list, and its number may be another file by now */
    }
    free_if_empty();
    unlock_sockets();
    *socket = -1;
}

/* ---- moving bytes ---- */

ssize_t quern_socket_put(int socket, const struct iovec *parts, int count) {
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t quern_socket_get(int socket, const struct iovec *parts, int count) {
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    return recvmsg(socket, &message, MSG_DONTWAIT);
}

ssize_t quern_socket_peek(int socket, void *bytes, size_t count) { return recv(socket, bytes, count, MSG_PEEK | MSG_DONTWAIT); }
