/* Hosts that a test plays, and groups that it makes for one: what the suites of rejected connections and of trust share. */
#ifndef HARNESS_PLAYED_HOST_H
#define HARNESS_PLAYED_HOST_H

#include <netinet/in.h>

#include "harness/ranks.h"
#include "ranks/hosts/hosts.h"
#include "ranks/membership.h"

/* A socket of this type (SOCK_STREAM, SOCK_DGRAM) at a port of the address that is free now; -1: there is none. */
int bind_anywhere(int type, uint32_t address, struct sockaddr_in *name);

/* What the host of rank 1, alone there, brings to the meeting, as src/ranks/hosts/bootstrap.c sends it. */
struct played_card {
    struct quern_host_card card;
    struct quern_fact fact;
    unsigned char seal[QUERN_DIGEST_BYTES];
};

/* Right facts of a rank, at whose address nobody listens, and that card of a group without its seal. */
struct quern_fact played_fact(const quern_group_args *args, int rank);
struct played_card played_card(const quern_group_args *args);

/* The key and the place of a group that meets. */
struct quern_address played_place(const quern_group_args *args, unsigned char key[QUERN_DIGEST_BYTES]);

/* Calls a listener as rank 1 calls rank 0 until it answers; also gives the session. */
int played_call(struct rank *rank, const struct quern_address *address, const unsigned char *key, enum quern_call_kind kind,
                unsigned char session[QUERN_DIGEST_BYTES]);

/* The roster of a group of four ranks: 0 and 1 are of this host and in this process, 2 and 3 of another one, or of one each. */
enum { PLAYED_RANKS = 4, PLAYED_HERE = 2 };
struct quern_roster *played_roster(int hosts);
void played_roster_free(struct quern_roster *roster);

#endif
