/*
 * Streams: for each pair of ranks of two hosts a stream of bytes in each direction for calls, and one for transfers.  A group
 * uses the first row of the table in reach.c that serves it: connections of each pair, or the relays of the hosts (relay.h).
 */
#ifndef QUERN_STREAMS_H
#define QUERN_STREAMS_H

#include <poll.h>
#include <sys/uio.h>

#include "os/text.h"
#include "ranks/membership.h"

enum quern_stream { QUERN_STREAM_CALLS, QUERN_STREAM_TRANSFERS, QUERN_STREAMS };

struct quern_stream_row {
    const char *name;

    /* Whether it serves a group.  If not, the reason is appended to *why. */
    bool (*serves)(const struct quern_roster *roster, struct quern_text *why);

    /* What it needs of a rank's own; NULL: nothing.  False: no memory. */
    bool (*open)(const struct quern_membership *member);
    void (*close)(const struct quern_membership *member);

    /* Move what goes at once, as sendmsg and recvmsg do: -1 with EAGAIN if nothing does; 0 from get if the other end is closed. */
    ssize_t (*put)(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count);
    ssize_t (*get)(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count);

    /* As get, into one part, and what it gives can be got again. */
    ssize_t (*peek)(const struct quern_membership *member, enum quern_stream stream, int peer, void *bytes, size_t count);

    /*
     * From which ranks there is something that nobody has got: a bit for each, which gets change.  NULL, also as a result: nobody
     * knows without asking each pair.
     */
    const uint32_t *(*heard)(const struct quern_membership *member, enum quern_stream stream);

    /* Whether a rank may have said something that nobody has got. */
    bool (*speaks)(const struct quern_membership *member, enum quern_stream stream, int peer);

    /* Sleeps until something may move again: polls[i] is what the rank waits for of a connection, if there is one. */
    void (*sleep)(const struct quern_membership *member, struct pollfd *polls, int count, int milliseconds);
};

#endif
