/*
 * Hosts that are network namespaces, at 10.79.0.1, 2 and 3, whose cables lead to one bridge and can be pulled.  They need root and
 * the ip command.  A rank's process moves to its host before it creates a group.
 */
#ifndef HARNESS_NETWORK_H
#define HARNESS_NETWORK_H

#include "harness/ranks.h"

enum { NETWORK_HOSTS = 3 };

/* The names of the namespaces, and of the bridge.  A host's cable is its eth0. */
struct network {
    char host[NETWORK_HOSTS][16], bridge[16];
};

/* Returns when all interfaces are running.  False: there is no network here, and nothing is left of it. */
bool network_put_up(struct network *network);
void network_take_down(const struct network *network);

/* The rank's process moves to its host, and is to meet the others on the first one. */
void network_move_in(struct rank *rank, const struct network *network);

/* Pulls a host's cable, or puts it in again.  False: it cannot. */
bool network_set_cable(const struct network *network, int host, bool is_in);

/* Runs a command of the shell, which writes nothing to stderr; returns its status. */
int network_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
