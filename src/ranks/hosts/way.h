/*
 * Streams: for each pair of ranks of two hosts a stream of bytes in each direction for calls, and one for transfers.  A way is how
 * they go: a row of the table in reach.c.
 */
#ifndef QUERN_WAY_H
#define QUERN_WAY_H

#include <poll.h>
#include <sys/uio.h>

#include "os/text.h"
#include "ranks/membership.h"

enum quern_stream { QUERN_STREAM_CALLS, QUERN_STREAM_TRANSFERS, QUERN_STREAMS };

struct quern_way {
    const char *name;

    /* Whether it serves a group.  If not, the reason is appended to *why. */
    bool (*serves)(const struct quern_roster *roster, struct quern_text *why);

    /* What it needs of a rank's own; NULL: nothing.  False: no memory. */
    bool (*open)(const struct quern_membership *member);
    void (*close)(const struct quern_membership *member);

    /* Move what goes at once, as sendmsg and recvmsg do: -1 with EAGAIN if nothing does; 0 from get if the other end is closed. */
    ssize_t (*put)(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count);
    ssize_t (*get)(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts, int count);

    /* Whether a rank may have said something that nobody has got. */
    bool (*speaks)(const struct quern_membership *member, enum quern_stream stream, int peer);

    /* Sleeps until something may move again: polls[i] is what the rank waits for of a connection, if there is one. */
    void (*sleep)(const struct quern_membership *member, struct pollfd *polls, int count, int milliseconds);
};

#endif
