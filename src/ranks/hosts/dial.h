/* Calls an address until the door there opens.  For the meeting and for the connections between ranks. */
#ifndef QUERN_DIAL_H
#define QUERN_DIAL_H

#include <poll.h>

#include "os/address.h"
#include "ranks/hosts/handshake.h"

struct quern_dial {
    struct quern_address address;
    const unsigned char *key;
    enum quern_call_kind kind;
    int from, to;
    int socket;               /* -1: between two attempts */
    int64_t again;            /* when the next attempt begins */
    struct quern_handshake handshake;
    const char *why;          /* the last attempt has failed: a word of the system, or another */
    bool is_unknown;          /* the door has another key: said of all attempts, since that is why none will succeed */
};

void quern_dial_begin(struct quern_dial *dial, const struct quern_address *address, const unsigned char *key,
                      enum quern_call_kind kind, int from, int to);

/* Goes on without waiting.  The socket, when the door has opened; -1: not yet. */
int quern_dial_go(struct quern_dial *dial);

/* What to poll for; the descriptor is -1 between two attempts. */

void quern_dial_awaits(const struct quern_dial *dial, struct pollfd *poll);

void quern_dial_end(struct quern_dial *dial);

#endif
