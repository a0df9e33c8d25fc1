/*
 * Passing file descriptors between the processes of a group: over Unix sockets, whose names only its members know.
 *
 * Nothing here waits.  A rank listens; the ranks agree that all do; they send, which needs nobody to receive yet; they agree that
 * all have sent; then what was sent is there.  So every wait is the agreement's, with its limit and its eye on the peers, and
 * whatever a call that failed has left in a socket goes with that socket: each call has its own.
 */
#ifndef QUERN_DESCRIPTORS_H
#define QUERN_DESCRIPTORS_H

#include "ranks/membership.h"

enum { QUERN_DESCRIPTOR_TAGS = QUERN_RANK_LIMIT + 1 };

/* A descriptor and what it is, in [0, QUERN_DESCRIPTOR_TAGS). */
struct quern_descriptor {
    int tag;
    int descriptor;
};

/* The lowest rank in the process of `rank`: the one that passes descriptors, for all ranks of the process. */
int quern_process_leader(const struct quern_segment *segment, int rank);

bool quern_are_neighbours(const struct quern_segment *segment, int a, int b);  /* of one process */

/* Begins to listen as this rank.  `call` is the same on every rank and not used before in the group. */
quern_status quern_descriptors_listen(const struct quern_membership *member, uint64_t call, int *listener);

/* Sends copies of descriptors to every other process of the group; all listen. */
quern_status quern_descriptors_send(const struct quern_membership *member, uint64_t call, const struct quern_descriptor *list,
                                    int count);

/* Takes in everything that was sent: table[tag], each -1 before, for the caller to close. */
quern_status quern_descriptors_receive(const struct quern_membership *member, uint64_t call, int listener,
                                       int table[QUERN_DESCRIPTOR_TAGS]);

/* Closes a descriptor, if there is one, and forgets it. */
void quern_close_descriptor(int *descriptor);

#endif
