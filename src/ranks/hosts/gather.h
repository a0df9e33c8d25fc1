/* The meeting of hosts by an all-gather that the engine brings, in place of a place of meeting.  For hosts.c. */
#ifndef QUERN_GATHER_H
#define QUERN_GATHER_H

#include "ranks/hosts/facts.h"
#include "ranks/hosts/listener.h"

struct quern_gathering {
    const struct quern_membership *member;  /* has its segment if the rank is ready */
    quern_gather_facts gather;
    void *user;
    const unsigned char *key;
    const struct quern_listener *listener;  /* where this rank expects those of other hosts */
};

/* How many bytes each rank brings. */
extern const size_t quern_gather_bytes;

/*
 * Every rank calls it, even one that is not ready: its status and its thread's detail reach all others.  Fails on every rank alike,
 * unless what the ranks are given differs.
 */
quern_status quern_gather_roll(const struct quern_gathering *gathering, quern_status ready, struct quern_roll *roll);

#endif
