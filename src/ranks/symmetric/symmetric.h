/* Symmetric memory inside the library: where each rank's part lies, and who still uses it. */
#ifndef QUERN_SYMMETRIC_H
#define QUERN_SYMMETRIC_H

#include "ranks/group.h"

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

/* How memory of a kind is made reachable: what a transport names. */
struct quern_symmetric_kind;
extern const struct quern_symmetric_kind quern_host_memory, quern_host_registration, quern_cuda_memory, quern_cuda_registration;

/* Whether memory is symmetric to a rank. */
enum quern_symmetric_kin { QUERN_MEMORY_PRIVATE, QUERN_MEMORY_SYMMETRIC, QUERN_MEMORY_FREED };

/*
 * Looks up [pointer, pointer + bytes) among the ranges of a rank.  SYMMETRIC only when one range has all of it; FREED when it
 * begins in a range that this rank has freed.  *place is valid until the rank frees the range.  Never fails, sets no detail.
 */
enum quern_symmetric_kin quern_symmetric_find(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                              struct quern_symmetric_place *place);

/* Where this process sees (id, offset) of a rank's part; NULL: there is no such range, or the part ends before offset + bytes. */
void *quern_symmetric_resolve(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank);

/* quern_symmetric_alloc for memberships; `operation` is what the ranks are said to be doing. */
quern_status quern_symmetric_allocate(struct quern_membership *const *members, int count, enum quern_collective operation,
                                      const size_t *bytes, void **pointers);

/* Frees everything a membership still has; its work on the device has completed. */
void quern_symmetric_forget(struct quern_membership *member);

#endif
