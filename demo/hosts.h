/* Ranks of several hosts: which of them are of a host, and how they find each other. */
#ifndef HOSTS_H
#define HOSTS_H

#include <stdbool.h>

#include "options.h"
#include "ranks.h"

/* The host of a rank, and the first rank of a host: ranks are assigned to the hosts in order. */
int host_of_rank(int rank, int ranks, int hosts);
static inline int host_first_rank(int host, int ranks, int hosts) { return (int)share_first(ranks, host, hosts); }

/*
 * What the processes of all hosts on this machine get on their command lines: options of their own, NULL-terminated.  A place of
 * meeting is chosen and a secret drawn, if they are not given.  On failure false, after a message on stderr.
 */
struct invitation {
    char meet[64], secret[64];
    const char *options[3];
};
bool hosts_invite(struct invitation *invitation, const struct options *options);

/* Completes the settings of a rank; the secret is allocated.  On failure false, after a message on stderr. */
bool hosts_settle(struct meeting *meeting, const struct options *options);

#endif
