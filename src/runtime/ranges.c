/* Finds buffers of a call that share memory.  Called by the checks of every operation, after those of pointers and sizes. */
#include "runtime/ranges.h"

#include <stdbool.h>
#include <string.h>

#include "os/text.h"
#include "runtime/status.h"

/* ---- sorting by address ---- */

static void sort_few(struct quern_range *ranges, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        if (ranges[i - 1].begin <= ranges[i].begin) continue;
        const struct quern_range moved = ranges[i];
        int64_t at = i;
        for (; at > 0 && ranges[at - 1].begin > moved.begin; at--) ranges[at] = ranges[at - 1];
        ranges[at] = moved;
    }
}

/* The end of the ascending run that begins at `first`. */
static int64_t run_end(const struct quern_range *ranges, int64_t first, int64_t count) {
    int64_t end = first + 1;
    while (end < count && ranges[end - 1].begin <= ranges[end].begin) end++;
    return end < count ? end : count;
}

/* Without a branch on the addresses, which nobody can predict. */
static void merge(const struct quern_range *from, int64_t first, int64_t middle, int64_t end, struct quern_range *to) {
    int64_t left = first, right = middle, i = first;
    while (left < middle && right < end) {
        const bool take_left = from[left].begin <= from[right].begin;
        to[i++] = from[take_left ? left : right];
        left += take_left;
        right += !take_left;
    }
    memcpy(to + i, from + left, (size_t)(middle - left) * sizeof *to);
    memcpy(to + i + (middle - left), from + right, (size_t)(end - right) * sizeof *to);
}

/*
 * Merges ascending runs in pairs until one is left.  An engine allocates the arrays of one kind in the order of the list, so there
 * are few runs.
 */
static void sort_many(struct quern_range *ranges, struct quern_range *scratch, int64_t count) {
    struct quern_range *from = ranges, *to = scratch;
    while (run_end(from, 0, count) < count) {
        for (int64_t first = 0; first < count;) {
            const int64_t middle = run_end(from, first, count), end = middle < count ? run_end(from, middle, count) : count;
            merge(from, first, middle, end, to);
            first = end;
        }
        struct quern_range *merged = to;
        to = from;
        from = merged;
    }
    if (from != ranges) memcpy(ranges, from, (size_t)count * sizeof *ranges);
}

/* ---- the search ---- */

static void add_name(struct quern_text *text, const char *list, const struct quern_range *range) {
    if (range->place != QUERN_NO_PLACE) quern_text_add(text, "%s[%u].", list, range->place);
    quern_text_add(text, "%s", range->name);
}

quern_status quern_fail_overlap(const quern_device *device, const char *list, const struct quern_range *one,
                                const struct quern_range *other) {
    char names[160];
    struct quern_text text = quern_text_begin(names, sizeof names);
    const bool written = one->access != QUERN_READ;
    add_name(&text, list, written ? one : other);
    quern_text_add(&text, " overlaps ");
    add_name(&text, list, written ? other : one);
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s: expected separate memory", names);
}

/* Whether two ranges that overlap are one number that several tensors raise.  Numbers are aligned, so no two overlap in part. */
static bool is_shared(const struct quern_range *one, const struct quern_range *other) {
    return one->access == QUERN_RAISED && other->access == QUERN_RAISED;
}

quern_status quern_check_apart(const quern_device *device, const char *list, struct quern_range *ranges,
                               struct quern_range *scratch, int64_t count) {
    static const struct quern_range none = {0};
    const struct quern_range *longest = &none, *longest_written = &none;  /* those that end last among the ranges so far */
    if (count > QUERN_FEW_RANGES) sort_many(ranges, scratch, count);
    else sort_few(ranges, count);
    for (int64_t i = 0; i < count; i++) {
        const struct quern_range *range = &ranges[i];
        const struct quern_range *before = range->access == QUERN_READ ? longest_written : longest;
        if (range->begin == range->end) continue;
        if (range->begin < before->end && !is_shared(range, before)) return quern_fail_overlap(device, list, range, before);
        if (range->end > longest->end) longest = range;
        if (range->access != QUERN_READ && range->end > longest_written->end) longest_written = range;
    }
    return QUERN_OK;
}
