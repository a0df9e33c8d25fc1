/* The numbers of elements that a list may have.  For gradients and quantisation. */
#ifndef QUERN_LIST_COUNT_H
#define QUERN_LIST_COUNT_H

#include "os/sizes.h"
#include "quern.h"

/* Elements of one array, and of a list together: no type has more than 4 bytes. */
#define QUERN_LIST_MAX_COUNT (QUERN_MOST_BYTES / 4)

/* Tiles of a launch on a GPU: a number within an array has 32 bits. */
enum { QUERN_LIST_MAX_TILES = 1 << 30 };

/* Checks the count of the array at a place and adds it to *total.  `list` is the list's name in details. */
quern_status quern_check_list_count(const quern_device *device, const char *list, int64_t place, int64_t count, int64_t *total);

#endif
