/* Streams over a connection for each pair of ranks and each use: a row of the table of ways.  Called by reach.c. */
#define _GNU_SOURCE
#include "ranks/hosts/direct.h"

#include <sys/socket.h>

#include "ranks/hosts/connections.h"

/* At most so many descriptors has a host of such a group: 2 x 32 x 32. */
uint32_t quern_most_direct = 64;

static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    if (!quern_is_relayed((uint32_t)roster->ranks, (uint32_t)roster->here)) return true;
    quern_text_add(why, "%d ranks are more than %u, up to which each pair has connections of its own", roster->ranks,
                   quern_most_direct);
    return false;
}

static int socket_of(const struct quern_membership *member, enum quern_stream stream, int peer) {
    return (stream == QUERN_STREAM_CALLS ? member->span->socket : member->span->transfers)[peer];
}

static ssize_t put(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count) {
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    return sendmsg(socket_of(member, stream, peer), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t get(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count) {
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    return recvmsg(socket_of(member, stream, peer), &message, MSG_DONTWAIT);
}

static bool speaks(const struct quern_membership *member, enum quern_stream stream, int peer) {
    (void)member, (void)stream, (void)peer;
    return true;
}

static void sleep_at_sockets(const struct quern_membership *member, struct pollfd *polls, int count, int milliseconds) {
    (void)member;
    poll(polls, (nfds_t)count, milliseconds);
}

const struct quern_way quern_direct_way = {
    .name = "a connection for each pair of ranks",
    .serves = serves,
    .put = put,
    .get = get,
    .speaks = speaks,
    .sleep = sleep_at_sockets,
};
