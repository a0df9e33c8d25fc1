/* Calls an address until the listener there opens.  For the meeting and for the connections between ranks. */
#ifndef QUERN_CONNECTOR_H
#define QUERN_CONNECTOR_H

#include <poll.h>

#include "os/address.h"
#include "ranks/hosts/handshake.h"

struct quern_connector {
    struct quern_address address;
    const unsigned char *key;
    enum quern_call_kind kind;
    int from, to;
    int socket;               /* -1: between two attempts */
    int64_t again;            /* when the next attempt begins */
    struct quern_handshake handshake;
    int failures;             /* attempts */
    int shortage;             /* the error by which the system makes no connections; 0: it does */
    char why[120];            /* the last attempt has failed: the text of the system, or another ... */
    bool has_answered;        /* ... which stays when later attempts are refused: a listener was there */
};

void quern_connector_begin(struct quern_connector *connector, const struct quern_address *address, const unsigned char *key,
                      enum quern_call_kind kind, int from, int to);

/* Goes on without waiting.  The socket, when the listener has opened; -1: not yet. */
int quern_connector_go(struct quern_connector *connector);

/* The events to poll for; the descriptor is -1 between two attempts. */

void quern_connector_awaits(const struct quern_connector *connector, struct pollfd *poll);

void quern_connector_end(struct quern_connector *connector);

#endif
