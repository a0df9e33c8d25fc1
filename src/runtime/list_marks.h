/*
 * Divides a long list of items of different sizes into shares of equal size.  The list has marks at regular places, so that the
 * start of a share is found without a walk over the whole list.  For lists of tensors on a CPU.
 */
#ifndef QUERN_LIST_MARKS_H
#define QUERN_LIST_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { QUERN_LIST_MARKS = 256 };

struct quern_list_marks {
    int64_t places, units;             /* of the whole list */
    int64_t count, every;              /* the number of marks, and the places from one to the next */
    int64_t before[QUERN_LIST_MARKS];  /* the units before place i * every */
};

/* The number of units at a place of a list. */
typedef int64_t quern_list_units(const void *list, int64_t place);

/* Marks a list; false when its units are more than 2^63. */
bool quern_mark_list(struct quern_list_marks *marks, const void *list, int64_t places, quern_list_units *units);

/* The last marked place at or before a unit; *before: the units before that place. */
int64_t quern_nearest_mark(const struct quern_list_marks *marks, int64_t unit, int64_t *before);

/* The first unit of share `index` out of `shares`; for index == shares the end. */
int64_t quern_share_begin(const struct quern_list_marks *marks, int64_t index, int64_t shares);

#endif
