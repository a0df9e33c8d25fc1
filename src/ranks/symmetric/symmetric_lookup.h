/* Where memory lies among the symmetric ranges of a rank. */
#ifndef QUERN_SYMMETRIC_LOOKUP_H
#define QUERN_SYMMETRIC_LOOKUP_H

#include "ranks/membership.h"

/*
 * A place in symmetric memory, as one rank sees it.  `id` counts the group's collective allocations and registrations: it is the
 * same on every rank, and never used again, so that (id, offset) names the place in every process.
 */
struct quern_symmetric_place {
    uint64_t id;
    int64_t offset;                  /* bytes from the beginning of this rank's part */
    int64_t bytes;                   /* of this rank's part */
    void *const *peer;               /* [ranks] where this process sees each rank's part */
    const int64_t *peer_bytes;       /* [ranks] */
    void *multicast;                 /* where it sees all of them at once, or NULL */
};

/* Whether memory is symmetric to a rank. */
enum quern_symmetric_state { QUERN_MEMORY_PRIVATE, QUERN_MEMORY_SYMMETRIC, QUERN_MEMORY_FREED };

/*
 * Looks up [pointer, pointer + bytes) among the ranges of a rank.  SYMMETRIC only when one range has all of it; FREED when it
 * begins in a range that this rank has freed.  *place is valid until the rank frees the range.  Never fails, sets no detail.
 */
enum quern_symmetric_state quern_symmetric_find(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                              struct quern_symmetric_place *place);

/* Where this process sees (id, offset) of a rank's part; NULL: there is no such range, or the part ends before offset + bytes. */
void *quern_symmetric_resolve(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank);

#endif
