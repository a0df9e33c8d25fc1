/*
 * A long list of things of different sizes, cut into shares of equal size: the list is marked at every so many places, so that a
 * share finds where it begins without a walk over all of the list.
 */
#ifndef QUERN_LIST_MARKS_H
#define QUERN_LIST_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { QUERN_LIST_MARKS = 256 };

struct quern_list_marks {
    int64_t places, units;             /* of the whole list */
    int64_t count, every;              /* so many marks, one at every so many places */
    int64_t before[QUERN_LIST_MARKS];  /* the units before place i * every */
};

/* How many units there are at a place of a list. */
typedef int64_t quern_list_units(const void *list, int64_t place);

/* Marks a list; false when its units are more than 2^63. */
bool quern_mark_list(struct quern_list_marks *marks, const void *list, int64_t places, quern_list_units *units);

/* The marked place from which the one with a unit is not far; *before: the units before it. */
int64_t quern_nearest_mark(const struct quern_list_marks *marks, int64_t unit, int64_t *before);

/* The first unit of share `index` of `shares` equal ones; that of share `shares` is the end. */
int64_t quern_share_begin(const struct quern_list_marks *marks, int64_t index, int64_t shares);

#endif
