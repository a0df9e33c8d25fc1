/*
 * The buffers of a call, and the search for two that share memory although one of them is written.  For all operations.
 *
 * An operation lists each buffer that the call uses.  A pair that may be equal, such as a gradient in place of its logits, is
 * listed once.  A matrix with a stride is listed from its first byte to its last, so two matrices whose rows alternate overlap.
 */
#ifndef QUERN_RANGES_H
#define QUERN_RANGES_H

#include <stdint.h>

#include "quern.h"

enum quern_access {
    QUERN_READ,
    QUERN_WRITTEN,
    QUERN_RAISED       /* written, by several tensors if they name the same bytes: copy_max */
};

struct quern_range {
    uintptr_t begin, end;      /* the first byte, and the one behind the last */
    const char *name;          /* "args.loss"; of an item of a list: "param" */
    uint32_t place;            /* of the item in its list */
    uint32_t access;           /* enum quern_access */
};

#define QUERN_NO_PLACE UINT32_MAX  /* the range belongs to no item of a list */

/* The range of a buffer that belongs to no list.  One that would pass the end of all addresses ends there. */
static inline struct quern_range quern_range_of(const char *name, const void *pointer, int64_t bytes, enum quern_access access) {
    struct quern_range range = {.begin = (uintptr_t)pointer, .name = name, .place = QUERN_NO_PLACE, .access = access};
    if (__builtin_add_overflow(range.begin, pointer ? (uintptr_t)bytes : 0, &range.end)) range.end = UINTPTR_MAX;
    return range;
}

/*
 * Fails with QUERN_INVALID_ARGUMENT if a range that is written overlaps another one.  The detail names both; `list` (or NULL) is
 * the prefix of names with a place.  Sorts the ranges by address.  scratch has room for `count` ranges too; it may be NULL for up
 * to QUERN_FEW_RANGES of them.  Empty ranges and NULL pointers overlap nothing.
 */
quern_status quern_check_apart(const quern_device *device, const char *list, struct quern_range *ranges,
                               struct quern_range *scratch, int64_t count);

enum { QUERN_FEW_RANGES = 32 };

/* The failure for two ranges. */
quern_status quern_fail_overlap(const quern_device *device, const char *list, const struct quern_range *one,
                                const struct quern_range *other);

#endif
