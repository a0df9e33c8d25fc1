/*
 * Passing file descriptors between the processes of a group: over Unix sockets, whose names only its members know.
 *
 * No function here waits.  Each rank listens, and the ranks agree that all listen.  Then each rank sends, which needs no receiver
 * yet, and the ranks agree that all have sent.  Then every message can be received at once.  So only the agreements wait, with
 * their timeout and their checks of the peers.  Each call has its own socket, so a failed call leaves no messages behind.
 */
#ifndef QUERN_DESCRIPTORS_H
#define QUERN_DESCRIPTORS_H

#include "ranks/membership.h"

enum { QUERN_DESCRIPTOR_TAGS = QUERN_RANK_LIMIT + 1 };

/* A descriptor and its tag, in [0, QUERN_DESCRIPTOR_TAGS). */
struct quern_descriptor {
    int tag;
    int descriptor;
};

/*
 * Begins to listen as this rank.  The lowest rank of a process passes descriptors for all ranks of the process.  `call` is the same
 * number on every rank, used once in the group.
 */
quern_status quern_descriptors_listen(const struct quern_membership *member, uint64_t call, int *listener);

/*
 * Sends copies of descriptors to every other process of the group.  All of them listen already.  The digest is of what the
 * descriptors are for: a receiver with another one takes none, since one of the two has read what no rank has written.
 */
quern_status quern_descriptors_send(const struct quern_membership *member, uint64_t call, uint64_t digest,
                                    const struct quern_descriptor *list, int count);

/* The same to one rank that listens under this call.  QUERN_PEER_LOST: its process has ended; the group is not poisoned. */
quern_status quern_descriptors_send_to(const struct quern_membership *member, int rank, uint64_t call, uint64_t digest,
                                       const struct quern_descriptor *list, int count);

/* Receives all descriptors into table[tag], where each was -1 before.  The caller closes them. */
quern_status quern_descriptors_receive(const struct quern_membership *member, uint64_t call, uint64_t digest, int listener,
                                       int table[QUERN_DESCRIPTOR_TAGS]);

/* Closes a descriptor unless it is -1, and sets it to -1. */
void quern_close_descriptor(int *descriptor);

#endif
