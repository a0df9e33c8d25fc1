/* Lookups among the symmetric ranges of a rank.  For symmetric.c, the ragged all-to-all, the collectives and the pads of GPUs. */
#ifndef QUERN_SYMMETRIC_LOOKUP_H
#define QUERN_SYMMETRIC_LOOKUP_H

#include "ranks/membership.h"

/*
 * A place in symmetric memory, as one rank sees it.  `id` counts the group's collective allocations and registrations.  It is the
 * same on every rank and never used again, so (id, offset) names the place in every process.
 */
struct quern_symmetric_location {
    uint64_t id;
    int64_t offset;                  /* bytes from the beginning of this rank's part */
    int64_t bytes;                   /* of this rank's part */
    void *const *peer;               /* [ranks] the address of each rank's part in this process */
    const int64_t *peer_bytes;       /* [ranks] */
    void *multicast;                 /* the address that reaches all parts, or NULL */
};

/* How a rank knows a piece of memory. */
enum quern_symmetric_state { QUERN_MEMORY_PRIVATE, QUERN_MEMORY_SYMMETRIC, QUERN_MEMORY_FREED };

/*
 * Looks up [pointer, pointer + bytes) among the ranges of a rank.  SYMMETRIC: one range contains all of it.  FREED: it begins in a
 * range that this rank has freed.  *place is valid until the rank frees the range.  Never fails and sets no detail.
 */
enum quern_symmetric_state quern_symmetric_find(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                              struct quern_symmetric_location *place);

/* The same of a call's buffer.  Fails if it is FREED; without an address or bytes it is PRIVATE. */
quern_status quern_symmetric_find_buffer(const struct quern_membership *member, const char *name, const void *pointer,
                                         int64_t bytes, enum quern_symmetric_state *state, struct quern_symmetric_location *place);

/* The same of a call's workspace, of which `needed` bytes must be there and SYMMETRIC. */
quern_status quern_symmetric_find_workspace(const struct quern_membership *member, const void *workspace, size_t bytes,
                                            size_t needed, enum quern_symmetric_state *state,
                                            struct quern_symmetric_location *place);

/* The same for another thread than the rank's, which may be changing the ranges. */
enum quern_symmetric_state quern_symmetric_find_beside(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                                       struct quern_symmetric_location *place);

/* A digest of the ids that this rank can resolve: it can reach the same memory as another rank with the same digest. */
uint64_t quern_symmetric_live(const struct quern_membership *member);

/* How many allocations the rank has freed. */
uint64_t quern_symmetric_frees(const struct quern_membership *member);

/* The address of (id, offset) of a rank's part in this process; NULL: no such range, or the part ends before offset + bytes. */
void *quern_symmetric_resolve(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank);

#endif
