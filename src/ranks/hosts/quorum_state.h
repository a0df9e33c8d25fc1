/*
 * A roll call, as its files know it: quorum.c waits, quorum_followers.c gathers on a host that is at coordinator,
 * quorum_coordinator.c is a follower of a lower one, quorum_verdict.c decides which ranks continue.  Types only.
 */
#ifndef QUERN_QUORUM_STATE_H
#define QUERN_QUORUM_STATE_H

#include "ranks/hosts/connector.h"
#include "ranks/hosts/listener.h"
#include "ranks/membership.h"
#include "ranks/heartbeat.h"

/* Nanoseconds: before a call is made again, or a port is asked for again; for what an end says in one go. */
enum { QUERN_QUORUM_PAUSE = 20000000, QUERN_QUORUM_TELLING = 500000000 };

/* The messages: of both ends at each heartbeat, of a follower at first, and of its coordinator at last. */
static const char QUERN_QUORUM_BEAT = 'b', QUERN_QUORUM_DECIDED = 'd';
struct quern_card {
    uint32_t ranks;                       /* of the old group */
    uint32_t port;                        /* reserved, for a group whose lowest rank is the speaker */
    int64_t deadline;                     /* nanoseconds for which it still waits for others */
    uint32_t living[QUERN_GROUP_WORDS];
};

struct quern_follower {
    int socket;                           /* -1: none of this host */
    bool is_whole;                        /* its card is there */
    size_t done;                          /* bytes of it */
    int64_t heard;
    struct quern_card card;
};

struct quern_quorum {
    const struct quern_membership *member;
    unsigned char key[QUERN_DIGEST_BYTES];
    int own, coordinator, hosts;                 /* the numbers of hosts: this one; where it is a follower, or this one */
    uint32_t living[QUERN_GROUP_WORDS];   /* of this host */
    int64_t began, deadline, beaten;
    struct quern_heartbeat heartbeat;         /* of the other ends */
    bool is_decided, is_broken;

    int reserved;                         /* a socket that keeps ... */
    uint16_t port;                        /* ... this port for the new group */

    struct quern_listener listener;       /* of a host that is at coordinator */
    int64_t listens_again;
    struct quern_follower *followers;           /* [hosts] */
    struct quern_connector *connectors;   /* [hosts] */
    struct pollfd *polls;                 /* [1 + places of the listener + 2 hosts] */
    struct pollfd *lines;                 /* [ranks]: those of the old group */
    bool *has_left;                       /* [hosts]: all of its ranks have ended or left the group, as far as lines say */

    int socket;                           /* of a follower: to its coordinator */
    int64_t heard;
    size_t done;                          /* bytes of the verdict and of the word before it */
    struct quern_verdict verdict;
};

static inline bool quern_is_coordinator(const struct quern_quorum *quorum) { return quorum->coordinator == quorum->own; }

#endif
