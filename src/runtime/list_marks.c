/* Marks a list and divides it.  Called for the tensors of Adam and by list_visit.c. */
#include "runtime/list_marks.h"

bool quern_mark_list(struct quern_list_marks *marks, const void *list, int64_t places, quern_list_units *units) {
    marks->places = places;
    marks->units = 0;
    marks->count = 0;
    marks->every = (places + QUERN_LIST_MARKS - 1) / QUERN_LIST_MARKS;
    for (int64_t place = 0; place < places; place++) {
        if (place == marks->count * marks->every) marks->before[marks->count++] = marks->units;
        if (__builtin_add_overflow(marks->units, units(list, place), &marks->units)) return false;
    }
    return true;
}

int64_t quern_nearest_mark(const struct quern_list_marks *marks, int64_t unit, int64_t *before) {
    int64_t mark = 0;
    while (mark + 1 < marks->count && marks->before[mark + 1] <= unit) mark++;
    *before = marks->count ? marks->before[mark] : 0;
    return mark * marks->every;
}

/* __int128 because units * index may pass 2^63. */
int64_t quern_share_begin(const struct quern_list_marks *marks, int64_t index, int64_t shares) {
    return (int64_t)((__int128)marks->units * index / shares);
}
