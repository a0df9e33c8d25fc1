/* A listening socket and the connections at it that have not proved yet whom they belong to.  For the meeting and for each rank. */
#ifndef QUERN_DOOR_H
#define QUERN_DOOR_H

#include <poll.h>

#include "os/address.h"
#include "ranks/hosts/handshake.h"

enum { QUERN_DOOR_WAITING = 32, QUERN_DOOR_NUMBERS = 128 };

struct quern_door {
    int listener;                    /* -1: closed */
    struct quern_address address;
    const unsigned char *key;
    uint32_t *strangers;             /* [QUERN_STRANGERS], atomic: counts */
    struct quern_handshake waiting[QUERN_DOOR_WAITING];
    int count;
    unsigned char numbers[QUERN_DOOR_NUMBERS][32];  /* of the last hellos, to know repeated ones */
    unsigned seen;
};

/* Opens it at an address; port 0: any, which the address then has.  False: errno says why. */
bool quern_door_open(struct quern_door *door, const struct quern_address *address);
void quern_door_close(struct quern_door *door);

/* Fills in what to poll for; returns how many. */
int quern_door_awaits(const struct quern_door *door, struct pollfd polls[QUERN_DOOR_WAITING + 1]);

/*
 * Lets connections in and goes on with all handshakes, without waiting.  The socket of one that is done, with what it said; -1:
 * none is.  To be called again until it is -1.
 */
int quern_door_serve(struct quern_door *door, struct quern_hello *hello);

#endif
