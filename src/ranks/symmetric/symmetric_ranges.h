/*
 * The symmetric ranges of one rank, in its membership: found by address, and by id.
 *
 * Ranges of a rank never overlap: a registration that overlaps another live range is refused.  A freed allocation stays in the
 * table and its addresses stay reserved until 32 later ones or 64 GiB have been freed.  Until then a use after free is recognised.
 */
#ifndef QUERN_SYMMETRIC_RANGES_H
#define QUERN_SYMMETRIC_RANGES_H

#include <pthread.h>

#include "ranks/symmetric/symmetric_memory.h"

struct quern_symmetric_range {
    const char *base;
    int64_t bytes;
    uint64_t id;
    struct quern_symmetric_memory *memory;
    uint64_t generation;                  /* registrations: of the allocation that contains it */
    int registrations;                    /* of this id that have not ended; 0: an allocation */
    uint64_t freed;                       /* its number among the freed ranges; 0: live */
    struct quern_symmetric_range *older;  /* an earlier registration of the same range, with other ranges of the peers */
};

struct quern_symmetric_ranges {
    pthread_mutex_t lock;                    /* held by the rank's thread while it changes this, and by others while they look */
    struct quern_symmetric_range **by_base;  /* ascending; the newest of each range */
    uintptr_t *base;                         /* of each of by_base: a search reads nothing else */
    struct quern_symmetric_range **by_id;    /* ascending; all that are live */
    int based, identified, capacity;
    uint64_t live;                           /* a digest of the ids in by_id */
    uint64_t frees;                          /* so far */
    struct quern_symmetric_range *stale;     /* removed, but held until the end: pending work may use the peers' parts */
};

/* The table of a membership, made on first use; NULL: out of memory. */
struct quern_symmetric_ranges *quern_symmetric_ranges_of(struct quern_membership *member);

/* Makes room for one more range, so that the next insertion cannot fail. */
bool quern_symmetric_reserve(struct quern_symmetric_ranges *ranges);

/* Inserts a live range.  An existing range at the same base becomes its older one. */
void quern_symmetric_insert(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Removes a registration whose allocation was freed, with its older ones, and holds it until the end. */
void quern_symmetric_set_aside(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The earliest registration of a range that has not ended; and its removal, after which the caller owns it. */
struct quern_symmetric_range *quern_symmetric_oldest(struct quern_symmetric_range *range);
void quern_symmetric_remove_oldest(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Marks an allocation as freed, and drops the oldest freed ones beyond the limit. */
void quern_symmetric_retire(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The live or freed range that contains pointer or begins there; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_at(const struct quern_symmetric_ranges *ranges, const void *pointer);

/* The first live or freed range with a byte in [pointer, pointer + bytes); NULL: none. */
struct quern_symmetric_range *quern_symmetric_overlapped(const struct quern_symmetric_ranges *ranges, const void *pointer,
                                                         int64_t bytes);

/* The live range with an id; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_of_id(const struct quern_symmetric_ranges *ranges, uint64_t id);

#endif
