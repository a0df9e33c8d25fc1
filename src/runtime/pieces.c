/*
 * The memory of the arrays of a list, for plans: they are compared once, when the plan is made; other buffers of a call are then
 * compared with them by a search.  Called for Adam, accumulations and quantisation.
 */
#include "runtime/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/status.h"

quern_status quern_allocate_ranges(const quern_device *device, int64_t arrays, struct quern_range **ranges) {
    *ranges = malloc(2 * (size_t)(arrays + QUERN_OTHER_RANGES) * sizeof **ranges);
    if (*ranges) return QUERN_OK;
    return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to compare the %lld arrays of a list", (long long)arrays);
}

/* Joins sorted ranges that touch.  Returns the number of pieces. */
static int64_t join(const struct quern_range *ranges, int64_t count, struct quern_piece *pieces) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        const bool written = ranges[i].access != QUERN_READ;
        struct quern_piece *last = made ? &pieces[made - 1] : NULL;
        if (ranges[i].begin == ranges[i].end) continue;
        if (!last || last->written != written || last->end < ranges[i].begin)
            pieces[made++] = (struct quern_piece){ranges[i].begin, ranges[i].end, written};
        else if (last->end < ranges[i].end)
            last->end = ranges[i].end;
    }
    return made;
}

quern_status quern_join_ranges(const quern_device *device, const struct quern_range *ranges, int64_t count,
                               struct quern_pieces *pieces) {
    struct quern_piece *list = malloc(((size_t)count + 1) * sizeof *list);
    if (!list) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for the arrays of a plan");
    pieces->count = join(ranges, count, list);
    struct quern_piece *smaller = realloc(list, ((size_t)pieces->count + 1) * sizeof *list);
    pieces->list = smaller ? smaller : list;
    return QUERN_OK;
}

/* The first piece that ends behind an address. */
static int64_t first_piece(const struct quern_pieces *pieces, uintptr_t address) {
    int64_t low = 0, high = pieces->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (pieces->list[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool meets_plan(const struct quern_pieces *pieces, const struct quern_range *range) {
    const bool written = range->access != QUERN_READ;
    if (range->begin == range->end) return false;
    for (int64_t i = first_piece(pieces, range->begin); i < pieces->count && pieces->list[i].begin < range->end; i++)
        if (written || pieces->list[i].written) return true;
    return false;
}

quern_status quern_check_against_pieces(const quern_device *device, const struct quern_pieces *pieces,
                                        const struct quern_range *others, int count) {
    struct quern_range ranges[QUERN_OTHER_RANGES];
    for (int i = 0; i < count; i++)
        if (meets_plan(pieces, &others[i]))
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s overlaps an array of args.plan: expected separate memory",
                              others[i].name);
    memcpy(ranges, others, (size_t)count * sizeof *others);
    return quern_check_apart(device, NULL, ranges, NULL, count);
}
