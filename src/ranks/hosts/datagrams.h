/*
 * Beats over UDP, beside those on the connections of monitors.
 *
 * TCP doubles the time between its attempts while a network is down, so that its first one afterwards may come as late as the
 * outage was long.  A monitor that has not heard another one for two heartbeats asks it by datagrams, and one that is asked
 * answers by them.  Either counts as a heartbeat.  For monitor.c.
 */
#ifndef QUERN_DATAGRAMS_H
#define QUERN_DATAGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Where a monitor is reached.  The token is told on a connection of the group only. */
struct quern_datagram_place {
    unsigned char token[16];
};

struct quern_datagram {
    struct quern_datagram_place to;
    uint64_t number;        /* rises with each datagram of a monitor */
    int32_t host;           /* the sender's */
    uint32_t asks;          /* 1: it has not heard the other one for two heartbeats */
};

/* A monitor's own. */
struct quern_datagrams {
    int socket;             /* -1: none of its connections is over TCP */
    int family, host;
    uint16_t port;
    struct quern_datagram_place place;
};

/* The monitor at the other end of a connection. */
struct quern_datagram_peer {
    struct sockaddr_storage name;
    unsigned bytes;         /* of the name; 0: it has not said where it is reached */
    struct quern_datagram_place place;
    uint64_t heard;         /* the number of its last datagram */
    int64_t asked, said;    /* nanoseconds: when it has asked, and when it was sent one; 0: never */
};

/* Opens the socket of a host for peers at the other ends of `sockets`, of which those that are -1 are none.  False: errno. */
bool quern_open_datagrams(struct quern_datagrams *datagrams, const int *sockets, int count, int host);
void quern_close_datagrams(struct quern_datagrams *datagrams);

/* The monitor at the other end of a connection has said where it is reached. */
void quern_place_peer(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, int socket, uint16_t port,
                      const struct quern_datagram_place *place);

/* Takes a datagram that has the token.  False: there is none now. */
bool quern_take_datagram(const struct quern_datagrams *datagrams, struct quern_datagram *taken);

/* One that cannot be sent is lost, as any may be. */
void quern_send_datagram(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, bool asks, int64_t now);

#endif
