/*
 * The symmetric ranges of one rank, in its membership: found by address, and by id.
 *
 * Ranges of a rank never overlap, so a byte has one name: a registration that would lie across or inside another live range is
 * refused.  A freed allocation is remembered, and its addresses kept from other use, until 32 later ones or 64 GiB have been freed:
 * so long its use is told for what it is.
 */
#ifndef QUERN_SYMMETRIC_RANGES_H
#define QUERN_SYMMETRIC_RANGES_H

#include "ranks/symmetric/symmetric_memory.h"

struct quern_symmetric_range {
    const char *base;
    int64_t bytes;
    uint64_t id;
    struct quern_symmetric_memory *memory;
    uint64_t generation;                  /* registrations: of the allocation around it */
    int registrations;                    /* of this id, not yet ended; 0: an allocation */
    uint64_t freed;                       /* the how-manieth to be freed; 0: live */
    struct quern_symmetric_range *older;  /* the same range as it was registered before, with other ranges of the peers */
};

struct quern_symmetric_ranges {
    struct quern_symmetric_range **by_base;  /* ascending; the newest of each range */
    struct quern_symmetric_range **by_id;    /* ascending; all that are live */
    int based, identified, capacity;
    uint64_t frees;                          /* so far */
    struct quern_symmetric_range *stale;     /* taken out, but held until the end: work under way may use the peers' parts */
};

/* The table of a membership, made on first use; NULL: no memory. */
struct quern_symmetric_ranges *quern_symmetric_ranges_of(struct quern_membership *member);

/* Makes room for one more range, so that the next insertion cannot fail. */
bool quern_symmetric_reserve(struct quern_symmetric_ranges *ranges);

/* Enters a live range.  If there is one at the same base, it becomes the older one of the new. */
void quern_symmetric_insert(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Takes out a registration whose allocation has gone, with its older ones, and sets it aside. */
void quern_symmetric_set_aside(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The first registration that is left of a range, and taking it out; then it is the caller's. */
struct quern_symmetric_range *quern_symmetric_oldest(struct quern_symmetric_range *range);
void quern_symmetric_remove_oldest(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Marks an allocation as freed, and forgets the oldest of those that were freed before when they have become many. */
void quern_symmetric_retire(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The range that has the byte at pointer, live or freed, or that begins there; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_at(const struct quern_symmetric_ranges *ranges, const void *pointer);

/* The first range, live or freed, with a byte in [pointer, pointer + bytes); NULL: none. */
struct quern_symmetric_range *quern_symmetric_overlapped(const struct quern_symmetric_ranges *ranges, const void *pointer,
                                                         int64_t bytes);

/* The live range with an id; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_of_id(const struct quern_symmetric_ranges *ranges, uint64_t id);

#endif
