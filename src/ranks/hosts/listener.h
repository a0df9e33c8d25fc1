/* A listening socket and the connections at it that have not proved yet whom they belong to.  For the meeting and for each rank. */
#ifndef QUERN_LISTENER_H
#define QUERN_LISTENER_H

#include <poll.h>

#include "os/address.h"
#include "ranks/hosts/handshake.h"
#include "ranks/segment.h"

enum {
    QUERN_LISTENER_NUMBERS = 128,
    QUERN_LISTENER_CALLS = 3,      /* at most: of a rank to another one */
    QUERN_LISTENER_PLACES = QUERN_LISTENER_CALLS * QUERN_GROUP_LIMIT  /* at most */
};

struct quern_listener {
    int socket;                    /* -1: closed */
    struct quern_address address;
    const unsigned char *key;
    uint32_t *strangers;             /* [QUERN_STRANGERS], atomic: counts */
    struct quern_handshake *waiting;  /* [places] */
    int count, places;
    unsigned char numbers[QUERN_LISTENER_NUMBERS][32];  /* of the last hellos, to know repeated ones */
    unsigned seen;
    unsigned char session[QUERN_DIGEST_BYTES];  /* the key of the last connection that was served */
    int shortage;                  /* the error by which the system lets no connection in, though none waits here; 0: it does */
};

/*
 * The ports of listeners that may have any, by QUERN_PORTS=FIRST-LAST in the environment; zeros: all.  False: the variable is
 * something else.
 */
bool quern_listener_ports(struct quern_ports *ports);

/*
 * Opens what may have any of these ports: at 0, which the system replaces, or at the first one of QUERN_PORTS that is free.  False:
 * errno says why, of the port that it has tried last.
 */
bool quern_try_ports(bool (*opens)(void *user, uint16_t port), void *user);

/*
 * Opens it at an address; port 0: any of those, which the address then has.  It has places for the calls of a group of so many
 * ranks that come at once.  False: errno says why.
 */
bool quern_listener_open(struct quern_listener *listener, const struct quern_address *address, int ranks);
void quern_listener_close(struct quern_listener *listener);

/*
 * Binds a socket to a free port of an address, where it does not listen: until it is closed no other program gets the port, and a
 * listener can still be opened there.  -1: errno says why.
 */
int quern_reserve_port(const struct quern_address *address, uint16_t *port);

/* Fills in what to poll for; returns how many. */
int quern_listener_awaits(const struct quern_listener *listener, struct pollfd *polls);  /* [1 + places] */

/*
 * Lets connections in and goes on with all handshakes, without waiting.  The socket of one that is done, with what it said; -1:
 * none is.  To be called again until it is -1.
 */
int quern_listener_serve(struct quern_listener *listener, struct quern_hello *hello);

#endif
