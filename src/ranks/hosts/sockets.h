/* The connections of this process, which a forked child must not keep open. */
#ifndef QUERN_SOCKETS_H
#define QUERN_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/*
 * Sets up a connection between hosts: small messages go at once, and one that is idle for hours is kept alive, since a firewall may
 * forget it.
 */
void quern_socket_set_up(int socket);

/* Enters a socket.  False: no memory. */
bool quern_socket_own(int socket);

/* Closes a socket that was entered, unless it is -1, and sets it to -1. */
void quern_socket_close(int *socket);

/* Move what goes at once, as sendmsg and recvmsg do; the last one leaves there what it gives. */
ssize_t quern_socket_put(int socket, const struct iovec *parts, int count);
ssize_t quern_socket_get(int socket, const struct iovec *parts, int count);
ssize_t quern_socket_peek(int socket, void *bytes, size_t count);

#endif
