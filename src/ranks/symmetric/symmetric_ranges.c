/* Sorted tables of a rank's ranges.  Called by symmetric.c and symmetric_lookup.c. */
#include "ranks/symmetric/symmetric.h"

#include <stdlib.h>
#include <string.h>

static const int REMEMBERED = 32;
static const int64_t REMEMBERED_BYTES = (int64_t)64 << 30;

struct quern_symmetric_ranges *quern_symmetric_ranges_of(struct quern_membership *member) {
    if (member->symmetric) return member->symmetric;
    struct quern_symmetric_ranges *ranges = calloc(1, sizeof *ranges);
    if (ranges) pthread_mutex_init(&ranges->lock, NULL);
    __atomic_store_n(&member->symmetric, ranges, __ATOMIC_RELEASE);
    return ranges;
}

static bool grow(struct quern_symmetric_ranges *ranges) {
    size_t capacity = ranges->capacity ? 2 * (size_t)ranges->capacity : 16;
    struct quern_symmetric_range **by_base = realloc(ranges->by_base, capacity * sizeof *by_base);
    if (by_base) ranges->by_base = by_base;
    uintptr_t *base = realloc(ranges->base, capacity * sizeof *base);
    if (base) ranges->base = base;
    struct quern_symmetric_range **by_id = realloc(ranges->by_id, capacity * sizeof *by_id);
    if (by_id) ranges->by_id = by_id;
    if (!by_base || !base || !by_id) return false;
    ranges->capacity = (int)capacity;
    return true;
}

bool quern_symmetric_reserve(struct quern_symmetric_ranges *ranges) {
    if (ranges->based < ranges->capacity && ranges->identified < ranges->capacity) return true;
    pthread_mutex_lock(&ranges->lock);
    const bool grown = grow(ranges);
    pthread_mutex_unlock(&ranges->lock);
    return grown;
}

/* ---- looking up ---- */

/* The number of ranges that begin at or before an address.  Without a branch on the addresses, which nobody can predict. */
static int count_up_to(const struct quern_symmetric_ranges *ranges, const char *address) {
    int low = 0;
    for (int left = ranges->based, half; left > 0; left -= half) {
        half = (left + 1) / 2;
        low += ranges->base[low + half - 1] <= (uintptr_t)address ? half : 0;
    }
    return low;
}

struct quern_symmetric_range *quern_symmetric_range_at(const struct quern_symmetric_ranges *ranges, const void *pointer) {
    int before = count_up_to(ranges, pointer);
    if (!before) return NULL;
    struct quern_symmetric_range *range = ranges->by_base[before - 1];
    int64_t offset = (const char *)pointer - range->base;
    return offset < range->bytes || offset == 0 ? range : NULL;
}

struct quern_symmetric_range *quern_symmetric_overlapped(const struct quern_symmetric_ranges *ranges, const void *pointer,
                                                         int64_t bytes) {
    struct quern_symmetric_range *first = quern_symmetric_range_at(ranges, pointer);
    if (first) return first;
    int next = count_up_to(ranges, pointer);
    if (next == ranges->based) return NULL;
    return ranges->by_base[next]->base - (const char *)pointer < bytes ? ranges->by_base[next] : NULL;
}

/* The index of an id, or the index at which to insert it. */
static int place_of_id(const struct quern_symmetric_ranges *ranges, uint64_t id) {
    int low = 0, high = ranges->identified;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ranges->by_id[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct quern_symmetric_range *quern_symmetric_range_of_id(const struct quern_symmetric_ranges *ranges, uint64_t id) {
    int place = place_of_id(ranges, id);
    return place < ranges->identified && ranges->by_id[place]->id == id ? ranges->by_id[place] : NULL;
}

/* ---- changing ---- */

static void insert_at(struct quern_symmetric_range **array, int *count, int place, struct quern_symmetric_range *range) {
    memmove(array + place + 1, array + place, (size_t)(*count - place) * sizeof *array);
    array[place] = range;
    ++*count;
}

static void remove_at(struct quern_symmetric_range **array, int *count, int place) {
    memmove(array + place, array + place + 1, (size_t)(*count - place - 1) * sizeof *array);
    --*count;
}

void quern_symmetric_insert(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    int before = count_up_to(ranges, range->base);
    pthread_mutex_lock(&ranges->lock);
    ranges->live += quern_digest(&range->id, sizeof range->id);
    insert_at(ranges->by_id, &ranges->identified, place_of_id(ranges, range->id), range);
    if (before && ranges->by_base[before - 1]->base == range->base) {
        range->older = ranges->by_base[before - 1];
        ranges->by_base[before - 1] = range;
    } else {
        memmove(ranges->base + before + 1, ranges->base + before, (size_t)(ranges->based - before) * sizeof *ranges->base);
        ranges->base[before] = (uintptr_t)range->base;
        insert_at(ranges->by_base, &ranges->based, before, range);
    }
    pthread_mutex_unlock(&ranges->lock);
}

static void remove_from_ids(struct quern_symmetric_ranges *ranges, const struct quern_symmetric_range *range) {
    ranges->live -= quern_digest(&range->id, sizeof range->id);
    remove_at(ranges->by_id, &ranges->identified, place_of_id(ranges, range->id));
}

static void remove_from_bases(struct quern_symmetric_ranges *ranges, const struct quern_symmetric_range *range) {
    const int place = count_up_to(ranges, range->base) - 1;
    memmove(ranges->base + place, ranges->base + place + 1, (size_t)(ranges->based - place - 1) * sizeof *ranges->base);
    remove_at(ranges->by_base, &ranges->based, place);
}

void quern_symmetric_set_aside(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    pthread_mutex_lock(&ranges->lock);
    remove_from_bases(ranges, range);
    for (struct quern_symmetric_range *each = range; each; each = each->older) remove_from_ids(ranges, each);
    quern_symmetric_oldest(range)->older = ranges->stale;
    ranges->stale = range;
    pthread_mutex_unlock(&ranges->lock);
}

struct quern_symmetric_range *quern_symmetric_oldest(struct quern_symmetric_range *range) {
    while (range->older) range = range->older;
    return range;
}

void quern_symmetric_remove_oldest(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    pthread_mutex_lock(&ranges->lock);
    if (range->older) {
        while (range->older->older) range = range->older;
        remove_from_ids(ranges, range->older);
        range->older = NULL;
    } else {
        remove_from_ids(ranges, range);
        remove_from_bases(ranges, range);
    }
    pthread_mutex_unlock(&ranges->lock);
}

/* The range that was freed first, and the number and size of all freed ranges; NULL: none. */
static struct quern_symmetric_range *find_oldest(const struct quern_symmetric_ranges *ranges, int *count, int64_t *bytes) {
    struct quern_symmetric_range *oldest = NULL;
    *count = 0;
    *bytes = 0;
    for (int i = 0; i < ranges->based; i++) {
        struct quern_symmetric_range *range = ranges->by_base[i];
        if (!range->freed) continue;
        ++*count;
        *bytes += range->memory->address_bytes;
        if (!oldest || range->freed < oldest->freed) oldest = range;
    }
    return oldest;
}

static void forget_freed(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    remove_from_bases(ranges, range);
    quern_symmetric_unrefer(range->memory);
    free(range);
}

static void retire(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    remove_from_ids(ranges, range);
    if (range->memory->reuses_addresses) {
        forget_freed(ranges, range);
        return;
    }
    range->freed = ++ranges->frees;
    for (;;) {
        int count;
        int64_t bytes;
        struct quern_symmetric_range *oldest = find_oldest(ranges, &count, &bytes);
        if (count <= REMEMBERED && bytes <= REMEMBERED_BYTES) return;
        forget_freed(ranges, oldest);
    }
}

void quern_symmetric_retire(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range) {
    pthread_mutex_lock(&ranges->lock);
    retire(ranges, range);
    pthread_mutex_unlock(&ranges->lock);
}
